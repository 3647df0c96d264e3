/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* How far nodes are from each other. */

#include "apps/scenario/scenario.h"

#include <string.h>

unsigned int vl_scenario_measure_hops(const struct vl_scenario *scenario, unsigned int start,
				      unsigned int *hops, unsigned int *order)
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
			if (hops[next] != VL_SCENARIO_FAR)
				continue;
			hops[next] = hops[node] + 1;
			order[reached++] = next;
		}
	}
	return reached;
}
