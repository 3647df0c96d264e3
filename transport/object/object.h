/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * The objects behind the public handles, shared by the files of the transport and by nobody
 * else. Who changes what: object/ makes, modifies and destroys; rc/, uc/ and ud/ run the queue
 * pairs; engine.c schedules.
 */
#ifndef VERBLINE_OBJECT_H
#define VERBLINE_OBJECT_H

#include "transport/list.h"
#include "transport/random.h"
#include "transport/timer_wheel.h"
#include "transport/verbline.h"
#include "transport/wire/path.h"

#include <assert.h>

/* ---- The 24-bit number space --------------------------------------------------------------- */

/* A device serves few numbers at a time: one line of the cache instead of three levels. */
#define VL_TABLE_RECENT 4u

/* Numbers of 24 bits to pointers, three levels of 256: QPNs and key indices can be anywhere. */
struct vl_table {
	/* Found last, by the lowest bits of the number; value NULL: nothing. */
	struct {
		uint32_t number;
		void *value;
	} recent[VL_TABLE_RECENT];
	void **root;
	uint32_t count;
};
/* -ENOMEM without memory, -EEXIST if the number is taken. */
int vl_table_insert(struct vl_table *table, const struct vl_allocator *allocator, uint32_t number,
		    void *value);
void vl_table_remove(struct vl_table *table, uint32_t number);
void vl_table_release(struct vl_table *table, const struct vl_allocator *allocator);
static inline void *vl_table_find(const struct vl_table *table, uint32_t number)
{
	void **middle, **leaf;

	if (!table->root || number >> 24)
		return NULL;
	middle = table->root[number >> 16];
	if (!middle)
		return NULL;
	leaf = middle[number >> 8 & 0xff];
	return leaf ? leaf[number & 0xff] : NULL;
}
/* The same for what is looked up packet by packet. */
static inline void *vl_table_find_often(struct vl_table *table, uint32_t number)
{
	uint32_t i = number % VL_TABLE_RECENT;

	if (table->recent[i].number != number || !table->recent[i].value) {
		table->recent[i].number = number;
		table->recent[i].value = vl_table_find(table, number);
	}
	return table->recent[i].value;
}

/* ---- Device ------------------------------------------------------------------------------ */

/* Service levels; Ethernet's priorities are the first eight. */
#define VL_SERVICE_LEVELS 16
#define VL_PRIORITIES     8

/* Remote addresses that have a notification point of their own, with VL_CNP_SCOPE_IP; a power of
 * two. */
#define VL_NOTIFICATION_POINTS 256u

struct vl_device {
	struct vl_device_config config; /* with the defaults filled in */
	struct vl_random random;
	struct vl_table qps; /* by QPN */
	struct vl_table mrs; /* struct vl_mr by key index: regions and windows */
	uint32_t next_qpn, next_mr_index;
	uint32_t pd_count, cq_count, qp_count, srq_count, mr_count, ah_count;
	struct vl_link pds, cqs;    /* everything else hangs on its domain */
	struct vl_link retired_mrs; /* deregistered: their keys' generations live on */
	struct vl_qp *gsi;

	struct vl_counters counters;
	uint64_t drops[VL_DROP_COUNT];

	/* Scheduling (engine.c). A QP with something to send now is on notifications (CNPs), on
	 * urgent (ACKs, NAKs) or on ready (requests, READ responses) of its service level, or on
	 * several. Only what is on ready is paced. */
	struct vl_link notifications;
	struct vl_link urgent[VL_SERVICE_LEVELS], ready[VL_SERVICE_LEVELS];
	uint16_t urgent_mask, ready_mask; /* bit n: list n is not empty */
	uint16_t paused_mask;             /* nothing of these */
	uint16_t held_mask;               /* nothing of these on ready */
	uint64_t turns;   /* of the ready lists: service levels, four bits each, longest not served
			     first */
	uint64_t now;     /* of the last call */
	uint64_t arrival; /* of the last packet at the port, ns */
	struct vl_timer_wheel wheel;

