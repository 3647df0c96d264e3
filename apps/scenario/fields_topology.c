/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Links, and topologies made by a rule. */

#include "apps/scenario/field.h"
#include "apps/scenario/scenario.h"
#include "dataplane/fabric/topology.h"

#define COMMON_LINK_FIELDS                                                                         \
	TEXT_FIELD("link", struct vl_scenario_links, link,                                         \
		   "generation, form factor, medium and length instead of rate and delay, as "     \
		   "'800g osfp dr8 120 m'"),                                                       \
		QUANTITY_FIELD("rate", struct vl_scenario_links, rate, RATE, 1000000,              \
			       UINT64_C(1600000000000), "of each direction [100Gb/s]"),            \
		QUANTITY_FIELD("delay", struct vl_scenario_links, delay, DURATION, 0, SECOND,      \
			       "propagation, each way [500ns]"),                                   \
		FRACTION_FIELD("loss", struct vl_scenario_links, loss,                             \
			       "part of the frames lost, each way [0]"),                           \
		FRACTION_FIELD("duplicate", struct vl_scenario_links, duplicate,                   \
			       "part of the frames that arrive twice [0]"),                        \
		FRACTION_FIELD("reorder", struct vl_scenario_links, reorder,                       \
			       "part of the frames that the next one overtakes [0]"),              \
		FRACTION_FIELD("corrupt", struct vl_scenario_links, corrupt,                       \
			       "part of the frames with one bit flipped [0]"),                     \
		FRACTION_FIELD("mark", struct vl_scenario_links, mark,                             \
			       "part of the frames marked with ECN CE [0]"),                       \
		QUANTITY_FIELD("jitter", struct vl_scenario_links, jitter, DURATION, 0, SECOND,    \
			       "each frame takes 0 to so much longer [0]")

static const struct vl_field link_fields[] = {
	NAME_FIELD("from", struct vl_scenario_links, from,
		   "an endpoint, a group of endpoints, or a switch", true),
	NAME_FIELD("to", struct vl_scenario_links, to,
		   "an endpoint, a group of endpoints, or a switch", true),
	COMMON_LINK_FIELDS,
};
static const struct vl_scenario_links link_defaults = {.rate = UINT64_C(100000000000),
						       .delay = 500};
const struct vl_schema vl_scenario_link_schema = {link_fields, COUNT(link_fields),
						  sizeof(struct vl_scenario_links), &link_defaults};

static const struct vl_field tier_fields[] = {COMMON_LINK_FIELDS};
const struct vl_schema vl_scenario_tier_schema = {tier_fields, COUNT(tier_fields),
						  sizeof(struct vl_scenario_links), &link_defaults};

#define TIER_FIELD(key, member, text)                                                              \
	{                                                                                          \
		.name = key, .kind = VL_FIELD_MAPPING,                                             \
		.offset = offsetof(struct vl_scenario_topology, member), .help = text,             \
		.schema = &vl_scenario_tier_schema, .shorthand = "link"                            \
	}

static const char *const kinds[] = {
#define KIND_NAME(symbol, name, meaning) name,
	VL_TOPOLOGIES(KIND_NAME)
#undef KIND_NAME
		NULL};

static const struct vl_field topology_fields[] = {
	{.name = "kind",
	 .kind = VL_FIELD_CHOICE,
	 .offset = offsetof(struct vl_scenario_topology, kind),
	 .help = "pair, star, dumbbell, parking_lot, leaf_spine, fat_tree, rail or ring",
	 .is_required = true,
	 .choices = kinds},
	QUANTITY_FIELD("endpoints", struct vl_scenario_topology, endpoints, COUNT, 2,
		       VL_TOPOLOGY_MAX_ENDPOINTS,
		       "host1, host2, ..., together host; those of an edge switch are also rack1, "
		       "..., on rails server1, ... and rail1, ... [pair 2, fat_tree k^3/4, rail 2 "
		       "servers, others 8]"),
	QUANTITY_FIELD("switches", struct vl_scenario_topology, switches, COUNT, 2, 256,
		       "of parking_lot and ring: switch1, switch2, ... [3]"),
	QUANTITY_FIELD("leaves", struct vl_scenario_topology, leaves, COUNT, 1, 256,
		       "of leaf_spine: leaf1, leaf2, ... [4]"),
	QUANTITY_FIELD("spines", struct vl_scenario_topology, spines, COUNT, 1, 256,
		       "of leaf_spine and rail: spine1, ..., each linked to every leaf [2]"),
	QUANTITY_FIELD("radix", struct vl_scenario_topology, radix, COUNT, 2, 64,
		       "of fat_tree: k, the ports of each switch, even [4]"),
	QUANTITY_FIELD("rails", struct vl_scenario_topology, rails, COUNT, 1, 64,
		       "of rail: endpoints of a server, each linked to its rail's leaf [8]"),
	TIER_FIELD("link", link, "of endpoints to their switch"),
	TIER_FIELD("uplink", uplink, "of switches to switches [as link]"),
	TIER_FIELD("core_link", core_link, "of fat_tree, to its core [as uplink]"),
};
const struct vl_schema vl_scenario_topology_schema = {topology_fields, COUNT(topology_fields),
						      sizeof(struct vl_scenario_topology), NULL};
