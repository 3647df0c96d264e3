/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/sonic/document.h"

#include "apps/report/printable.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

/*
 * jansson checks the text and keeps the order of keys, but not their lines. The lines come from a
 * walk over the same text beside jansson's objects: as the text is known to be JSON without
 * repeated keys, the n-th key of an object is the n-th that the walk meets.
 */
struct walk {
	const char *at, *end;
	unsigned int line;
	struct vl_arena *arena;
	bool out_of_memory;
};

static void skip_space(struct walk *walk)
{
	for (; walk->at < walk->end && strchr(" \t\r\n,:", *walk->at); walk->at++)
		walk->line += *walk->at == '\n';
}

static void skip_string(struct walk *walk)
{
	for (walk->at++; walk->at < walk->end && *walk->at != '"'; walk->at++) {
		if (*walk->at == '\\')
			walk->at++;
	}
	walk->at++;
}

static void skip_value(struct walk *walk)
{
	size_t depth = 0;

	do {
		skip_space(walk);
		if (walk->at >= walk->end)
			return;
		if (*walk->at == '"') {
			skip_string(walk);
		} else if (strchr("{[", *walk->at)) {
			depth++;
			walk->at++;
		} else if (strchr("}]", *walk->at)) {
			depth--;
			walk->at++;
		} else {
			while (walk->at < walk->end && !strchr(" \t\r\n,:{}[]\"", *walk->at))
				walk->at++;
		}
	} while (depth);
}

/* Past the next key; returns its line. */
static unsigned int take_key(struct walk *walk)
{
	unsigned int line;

	skip_space(walk);
	line = walk->line;
	skip_string(walk);
	skip_space(walk);
	return line;
}

static void skip_brace(struct walk *walk)
{
	skip_space(walk);
	walk->at++;
}

static void *allocate(struct walk *walk, size_t size)
{
	void *memory = vl_arena_allocate(walk->arena, size);

	if (!memory)
		walk->out_of_memory = true;
	return memory;
}

static const char *copy(struct walk *walk, const char *text)
{
	size_t size = strlen(text) + 1;
	char *memory = allocate(walk, size);

	if (!memory)
		return "";
	memcpy(memory, text, size);
	vl_make_printable(memory);
	return memory;
}

static enum vl_db_kind kind_of(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return VL_DB_OBJECT;
	case JSON_ARRAY:
		return VL_DB_LIST;
	case JSON_STRING:
		return VL_DB_STRING;
	case JSON_INTEGER:
	case JSON_REAL:
		return VL_DB_NUMBER;
	case JSON_NULL:
		return VL_DB_NULL;
	default:
		return VL_DB_BOOLEAN;
	}
}

static const char *scalar_text(const json_t *value, char *buffer, size_t size)
{
	if (json_is_string(value))
		return json_string_value(value);
	if (json_is_integer(value))
		snprintf(buffer, size, "%lld", (long long)json_integer_value(value));
	else if (json_is_real(value))
		snprintf(buffer, size, "%.17g", json_real_value(value));
	else if (json_is_boolean(value))
		return json_is_true(value) ? "true" : "false";
	else
		return json_is_null(value) ? "null" : json_is_array(value) ? "a list" : "an object";
	return buffer;
}

static const char *list_text(struct walk *walk, const json_t *list)
{
	size_t size = 1, index, used = 0;
	char buffer[32], *text;
	json_t *element;

	json_array_foreach(list, index, element) size +=
		strlen(scalar_text(element, buffer, sizeof(buffer))) + 1;
	text = allocate(walk, size);
	if (!text)
		return "";
	json_array_foreach(list, index, element) used +=
		(size_t)snprintf(text + used, size - used, "%s%s", index ? "," : "",
				 scalar_text(element, buffer, sizeof(buffer)));
	vl_make_printable(text);
	return text;
}