	/* With VL_CNP_SCOPE_IP by a hash of the address; with VL_CNP_SCOPE_PORT the first. */
	struct vl_notification_point notification_points[VL_NOTIFICATION_POINTS];
};

/* ---- Domains, memory, addresses ----------------------------------------------------------- */

struct vl_pd {
	struct ibv_pd ibv;
	struct vl_device *device;
	struct vl_link link;                /* in the device */
	struct vl_link mrs, ahs, qps, srqs; /* objects of the domain */
	uint32_t use_count;
};

enum vl_mr_kind {
	VL_MR_REGION,
	VL_MR_WINDOW, /* type 2 memory window */
};

struct vl_mr {
	union {
		struct ibv_mr ibv; /* must be first */
		struct ibv_mw window;
	};
	struct vl_pd *pd;
	struct vl_link link; /* in the domain */
	uint8_t *host;       /* of the first byte */
	uint64_t iova;
	uint64_t length;
	unsigned int access; /* ibv_access_flags */
	uint32_t key;        /* index << 8 | generation */
	bool valid;          /* false: invalidated, or a window not bound */
	uint8_t kind;
	struct vl_qp *bound_qp; /* window: the QP it was bound on */
	struct vl_mr *region;   /* window: what it lies in */
	uint32_t window_count;  /* region: windows bound to it */
	uint16_t generations;   /* that this index has had */
	bool is_chosen_key;     /* by the caller: its index is not given out again */
};

/*
 * Memory behind a key, or NULL: wrong key, generation, domain, range or permission. access: the
 * flags that the region must have; qp: whose domain counts, and which windows answer to it.
 * length 0 gives a non-NULL pointer without any check (IBTA C9-88, o9-...: no key is needed).
 */
uint8_t *vl_mr_translate(const struct vl_qp *qp, uint32_t key, uint64_t address, uint64_t length,
			 unsigned int access);
/* The same for lkeys of a domain's SGEs. */
uint8_t *vl_mr_translate_local(const struct vl_pd *pd, uint32_t key, uint64_t address,
			       uint64_t length, unsigned int access);
/* SEND with invalidate and LOCAL_INV: 0 or -EINVAL (not a valid, invalidatable key of the
 * domain). remote: from the wire. */
int vl_mr_invalidate(const struct vl_qp *qp, uint32_t key, bool remote);
/* IBV_WR_BIND_MW: 0 or -EINVAL. */
int vl_mr_bind_window(const struct vl_qp *qp, struct ibv_mw *mw, uint32_t new_key,
		      const struct ibv_mw_bind_info *info);

struct vl_ah {
	struct ibv_ah ibv; /* must be first */
	struct vl_pd *pd;
	struct vl_link link;
	struct vl_path path;
	uint8_t priority;   /* service level */
	uint32_t use_count; /* send requests not completed */
};

/* ---- Completion queues --------------------------------------------------------------------- */

struct vl_completion {
	struct ibv_wc wc;
	uint64_t arrival; /* device->arrival then */
};

struct vl_cq {
	struct vl_device *device;
	struct vl_link link;
	void *context;
	struct vl_completion *ring;
	uint32_t size, head, tail; /* size entries; head and tail run freely */
	uint32_t use_count;
	bool armed, armed_solicited, overflowed;
};

/*
 * On overflow the CQ fails, IBV_EVENT_CQ_ERR is raised, and QPs that complete there go to ERR
 * before this returns. So whoever completes a request looks at the QP's state afterwards, and
 * holds no request across it: the owner's completion callback may post too.
 */
void vl_cq_add(struct vl_cq *cq, const struct ibv_wc *wc, bool solicited);
/* Drops what a QP has completed there. */
void vl_cq_purge(struct vl_cq *cq, uint32_t qpn);

/* ---- Work requests -------------------------------------------------------------------------- */

struct vl_receive {
	uint64_t wr_id;
	uint64_t length; /* sum of the elements */
	uint32_t sge_count;
	uint32_t reserved;
	struct ibv_sge sges[];
};

