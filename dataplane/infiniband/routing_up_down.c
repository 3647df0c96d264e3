/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Up-down (Schroeder et al., Autonet, 1991): every link has an upper and a lower end, and a packet
 * that went down never goes up again. A table knows only where a packet goes, not where it came
 * from; so a switch that has a way of downs alone takes it, even where going up first were shorter,
 * and the others go up towards the nearest such switch.
 */
#include "dataplane/infiniband/subnet_private.h"

/* Ranks by the distance from the switches whose rank is 0 and which stand in the queue. */
static void rank_by_distance(struct vl_subnet *subnet, struct vl_route_space *space, uint32_t count)
{
	uint32_t placed = 0, rank = 0;

	vl_route_spread(subnet, space, count);
	for (uint32_t i = 0; i < subnet->switch_count; i++)
		vl_subnet_switch(subnet, i)->rank = space->routes[i].distance;
	/* By rank and then by number. Ranks have no gaps. */
	for (; placed < subnet->switch_count; rank++) {
		for (uint32_t i = 0; i < subnet->switch_count; i++) {
			if (space->routes[i].distance == rank)
				space->order[placed++] = i;
		}
	}
}

static void clear(const struct vl_subnet *subnet, struct vl_route_space *space)
{
	for (uint32_t i = 0; i < subnet->switch_count; i++)
		space->routes[i].distance = VL_SUBNET_NONE;
}

static void add_root(struct vl_route_space *space, uint32_t index, uint32_t *count)
{
	if (!space->routes[index].distance)
		return;
	space->routes[index] = (struct vl_route){0, VL_ROUTE_ANY};
	space->queue[(*count)++] = index;
}

/* Least and greatest distance of a switch to the switches that have adapters, and their sum. */
struct reach {
	uint32_t least, greatest;
	uint64_t sum;
};

static struct reach reach_of(const struct vl_subnet *subnet, struct vl_route_space *space,
			     uint32_t index)
{
	struct reach reach = {VL_SUBNET_NONE, 0, 0};

	vl_route_min_hop(subnet, space, index);
	for (uint32_t i = 0; i < subnet->switch_count; i++) {
		uint32_t distance = space->routes[i].distance;

		if (!vl_subnet_switch(subnet, i)->has_adapter)
			continue;
		reach.least = distance < reach.least ? distance : reach.least;
		reach.greatest = distance > reach.greatest ? distance : reach.greatest;
		reach.sum += distance;
	}
	return reach;
}

void vl_rank_from_centre(struct vl_subnet *subnet, struct vl_route_space *space)
{
	struct reach best = {0, VL_SUBNET_NONE, UINT64_MAX};
	uint32_t centre = 0, count = 0;

	for (uint32_t i = 0; i < subnet->switch_count; i++) {
		struct reach reach = reach_of(subnet, space, i);

		if (reach.greatest > best.greatest ||
		    (reach.greatest == best.greatest && reach.sum >= best.sum))
			continue;
		best = reach;
		centre = i;
	}
	clear(subnet, space);
	add_root(space, centre, &count);
	rank_by_distance(subnet, space, count);
}

/* The top of a tree: the switches that are equally far from all that have adapters, of those the
 * nearest. False: there are none. */
static bool rank_from_top(struct vl_subnet *subnet, struct vl_route_space *space)
{
	uint32_t top_distance = VL_SUBNET_NONE, top_count = 0, count = 0;
	uint32_t *tops = space->order;

	for (uint32_t i = 0; i < subnet->switch_count; i++) {
		struct reach reach = reach_of(subnet, space, i);

		if (reach.least != reach.greatest || reach.greatest > top_distance)
			continue;
		if (reach.greatest < top_distance)
			top_count = 0;
		top_distance = reach.greatest;
		tops[top_count++] = i;
	}
	if (!top_count)
		return false;
	clear(subnet, space);
	for (uint32_t i = 0; i < top_count; i++)
		add_root(space, tops[i], &count);
	rank_by_distance(subnet, space, count);
	return true;
}

