/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Graphs of networks that are built by a rule: endpoints, switches and cables, and what part each
 * plays. Plain numbers; who has links and switches builds a network of them.
 *
 * Endpoints come first, then switches from the edge up. Endpoints are dealt to edge switches as
 * evenly as can be, neighbours in number to the same switch; the endpoints of an edge switch are a
 * rack. On rails, they are dealt the other way round: a server has one endpoint on each rail.
 */
#ifndef VERBLINE_FABRIC_TOPOLOGY_H
#define VERBLINE_FABRIC_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VL_TOPOLOGY_MAX_ENDPOINTS 1024u
#define VL_TOPOLOGY_NAME          16u

#define VL_TOPOLOGIES(X)                                                                           \
	X(PAIR, "pair", "two endpoints, back to back")                                             \
	X(STAR, "star", "one switch")                                                              \
	X(DUMBBELL, "dumbbell", "two switches, left and right, and one cable between them")        \
	X(PARKING_LOT, "parking_lot", "a chain of switches, each with endpoints")                  \
	X(LEAF_SPINE, "leaf_spine", "leaves with endpoints, each linked to every spine")           \
	X(FAT_TREE, "fat_tree",                                                                    \
	  "three tiers of switches of k ports: edge, aggregation, core (Al-Fares et al. 2008)")    \
	X(RAIL, "rail", "servers with an endpoint on each rail; a leaf for each rail, and spines") \
	X(RING, "ring", "a ring of switches, each with endpoints")

enum vl_topology_kind {
#define VL_TOPOLOGY_KIND(symbol, name, meaning) VL_TOPOLOGY_##symbol,
	VL_TOPOLOGIES(VL_TOPOLOGY_KIND)
#undef VL_TOPOLOGY_KIND
		VL_TOPOLOGY_KINDS
};

struct vl_topology_config {
	enum vl_topology_kind kind;
	/* 0: as in parentheses. */
	uint32_t endpoints; /* (pair: 2, fat tree: k^3 / 4, others: 8), at most 1,024 */
	uint32_t switches;  /* parking lot: at least 2 (3); ring: at least 3 (3) */
	uint32_t leaves;    /* leaf-spine (4) */
	uint32_t spines;    /* leaf-spine, rail (2) */
	uint32_t radix;     /* fat tree: k, even (4) */
	uint32_t rails;     /* rail: endpoints of a server (8); they divide the endpoints */
};

enum vl_topology_role {
	VL_ROLE_HOST,
	VL_ROLE_SWITCH,
	VL_ROLE_LEFT,
	VL_ROLE_RIGHT,
	VL_ROLE_LEAF,
	VL_ROLE_SPINE,
	VL_ROLE_EDGE,
	VL_ROLE_AGGREGATION,
	VL_ROLE_CORE,
};

struct vl_topology_node {
	enum vl_topology_role role;
	uint32_t number; /* among those of the role, from 1; 0: there is only one */
};

enum vl_topology_tier {
	VL_TIER_ENDPOINT, /* between an endpoint and its switch, or two endpoints */
	VL_TIER_UPLINK,   /* between an edge switch and another switch */
	VL_TIER_CORE,     /* of a fat tree: between aggregation and core */
	VL_TIERS,
};

/* a is the one nearer to endpoints. */
struct vl_topology_cable {
	uint32_t a, b;
	enum vl_topology_tier tier;
};

/* Endpoints first, first + stride, ..., count of them. */
struct vl_topology_group {
	const char *name; /* "rack", "server", "rail": followed by number */
	uint32_t number;
	uint32_t first, count, stride;
};

struct vl_topology {
	struct vl_topology_node *nodes;
	struct vl_topology_cable *cables;
	struct vl_topology_group *groups; /* without that of all endpoints */
	uint32_t endpoint_count, node_count, cable_count, group_count;
};

/* 0; -EINVAL: error says what is wrong with the field of that name ("endpoints", "radix"); -ENOMEM.
 * To be released after success. */
int vl_topology_create(const struct vl_topology_config *config, struct vl_topology *topology,
		       const char **field, char *error, size_t error_size);
void vl_topology_release(struct vl_topology *topology);

/* "host12", "leaf3", "switch": at most VL_TOPOLOGY_NAME bytes with the final NUL. */
void vl_topology_node_name(const struct vl_topology_node *node, char *name);
const char *vl_topology_kind_name(enum vl_topology_kind kind);
/* Whether a kind looks at a field of the configuration; endpoints: all do. */
bool vl_topology_uses(enum vl_topology_kind kind, const char *field);

#endif
