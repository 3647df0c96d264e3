/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Routes of Ethernet switches. */

#include "dataplane/fabric/routes.h"
#include "dataplane/network_private.h"

#include <errno.h>

static const struct vl_node *node_of(const struct vl_network *network, uint32_t number)
{
	const struct vl_node *node = network->first;

	while (node->next && node->route_number != number)
		node = node->next;
	return node;
}

static uint32_t number_nodes(struct vl_network *network)
{
	uint32_t number = 0, ports = 0;

	for (struct vl_node *node = network->first; node; node = node->next) {
		node->route_number = number++;
		ports += node->port_count;
	}
	return ports;
}

static void describe(const struct vl_network *network, struct vl_routes_graph *graph)
{
	uint32_t port = 0;

	for (const struct vl_node *node = network->first; node; node = node->next) {
		graph->nodes[node->route_number] = (struct vl_routes_node){
			.sw = node->sw,
			.mac = node->kind == VL_NODE_ENDPOINT ? node->endpoint->mac : NULL,
			.first_port = port,
			.port_count = node->port_count,
		};
		for (uint32_t i = 0; i < node->port_count; i++) {
			const struct vl_network_port *peer = node->ports[i].peer;

			graph->neighbours[port++] =
				peer ? peer->node->route_number : VL_ROUTES_NO_NODE;
		}
	}
}

int vl_network_route(struct vl_network *network)
{
	uint32_t ports = number_nodes(network), from, to;
	struct vl_routes_graph graph = vl_routes_graph_create(network->node_count, ports);
	int error;

	if (!graph.nodes)
		return vl_network_fail(network, -ENOMEM, "no memory for routes");
	describe(network, &graph);
	error = vl_routes_set(&graph, &from, &to);
	if (error == -ENETUNREACH)
		vl_network_fail(network, error, "%s has no way to %s", node_of(network, from)->name,
				node_of(network, to)->name);
	else if (error)
		vl_network_fail(network, error, "no memory for routes of %s",
				node_of(network, from)->name);
	vl_routes_graph_destroy(&graph);
	return error;
}
