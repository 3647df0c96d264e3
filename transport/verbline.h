/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * The transport's public interface: the InfiniBand verbs, and the three calls
 * that carry every packet.
 *
 * Names, enumerations, status codes and plain structures are those of
 * <infiniband/verbs.h> (rdma-core); functions carry the prefix vl_ and take the
 * time as an argument where they need one.
 *
 * Conventions
 * - A device is single-threaded: all calls on one device and its objects come from
 *   one thread at a time. Different devices are independent.
 * - Times are nanoseconds of any monotonic clock; one clock per device.
 * - Control calls return 0 or a negative errno value; constructors return NULL and
 *   store the negative errno value in *error (error may be NULL).
 * - Nothing here reads a clock, does I/O or draws its own random seed. Memory comes
 *   from the allocator in the configuration, and only in constructors and in
 *   vl_resize_cq; posting, polling and the three packet calls never allocate.
 */
#ifndef VERBLINE_H
#define VERBLINE_H

#include "transport/cc/cc.h"
#include "transport/counters.h"
#include "transport/wire/packet.h"

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vl_device;
struct vl_pd;
struct vl_cq;
struct vl_srq;
struct vl_qp;

#define VL_NO_DEADLINE UINT64_MAX

/* Scatter/gather elements of one work request, and so of one packet. */
#define VL_MAX_SGE 32
/* Largest inline payload of one work request, bytes. */
#define VL_MAX_INLINE 512
/* Entries of a device's GID table and P_Key table. */
#define VL_MAX_GIDS  16
#define VL_MAX_PKEYS 16
/* IBTA 9.3.1.1: a message is at most 2^31 bytes. */
#define VL_MAX_MESSAGE (UINT32_C(1) << 31)

/* Verbs that the oldest supported <infiniband/verbs.h> does not number yet; the
 * values are those of later rdma-core versions. */
#define VL_WR_FLUSH                ((enum ibv_wr_opcode)14)
#define VL_WC_FLUSH                ((enum ibv_wc_opcode)8)
#define VL_ACCESS_FLUSH_GLOBAL     (1u << 8)
#define VL_ACCESS_FLUSH_PERSISTENT (1u << 9)
/* FETH placement type (bit mask) and selectivity level, IBTA A19. */
#define VL_PLACEMENT_GLOBAL     1u
#define VL_PLACEMENT_PERSISTENT 2u
#define VL_SELECTIVITY_RANGE    0u
#define VL_SELECTIVITY_MR       1u

struct vl_allocator {
	/* Returns zeroed memory aligned to 64 bytes, or NULL. */
	void *(*allocate)(void *context, size_t size);
	void (*release)(void *context, void *memory, size_t size);
	void *context;
};

struct vl_gid_entry {
	union ibv_gid gid; /* IPv4 as ::ffff:a.b.c.d */
	enum vl_encapsulation encapsulation;
	bool vlan_present;
	uint16_t vlan_id;
};

/* What the device tells its owner. Callbacks run inside a verb or a packet call;
 * they may poll and post, but not create, modify or destroy. All may be NULL. */
struct vl_device_events {
	/* A completion was added to a CQ armed by vl_req_notify_cq. */
	void (*completion)(void *context, struct vl_cq *cq);
	/* The object is the one that IBV_EVENT_* names: vl_cq, vl_qp or vl_srq. */
	void (*async)(void *context, enum ibv_event_type event, void *object);
	/* Finds the destination MAC of a GID; 0, or a negative errno value, which
	 * vl_modify_qp or vl_create_ah then returns. NULL: MACs stay zero. */
	int (*resolve)(void *context, const union ibv_gid *destination, uint8_t mac[6]);
	void *context;
};

/* What the least time between CNPs (min_time_between_cnps) is kept for: NICs differ. On Ethernet UD
 * sends none: marks are counted (ecn_ce_rx), but a CNP is for one QP, and would slow its datagrams
 * to all destinations for the sake of one; nor does it take any, as it cannot tell whose they are.
 */
enum vl_cnp_scope {
	VL_CNP_SCOPE_QP,
	VL_CNP_SCOPE_IP,   /* all QPs of a remote address; told apart by a hash */
	VL_CNP_SCOPE_PORT, /* all of the device */
};

struct vl_device_config {
	struct vl_allocator allocator;
	struct vl_device_events events;
	uint64_t seed;      /* of the device's random numbers (initial UDP ports, marks) */
	uint8_t mac[6];     /* source MAC of every packet */
	uint16_t lid;       /* InfiniBand encapsulations only */
	uint32_t gid_count; /* 1 to VL_MAX_GIDS */
	struct vl_gid_entry gids[VL_MAX_GIDS];
	uint32_t pkey_count; /* 0: one entry, 0xffff */
	uint16_t pkeys[VL_MAX_PKEYS];
	enum ibv_mtu active_mtu; /* 0: IBV_MTU_4096 */
	uint64_t link_rate;      /* bit/s, the line rate that flows start at; 0: 100 Gb/s */

