/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What a scenario says of an Ethernet switch. */
#ifndef VERBLINE_SCENARIO_SWITCH_H
#define VERBLINE_SCENARIO_SWITCH_H

#include <stdbool.h>
#include <stdint.h>

#include "apps/scenario/schema.h"

struct vl_scenario_ecn {
	struct vl_section section;
	uint64_t kmin, kmax; /* bytes */
	double pmax;
	unsigned int point; /* enum vl_scenario_ecn_point */
};

enum vl_scenario_ecn_point {
	VL_SCENARIO_ECN_DEQUEUE,
	VL_SCENARIO_ECN_ENQUEUE,
};

struct vl_scenario_pfc {
	struct vl_section section;
	uint64_t xoff, xon, headroom; /* bytes, of each ingress port */
};

struct vl_scenario_switch {
	struct vl_section section;
	const char *name;
	const char *preset;         /* NULL: none */
	const char *config_db;      /* file; NULL: none */
	uint64_t buffer;            /* bytes, of all ports together */
	uint64_t queue_limit;       /* bytes, of each egress queue; 0: the buffer */
	struct vl_scenario_ecn ecn; /* at every port, for the data's priorities */
	struct vl_scenario_pfc pfc;
	bool has_ecn, has_pfc; /* after what the scenario's fabric switches on or off */
	unsigned int node;
};

extern const struct vl_schema vl_scenario_switch_schema;

#endif
