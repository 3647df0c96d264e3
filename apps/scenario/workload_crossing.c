/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Which workloads meet at the bottleneck. */

#include "apps/scenario/scenario.h"

#include <stdlib.h>
#include <string.h>

/* Hops to and from the line, and from the destination at hand. */
struct ways {
	const struct vl_scenario *scenario;
	unsigned int *to_line, *from_line, *here, *order;
};

static bool lies_between(const struct ways *ways, unsigned int from, unsigned int to)
{
	unsigned int line = ways->scenario->bottleneck.node;

	if (ways->from_line[to] == VL_SCENARIO_FAR ||
	    (from != line && ways->to_line[from] == VL_SCENARIO_FAR))
		return false;
	return ways->to_line[from] + 1 + ways->from_line[to] == ways->here[from];
}

/* By destination and source: a plan may have millions of steps between few ranks. */
static void mark_pairs(const struct vl_workload_plan *plan, bool *pairs)
{
	for (uint32_t i = 0; i < plan->step_count; i++) {
		const struct vl_step *step = &plan->steps[i];

		if (step->kind != VL_STEP_COMPUTE)
			pairs[(size_t)step->destination * plan->rank_count + step->source] = true;
	}
}

static bool any_crosses(const struct ways *ways, const struct vl_scenario_workload *workload,
			const bool *pairs)
{
	uint32_t ranks = workload->plan.rank_count;

	for (uint32_t to = 0; to < ranks; to++) {
		vl_scenario_measure_hops(ways->scenario, workload->ranks[to], ways->here,
					 ways->order);
		for (uint32_t from = 0; from < ranks; from++) {
			if (pairs[(size_t)to * ranks + from] &&
			    lies_between(ways, workload->ranks[from], workload->ranks[to]))
				return true;
		}
	}
	return false;
}

bool vl_scenario_workload_crosses(const struct vl_scenario *scenario,
				  const struct vl_scenario_workload *workload)
{
	size_t nodes = scenario->node_count, ranks = workload->plan.rank_count;
	unsigned int *memory = malloc(4 * nodes * sizeof(*memory));
	bool *pairs = calloc(ranks * ranks, sizeof(*pairs)), crosses = false;
	unsigned int line = scenario->bottleneck.node;
	struct ways ways;

	if (memory && pairs) {
		ways = (struct ways){scenario, memory, memory + nodes, memory + 2 * nodes,
				     memory + 3 * nodes};
		vl_scenario_measure_hops(scenario, line, ways.to_line, ways.order);
		vl_scenario_measure_hops(
			scenario,
			vl_scenario_port(scenario, line, scenario->bottleneck.port)->neighbour,
			ways.from_line, ways.order);
		mark_pairs(&workload->plan, pairs);
		crosses = any_crosses(&ways, workload, pairs);
	}
	free(memory);
	free(pairs);
	return crosses;
}
