/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Endpoints, switches and cables that a rule makes, named and joined as if they had been listed. */

#include "apps/scenario/scenario.h"
#include "dataplane/fabric/topology.h"

#include <errno.h>
#include <string.h>

#define ALL_ENDPOINTS "host"

static void refuse_unused(struct vl_loader *loader, const struct vl_scenario_topology *topology)
{
	const struct vl_schema *schema = &vl_scenario_topology_schema;
	enum vl_topology_kind kind = (enum vl_topology_kind)topology->kind;

	for (unsigned int i = 0; i < schema->field_count; i++) {
		const char *field = schema->fields[i].name;

		if (topology->section.present >> i & 1 && !vl_topology_uses(kind, field))
			vl_section_problem(loader, &topology->section, field,
					   "is not for topology %s; take it out",
					   vl_topology_kind_name(kind));
	}
}

static void refuse_lists(struct vl_loader *loader, const struct vl_scenario *scenario)
{
	static const char *const lists[] = {"endpoints", "links"};

	for (unsigned int i = 0; i < 2; i++) {
		if (vl_section_has(&vl_scenario_schema, &scenario->section, lists[i]))
			vl_section_problem(loader, &scenario->section, lists[i],
					   "the topology makes them; take out one of the two");
	}
}

static bool create(struct vl_loader *loader, const struct vl_scenario *scenario,
		   struct vl_topology *made)
{
	const struct vl_scenario_topology *topology = &scenario->topology;
	const struct vl_topology_config config = {
		.kind = (enum vl_topology_kind)topology->kind,
		.endpoints = (uint32_t)topology->endpoints,
		.switches = (uint32_t)topology->switches,
		.leaves = (uint32_t)topology->leaves,
		.spines = (uint32_t)topology->spines,
		.radix = (uint32_t)topology->radix,
		.rails = (uint32_t)topology->rails,
	};
	const char *field = NULL;
	char error[160];
	int status = vl_topology_create(&config, made, &field, error, sizeof(error));

	if (status == -EINVAL)
		vl_section_problem(loader, &topology->section, field, "%s", error);
	else if (status)
		loader->out_of_memory = true;
	return !status;
}

/* A tier that was not given is as the one below it. */
static void complete_tiers(struct vl_scenario_topology *topology)
{
	if (!topology->link.section.node)
		topology->link =
			*(const struct vl_scenario_links *)vl_scenario_link_schema.defaults;
	if (!topology->uplink.section.node)
		topology->uplink = topology->link;
	if (!topology->core_link.section.node)
		topology->core_link = topology->uplink;
}

/* ---- Switches ------------------------------------------------------------------------------ */

static void start_switch(const struct vl_scenario *scenario, struct vl_scenario_switch *sw)
{
	if (scenario->sw.section.node) {
		*sw = scenario->sw;
		return;
	}
	*sw = *(const struct vl_scenario_switch *)vl_scenario_switch_schema.defaults;
	sw->section = scenario->topology.section;
	sw->section.present = 0;
}

/* Those of the scenario's list replace the made ones of their names. */
static void replace_switches(struct vl_loader *loader, struct vl_scenario *scenario)
{
	const struct vl_scenario_switch *listed = scenario->switches.elements;
	unsigned int node;

	for (unsigned int i = 0; i < scenario->switches.count; i++) {
		node = listed[i].name ? vl_scenario_find_node(scenario, listed[i].name)
				      : UINT32_MAX;
		if (node == UINT32_MAX || node < scenario->endpoint_count) {
			vl_section_problem(loader, &listed[i].section, "name",
					   "the topology makes no such switch; name one of its "
					   "switches, as '%s'",
					   scenario->node_count > scenario->endpoint_count
						   ? scenario->nodes[scenario->endpoint_count].name
						   : "");
			continue;
		}
		for (unsigned int n = 0; n < i; n++) {
			if (listed[n].name && !strcmp(listed[n].name, listed[i].name))
				vl_section_problem(loader, &listed[i].section, "name",
						   "'%s' is described twice; keep one",
						   listed[i].name);
		}
		scenario->built_switches[node - scenario->endpoint_count] = listed[i];
		scenario->built_switches[node - scenario->endpoint_count].node = node;
	}
}

