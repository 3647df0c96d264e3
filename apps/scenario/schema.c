/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/scenario/schema.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define MOST_NUMBERS 64

struct vl_place vl_node_place(const struct vl_loader *loader, int node)
{
	const yaml_node_t *found = yaml_document_get_node(loader->document, node);
	struct vl_place place = {0, 0, -1};

	if (!found)
		return place;
	if (found->start_mark.line >= VL_OVERRIDE_LINE) {
		place.override = (int)(found->start_mark.line - VL_OVERRIDE_LINE);
	} else {
		place.line = found->start_mark.line;
		place.column = found->start_mark.column;
	}
	return place;
}

const char *vl_node_text(const struct vl_loader *loader, int node)
{
	const yaml_node_t *found = yaml_document_get_node(loader->document, node);

	if (!found || found->type != YAML_SCALAR_NODE ||
	    strlen((const char *)found->data.scalar.value) != found->data.scalar.length)
		return NULL;
	return (const char *)found->data.scalar.value;
}

int vl_node_find(const struct vl_loader *loader, int node, const char *key)
{
	const yaml_node_t *mapping = yaml_document_get_node(loader->document, node);
	const yaml_node_pair_t *pair;
	const char *text;

	if (!mapping || mapping->type != YAML_MAPPING_NODE)
		return 0;
	for (pair = mapping->data.mapping.pairs.start; pair < mapping->data.mapping.pairs.top;
	     pair++) {
		text = vl_node_text(loader, pair->key);
		if (text && !strcmp(text, key))
			return pair->value;
	}
	return 0;
}

struct vl_place vl_section_place(const struct vl_loader *loader, const struct vl_section *section,
				 const char *field)
{
	int value = field ? vl_node_find(loader, section->node, field) : 0;

	return vl_node_place(loader, value ? value : section->node);
}

/* "flows[2].size"; at worst the field's own name. */
static const char *join_path(struct vl_arena *arena, const char *path, const char *name)
{
	char *joined;

	if (!path || !*path)
		return name;
	joined = vl_arena_print(arena, "%s.%s", path, name);
	return joined ? joined : name;
}

void vl_section_problem(struct vl_loader *loader, const struct vl_section *section,
			const char *field, const char *format, ...)
{
	/* A single value stands for the field: there is no key of that name. */
	bool is_value = section->node && vl_node_text(loader, section->node);
	char text[320];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	vl_problem_add(loader->problems, vl_section_place(loader, section, field),
		       field && !is_value ? join_path(loader->arena, section->path, field)
					  : section->path,
		       "%s", text);
}

bool vl_section_has(const struct vl_schema *schema, const struct vl_section *section,
		    const char *field)
{
	for (unsigned int i = 0; i < schema->field_count; i++) {
		if (!strcmp(schema->fields[i].name, field))
			return section->present >> i & 1;
	}
	return false;
}

static void refuse(struct vl_loader *loader, int node, const char *path, const char *text)
{
	vl_problem_add(loader->problems, vl_node_place(loader, node), path, "%s", text);
}

static void refuse_choice(struct vl_loader *loader, int node, const struct vl_field *field,
			  const char *path, const char *text)
{
	char all[200] = "";
	size_t used = 0;

	for (unsigned int i = 0; field->choices[i] && used < sizeof(all); i++)
		used += (size_t)snprintf(all + used, sizeof(all) - used, "%s%s",
					 !i                      ? ""
					 : field->choices[i + 1] ? ", "
								 : " or ",
					 field->choices[i]);
	vl_problem_add(loader->problems, vl_node_place(loader, node), path,
		       "'%.40s' is unknown; choose %s", text, all);
}

static void take_choice(struct vl_loader *loader, int node, const struct vl_field *field,
			const char *path, const char *text, unsigned int *value)
{
	for (unsigned int i = 0; field->choices[i]; i++) {
		if (!strcmp(field->choices[i], text)) {
			*value = i;
			return;
		}
	}
	refuse_choice(loader, node, field, path, text);
}

