/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Values of fields, and what is wrong with them. */

#include "apps/sonic/reader.h"

#include <stdio.h>
#include <string.h>

struct vl_db_place vl_db_place(struct vl_config_db *db, const char *table,
			       const struct vl_db_entry *entry, const char *field)
{
	const struct vl_db_field *at = field ? vl_db_find_field(entry, field) : NULL;
	struct vl_db_place place = {.path = table};

	if (entry)
		place.path = vl_arena_print(&db->document.arena, "%s|%s%s%s", table, entry->key,
					    field ? "|" : "", field ? field : "");
	if (!place.path)
		place.path = table;
	place.line = at ? at->line : entry ? entry->line : 0;
	if (!entry) {
		const struct vl_db_table *whole = vl_db_find_table(&db->document, table);

		place.line = whole ? whole->line : 0;
	}
	return place;
}

static bool is_by_port(const char *table)
{
	static const char *const tables[] = {"PORT",         "PORT_QOS_MAP", "BUFFER_PG",
					     "BUFFER_QUEUE", "QUEUE",        "PFC_WD"};

	for (unsigned int i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		if (!strcmp(tables[i], table))
			return true;
	}
	return false;
}

/* NULL: no memory, or too many. */
static struct vl_db_problem *add_problem(struct vl_config_db *db, enum vl_db_problem_kind kind,
					 const char *found, const char *right)
{
	struct vl_db_problem *problem;

	if (db->problem_count++ >= VL_DB_MAX_PROBLEMS)
		return NULL;
	problem = vl_arena_allocate(&db->document.arena, sizeof(*problem));
	if (!problem || !found || !right) {
		db->out_of_memory = true;
		return NULL;
	}
	problem->kind = kind;
	problem->found = found;
	problem->right = right;
	*db->problem_end = problem;
	db->problem_end = &problem->next;
	return problem;
}

void db_problem(const struct db_cell *cell, enum vl_db_problem_kind kind, const char *field,
		const char *found, const char *right)
{
	struct vl_db_problem *problem = add_problem(cell->db, kind, found, right);

	if (!problem)
		return;
	problem->place = vl_db_place(cell->db, cell->table, cell->entry, field);
	problem->key = cell->entry && is_by_port(cell->table) ? cell->entry->key : NULL;
}

void db_lost(struct vl_config_db *db, const struct vl_db_repeat *repeat)
{
	struct vl_db_problem *problem =
		add_problem(db, VL_DB_DUPLICATE,
			    vl_arena_print(&db->document.arena,
					   "given again on line %u: what stands here is lost",
					   repeat->later_line),
			    "one of the two, with all that is to hold");

	if (problem)
		problem->place = (struct vl_db_place){repeat->path, repeat->line};
}

void db_bad_value(const struct db_cell *cell, const struct vl_db_field *field, const char *right)
{
	bool is_quoted = field->kind == VL_DB_STRING;

	db_problem(cell, VL_DB_BAD_VALUE, field->name,
		   vl_arena_print(&cell->db->document.arena, "%s%.80s%s", is_quoted ? "\"" : "",
				  field->text, is_quoted ? "\"" : ""),
		   right);
}

static const struct vl_db_field *scalar(const struct db_cell *cell, const char *name)
{
	const struct vl_db_field *field = vl_db_find_field(cell->entry, name);

	if (!field ||
	    (field->kind != VL_DB_LIST && field->kind != VL_DB_OBJECT && field->kind != VL_DB_NULL))
		return field;
	db_bad_value(cell, field, "one value, as a string");
	return NULL;
}

const char *db_text(const struct db_cell *cell, const char *name)
{
	const struct vl_db_field *field = scalar(cell, name);

	return field ? field->text : NULL;
}

bool db_parse_number(const char *text, size_t length, uint64_t most, uint64_t *value)
{
	uint64_t number = 0;

	if (!length)
		return false;
	for (size_t i = 0; i < length; i++) {
		unsigned int digit = (unsigned int)(unsigned char)text[i] - '0';

		if (digit > 9 || digit > most || number > (most - digit) / 10)
			return false;
		number = number * 10 + digit;
	}
	*value = number;
	return true;
}

bool db_number(const struct db_cell *cell, const char *name, uint64_t least, uint64_t most,
	       const char *meaning, uint64_t *value)
{
	const struct vl_db_field *field = scalar(cell, name);
	uint64_t number;

	if (!field)
		return false;
	if (db_parse_number(field->text, strlen(field->text), most, &number) && number >= least) {
		*value = number;
		return true;
	}
	db_bad_value(cell, field,
		     vl_arena_print(&cell->db->document.arena, "a whole number%s%s, %llu to %llu",
				    *meaning ? " of " : "", meaning, (unsigned long long)least,
				    (unsigned long long)most));
	return false;
}

bool db_signed(const struct db_cell *cell, const char *name, int least, int most,
	       const char *meaning, int *value)
{
	const struct vl_db_field *field = scalar(cell, name);
	bool is_negative;
	uint64_t number;
	int result;

	if (!field)
		return false;
	is_negative = field->text[0] == '-';
	if (db_parse_number(field->text + is_negative, strlen(field->text) - is_negative, 1000,
			    &number)) {
		result = is_negative ? -(int)number : (int)number;
		if (result >= least && result <= most) {
			*value = result;
			return true;
		}
	}
	db_bad_value(
		cell, field,
		vl_arena_print(&cell->db->document.arena, "%s, %d to %d", meaning, least, most));
	return false;
}

