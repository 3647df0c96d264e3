/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Reads a YAML document into C structures by tables: a schema lists the keys of a mapping, what
 * each value is, its bounds, and where it goes. Strict: an unknown or repeated key, a wrong unit,
 * a value out of bounds is a problem with its place, and all problems of a file are found.
 */
#ifndef VERBLINE_SCENARIO_SCHEMA_H
#define VERBLINE_SCENARIO_SCHEMA_H

#include "apps/quantity.h"
#include "apps/scenario/arena.h"
#include "apps/scenario/problem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yaml.h>

/* What the value is, and the type of the field at its offset. */
enum vl_field_kind {
	VL_FIELD_TEXT,     /* const char * */
	VL_FIELD_NAME,     /* const char *: letters, digits, '-', '_'; at most VL_MAX_NAME */
	VL_FIELD_QUANTITY, /* uint64_t, least..most in the unit of .quantity */
	VL_FIELD_FRACTION, /* double, 0..1 */
	VL_FIELD_RATIO,    /* double, 1/1024..1024, as "0.125" or "1/8" */
	VL_FIELD_CHOICE,   /* unsigned int, an index into choices */
	VL_FIELD_TRUTH,    /* bool */
	VL_FIELD_MAPPING,  /* a structure by .schema */
	VL_FIELD_LIST,     /* struct vl_list of structures by .schema */
	VL_FIELD_NUMBERS,  /* struct vl_section: a mapping of names to whole numbers, read later */
	VL_FIELD_TEXTS,    /* struct vl_text_list: a list of single values, or one of them alone */
	VL_FIELD_SERIES,   /* struct vl_list of struct vl_text_list: a mapping of names to such */
};

#define VL_MAX_NAME  24
#define VL_AUTOMATIC UINT64_MAX

struct vl_schema;

struct vl_field {
	const char *name;
	enum vl_field_kind kind;
	size_t offset;
	const char *help;
	bool is_required;
	enum vl_quantity quantity;
	uint64_t least, most;       /* LIST, TEXTS, SERIES: of elements */
	bool takes_auto;            /* QUANTITY: the word auto stands for VL_AUTOMATIC */
	const char *const *choices; /* ends with NULL */
	const struct vl_schema *schema;
	/* MAPPING: a single value stands for a mapping with this key alone; NULL: it does not. */
	const char *shorthand;
	/* LIST: elements start from what this field of the same mapping, a MAPPING of the same
	 * structure and key order, was given, wherever in the file it stands. NULL: from the
	 * schema's defaults. */
	const char *base;
};

/* Fields of a mapping. Its structure begins with a struct vl_section. */
struct vl_schema {
	const struct vl_field *fields;
	unsigned int field_count; /* at most 64 */
	size_t size;
	const void *defaults; /* a structure to start from */
};

/* Where a structure came from. */
struct vl_section {
	int node;         /* in the document; 0: not given */
	uint64_t present; /* bit n: field n of the schema was given */
	const char *path; /* "flows[2]" */
	/* NUMBERS: what was given, as "name value name value ". NULL: nothing, or no mapping of
	 * single values. */
	const char *numbers;
};

struct vl_list {
	void *elements;
	unsigned int count;
};

struct vl_text_list {
	const char *name; /* SERIES: its key */
	const char **texts;
	unsigned int count;
};

struct vl_loader {
	yaml_document_t *document;
	struct vl_problems *problems;
	struct vl_arena *arena;
	bool out_of_memory;
};

/* Fills the structure (schema->size bytes), whose path is path ("" at the root). Problems are
 * added; the structure holds what was right. */
void vl_schema_load(struct vl_loader *loader, int node, const struct vl_schema *schema,
		    const char *path, void *structure);
/* For checks that look at several fields: the place of a field's value, or of the mapping if it
 * was not given; and a problem there. */
struct vl_place vl_section_place(const struct vl_loader *loader, const struct vl_section *section,
				 const char *field);
void vl_section_problem(struct vl_loader *loader, const struct vl_section *section,
			const char *field, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
bool vl_section_has(const struct vl_schema *schema, const struct vl_section *section,
		    const char *field);
struct vl_place vl_node_place(const struct vl_loader *loader, int node);
/* The value node of a key in a mapping node; 0: not there. */
int vl_node_find(const struct vl_loader *loader, int node, const char *key);
/* Nodes made from overrides carry a line from here on: their number is added. */
#define VL_OVERRIDE_LINE ((size_t)1 << 60)
/* The node's text if it is a scalar without NUL bytes, else NULL. */
const char *vl_node_text(const struct vl_loader *loader, int node);

/*
 * Sets the value at a path ("duration", "flows[0].size", "flows[bulk].size": the element whose
 * name that is) to a scalar, adding mappings on the way where there are none. assignment is
 * "path=value", the n-th override. A path that leads nowhere is a problem.
 */
void vl_schema_override(struct vl_loader *loader, const char *assignment, int n);
/* When all is read and checked. If memory ran short that is the only problem: what else is wrong
 * may only follow from it. */
void vl_loader_finish(const struct vl_loader *loader);

#endif
