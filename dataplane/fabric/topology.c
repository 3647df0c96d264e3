/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/fabric/topology.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of an edge; of the tier above it. */
#define MAX_SWITCHES 256u

/* What a kind is made of: counts, with the defaults put in. */
struct plan {
	enum vl_topology_kind kind;
	uint32_t endpoints;
	uint32_t edges;  /* switches that endpoints are linked to */
	uint32_t uppers; /* of the next tier: spines, aggregation */
	uint32_t cores;
	uint32_t switch_cables;
	uint32_t radix, rails, servers;
};

/* ---- What is possible ---------------------------------------------------------------------- */

struct refusal {
	const char **field;
	char *error;
	size_t error_size;
};

__attribute__((format(printf, 3, 4))) static int refuse(const struct refusal *refusal,
							const char *field, const char *format, ...)
{
	va_list arguments;

	*refusal->field = field;
	va_start(arguments, format);
	vsnprintf(refusal->error, refusal->error_size, format, arguments);
	va_end(arguments);
	return -EINVAL;
}

static uint32_t value_or(uint32_t value, uint32_t otherwise)
{
	return value ? value : otherwise;
}

static int plan_chain(const struct vl_topology_config *config, struct plan *plan,
		      const struct refusal *refusal)
{
	bool is_ring = config->kind == VL_TOPOLOGY_RING;

	plan->edges = value_or(config->switches, 3);
	plan->switch_cables = is_ring ? plan->edges : plan->edges - 1;
	if (plan->edges < (is_ring ? 3u : 2u))
		return refuse(refusal, "switches", "%s has at least %u",
			      is_ring ? "a ring" : "a parking lot", is_ring ? 3u : 2u);
	if (plan->edges > MAX_SWITCHES)
		return refuse(refusal, "switches", "at most %u are allowed", MAX_SWITCHES);
	return 0;
}

static int plan_leaf_spine(const struct vl_topology_config *config, struct plan *plan,
			   const struct refusal *refusal)
{
	plan->edges = value_or(config->leaves, 4);
	plan->uppers = value_or(config->spines, 2);
	if (plan->edges > MAX_SWITCHES)
		return refuse(refusal, "leaves", "at most %u are allowed", MAX_SWITCHES);
	if (plan->uppers > MAX_SWITCHES)
		return refuse(refusal, "spines", "at most %u are allowed", MAX_SWITCHES);
	plan->switch_cables = plan->edges * plan->uppers;
	return 0;
}

static int plan_fat_tree(const struct vl_topology_config *config, struct plan *plan,
			 const struct refusal *refusal)
{
	uint32_t k = value_or(config->radix, 4), most;

	if (k % 2 || k < 2 || k > 28)
		return refuse(refusal, "radix",
			      "%u ports make no fat tree here; choose an even number from 2 to 28",
			      k);
	most = k * k * k / 4;
	plan->radix = k;
	plan->edges = plan->uppers = k * k / 2;
	plan->cores = k * k / 4;
	plan->switch_cables = k * k * k / 2;
	plan->endpoints =
		value_or(config->endpoints,
			 most < VL_TOPOLOGY_MAX_ENDPOINTS ? most : VL_TOPOLOGY_MAX_ENDPOINTS);
	if (plan->endpoints > most)
		return refuse(refusal, "endpoints",
			      "a fat tree of %u-port switches has room for %u; choose a larger "
			      "radix",
			      k, most);
	return 0;
}

