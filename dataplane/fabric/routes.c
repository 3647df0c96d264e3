/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/fabric/routes.h"

#include <errno.h>
#include <stdlib.h>

#define UNREACHED UINT32_MAX

struct search {
	const struct vl_routes_graph *graph;
	uint32_t *queue;     /* of nodes */
	uint32_t *distances; /* by node: hops to the endpoint */
	uint32_t *ways;      /* of one switch */
};

struct vl_routes_graph vl_routes_graph_create(uint32_t nodes, uint32_t ports)
{
	struct vl_routes_graph graph = {
		.nodes = calloc(nodes + (size_t)1, sizeof(*graph.nodes)),
		.neighbours = malloc((ports + (size_t)1) * sizeof(*graph.neighbours)),
		.node_count = nodes,
	};

	if (!graph.nodes || !graph.neighbours)
		vl_routes_graph_destroy(&graph);
	return graph;
}

void vl_routes_graph_destroy(struct vl_routes_graph *graph)
{
	free(graph->nodes);
	free(graph->neighbours);
	*graph = (struct vl_routes_graph){0};
}

/* Breadth first from an endpoint outward, over switches. */
static void measure_distances(const struct search *search, uint32_t endpoint)
{
	const struct vl_routes_graph *graph = search->graph;
	uint32_t head = 0, tail = 0;

	for (uint32_t i = 0; i < graph->node_count; i++)
		search->distances[i] = UNREACHED;
	search->distances[endpoint] = 0;
	search->queue[tail++] = endpoint;
	while (head < tail) {
		uint32_t node = search->queue[head++];
		const uint32_t *neighbours = graph->neighbours + graph->nodes[node].first_port;

		for (uint32_t i = 0; i < graph->nodes[node].port_count; i++) {
			uint32_t next = neighbours[i];

			if (next == VL_ROUTES_NO_NODE || !graph->nodes[next].sw ||
			    search->distances[next] != UNREACHED)
				continue;
			search->distances[next] = search->distances[node] + 1;
			search->queue[tail++] = next;
		}
	}
}

/* A switch sends by each port whose neighbour is nearer. */
static int add_ways(const struct search *search, uint32_t node, const uint8_t *mac)
{
	const struct vl_routes_node *from = &search->graph->nodes[node];
	const uint32_t *neighbours = search->graph->neighbours + from->first_port;
	uint32_t count = 0;

	if (search->distances[node] == UNREACHED)
		return -ENETUNREACH;
	for (uint32_t i = 0; i < from->port_count; i++) {
		if (neighbours[i] != VL_ROUTES_NO_NODE &&
		    search->distances[neighbours[i]] == search->distances[node] - 1)
			search->ways[count++] = i;
	}
	return vl_switch_add_ways(from->sw, mac, search->ways, count);
}

static int route_to(const struct search *search, uint32_t endpoint, uint32_t *from)
{
	const struct vl_routes_graph *graph = search->graph;
	int error = 0;

	measure_distances(search, endpoint);
	for (*from = 0; *from < graph->node_count; ++*from) {
		if (graph->nodes[*from].sw)
			error = add_ways(search, *from, graph->nodes[endpoint].mac);
		if (error)
			return error;
	}
	return 0;
}

int vl_routes_set(const struct vl_routes_graph *graph, uint32_t *from, uint32_t *to)
{
	const struct search search = {
		.graph = graph,
		.queue = malloc((graph->node_count + (size_t)1) * sizeof(uint32_t)),
		.distances = malloc((graph->node_count + (size_t)1) * sizeof(uint32_t)),
		.ways = malloc(VL_SWITCH_MAX_PORTS * sizeof(uint32_t)),
	};
	int error = search.queue && search.distances && search.ways ? 0 : -ENOMEM;

	*from = *to = 0;
	for (uint32_t i = 0; i < graph->node_count && !error; i++) {
		if (!graph->nodes[i].mac)
			continue;
		*to = i;
		error = route_to(&search, i, from);
	}
	free(search.queue);
	free(search.distances);
	free(search.ways);
	return error;
}
