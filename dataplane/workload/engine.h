/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Runs workloads on endpoints: the ranks of each plan (plan.h) post their steps over RC queue pairs
 * as what these wait for is there. A rank learns of others by what arrives alone, so the endpoints
 * may be run by different threads, each its own: nothing is locked. What holds for all ranks of a
 * workload at once (its start after another has ended, the start of its next round) are single
 * words that ranks look at; that such news costs no time on the network is an idealisation.
 *
 *	engine = vl_workload_engine_create(&config, &error)
 *	vl_workload_engine_add(engine, &workload, &error)      for each
 *	vl_workload_engine_connect(engine, now)                makes the queue pairs
 *	... run the endpoints until vl_workload_engine_is_finished(engine) ...
 *
 * The engine becomes the application of its endpoints, and runs there beside the one that they had.
 * Queue pairs are made once for each two ranks of a workload that exchange anything, in whatever
 * direction. After connect nothing is allocated; starting a step takes constant time, or that of a
 * heap where it is due at a time.
 */
#ifndef VERBLINE_WORKLOAD_ENGINE_H
#define VERBLINE_WORKLOAD_ENGINE_H

#include "dataplane/endpoint.h"
#include "dataplane/generate/queue_pair.h"
#include "dataplane/workload/plan.h"

#include <stdbool.h>
#include <stdint.h>

/* Of all workloads, each with its two ends. */
#define VL_WORKLOAD_MAX_QPS     65536u
#define VL_WORKLOAD_MAX_DEPTH   16384u
#define VL_WORKLOAD_MAX_RECORDS (UINT64_C(1) << 26) /* steps times rounds, 16 B each */
#define VL_WORKLOAD_MAX_LANES   64u
#define VL_WORKLOAD_NEVER       UINT64_MAX

struct vl_workload_engine;

struct vl_workload_engine_config {
	struct vl_endpoint *const *endpoints; /* copied */
	uint32_t endpoint_count;
	uint32_t largest_message; /* bytes; no message is longer */
	/* vl_traffic_memory_size(largest_message) bytes that outlive the engine and that all
	 * endpoints may share (one thread); NULL: each takes its own. */
	void *memory;
	/* Has an endpoint (by its number here) run at once, where its application's deadline is not
	 * looked at all the time. NULL: it is. */
	void (*wake)(void *context, uint32_t endpoint);
	void *wake_context;
};

struct vl_workload_config {
	const char *name; /* must outlive the engine, like all that is pointed to */
	const struct vl_workload_plan *plan;
	const uint32_t *endpoints; /* by rank: its number in the engine's; copied */
	uint64_t start;            /* ns */
	const uint32_t *after;     /* workloads (in the order added) that must have ended; copied */
	uint32_t after_count;
	uint32_t rounds; /* of the plan, from 1 */
	bool barrier;    /* a round begins when all ranks have ended the one before; else each rank
			    goes on by itself */
	/* Each step, when complete, is done again, until stop or as long as others run: rounds, and
	 * what steps wait for, mean nothing. */
	bool is_background;
	uint64_t stop;                  /* ns; of a background; 0: none */
	uint32_t message_size;          /* bytes that steps are cut into */
	uint32_t depth;                 /* messages outstanding on a queue pair */
	uint32_t qps;                   /* between two ranks, whose messages are spread over them */
	struct vl_queue_pair_config qp; /* transport RC */
	uint64_t seed;                  /* of the initial PSNs */
};

/* NULL with -EINVAL or -ENOMEM, or what the verbs returned. */
struct vl_workload_engine *vl_workload_engine_create(const struct vl_workload_engine_config *config,
						     int *error);
/* After the endpoints have come to rest, before they are destroyed. NULL is fine. */
void vl_workload_engine_destroy(struct vl_workload_engine *engine);
/* 0 or a negative errno value; vl_workload_engine_error says what was wrong. */
int vl_workload_engine_add(struct vl_workload_engine *engine,
			   const struct vl_workload_config *config);
/* -E2BIG: more queue pairs than VL_WORKLOAD_MAX_QPS. Takes effect for all endpoints: before any
 * runs. */
int vl_workload_engine_connect(struct vl_workload_engine *engine, uint64_t now);
const char *vl_workload_engine_error(const struct vl_workload_engine *engine);

/* Whether all workloads but background ones have ended, or cannot any more as something failed.
 * For any thread. False without any but background ones. */
bool vl_workload_engine_is_finished(const struct vl_workload_engine *engine);
uint32_t vl_workload_engine_count(const struct vl_workload_engine *engine);
/* Pairs of queue pairs. */
uint32_t vl_workload_engine_qp_count(const struct vl_workload_engine *engine);

/* ---- What came of it; while endpoints run, numbers may be from different moments ---- */

const struct vl_workload_config *vl_workload_configuration(const struct vl_workload_engine *engine,
							   uint32_t workload);

struct vl_workload_progress {
	uint64_t steps, finished; /* of all rounds */
	uint64_t failed;          /* steps whose work requests ended in error */
	uint64_t messages_posted, messages_completed, messages_arrived;
	uint64_t bytes_arrived;    /* payload; of a background: of all its rounds */
	uint64_t unexpected;       /* messages that told of no step that goes there */
	uint64_t started, ended;   /* ns; VL_WORKLOAD_NEVER: not */
	enum ibv_wc_status status; /* of the first failure */
};
struct vl_workload_progress vl_workload_progress(const struct vl_workload_engine *engine,
						 uint32_t workload);

/* Of a step in a round, ns; VL_WORKLOAD_NEVER: not. ready: all that it waited for was there, and
 * its delay over. finished: all of it had arrived at the destination (the computation was done). Of
 * a background: of its latest round. */
struct vl_step_times {
	uint64_t ready, finished;
};
struct vl_step_times vl_workload_step_times(const struct vl_workload_engine *engine,
					    uint32_t workload, uint32_t round, uint32_t step);
/* Messages of a step that have arrived, over all rounds. */
uint64_t vl_workload_step_messages(const struct vl_workload_engine *engine, uint32_t workload,
				   uint32_t step);

/* For each queue pair of a workload: both ends. */
struct vl_workload_lane {
	uint32_t endpoints[2];
	struct vl_qp *qps[2];
};
uint32_t vl_workload_lane_count(const struct vl_workload_engine *engine, uint32_t workload);
struct vl_workload_lane vl_workload_lane(const struct vl_workload_engine *engine, uint32_t workload,
					 uint32_t lane);

#endif