static int plan_rail(const struct vl_topology_config *config, struct plan *plan,
		     const struct refusal *refusal)
{
	plan->rails = plan->edges = value_or(config->rails, 8);
	plan->endpoints = value_or(config->endpoints, 2 * plan->rails);
	plan->uppers = value_or(config->spines, 2);
	if (plan->edges > MAX_SWITCHES)
		return refuse(refusal, "rails", "at most %u are allowed", MAX_SWITCHES);
	if (plan->uppers > MAX_SWITCHES)
		return refuse(refusal, "spines", "at most %u are allowed", MAX_SWITCHES);
	if (plan->endpoints % plan->rails)
		return refuse(refusal, "endpoints",
			      "%u do not make whole servers of %u rails; choose a multiple of %u",
			      plan->endpoints, plan->rails, plan->rails);
	plan->servers = plan->endpoints / plan->rails;
	plan->switch_cables = plan->edges * plan->uppers;
	return 0;
}

static int make_plan(const struct vl_topology_config *config, struct plan *plan,
		     const struct refusal *refusal)
{
	int status = 0;

	*plan = (struct plan){.kind = config->kind, .endpoints = value_or(config->endpoints, 8)};
	switch (config->kind) {
	case VL_TOPOLOGY_PAIR:
		plan->endpoints = value_or(config->endpoints, 2);
		if (plan->endpoints != 2)
			return refuse(refusal, "endpoints", "a pair has 2; take it out");
		break;
	case VL_TOPOLOGY_STAR:
		plan->edges = 1;
		break;
	case VL_TOPOLOGY_DUMBBELL:
		plan->edges = 2;
		plan->switch_cables = 1;
		break;
	case VL_TOPOLOGY_PARKING_LOT:
	case VL_TOPOLOGY_RING:
		status = plan_chain(config, plan, refusal);
		break;
	case VL_TOPOLOGY_LEAF_SPINE:
		status = plan_leaf_spine(config, plan, refusal);
		break;
	case VL_TOPOLOGY_FAT_TREE:
		status = plan_fat_tree(config, plan, refusal);
		break;
	case VL_TOPOLOGY_RAIL:
		status = plan_rail(config, plan, refusal);
		break;
	default:
		return refuse(refusal, "kind", "there is no such topology");
	}
	if (status)
		return status;
	if (plan->endpoints > VL_TOPOLOGY_MAX_ENDPOINTS)
		return refuse(refusal, "endpoints", "at most %u are allowed",
			      VL_TOPOLOGY_MAX_ENDPOINTS);
	if (plan->endpoints < 2)
		return refuse(refusal, "endpoints", "at least 2 are needed");
	return 0;
}

/* ---- Nodes and groups ---------------------------------------------------------------------- */

static void add_nodes(struct vl_topology *topology, enum vl_topology_role role, uint32_t count)
{
	/* Of a kind that never has more. */
	bool is_only = count == 1 &&
		       (role == VL_ROLE_SWITCH || role == VL_ROLE_LEFT || role == VL_ROLE_RIGHT);

	for (uint32_t i = 0; i < count; i++)
		topology->nodes[topology->node_count++] =
			(struct vl_topology_node){role, is_only ? 0 : i + 1};
}

static void add_switches(struct vl_topology *topology, const struct plan *plan)
{
	switch (plan->kind) {
	case VL_TOPOLOGY_DUMBBELL:
		add_nodes(topology, VL_ROLE_LEFT, 1);
		add_nodes(topology, VL_ROLE_RIGHT, 1);
		break;
	case VL_TOPOLOGY_LEAF_SPINE:
	case VL_TOPOLOGY_RAIL:
		add_nodes(topology, VL_ROLE_LEAF, plan->edges);
		add_nodes(topology, VL_ROLE_SPINE, plan->uppers);
		break;
	case VL_TOPOLOGY_FAT_TREE:
		add_nodes(topology, VL_ROLE_EDGE, plan->edges);
		add_nodes(topology, VL_ROLE_AGGREGATION, plan->uppers);
		add_nodes(topology, VL_ROLE_CORE, plan->cores);
		break;
	default:
		add_nodes(topology, VL_ROLE_SWITCH, plan->edges);
		break;
	}
}

static void add_group(struct vl_topology *topology, const char *name, uint32_t number,
		      uint32_t first, uint32_t count, uint32_t stride)
{
	topology->groups[topology->group_count++] =
		(struct vl_topology_group){name, number, first, count, stride};
}