static void take_text(struct vl_loader *loader, int node, const struct vl_field *field,
		      const char *path, const char *text, const char **value)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789-_";
	char *copy;

	if (field->kind == VL_FIELD_NAME &&
	    (text[strspn(text, allowed)] || !*text || strlen(text) > VL_MAX_NAME)) {
		vl_problem_add(loader->problems, vl_node_place(loader, node), path,
			       "'%.40s' is not a name; use up to %d letters, digits, '-' and '_'",
			       text, VL_MAX_NAME);
		return;
	}
	copy = vl_arena_print(loader->arena, "%s", text);
	if (copy)
		*value = copy;
	else
		loader->out_of_memory = true;
}

static void take_truth(struct vl_loader *loader, int node, const char *path, const char *text,
		       bool *value)
{
	if (!strcmp(text, "true") || !strcmp(text, "yes") || !strcmp(text, "on"))
		*value = true;
	else if (!strcmp(text, "false") || !strcmp(text, "no") || !strcmp(text, "off"))
		*value = false;
	else
		vl_problem_add(loader->problems, vl_node_place(loader, node), path,
			       "'%.40s' is neither true nor false", text);
}

static void take_ratio(struct vl_loader *loader, int node, const char *path, const char *text,
		       double *value)
{
	char *end;
	double dividend = strtod(text, &end), divisor = 1;

	if (*end == '/' && end != text && end[1])
		divisor = strtod(end + 1, &end);
	if (*end || end == text || !(dividend >= divisor / 1024 && dividend <= divisor * 1024))
		vl_problem_add(
			loader->problems, vl_node_place(loader, node), path,
			"'%.40s' is no number from 1/1024 to 1024; write one as 0.125 or 1/8",
			text);
	else
		*value = dividend / divisor;
}

static void take_scalar(struct vl_loader *loader, int node, const struct vl_field *field,
			const char *path, void *value)
{
	const char *text = vl_node_text(loader, node);
	char error[256];
	uint64_t whole;
	double part;
	int status = 0;

	if (!text) {
		refuse(loader, node, path, "must be a single value, not a list or a mapping");
		return;
	}
	if (!*text) {
		refuse(loader, node, path, "has no value; give one or leave the key out");
		return;
	}
	switch (field->kind) {
	case VL_FIELD_QUANTITY:
		if (field->takes_auto && !strcmp(text, "auto")) {
			*(uint64_t *)value = VL_AUTOMATIC;
			break;
		}
		status = vl_quantity_parse(field->quantity, text, field->least, field->most, &whole,
					   error, sizeof(error));
		if (!status)
			*(uint64_t *)value = whole;
		break;
	case VL_FIELD_FRACTION:
		status = vl_fraction_parse(text, 0, 1, &part, error, sizeof(error));
		if (!status)
			*(double *)value = part;
		break;
	case VL_FIELD_RATIO:
		take_ratio(loader, node, path, text, value);
		break;
	case VL_FIELD_CHOICE:
		take_choice(loader, node, field, path, text, value);
		break;
	case VL_FIELD_TRUTH:
		take_truth(loader, node, path, text, value);
		break;
	default:
		take_text(loader, node, field, path, text, value);
		break;
	}
	if (status)
		refuse(loader, node, path, error);
}

static void load_mapping(struct vl_loader *loader, int node, const struct vl_schema *schema,
			 const char *path, void *structure, bool is_started);

