/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/scenario/names.h"

#include "apps/option.h"

#include <stdlib.h>
#include <string.h>

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct vl_scenario_meaning *)a)->name,
		      ((const struct vl_scenario_meaning *)b)->name);
}

bool vl_names_init(struct vl_loader *loader, struct vl_scenario_names *names, unsigned int capacity)
{
	*names = (struct vl_scenario_names){
		.list = vl_arena_allocate(loader->arena, capacity * sizeof(*names->list)),
		.capacity = capacity};
	if (!names->list)
		loader->out_of_memory = true;
	return names->list != NULL;
}

void vl_names_add(struct vl_scenario_names *names, const char *name,
		  const struct vl_section *section, unsigned int first, unsigned int count,
		  unsigned int stride)
{
	if (names->count < names->capacity)
		names->list[names->count++] =
			(struct vl_scenario_meaning){name, section, first, count, stride};
}

void vl_names_sort(struct vl_loader *loader, struct vl_scenario_names *names)
{
	const struct vl_scenario_meaning *one, *other;

	qsort(names->list, names->count, sizeof(*names->list), compare_names);
	for (unsigned int i = 1; i < names->count; i++) {
		one = &names->list[i - 1];
		other = &names->list[i];
		if (!strcmp(one->name, other->name))
			vl_section_problem(
				loader,
				one->section->node > other->section->node ? one->section
									  : other->section,
				"name", "'%s' is taken already; give each node its own name",
				one->name);
	}
}

const struct vl_scenario_meaning *vl_names_find(const struct vl_scenario_names *names,
						const char *name)
{
	struct vl_scenario_meaning key = {.name = name};

	return bsearch(&key, names->list, names->count, sizeof(key), compare_names);
}

const struct vl_scenario_meaning *vl_names_look_up(struct vl_loader *loader,
						   const struct vl_scenario_names *names,
						   const struct vl_section *section,
						   const char *field, const char *name)
{
	const struct vl_scenario_meaning *meaning;
	const char **all, *nearest = NULL;

	if (!name)
		return NULL;
	meaning = vl_names_find(names, name);
	if (meaning)
		return meaning;
	all = vl_arena_allocate(loader->arena, (names->count + 1) * sizeof(*all));
	for (unsigned int i = 0; all && i < names->count; i++)
		all[i] = names->list[i].name;
	if (all)
		nearest = vl_nearest(name, all);
	if (nearest)
		vl_section_problem(loader, section, field,
				   "nothing is called '%s'; did you mean '%s'?", name, nearest);
	else
		vl_section_problem(loader, section, field,
				   "nothing is called '%s'; name an endpoint or a switch", name);
	return NULL;
}
