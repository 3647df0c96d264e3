/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Endpoints that pause their switch although they need not: faulty NICs, slow receivers. */
#ifndef VERBLINE_SCENARIO_STORM_H
#define VERBLINE_SCENARIO_STORM_H

#include "apps/scenario/schema.h"

#include <stdint.h>

/* PFC of all priorities that data has. Over InfiniBand, which has none, storms are passed over. */
struct vl_scenario_storm {
	struct vl_section section;
	const char *from;  /* an endpoint, or each of a group */
	uint64_t start;    /* ns */
	uint64_t duration; /* ns of a pause; 0: until the end */
	uint64_t period;   /* ns from one pause's beginning to the next's; 0: one pause only */

	/* Worked out: the endpoints, as names give groups. */
	unsigned int first, count, stride;
};

extern const struct vl_schema vl_scenario_storm_schema;

struct vl_scenario;
/* Fills in the endpoints, once names are known. */
void vl_scenario_check_storms(struct vl_loader *loader, struct vl_scenario *scenario);

#endif