struct vl_receive_queue {
	uint8_t *ring;
	uint32_t stride, size; /* size is a power of two */
	uint32_t limit;        /* work requests that were asked for; <= size */
	uint32_t max_sge;
	uint32_t head, tail; /* run freely; head is the oldest */
};

static inline struct vl_receive *vl_receive_at(const struct vl_receive_queue *queue, uint32_t index)
{
	return (struct vl_receive *)(queue->ring +
				     (size_t)(index & (queue->size - 1)) * queue->stride);
}

struct vl_srq {
	struct vl_pd *pd;
	struct vl_link link;
	struct vl_receive_queue queue;
	uint32_t limit; /* armed limit event; 0: not armed */
	uint32_t use_count;
};

struct vl_send {
	uint64_t wr_id;
	uint64_t remote_address;
	uint64_t compare_add, swap;
	union {
		struct vl_ah *ah;  /* UD */
		struct ibv_mw *mw; /* BIND_MW */
		struct vl_mr *bind_region;
	};
	struct ibv_mw_bind_info bind; /* BIND_MW */
	uint32_t rkey;                /* also UD: remote Q_Key; BIND_MW: the new key */
	uint32_t remote_qpn;          /* UD */
	union {
		__be32 immediate;
		uint32_t invalidate_rkey;
	};
	uint32_t length; /* of the message; FLUSH: of the flushed range */
	uint32_t first_psn;
	uint32_t packet_count; /* PSNs that it takes: packets sent, or READ responses; 0: local */
	uint32_t ssn;          /* send sequence number, IBTA 9.7.7.2; limited requests by credits */
	uint8_t opcode;        /* enum ibv_wr_opcode */
	uint8_t send_flags;    /* ibv_send_flags, SIGNALED set where sq_sig_all says so */
	uint8_t sge_count;
	uint8_t placement, selectivity; /* FLUSH */
	bool is_inline;                 /* data lies in place of the elements */
	bool consumes_credit;           /* SEND and WRITE with immediate */
	bool is_read_or_atomic; /* answered by its own response: READ, ATOMIC, FLUSH, ATOMIC WRITE
				 */
	struct ibv_sge sges[];
};

struct vl_send_queue {
	uint8_t *ring;
	uint32_t stride, size; /* size is a power of two */
	uint32_t limit;
	uint32_t max_sge, max_inline;
	uint32_t head; /* oldest not completed */
	uint32_t next; /* being sent, or next to be */
	uint32_t tail; /* where the next post goes */
};

static inline struct vl_send *vl_send_at(const struct vl_send_queue *queue, uint32_t index)
{
	return (struct vl_send *)(queue->ring +
				  (size_t)(index & (queue->size - 1)) * queue->stride);
}

/* A position in a list of elements, so that the next packet need not walk from the start. */
struct vl_sge_cursor {
	uint32_t sge;      /* element */
	uint32_t offset;   /* in it */
	uint32_t position; /* in the message; equal to the offset of the packet to be built */
};

/* Gathers length bytes at position of a send request into spans. 0, or -EFAULT for a bad lkey,
 * range or permission. The cursor is used if it stands there, and moved. */
int vl_gather(const struct vl_qp *qp, const struct vl_send *send, struct vl_sge_cursor *cursor,
	      uint32_t position, uint32_t length, struct vl_outgoing *outgoing);
/* Scatters into local elements (a receive, or the sink of a READ or ATOMIC). 0, -EFAULT as above,
 * or -EMSGSIZE: the elements end before the data does. Nothing is written on error. */
int vl_scatter(const struct vl_pd *pd, const struct ibv_sge *sges, uint32_t sge_count,
	       struct vl_sge_cursor *cursor, uint32_t position, const uint8_t *data,
	       uint32_t length);

/* ---- Queue pairs ---------------------------------------------------------------------------- */

