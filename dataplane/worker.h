/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * A worker: one CPU that runs a list of stages to completion, over and over. A stage moves a burst
 * of frames (a port's endpoint, a part of the emulated fabric, ...). Inside a worker nothing locks,
 * logs, allocates or makes a system call.
 *
 * The control thread looks into a running worker by vl_worker_call, which has the worker run a
 * function between two rounds: it sees everything whole and at one time, and may use what only
 * the worker may touch (verbs, congestion control reports). This costs the worker nothing while
 * nobody asks.
 */
#ifndef VERBLINE_WORKER_H
#define VERBLINE_WORKER_H

#include "dataplane/runtime/error.h"

#include <stdbool.h>
#include <stdint.h>

struct vl_worker;

#define VL_MAX_STAGES 16

struct vl_stage {
	/* Does what can be done now without waiting. Returns the number of frames moved: 0 means
	 * that the round was idle. now: ns, never less than in the call before. */
	uint32_t (*run)(void *context, uint64_t now);
	void *context;
};

struct vl_worker_counters {
	uint64_t rounds;      /* times all stages were run */
	uint64_t busy_rounds; /* of these, with at least one frame moved */
	uint64_t busy_time;   /* ns spent in these */
	uint64_t total_time;  /* ns since the worker began */
	uint64_t frames;      /* moved, as the stages count them */
};

/* index: 0 .. vl_eal_worker_count() - 1. NULL: *error says why. */
struct vl_worker *vl_worker_create(unsigned int index, struct vl_error *error);
/* Stops it first. NULL is allowed. */
void vl_worker_destroy(struct vl_worker *worker);
/* Stages run in the order in which they are added. -ENOSPC, or -EBUSY: it is running. */
int vl_worker_add_stage(struct vl_worker *worker, const struct vl_stage *stage);
/* -EALREADY: it is running; -EBUSY: another worker runs on its CPU. */
int vl_worker_start(struct vl_worker *worker, struct vl_error *error);
/* Returns when the worker has finished its round and left. It may be started again. */
void vl_worker_stop(struct vl_worker *worker);
bool vl_worker_is_running(const struct vl_worker *worker);

/* Nanoseconds since EAL was started: the workers' common clock, for any thread. */
uint64_t vl_worker_now(void);

/*
 * Has the worker run the function between two rounds and waits for it; a worker that does not run
 * leaves it to the caller's thread. One control thread at a time. The function keeps to a worker's
 * rules: it copies numbers out, posts or polls, and returns. -ETIMEDOUT: no round was finished
 * within 5 s (then the function has not run, and will not).
 */
int vl_worker_call(struct vl_worker *worker, void (*function)(void *context, uint64_t now),
		   void *context);
/* By vl_worker_call or after the worker has stopped. */
struct vl_worker_counters vl_worker_counters(const struct vl_worker *worker);

#endif
