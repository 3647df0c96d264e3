/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * What a scenario's fabric switches on and off: marking and pauses at switches, reactions of
 * senders. What is switched on and was not described takes the defaults.
 */

#include "apps/scenario/scenario.h"
#include "apps/scenario/switch_source.h"

enum setting {
	AS_IT_IS,
	OFF,
	ON,
};

struct settings {
	enum setting ecn, pfc;
	const struct vl_cc_algorithm *cc; /* NULL: as it is */
};

static struct settings find_settings(const struct vl_scenario *scenario)
{
	switch (scenario->fabric) {
	case VL_SCENARIO_INFINIBAND:
		return (struct settings){OFF, OFF, &vl_cc_none};
	case VL_SCENARIO_INFINIBAND_CONGESTION_CONTROL:
		return (struct settings){OFF, OFF, &vl_cc_infiniband};
	case VL_SCENARIO_PFC:
		return (struct settings){OFF, ON, &vl_cc_none};
	case VL_SCENARIO_DCQCN:
		return (struct settings){ON, OFF, &vl_cc_dcqcn};
	case VL_SCENARIO_PFC_DCQCN:
		return (struct settings){ON, ON, &vl_cc_dcqcn};
	case VL_SCENARIO_LOSSY:
		return (struct settings){OFF, OFF, &vl_cc_none};
	default:
		return (struct settings){0};
	}
}

static bool has_queue_ecn(const struct vl_scenario_switch *sw)
{
	const struct vl_scenario_queue *queues = sw->queues.elements;

	for (unsigned int i = 0; i < sw->queues.count; i++) {
		if (queues[i].ecn.section.node)
			return true;
	}
	return false;
}

static bool has_lossless_group(const struct vl_scenario_switch *sw)
{
	const struct vl_scenario_group *groups = sw->groups.elements;

	for (unsigned int i = 0; i < sw->groups.count; i++) {
		if (groups[i].is_lossless)
			return true;
	}
	return false;
}

static bool decide(enum setting setting, bool is_described)
{
	return setting == AS_IT_IS ? is_described : setting == ON;
}

static void set_switch(const struct settings *settings, struct vl_scenario_switch *sw)
{
	bool has_source = vl_scenario_has_source(sw);
	bool has_ecn = has_source || sw->ecn.section.node || has_queue_ecn(sw);
	bool has_pfc = has_source || sw->pfc.section.node || has_lossless_group(sw);

	sw->has_ecn = decide(settings->ecn, has_ecn);
	sw->has_pfc = decide(settings->pfc, has_pfc);
	/* Defaults, found to be wrong where the switch is. */
	if (sw->has_ecn && !has_ecn) {
		sw->ecn = *(const struct vl_scenario_ecn *)vl_scenario_ecn_schema.defaults;
		sw->ecn.section =
			(struct vl_section){.node = sw->section.node, .path = sw->section.path};
	}
	if (sw->has_pfc && !has_pfc) {
		sw->groups.count = 0;
		sw->pfc = *(const struct vl_scenario_pfc *)vl_scenario_pfc_schema.defaults;
		sw->pfc.section =
			(struct vl_section){.node = sw->section.node, .path = sw->section.path};
	}
}

/* A fixed rate is what somebody asked for, not a reaction. */
static void set_cc(const struct settings *settings, const struct vl_scenario *scenario,
		   struct vl_cc_parameters *cc)
{
	cc->infiniband = scenario->infiniband.cc.resolved;
	if (settings->cc && cc->algorithm != &vl_cc_fixed)
		cc->algorithm = settings->cc;
}

void vl_scenario_apply_fabric(struct vl_scenario *scenario)
{
	const struct settings settings = find_settings(scenario);
	struct vl_scenario_flow *flows = scenario->flows.elements;
	unsigned int switches = scenario->node_count - scenario->endpoint_count;

	for (unsigned int i = 0; scenario->built_switches && i < switches; i++)
		set_switch(&settings, &scenario->built_switches[i]);
	set_cc(&settings, scenario, &scenario->cc.resolved);
	for (unsigned int i = 0; i < scenario->flows.count; i++) {
		if (flows[i].has_cc)
			set_cc(&settings, scenario, &flows[i].cc.resolved);
	}
}
