/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/scenario/storm.h"

#include "apps/scenario/problem.h"
#include "apps/scenario/scenario.h"

static void check(struct vl_loader *loader, const struct vl_scenario *scenario,
		  struct vl_scenario_storm *storm)
{
	const struct vl_scenario_meaning *from =
		vl_names_look_up(loader, &scenario->names, &storm->section, "from", storm->from);

	if (storm->period && storm->period <= storm->duration)
		vl_section_problem(loader, &storm->section, "period",
				   "must be longer than duration, the pause that it repeats");
	if (storm->period && !storm->duration)
		vl_section_problem(loader, &storm->section, "duration",
				   "is missing; with a period pauses need a length");
	if (!from)
		return;
	if (scenario->nodes[from->first].sw)
		vl_section_problem(loader, &storm->section, "from",
				   "'%s' is a switch; storms come from endpoints", from->name);
	storm->first = from->first;
	storm->count = from->count;
	storm->stride = from->stride;
}

void vl_scenario_check_storms(struct vl_loader *loader, struct vl_scenario *scenario)
{
	struct vl_scenario_storm *storms = scenario->storms.elements;

	for (unsigned int i = 0; i < scenario->storms.count; i++)
		check(loader, scenario, &storms[i]);
}
