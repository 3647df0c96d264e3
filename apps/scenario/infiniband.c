/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The mapping and arbitration of virtual lanes that a scenario asks for. */

#include "apps/scenario/infiniband.h"

#include "apps/quantity.h"
#include "apps/scenario/cc_parameters.h"
#include "apps/scenario/problem.h"
#include "apps/scenario/scenario.h"
#include "dataplane/fabric/rate.h"
#include "dataplane/workload/metrics.h"

#include <stdio.h>

/* Bytes, the least that is worked out. */
#define LEAST_BUFFER 65536u

static void set_service_level(struct vl_loader *loader, struct vl_scenario_infiniband *infiniband,
			      const yaml_node_pair_t *pair)
{
	const char *name = vl_node_text(loader, pair->key);
	const char *text = vl_node_text(loader, pair->value);
	char path[96], error[256];
	uint64_t level, lane;

	if (!name || vl_quantity_parse(VL_QUANTITY_COUNT, name, 0, VL_INFINIBAND_SERVICE_LEVELS - 1,
				       &level, error, sizeof(error))) {
		vl_problem_add(loader->problems, vl_node_place(loader, pair->key),
			       infiniband->sl_to_vl.path,
			       "'%.40s' is no service level; these are 0 to 15", name ? name : "");
		return;
	}
	snprintf(path, sizeof(path), "%.80s.%s", infiniband->sl_to_vl.path, name);
	if (!text || vl_quantity_parse(VL_QUANTITY_COUNT, text, 0, infiniband->virtual_lanes - 1,
				       &lane, error, sizeof(error)))
		vl_problem_add(loader->problems, vl_node_place(loader, pair->value), path,
			       "must be a virtual lane, 0 to %u (virtual_lanes - 1)",
			       (unsigned int)infiniband->virtual_lanes - 1);
	else
		infiniband->lanes.sl_to_vl[level] = (uint8_t)lane;
}

static void check_mapping(struct vl_loader *loader, struct vl_scenario_infiniband *infiniband)
{
	const yaml_node_t *mapping;

	if (!infiniband->sl_to_vl.node)
		return;
	mapping = yaml_document_get_node(loader->document, infiniband->sl_to_vl.node);
	if (mapping->type != YAML_MAPPING_NODE) {
		vl_problem_add(loader->problems, vl_node_place(loader, infiniband->sl_to_vl.node),
			       infiniband->sl_to_vl.path,
			       "must be a mapping of service levels to virtual lanes, as {3: 1}");
		return;
	}
	for (const yaml_node_pair_t *pair = mapping->data.mapping.pairs.start;
	     pair < mapping->data.mapping.pairs.top; pair++)
		set_service_level(loader, infiniband, pair);
}

static uint8_t take_table(struct vl_loader *loader, const struct vl_scenario_infiniband *infiniband,
			  const struct vl_list *list, struct vl_arbiter_entry *entries)
{
	const struct vl_scenario_arbitration *given = list->elements;
	uint8_t count = 0;

	for (unsigned int i = 0; i < list->count && i < VL_ARBITER_ENTRIES; i++) {
		if (given[i].virtual_lane >= infiniband->virtual_lanes) {
			vl_section_problem(loader, &given[i].section, "virtual_lane",
					   "must be 0 to %u (virtual_lanes - 1)",
					   (unsigned int)infiniband->virtual_lanes - 1);
			continue;
		}
		entries[count++] = (struct vl_arbiter_entry){(uint8_t)given[i].virtual_lane,
							     (uint8_t)given[i].weight};
	}
	return count;
}

static void check_arbitration(struct vl_loader *loader, struct vl_scenario_infiniband *infiniband)
{
	struct vl_arbiter_config *arbitration = &infiniband->lanes.arbitration;
	const char *error;

	if (infiniband->high.count || infiniband->low.count) {
		arbitration->high_count =
			take_table(loader, infiniband, &infiniband->high, arbitration->high);
		arbitration->low_count =
			take_table(loader, infiniband, &infiniband->low, arbitration->low);
	}
	arbitration->limit_of_high_priority = (uint8_t)infiniband->limit_of_high_priority;
	error = vl_arbiter_config_error(arbitration, infiniband->lanes.data_lanes);
	if (error)
		vl_section_problem(loader, &infiniband->section,
				   infiniband->low.count ? "low" : "high", "%s", error);
	if (infiniband->drain_rate && infiniband->drain_rate < VL_RATE_MIN)
		vl_section_problem(loader, &infiniband->section, "drain_rate",
				   "is too small; allowed is 1Mb/s to 4Tb/s, or 0 for at once");
}

