/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* A table for people: columns as wide as their widest cell, indented, with a heading. */
#ifndef VERBLINE_INSPECT_TABLE_H
#define VERBLINE_INSPECT_TABLE_H

#include <stdbool.h>
#include <stdio.h>

#define INSPECT_TABLE_COLUMNS 16

struct inspect_table {
	const char *const *headings;
	const char *alignment; /* 'l' or 'r' a column; its length is the number of columns */
	char **cells;          /* row by row */
	unsigned int count, capacity;
	bool out_of_memory;
};

void inspect_table_init(struct inspect_table *table, const char *const *headings,
			const char *alignment);
void inspect_table_cell(struct inspect_table *table, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Prints and frees. Columns of which all cells are empty are left out. bold: terminal sequences
 * around the headings. */
void inspect_table_print(struct inspect_table *table, FILE *out, bool bold);

#endif
