/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/scenario/switch_config.h"

#include <string.h>

static void check_curve(struct vl_loader *loader, const struct vl_scenario_ecn *curve)
{
	if (curve->section.node && curve->kmin != VL_AUTOMATIC && curve->kmax != VL_AUTOMATIC &&
	    curve->kmin > curve->kmax)
		vl_section_problem(loader, &curve->section, "kmin",
				   "is above kmax; it must be kmax or less");
}

/* Of what a key only parses for. */
static void refuse_idle(struct vl_loader *loader, const struct vl_schema *schema,
			const struct vl_section *section, const char *field, const char *reason)
{
	if (vl_section_has(schema, section, field))
		vl_section_problem(loader, section, field, "%s; take it out", reason);
}

static void check_shaper(struct vl_loader *loader, const struct vl_scenario_shaper *shaper)
{
	if (shaper->section.node && !shaper->rate)
		vl_section_problem(loader, &shaper->section, "rate",
				   "is missing; without one nothing is shaped");
}

/* Another colour's curve: it goes beside the green one, with which it shares the point and the
 * average. */
static void check_colour(struct vl_loader *loader, const struct vl_scenario_queue *queue,
			 const struct vl_scenario_ecn *curve)
{
	if (!curve->section.node)
		return;
	check_curve(loader, curve);
	if (!queue->ecn.section.node)
		vl_section_problem(loader, &curve->section, NULL,
				   "goes beside ecn, the curve of green packets; give that too");
	refuse_idle(loader, &vl_scenario_ecn_schema, &curve->section, "at",
		    "is that of ecn for all colours");
	refuse_idle(loader, &vl_scenario_ecn_schema, &curve->section, "weight",
		    "is that of ecn for all colours");
}

/* ---- Maps ---------------------------------------------------------------------------------- */

static void set_number(struct vl_loader *loader, const struct vl_section *map,
		       const yaml_node_pair_t *pair, uint8_t *table, uint64_t keys, uint64_t values)
{
	const char *key = vl_node_text(loader, pair->key);
	const char *value = vl_node_text(loader, pair->value);
	char error[256] = "must be a whole number";
	uint64_t from, to;

	if (!key || vl_quantity_parse(VL_QUANTITY_COUNT, key, 0, keys, &from, error, sizeof(error)))
		vl_problem_add(loader->problems, vl_node_place(loader, pair->key), map->path, "%s",
			       error);
	else if (!value ||
		 vl_quantity_parse(VL_QUANTITY_COUNT, value, 0, values, &to, error, sizeof(error)))
		vl_problem_add(loader->problems, vl_node_place(loader, pair->value), map->path,
			       "%s", error);
	else
		table[from] = (uint8_t)to;
}

void vl_scenario_read_map(struct vl_loader *loader, const struct vl_section *map, uint8_t *table,
			  unsigned int keys, unsigned int values)
{
	const yaml_node_t *mapping;
	const yaml_node_pair_t *pair;

	if (!map->node)
		return;
	mapping = yaml_document_get_node(loader->document, map->node);
	if (mapping->type != YAML_MAPPING_NODE) {
		vl_problem_add(loader->problems, vl_node_place(loader, map->node), map->path,
			       "must be a mapping of numbers, as {26: 3, 48: 6}");
		return;
	}
	for (pair = mapping->data.mapping.pairs.start; pair < mapping->data.mapping.pairs.top;
	     pair++)
		set_number(loader, map, pair, table, keys - 1, values - 1);
}

static void read_maps(struct vl_loader *loader, struct vl_scenario_switch *sw)
{
	struct vl_classifier_config *classifier = &sw->tables.classifier;
	const struct vl_scenario_maps *maps = &sw->maps;

	vl_classifier_config_defaults(classifier);
	for (uint8_t i = 0; i < VL_SWITCH_PRIORITIES; i++)
		sw->tables.priority_to_queue[i] = sw->tables.priority_to_group[i] = i;
	vl_scenario_read_map(loader, &maps->dscp_to_class, classifier->dscp_to_class, VL_DSCP_COUNT,
			     VL_TRAFFIC_CLASSES);
	vl_scenario_read_map(loader, &maps->dscp_to_colour, classifier->dscp_to_colour,
			     VL_DSCP_COUNT, VL_COLOURS);
	vl_scenario_read_map(loader, &maps->pcp_to_class, classifier->pcp_to_class, VL_PCP_COUNT,
			     VL_TRAFFIC_CLASSES);
	vl_scenario_read_map(loader, &maps->pcp_to_colour, classifier->pcp_to_colour, VL_PCP_COUNT,
			     VL_COLOURS);
	vl_scenario_read_map(loader, &maps->class_to_queue, classifier->class_to_queue,
			     VL_TRAFFIC_CLASSES, VL_SWITCH_PRIORITIES);
	vl_scenario_read_map(loader, &maps->class_to_group, classifier->class_to_group,
			     VL_TRAFFIC_CLASSES, VL_SWITCH_PRIORITIES);
	vl_scenario_read_map(loader, &maps->priority_to_queue, sw->tables.priority_to_queue,
			     VL_SWITCH_PRIORITIES, VL_SWITCH_PRIORITIES);
	vl_scenario_read_map(loader, &maps->priority_to_group, sw->tables.priority_to_group,
			     VL_SWITCH_PRIORITIES, VL_SWITCH_PRIORITIES);
	classifier->trust = (enum vl_switch_trust)sw->trust;
}

