/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What the files of the connection manager share. */
#ifndef VERBLINE_CM_CONNECTION_PRIVATE_H
#define VERBLINE_CM_CONNECTION_PRIVATE_H

#include "transport/cm/connection.h"
#include "transport/list.h"
#include "transport/random.h"
#include "transport/timer_wheel.h"

#define VL_CM_NONE UINT32_MAX /* no index */

#define VL_CM_DEFAULT_ACK_TIMEOUT 14 /* 67 ms */
#define VL_CM_DEFAULT_HOP_LIMIT   64

/* A management datagram that came, and how to answer it. */
struct vl_cm_datagram {
	const uint8_t *mad;
	union ibv_gid source;
	uint8_t sgid_index; /* of the address that it was sent to */
	uint8_t priority;
	uint8_t traffic_class; /* without its ECN bits; an answer goes in the same */
	uint8_t mac[6];
};

struct vl_cm_listener {
	struct vl_cm *cm;
	struct vl_cm_listen_param param;
	bool in_use;
};

/* Why a timer runs while the owner is to answer. */
enum vl_cm_patience {
	VL_CM_PATIENCE_QUIET, /* then an MRA is sent */
	VL_CM_PATIENCE_ASKED, /* then the owner has had its time */
};

/* An entry of the table: a connection, a request for one, or what is kept of one. */
struct vl_cm_connection {
	struct vl_cm *cm;
	struct vl_cm_handler handler;
	void *context;
	struct vl_timer timer;
	struct vl_link waiting; /* for room to send: its mad goes next */
	struct vl_link kept;    /* may be cut, oldest first: in time-wait, or accepted */
	uint32_t index;
	uint32_t generation;  /* in the communication ID, so that stale ones are known */
	uint32_t next_by_id;  /* hash chains, indices */
	uint32_t next_by_qpn; /* the same */
	uint32_t peer_bucket; /* where it counts as half open */
	uint8_t state;        /* enum vl_cm_state */
	uint8_t qp_type;      /* enum ibv_qp_type */
	uint8_t patience;     /* enum vl_cm_patience */
	uint8_t retries_left;
	bool in_use;
	bool is_active;
	bool has_owner;           /* somebody holds the handle */
	bool is_ending;           /* its last event is being raised */
	bool is_half_open;        /* counted as such */
	bool is_by_id, is_by_qpn; /* in the hash tables */
	bool has_mac;
	bool is_notified; /* ESTABLISHED is to be raised */
	bool told_disconnected;

	uint32_t local_comm_id, remote_comm_id;
	uint64_t remote_ca_guid;
	uint64_t transaction_id;
	uint64_t service_id;
	uint32_t local_qpn, remote_qpn;
	uint32_t local_psn, remote_psn;
	union ibv_gid remote_gid;
	uint8_t remote_mac[6];
	uint16_t remote_port;
	uint16_t pkey_index;

	/* Path and QP attributes. */
	uint8_t sgid_index;
	uint8_t path_mtu;
	uint8_t traffic_class, service_level, hop_limit, ack_timeout;
	uint32_t flow_label;
	uint8_t responder_resources, initiator_depth;
	uint8_t retry_count, rnr_retry_count;
	bool flow_control;
	uint64_t response_time; /* ns, in which the peer answers */
	uint64_t promised_time; /* ns, in which the peer expects our answer */
	uint64_t accepted_time; /* ns */
	uint64_t give_up_time;  /* resolving, or the owner is to answer */

	uint8_t mad[VL_MAD_LENGTH]; /* what is repeated in this state */
};

struct vl_cm {
	struct vl_device *device;
	struct vl_cm_config config; /* with the defaults filled in */
	struct vl_random random;
	uint64_t hash_key;
	uint64_t ca_guid;
	struct vl_timer_wheel wheel;
	struct vl_cm_counters counters;
	struct vl_cm_usage usage;

	/* QP1 */
	struct vl_pd *pd;
	struct vl_cq *cq;
	struct vl_qp *qp;
	struct ibv_mr *mr;
	uint8_t *buffers; /* receive_count of VL_CM_RECEIVE_LENGTH, send_count of VL_MAD_LENGTH */
	struct ibv_ah **ahs;  /* of each send buffer */
	uint32_t *free_sends; /* a stack */
	uint32_t free_send_count;
	struct vl_link waiting;
	bool has_more; /* the last poll stopped before it was done */