/* A READ, ATOMIC, FLUSH or ATOMIC WRITE that the responder has executed, kept so that it can be
 * answered, and answered again (IBTA 9.7.5.1.4, responder resources). */
struct vl_responder_resource {
	uint64_t address;  /* READ */
	uint64_t original; /* ATOMIC */
	uint32_t rkey;
	uint32_t length;
	uint32_t first_psn, packet_count;
	uint32_t send_psn; /* next response packet */
	uint32_t msn;      /* at its execution, for the AETH */
	uint8_t operation; /* enum vl_operation of the request */
	bool is_pending;   /* has packets to send */
	bool is_repeat;    /* answering a duplicate */
};

struct vl_requester {
	struct vl_send_queue queue;
	struct vl_sge_cursor cursor; /* in the request at queue.next */
	uint32_t post_psn;           /* of the next posted request */
	uint32_t post_ssn;
	uint32_t send_psn;         /* of the next packet */
	uint32_t unsent_psn;       /* first never sent: below it everything is a retransmission */
	uint32_t unacked_psn;      /* oldest not acknowledged */
	uint32_t ack_request_psn;  /* just after the newest packet that asked for an answer */
	uint32_t limit_ssn;        /* LSN: credits granted (IBTA 9.7.7.2) */
	uint32_t wait_psn;         /* RNR back-off: of the refused packet */
	uint64_t wait_until;       /* ns; RNR back-off */
	uint64_t wake_time;        /* ns; with VL_SEND_LATER */
	uint64_t ack_deadline;     /* ns; 0: none running */
	uint64_t pace_time;        /* ns; the next paced packet goes no earlier */
	uint64_t pace_byte_time;   /* that pace_time was computed with, see vl_cc_algorithm */
	uint32_t pace_fraction;    /* of a nanosecond, in picoseconds << 16 */
	struct vl_sge_cursor sink; /* in the oldest READ */
	uint16_t packets_since_ack_request;
	uint8_t outstanding_reads;
	uint8_t retries_left, rnr_retries_left;
	bool unlimited_credits;
	bool has_credits; /* an AETH has said how many */
	bool is_waiting_rnr;
	bool is_waiting_credit;
	bool has_rewound; /* since the last progress: a further implied NAK is ignored */
	bool is_probing;  /* the one packet beyond the credit is out */
	bool is_draining; /* SQD */
	bool drained_reported;
};

struct vl_responder {
	struct vl_receive_queue queue; /* without an SRQ */
	struct vl_receive *receive;    /* taken for the message that is arriving; NULL: none */
	struct vl_receive *held;       /* room for one taken from an SRQ */
	struct vl_responder_resource *resources;
	struct vl_sge_cursor cursor; /* in *receive */
	uint64_t write_address;      /* WRITE in progress: where the next byte goes */
	uint32_t write_rkey, write_remaining, write_length;
	uint32_t message_length; /* received of the SEND in progress */
	uint32_t expected_psn;
	uint32_t msn;
	uint32_t nak_psn;
	uint16_t resource_count; /* max_dest_rd_atomic as granted */
	uint16_t resource_mask;  /* of the ring, a power of two not below resource_count, less 1 */
	uint16_t resource_head, resource_tail; /* run freely: the last resource_count are kept */
	uint16_t resource_next;                /* first that may be pending */
	uint8_t operation;                     /* of the last packet of an unfinished message */
	bool in_message;
	bool ack_pending;
	bool becn_pending;      /* the next acknowledgement carries BECN */
	bool nak_pending;       /* nak_syndrome at nak_psn, after all pending responses */
	bool sequence_nak_sent; /* silent until the expected PSN comes */
	bool rnr_nak_sent;
	bool is_refusing;           /* fatal: takes nothing more, and the QP fails once the
				       pending ACK or NAK is out */
	uint8_t advertised_credits; /* last AETH code sent */
	int32_t failure;            /* enum ibv_event_type for vl_qp_fail, with is_refusing */
	uint8_t nak_syndrome;
};

