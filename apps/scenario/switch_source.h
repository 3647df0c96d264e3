/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Switches whose configuration a scenario takes from elsewhere: a preset, or a SONiC file. */
#ifndef VERBLINE_SCENARIO_SWITCH_SOURCE_H
#define VERBLINE_SCENARIO_SWITCH_SOURCE_H

#include "apps/scenario/scenario.h"

static inline bool vl_scenario_has_source(const struct vl_scenario_switch *sw)
{
	return sw->found_preset || sw->db;
}

/* Finds the presets and reads the files that built switches name; problems are added. */
void vl_scenario_load_sources(struct vl_loader *loader, struct vl_scenario *scenario);
/* The files that were read. */
void vl_scenario_release_sources(struct vl_scenario *scenario);
/* As vl_scenario_switch_config, of a switch that has a source. What cannot be emulated is noted in
 * the scenario's notes. */
struct vl_switch_config *vl_scenario_source_config(const struct vl_scenario *scenario,
						   const struct vl_scenario_switch *sw);
/* scenario->dscps: what packets of each priority carry, so that switches with a source take them
 * for that priority. Of the first such switch; without any, VL_SCENARIO_DSCP. */
void vl_scenario_choose_dscps(struct vl_loader *loader, struct vl_scenario *scenario);
/* What packets of a priority carry so that a port takes them for it; its usual DSCP, if none does.
 */
uint8_t vl_scenario_dscp_of_priority(const struct vl_switch_port_config *port,
				     unsigned int priority);
/* What a switch, and endpoints at it, take to obey a pause: ns, or VL_PFC_RESPONSE_BY_RATE. */
uint64_t vl_scenario_switch_response(const struct vl_scenario_switch *sw);
/* ns that an endpoint takes to obey a pause. */
uint64_t vl_scenario_response_delay(const struct vl_scenario *scenario, unsigned int endpoint);

#endif
