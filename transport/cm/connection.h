/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * The connection manager, IBTA volume 1, chapter 12, in the words of librdmacm: it listens,
 * connects, accepts, rejects and disconnects RC and UC connections, and resolves service IDs for UD
 * (SIDR), by management datagrams over a QP1 of its own on a device.
 *
 * It makes, modifies and destroys no QP but that one: its owner does, with the attributes that
 * vl_cm_init_qp_attr gives, in these orders:
 *
 *   active:  create, INIT; vl_cm_connect; at CONNECT_RESPONSE RTR, RTS; vl_cm_establish
 *   passive: at CONNECT_REQUEST create, INIT, RTR, RTS; vl_cm_accept; ESTABLISHED
 *   either:  vl_cm_disconnect, or DISCONNECTED comes by itself; QP to ERR; TIMEWAIT_EXIT; destroy
 *
 * A step that must wait (vl_modify_qp answers -EAGAIN until a neighbour's MAC is known) may be done
 * later: the connection manager asks the peer for patience (MRA) if that takes long.
 *
 * Every connection has exactly one last event, or is ended by vl_cm_destroy; the handle is void
 * after either. Which events are last is said with each. Events are raised by vl_cm_poll alone, and
 * every call here but vl_cm_close and vl_cm_poll may be made from them, as may all verbs.
 *
 * What it holds is bounded by its configuration, whatever the peers send; memory is allocated by
 * vl_cm_open alone. Times are nanoseconds of the device's clock; timeouts in messages are
 * exponents, 4.096 us * 2^t.
 */
#ifndef VERBLINE_CM_CONNECTION_H
#define VERBLINE_CM_CONNECTION_H

#include "transport/cm/message.h"
#include "transport/cm/rdma_ip.h"
#include "transport/cm/reason.h"
#include "transport/counter_field.h"
#include "transport/verbline.h"

#include <stdbool.h>
#include <stdint.h>

struct vl_cm;
struct vl_cm_listener;
struct vl_cm_connection;

/* Upper bits of a communication or request ID that say which of a host's workers made it. */
#define VL_CM_WORKER_BITS 6

struct vl_cm_config {
	uint64_t seed;  /* of communication IDs, transaction IDs and starting PSNs */
	uint8_t worker; /* 0..63: the upper bits of its communication and request IDs */

	/* Limits; 0 takes the default in brackets. */
	uint32_t max_connections;        /* [16384] 1..2^20: connections, requests, time-wait */
	uint32_t max_listeners;          /* [64] */
	uint32_t max_half_open;          /* [4096] requests from peers that are not established */
	uint32_t max_half_open_per_peer; /* [2048] of one address; peers are told apart by a hash */
	uint32_t receive_count;          /* [1024] datagrams that may wait for vl_cm_poll */
	uint32_t send_count;             /* [1024] datagrams that may wait for vl_transmit */

	uint8_t response_timeout;  /* [18] exponent: what peers get to answer, and we promise */
	uint8_t max_retries;       /* [15] 1..15 repetitions of a message without an answer */
	uint8_t service_timeout;   /* [21] exponent: what an MRA asks for */
	uint64_t owner_timeout;    /* [30 s] in which the owner answers a request or response */
	uint64_t max_service_wait; /* [60 s] the longest that a peer's MRA is believed */
	uint64_t time_wait;        /* [0: by the path's ACK timeout] */
	uint64_t sidr_hold;        /* [1 s] in which a repeated SIDR_REQ has the same answer */
};

enum vl_cm_event_type {
	/* Somebody connects to a listener. The owner accepts or rejects, now or soon. */
	VL_CM_EVENT_CONNECT_REQUEST,
	/* The peer has accepted. The owner calls vl_cm_establish, or rejects. Not for UD. */
	VL_CM_EVENT_CONNECT_RESPONSE,
	/* Passive: the peer may send. UD, active: param.ud says where to; last. */
	VL_CM_EVENT_ESTABLISHED,
	/* The peer said no: status is the reason (VL_CM_REJECT_*, UD: VL_CM_SIDR_*). Last. */
	VL_CM_EVENT_REJECTED,
	/* The peer did not answer, or the owner did not in owner_timeout (-ETIMEDOUT), or no
	 * neighbour leads there (-EHOSTUNREACH, -ENETUNREACH). Last. */
	VL_CM_EVENT_UNREACHABLE,
	/* The connection is over, by either side or by a peer that no longer knows it. May come
	 * without ESTABLISHED if the peer's RTU was lost. */
	VL_CM_EVENT_DISCONNECTED,
	/* After DISCONNECTED: no packet of the connection can be under way any more; the QP may be
	 * used anew. Last. */
	VL_CM_EVENT_TIMEWAIT_EXIT,
};

/* Seen from this side: responder_resources is what our QP takes, initiator_depth what it asks. */
struct vl_cm_conn_param {
	uint8_t responder_resources; /* READs and ATOMICs of the peer at a time */
	uint8_t initiator_depth;     /* READs and ATOMICs of our own at a time */
	uint8_t retry_count;         /* 0..7; passive: as the peer asked, not settable */
	uint8_t rnr_retry_count;     /* 0..7, which the peer's QP is to use */
	bool flow_control;           /* end-to-end credits */
	bool srq;
	uint32_t qpn; /* event: the peer's; call: ours */
};

/* Of a UD service: the QP and its Q_Key, and in events the way there. */
struct vl_cm_ud_param {
	uint32_t qpn;
	uint32_t qkey;
	struct ibv_ah_attr ah_attr; /* for vl_create_ah */
};

struct vl_cm_event {
	enum vl_cm_event_type type;
	struct vl_cm_connection *connection;
	struct vl_cm_listener *listener; /* CONNECT_REQUEST */
	int status;                      /* REJECTED, UNREACHABLE; else 0 */
	union {
		struct vl_cm_conn_param conn; /* RC and UC: CONNECT_REQUEST, _RESPONSE */
		struct vl_cm_ud_param ud;     /* UD: ESTABLISHED */
	} param;
	/* What the peer's owner wrote, without the IP header; its length is the message's room, so
	 * there may be zeros behind. Valid during the event. NULL: the event has none. */
	const uint8_t *private_data;
	uint8_t private_data_length;
	/* REJECTED: additional information, as the MTU or GID that would do. */
	const uint8_t *info;
	uint8_t info_length;
};

struct vl_cm_handler {
	void (*event)(void *context, const struct vl_cm_event *event, uint64_t now);
	void *context;
};

struct vl_cm_listen_param {
	/* vl_rdma_service_id(space, port): the private data of requests begins with the IP header,
	 * which the connection manager takes off; any other service ID: it does not. */
	uint64_t service_id;
	enum ibv_qp_type qp_type; /* RC: connections, RC and UC; UD: SIDR */
	struct vl_cm_handler handler;
};

struct vl_cm_connect_param {
	uint64_t service_id;      /* as for listening */
	enum ibv_qp_type qp_type; /* RC, UC, UD */
	union ibv_gid destination;
	uint8_t sgid_index; /* our address */
	uint16_t pkey_index;
	uint16_t source_port; /* in the IP header; 0: one is made up */
	/* The path, of our QP and, as it copies them, the peer's. */
	enum ibv_mtu path_mtu; /* 0: the device's */
	uint8_t traffic_class;
	uint8_t service_level; /* 0..7 */
	uint8_t hop_limit;     /* 0: 64 */
	uint8_t ack_timeout;   /* exponent, 1..31; 0: 14 */
	uint32_t flow_label;
	struct vl_cm_conn_param conn; /* RC and UC */
	/* Copied. Up to 92 bytes (SIDR 216), less 36 where there is an IP header. */
	const void *private_data;
	uint8_t private_data_length;
	struct vl_cm_handler handler;
	void *context; /* of the connection */
};

struct vl_cm_accept_param {
	struct vl_cm_conn_param conn; /* RC and UC */
	uint32_t qpn, qkey;           /* UD */
	const void *private_data;     /* up to 196 bytes; SIDR 136 */
	uint8_t private_data_length;
};

/* Opens QP1 with its PD and CQ on the device, which must outlive it. config may be NULL. NULL with
 * -EINVAL, -ENOMEM or -EEXIST (the device has a QP1) in *error. */
struct vl_cm *vl_cm_open(struct vl_device *device, const struct vl_cm_config *config, uint64_t now,
			 int *error);
/* All handles become void, without events and without a word to the peers. */
void vl_cm_close(struct vl_cm *cm);

/* Takes what has come, raises events, repeats what is due. Call after packets were received, at the
 * deadline below and after a vl_transmit that sent; bounded in time by the limits above. */
void vl_cm_poll(struct vl_cm *cm, uint64_t now);
/* 0: now; VL_NO_DEADLINE: not before a packet comes. May be early, never late. */
uint64_t vl_cm_next_deadline(const struct vl_cm *cm);

/* -EADDRINUSE, -ENOSPC (max_listeners), -EINVAL. */
struct vl_cm_listener *vl_cm_listen(struct vl_cm *cm, const struct vl_cm_listen_param *param,
				    int *error);
/* Takes no more requests; connections go on, with the listener's handler. */
void vl_cm_stop_listening(struct vl_cm_listener *listener);

/* Sends a REQ, or for UD a SIDR_REQ. -ENOSPC: max_connections; -EMSGSIZE: private data;
 * -EINVAL. Whether the peer can be reached is told by an event. */
struct vl_cm_connection *vl_cm_connect(struct vl_cm *cm, const struct vl_cm_connect_param *param,
				       uint64_t now, int *error);
/* Answers a CONNECT_REQUEST with a REP, or a SIDR_REP, after which the UD handle is void.
 * -EINVAL: not in this state, or values out of range; -EMSGSIZE. */
int vl_cm_accept(struct vl_cm_connection *connection, const struct vl_cm_accept_param *param,
		 uint64_t now);
/* Answers a CONNECT_REQUEST or CONNECT_RESPONSE; the handle is void then. reason: VL_CM_REJECT_*,
 * usually CONSUMER; for UD VL_CM_SIDR_*. info (up to 72 bytes) and private_data (148 bytes, SIDR
 * 136) may be NULL. */
int vl_cm_reject(struct vl_cm_connection *connection, uint16_t reason, const void *info,
		 uint8_t info_length, const void *private_data, uint8_t private_data_length,
		 uint64_t now);
/* Answers a CONNECT_RESPONSE by a RTU: both sides are established. private_data: up to 224 bytes.
 */
int vl_cm_establish(struct vl_cm_connection *connection, const void *private_data,
		    uint8_t private_data_length, uint64_t now);
/* Passive, accepted: data came on the QP, so the peer's RTU must have been lost. ESTABLISHED is
 * raised by the next poll. Nothing happens in another state. */
void vl_cm_notify(struct vl_cm_connection *connection, uint64_t now);
/* Asks a peer who waits for the owner's answer for patience (MRA). The connection manager does so
 * itself when half of the promised time has passed. */
int vl_cm_send_mra(struct vl_cm_connection *connection, uint8_t service_timeout, uint64_t now);
/* Sends a DREQ (an accepted or established connection); DISCONNECTED comes when the peer has
 * answered, or did not. */
int vl_cm_disconnect(struct vl_cm_connection *connection, uint64_t now);
/* Forgets a connection in any state, with the word that the peer needs (REJ or DREQ); no event
 * comes any more. */
void vl_cm_destroy(struct vl_cm_connection *connection, uint64_t now);

/* Attributes and mask to bring the QP of an RC or UC connection to INIT (any time), RTR (from
 * CONNECT_REQUEST or _RESPONSE on) and RTS (likewise), as rdma_init_qp_attr. The passive side's
 * READ limits are those of the request until it has accepted with its own; so accept first decides,
 * or the owner overrides them. -EINVAL: too early, or UD. */
int vl_cm_init_qp_attr(const struct vl_cm_connection *connection, enum ibv_qp_state state,
		       struct ibv_qp_attr *attr, int *mask);

enum vl_cm_state {
	VL_CM_STATE_RESOLVING,    /* active: the neighbour's MAC is asked for */
	VL_CM_STATE_REQ_SENT,     /* or SIDR_REQ */
	VL_CM_STATE_REQ_RECEIVED, /* or SIDR_REQ: the owner is to answer */
	VL_CM_STATE_REP_SENT,
	VL_CM_STATE_REP_RECEIVED, /* the owner is to answer */
	VL_CM_STATE_ESTABLISHED,
	VL_CM_STATE_DREQ_SENT,
	VL_CM_STATE_TIMEWAIT,
	VL_CM_STATE_SIDR_ANSWERED, /* kept for repetitions; no handle leads here */
};

struct vl_cm_info {
	enum vl_cm_state state;
	enum ibv_qp_type qp_type;
	bool is_active;
	uint64_t service_id;
	uint32_t local_comm_id, remote_comm_id; /* request IDs for UD */
	uint32_t local_qpn, remote_qpn;         /* 0: not known yet */
	/* The first PSN that either side sends. Each side chooses the other's, and announces it
	 * (IBTA 12.6.5, Starting PSN). */
	uint32_t local_psn, remote_psn;
	union ibv_gid local_gid, remote_gid;
	uint16_t remote_port;  /* in the request's IP header; 0: none */
	uint8_t remote_mac[6]; /* of the last message; zero: none yet */
	enum ibv_mtu path_mtu;
};
void vl_cm_query(const struct vl_cm_connection *connection, struct vl_cm_info *info);
void *vl_cm_context(const struct vl_cm_connection *connection);
void vl_cm_set_context(struct vl_cm_connection *connection, void *context);
const char *vl_cm_event_name(enum vl_cm_event_type type);
const char *vl_cm_state_name(enum vl_cm_state state);

#define VL_CM_COUNTERS(X)                                                                          \
	X(mad_rx, "messages", "received and understood")                                           \
	X(mad_tx, "messages", "sent, repetitions included")                                        \
	X(malformed, "messages", "not of the connection manager, or not understood")               \
	X(retransmitted, "messages", "sent again, as no answer came")                              \
	X(duplicates_rx, "messages", "received again, and answered again where an answer is due")  \
	X(unknown_rx, "messages", "that name no connection, and were answered with a refusal")     \
	X(unexpected_rx, "messages", "dropped, as the connection's state takes no such message")   \
	X(wrong_peer, "messages", "dropped, as they come from another address than the peer's")    \
	X(connect_requests, "requests", "of peers, handed to a listener")                          \
	X(established, "connections", "established, both ways of opening")                         \
	X(rejects_tx, "messages", "refusals sent")                                                 \
	X(rejects_rx, "messages", "refusals received")                                             \
	X(no_service, "requests", "refused, as nobody listens there")                              \
	X(no_resources, "requests", "refused, as the table is full")                               \
	X(stale, "requests", "refused, as the peer's QP has a connection already")                 \
	X(half_open_dropped, "requests", "dropped, as too many are half open")                     \
	X(half_open_cut, "requests", "given up early, as newer ones wanted their place")           \
	X(timeouts, "connections", "given up, as no answer came")                                  \
	X(owner_timeouts, "connections", "given up, as the owner did not answer")                  \
	X(time_wait_cut, "connections", "whose time-wait ended early, to make room")               \
	X(send_dropped, "messages", "answers not sent, as too many waited")

struct vl_cm_counters {
	VL_CM_COUNTERS(VL_COUNTER_FIELD)
};
const struct vl_cm_counters *vl_cm_counters(const struct vl_cm *cm);

/* How full the table is; each at most its limit. */
struct vl_cm_usage {
	uint32_t connections; /* entries in use, in all states */
	uint32_t half_open;
	uint32_t established;
	uint32_t time_wait;
};
struct vl_cm_usage vl_cm_usage(const struct vl_cm *cm);

#endif