/* base: a structure for the elements to start from; NULL: the schema's defaults. */
static void take_list(struct vl_loader *loader, int node, const struct vl_field *field,
		      const char *path, const void *base, struct vl_list *list)
{
	const yaml_node_t *sequence = yaml_document_get_node(loader->document, node);
	size_t count;
	char *element_path;

	if (sequence->type != YAML_SEQUENCE_NODE) {
		refuse(loader, node, path, "must be a list: lines that begin with '- '");
		return;
	}
	count = (size_t)(sequence->data.sequence.items.top - sequence->data.sequence.items.start);
	if (count < field->least || count > field->most) {
		vl_problem_add(loader->problems, vl_node_place(loader, node), path,
			       "has %zu elements; allowed are %llu to %llu", count,
			       (unsigned long long)field->least, (unsigned long long)field->most);
		return;
	}
	list->elements = vl_arena_allocate(loader->arena, count * field->schema->size);
	if (!list->elements) {
		loader->out_of_memory = true;
		return;
	}
	list->count = (unsigned int)count;
	for (size_t i = 0; i < count; i++) {
		char *element = (char *)list->elements + i * field->schema->size;

		element_path = vl_arena_print(loader->arena, "%s[%zu]", path, i);
		if (base)
			memcpy(element, base, field->schema->size);
		load_mapping(loader, sequence->data.sequence.items.start[i], field->schema,
			     element_path ? element_path : path, element, base != NULL);
	}
}

/* A list of single values, or one of them alone. */
static void take_texts(struct vl_loader *loader, int node, const struct vl_field *field,
		       const char *path, struct vl_text_list *list)
{
	const yaml_node_t *sequence = yaml_document_get_node(loader->document, node);
	const yaml_node_item_t *items = &node;
	const struct vl_field single = {.kind = VL_FIELD_TEXT};
	size_t count = 1;

	if (sequence->type == YAML_SEQUENCE_NODE) {
		items = sequence->data.sequence.items.start;
		count = (size_t)(sequence->data.sequence.items.top - items);
	}
	if (count < field->least || count > field->most) {
		vl_problem_add(loader->problems, vl_node_place(loader, node), path,
			       "has %zu values; allowed are %llu to %llu", count,
			       (unsigned long long)field->least, (unsigned long long)field->most);
		return;
	}
	list->texts = vl_arena_allocate(loader->arena, (count + 1) * sizeof(*list->texts));
	if (!list->texts) {
		loader->out_of_memory = true;
		return;
	}
	list->count = (unsigned int)count;
	for (size_t i = 0; i < count; i++) {
		list->texts[i] = "";
		take_scalar(loader, items[i], &single, path, &list->texts[i]);
	}
}

/* A mapping of names that nobody knows beforehand to lists of single values, in its order. */
static void take_series(struct vl_loader *loader, int node, const struct vl_field *field,
			const char *path, struct vl_list *list)
{
	const yaml_node_t *mapping = yaml_document_get_node(loader->document, node);
	const struct vl_field key = {.kind = VL_FIELD_TEXT};
	const struct vl_field values = {.kind = VL_FIELD_TEXTS, .least = 1, .most = 1000};
	const yaml_node_pair_t *pair;
	struct vl_text_list *element;
	size_t count;

	if (mapping->type != YAML_MAPPING_NODE) {
		refuse(loader, node, path, "must be a mapping: lines of 'name: [value, ...]'");
		return;
	}
	pair = mapping->data.mapping.pairs.start;
	count = (size_t)(mapping->data.mapping.pairs.top - pair);
	if (count < field->least || count > field->most) {
		vl_problem_add(loader->problems, vl_node_place(loader, node), path,
			       "has %zu elements; allowed are %llu to %llu", count,
			       (unsigned long long)field->least, (unsigned long long)field->most);
		return;
	}
	element = vl_arena_allocate(loader->arena, (count + 1) * sizeof(*element));
	if (!element) {
		loader->out_of_memory = true;
		return;
	}
	*list = (struct vl_list){element, (unsigned int)count};
	for (; pair < mapping->data.mapping.pairs.top; pair++, element++) {
		element->name = "";
		take_scalar(loader, pair->key, &key, path, &element->name);
		take_texts(loader, pair->value, &values,
			   join_path(loader->arena, path, element->name), element);
	}
}

