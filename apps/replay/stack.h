/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * The stack in the place of a recorded host: a device with its addresses, one queue pair with its
 * numbers, and memory under its keys.
 */
#ifndef VERBLINE_REPLAY_STACK_H
#define VERBLINE_REPLAY_STACK_H

#include "apps/replay/trial.h"

/* Address space that is set aside for one key, at most; only what is touched takes memory. */
#define STACK_MAX_REGION (UINT64_C(64) << 30)

#define STACK_ALL_ACCESS                                                                           \
	(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |             \
	 VL_ACCESS_FLUSH_GLOBAL | VL_ACCESS_FLUSH_PERSISTENT)

struct stack {
	struct vl_device *device;
	struct vl_pd *pd;
	struct vl_cq *send_cq, *recv_cq;
	struct vl_qp *qp;
	struct vl_path_macs {
		uint8_t peer[6];
	} macs;
	uint64_t now;
};

struct stack_options {
	const struct recorded_packet *model; /* a packet that the recorded host sent, or, if it sent
						none, one that it received */
	bool model_is_received;
	enum ibv_qp_type type;
	uint32_t qpn, peer_qpn;
	uint32_t path_mtu;
	uint32_t sq_psn, rq_psn;
	uint32_t send_depth;
	uint32_t ack_request_interval; /* 0: the device's own */
	uint8_t timeout, rnr_timer;
	unsigned int access;
	bool unlimited_credits; /* to grant */
	bool assume_no_credits; /* until some are granted */
	bool gsi;
	uint32_t qkey;
};

/* False: message says why. */
bool stack_open(struct stack *stack, const struct stack_options *options, char *message,
		size_t size);
void stack_close(struct stack *stack);

/* What the stack sends next; CNPs are not replayed. False: nothing now. */
bool stack_transmit(struct stack *stack, struct vl_outgoing *outgoing);

/* A packet of a list, which is not empty, whose P_Key and MigReq are those of most. */
const struct recorded_packet *stack_model(const struct packet_list *list);

/* Address space of a size, zero until written; NULL when it is not to be had. */
uint8_t *stack_reserve(uint64_t size);
void stack_unreserve(uint8_t *memory, uint64_t size);

#endif