/* The first endpoint of an edge switch. */
static uint32_t rack_start(const struct plan *plan, uint32_t edge)
{
	return (uint32_t)(((uint64_t)edge * plan->endpoints + plan->edges - 1) / plan->edges);
}

static void add_groups(struct vl_topology *topology, const struct plan *plan)
{
	if (plan->rails) {
		for (uint32_t i = 0; i < plan->servers; i++)
			add_group(topology, "server", i + 1, i * plan->rails, plan->rails, 1);
		for (uint32_t i = 0; i < plan->rails; i++)
			add_group(topology, "rail", i + 1, i, plan->servers, plan->rails);
		return;
	}
	for (uint32_t edge = 0; edge < plan->edges; edge++) {
		uint32_t first = rack_start(plan, edge);
		uint32_t count = rack_start(plan, edge + 1) - first;

		if (count)
			add_group(topology, "rack", edge + 1, first, count, 1);
	}
}

/* ---- Cables -------------------------------------------------------------------------------- */

static void add_cable(struct vl_topology *topology, uint32_t a, uint32_t b,
		      enum vl_topology_tier tier)
{
	topology->cables[topology->cable_count++] = (struct vl_topology_cable){a, b, tier};
}

static void cable_endpoints(struct vl_topology *topology, const struct plan *plan)
{
	if (plan->kind == VL_TOPOLOGY_PAIR) {
		add_cable(topology, 0, 1, VL_TIER_ENDPOINT);
		return;
	}
	if (plan->rails) {
		for (uint32_t i = 0; i < plan->endpoints; i++)
			add_cable(topology, i, plan->endpoints + i % plan->rails, VL_TIER_ENDPOINT);
		return;
	}
	for (uint32_t edge = 0; edge < plan->edges; edge++) {
		for (uint32_t i = rack_start(plan, edge); i < rack_start(plan, edge + 1); i++)
			add_cable(topology, i, plan->endpoints + edge, VL_TIER_ENDPOINT);
	}
}

static void cable_chain(struct vl_topology *topology, const struct plan *plan)
{
	uint32_t first = plan->endpoints;

	for (uint32_t i = 0; i < plan->switch_cables; i++)
		add_cable(topology, first + i, first + (i + 1) % plan->edges, VL_TIER_UPLINK);
}

static void cable_spines(struct vl_topology *topology, const struct plan *plan)
{
	uint32_t leaves = plan->endpoints, spines = leaves + plan->edges;

	for (uint32_t leaf = 0; leaf < plan->edges; leaf++) {
		for (uint32_t spine = 0; spine < plan->uppers; spine++)
			add_cable(topology, leaves + leaf, spines + spine, VL_TIER_UPLINK);
	}
}

/* k pods of k/2 edge and k/2 aggregation switches; the n-th aggregation switch of each pod is
 * linked to the n-th k/2 cores. */
static void cable_fat_tree(struct vl_topology *topology, const struct plan *plan)
{
	uint32_t half = plan->radix / 2, edges = plan->endpoints;
	uint32_t aggregations = edges + plan->edges, cores = aggregations + plan->uppers;

	for (uint32_t edge = 0; edge < plan->edges; edge++) {
		for (uint32_t i = 0; i < half; i++)
			add_cable(topology, edges + edge, aggregations + edge / half * half + i,
				  VL_TIER_UPLINK);
	}
	for (uint32_t aggregation = 0; aggregation < plan->uppers; aggregation++) {
		for (uint32_t i = 0; i < half; i++)
			add_cable(topology, aggregations + aggregation,
				  cores + aggregation % half * half + i, VL_TIER_CORE);
	}
}