	/* Limits; 0 takes the default in brackets. */
	uint32_t max_qp;               /* [16384] up to 2^24 - 2 */
	uint32_t max_cq;               /* [65536] */
	uint32_t max_mr;               /* [65536] */
	uint32_t max_srq;              /* [1024] */
	uint32_t max_qp_wr;            /* [32768] per queue */
	uint32_t max_cqe;              /* [4194303] */
	uint8_t max_qp_rd_atom;        /* [16] 1..128 outstanding READ and ATOMIC, each way */
	uint32_t first_qpn;            /* [17] QPNs are given out upward from here */
	uint32_t max_unacked_packets;  /* [8192] 1..2^22: requester's PSN window */
	uint32_t ack_request_interval; /* [64] 1..32768 packets between AckReq inside a message */
	bool unlimited_credits;        /* as responder, never limit the peer (AETH code 31) */
	bool assume_unlimited_credits; /* as requester, no limit until an AETH grants limited
					  credits: for peers that never grant any */
	bool accept_invalid_pkey;      /* take packets with P_Key 0x0000 too */
	bool mig_req_clear;            /* send MigReq 0 as Linux soft-RoCE does, instead of 1 */
	uint8_t cnp_dscp;              /* 0..63; 0 takes 48 */
	enum vl_cnp_scope cnp_scope;
	/* Congestion control of QPs that do not choose their own with vl_set_cc. */
	const struct vl_cc_parameters *cc; /* NULL: none. Must outlive the device. */
};

struct vl_device *vl_open_device(const struct vl_device_config *config, int *error);
/* InfiniBand: the LID given by the subnet manager, for paths made from now on. */
void vl_set_lid(struct vl_device *device, uint16_t lid);
/* Destroys what still exists on the device, then the device. */
void vl_close_device(struct vl_device *device);
void vl_query_device(const struct vl_device *device, struct ibv_device_attr *attr);
/* Port 1 is the only one: -EINVAL otherwise. */
int vl_query_port(const struct vl_device *device, uint8_t port, struct ibv_port_attr *attr);
int vl_query_gid(const struct vl_device *device, uint8_t port, uint32_t index, union ibv_gid *gid);
int vl_query_pkey(const struct vl_device *device, uint8_t port, uint32_t index, uint16_t *pkey);
const struct vl_counters *vl_device_counters(const struct vl_device *device);
const uint64_t *vl_device_drops(const struct vl_device *device); /* by enum vl_drop */

struct vl_pd *vl_alloc_pd(struct vl_device *device, int *error);
/* -EBUSY while objects of the domain exist. */
int vl_dealloc_pd(struct vl_pd *pd);

/*
 * Memory regions. The owner keeps the memory until vl_dereg_mr. A key is an index
 * (upper 24 bits) and a generation (lower 8 bits); deregistering, re-registering
 * and invalidating retire the generation. iova is the address that the peers and the
 * SGEs use. The returned structure is valid until vl_dereg_mr.
 */
struct ibv_mr *vl_reg_mr(struct vl_pd *pd, void *address, size_t length, uint64_t iova,
			 unsigned int access, int *error);
/* The same with a key chosen by the caller (lkey = rkey = key): -EEXIST if in use. */
struct ibv_mr *vl_reg_mr_with_key(struct vl_pd *pd, void *address, size_t length, uint64_t iova,
				  unsigned int access, uint32_t key, int *error);
/* flags: IBV_REREG_MR_CHANGE_*. The iova becomes the address on a translation change. */
int vl_rereg_mr(struct ibv_mr *mr, int flags, struct vl_pd *pd, void *address, size_t length,
		unsigned int access);
int vl_dereg_mr(struct ibv_mr *mr);
/* Type 2 memory windows, bound by IBV_WR_BIND_MW; SEND with invalidate and
 * IBV_WR_LOCAL_INV invalidate them, and MRs registered with IBV_ACCESS_MW_BIND. */
struct ibv_mw *vl_alloc_mw(struct vl_pd *pd, enum ibv_mw_type type, int *error);
int vl_dealloc_mw(struct ibv_mw *mw);