	/* Table */
	struct vl_cm_connection *connections;
	uint32_t *by_id, *by_qpn;   /* hash tables of indices */
	uint32_t *free_connections; /* a queue, so that IDs stay unused for long */
	uint16_t *peer_half_open;   /* by a hash of the peer's address */
	uint32_t free_head, free_count;
	uint32_t hash_mask;
	uint8_t index_bits;
	struct vl_link kept;     /* time-wait, and SIDR answers */
	struct vl_link accepted; /* by us, and not established yet */
	struct vl_cm_listener *listeners;

	size_t memory_size; /* of this and all arrays here: one allocation */
};

#define VL_CM_GRH_LENGTH     40
#define VL_CM_RECEIVE_LENGTH 320 /* GRH and MAD, rounded up to a cache line */

/* ---- datagram.c: QP1 ------------------------------------------------------------------------ */

int vl_cm_open_qp(struct vl_cm *cm, uint64_t now);
void vl_cm_close_qp(struct vl_cm *cm);
/* Takes completions, within a budget; datagrams go to vl_cm_dispatch. */
void vl_cm_poll_qp(struct vl_cm *cm, uint64_t now);
/* Sends the connection's mad, or lets it wait for room. 0, or what resolving said: nothing is sent
 * then. */
int vl_cm_send_kept(struct vl_cm_connection *connection, uint64_t now);
/* Encodes a message into the connection's mad, and sends it. */
int vl_cm_send(struct vl_cm_connection *connection, const struct vl_cm_message *message,
	       uint64_t now);
/* Sends a message that is not repeated; without room it is dropped and counted. */
void vl_cm_send_once(struct vl_cm_connection *connection, const struct vl_cm_message *message,
		     uint64_t now);
/* The same to whoever sent a datagram. */
void vl_cm_answer(struct vl_cm *cm, const struct vl_cm_datagram *datagram,
		  const struct vl_cm_message *message, uint64_t now);

/* ---- dispatch.c ----------------------------------------------------------------------------- */

void vl_cm_dispatch(struct vl_cm *cm, const struct vl_cm_datagram *datagram, uint64_t now);

/* ---- table.c -------------------------------------------------------------------------------- */

/* NULL: full. In no state yet, without an owner. */
struct vl_cm_connection *vl_cm_allocate(struct vl_cm *cm);
void vl_cm_free(struct vl_cm_connection *connection);
struct vl_cm_connection *vl_cm_find_local(struct vl_cm *cm, uint32_t local_comm_id);
void vl_cm_enter_by_id(struct vl_cm_connection *connection);
/* A passive connection by what its peer calls it. is_datagram: SIDR. */
struct vl_cm_connection *vl_cm_find_remote(struct vl_cm *cm, uint32_t remote_comm_id,
					   const union ibv_gid *gid, bool is_datagram);
void vl_cm_enter_by_qpn(struct vl_cm_connection *connection);
/* A connection with that QP of a peer. */
struct vl_cm_connection *vl_cm_find_qpn(struct vl_cm *cm, uint32_t remote_qpn,
					const union ibv_gid *gid);
/* Counts a new request as half open; false: one too many. If it is so for all peers together, the
 * oldest that its peer does not establish makes way. */
bool vl_cm_enter_half_open(struct vl_cm_connection *connection, uint64_t now);
void vl_cm_leave_half_open(struct vl_cm_connection *connection);
/* Keeps the counts of states. */
void vl_cm_set_state(struct vl_cm_connection *connection, enum vl_cm_state state);

/* ---- life.c --------------------------------------------------------------------------------- */

/* ns of an exponent, at least 1 ms and at most limit. */
uint64_t vl_cm_timeout(uint8_t exponent, uint64_t limit);
void vl_cm_arm(struct vl_cm_connection *connection, uint64_t at);
/* Arms the timer for the answer to what has been sent, with all repetitions to come. */
void vl_cm_await_answer(struct vl_cm_connection *connection, uint8_t retries, uint64_t now);
/* The owner is to answer. */
void vl_cm_await_owner(struct vl_cm_connection *connection, uint64_t now);
void vl_cm_raise(struct vl_cm_connection *connection, struct vl_cm_event *event, uint64_t now);
/* A peer's request, whose parameters and private data the event holds already: the listener's
 * handler owns the connection from here on, and is to answer. */
void vl_cm_hand_to_listener(struct vl_cm_connection *connection, struct vl_cm_listener *listener,
			    struct vl_cm_event *event, uint64_t now);
