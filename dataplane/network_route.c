/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Routes of Ethernet switches. */

#include "dataplane/network_private.h"

#include <errno.h>
#include <stdlib.h>

#define UNREACHED UINT32_MAX

struct search {
	struct vl_node **queue;
	uint32_t *ways; /* of one switch */
};

/* Breadth first from an endpoint outward, over switches. */
static void measure_distances(struct vl_network *network, struct vl_node *endpoint,
			      struct vl_node **queue)
{
	uint32_t head = 0, tail = 0;

	for (struct vl_node *node = network->first; node; node = node->next)
		node->distance = UNREACHED;
	endpoint->distance = 0;
	queue[tail++] = endpoint;
	while (head < tail) {
		struct vl_node *node = queue[head++];

		for (uint32_t i = 0; i < node->port_count; i++) {
			const struct vl_network_port *peer = node->ports[i].peer;

			if (!peer || !peer->node->sw || peer->node->distance != UNREACHED)
				continue;
			peer->node->distance = node->distance + 1;
			queue[tail++] = peer->node;
		}
	}
}

/* A switch sends by each port whose neighbour is nearer. */
static int add_ways(struct vl_network *network, const struct vl_node *node,
		    const struct vl_node *endpoint, uint32_t *ways)
{
	uint32_t count = 0;

	if (node->distance == UNREACHED)
		return vl_network_fail(network, -ENETUNREACH, "%s has no way to %s", node->name,
				       endpoint->name);
	for (uint32_t i = 0; i < node->port_count; i++) {
		const struct vl_network_port *peer = node->ports[i].peer;

		if (peer && peer->node->distance == node->distance - 1)
			ways[count++] = i;
	}
	if (vl_switch_add_ways(node->sw, endpoint->endpoint->mac, ways, count))
		return vl_network_fail(network, -ENOMEM, "no memory for routes of %s", node->name);
	return 0;
}

static int route_to(struct vl_network *network, struct vl_node *endpoint,
		    const struct search *search)
{
	int error = 0;

	measure_distances(network, endpoint, search->queue);
	for (struct vl_node *node = network->first; node && !error; node = node->next) {
		if (node->sw)
			error = add_ways(network, node, endpoint, search->ways);
	}
	return error;
}

int vl_network_route(struct vl_network *network)
{
	struct search search = {
		.queue = malloc((network->node_count + 1) * sizeof(struct vl_node *)),
		.ways = malloc(VL_SWITCH_MAX_PORTS * sizeof(uint32_t)),
	};
	int error = 0;

	if (!search.queue || !search.ways)
		error = vl_network_fail(network, -ENOMEM, "no memory for routes");
	for (struct vl_node *node = network->first; node && !error; node = node->next) {
		if (node->kind == VL_NODE_ENDPOINT)
			error = route_to(network, node, &search);
	}
	free(search.queue);
	free(search.ways);
	return error;
}