struct vl_qp {
	struct vl_device *device;
	struct vl_pd *pd;
	struct vl_cq *send_cq, *recv_cq;
	struct vl_srq *srq;
	void *context;
	struct vl_link link; /* in the domain */
	struct vl_link notification_link, urgent_link, ready_link;
	struct vl_timer pace_timer; /* pacing and RNR back-off: then ready */
	struct vl_timer ack_timer;  /* local ACK timeout; re-armed late, see ack_deadline */

	uint32_t qpn, remote_qpn;
	uint32_t qkey;
	uint32_t notification_qpn; /* UD on InfiniBand: who is to get the notification */
	uint32_t memory_size;      /* of the QP and its queues: one allocation */
	uint32_t window_count;     /* type 2 windows bound on it */
	uint16_t udp_source_port;  /* 0: by the flow label or the QPNs */
	uint16_t pkey;             /* value, not index */
	uint16_t path_mtu;         /* bytes */
	uint8_t path_mtu_shift;    /* log2 */
	uint8_t type;              /* enum ibv_qp_type */
	uint8_t state;             /* enum ibv_qp_state */
	uint8_t priority;          /* service level */
	uint8_t pkey_index;
	uint8_t timeout, retry_count, rnr_retry, min_rnr_timer;
	uint8_t max_rd_atomic, max_dest_rd_atomic;
	uint8_t gid_index;
	bool sq_sig_all, is_gsi, sqd_notify, communication_established;
	bool response_turn; /* requests and READ responses take turns */
	bool is_flushing_sends, is_flushing_receives;
	unsigned int access; /* qp_access_flags */

	struct vl_path path; /* connected services; UD: the way of its notification */
	union ibv_gid remote_gid;
	struct vl_requester requester;
	struct vl_responder responder;
	const struct vl_cc_parameters *cc; /* never NULL */
	struct vl_cc_state cc_state;
	struct vl_notification_point notification;
	struct vl_counters counters;
	struct ibv_ah_attr *ah_attr; /* as given, for vl_query_qp; with the work queues' memory */
};

/* 100,000 connected QPs, work queues included, are to fit in 1 GiB. */
static_assert(sizeof(struct vl_qp) <= 1024, "a QP's context is at most 1 KiB");

/* Both count on the QP and on the device. */
#define VL_COUNT(qp, counter)                                                                      \
	do {                                                                                       \
		(qp)->counters.counter++;                                                          \
		(qp)->device->counters.counter++;                                                  \
	} while (0)
#define VL_COUNT_ADD(qp, counter, amount)                                                          \
	do {                                                                                       \
		(qp)->counters.counter += (amount);                                                \
		(qp)->device->counters.counter += (amount);                                        \
	} while (0)

/* The receive request for a message that begins: from the SRQ (then held by the QP, the limit
 * event raised as due) or the QP's own queue. One that is taken already is returned again, so a
 * message that broke off passes its own on. NULL: none posted. */
struct vl_receive *vl_receive_take(struct vl_qp *qp);
/* Completes the taken receive (own queue: its slot becomes free). wr_id and qp_num of the
 * completion are filled in here. */
void vl_receive_complete(struct vl_qp *qp, const struct ibv_wc *wc, bool solicited);
/* Receive requests posted and not taken. */
uint32_t vl_receive_available(const struct vl_qp *qp);

static inline bool vl_device_is_infiniband(const struct vl_device *device)
{
	return vl_is_infiniband(device->config.gids[0].encapsulation);
}

/* The domain whose keys the receive requests of a QP name: the SRQ's, or the QP's own. */
static inline const struct vl_pd *vl_receive_pd(const struct vl_qp *qp)
{
	return qp->srq ? qp->srq->pd : qp->pd;
}

/* Completes the oldest send request: writes a completion if it is signalled or failed, and frees
 * its slot. Counts message_tx or message_fail. */
void vl_send_complete(struct vl_qp *qp, enum ibv_wc_status status);
/* UC and UD: a request is done when its last packet has been handed out, and completes when the
 * next is asked for, since until then the caller still reads the data. Draining ends here too. */
