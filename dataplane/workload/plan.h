/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * A plan: what the ranks of a workload send one another in one round of it, and what each step
 * waits for. A step belongs to one rank, which starts it: the source of a WRITE or SEND, the
 * destination of a READ, the one rank of a computation. It waits for earlier steps whose end that
 * rank sees for itself: those that it started (complete, as the transport says) and those that
 * arrived at it. So a plan can be run by ranks that know nothing of each other but what arrives.
 *
 * Steps are numbered from 0 in the order in which they are added, and wait for smaller numbers
 * only: no plan goes in circles.
 */
#ifndef VERBLINE_WORKLOAD_PLAN_H
#define VERBLINE_WORKLOAD_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#define VL_WORKLOAD_PLAN_MAX_STEPS (UINT32_C(1) << 24)
#define VL_WORKLOAD_PLAN_MAX_RANKS 65536u

enum vl_step_kind {
	VL_STEP_WRITE,   /* RDMA WRITE with immediate: the destination notices */
	VL_STEP_SEND,    /* SEND with immediate */
	VL_STEP_READ,    /* RDMA READ by the destination: the source does not notice */
	VL_STEP_COMPUTE, /* sends nothing: takes its delay; source and destination are its rank */
};

struct vl_step {
	uint32_t source, destination; /* ranks */
	uint64_t bytes;               /* COMPUTE: 0 */
	uint64_t offset;   /* in the buffer that the workload works on, where it has one; bytes */
	uint64_t earliest; /* ns after the round's start */
	uint64_t delay;    /* ns from when all that it waits for is there: computing */
	uint32_t job;      /* what belongs together, as a request and its response; from 0 */
	uint32_t first_dependency, dependency_count; /* in the plan's dependencies */
	uint8_t kind;                                /* enum vl_step_kind */
	bool reduces; /* is added to what lies at the destination, else put in its place */
};

/* All zeros is an empty plan. */
struct vl_workload_plan {
	uint32_t rank_count;
	uint32_t job_count;
	struct vl_step *steps;
	uint32_t step_count, step_capacity;
	uint32_t *dependencies; /* numbers of steps */
	uint32_t dependency_count, dependency_capacity;
	char error[200]; /* of what failed last, for people */
};

static inline uint32_t vl_step_rank(const struct vl_step *step)
{
	return step->kind == VL_STEP_READ ? step->destination : step->source;
}

/* 0, or -EINVAL: 1 to VL_WORKLOAD_PLAN_MAX_RANKS ranks. */
int vl_workload_plan_init(struct vl_workload_plan *plan, uint32_t rank_count);
void vl_workload_plan_release(struct vl_workload_plan *plan); /* fine on zeros */
/* Appends a step, whose first_dependency and dependency_count are filled in here. 0, -ENOMEM, or
 * -EINVAL: a rank out of range, no bytes, source and destination alike, something to wait for that
 * is not earlier or that the step's rank does not see. */
int vl_workload_plan_add(struct vl_workload_plan *plan, const struct vl_step *step,
			 const uint32_t *dependencies, uint32_t dependency_count);
/* Number of the step that was added last. */
static inline uint32_t vl_workload_plan_last(const struct vl_workload_plan *plan)
{
	return plan->step_count - 1;
}
/* Of all steps. */
uint64_t vl_workload_plan_bytes(const struct vl_workload_plan *plan);
/* -EINVAL, with an error for people. */
int vl_workload_plan_refuse(struct vl_workload_plan *plan, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
