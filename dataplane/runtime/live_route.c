/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Routes of a live network's Ethernet switches: those of the network in virtual time. */

#include "dataplane/fabric/routes.h"
#include "dataplane/runtime/live_node.h"

#include <errno.h>

static const struct vl_live_node *node_of(const struct vl_live_network *network, uint32_t number)
{
	const struct vl_live_node *node = network->first;

	while (node->next && node->route_number != number)
		node = node->next;
	return node;
}

static uint32_t number_nodes(struct vl_live_network *network)
{
	uint32_t number = 0, ports = 0;

	for (struct vl_live_node *node = network->first; node; node = node->next) {
		node->route_number = number++;
		ports += node->port_count;
	}
	return ports;
}

static void describe(const struct vl_live_network *network, struct vl_routes_graph *graph)
{
	uint32_t port = 0;

	for (const struct vl_live_node *node = network->first; node; node = node->next) {
		graph->nodes[node->route_number] = (struct vl_routes_node){
			.sw = node->sw,
			.mac = node->endpoint && !node->adapter ? node->endpoint->mac : NULL,
			.first_port = port,
			.port_count = node->port_count,
		};
		for (uint32_t i = 0; i < node->port_count; i++) {
			const struct live_port *peer = node->ports[i].peer;

			graph->neighbours[port++] =
				peer ? peer->node->route_number : VL_ROUTES_NO_NODE;
		}
	}
}

int vl_live_network_route(struct vl_live_network *network, struct vl_error *error)
{
	uint32_t ports = number_nodes(network), from, to;
	struct vl_routes_graph graph = vl_routes_graph_create(network->node_count, ports);
	int result;

	if (!graph.nodes)
		return vl_error_set(error, -ENOMEM, "no memory for routes");
	describe(network, &graph);
	result = vl_routes_set(&graph, &from, &to);
	if (result == -ENETUNREACH)
		vl_error_set(error, result, "%s has no way to %s", node_of(network, from)->name,
			     node_of(network, to)->name);
	else if (result)
		vl_error_set(error, result, "no memory for routes of %s",
			     node_of(network, from)->name);
	vl_routes_graph_destroy(&graph);
	return result;
}
