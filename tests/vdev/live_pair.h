/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Two endpoints, each on a worker of its own, joined by a ring link, with one connected RC queue
 * pair between them and a region of memory on each side. EAL is to be running with two workers. */
#ifndef VERBLINE_TESTS_LIVE_PAIR_H
#define VERBLINE_TESTS_LIVE_PAIR_H

#include "dataplane/runtime/constant_stage.h"
#include "dataplane/runtime/endpoint_stage.h"

struct rte_mempool;

struct live_side {
	struct vl_worker *worker;
	struct rte_mempool *mempool;
	struct vl_port *port;
	struct vl_endpoint *endpoint;
	struct vl_endpoint_stage stage;
	struct vl_constant_stage *constant; /* NULL: payload is copied */
	struct vl_pd *pd;
	struct vl_cq *cq;
	struct vl_qp *qp;
	struct ibv_mr *mr; /* iova = address */
	uint8_t *memory;   /* the caller's */
};

struct live_pair {
	struct live_side sides[2];
};

struct live_pair_config {
	uint32_t mempool_size, ring_size;
	uint32_t queue_depth; /* send and receive work requests, and CQ entries are thrice that */
	uint8_t *memory[2];
	size_t memory_size;
	/* The first side's memory repeats so, and is not touched to send it; 0: it is copied. */
	uint32_t constant_period;
	uint32_t constant_frames;
	uint8_t timeout;                   /* local ACK timeout code; 0 is off */
	const struct vl_cc_parameters *cc; /* NULL: none */
};

/* Workers do not run yet. 0, or -1 with *error filled; either way to be closed. */
int live_pair_open(struct live_pair *pair, const struct live_pair_config *config,
		   struct vl_error *error);
int live_pair_start(struct live_pair *pair, struct vl_error *error);
void live_pair_stop(struct live_pair *pair);
void live_pair_close(struct live_pair *pair);

#endif
