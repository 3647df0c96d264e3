/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* From what a scenario says of a switch to the configuration that runs. */
#ifndef VERBLINE_SCENARIO_SWITCH_CONFIG_H
#define VERBLINE_SCENARIO_SWITCH_CONFIG_H

#include "apps/scenario/scenario.h"

/* The configuration of a built switch, each port's own included, values that follow from the links
 * put in. One block of memory, to be freed. NULL: no memory. */
struct vl_switch_config *vl_scenario_switch_config(const struct vl_scenario *scenario,
						   const struct vl_scenario_switch *sw);
/* Adds so many bytes to the headroom of each lossless group of such a configuration, and to the
 * memory, so that as much as before is shared. False: no group is lossless. */
bool vl_scenario_add_headroom(struct vl_switch_config *config, uint64_t bytes);
/* The curve by which a port marks data, of the lowest of its priorities. False: it does not. */
bool vl_scenario_marking(const struct vl_scenario *scenario, const struct vl_scenario_switch *sw,
			 unsigned int port, struct vl_red_curve *curve);
/* Contradictions among the values, numbers in maps, pools without a name: problems are added. Maps
 * are read into sw->tables. */
void vl_scenario_check_switch(struct vl_loader *loader, struct vl_scenario_switch *sw);

#endif
