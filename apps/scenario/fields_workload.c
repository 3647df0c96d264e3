/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/scenario/workload.h"

#include "apps/scenario/field.h"

static const struct vl_field workload_fields[] = {
	NAME_FIELD("name", struct vl_scenario_workload, name, "what reports call it", true),
};
const struct vl_schema vl_scenario_workload_schema = {workload_fields, COUNT(workload_fields),
						      sizeof(struct vl_scenario_workload), NULL};
