/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Plans of the workloads that applications run on such networks. Each fills a plan that was
 * initialized with its number of ranks, or returns -EINVAL (the plan's error says what would be
 * right) or -ENOMEM. Same arguments, same plan.
 *
 * "size" is what nccl-tests prints as size: the bytes of the larger of a rank's buffers, so
 * all-reduce, broadcast: of the buffer; reduce-scatter: of what a rank contributes; all-gather: of
 * what a rank ends with; all-to-all: of all that a rank sends, its own part (which stays) included.
 * Where a size does not divide evenly, parts differ by one byte.
 */
#ifndef VERBLINE_WORKLOAD_COLLECTIVES_H
#define VERBLINE_WORKLOAD_COLLECTIVES_H

#include "dataplane/workload/plan.h"

/* ---- collectives_reduce.c ---- */

/* Thakur, Rabenseifner and Gropp, Optimization of Collective Communication Operations in MPICH,
 * 2005, the ring algorithm: reduce-scatter, then all-gather; rank r sends to r + 1. compute: ns to
 * add a part that has arrived. */
int vl_workload_plan_ring_all_reduce(struct vl_workload_plan *plan, uint64_t size,
				     uint64_t compute);
/* The same paper, Rabenseifner's algorithm: recursive halving, then recursive doubling. Ranks: a
 * power of two. */
int vl_workload_plan_halving_doubling_all_reduce(struct vl_workload_plan *plan, uint64_t size,
						 uint64_t compute);
int vl_workload_plan_ring_reduce_scatter(struct vl_workload_plan *plan, uint64_t size,
					 uint64_t compute);
int vl_workload_plan_ring_all_gather(struct vl_workload_plan *plan, uint64_t size);

/* ---- collectives_exchange.c ---- */

/* All other ranks send size bytes to rank 0 at once. */
int vl_workload_plan_incast(struct vl_workload_plan *plan, uint64_t size);
/* Each rank sends size bytes to another, and gets from another: a derangement, all of which are
 * equally likely. */
int vl_workload_plan_permutation(struct vl_workload_plan *plan, uint64_t size, uint64_t seed);
/* Rank r sends to r + 1, r + 2, ...: at most depth of them at a time; 0: all at once. */
int vl_workload_plan_all_to_all(struct vl_workload_plan *plan, uint64_t size, uint32_t depth);
/* From rank 0 down a tree where each rank has fanout children, in segments that are passed on as
 * they come. segment 0: one. */
int vl_workload_plan_broadcast_tree(struct vl_workload_plan *plan, uint64_t size, uint32_t fanout,
				    uint64_t segment);
/* Ranks 0 to servers - 1 are servers, each of an equal part of size bytes; all others are workers,
 * which push their part of the gradient to each server, and get its parameters once it has heard of
 * all and computed. */
int vl_workload_plan_parameter_server(struct vl_workload_plan *plan, uint64_t size,
				      uint32_t servers, uint64_t compute);

/* ---- collectives_pipeline.c ---- */

enum vl_pipeline_schedule {
	VL_PIPELINE_GPIPE, /* all forward passes, then all backward (Huang et al. 2019) */
	VL_PIPELINE_1F1B,  /* one forward, one backward, after filling (Narayanan et al. 2019) */
};

struct vl_pipeline {
	uint32_t microbatches;
	uint64_t activation;        /* bytes, forward to the next stage; and its gradient, back */
	uint64_t forward, backward; /* ns of computing per microbatch and stage */
	enum vl_pipeline_schedule schedule;
};
/* A rank a stage. A stage computes one thing at a time. */
int vl_workload_plan_pipeline(struct vl_workload_plan *plan, const struct vl_pipeline *pipeline);

/* ---- collectives_requests.c ---- */

enum vl_arrivals {
	VL_ARRIVALS_CLOSED,   /* the next when one is done: depth at a time */
	VL_ARRIVALS_CONSTANT, /* at fixed distances */
	VL_ARRIVALS_POISSON,  /* at exponentially distributed distances */
};

/* Bytes of an operation: choices by weight. */
struct vl_size_choice {
	uint64_t bytes;
	uint32_t weight;
};

struct vl_requests {
	uint32_t servers; /* ranks 0 to servers - 1; all others are clients */
	uint32_t count;   /* of each client */
	enum vl_arrivals arrivals;
	uint32_t depth; /* CLOSED: outstanding operations of a client, from 1 */
	double rate;    /* else: operations per second of each client */
	uint64_t seed;
};

/* Each operation is a READ (with probability reads) from a server or a WRITE to one, chosen at
 * random, and a job. */
int vl_workload_plan_storage(struct vl_workload_plan *plan, const struct vl_requests *requests,
			     double reads, const struct vl_size_choice *sizes, uint32_t size_count);
/* Each operation is a request to a server and, after computing, its response: a job. */
int vl_workload_plan_inference(struct vl_workload_plan *plan, const struct vl_requests *requests,
			       uint64_t request_bytes, uint64_t response_bytes, uint64_t compute);

#endif