void vl_send_complete_handed_out(struct vl_qp *qp);
/* Tells the owner. */
static inline void vl_raise_event(const struct vl_device *device, enum ibv_event_type event,
				  void *object)
{
	if (device->config.events.async)
		device->config.events.async(device->config.events.context, event, object);
}
/* To ERR: everything outstanding completes with IBV_WC_WR_FLUSH_ERR, timers and queues stop.
 * event: raised if not VL_NO_EVENT (IBV_EVENT_QP_FATAL, _QP_REQ_ERR, _QP_ACCESS_ERR). */
void vl_qp_fail(struct vl_qp *qp, enum ibv_event_type event);
#define VL_NO_EVENT ((enum ibv_event_type)(-1))
/* UC and UD requester errors: to SQE, the send queue alone is flushed. */
void vl_qp_fail_send_queue(struct vl_qp *qp);
/* Forgets all requester and responder state (RESET), and sets it up (RTR, RTS). */
void vl_qp_reset(struct vl_qp *qp);
/* SQD: called when the last outstanding request has completed. */
void vl_qp_drained(struct vl_qp *qp);

/* ---- engine.c ------------------------------------------------------------------------------- */

/* What a timer in the wheel is for. */
enum vl_timer_kind {
	VL_TIMER_PACE, /* pacing or RNR back-off is over: the QP is ready */
	VL_TIMER_ACK,  /* local ACK timeout, if ack_deadline has come */
};

/* A CE mark asks for a CNP to the QP's peer. engine.c calls it for every packet of a connected
 * service. */
void vl_engine_notify(struct vl_qp *qp);
/* The QP has an ACK or NAK to send. */
void vl_engine_urgent(struct vl_qp *qp);
/* The QP may have a request or a READ response to send: now, or when its pacing allows. */
void vl_engine_ready(struct vl_qp *qp);
/* Takes the QP out of every list and wheel. */
void vl_engine_forget(struct vl_qp *qp);

/* ---- Services: what engine.c calls ---------------------------------------------------------- */

/* Requests posted: assigns PSNs (rc, uc, ud requester.c), called by post after the copy. */
void vl_requester_posted(struct vl_qp *qp, struct vl_send *send);

enum vl_send_result {
	VL_SEND_NOTHING, /* nothing to send, or waiting for something that will call vl_engine_ready
			  */
	VL_SEND_PACKET,
	VL_SEND_LATER, /* not before requester.wake_time; the engine arms the timer */
	VL_SEND_AGAIN, /* something local was done (a completion, a rewind): ask once more */
};

void vl_rc_receive(struct vl_qp *qp, const struct vl_packet *packet, uint64_t now);
enum vl_send_result vl_rc_urgent(struct vl_qp *qp, struct vl_outgoing *outgoing, uint64_t now);
enum vl_send_result vl_rc_send(struct vl_qp *qp, struct vl_outgoing *outgoing, uint64_t now);
void vl_rc_ack_timeout(struct vl_qp *qp, uint64_t now);
/* SQD was entered: reports it drained if nothing is outstanding. */
void vl_rc_check_drained(struct vl_qp *qp);
/* Receives were posted: an unsolicited ACK with the new credits, if the peer ran out. */
void vl_rc_receives_posted(struct vl_qp *qp);

void vl_uc_receive(struct vl_qp *qp, const struct vl_packet *packet, uint64_t now);
enum vl_send_result vl_uc_send(struct vl_qp *qp, struct vl_outgoing *outgoing, uint64_t now);
void vl_ud_receive(struct vl_qp *qp, const struct vl_packet *packet, uint64_t now);
enum vl_send_result vl_ud_send(struct vl_qp *qp, struct vl_outgoing *outgoing, uint64_t now);
/* A UD QP is scheduled at the priority of its next request's AH: called when that changes. */
void vl_ud_choose_priority(struct vl_qp *qp, const struct vl_send *next);

#endif
