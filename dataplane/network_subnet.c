/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/network_subnet.h"

#include "dataplane/infiniband/subnet_program.h"
#include "dataplane/network_private.h"

#include <errno.h>
#include <stdlib.h>

struct graph {
	struct vl_node **members; /* the InfiniBand nodes */
	struct vl_subnet_node *nodes;
	struct vl_subnet_cable *cables;
	uint32_t node_count, cable_count;
};

static void free_graph(struct graph *graph)
{
	free(graph->members);
	free(graph->nodes);
	free(graph->cables);
}

static bool allocate(struct graph *graph, const struct vl_network *network)
{
	uint64_t ports = 1, nodes = 1;

	for (const struct vl_node *node = network->first; node; node = node->next) {
		ports += node->port_count;
		nodes++;
	}
	*graph = (struct graph){
		.members = calloc(nodes, sizeof(struct vl_node *)),
		.nodes = calloc(nodes, sizeof(*graph->nodes)),
		.cables = calloc(ports, sizeof(*graph->cables)),
	};
	return graph->members && graph->nodes && graph->cables;
}

static void add_cables(struct graph *graph, const struct vl_node *node)
{
	for (uint32_t i = 0; i < node->port_count; i++) {
		const struct vl_network_port *port = &node->ports[i];
		const struct vl_network_port *peer = port->peer;

		/* Each once, from the end that comes first. */
		if (!port->is_connected || peer->node->number > node->number ||
		    (peer->node == node && peer->number > i))
			continue;
		graph->cables[graph->cable_count++] =
			(struct vl_subnet_cable){peer->node->number, peer->number, node->number, i};
	}
}

static void fill_graph(struct graph *graph, struct vl_network *network)
{
	for (struct vl_node *node = network->first; node; node = node->next) {
		if (!vl_node_is_infiniband(node))
			continue;
		node->number = graph->node_count;
		graph->members[graph->node_count] = node;
		graph->nodes[graph->node_count++] = (struct vl_subnet_node){
			.name = node->name,
			.is_switch = node->kind == VL_NODE_INFINIBAND_SWITCH,
			.ports = node->port_count,
		};
	}
	for (uint32_t i = 0; i < graph->node_count; i++)
		add_cables(graph, graph->members[i]);
}

static uint8_t lanes_of(const struct vl_node *node)
{
	return node->adapter ? vl_channel_adapter_virtual_lanes(node->adapter)
			     : vl_infiniband_switch_virtual_lanes(node->infiniband_switch);
}

static int program(struct vl_network *network, const struct graph *graph,
		   const struct vl_subnet *subnet)
{
	for (uint32_t i = 0; i < graph->node_count; i++) {
		struct vl_node *node = graph->members[i];
		int error = node->adapter
				    ? vl_subnet_program_channel_adapter(subnet, i, node->adapter)
				    : vl_subnet_program_switch(subnet, i, node->infiniband_switch);

		if (error)
			return vl_network_fail(
				network, error, "%s cannot be programmed: %s", node->name,
				error == -ENOMEM ? "no memory"
						 : "a virtual lane is not served, or there is none "
						   "of its number");
	}
	return 0;
}

static int check_lanes(struct vl_network *network, const struct graph *graph, uint8_t lanes)
{
	for (uint32_t i = 0; i < graph->node_count; i++) {
		if (lanes_of(graph->members[i]) != lanes)
			return vl_network_fail(
				network, -EINVAL, "%s has %u virtual lanes where %u are needed",
				graph->members[i]->name, lanes_of(graph->members[i]), lanes);
	}
	return 0;
}

static struct vl_subnet *manage(struct vl_network *network, const struct graph *graph,
				enum vl_subnet_routing routing, const struct vl_subnet_lanes *lanes)
{
	const struct vl_subnet_config config = {
		.nodes = graph->nodes,
		.node_count = graph->node_count,
		.cables = graph->cables,
		.cable_count = graph->cable_count,
		.routing = routing,
		.lanes = lanes,
	};
	char message[VL_SUBNET_MESSAGE_SIZE];
	struct vl_subnet *subnet;

	if (check_lanes(network, graph, lanes->data_lanes))
		return NULL;
	subnet = vl_subnet_create(&config, message);
	if (!subnet) {
		vl_network_fail(network, -EINVAL, "%s", message);
		return NULL;
	}
	if (program(network, graph, subnet)) {
		vl_subnet_destroy(subnet);
		return NULL;
	}
	return subnet;
}

struct vl_subnet *vl_network_manage_subnet(struct vl_network *network,
					   enum vl_subnet_routing routing,
					   const struct vl_subnet_lanes *lanes)
{
	struct vl_subnet_lanes defaults;
	struct vl_subnet *subnet = NULL;
	struct graph graph;

	if (!allocate(&graph, network)) {
		vl_network_fail(network, -ENOMEM, "no memory for the subnet manager");
	} else {
		fill_graph(&graph, network);
		if (!graph.node_count) {
			vl_network_fail(network, -EINVAL, "there is no InfiniBand to manage");
		} else {
			if (!lanes)
				vl_subnet_lanes_default(&defaults, lanes_of(graph.members[0]));
			subnet = manage(network, &graph, routing, lanes ? lanes : &defaults);
		}
	}
	free_graph(&graph);
	return subnet;
}
