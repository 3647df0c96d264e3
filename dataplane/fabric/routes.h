/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Routes of Ethernet switches: to each endpoint by the fewest hops, and where several ports are
 * equally near, by all of them (dataplane/fabric/forwarding.h chooses among them).
 */
#ifndef VERBLINE_FABRIC_ROUTES_H
#define VERBLINE_FABRIC_ROUTES_H

#include "dataplane/fabric/switch.h"

#include <stdint.h>

#define VL_ROUTES_NO_NODE UINT32_MAX

struct vl_routes_node {
	struct vl_switch *sw; /* NULL: it forwards nothing */
	const uint8_t *mac;   /* an endpoint that is to be reached; NULL: none */
	/* Of its ports, in the graph's neighbours. A switch's are as it numbers them. */
	uint32_t first_port, port_count;
};

struct vl_routes_graph {
	struct vl_routes_node *nodes;
	uint32_t *neighbours; /* by port: a node; VL_ROUTES_NO_NODE: not connected */
	uint32_t node_count;
};

/* Nodes and ports to be filled in; NULL in nodes: no memory. */
struct vl_routes_graph vl_routes_graph_create(uint32_t nodes, uint32_t ports);
void vl_routes_graph_destroy(struct vl_routes_graph *graph);

/* -ENETUNREACH: from has no way to to. -ENOMEM: there is none for routes of from. */
int vl_routes_set(const struct vl_routes_graph *graph, uint32_t *from, uint32_t *to);

#endif