/* ---- Pools --------------------------------------------------------------------------------- */

int vl_scenario_find_pool(const struct vl_scenario_switch *sw, const char *name)
{
	const struct vl_scenario_pool *pools = sw->pools.elements;

	for (unsigned int i = 0; name && i < sw->pools.count; i++) {
		if (pools[i].name && !strcmp(pools[i].name, name))
			return (int)i;
	}
	return name ? -1 : 0;
}

static void check_pool(struct vl_loader *loader, const struct vl_scenario_switch *sw,
		       const struct vl_section *section, const char *name)
{
	if (vl_scenario_find_pool(sw, name) < 0)
		vl_section_problem(loader, section, "pool",
				   "no pool is called '%s'; pools lists them", name);
}

static void check_groups(struct vl_loader *loader, const struct vl_scenario_switch *sw)
{
	static const char *const lossless_fields[] = {"headroom", "xon", "xon_offset"};
	const struct vl_scenario_group *groups = sw->groups.elements;
	unsigned int seen = 0;

	for (unsigned int i = 0; i < sw->groups.count; i++) {
		check_pool(loader, sw, &groups[i].section, groups[i].pool);
		if (seen >> groups[i].group & 1)
			vl_section_problem(loader, &groups[i].section, "group",
					   "is described twice; keep one");
		seen |= 1u << groups[i].group;
		if (groups[i].alpha > 0 && groups[i].limit != VL_AUTOMATIC)
			vl_section_problem(loader, &groups[i].section, "alpha",
					   "and limit are two ways to say the same; keep one");
		for (unsigned int n = 0; !groups[i].is_lossless && n < 3; n++)
			refuse_idle(loader, &vl_scenario_group_schema, &groups[i].section,
				    lossless_fields[n], "is for a lossless group");
		if (groups[i].is_lossless && !(groups[i].alpha > 0) &&
		    groups[i].limit == VL_AUTOMATIC)
			vl_section_problem(loader, &groups[i].section, "limit",
					   "is missing: when a lossless group pauses; give it, or "
					   "alpha");
	}
	if (sw->groups.count && sw->pfc.section.node)
		vl_section_problem(loader, &sw->section, "groups",
				   "and pfc are two ways to say the same; keep one");
}

static void check_queues(struct vl_loader *loader, const struct vl_scenario_switch *sw)
{
	const struct vl_scenario_queue *queues = sw->queues.elements;
	unsigned int seen = 0;

	for (unsigned int i = 0; i < sw->queues.count; i++) {
		check_pool(loader, sw, &queues[i].section, queues[i].pool);
		if (seen >> queues[i].queue & 1)
			vl_section_problem(loader, &queues[i].section, "queue",
					   "is described twice; keep one");
		seen |= 1u << queues[i].queue;
		if (queues[i].alpha > 0 && queues[i].limit != VL_AUTOMATIC)
			vl_section_problem(loader, &queues[i].section, "alpha",
					   "and limit are two ways to say the same; keep one");
		check_curve(loader, &queues[i].ecn);
		check_colour(loader, &queues[i], &queues[i].yellow);
		check_colour(loader, &queues[i], &queues[i].red);
		check_shaper(loader, &queues[i].shaper);
		if (queues[i].scheduling == VL_SCHEDULING_STRICT)
			refuse_idle(loader, &vl_scenario_queue_schema, &queues[i].section, "weight",
				    "is for dwrr and wrr; this queue is strict");
	}
}

/* ---- The whole ----------------------------------------------------------------------------- */

void vl_scenario_check_switch(struct vl_loader *loader, struct vl_scenario_switch *sw)
{
	const struct vl_scenario_pfc *pfc = &sw->pfc;

	check_curve(loader, &sw->ecn);
	if (pfc->section.node && pfc->xon != VL_AUTOMATIC && pfc->xoff != VL_AUTOMATIC &&
	    pfc->xon > pfc->xoff)
		vl_section_problem(loader, &pfc->section, "xon",
				   "is above xoff; it must be xoff or less");
	if (pfc->alpha > 0 && pfc->xoff != VL_AUTOMATIC)
		vl_section_problem(loader, &pfc->section, "alpha",
				   "and xoff are two ways to say the same; keep one");
	if (sw->buffer != VL_AUTOMATIC && sw->queue_limit > sw->buffer)
		vl_section_problem(loader, &sw->section, "queue_limit",
				   "is above the buffer; it must be the buffer or less");
	check_shaper(loader, &sw->shaper);
	read_maps(loader, sw);
	check_groups(loader, sw);
	check_queues(loader, sw);
}
