/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What a scenario says of how it is to be compared with itself; a single run passes it over. */
#ifndef VERBLINE_SCENARIO_COMPARE_H
#define VERBLINE_SCENARIO_COMPARE_H

#include "apps/scenario/schema.h"

#include <stdint.h>

/* The scenario with some of its values changed. */
struct vl_scenario_variant {
	struct vl_section section;
	const char *name;
	struct vl_text_list set; /* "path=value" */
};

struct vl_scenario_compare {
	struct vl_section section;
	struct vl_text_list fabrics; /* values of the scenario's fabric */
	struct vl_list variants;     /* struct vl_scenario_variant */
	struct vl_list sweep;        /* struct vl_text_list: path and values, all combinations */
	uint64_t repeat;             /* runs of each, with seeds that follow each other */
};

extern const struct vl_schema vl_scenario_compare_schema;

#endif
