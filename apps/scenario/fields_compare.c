/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/scenario/compare.h"
#include "apps/scenario/field.h"

static const struct vl_field variant_fields[] = {
	NAME_FIELD("name", struct vl_scenario_variant, name, "what reports call it", true),
	TEXTS_FIELD("set", struct vl_scenario_variant, set, 0, 32,
		    "values that differ: a list of PATH=VALUE, as switch.ecn.kmin=50KB [none]"),
};
static const struct vl_schema variant_schema = {variant_fields, COUNT(variant_fields),
						sizeof(struct vl_scenario_variant), NULL};

static const struct vl_field compare_fields[] = {
	TEXTS_FIELD("fabrics", struct vl_scenario_compare, fabrics, 1, 7,
		    "a list of values of fabric [all but as_configured]"),
	OPTIONAL_LIST_FIELD("variants", struct vl_scenario_compare, variants, &variant_schema, 1,
			    64, "the scenario with other values [the scenario as it is]"),
	{.name = "sweep",
	 .kind = VL_FIELD_SERIES,
	 .offset = offsetof(struct vl_scenario_compare, sweep),
	 .help = "all combinations of values: a mapping of paths to lists, as switch.ecn.kmin: "
		 "[50KB, 100KB] [none]",
	 .least = 1,
	 .most = 4},
	QUANTITY_FIELD("repeat", struct vl_scenario_compare, repeat, COUNT, 1, 100,
		       "runs of each, with the seeds that follow the scenario's [1]"),
};
static const struct vl_scenario_compare compare_defaults = {.repeat = 1};
const struct vl_schema vl_scenario_compare_schema = {compare_fields, COUNT(compare_fields),
						     sizeof(struct vl_scenario_compare),
						     &compare_defaults};
