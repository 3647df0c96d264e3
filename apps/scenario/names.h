/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What the names in a scenario stand for. */
#ifndef VERBLINE_SCENARIO_NAMES_H
#define VERBLINE_SCENARIO_NAMES_H

#include "apps/scenario/schema.h"

#include <stdbool.h>

/* An endpoint, a group of endpoints, or a switch: count nodes from first on, stride apart. */
struct vl_scenario_meaning {
	const char *name;
	const struct vl_section *section; /* where it was given */
	unsigned int first, count, stride;
};

struct vl_scenario_names {
	struct vl_scenario_meaning *list; /* by name, once sorted */
	unsigned int count, capacity;
};

/* False: no memory. */
bool vl_names_init(struct vl_loader *loader, struct vl_scenario_names *names,
		   unsigned int capacity);
void vl_names_add(struct vl_scenario_names *names, const char *name,
		  const struct vl_section *section, unsigned int first, unsigned int count,
		  unsigned int stride);
/* After the last: names may be looked up. A name that is taken twice is a problem. */
void vl_names_sort(struct vl_loader *loader, struct vl_scenario_names *names);
/* NULL: there is none. */
const struct vl_scenario_meaning *vl_names_find(const struct vl_scenario_names *names,
						const char *name);
/* The same for the value of a section's field: a name that leads nowhere is a problem there; NULL
 * is none, and has been found missing elsewhere. */
const struct vl_scenario_meaning *vl_names_look_up(struct vl_loader *loader,
						   const struct vl_scenario_names *names,
						   const struct vl_section *section,
						   const char *field, const char *name);

static inline unsigned int vl_meaning_node(const struct vl_scenario_meaning *meaning,
					   unsigned int n)
{
	return meaning->first + n * meaning->stride;
}

#endif
