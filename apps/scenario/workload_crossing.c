/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Which workloads meet at the bottleneck. */

#include "apps/scenario/scenario.h"

#include <stdlib.h>
#include <string.h>

#define FAR UINT32_MAX

/* Hops from a node to all others, breadth first; endpoints do not forward. */
static void measure(const struct vl_scenario *scenario, unsigned int start, unsigned int *hops,
		    unsigned int *order)
{
	unsigned int head = 0, reached = 1, node, next;

	memset(hops, 0xff, scenario->node_count * sizeof(*hops));
	hops[start] = 0;
	order[0] = start;
	while (head < reached) {
		node = order[head++];
		if (node != start && !scenario->nodes[node].sw)
			continue;
		for (unsigned int port = 0; port < scenario->nodes[node].ports; port++) {
			next = vl_scenario_port(scenario, node, port)->neighbour;
			if (hops[next] != FAR)
				continue;
			hops[next] = hops[node] + 1;
			order[reached++] = next;
		}
	}
}

/* Hops to and from the line, and from the destination at hand. */
struct ways {
	const struct vl_scenario *scenario;
	unsigned int *to_line, *from_line, *here, *order;
	unsigned int destination;
};

static bool step_crosses(struct ways *ways, unsigned int from, unsigned int to)
{
	unsigned int line = ways->scenario->bottleneck.node;

	if (ways->from_line[to] == FAR || (from != line && ways->to_line[from] == FAR))
		return false;
	if (ways->destination != to) {
		measure(ways->scenario, to, ways->here, ways->order);
		ways->destination = to;
	}
	return ways->to_line[from] + 1 + ways->from_line[to] == ways->here[from];
}

bool vl_scenario_workload_crosses(const struct vl_scenario *scenario,
				  const struct vl_scenario_workload *workload)
{
	size_t nodes = scenario->node_count;
	unsigned int *memory = malloc(4 * nodes * sizeof(*memory));
	unsigned int line = scenario->bottleneck.node, next;
	bool crosses = false;
	struct ways ways;

	if (!memory)
		return false;
	ways = (struct ways){scenario,           memory, memory + nodes, memory + 2 * nodes,
			     memory + 3 * nodes, FAR};
	next = vl_scenario_port(scenario, line, scenario->bottleneck.port)->neighbour;
	measure(scenario, line, ways.to_line, ways.order);
	measure(scenario, next, ways.from_line, ways.order);
	for (uint32_t i = 0; !crosses && i < workload->plan.step_count; i++) {
		const struct vl_step *step = &workload->plan.steps[i];

		if (step->kind != VL_STEP_COMPUTE)
			crosses = step_crosses(&ways, workload->ranks[step->source],
					       workload->ranks[step->destination]);
	}
	free(memory);
	return crosses;
}