static void check_cc(struct vl_loader *loader, struct vl_scenario_infiniband_cc *cc)
{
	vl_infiniband_cc_defaults(&cc->resolved);
	vl_scenario_read_cc_parameters(loader, &cc->parameters, vl_infiniband_cc_describe,
				       &cc->resolved);
	if (vl_infiniband_cc_check(&cc->resolved))
		vl_section_problem(loader, &cc->section, "parameters",
				   "have ccti_min above ccti_limit");
}

void vl_scenario_check_infiniband(struct vl_loader *loader,
				  struct vl_scenario_infiniband *infiniband)
{
	if (!infiniband->section.node)
		*infiniband = *(const struct vl_scenario_infiniband *)
				       vl_scenario_infiniband_schema.defaults;
	if (!infiniband->virtual_lanes || infiniband->virtual_lanes > VL_INFINIBAND_DATA_LANES)
		infiniband->virtual_lanes = 1;
	vl_subnet_lanes_default(&infiniband->lanes, (uint8_t)infiniband->virtual_lanes);
	check_mapping(loader, infiniband);
	check_arbitration(loader, infiniband);
	check_cc(loader, &infiniband->cc);
}

/* A lane's credits come back after a round trip; beyond that a packet is being sent, one received,
 * and one's credits are on their way in the next flow-control packet. */
static uint64_t buffer_of_link(const struct vl_scenario *scenario,
			       const struct vl_scenario_links *links)
{
	double round_trip = 2 * (double)links->delay * (double)links->rate / 8e9;

	return (uint64_t)round_trip +
	       3 * (vl_scenario_mtu(scenario) + VL_INFINIBAND_PACKET_OVERHEAD);
}

void vl_scenario_size_buffers(struct vl_scenario *scenario)
{
	uint64_t *buffer = &scenario->infiniband.buffer;

	if (*buffer != VL_AUTOMATIC)
		return;
	*buffer = LEAST_BUFFER;
	for (unsigned int i = 0; i < scenario->cable_count; i++) {
		uint64_t needed = buffer_of_link(scenario, scenario->cables[i].links);

		if (needed > *buffer)
			*buffer = needed;
	}
	*buffer = (*buffer + 63) / 64 * 64;
	if (*buffer > VL_INFINIBAND_MOST_BUFFER)
		*buffer = VL_INFINIBAND_MOST_BUFFER;
}

/* A switch may be named by itself and by a group. */
static bool is_root(const struct vl_scenario_infiniband *infiniband, unsigned int node)
{
	for (uint32_t i = 0; i < infiniband->root_count; i++) {
		if (infiniband->root_nodes[i] == node)
			return true;
	}
	return false;
}

static void add_roots(struct vl_loader *loader, struct vl_scenario *scenario,
		      const struct vl_scenario_meaning *meaning)
{
	struct vl_scenario_infiniband *infiniband = &scenario->infiniband;

	for (unsigned int i = 0; i < meaning->count; i++) {
		unsigned int node = vl_meaning_node(meaning, i);

		if (!scenario->nodes[node].sw) {
			vl_section_problem(loader, &infiniband->section, "roots", "%s is no switch",
					   scenario->nodes[node].name);
			return;
		}
		if (!is_root(infiniband, node))
			infiniband->root_nodes[infiniband->root_count++] = node;
	}
}

void vl_scenario_find_roots(struct vl_loader *loader, struct vl_scenario *scenario)
{
	struct vl_scenario_infiniband *infiniband = &scenario->infiniband;

	if (!infiniband->roots.count)
		return;
	if (infiniband->routing != VL_SUBNET_UP_DOWN)
		vl_section_problem(loader, &infiniband->section, "roots",
				   "are for routing up_down only; choose it, or take them out");
	infiniband->root_nodes = vl_arena_allocate(
		loader->arena, scenario->node_count * sizeof(*infiniband->root_nodes));
	if (!infiniband->root_nodes) {
		loader->out_of_memory = true;
		return;
	}
	for (unsigned int i = 0; i < infiniband->roots.count; i++) {
		const struct vl_scenario_meaning *meaning =
			vl_names_look_up(loader, &scenario->names, &infiniband->section, "roots",
					 infiniband->roots.texts[i]);

		if (meaning)
			add_roots(loader, scenario, meaning);
	}
}