void vl_rank_switches(struct vl_subnet *subnet, struct vl_route_space *space, const uint32_t *roots,
		      uint32_t root_count)
{
	uint32_t count = 0;

	if (!root_count) {
		if (!rank_from_top(subnet, space))
			vl_rank_from_centre(subnet, space);
		return;
	}
	clear(subnet, space);
	for (uint32_t i = 0; i < root_count; i++)
		add_root(space, subnet->members[roots[i]].switch_index, &count);
	rank_by_distance(subnet, space, count);
}

/* Everybody above the destination from whom a way of downs alone leads there. Returns their number,
 * and leaves them in the queue in order of distance. */
static uint32_t route_down(const struct vl_subnet *subnet, struct vl_route_space *space,
			   uint32_t destination)
{
	uint32_t count = 1;

	space->routes[destination] = (struct vl_route){0, VL_ROUTE_DOWN};
	space->queue[0] = destination;
	for (uint32_t taken = 0; taken < count; taken++) {
		uint32_t lower = space->queue[taken];
		const struct vl_subnet_member *sw = vl_subnet_switch(subnet, lower);

		for (uint32_t port = 0; port < sw->port_count; port++) {
			uint32_t upper = vl_subnet_neighbour(subnet, sw->first_port + port);

			if (upper == VL_SUBNET_NONE || !vl_subnet_is_above(subnet, upper, lower) ||
			    space->routes[upper].distance != VL_SUBNET_NONE)
				continue;
			space->routes[upper] =
				(struct vl_route){space->routes[lower].distance + 1, VL_ROUTE_DOWN};
			space->queue[count++] = upper;
		}
	}
	return count;
}

/* The top comes first, so that whoever is above has its distance already. */
static void route_up(const struct vl_subnet *subnet, struct vl_route_space *space)
{
	for (uint32_t i = 0; i < subnet->switch_count; i++) {
		uint32_t lower = space->order[i], least = VL_SUBNET_NONE;
		const struct vl_subnet_member *sw = vl_subnet_switch(subnet, lower);

		if (space->routes[lower].distance != VL_SUBNET_NONE)
			continue;
		for (uint32_t port = 0; port < sw->port_count; port++) {
			uint32_t upper = vl_subnet_neighbour(subnet, sw->first_port + port);

			if (upper != VL_SUBNET_NONE && vl_subnet_is_above(subnet, upper, lower) &&
			    space->routes[upper].distance < least)
				least = space->routes[upper].distance;
		}
		if (least != VL_SUBNET_NONE)
			space->routes[lower] = (struct vl_route){least + 1, VL_ROUTE_UP};
	}
}

/* Switches that stand in no order of distance: the spreading needs one. */
static uint32_t queue_routed(const struct vl_subnet *subnet, struct vl_route_space *space)
{
	uint32_t count = 0, total = 0;

	for (uint32_t i = 0; i < subnet->switch_count; i++)
		total += space->routes[i].distance != VL_SUBNET_NONE;
	for (uint32_t distance = 0; count < total; distance++) {
		for (uint32_t i = 0; i < subnet->switch_count; i++) {
			if (space->routes[i].distance == distance)
				space->queue[count++] = i;
		}
	}
	return count;
}

bool vl_route_up_down(const struct vl_subnet *subnet, struct vl_route_space *space,
		      uint32_t destination, uint32_t *from)
{
	bool carries_data = vl_subnet_switch(subnet, destination)->has_adapter;
	uint32_t unrouted = 0;

	clear(subnet, space);
	route_down(subnet, space, destination);
	route_up(subnet, space);
	for (uint32_t i = 0; i < subnet->switch_count; i++) {
		if (space->routes[i].distance != VL_SUBNET_NONE)
			continue;
		unrouted++;
		if (carries_data && vl_subnet_switch(subnet, i)->has_adapter) {
			*from = i;
			return false;
		}
	}
	if (unrouted)
		vl_route_spread(subnet, space, queue_routed(subnet, space));
	return true;
}
