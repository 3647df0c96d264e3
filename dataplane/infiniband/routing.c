/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * From the ways of switches to forwarding tables: of the ports that lie on a way, each LID takes
 * the one that the fewest LIDs of adapters have taken so far, the lowest of several, as OpenSM's
 * balancing does.
 */
#include "dataplane/infiniband/subnet_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The ports that lead towards the destination. Returns their number. */
static uint32_t find_candidates(const struct vl_subnet *subnet, const struct vl_route_space *space,
				uint32_t index, uint16_t *candidates)
{
	const struct vl_subnet_member *sw = vl_subnet_switch(subnet, index);
	const struct vl_route *route = &space->routes[index];
	uint32_t count = 0;

	for (uint32_t port = 0; port < sw->port_count; port++) {
		uint32_t next = vl_subnet_neighbour(subnet, sw->first_port + port);

		if (next == VL_SUBNET_NONE || space->routes[next].distance + 1 != route->distance)
			continue;
		if (route->way == VL_ROUTE_UP && !vl_subnet_is_above(subnet, next, index))
			continue;
		if (route->way == VL_ROUTE_DOWN && (space->routes[next].way != VL_ROUTE_DOWN ||
						    !vl_subnet_is_above(subnet, index, next)))
			continue;
		candidates[count++] = (uint16_t)port;
	}
	return count;
}

static uint16_t least_loaded(const uint16_t *candidates, uint32_t count, const uint32_t *loads)
{
	uint16_t best = candidates[0];

	for (uint32_t i = 1; i < count; i++) {
		if (loads[candidates[i]] < loads[best])
			best = candidates[i];
	}
	return best;
}

/* The table's entries for the LIDs of a destination switch and of the adapters at it. loads: by
 * port, of this switch. */
static void fill_entries(struct vl_subnet *subnet, uint32_t index, uint32_t destination,
			 const uint16_t *candidates, uint32_t count, uint32_t *loads)
{
	uint16_t *table = subnet->tables + (size_t)index * subnet->lid_limit;
	const struct vl_subnet_member *to = vl_subnet_switch(subnet, destination);

	if (index != destination)
		table[to->lid] = least_loaded(candidates, count, loads);
	for (uint32_t i = 0; i < to->port_count; i++) {
		uint32_t peer = subnet->ports[to->first_port + i].peer;
		uint16_t port;

		if (peer == VL_SUBNET_NONE || !subnet->ports[peer].lid)
			continue;
		port = index == destination ? (uint16_t)i : least_loaded(candidates, count, loads);
		table[subnet->ports[peer].lid] = port;
		loads[port]++;
	}
}

static void fill_tables(struct vl_subnet *subnet, const struct vl_route_space *space,
			uint32_t destination, uint16_t *candidates, uint32_t *loads)
{
	for (uint32_t i = 0; i < subnet->switch_count; i++) {
		uint32_t count = find_candidates(subnet, space, i, candidates);

		if (i == destination || count)
			fill_entries(subnet, i, destination, candidates, count,
				     loads + vl_subnet_switch(subnet, i)->first_port);
	}
}

/* False: as vl_route_up_down. */
static bool route_all(struct vl_subnet *subnet, struct vl_route_space *space, uint16_t *candidates,
		      uint32_t *loads, uint32_t *from, uint32_t *to)
{
	memset(loads, 0, subnet->port_count * sizeof(*loads));
	for (*to = 0; *to < subnet->switch_count; ++*to) {
		if (subnet->routing == VL_SUBNET_MIN_HOP)
			vl_route_min_hop(subnet, space, *to);
		else if (!vl_route_up_down(subnet, space, *to, from))
			return false;
		fill_tables(subnet, space, *to, candidates, loads);
	}
	return true;
}

static int route(struct vl_subnet *subnet, const struct vl_subnet_config *config,
		 struct vl_route_space *space, uint16_t *candidates, uint32_t *loads, char *message)
{
	uint32_t from = 0, to = 0;

	if (subnet->routing == VL_SUBNET_UP_DOWN)
		vl_rank_switches(subnet, space, config->roots, config->root_count);
	if (route_all(subnet, space, candidates, loads, &from, &to))
		return 0;
	if (config->root_count) {
		snprintf(message, VL_SUBNET_MESSAGE_SIZE,
			 "up_down has no way from %s to %s that goes up, then down, with the given "
			 "root%s: give fewer roots, or none to have them computed",
			 vl_subnet_switch(subnet, from)->name, vl_subnet_switch(subnet, to)->name,
			 config->root_count > 1 ? "s" : "");
		return -EHOSTUNREACH;
	}
	/* Several tops were no tree's; from one alone there is always a way. */
	vl_rank_from_centre(subnet, space);
	route_all(subnet, space, candidates, loads, &from, &to);
	return 0;
}

int vl_subnet_route(struct vl_subnet *subnet, const struct vl_subnet_config *config, char *message)
{
	uint32_t switches = subnet->switch_count ? subnet->switch_count : 1;
	struct vl_route_space space = {
		.routes = calloc(switches, sizeof(*space.routes)),
		.queue = calloc(switches, sizeof(*space.queue)),
		.order = calloc(switches, sizeof(*space.order)),
	};
	uint16_t *candidates = calloc(VL_SUBNET_MAX_PORTS, sizeof(*candidates));
	uint32_t *loads = calloc(subnet->port_count, sizeof(*loads));
	int status = -ENOMEM;

	if (space.routes && space.queue && space.order && candidates && loads) {
		status = subnet->switch_count
				 ? route(subnet, config, &space, candidates, loads, message)
				 : 0;
	} else {
		snprintf(message, VL_SUBNET_MESSAGE_SIZE, "out of memory");
	}
	free(space.routes);
	free(space.queue);
	free(space.order);
	free(candidates);
	free(loads);
	return status;
}
