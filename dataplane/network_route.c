/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Routes of Ethernet switches. */

#include "dataplane/network_private.h"

#include <errno.h>
#include <stdlib.h>

/* Breadth first from an endpoint outward: each switch reached for the first time sends by the port
 * on which it was reached. */
static int route_to(struct vl_network *network, const struct vl_node *endpoint,
		    struct vl_node **queue)
{
	uint32_t head = 0, tail = 0;

	for (struct vl_node *node = network->first; node; node = node->next)
		node->visited = false;
	queue[tail++] = (struct vl_node *)endpoint;
	while (head < tail) {
		struct vl_node *node = queue[head++];

		for (uint32_t i = 0; i < node->port_count; i++) {
			struct vl_network_port *peer = node->ports[i].peer;

			if (!peer || !peer->node->sw || peer->node->visited)
				continue;
			peer->node->visited = true;
			if (vl_switch_add_route(peer->node->sw, endpoint->endpoint->mac,
						peer->number))
				return vl_network_fail(network, -ENOMEM,
						       "no memory for routes of %s",
						       peer->node->name);
			queue[tail++] = peer->node;
		}
	}
	for (struct vl_node *node = network->first; node; node = node->next) {
		if (node->sw && !node->visited)
			return vl_network_fail(network, -ENETUNREACH, "%s has no way to %s",
					       node->name, endpoint->name);
	}
	return 0;
}

int vl_network_route(struct vl_network *network)
{
	struct vl_node **queue = malloc((network->node_count + 1) * sizeof(*queue));
	int error = 0;

	if (!queue)
		return vl_network_fail(network, -ENOMEM, "no memory for routes");
	for (struct vl_node *node = network->first; node && !error; node = node->next) {
		if (node->kind == VL_NODE_ENDPOINT)
			error = route_to(network, node, queue);
	}
	free(queue);
	return error;
}