static void read_entry(struct walk *walk, json_t *object, struct vl_db_entry *entry)
{
	struct vl_db_field *fields = allocate(walk, json_object_size(object) * sizeof(*fields));
	char buffer[32];
	const char *name;
	json_t *value;

	entry->fields = fields;
	skip_brace(walk);
	json_object_foreach(object, name, value)
	{
		struct vl_db_field *field;

		if (!fields)
			return;
		field = &fields[entry->count++];
		field->line = take_key(walk);
		field->name = copy(walk, name);
		field->kind = kind_of(value);
		field->text = field->kind == VL_DB_LIST
				      ? list_text(walk, value)
				      : copy(walk, scalar_text(value, buffer, sizeof(buffer)));
		skip_value(walk);
	}
	skip_brace(walk);
}

static void read_table(struct walk *walk, json_t *object, struct vl_db_table *table)
{
	struct vl_db_entry *entries = allocate(walk, json_object_size(object) * sizeof(*entries));
	const char *name;
	json_t *value;

	table->entries = entries;
	skip_brace(walk);
	json_object_foreach(object, name, value)
	{
		struct vl_db_entry *entry;

		if (!entries)
			return;
		entry = &entries[table->count++];
		entry->line = take_key(walk);
		entry->key = copy(walk, name);
		entry->kind = kind_of(value);
		if (entry->kind == VL_DB_OBJECT)
			read_entry(walk, value, entry);
		else
			skip_value(walk);
	}
	skip_brace(walk);
}

static void read_root(struct walk *walk, json_t *object, struct vl_db_document *document)
{
	struct vl_db_table *tables = allocate(walk, json_object_size(object) * sizeof(*tables));
	const char *name;
	json_t *value;

	document->tables = tables;
	skip_brace(walk);
	json_object_foreach(object, name, value)
	{
		struct vl_db_table *table;

		if (!tables)
			return;
		table = &tables[document->count++];
		table->line = take_key(walk);
		table->name = copy(walk, name);
		table->kind = kind_of(value);
		if (table->kind == VL_DB_OBJECT)
			read_table(walk, value, table);
		else
			skip_value(walk);
	}
}

int vl_db_document_parse(const char *text, size_t length, struct vl_db_document *document,
			 char *error, size_t error_size)
{
	struct walk walk = {.at = text, .end = text + length, .line = 1};
	json_error_t problem;
	json_t *root;

	*document = (struct vl_db_document){0};
	walk.arena = &document->arena;
	root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &problem);
	if (!root) {
		vl_make_printable(problem.text);
		snprintf(error, error_size, "line %d column %d: %s", problem.line, problem.column,
			 problem.text);
		return json_error_code(&problem) == json_error_out_of_memory ? -ENOMEM : -EINVAL;
	}
	if (!json_is_object(root)) {
		snprintf(error, error_size,
			 "line 1: a list; a configuration is an object of tables: {\"PORT\": "
			 "{\"Ethernet0\": {\"speed\": \"100000\", ...}}, ...}");
		json_decref(root);
		return -EINVAL;
	}
	read_root(&walk, root, document);
	json_decref(root);
	if (!walk.out_of_memory)
		return 0;
	snprintf(error, error_size, "out of memory");
	return -ENOMEM;
}

void vl_db_document_free(struct vl_db_document *document)
{
	vl_arena_free(&document->arena);
	*document = (struct vl_db_document){0};
}

const struct vl_db_table *vl_db_find_table(const struct vl_db_document *document, const char *name)
{
	for (unsigned int i = 0; i < document->count; i++) {
		if (!strcmp(document->tables[i].name, name))
			return &document->tables[i];
	}
	return NULL;
}

const struct vl_db_entry *vl_db_find_entry(const struct vl_db_table *table, const char *key)
{
	for (unsigned int i = 0; table && i < table->count; i++) {
		if (!strcmp(table->entries[i].key, key))
			return &table->entries[i];
	}
	return NULL;
}

const struct vl_db_field *vl_db_find_field(const struct vl_db_entry *entry, const char *name)
{
	for (unsigned int i = 0; entry && i < entry->count; i++) {
		if (!strcmp(entry->fields[i].name, name))
			return &entry->fields[i];
	}
	return NULL;
}
