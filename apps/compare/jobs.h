/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Runs tasks side by side, each in a process of its own, so that one that crashes or runs out of
 * memory takes nothing else with it. What a task found comes back over a pipe. Which tasks are
 * done first depends on the machine; what they find must not.
 */
#ifndef VERBLINE_COMPARE_JOBS_H
#define VERBLINE_COMPARE_JOBS_H

#include "apps/compare/bytes.h"

struct vl_jobs;

/* How a task ended. */
struct vl_job_end {
	bool is_ok;
	const char *problem; /* if not: why */
	/* What the task wrote; of a task that is not ok, nothing. */
	struct vl_bytes_reader result;
	uint64_t time; /* ns of real time that it took */
};

struct vl_jobs_config {
	unsigned int tasks;
	unsigned int processes; /* at most so many at a time; at least 1 */
	uint64_t memory;        /* bytes that each may have; 0: no limit */
	void *context;
	/* In the task's process: 0, or a negative errno value with a message. */
	int (*work)(void *context, struct vl_jobs *jobs, unsigned int task, struct vl_bytes *result,
		    char *error, size_t error_size);
	/* In the calling process, once for each task that ended. */
	void (*finish)(void *context, unsigned int task, const struct vl_job_end *end);
	/* In the calling process, a few times a second; running: tasks under way. May be NULL. */
	void (*tick)(void *context, const struct vl_jobs *jobs, unsigned int running);
	/* Becomes true when those that run are to be ended and no more are to start. */
	const volatile int *interrupted;
};

/* Runs all tasks. 0; -EINTR: interrupted, and finish was called for those that had ended; or
 * another negative errno value with a message. */
int vl_jobs_run(const struct vl_jobs_config *config, char *error, size_t error_size);

/* By a task: how far it is, 0 to 1. */
void vl_jobs_set_progress(struct vl_jobs *jobs, unsigned int task, double part);
/* Of all tasks together, 0 to 1, each taken for equally long. */
double vl_jobs_progress(const struct vl_jobs *jobs);

/* Processors that this process may use. */
unsigned int vl_jobs_processors(void);
/* Bytes of memory that can be had without swapping; 0: not known. */
uint64_t vl_jobs_available_memory(void);

#endif
