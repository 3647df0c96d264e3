/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Shared by the files of the subnet manager, and by nobody else. */
#ifndef VERBLINE_INFINIBAND_SUBNET_PRIVATE_H
#define VERBLINE_INFINIBAND_SUBNET_PRIVATE_H

#include "dataplane/infiniband/subnet_manager.h"

#define VL_SUBNET_NONE UINT32_MAX

struct vl_subnet_port {
	uint32_t node;
	uint16_t number;
	uint16_t lid;  /* of an adapter's port */
	uint32_t peer; /* index of the port at the cable's other end, or VL_SUBNET_NONE */
};

struct vl_subnet_member {
	char name[40];
	uint32_t first_port, port_count; /* in ports */
	uint32_t switch_index;           /* VL_SUBNET_NONE: a channel adapter */
	uint32_t rank;
	uint16_t lid;     /* of a switch */
	bool has_adapter; /* a switch: an adapter's cable ends here */
};

struct vl_subnet {
	enum vl_subnet_routing routing;
	struct vl_subnet_lanes lanes;
	struct vl_subnet_member *members; /* by node */
	uint32_t member_count;
	struct vl_subnet_port *ports; /* of all members, one member's after another's */
	uint32_t port_count;
	uint32_t *switches; /* nodes, by switch index */
	uint32_t switch_count;
	uint32_t *owners; /* by LID: a port's index; for a switch, its first port's */
	uint32_t lid_limit;
	uint16_t *tables; /* switch_count tables of lid_limit entries */
};

/* Which links a switch may leave by on the way to the destination that is being routed. */
enum vl_route_way {
	VL_ROUTE_ANY,
	VL_ROUTE_DOWN, /* only down from here on */
	VL_ROUTE_UP,
};

/* The way of a switch to the destination: to a neighbour with a distance of one less. */
struct vl_route {
	uint32_t distance; /* VL_SUBNET_NONE: none yet */
	enum vl_route_way way;
};

/* Room for a computation on switches. */
struct vl_route_space {
	struct vl_route *routes; /* by switch index */
	uint32_t *queue;         /* by switch index */
	uint32_t *order;         /* switch indices, the top first; up-down only */
};

static inline struct vl_subnet_member *vl_subnet_switch(const struct vl_subnet *subnet,
							uint32_t index)
{
	return &subnet->members[subnet->switches[index]];
}

/* The switch that a port of a switch leads to; VL_SUBNET_NONE: to an adapter, or nowhere. */
static inline uint32_t vl_subnet_neighbour(const struct vl_subnet *subnet, uint32_t port)
{
	uint32_t peer = subnet->ports[port].peer;

	return peer == VL_SUBNET_NONE ? VL_SUBNET_NONE
				      : subnet->members[subnet->ports[peer].node].switch_index;
}

/* The entry of a switch's table. */
static inline uint16_t vl_subnet_entry(const struct vl_subnet *subnet, uint32_t index, uint32_t lid)
{
	return subnet->tables[(size_t)index * subnet->lid_limit + lid];
}

/* Whether the first switch is nearer to the top: a total order, so that links have one direction
 * each and cannot form a circle of ups or of downs. */
static inline bool vl_subnet_is_above(const struct vl_subnet *subnet, uint32_t a, uint32_t b)
{
	uint32_t rank_a = vl_subnet_switch(subnet, a)->rank;
	uint32_t rank_b = vl_subnet_switch(subnet, b)->rank;

	return rank_a != rank_b ? rank_a < rank_b : a < b;
}

/* Spreads the distance from the switches that have one to those that have none, over all links;
 * count switches stand in space->queue in order of distance. */
void vl_route_spread(const struct vl_subnet *subnet, struct vl_route_space *space, uint32_t count);
/* Routes of all switches to one of them. */
void vl_route_min_hop(const struct vl_subnet *subnet, struct vl_route_space *space,
		      uint32_t destination);
/* Ranks switches from the roots of the configuration, or from those that it computes. */
void vl_rank_switches(struct vl_subnet *subnet, struct vl_route_space *space, const uint32_t *roots,
		      uint32_t root_count);
void vl_rank_from_centre(struct vl_subnet *subnet, struct vl_route_space *space);
/* Routes of all switches to one of them. False: both it and another one (*from) have adapters, and
 * no way goes up, then down. Where only management's packets go, any way is taken if there is none
 * of these. */
bool vl_route_up_down(const struct vl_subnet *subnet, struct vl_route_space *space,
		      uint32_t destination, uint32_t *from);
/* Fills the tables. 0 or a negative errno value with a message. */
int vl_subnet_route(struct vl_subnet *subnet, const struct vl_subnet_config *config, char *message);

#endif