/* ---- The whole ----------------------------------------------------------------------------- */

static const char *print_name(struct vl_loader *loader, const char *name, uint32_t number)
{
	const char *text = vl_arena_print(loader->arena, number ? "%s%u" : "%s", name, number);

	if (!text)
		loader->out_of_memory = true;
	return text ? text : "";
}

static void name_nodes(struct vl_loader *loader, struct vl_scenario *scenario,
		       const struct vl_topology *made)
{
	const struct vl_section *section = &scenario->topology.section;
	const struct vl_topology_group *group;
	char name[VL_TOPOLOGY_NAME];

	for (unsigned int i = 0; i < made->node_count; i++) {
		vl_topology_node_name(&made->nodes[i], name);
		scenario->nodes[i].name = print_name(loader, name, 0);
		vl_names_add(&scenario->names, scenario->nodes[i].name, section, i, 1, 1);
	}
	vl_names_add(&scenario->names, ALL_ENDPOINTS, section, 0, made->endpoint_count, 1);
	for (unsigned int i = 0; i < made->group_count; i++) {
		group = &made->groups[i];
		vl_names_add(&scenario->names, print_name(loader, group->name, group->number),
			     section, group->first, group->count, group->stride);
	}
}

static bool allocate(struct vl_loader *loader, struct vl_scenario *scenario,
		     const struct vl_topology *made)
{
	unsigned int switches = made->node_count - made->endpoint_count;

	scenario->nodes =
		vl_arena_allocate(loader->arena, made->node_count * sizeof(*scenario->nodes));
	scenario->cables =
		vl_arena_allocate(loader->arena, made->cable_count * sizeof(*scenario->cables));
	scenario->built_switches =
		vl_arena_allocate(loader->arena, switches * sizeof(*scenario->built_switches));
	if (scenario->nodes && scenario->cables && scenario->built_switches &&
	    vl_names_init(loader, &scenario->names, made->node_count + made->group_count + 1))
		return true;
	loader->out_of_memory = true;
	return false;
}

static void fill(struct vl_loader *loader, struct vl_scenario *scenario,
		 const struct vl_topology *made)
{
	const struct vl_scenario_links *const tiers[VL_TIERS] = {
		[VL_TIER_ENDPOINT] = &scenario->topology.link,
		[VL_TIER_UPLINK] = &scenario->topology.uplink,
		[VL_TIER_CORE] = &scenario->topology.core_link,
	};
	unsigned int switches = made->node_count - made->endpoint_count;

	scenario->node_count = made->node_count;
	scenario->endpoint_count = made->endpoint_count;
	name_nodes(loader, scenario, made);
	for (unsigned int i = 0; i < switches; i++) {
		start_switch(scenario, &scenario->built_switches[i]);
		scenario->built_switches[i].node = made->endpoint_count + i;
		scenario->built_switches[i].name = scenario->nodes[made->endpoint_count + i].name;
		scenario->nodes[made->endpoint_count + i].sw = &scenario->built_switches[i];
	}
	for (unsigned int i = 0; i < made->cable_count; i++)
		vl_scenario_join(scenario, tiers[made->cables[i].tier], made->cables[i].a,
				 made->cables[i].b);
}

bool vl_scenario_make_topology(struct vl_loader *loader, struct vl_scenario *scenario)
{
	struct vl_topology made;
	bool whole;

	refuse_unused(loader, &scenario->topology);
	refuse_lists(loader, scenario);
	if (!vl_section_has(&vl_scenario_topology_schema, &scenario->topology.section, "kind") ||
	    !create(loader, scenario, &made))
		return false;
	complete_tiers(&scenario->topology);
	whole = allocate(loader, scenario, &made);
	if (whole)
		fill(loader, scenario, &made);
	vl_topology_release(&made);
	if (!whole)
		return false;
	vl_names_sort(loader, &scenario->names);
	replace_switches(loader, scenario);
	return true;
}