/* A mapping, or the single value that stands for one. */
static void take_mapping(struct vl_loader *loader, int node, const struct vl_field *field,
			 const char *path, void *structure, bool is_started)
{
	const struct vl_schema *schema = field->schema;
	struct vl_section *section = structure;
	bool was_given = is_started && section->node;

	if (!field->shorthand || !vl_node_text(loader, node)) {
		load_mapping(loader, node, schema, path, structure, was_given);
		return;
	}
	if (schema->defaults)
		memcpy(structure, schema->defaults, schema->size);
	*section = (struct vl_section){.node = node, .path = path};
	for (unsigned int i = 0; i < schema->field_count; i++) {
		if (strcmp(schema->fields[i].name, field->shorthand))
			continue;
		section->present |= UINT64_C(1) << i;
		take_scalar(loader, node, &schema->fields[i], path,
			    (char *)structure + schema->fields[i].offset);
	}
}

/* What the elements of a list start from; NULL: nothing was given for it. */
static const void *find_base(const struct vl_schema *schema, const struct vl_field *field,
			     const void *structure)
{
	const struct vl_section *section = structure;

	for (unsigned int i = 0; field->base && i < schema->field_count; i++) {
		if (!strcmp(schema->fields[i].name, field->base) && section->present >> i & 1)
			return (const char *)structure + schema->fields[i].offset;
	}
	return NULL;
}

/* For who tells what a run was configured with; whether it is right is found later. */
static const char *print_numbers(struct vl_loader *loader, int node)
{
	const yaml_node_t *mapping = yaml_document_get_node(loader->document, node);
	const yaml_node_pair_t *pair;
	const char *text = "", *key, *value;

	/* No right mapping is longer. */
	if (mapping->type != YAML_MAPPING_NODE ||
	    mapping->data.mapping.pairs.top - mapping->data.mapping.pairs.start > MOST_NUMBERS)
		return NULL;
	for (pair = mapping->data.mapping.pairs.start;
	     text && pair < mapping->data.mapping.pairs.top; pair++) {
		key = vl_node_text(loader, pair->key);
		value = vl_node_text(loader, pair->value);
		if (!key || !value || strpbrk(key, " ") || strpbrk(value, " "))
			return NULL;
		text = vl_arena_print(loader->arena, "%s%s %s ", text, key, value);
	}
	return text;
}

static void take_value(struct vl_loader *loader, int node, const struct vl_schema *schema,
		       const struct vl_field *field, const char *path, void *structure,
		       bool is_started)
{
	void *value = (char *)structure + field->offset;
	struct vl_section *section = value;

	switch (field->kind) {
	case VL_FIELD_MAPPING:
		take_mapping(loader, node, field, path, value, is_started);
		break;
	case VL_FIELD_LIST:
		take_list(loader, node, field, path, find_base(schema, field, structure), value);
		break;
	case VL_FIELD_NUMBERS:
		*section = (struct vl_section){node, 0, path, print_numbers(loader, node)};
		break;
	case VL_FIELD_TEXTS:
		take_texts(loader, node, field, path, value);
		break;
	case VL_FIELD_SERIES:
		take_series(loader, node, field, path, value);
		break;
	default:
		take_scalar(loader, node, field, path, value);
		break;
	}
}

static void refuse_key(struct vl_loader *loader, int node, const struct vl_schema *schema,
		       const char *path, const char *key)
{
	const char *names[65], *nearest;
	char all[600] = "";
	size_t used = 0;

	for (unsigned int i = 0; i < schema->field_count; i++) {
		names[i] = schema->fields[i].name;
		if (used < sizeof(all))
			used += (size_t)snprintf(all + used, sizeof(all) - used, "%s%s",
						 i ? ", " : "", names[i]);
	}
	names[schema->field_count] = NULL;
	nearest = vl_nearest(key, names);
	if (nearest)
		vl_problem_add(loader->problems, vl_node_place(loader, node), path,
			       "unknown key '%.40s'; did you mean '%s'?", key, nearest);
	else
		vl_problem_add(loader->problems, vl_node_place(loader, node), path,
			       "unknown key '%.40s'; known are %s", key, all);
}

