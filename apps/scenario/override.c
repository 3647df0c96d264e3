/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Values of a document changed before it is loaded. */

#include "apps/scenario/schema.h"

#include <stdlib.h>
#include <string.h>

static int add_node(struct vl_loader *loader, const char *text, int n)
{
	int node =
		text ? yaml_document_add_scalar(loader->document, NULL, (yaml_char_t *)text,
						(int)strlen(text), YAML_PLAIN_SCALAR_STYLE)
		     : yaml_document_add_mapping(loader->document, NULL, YAML_BLOCK_MAPPING_STYLE);
	yaml_node_t *added = yaml_document_get_node(loader->document, node);

	if (added)
		added->start_mark.line = VL_OVERRIDE_LINE + (size_t)n;
	else
		loader->out_of_memory = true;
	return node;
}

/* Points the key's pair to value, or adds a pair. */
static void put_value(struct vl_loader *loader, int node, const char *key, int value, int n)
{
	yaml_node_t *mapping = yaml_document_get_node(loader->document, node);
	yaml_node_pair_t *pair;
	const char *text;
	int key_node;

	for (pair = mapping->data.mapping.pairs.start; pair < mapping->data.mapping.pairs.top;
	     pair++) {
		text = vl_node_text(loader, pair->key);
		if (text && !strcmp(text, key)) {
			pair->value = value;
			return;
		}
	}
	key_node = add_node(loader, key, n);
	if (!key_node ||
	    !yaml_document_append_mapping_pair(loader->document, node, key_node, value))
		loader->out_of_memory = true;
}

/* The element of a list by its index or its name; 0: there is none. */
static int find_element(const struct vl_loader *loader, int node, const char *which)
{
	const yaml_node_t *sequence = yaml_document_get_node(loader->document, node);
	const yaml_node_item_t *item;
	const char *name;
	char *end;
	unsigned long index = strtoul(which, &end, 10);

	if (!sequence || sequence->type != YAML_SEQUENCE_NODE)
		return 0;
	item = sequence->data.sequence.items.start;
	if (!*end && *which)
		return index < (size_t)(sequence->data.sequence.items.top - item) ? item[index] : 0;
	for (; item < sequence->data.sequence.items.top; item++) {
		name = vl_node_text(loader, vl_node_find(loader, *item, "name"));
		if (name && !strcmp(name, which))
			return *item;
	}
	return 0;
}

/* Follows one "key" or "key[element]" of a path; 0: there is no such thing. */
static int step_into(struct vl_loader *loader, int node, char *step, int n)
{
	char *which = strchr(step, '['), *end;
	int next;

	if (which) {
		*which++ = '\0';
		end = strchr(which, ']');
		/* Nothing stands behind an element. */
		if (!end || end[1])
			return 0;
		*end = '\0';
	}
	next = vl_node_find(loader, node, step);
	if (which)
		return find_element(loader, next, which);
	if (!next) {
		next = add_node(loader, NULL, n);
		if (next)
			put_value(loader, node, step, next, n);
	}
	return next;
}

static bool is_mapping(const struct vl_loader *loader, int node)
{
	const yaml_node_t *found = yaml_document_get_node(loader->document, node);

	return found && found->type == YAML_MAPPING_NODE;
}

void vl_schema_override(struct vl_loader *loader, const char *assignment, int n)
{
	const char *value = strchr(assignment, '=');
	struct vl_place place = {0, 0, n};
	int node = 1, scalar;
	char path[200], *step = path, *dot;

	if (!value || value == assignment || (size_t)(value - assignment) >= sizeof(path)) {
		vl_problem_add(loader->problems, place, NULL,
			       "is not KEY=VALUE; write one as flows[0].size=4KiB");
		return;
	}
	snprintf(path, sizeof(path), "%.*s", (int)(value - assignment), assignment);
	while ((dot = strchr(step, '.'))) {
		*dot = '\0';
		if (!is_mapping(loader, node))
			break;
		node = step_into(loader, node, step, n);
		step = dot + 1;
		if (!node)
			break;
	}
	if (!is_mapping(loader, node)) {
		vl_problem_add(loader->problems, place, NULL,
			       "there is nothing at '%.*s' in the scenario",
			       (int)(value - assignment), assignment);
		return;
	}
	scalar = add_node(loader, value + 1, n);
	if (scalar)
		put_value(loader, node, step, scalar, n);
}
