/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Shared by traffic.c, which runs flows, and flow.c, which sets them up, and by nobody else. */
#ifndef VERBLINE_DATAPLANE_FLOW_PRIVATE_H
#define VERBLINE_DATAPLANE_FLOW_PRIVATE_H

#include "dataplane/flow.h"
#include "transport/timer_wheel.h"

#define VL_FLOW_UD_QKEY 0x11111111u
/* The memory's address on the wire: not the process's, so that packets are the same in each run. */
#define VL_FLOW_MEMORY_ADDRESS UINT64_C(0x100000000)

/* The requester's side of one queue pair. */
struct vl_flow_sender {
	struct vl_qp *qp;
	struct vl_flow *flow;
	struct vl_timer timer;  /* start, or the next message of a rate */
	uint64_t *start_times;  /* of outstanding messages, by sequence & mask */
	uint64_t next_time;     /* ns, when the next message is due */
	uint64_t next_fraction; /* of a nanosecond, 1/2^32 */
	struct vl_flow_progress progress;
	struct ibv_ah *ah; /* UD */
	uint32_t remote_qpn;
	uint32_t index; /* in work requests' identifiers */
};

/* The responder's side of one queue pair. */
struct vl_flow_receiver {
	struct vl_qp *qp;
	uint32_t length; /* of each receive; 0: without an element */
};

struct vl_flow {
	struct vl_flow_config config;
	struct vl_traffic *requester, *responder;
	struct vl_flow *next; /* of the requester */
	struct vl_flow_sender *senders;
	uint64_t *start_times;
	uint64_t interval, interval_fraction; /* of a rate: ns, 1/2^32 ns */
	uint64_t remote_address;
	uint32_t remote_rkey;
	uint32_t first_receiver; /* in the responder */
	uint32_t depth_mask;
};

struct vl_traffic {
	struct vl_endpoint *endpoint;
	struct vl_pd *pd;
	struct vl_cq *send_cq, *recv_cq;
	uint32_t send_entries, recv_entries; /* that may be outstanding */
	struct ibv_mr *mr;
	uint8_t *memory, *own_memory;
	uint32_t largest_message;
	uint32_t unfinished; /* senders */
	struct vl_flow *flows;
	struct vl_flow_receiver *receivers;
	uint32_t receiver_count;
	struct vl_flow_sender **senders; /* by the index in a work request's identifier */
	uint32_t sender_count;
	struct vl_timer_wheel wheel;
};

/* Where messages come from, and where they arrive, as the wire names it. */
static inline uint64_t vl_flow_source_address(void)
{
	return VL_FLOW_MEMORY_ADDRESS;
}

static inline uint64_t vl_flow_sink_address(const struct vl_traffic *traffic)
{
	return VL_FLOW_MEMORY_ADDRESS + vl_traffic_memory_size(traffic->largest_message) / 2;
}

/* traffic.c: posts a receive on a queue pair of the responder. */
void vl_traffic_post_receive(struct vl_traffic *traffic, uint32_t index);
/* flow.c: also what a failed creation left. */
void vl_flow_destroy(struct vl_flow *flow);

#endif
