/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/scenario/field.h"
#include "apps/scenario/storm.h"

static const struct vl_field storm_fields[] = {
	NAME_FIELD("from", struct vl_scenario_storm, from,
		   "the endpoint, or each of a group, that pauses its switch", true),
	QUANTITY_FIELD("start", struct vl_scenario_storm, start, DURATION, 0, 3600 * SECOND,
		       "when it begins [0]"),
	QUANTITY_FIELD("duration", struct vl_scenario_storm, duration, DURATION, 1, 3600 * SECOND,
		       "of a pause [until the end]"),
	QUANTITY_FIELD("period", struct vl_scenario_storm, period, DURATION, 1, 3600 * SECOND,
		       "from one pause's beginning to the next's, as of a slow receiver [one "
		       "pause only]"),
};
const struct vl_schema vl_scenario_storm_schema = {storm_fields, COUNT(storm_fields),
						   sizeof(struct vl_scenario_storm), NULL};