bool db_choice(const struct db_cell *cell, const char *name, const char *const *choices,
	       unsigned int *value)
{
	const struct vl_db_field *field = scalar(cell, name);
	char right[256] = "one of";
	size_t used = strlen(right);

	if (!field)
		return false;
	for (unsigned int i = 0; choices[i]; i++) {
		if (!strcmp(choices[i], field->text)) {
			*value = i;
			return true;
		}
		used += (size_t)snprintf(right + used, sizeof(right) - used, "%s %s", i ? "," : "",
					 choices[i]);
		if (used >= sizeof(right))
			used = sizeof(right) - 1;
	}
	db_bad_value(cell, field, vl_arena_print(&cell->db->document.arena, "%s", right));
	return false;
}

bool db_truth(const struct db_cell *cell, const char *name, bool *value)
{
	static const char *const words[] = {"false", "true", NULL};
	const struct vl_db_field *field = scalar(cell, name);
	unsigned int choice;

	if (!field || !db_choice(cell, name, words, &choice))
		return false;
	if (field->kind == VL_DB_BOOLEAN)
		db_bad_value(cell, field,
			     choice ? "\"true\" in quotes: without, the database holds True, "
				      "which is not understood"
				    : "\"false\" in quotes: without, the database holds False, "
				      "which is not understood");
	*value = choice;
	return true;
}

bool db_priorities(const struct db_cell *cell, const char *name, uint8_t *priorities)
{
	const struct vl_db_field *field = vl_db_find_field(cell->entry, name);
	const char *at = field ? field->text : NULL;
	uint8_t result = 0;

	if (!field)
		return false;
	if (!*at && field->kind == VL_DB_STRING) {
		*priorities = 0;
		return true;
	}
	for (;; at += 2) {
		if (*at < '0' || *at > '7' || (at[1] && at[1] != ','))
			break;
		result |= (uint8_t)(1u << (*at - '0'));
		if (!at[1]) {
			*priorities = result;
			return true;
		}
	}
	db_bad_value(cell, field, "priorities from 0 to 7, parted by commas: \"3,4\"");
	return false;
}

const char *db_reference(const struct db_cell *cell, const char *name, const char *target)
{
	const struct vl_db_field *field = scalar(cell, name);
	size_t length, prefix = strlen(target);
	const char *text;

	if (!field || !*field->text)
		return NULL;
	text = field->text;
	length = strlen(text);
	if (text[0] != '[' && text[length - 1] != ']')
		return text;
	if (length < prefix + 4 || text[0] != '[' || text[length - 1] != ']' ||
	    strncmp(text + 1, target, prefix) || text[prefix + 1] != '|') {
		db_bad_value(cell, field,
			     vl_arena_print(&cell->db->document.arena, "the name of an entry of %s",
					    target));
		return NULL;
	}
	text = vl_arena_print(&cell->db->document.arena, "%.*s", (int)(length - prefix - 3),
			      text + prefix + 2);
	if (!cell->db->has_old_reference) {
		cell->db->has_old_reference = true;
		db_problem(cell, VL_DB_OLD_REFERENCE, name,
			   vl_arena_print(&cell->db->document.arena, "\"%.80s\"", field->text),
			   vl_arena_print(&cell->db->document.arena, "\"%.80s\", everywhere",
					  text ? text : ""));
	}
	return text;
}

void db_bad_reference(const struct db_cell *cell, const char *field, const char *target,
		      const char *name)
{
	struct vl_arena *arena = &cell->db->document.arena;
	const struct vl_db_table *table = vl_db_find_table(&cell->db->document, target);
	char names[128] = "";
	size_t used = 0;

	for (unsigned int i = 0; table && i < table->count && used < sizeof(names); i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
					 table->entries[i].key);
	db_problem(cell, VL_DB_BAD_REFERENCE, field, vl_arena_print(arena, "\"%.80s\"", name),
		   !table || !table->count
			   ? vl_arena_print(arena, "a %s|%.80s; there is no table %s", target, name,
					    target)
			   : vl_arena_print(arena, "an entry of %s: %s%s", target, names,
					    used >= sizeof(names) ? "..." : ""));
}

void db_missing_port(const struct db_cell *cell, const char *field, const char *name)
{
	static const char one[] = "a port of PORT, or no entry";
	static const char list[] = "an entry for each port: this table takes no lists";
	const char *right = strchr(name, ',') ? list : one;
	struct vl_config_db *db = cell->db;
	struct vl_db_problem **end = db->problem_end;

	/* Without the table of ports, a port that it does not have says nothing new. */
	if (!vl_db_find_table(&db->document, "PORT"))
		return;
	for (const struct vl_db_problem *before = db->problems; before; before = before->next) {
		if (before->right == right && !strcmp(before->key, name))
			return;
	}
	db_problem(cell, VL_DB_BAD_REFERENCE, field, "a port that PORT does not have", right);
	if (*end)
		(*end)->key = name;
}

void *db_find_named(void *array, unsigned int count, size_t size, const char *name)
{
	for (unsigned int i = 0; i < count; i++) {
		char *element = (char *)array + i * size;

		if (!strcmp(*(const char **)element, name))
			return element;
	}
	return NULL;
}
