/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/sonic/document.h"

#include "apps/report/printable.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/*
 * jansson checks the text, but does not tell the lines of keys, nor which were given before and
 * lost to a later one of the same name. Both come from a walk over the same text beside jansson's
 * objects, which relies on the text being JSON.
 */
struct walk {
	const char *at, *end;
	unsigned int line;
	struct vl_db_document *document;
	bool out_of_memory;
};

/* A key of an object, and where its value begins. */
struct key {
	const char *name;
	unsigned int line;
	struct walk value;
	const json_t *json; /* of the last of the name */
	bool is_lost;       /* to a later one of the same name */
};

struct keys {
	struct key *list;
	unsigned int count;
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

static void *allocate(struct walk *walk, size_t size)
{
	void *memory = vl_arena_allocate(&walk->document->arena, size);

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

/* ---- Keys ---------------------------------------------------------------------------------- */

/* At a key: past it and the colon. The result is jansson's, to be released. */
static json_t *take_key(struct walk *walk)
{
	const char *start = walk->at;
	json_t *name;

	skip_string(walk);
	name = json_loadb(start, (size_t)(walk->at - start), JSON_DECODE_ANY, NULL);
	skip_space(walk);
	if (!name)
		walk->out_of_memory = true;
	return name;
}

/* Whether there is one more key in the object. */
static bool is_at_key(struct walk *walk)
{
	skip_space(walk);
	return walk->at < walk->end && *walk->at == '"' && !walk->out_of_memory;
}

static unsigned int count_keys(struct walk walk)
{
	unsigned int count = 0;

	for (walk.at++; is_at_key(&walk); count++) {
		skip_string(&walk);
		skip_value(&walk);
	}
	return count;
}

static const char *path_of(struct walk *walk, const char *path, const char *name)
{
	const char *whole =
		*path ? vl_arena_print(&walk->document->arena, "%s|%s", path, name) : name;

	if (!whole)
		walk->out_of_memory = true;
	return whole ? whole : "";
}

static void add_repeat(struct walk *walk, const char *path, const struct key *lost,
		       const struct key *later)
{
	struct vl_db_repeat *repeat = allocate(walk, sizeof(*repeat));

	if (!repeat)
		return;
	*repeat = (struct vl_db_repeat){.path = path_of(walk, path, lost->name),
					.line = lost->line,
					.later_line = later->line,
					.next = walk->document->repeats};
	walk->document->repeats = repeat;
}

/* The keys of the object that begins here, and past it. */
static struct keys take_keys(struct walk *walk, const json_t *object, const char *path)
{
	struct keys keys = {0};
	json_t *seen = json_object(), *name, *before;

	skip_space(walk);
	keys.list = allocate(walk, count_keys(*walk) * sizeof(*keys.list));
	for (walk->at++; seen && keys.list && is_at_key(walk); keys.count++) {
		struct key *key = &keys.list[keys.count];

		*key = (struct key){.line = walk->line};
		name = take_key(walk);
		if (!name)
			break;
		key->name = copy(walk, json_string_value(name));
		key->value = *walk;
		key->json = json_object_get(object, json_string_value(name));
		before = json_object_get(seen, json_string_value(name));
		if (before) {
			keys.list[json_integer_value(before)].is_lost = true;
			add_repeat(walk, path, &keys.list[json_integer_value(before)], key);
		}
		if (json_object_set_new(seen, json_string_value(name), json_integer(keys.count)))
			walk->out_of_memory = true;
		json_decref(name);
		skip_value(walk);
	}
	if (!seen)
		walk->out_of_memory = true;
	json_decref(seen);
	skip_space(walk);
	walk->at++;
	return keys;
}

/* ---- Tables, entries, fields --------------------------------------------------------------- */

static void read_field(struct walk *walk, const struct key *key, struct vl_db_field *field)
{
	char buffer[32];

	field->line = key->line;
	field->name = key->name;
	field->kind = kind_of(key->json);
	field->text = field->kind == VL_DB_LIST
			      ? list_text(walk, key->json)
			      : copy(walk, scalar_text(key->json, buffer, sizeof(buffer)));
}

static void read_entry(struct walk *walk, const struct key *key, const char *table,
		       struct vl_db_entry *entry)
{
	struct walk at = key->value;
	struct vl_db_field *fields;
	struct keys keys;

	entry->line = key->line;
	entry->key = key->name;
	entry->kind = kind_of(key->json);
	if (entry->kind != VL_DB_OBJECT)
		return;
	keys = take_keys(&at, key->json, path_of(walk, table, key->name));
	fields = allocate(walk, keys.count * sizeof(*fields));
	entry->fields = fields;
	for (unsigned int i = 0; fields && i < keys.count; i++) {
		if (!keys.list[i].is_lost)
			read_field(walk, &keys.list[i], &fields[entry->count++]);
	}
	walk->out_of_memory |= at.out_of_memory;
}

static void read_table(struct walk *walk, const struct key *key, struct vl_db_table *table)
{
	struct walk at = key->value;
	struct vl_db_entry *entries;
	struct keys keys;

	table->line = key->line;
	table->name = key->name;
	table->kind = kind_of(key->json);
	if (table->kind != VL_DB_OBJECT)
		return;
	keys = take_keys(&at, key->json, key->name);
	entries = allocate(walk, keys.count * sizeof(*entries));
	table->entries = entries;
	for (unsigned int i = 0; entries && i < keys.count; i++) {
		if (!keys.list[i].is_lost)
			read_entry(walk, &keys.list[i], key->name, &entries[table->count++]);
	}
	walk->out_of_memory |= at.out_of_memory;
}

static void read_root(struct walk *walk, const json_t *object)
{
	struct vl_db_document *document = walk->document;
	struct keys keys = take_keys(walk, object, "");
	struct vl_db_table *tables = allocate(walk, keys.count * sizeof(*tables));

	document->tables = tables;
	for (unsigned int i = 0; tables && i < keys.count; i++) {
		if (!keys.list[i].is_lost)
			read_table(walk, &keys.list[i], &tables[document->count++]);
	}
}

int vl_db_document_parse(const char *text, size_t length, struct vl_db_document *document,
			 char *error, size_t error_size)
{
	struct walk walk = {.at = text, .end = text + length, .line = 1, .document = document};
	json_error_t problem;
	json_t *root;

	*document = (struct vl_db_document){0};
	root = json_loadb(text, length, 0, &problem);
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
	read_root(&walk, root);
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
