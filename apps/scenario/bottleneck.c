/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The port where most is asked of the line: what a view should watch. */

#include "apps/scenario/scenario.h"

#include <stdlib.h>
#include <string.h>

struct map {
	const struct vl_scenario *scenario;
	unsigned int *hops;  /* of each node to the destination at hand */
	unsigned int *from;  /* hops of each node to the bottleneck's, in the second pass */
	unsigned int *order; /* nodes by their hops */
	unsigned int reached;
	double *demand;        /* bit/s by node and port: of what leaves there */
	double *inflow;        /* bit/s of each node, for the destination at hand */
	unsigned int *sources; /* pairs whose data comes from a node */
	unsigned int *pairs;   /* numbers of pairs by the node that their data goes to */
	unsigned int *first;   /* of each node in pairs; one more than nodes */
	/* Of workloads, by the node that data goes to: part of its source's rate. */
	const struct vl_scenario_demand *demands;
	unsigned int demand_count, next_demand;
};

/* READs carry their data back. */
static void data_ends(const struct vl_scenario_pair *pair, unsigned int *from, unsigned int *to)
{
	bool is_read = pair->flow->verb == VL_FLOW_READ;

	*from = is_read ? pair->to : pair->from;
	*to = is_read ? pair->from : pair->to;
}

static bool make_map(struct map *map, struct vl_arena *arena, const struct vl_scenario *scenario)
{
	size_t nodes = scenario->node_count, ports = 2 * (size_t)scenario->cable_count;

	*map = (struct map){
		.scenario = scenario,
		.hops = vl_arena_allocate(arena, nodes * sizeof(unsigned int)),
		.from = vl_arena_allocate(arena, nodes * sizeof(unsigned int)),
		.order = vl_arena_allocate(arena, nodes * sizeof(unsigned int)),
		.demand = vl_arena_allocate(arena, ports * sizeof(double)),
		.inflow = vl_arena_allocate(arena, nodes * sizeof(double)),
		.sources = vl_arena_allocate(arena, nodes * sizeof(unsigned int)),
		.pairs = vl_arena_allocate(arena, scenario->pair_count * sizeof(unsigned int)),
		.first = vl_arena_allocate(arena, (nodes + 1) * sizeof(unsigned int)),
	};
	return map->hops && map->from && map->order && map->demand && map->inflow && map->sources &&
	       map->pairs && map->first;
}

static void sort_pairs(struct map *map)
{
	const struct vl_scenario *scenario = map->scenario;
	unsigned int from, to;

	for (unsigned int i = 0; i < scenario->pair_count; i++) {
		data_ends(&scenario->pairs[i], &from, &to);
		map->sources[from]++;
		map->first[to]++;
	}
	for (unsigned int node = 1; node <= scenario->node_count; node++)
		map->first[node] += map->first[node - 1];
	for (unsigned int i = scenario->pair_count; i-- > 0;) {
		data_ends(&scenario->pairs[i], &from, &to);
		map->pairs[--map->first[to]] = i;
	}
}

static void measure_hops(struct map *map, unsigned int start, unsigned int *hops)
{
	map->reached = vl_scenario_measure_hops(map->scenario, start, hops, map->order);
}

static bool leads_nearer(const struct map *map, unsigned int node, unsigned int port)
{
	unsigned int next = vl_scenario_port(map->scenario, node, port)->neighbour;

	return map->hops[next] + 1 == map->hops[node] &&
	       (map->scenario->nodes[next].sw || !map->hops[next]);
}

/* What a node has for the destination at hand leaves by all ports of shortest ways alike. */
static void spread(struct map *map, unsigned int node)
{
	const struct vl_scenario_node *described = &map->scenario->nodes[node];
	unsigned int ways = 0;

	for (unsigned int port = 0; port < described->ports; port++)
		ways += leads_nearer(map, node, port);
	for (unsigned int port = 0; port < described->ports; port++) {
		if (!leads_nearer(map, node, port))
			continue;
		map->demand[described->first_port + port] += map->inflow[node] / ways;
		map->inflow[vl_scenario_port(map->scenario, node, port)->neighbour] +=
			map->inflow[node] / ways;
	}
}

/* By the next demand of workloads. */
static bool is_asked_for(const struct map *map, unsigned int destination)
{
	return map->next_demand < map->demand_count &&
	       map->demands[map->next_demand].to == destination;
}

