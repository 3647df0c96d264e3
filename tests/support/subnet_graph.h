/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Nodes and cables of a subnet, built by hand, and subnets made of them. */
#ifndef VERBLINE_TESTS_SUBNET_GRAPH_H
#define VERBLINE_TESTS_SUBNET_GRAPH_H

#include "dataplane/infiniband/subnet_manager.h"

#define GRAPH_MAX_NODES 2048u
#define GRAPH_MAX_LINKS 8192u

struct graph {
	struct vl_subnet_node nodes[GRAPH_MAX_NODES];
	char names[GRAPH_MAX_NODES][16];
	uint32_t node_count;
	struct vl_subnet_cable cables[GRAPH_MAX_LINKS];
	uint32_t cable_count;
};

extern struct graph graph;
extern char graph_message[VL_SUBNET_MESSAGE_SIZE]; /* of the subnet that was refused last */

/* Returns its number; it is called by the prefix and the number. */
uint32_t graph_add_node(bool is_switch, const char *prefix, uint32_t number);
/* By the next free port of each. */
void graph_join(uint32_t a, uint32_t b);
void graph_make_ring(uint32_t switches, uint32_t adapters);
/* A k-ary fat tree (Al-Fares et al. 2008): k pods, k^3 / 4 adapters. */
void graph_make_fat_tree(uint32_t k);

struct vl_subnet *graph_try_subnet(enum vl_subnet_routing routing, const uint32_t *roots,
				   uint32_t root_count);
struct vl_subnet *graph_make_subnet(enum vl_subnet_routing routing);

#endif
