/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/infiniband/subnet_private.h"

void vl_route_spread(const struct vl_subnet *subnet, struct vl_route_space *space, uint32_t count)
{
	for (uint32_t taken = 0; taken < count; taken++) {
		const struct vl_subnet_member *sw = vl_subnet_switch(subnet, space->queue[taken]);
		uint32_t distance = space->routes[space->queue[taken]].distance;

		for (uint32_t port = 0; port < sw->port_count; port++) {
			uint32_t next = vl_subnet_neighbour(subnet, sw->first_port + port);

			if (next == VL_SUBNET_NONE ||
			    space->routes[next].distance != VL_SUBNET_NONE)
				continue;
			space->routes[next].distance = distance + 1;
			space->routes[next].way = VL_ROUTE_ANY;
			space->queue[count++] = next;
		}
	}
}

void vl_route_min_hop(const struct vl_subnet *subnet, struct vl_route_space *space,
		      uint32_t destination)
{
	for (uint32_t i = 0; i < subnet->switch_count; i++)
		space->routes[i].distance = VL_SUBNET_NONE;
	space->routes[destination] = (struct vl_route){0, VL_ROUTE_ANY};
	space->queue[0] = destination;
	vl_route_spread(subnet, space, 1);
}
