/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Two devices with a queue pair each, connected to each other by a wire of constant delay in
 * virtual time. A test sees every packet before it travels, and may drop or change it. Side 0 is
 * the requester in most tests.
 */
#ifndef VERBLINE_TESTS_PAIR_H
#define VERBLINE_TESTS_PAIR_H

#include "transport/verbline.h"

#define PAIR_MEMORY 262144
#define PAIR_TRACE  4096
#define PAIR_DELAY  1000 /* ns, one way */

struct pair;

struct pair_options {
	enum ibv_qp_type type; /* 0: RC */
	enum ibv_mtu path_mtu; /* 0: 1024 */
	uint32_t psn[2];       /* of each side's send queue */
	uint32_t depth;        /* of every queue; 0: 64 */
	uint32_t max_sge;      /* 0: 4 */
	uint8_t timeout;       /* exponent; 0: 10 (4.2 ms) */
	uint8_t retry_count;   /* 0: 7; see no_retry */
	uint8_t rnr_retry;     /* 0: 7 */
	bool no_retry, no_rnr_retry;
	uint8_t min_rnr_timer; /* code; 0: 1 (10 us) */
	uint8_t max_rd_atomic; /* 0: 4 */
	bool unlimited_credits;
	bool use_srq;
	bool ipv6;
	unsigned int access; /* of QPs and regions; 0: everything */
	const struct vl_cc_parameters *cc;
	uint8_t traffic_class;
};

struct pair_record {
	uint64_t time;
	uint8_t from; /* side */
	bool dropped;
	bool is_retransmission;
	struct vl_packet packet; /* pointers are not valid */
};

struct pair {
	struct pair_options options;
	struct vl_device *device[2];
	struct vl_pd *pd[2];
	struct vl_cq *send_cq[2], *recv_cq[2];
	struct vl_srq *srq[2];
	struct vl_qp *qp[2];
	uint8_t *memory[2];
	struct ibv_mr *mr[2];
	uint64_t now;
	uint64_t port_time; /* ns that frames lie at the port before they are taken */
	/* Called for each packet leaving a side; frame may be changed. False drops it. */
	bool (*hook)(struct pair *pair, unsigned int from, const struct vl_packet *packet,
		     uint8_t *frame, uint32_t length);
	void *hook_data;
	struct pair_record trace[PAIR_TRACE];
	uint32_t trace_count;
	enum ibv_event_type events[2][16];
	uint32_t event_count[2];
	uint32_t memory_in_use; /* allocations not released */
	void *context[2];
	struct pair_frame *in_flight, **in_flight_tail;
};

/* Both QPs in RTS. NULL with a failed assertion when anything fails. */
struct pair *pair_open(const struct pair_options *options);
void pair_close(struct pair *pair);
/* Runs for a time, or until nothing is left to happen before it. */
void pair_run(struct pair *pair, uint64_t duration);
/* Polls one completion; status -1 in the result: none there. */
struct ibv_wc pair_poll_send(struct pair *pair, unsigned int side);
struct ibv_wc pair_poll_recv(struct pair *pair, unsigned int side);
#define PAIR_NO_COMPLETION ((enum ibv_wc_status) - 1)

/* Posts one request of length bytes at offset of the side's memory; remote_offset in the peer's.
 * flags: IBV_SEND_*. */
int pair_post(struct pair *pair, unsigned int side, enum ibv_wr_opcode opcode, uint32_t offset,
	      uint32_t length, uint64_t remote_offset, unsigned int flags);
int pair_post_recv(struct pair *pair, unsigned int side, uint32_t offset, uint32_t length);
/* Packets in the trace from a side with an opcode (-1: any). */
uint32_t pair_count(const struct pair *pair, unsigned int from, int opcode);
/* The n-th such packet, NULL past the last. */
const struct pair_record *pair_find(const struct pair *pair, unsigned int from, int opcode,
				    uint32_t n);

#endif
