/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/workload/collectives.h"
#include "dataplane/workload/parts.h"
#include "transport/random.h"

#include <errno.h>
#include <stdlib.h>

int vl_workload_plan_incast(struct vl_workload_plan *plan, uint64_t size)
{
	int status = vl_workload_plan_check_parts(plan, size, 1);

	for (uint32_t rank = 1; !status && rank < plan->rank_count; rank++)
		status = vl_workload_plan_add(
			plan, &(struct vl_step){.source = rank, .bytes = size}, NULL, 0);
	return status;
}

static bool has_fixed_point(const uint32_t *to, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (to[i] == i)
			return true;
	}
	return false;
}

int vl_workload_plan_permutation(struct vl_workload_plan *plan, uint64_t size, uint64_t seed)
{
	int status = vl_workload_plan_check_parts(plan, size, 1);
	struct vl_random random = {seed};
	uint32_t *to;

	if (status)
		return status;
	to = malloc(plan->rank_count * sizeof(*to));
	if (!to)
		return -ENOMEM;
	/* One shuffle in e has no fixed point. */
	do {
		for (uint32_t i = 0; i < plan->rank_count; i++) {
			uint32_t other = (uint32_t)vl_random_below(&random, i + 1);

			to[i] = to[other];
			to[other] = i;
		}
	} while (has_fixed_point(to, plan->rank_count));
	for (uint32_t i = 0; !status && i < plan->rank_count; i++)
		status = vl_workload_plan_add(
			plan, &(struct vl_step){.source = i, .destination = to[i], .bytes = size},
			NULL, 0);
	free(to);
	return status;
}

int vl_workload_plan_all_to_all(struct vl_workload_plan *plan, uint64_t size, uint32_t depth)
{
	uint32_t ranks = plan->rank_count, before;
	int status = vl_workload_plan_check_parts(plan, size, ranks);

	for (uint32_t i = 1; !status && i < ranks; i++) {
		for (uint32_t rank = 0; !status && rank < ranks; rank++) {
			uint32_t to = (rank + i) % ranks;
			struct vl_step step = vl_part_step(rank, to, size, to, 1, ranks);

			before = plan->step_count - depth * ranks;
			status = vl_workload_plan_add(plan, &step, &before, depth && i > depth);
		}
	}
	return status;
}

int vl_workload_plan_broadcast_tree(struct vl_workload_plan *plan, uint64_t size, uint32_t fanout,
				    uint64_t segment)
{
	uint32_t ranks = plan->rank_count, edges = ranks - 1, segments, before;
	int status = vl_workload_plan_check_parts(plan, size, 1);
	uint64_t needed = segment ? (size + segment - 1) / segment : 1;

	if (status)
		return status;
	if (!fanout)
		return vl_workload_plan_refuse(plan,
					       "a tree without children; a fanout of 2 is usual");
	if (needed * edges > VL_WORKLOAD_PLAN_MAX_STEPS)
		return vl_workload_plan_refuse(plan,
					       "%llu segments for each of %u ranks are too many",
					       (unsigned long long)needed, edges);
	segments = (uint32_t)needed;
	/* Rank r > 0 gets each segment by step "segment * edges + r - 1". */
	for (uint32_t part = 0; !status && part < segments; part++) {
		for (uint32_t rank = 1; !status && rank < ranks; rank++) {
			uint32_t parent = (rank - 1) / fanout;
			struct vl_step step = vl_part_step(parent, rank, size, part, 1, segments);

			before = part * edges + parent - 1;
			status = vl_workload_plan_add(plan, &step, &before, parent != 0);
		}
	}
	return status;
}

int vl_workload_plan_parameter_server(struct vl_workload_plan *plan, uint64_t size,
				      uint32_t servers, uint64_t compute)
{
	int status = vl_workload_plan_check_parts(plan, size, servers);
	uint32_t workers = plan->rank_count - servers, gathered, *before;
	struct vl_step step;

	if (status)
		return status;
	if (!servers || servers >= plan->rank_count)
		return vl_workload_plan_refuse(plan,
					       "%u servers of %u ranks; 1 to %u leave a worker",
					       servers, plan->rank_count, plan->rank_count - 1);
	before = malloc(workers * sizeof(*before));
	if (!before)
		return -ENOMEM;
	for (uint32_t worker = 0; !status && worker < workers; worker++) {
		for (uint32_t server = 0; !status && server < servers; server++) {
			step = vl_part_step(servers + worker, server, size, server, 1, servers);
			step.reduces = true;
			status = vl_workload_plan_add(plan, &step, NULL, 0);
		}
	}
	/* A computation of the server stands between all pushes and all pulls: fewer edges. */
	gathered = plan->step_count;
	for (uint32_t server = 0; !status && server < servers; server++) {
		for (uint32_t i = 0; i < workers; i++)
			before[i] = i * servers + server;
		step = (struct vl_step){.source = server,
					.destination = server,
					.delay = compute,
					.kind = VL_STEP_COMPUTE};
		status = vl_workload_plan_add(plan, &step, before, workers);
	}
	for (uint32_t worker = 0; !status && worker < workers; worker++) {
		for (uint32_t server = 0; !status && server < servers; server++) {
			uint32_t computed = gathered + server;

			step = vl_part_step(server, servers + worker, size, server, 1, servers);
			status = vl_workload_plan_add(plan, &step, &computed, 1);
		}
	}
	free(before);
	return status;
}