/* Raises the last event, and frees the connection. */
void vl_cm_end(struct vl_cm_connection *connection, struct vl_cm_event *event, uint64_t now);
void vl_cm_end_unreachable(struct vl_cm_connection *connection, int status, uint64_t now);
void vl_cm_end_rejected(struct vl_cm_connection *connection, int reason,
			const struct vl_cm_message *message, uint64_t now);
void vl_cm_enter_time_wait(struct vl_cm_connection *connection, uint64_t now);
/* DISCONNECTED, once. */
void vl_cm_tell_disconnected(struct vl_cm_connection *connection,
			     const struct vl_cm_message *message, uint64_t now);
void vl_cm_expire(struct vl_cm_connection *connection, uint64_t now);

/* ---- The messages --------------------------------------------------------------------------- */

/* request.c */
int vl_cm_send_req(struct vl_cm_connection *connection, const struct vl_cm_connect_param *param,
		   uint64_t now);
void vl_cm_receive_req(struct vl_cm *cm, const struct vl_cm_datagram *datagram,
		       const struct vl_cm_message *message, uint64_t now);
void vl_cm_receive_mra(struct vl_cm_connection *connection, const struct vl_cm_message *message,
		       uint64_t now);
/* The IP header, where the service ID has one, and the owner's data. -EMSGSIZE. */
int vl_cm_write_private_data(const struct vl_cm_connection *connection,
			     const struct vl_cm_connect_param *param,
			     struct vl_cm_message *message);
struct vl_cm_listener *vl_cm_find_listener(struct vl_cm *cm, uint64_t service_id, bool is_datagram);
/* Takes the IP header off. False: it has one that is none. */
bool vl_cm_read_private_data(struct vl_cm_connection *connection,
			     const struct vl_cm_message *message, struct vl_cm_event *event);
/* reply.c */
int vl_cm_send_rep(struct vl_cm_connection *connection, const struct vl_cm_accept_param *param,
		   uint64_t now);
void vl_cm_receive_rep(struct vl_cm *cm, const struct vl_cm_datagram *datagram,
		       const struct vl_cm_message *message, uint64_t now);
void vl_cm_receive_rtu(struct vl_cm_connection *connection, const struct vl_cm_message *message,
		       uint64_t now);
void vl_cm_establish_passive(struct vl_cm_connection *connection,
			     const struct vl_cm_message *message, uint64_t now);
/* reject.c */
void vl_cm_answer_rej(struct vl_cm *cm, const struct vl_cm_datagram *datagram,
		      const struct vl_cm_message *message, uint16_t reason, const void *info,
		      uint8_t info_length, uint64_t now);
int vl_cm_send_rej(struct vl_cm_connection *connection, uint16_t reason, const void *info,
		   uint8_t info_length, const void *private_data, uint8_t private_data_length,
		   uint64_t now);
void vl_cm_receive_rej(struct vl_cm *cm, const struct vl_cm_datagram *datagram,
		       const struct vl_cm_message *message, uint64_t now);
/* release.c */
void vl_cm_send_dreq(struct vl_cm_connection *connection, uint64_t now);
void vl_cm_receive_dreq(struct vl_cm *cm, const struct vl_cm_datagram *datagram,
			const struct vl_cm_message *message, uint64_t now);
void vl_cm_receive_drep(struct vl_cm_connection *connection, const struct vl_cm_message *message,
			uint64_t now);
void vl_cm_receive_lap(struct vl_cm *cm, const struct vl_cm_datagram *datagram,
		       const struct vl_cm_message *message, uint64_t now);
/* sidr.c */
int vl_cm_send_sidr_req(struct vl_cm_connection *connection,
			const struct vl_cm_connect_param *param, uint64_t now);
int vl_cm_send_sidr_rep(struct vl_cm_connection *connection, uint8_t status, uint32_t qpn,
			uint32_t qkey, const void *info, uint8_t info_length,
			const void *private_data, uint8_t private_data_length, uint64_t now);
void vl_cm_receive_sidr_req(struct vl_cm *cm, const struct vl_cm_datagram *datagram,
			    const struct vl_cm_message *message, uint64_t now);
void vl_cm_receive_sidr_rep(struct vl_cm *cm, const struct vl_cm_datagram *datagram,
			    const struct vl_cm_message *message, uint64_t now);
/* attributes.c */
void vl_cm_fill_ah_attr(const struct vl_cm_connection *connection, struct ibv_ah_attr *attr);

#endif
