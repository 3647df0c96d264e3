/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The port where most is asked of the line: what a view should watch. */

#include "apps/scenario/scenario.h"

#include <stdlib.h>
#include <string.h>

#define FAR UINT32_MAX

struct map {
	const struct vl_scenario *scenario;
	unsigned int *first_port; /* of each node, in cables */
	unsigned int *cables;     /* by node and port */
	unsigned int *hops;       /* of each node to the destination at hand */
	unsigned int *queue;
	double *demand;        /* bit/s by node and port: of what leaves there */
	unsigned int *sources; /* pairs whose data comes from a node */
};

static unsigned int far_end(const struct map *map, unsigned int node, unsigned int port)
{
	const struct vl_scenario_cable *cable =
		&map->scenario->cables[map->cables[map->first_port[node] + port]];

	return cable->a == node && cable->port_a == port ? cable->b : cable->a;
}

/* READs carry their data back. */
static void data_ends(const struct vl_scenario_pair *pair, unsigned int *from, unsigned int *to)
{
	bool is_read = pair->flow->verb == VL_FLOW_READ;

	*from = is_read ? pair->to : pair->from;
	*to = is_read ? pair->from : pair->to;
}

static bool make_map(struct map *map, struct vl_arena *arena, const struct vl_scenario *scenario)
{
	unsigned int nodes = scenario->node_count, ports = 2 * scenario->cable_count;
	const struct vl_scenario_cable *cable;
	unsigned int from, to;

	*map = (struct map){scenario,
			    vl_arena_allocate(arena, nodes * sizeof(unsigned int)),
			    vl_arena_allocate(arena, ports * sizeof(unsigned int)),
			    vl_arena_allocate(arena, nodes * sizeof(unsigned int)),
			    vl_arena_allocate(arena, nodes * sizeof(unsigned int)),
			    vl_arena_allocate(arena, ports * sizeof(double)),
			    vl_arena_allocate(arena, nodes * sizeof(unsigned int))};
	if (!map->first_port || !map->cables || !map->hops || !map->queue || !map->demand ||
	    !map->sources)
		return false;
	for (unsigned int i = 1; i < nodes; i++)
		map->first_port[i] = map->first_port[i - 1] + scenario->nodes[i - 1].ports;
	for (unsigned int i = 0; i < scenario->cable_count; i++) {
		cable = &scenario->cables[i];
		map->cables[map->first_port[cable->a] + cable->port_a] = i;
		map->cables[map->first_port[cable->b] + cable->port_b] = i;
	}
	for (unsigned int i = 0; i < scenario->pair_count; i++) {
		data_ends(&scenario->pairs[i], &from, &to);
		map->sources[from]++;
	}
	return true;
}

/* Breadth first from the destination. Endpoints do not forward. */
static void measure_hops(struct map *map, unsigned int destination)
{
	unsigned int head = 0, tail = 0, node, next;

	for (unsigned int i = 0; i < map->scenario->node_count; i++)
		map->hops[i] = FAR;
	map->hops[destination] = 0;
	map->queue[tail++] = destination;
	while (head < tail) {
		node = map->queue[head++];
		if (node != destination && !map->scenario->nodes[node].sw)
			continue;
		for (unsigned int port = 0; port < map->scenario->nodes[node].ports; port++) {
			next = far_end(map, node, port);
			if (map->hops[next] != FAR)
				continue;
			map->hops[next] = map->hops[node] + 1;
			map->queue[tail++] = next;
		}
	}
}

/* The port by which a node is left on the way to the destination at hand: by the fewest hops, the
 * lowest port of several, as the network routes. */
static unsigned int next_port(const struct map *map, unsigned int node)
{
	unsigned int port = 0;

	while (map->hops[far_end(map, node, port)] + 1 != map->hops[node])
		port++;
	return port;
}

static void add_demand(struct map *map, const struct vl_scenario_pair *pair)
{
	unsigned int node, to, port;
	double demand, offered = (double)pair->flow->rate * (double)pair->flow->qps;

	data_ends(pair, &node, &to);
	demand = (double)map->scenario->nodes[node].rate / map->sources[node];
	if (offered > 0 && offered < demand)
		demand = offered;
	for (; node != to; node = far_end(map, node, port)) {
		port = next_port(map, node);
		map->demand[map->first_port[node] + port] += demand;
	}
}

static bool crosses(const struct map *map, const struct vl_scenario_pair *pair)
{
	unsigned int node, to, port;

	data_ends(pair, &node, &to);
	for (; node != to; node = far_end(map, node, port)) {
		port = next_port(map, node);
		if (node == map->scenario->bottleneck.node &&
		    port == map->scenario->bottleneck.port)
			return true;
	}
	return false;
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
			at = map->first_port[i] + port;
			load = map->demand[at] /
			       (double)scenario->cables[map->cables[at]].links->rate;
			if (load <= most)
				continue;
			most = load;
			scenario->bottleneck.node = i;
			scenario->bottleneck.port = port;
		}
	}
	return most;
}

bool vl_scenario_find_bottleneck(struct vl_arena *arena, struct vl_scenario *scenario)
{
	unsigned int from, to, last = FAR;
	struct map map;

	if (!make_map(&map, arena, scenario))
		return false;
	for (unsigned int pass = 0; pass < 2; pass++) {
		for (unsigned int i = 0; i < scenario->pair_count; i++) {
			data_ends(&scenario->pairs[i], &from, &to);
			if (to != last)
				measure_hops(&map, to);
			last = to;
			if (pass == 0)
				add_demand(&map, &scenario->pairs[i]);
			else
				scenario->pairs[i].crosses_bottleneck =
					crosses(&map, &scenario->pairs[i]);
		}
		/* An endpoint's own line only if no switch's is as loaded, rounding aside: senders
		 * fill theirs. */
		if (pass == 0)
			choose(&map, scenario, false, choose(&map, scenario, true, 0) * 1.001);
	}
	return true;
}