struct vl_cq *vl_create_cq(struct vl_device *device, uint32_t cqe, void *context, int *error);
int vl_resize_cq(struct vl_cq *cq, uint32_t cqe); /* -EINVAL below what is queued */
int vl_destroy_cq(struct vl_cq *cq);              /* -EBUSY while QPs or SRQs use it */
/* A datagram's receive completion over Ethernet: the MAC that it came from. struct ibv_wc has no
 * member for it; it lies in those that have no meaning there, slid and vendor_err. */
static inline void vl_wc_source_mac(const struct ibv_wc *wc, uint8_t mac[6])
{
	mac[0] = (uint8_t)(wc->slid >> 8);
	mac[1] = (uint8_t)wc->slid;
	for (int i = 0; i < 4; i++)
		mac[2 + i] = (uint8_t)(wc->vendor_err >> (24 - 8 * i));
}
void *vl_cq_context(const struct vl_cq *cq);
/* Returns the number of entries stored, 0..count; -EIO once the CQ has overflowed
 * and what was queued before that has been polled (IBTA 11.2.8.1). */
int vl_poll_cq(struct vl_cq *cq, int count, struct ibv_wc *wc);
/* The same of a CQ of receive queues, with the times, ns, at which the packets that completed the
 * receives came in. */
int vl_poll_cq_arrivals(struct vl_cq *cq, int count, struct ibv_wc *wc, uint64_t *arrivals);
/* Arms one completion event for the next entry (or the next solicited or failed one). */
void vl_req_notify_cq(struct vl_cq *cq, bool solicited_only);

struct vl_srq *vl_create_srq(struct vl_pd *pd, const struct ibv_srq_attr *attr, int *error);
int vl_modify_srq(struct vl_srq *srq, const struct ibv_srq_attr *attr, int mask);
void vl_query_srq(const struct vl_srq *srq, struct ibv_srq_attr *attr);
int vl_destroy_srq(struct vl_srq *srq);
int vl_post_srq_recv(struct vl_srq *srq, const struct ibv_recv_wr *wr,
		     const struct ibv_recv_wr **bad_wr);

struct ibv_ah *vl_create_ah(struct vl_pd *pd, const struct ibv_ah_attr *attr, int *error);
/* The same without resolving: to a MAC that the caller knows, as that of a datagram to be answered
 * (vl_wc_source_mac). NULL: resolved. */
struct ibv_ah *vl_create_ah_to_mac(struct vl_pd *pd, const struct ibv_ah_attr *attr,
				   const uint8_t mac[6], int *error);
/* Points an AH elsewhere without allocating; mac may be NULL. -EBUSY while send requests that use
 * it are not completed; unchanged on error. */
int vl_modify_ah(struct ibv_ah *ah, const struct ibv_ah_attr *attr, const uint8_t mac[6]);
int vl_destroy_ah(struct ibv_ah *ah);

struct vl_qp_init_attr {
	struct vl_cq *send_cq;
	struct vl_cq *recv_cq;
	struct vl_srq *srq;       /* NULL: the QP has its own receive queue */
	struct ibv_qp_cap cap;    /* updated with what was granted, by vl_create_qp */
	enum ibv_qp_type qp_type; /* RC, UC, UD */
	bool sq_sig_all;
	bool gsi; /* with UD: QP1, Q_Key 0x80010000; one per device */
	void *context;
	uint32_t qpn; /* 0: the device chooses; else this one, -EEXIST if taken */
};

struct vl_qp *vl_create_qp(struct vl_pd *pd, struct vl_qp_init_attr *attr, int *error);
/* Outstanding work requests and completions of the QP are dropped, as the verbs do. */
int vl_destroy_qp(struct vl_qp *qp);
/* Transitions and masks as IBTA 11.2.4.2 and the kernel's ib_modify_qp_is_ok. now is
 * the time of the transition. */
int vl_modify_qp(struct vl_qp *qp, const struct ibv_qp_attr *attr, int mask, uint64_t now);
void vl_query_qp(const struct vl_qp *qp, struct ibv_qp_attr *attr, struct vl_qp_init_attr *init);
/* The QP with a number; NULL: there is none. */
struct vl_qp *vl_find_qp(const struct vl_device *device, uint32_t qpn);
uint32_t vl_qp_number(const struct vl_qp *qp);
/* Of the QP at the other end of a connected service; 0 before RTR. */
uint32_t vl_qp_remote_number(const struct vl_qp *qp);
enum ibv_qp_state vl_qp_state(const struct vl_qp *qp);
void *vl_qp_context(const struct vl_qp *qp);
const struct vl_counters *vl_qp_counters(const struct vl_qp *qp);
/* Congestion control of one QP; only in RESET, INIT or RTR. parameters must pass vl_cc_check and
 * outlive the QP. */
