/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What a network is made of, for the files that build, route and run it, and for nobody else. */
#ifndef VERBLINE_DATAPLANE_NETWORK_PRIVATE_H
#define VERBLINE_DATAPLANE_NETWORK_PRIVATE_H

#include "dataplane/network.h"

enum vl_node_kind {
	VL_NODE_ENDPOINT,
	VL_NODE_SWITCH,
	VL_NODE_CHANNEL_ADAPTER,
	VL_NODE_INFINIBAND_SWITCH,
};

struct vl_network_tap {
	struct vl_tap tap;
	struct vl_network_tap *next;
};

/* A port and the link that leaves it. Its first cache lines hold what an event touches. */
struct vl_network_port {
	_Alignas(64) struct vl_network_port *peer;
	struct vl_node *node;
	struct vl_network_tap *taps;
	uint32_t number;
	bool is_connected;
	struct vl_event arrive;   /* the first frame in flight has arrived at the peer */
	struct vl_event transmit; /* the line is free, or a deadline has come */
	_Alignas(64) struct vl_fabric_link link;
};

struct vl_node {
	struct vl_network *network;
	struct vl_node *next;
	char name[32];
	enum vl_node_kind kind;
	struct vl_endpoint *endpoint; /* of an adapter too, whose it is then */
	struct vl_switch *sw;
	struct vl_channel_adapter *adapter;
	struct vl_infiniband_switch *infiniband_switch;
	uint32_t number; /* of vl_network_manage_subnet: among the InfiniBand nodes */
	uint32_t port_count;
	struct vl_network_port *ports;
	uint32_t route_number; /* of vl_network_route: among all nodes */
};

struct vl_network {
	struct vl_executor *executor;
	struct vl_memory_frame_pool pool;
	struct vl_node *first, **last;
	uint32_t node_count, link_count;
	char error[192];
};

/* Keeps the text for vl_network_error and returns error. */
__attribute__((format(printf, 3, 4))) int vl_network_fail(struct vl_network *network, int error,
							  const char *format, ...);

static inline bool vl_node_is_infiniband(const struct vl_node *node)
{
	return node->kind >= VL_NODE_CHANNEL_ADAPTER;
}

/* A node without a device, with its ports, not yet in the network. NULL: no memory, which
 * vl_network_error says. */
struct vl_node *vl_network_make_node(struct vl_network *network, enum vl_node_kind kind,
				     const char *name, uint32_t ports);
void vl_network_add_node(struct vl_network *network, struct vl_node *node);
void vl_network_destroy_node(struct vl_node *node);

/* Lets a port act at the present time. */
void vl_network_start_port(struct vl_network_port *port);
/* What a port's events run (network_run.c). */
void vl_network_run_transmit(struct vl_event *event, uint64_t now);
void vl_network_run_arrive(struct vl_event *event, uint64_t now);
void vl_network_prefetch_transmit(const struct vl_event *event, unsigned int step);
void vl_network_prefetch_arrive(const struct vl_event *event, unsigned int step);

#endif
