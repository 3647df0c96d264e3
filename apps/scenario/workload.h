/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What a scenario says of a workload: a pattern of messages among many endpoints. */
#ifndef VERBLINE_SCENARIO_WORKLOAD_H
#define VERBLINE_SCENARIO_WORKLOAD_H

#include <stdint.h>

#include "apps/scenario/schema.h"

struct vl_scenario_workload {
	struct vl_section section;
	const char *name;
};

extern const struct vl_schema vl_scenario_workload_schema;

#endif