int vl_set_cc(struct vl_qp *qp, const struct vl_cc_parameters *parameters);
struct vl_cc_report vl_query_cc(struct vl_qp *qp, uint64_t now);
/* UDP source port of the QP's packets (0xc000..0xffff); without this call it follows
 * from the flow label or the QPNs, as PROTOCOL rules for RoCEv2 entropy say. */
int vl_set_udp_source_port(struct vl_qp *qp, uint16_t port);

/*
 * Posting. 0, or a negative errno value with *bad_wr at the request that was not
 * taken (-ENOMEM: queue full, -EINVAL: malformed or wrong state); those before it were.
 */
int vl_post_send(struct vl_qp *qp, const struct ibv_send_wr *wr, const struct ibv_send_wr **bad_wr,
		 uint64_t now);
int vl_post_recv(struct vl_qp *qp, const struct ibv_recv_wr *wr, const struct ibv_recv_wr **bad_wr);
/* FLUSH has no room in struct ibv_send_wr; arguments as ibv_wr_flush of later rdma-core. */
int vl_post_flush(struct vl_qp *qp, uint64_t wr_id, unsigned int send_flags, uint32_t rkey,
		  uint64_t remote_addr, uint32_t length, uint8_t placement, uint8_t selectivity,
		  uint64_t now);

/*
 * The three calls.
 *
 * vl_receive takes one parsed packet whose ICRC the caller has checked (or chosen not
 * to). The packet's bytes are not kept. vl_receive_frame parses and checks first.
 * Drops are counted by reason; nothing is returned, as nobody could act on it.
 */
void vl_receive(struct vl_device *device, const struct vl_packet *packet, uint64_t now);
void vl_receive_frame(struct vl_device *device, enum vl_link_type link, const uint8_t *frame,
		      uint32_t length, uint64_t now);
/* The same of a packet that came in at the port earlier than now: arrival, ns, not after now. Only
 * vl_poll_cq_arrivals tells of it. */
void vl_receive_frame_arrived(struct vl_device *device, enum vl_link_type link,
			      const uint8_t *frame, uint32_t length, uint64_t arrival,
			      uint64_t now);

struct vl_span {
	const uint8_t *data;
	uint32_t length;
};

/* A packet to be sent. Spans stay valid until the next call on the device. */
struct vl_outgoing {
	/* In: where to put the headers; VL_MAX_HEADER_LENGTH bytes of room. */
	uint8_t *headers;
	/* Out */
	uint16_t header_length;  /* Ethernet (or LRH) up to the last extension header */
	uint16_t network_offset; /* of the IP header or the GRH, or for IB_LOCAL the LRH, in headers
				  */
	uint8_t pad_count;       /* zero bytes after the payload, before the ICRC */
	uint8_t span_count;
	uint8_t priority; /* 0..7, on InfiniBand 0..15: the service level */
	uint8_t opcode;   /* of the BTH */
	bool is_retransmission;
	enum vl_encapsulation encapsulation;
	uint32_t payload_length; /* sum of the spans */
	uint32_t frame_length;   /* headers, payload, pad, ICRC (and VCRC on InfiniBand) */
	struct vl_qp *qp;        /* whose packet it is */
	struct vl_span spans[VL_MAX_SGE];
};

/* Runs what is due at now and fills *outgoing with the next packet; false: none may be
 * sent now. Time must not run backward. */
bool vl_transmit(struct vl_device *device, uint64_t now, struct vl_outgoing *outgoing);
/* Copies a packet out as one piece with its ICRC (and VCRC); outgoing->headers may be frame
 * itself. Returns its length, or 0 if capacity is too small. */
uint32_t vl_serialize(const struct vl_outgoing *outgoing, uint8_t *frame, uint32_t capacity);
/* The earliest time at which vl_transmit could do something, 0 if right now, or
 * VL_NO_DEADLINE. May be early, never late. */
uint64_t vl_next_deadline(const struct vl_device *device);
/* Service levels, which are the priorities on Ethernet (bit n = level n), that must not send, as
 * PFC, credits or a caller's queue say. */
void vl_set_paused_priorities(struct vl_device *device, uint16_t priorities);
/* Of the others, those that may send nothing but acknowledgements, NAKs and congestion
 * notifications. */
void vl_set_held_priorities(struct vl_device *device, uint16_t priorities);

/*
 * Hints for a caller that serves more devices than the cache holds: each fetches what the call
 * of its name is about to touch, and may be called at any time. A device is fetched first, then
 * what stands in it, a little later, when what is read of the device has arrived.
 */
void vl_prefetch_device(const struct vl_device *device);
void vl_prefetch_receive(const struct vl_device *device, uint32_t destination_qpn);
void vl_prefetch_transmit(const struct vl_device *device);

#endif