static void add_demand(struct map *map, unsigned int destination)
{
	const struct vl_scenario_pair *pair;
	unsigned int from, to;
	double demand, offered;

	memset(map->inflow, 0, map->scenario->node_count * sizeof(*map->inflow));
	for (unsigned int i = map->first[destination]; i < map->first[destination + 1]; i++) {
		pair = &map->scenario->pairs[map->pairs[i]];
		data_ends(pair, &from, &to);
		offered = (double)pair->flow->rate * (double)pair->flow->qps;
		demand = (double)map->scenario->nodes[from].rate / map->sources[from];
		map->inflow[from] += offered > 0 && offered < demand ? offered : demand;
	}
	for (; is_asked_for(map, destination); map->next_demand++) {
		from = map->demands[map->next_demand].from;
		map->inflow[from] += map->demands[map->next_demand].part *
				     (double)map->scenario->nodes[from].rate;
	}
	/* The destination comes first. */
	for (unsigned int i = map->reached; i-- > 1;) {
		if (map->inflow[map->order[i]] > 0)
			spread(map, map->order[i]);
	}
}

/* Which of a destination's pairs have a shortest way through the bottleneck. */
static void mark_pairs(const struct map *map, struct vl_scenario *scenario,
		       unsigned int destination)
{
	unsigned int node = scenario->bottleneck.node, from, to;
	struct vl_scenario_pair *pair;

	if (map->hops[node] == VL_SCENARIO_FAR ||
	    !leads_nearer(map, node, scenario->bottleneck.port))
		return;
	for (unsigned int i = map->first[destination]; i < map->first[destination + 1]; i++) {
		pair = &scenario->pairs[map->pairs[i]];
		data_ends(pair, &from, &to);
		pair->crosses_bottleneck = map->from[from] != VL_SCENARIO_FAR &&
					   map->from[from] + map->hops[node] == map->hops[from];
	}
}

/* The line that is asked for most, beyond a load of most, among switches or among endpoints.
 * Returns its load, or most if there is none. */
static double choose(const struct map *map, struct vl_scenario *scenario, bool among_switches,
		     double most)
{
	const struct vl_scenario_node *node;
	unsigned int at;
	double load;

	for (unsigned int i = 0; i < scenario->node_count; i++) {
		node = &scenario->nodes[i];
		if ((node->sw != NULL) != among_switches)
			continue;
		for (unsigned int port = 0; port < node->ports; port++) {
			at = node->first_port + port;
			load = map->demand[at] / (double)scenario->ports[at].cable->links->rate;
			/* Of lines that are asked for alike, rounding aside, the first. */
			if (load <= most * (1 + 1e-9))
				continue;
			most = load;
			scenario->bottleneck.node = i;
			scenario->bottleneck.port = port;
		}
	}
	return most;
}

/* Where everybody sends to everybody, no line is asked for more than the others. */
static void count_alike(const struct map *map, struct vl_scenario *scenario)
{
	unsigned int at =
		scenario->nodes[scenario->bottleneck.node].first_port + scenario->bottleneck.port;
	double most = map->demand[at] / (double)scenario->ports[at].cable->links->rate;

	for (unsigned int i = 0; i < scenario->node_count; i++) {
		const struct vl_scenario_node *node = &scenario->nodes[i];

		for (unsigned int port = 0; node->sw && port < node->ports; port++) {
			at = node->first_port + port;
			scenario->bottleneck.alike +=
				map->demand[at] >=
				most * 0.999 * (double)scenario->ports[at].cable->links->rate;
		}
	}
}

bool vl_scenario_find_bottleneck(struct vl_arena *arena, struct vl_scenario *scenario)
{
	struct map map;

	if (!make_map(&map, arena, scenario) ||
	    !vl_scenario_workload_demands(arena, scenario, &map.demands, &map.demand_count))
		return false;
	sort_pairs(&map);
	for (unsigned int to = 0; to < scenario->endpoint_count; to++) {
		if (map.first[to] == map.first[to + 1] && !is_asked_for(&map, to))
			continue;
		measure_hops(&map, to, map.hops);
		add_demand(&map, to);
	}
	/* An endpoint's own line only if no switch's is as loaded, rounding aside: senders fill
	 * theirs. */
	choose(&map, scenario, false, choose(&map, scenario, true, 0) * 1.001);
	count_alike(&map, scenario);
	measure_hops(&map, scenario->bottleneck.node, map.from);
	for (unsigned int to = 0; to < scenario->endpoint_count; to++) {
		if (map.first[to] == map.first[to + 1])
			continue;
		measure_hops(&map, to, map.hops);
		mark_pairs(&map, scenario, to);
	}
	return true;
}
