/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/scenario/cc_parameters.h"

#include "apps/quantity.h"
#include "apps/scenario/problem.h"

#include <stdio.h>
#include <string.h>

#define MOST 64

typedef const struct vl_cc_description *describe_function(unsigned int n);

static const struct vl_cc_description *find(describe_function *describe, const char *name,
					    const char **nearest)
{
	const struct vl_cc_description *description;
	const char *names[MOST];
	unsigned int count;

	for (count = 0; (description = describe(count)) && count < MOST - 1; count++) {
		if (!strcmp(description->name, name))
			return description;
		names[count] = description->name;
	}
	names[count] = NULL;
	*nearest = vl_nearest(name, names);
	return NULL;
}

static void read_parameter(struct vl_loader *loader, const struct vl_section *section,
			   describe_function *describe, const yaml_node_pair_t *pair,
			   void *parameters)
{
	const char *name = vl_node_text(loader, pair->key);
	const char *text = vl_node_text(loader, pair->value);
	const struct vl_cc_description *description;
	const char *nearest = NULL;
	char path[160], error[256];
	uint64_t value;

	description = name ? find(describe, name, &nearest) : NULL;
	if (!description) {
		vl_problem_add(loader->problems, vl_node_place(loader, pair->key), section->path,
			       "unknown parameter '%.40s'%s%s%s", name ? name : "",
			       nearest ? "; did you mean '" : "",
			       nearest ? nearest : "; 'verbline lab --keys' lists all",
			       nearest ? "'?" : "");
		return;
	}
	snprintf(path, sizeof(path), "%.120s.%s", section->path, name);
	if (!text)
		vl_problem_add(loader->problems, vl_node_place(loader, pair->value), path,
			       "must be a whole number, in %s", description->unit);
	else if (vl_quantity_parse(VL_QUANTITY_COUNT, text, description->least, description->most,
				   &value, error, sizeof(error)))
		vl_problem_add(loader->problems, vl_node_place(loader, pair->value), path,
			       "%s (%s)", error, description->unit);
	else
		vl_cc_set_parameter(parameters, description, value);
}

void vl_scenario_read_cc_parameters(struct vl_loader *loader, const struct vl_section *section,
				    describe_function *describe, void *parameters)
{
	const yaml_node_t *mapping;

	if (!section->node)
		return;
	mapping = yaml_document_get_node(loader->document, section->node);
	if (mapping->type != YAML_MAPPING_NODE) {
		vl_problem_add(loader->problems, vl_node_place(loader, section->node),
			       section->path, "must be a mapping: lines of 'name: number'");
		return;
	}
	for (const yaml_node_pair_t *pair = mapping->data.mapping.pairs.start;
	     pair < mapping->data.mapping.pairs.top; pair++)
		read_parameter(loader, section, describe, pair, parameters);
}
