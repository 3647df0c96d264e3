/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * The subnet manager of the lab: from a graph of channel adapters, switches and cables it makes the
 * LIDs, the linear forwarding tables, the SL-to-VL mapping and the arbitration of virtual lanes
 * (IBTA volume 1, 14.4 and 18.2), and says whether the tables can deadlock. Plain arrays come in
 * and go out: it knows neither switches nor executors, sends no MADs, and runs once, before the
 * network does.
 *
 * Ports are numbered from 0, as the network numbers them (a switch's management port has no
 * number).
 */
#ifndef VERBLINE_INFINIBAND_SUBNET_MANAGER_H
#define VERBLINE_INFINIBAND_SUBNET_MANAGER_H

#include "dataplane/infiniband/arbiter.h"
#include "dataplane/infiniband/port.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No LID: that of a port without a cable. */
#define VL_LID_NONE 0u

#define VL_SUBNET_NO_PORT      UINT16_MAX
#define VL_SUBNET_MAX_NODES    4096u
#define VL_SUBNET_MAX_PORTS    2048u /* of a node */
#define VL_SUBNET_MAX_CABLES   65536u
#define VL_SUBNET_MESSAGE_SIZE 256u

#define VL_SUBNET_ROUTINGS(X)                                                                      \
	X(MIN_HOP, "min_hop", "fewest hops, ports balanced by LID; can deadlock where paths loop") \
	X(UP_DOWN, "up_down", "never up again after down; cannot deadlock")

enum vl_subnet_routing {
#define VL_SUBNET_ROUTING_VALUE(symbol, name, meaning) VL_SUBNET_##symbol,
	VL_SUBNET_ROUTINGS(VL_SUBNET_ROUTING_VALUE)
#undef VL_SUBNET_ROUTING_VALUE
		VL_SUBNET_ROUTING_COUNT
};

struct vl_subnet_node {
	const char *name; /* for messages */
	bool is_switch;   /* else a channel adapter, which forwards nothing */
	uint32_t ports;   /* 1 to VL_SUBNET_MAX_PORTS */
};

struct vl_subnet_cable {
	uint32_t a, port_a; /* node, and its port */
	uint32_t b, port_b;
};

/* What every port of the subnet is given. */
struct vl_subnet_lanes {
	uint8_t data_lanes; /* 1 to 15: VL 0 to data_lanes - 1 */
	uint8_t sl_to_vl[VL_INFINIBAND_SERVICE_LEVELS];
	struct vl_arbiter_config arbitration;
};

/* SL n on VL n modulo data_lanes, and vl_arbiter_default. data_lanes 1 to 15. */
void vl_subnet_lanes_default(struct vl_subnet_lanes *lanes, uint8_t data_lanes);
/* What is wrong with them, or NULL; message has room for VL_SUBNET_MESSAGE_SIZE. */
const char *vl_subnet_lanes_error(const struct vl_subnet_lanes *lanes, char *message);

struct vl_subnet_config {
	const struct vl_subnet_node *nodes;
	uint32_t node_count;
	const struct vl_subnet_cable *cables;
	uint32_t cable_count;
	enum vl_subnet_routing routing;
	/* Switches that up-down takes for the top; none: computed. */
	const uint32_t *roots;
	uint32_t root_count;
	const struct vl_subnet_lanes *lanes; /* NULL: the default for one data lane */
};

/* A link in the direction in which it leaves a node. */
struct vl_subnet_channel {
	uint32_t node, port;
	/* In a cycle: a LID whose packets hold this channel's buffer and wait for the next one's.
	 */
	uint16_t witness;
};

struct vl_subnet;

/* The configuration is copied, its names too. NULL: message (room for VL_SUBNET_MESSAGE_SIZE) says
 * why: impossible arguments, no memory, or nodes that cannot reach each other, by name. */
struct vl_subnet *vl_subnet_create(const struct vl_subnet_config *config, char *message);
void vl_subnet_destroy(struct vl_subnet *subnet); /* NULL is fine */

/* Of a switch, whatever the port; of a channel adapter's port; VL_LID_NONE: it has no cable. */
uint16_t vl_subnet_lid(const struct vl_subnet *subnet, uint32_t node, uint32_t port);
/* LIDs are below it; also the number of entries of a forwarding table. */
uint32_t vl_subnet_lid_limit(const struct vl_subnet *subnet);
/* Whose LID it is. False: nobody's. *port is 0 for a switch. */
bool vl_subnet_lid_owner(const struct vl_subnet *subnet, uint32_t lid, uint32_t *node,
			 uint32_t *port);
/* By LID, the port to send by; VL_SUBNET_NO_PORT for the switch's own and for LIDs of nobody. NULL:
 * the node is no switch. */
const uint16_t *vl_subnet_forwarding_table(const struct vl_subnet *subnet, uint32_t node);
const struct vl_subnet_lanes *vl_subnet_lanes(const struct vl_subnet *subnet);
/* Steps below the top in up-down; 0 for a root, for all switches in min-hop and for adapters. */
uint32_t vl_subnet_rank(const struct vl_subnet *subnet, uint32_t node);
/* Links between a packet's first node and its last; 0: the LID is the node's own. Also 0 if there
 * is no such LID. */
uint32_t vl_subnet_hops(const struct vl_subnet *subnet, uint32_t node, uint32_t lid);

/* Looks for a cycle among the links of switches, each waiting for the buffers of the next, that
 * packets between adapters can close (Dally and Seitz 1987). Packets to switches are left out: they
 * are management's, and VL15 waits for nobody. Returns the number of channels in the cycle, 0 for
 * none, or a negative errno value; fills at most limit of channels. */
int vl_subnet_find_deadlock(const struct vl_subnet *subnet, struct vl_subnet_channel *channels,
			    uint32_t limit);
/* The same in words, as in "min_hop can deadlock: sw1 -> sw2 -> sw3 -> sw1 wait for each other's
 * buffers (with packets to host3, host1, host2); use up_down", cut to size. False:
 * there is no cycle, or no memory to look for one, and text is "" or says so. */
bool vl_subnet_describe_deadlock(const struct vl_subnet *subnet, char *text, size_t size);

const char *vl_subnet_routing_name(enum vl_subnet_routing routing);
/* False: there is none of that name. */
bool vl_subnet_routing_parse(const char *name, enum vl_subnet_routing *routing);

#endif
