/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Private to the reader of a configuration: values of fields, and what is wrong with them. */
#ifndef VERBLINE_SONIC_READER_H
#define VERBLINE_SONIC_READER_H

#include "apps/sonic/config_db.h"

/* A field of an entry of a table. */
struct db_cell {
	struct vl_config_db *db;
	const char *table;
	const struct vl_db_entry *entry;
};

void db_problem(const struct db_cell *cell, enum vl_db_problem_kind kind, const char *field,
		const char *found, const char *right);
/* That what stands there is lost to what is given again. */
void db_lost(struct vl_config_db *db, const struct vl_db_repeat *repeat);
/* found: the field's text, quoted. */
void db_bad_value(const struct db_cell *cell, const struct vl_db_field *field, const char *right);

/* The field's text; NULL: not given, or no scalar (which is a problem). */
const char *db_text(const struct db_cell *cell, const char *field);
/* Each leaves *value as it is, and returns false, if the field is not given or is wrong. */
bool db_number(const struct db_cell *cell, const char *field, uint64_t least, uint64_t most,
	       const char *meaning, uint64_t *value);
bool db_signed(const struct db_cell *cell, const char *field, int least, int most,
	       const char *meaning, int *value);
bool db_truth(const struct db_cell *cell, const char *field, bool *value);
bool db_choice(const struct db_cell *cell, const char *field, const char *const *choices,
	       unsigned int *value);
/* "3,4" */
bool db_priorities(const struct db_cell *cell, const char *field, uint8_t *priorities);
/* The name of the entry of target that the field refers to; NULL: none. */
const char *db_reference(const struct db_cell *cell, const char *field, const char *target);
void db_bad_reference(const struct db_cell *cell, const char *field, const char *target,
		      const char *name);
/* The entry or field is of a port that PORT does not have: said once for each such port. */
void db_missing_port(const struct db_cell *cell, const char *field, const char *name);

/* Digits only, at most most. */
bool db_parse_number(const char *text, size_t length, uint64_t most, uint64_t *value);

/* What a named table came to: an array, its elements of size bytes, each begun by its name. */
void *db_find_named(void *array, unsigned int count, size_t size, const char *name);

/* named.c: pools, profiles, WRED profiles, schedulers, maps, watchdogs and what is global. */
void db_read_named(struct vl_config_db *db);
/* ports.c: the ports, and what other tables say about them. */
void db_read_ports(struct vl_config_db *db);

#endif