static void cable_switches(struct vl_topology *topology, const struct plan *plan)
{
	switch (plan->kind) {
	case VL_TOPOLOGY_LEAF_SPINE:
	case VL_TOPOLOGY_RAIL:
		cable_spines(topology, plan);
		break;
	case VL_TOPOLOGY_FAT_TREE:
		cable_fat_tree(topology, plan);
		break;
	default:
		cable_chain(topology, plan);
		break;
	}
}

/* ---- The whole ----------------------------------------------------------------------------- */

int vl_topology_create(const struct vl_topology_config *config, struct vl_topology *topology,
		       const char **field, char *error, size_t error_size)
{
	const struct refusal refusal = {field, error, error_size};
	struct plan plan;
	int status = make_plan(config, &plan, &refusal);

	*topology = (struct vl_topology){0};
	if (status)
		return status;
	topology->endpoint_count = plan.endpoints;
	topology->nodes = calloc(plan.endpoints + plan.edges + plan.uppers + plan.cores,
				 sizeof(*topology->nodes));
	topology->cables = calloc(plan.endpoints + plan.switch_cables, sizeof(*topology->cables));
	topology->groups = calloc(plan.edges + plan.servers + 1, sizeof(*topology->groups));
	if (!topology->nodes || !topology->cables || !topology->groups) {
		vl_topology_release(topology);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < plan.endpoints; i++)
		topology->nodes[topology->node_count++] =
			(struct vl_topology_node){VL_ROLE_HOST, i + 1};
	add_switches(topology, &plan);
	add_groups(topology, &plan);
	cable_endpoints(topology, &plan);
	cable_switches(topology, &plan);
	return 0;
}

void vl_topology_release(struct vl_topology *topology)
{
	free(topology->nodes);
	free(topology->cables);
	free(topology->groups);
	*topology = (struct vl_topology){0};
}

void vl_topology_node_name(const struct vl_topology_node *node, char *name)
{
	static const char *const roles[] = {
		[VL_ROLE_HOST] = "host", [VL_ROLE_SWITCH] = "switch",
		[VL_ROLE_LEFT] = "left", [VL_ROLE_RIGHT] = "right",
		[VL_ROLE_LEAF] = "leaf", [VL_ROLE_SPINE] = "spine",
		[VL_ROLE_EDGE] = "edge", [VL_ROLE_AGGREGATION] = "aggregation",
		[VL_ROLE_CORE] = "core",
	};

	if (node->number)
		snprintf(name, VL_TOPOLOGY_NAME, "%s%u", roles[node->role], node->number);
	else
		snprintf(name, VL_TOPOLOGY_NAME, "%s", roles[node->role]);
}

const char *vl_topology_kind_name(enum vl_topology_kind kind)
{
	static const char *const names[] = {
#define KIND_NAME(symbol, name, meaning) name,
		VL_TOPOLOGIES(KIND_NAME)
#undef KIND_NAME
	};

	return kind < VL_TOPOLOGY_KINDS ? names[kind] : "";
}

bool vl_topology_uses(enum vl_topology_kind kind, const char *field)
{
	static const struct {
		const char *field;
		uint32_t kinds;
	} users[] = {
		{"switches", 1u << VL_TOPOLOGY_PARKING_LOT | 1u << VL_TOPOLOGY_RING},
		{"leaves", 1u << VL_TOPOLOGY_LEAF_SPINE},
		{"spines", 1u << VL_TOPOLOGY_LEAF_SPINE | 1u << VL_TOPOLOGY_RAIL},
		{"radix", 1u << VL_TOPOLOGY_FAT_TREE},
		{"rails", 1u << VL_TOPOLOGY_RAIL},
		{"uplink", ~(1u << VL_TOPOLOGY_PAIR | 1u << VL_TOPOLOGY_STAR)},
		{"core_link", 1u << VL_TOPOLOGY_FAT_TREE},
	};

	for (unsigned int i = 0; i < sizeof(users) / sizeof(users[0]); i++) {
		if (!strcmp(users[i].field, field))
			return users[i].kinds >> kind & 1;
	}
	return true;
}