/* The field of a key; field_count: there is none. */
static unsigned int find_field(const struct vl_schema *schema, const char *key)
{
	unsigned int i = 0;

	while (i < schema->field_count && strcmp(schema->fields[i].name, key))
		i++;
	return i;
}

/* Refuses keys that are not known or come twice. */
static void check_keys(struct vl_loader *loader, const yaml_node_t *mapping,
		       const struct vl_schema *schema, const char *path)
{
	const yaml_node_pair_t *pair;
	uint64_t seen = 0;
	unsigned int i;
	const char *key;

	for (pair = mapping->data.mapping.pairs.start; pair < mapping->data.mapping.pairs.top;
	     pair++) {
		key = vl_node_text(loader, pair->key);
		if (!key) {
			refuse(loader, pair->key, path, "a key must be a single word");
			continue;
		}
		i = find_field(schema, key);
		if (i == schema->field_count)
			refuse_key(loader, pair->key, schema, path, key);
		else if (seen >> i & 1)
			vl_problem_add(loader->problems, vl_node_place(loader, pair->key),
				       join_path(loader->arena, path, key),
				       "given twice; keep one");
		else
			seen |= UINT64_C(1) << i;
	}
}

/* Fields that others start from first. is_started: the structure holds values to start from. */
static void take_fields(struct vl_loader *loader, int node, const struct vl_schema *schema,
			const char *path, void *structure, bool is_started)
{
	struct vl_section *section = structure;
	const struct vl_field *field;
	int value;

	for (unsigned int pass = 0; pass < 2; pass++) {
		for (unsigned int i = 0; i < schema->field_count; i++) {
			field = &schema->fields[i];
			value = (field->base != NULL) == (pass == 1)
					? vl_node_find(loader, node, field->name)
					: 0;
			if (!value)
				continue;
			take_value(loader, value, schema, field,
				   join_path(loader->arena, path, field->name), structure,
				   is_started);
			section->present |= UINT64_C(1) << i;
		}
	}
}

static void load_mapping(struct vl_loader *loader, int node, const struct vl_schema *schema,
			 const char *path, void *structure, bool is_started)
{
	const yaml_node_t *mapping = yaml_document_get_node(loader->document, node);
	struct vl_section *section = structure;
	uint64_t present = is_started ? section->present : 0;

	if (!is_started && schema->defaults)
		memcpy(structure, schema->defaults, schema->size);
	*section = (struct vl_section){.node = node, .present = present, .path = path};
	if (!mapping || mapping->type != YAML_MAPPING_NODE) {
		refuse(loader, node, path, "must be a mapping: lines of 'key: value'");
		return;
	}
	check_keys(loader, mapping, schema, path);
	take_fields(loader, node, schema, path, structure, is_started);
	for (unsigned int i = 0; i < schema->field_count; i++) {
		if (schema->fields[i].is_required && !(section->present >> i & 1))
			vl_problem_add(loader->problems, vl_node_place(loader, node),
				       join_path(loader->arena, path, schema->fields[i].name),
				       "is missing; it is %s", schema->fields[i].help);
	}
}

void vl_schema_load(struct vl_loader *loader, int node, const struct vl_schema *schema,
		    const char *path, void *structure)
{
	load_mapping(loader, node, schema, path, structure, false);
}

void vl_loader_finish(const struct vl_loader *loader)
{
	if (!loader->out_of_memory && !loader->arena->has_failed)
		return;
	loader->problems->count = 0;
	vl_problem_add(loader->problems, (struct vl_place){0, 0, -1}, NULL, "out of memory");
}
