/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * A file of SONiC's configuration database (/etc/sonic/config_db.json) as it stands: tables, their
 * entries, the fields of those, each with the line that it is on. What they mean is read by
 * config_db.h.
 *
 * The file is {"TABLE": {"KEY": {"FIELD": VALUE}}}, where a key may have parts ("Ethernet0|3-4").
 */
#ifndef VERBLINE_SONIC_DOCUMENT_H
#define VERBLINE_SONIC_DOCUMENT_H

#include "apps/scenario/arena.h"

#include <stddef.h>

#define VL_DB_MAX_FILE_SIZE ((size_t)16 << 20)

/* SONiC writes every scalar as a string. Numbers come to the same text when they are loaded into
 * the database; true comes out as "True", which no reader of it takes for a truth. */
enum vl_db_kind {
	VL_DB_STRING,
	VL_DB_NUMBER,
	VL_DB_BOOLEAN,
	VL_DB_NULL,
	VL_DB_LIST, /* text: its scalars joined by commas */
	VL_DB_OBJECT,
};

/* Texts have no control characters: question marks stand in for them. */
struct vl_db_field {
	const char *name, *text;
	enum vl_db_kind kind;
	unsigned int line; /* of the name, from 1 */
};

struct vl_db_entry {
	const char *key;
	const struct vl_db_field *fields; /* in the order of the file */
	unsigned int count, line;
	enum vl_db_kind kind; /* not VL_DB_OBJECT: it has no fields, and should */
};

struct vl_db_table {
	const char *name;
	const struct vl_db_entry *entries;
	unsigned int count, line;
	enum vl_db_kind kind; /* as of an entry */
};

/* A name that is given again in the same object: as for all that load such a file, the last counts,
 * and the earlier ones are lost whole. */
struct vl_db_repeat {
	const char *path;              /* "PORT|Ethernet0|speed" */
	unsigned int line, later_line; /* of what is lost, and of the next of that name */
	const struct vl_db_repeat *next;
};

struct vl_db_document {
	const struct vl_db_table *tables;
	unsigned int count;
	const struct vl_db_repeat *repeats; /* the last of the file first */
	struct vl_arena arena;
};

/* 0; -EINVAL: no JSON, no object; -ENOMEM. error says what and where ("line 7
 * column 3: ..."). *document is to be freed in any case. */
int vl_db_document_parse(const char *text, size_t length, struct vl_db_document *document,
			 char *error, size_t error_size);
void vl_db_document_free(struct vl_db_document *document);

/* NULL: there is none. */
const struct vl_db_table *vl_db_find_table(const struct vl_db_document *document, const char *name);
const struct vl_db_entry *vl_db_find_entry(const struct vl_db_table *table, const char *key);
const struct vl_db_field *vl_db_find_field(const struct vl_db_entry *entry, const char *name);

#endif
