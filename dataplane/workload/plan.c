/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/workload/plan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 64u

int vl_workload_plan_refuse(struct vl_workload_plan *plan, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(plan->error, sizeof(plan->error), format, arguments);
	va_end(arguments);
	return -EINVAL;
}

int vl_workload_plan_init(struct vl_workload_plan *plan, uint32_t rank_count)
{
	*plan = (struct vl_workload_plan){.rank_count = rank_count};
	if (!rank_count || rank_count > VL_WORKLOAD_PLAN_MAX_RANKS)
		return vl_workload_plan_refuse(plan, "%u ranks; a workload has 1 to %u", rank_count,
					       VL_WORKLOAD_PLAN_MAX_RANKS);
	return 0;
}

void vl_workload_plan_release(struct vl_workload_plan *plan)
{
	free(plan->steps);
	free(plan->dependencies);
	*plan = (struct vl_workload_plan){0};
}

/* Room for more elements; half as much again, so that a large plan wastes little. */
static int grow(struct vl_workload_plan *plan, void **array, uint32_t *capacity, uint32_t count,
		uint32_t more, size_t size)
{
	uint64_t needed = (uint64_t)count + more, grown = *capacity;
	void *moved;

	if (needed <= *capacity)
		return 0;
	if (needed > VL_WORKLOAD_PLAN_MAX_STEPS)
		return vl_workload_plan_refuse(plan,
					       "more than %u steps; a smaller workload is needed",
					       VL_WORKLOAD_PLAN_MAX_STEPS);
	while (grown < needed)
		grown = grown ? grown + grown / 2 : FIRST_CAPACITY;
	moved = realloc(*array, grown * size);
	if (!moved) {
		snprintf(plan->error, sizeof(plan->error), "no memory for %" PRIu64 " steps",
			 needed);
		return -ENOMEM;
	}
	*array = moved;
	*capacity = (uint32_t)grown;
	return 0;
}

static int check_step(struct vl_workload_plan *plan, const struct vl_step *step)
{
	if (step->source >= plan->rank_count || step->destination >= plan->rank_count)
		return vl_workload_plan_refuse(plan, "step %u: from rank %u to rank %u of %u ranks",
					       plan->step_count, step->source, step->destination,
					       plan->rank_count);
	if (step->kind == VL_STEP_COMPUTE) {
		if (step->bytes || step->source != step->destination)
			return vl_workload_plan_refuse(plan, "step %u: a computation sends nothing",
						       plan->step_count);
		return 0;
	}
	if (step->source == step->destination)
		return vl_workload_plan_refuse(plan, "step %u: rank %u sends to itself",
					       plan->step_count, step->source);
	if (!step->bytes)
		return vl_workload_plan_refuse(plan,
					       "step %u: from rank %u to rank %u, without a byte",
					       plan->step_count, step->source, step->destination);
	return 0;
}

static int check_dependency(struct vl_workload_plan *plan, const struct vl_step *step,
			    uint32_t number)
{
	uint32_t rank = vl_step_rank(step);
	const struct vl_step *earlier;

	if (number >= plan->step_count)
		return vl_workload_plan_refuse(plan,
					       "step %u waits for step %u, which is not earlier",
					       plan->step_count, number);
	earlier = &plan->steps[number];
	if (vl_step_rank(earlier) != rank && earlier->destination != rank)
		return vl_workload_plan_refuse(
			plan,
			"step %u of rank %u waits for step %u, which that rank does "
			"not see",
			plan->step_count, rank, number);
	return 0;
}

int vl_workload_plan_add(struct vl_workload_plan *plan, const struct vl_step *step,
			 const uint32_t *dependencies, uint32_t dependency_count)
{
	int status = check_step(plan, step);
	struct vl_step *added;

	for (uint32_t i = 0; !status && i < dependency_count; i++)
		status = check_dependency(plan, step, dependencies[i]);
	if (!status)
		status = grow(plan, (void **)&plan->steps, &plan->step_capacity, plan->step_count,
			      1, sizeof(*plan->steps));
	if (!status)
		status =
			grow(plan, (void **)&plan->dependencies, &plan->dependency_capacity,
			     plan->dependency_count, dependency_count, sizeof(*plan->dependencies));
	if (status)
		return status;
	added = &plan->steps[plan->step_count++];
	*added = *step;
	added->first_dependency = plan->dependency_count;
	added->dependency_count = dependency_count;
	for (uint32_t i = 0; i < dependency_count; i++)
		plan->dependencies[plan->dependency_count++] = dependencies[i];
	if (step->job >= plan->job_count)
		plan->job_count = step->job + 1;
	return 0;
}

uint64_t vl_workload_plan_bytes(const struct vl_workload_plan *plan)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < plan->step_count; i++)
		bytes += plan->steps[i].bytes;
	return bytes;
}
