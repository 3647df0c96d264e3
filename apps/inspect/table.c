/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/inspect/table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void inspect_table_init(struct inspect_table *table, const char *const *headings,
			const char *alignment)
{
	*table = (struct inspect_table){.headings = headings, .alignment = alignment};
}

void inspect_table_cell(struct inspect_table *table, const char *format, ...)
{
	va_list arguments;
	char *text;
	int length;

	if (table->count == table->capacity) {
		unsigned int capacity = table->capacity ? 2 * table->capacity : 64;
		char **cells = realloc(table->cells, capacity * sizeof(*cells));

		if (!cells) {
			table->out_of_memory = true;
			return;
		}
		table->cells = cells;
		table->capacity = capacity;
	}
	va_start(arguments, format);
	length = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (length < 0) {
		table->out_of_memory = true;
		return;
	}
	table->cells[table->count++] = text;
}

static void print_row(const struct inspect_table *table, FILE *out, const char *const *cells,
		      const int *widths, unsigned int columns)
{
	int owed = 0; /* blanks at the end of a line are not printed */

	fputs(" ", out);
	for (unsigned int i = 0; i < columns; i++) {
		int length = (int)strlen(cells[i]);
		int padding = widths[i] - length;

		if (!widths[i])
			continue;
		owed++;
		if (table->alignment[i] == 'r') {
			owed += padding;
			padding = 0;
		}
		if (length) {
			fprintf(out, "%*s%s", owed, "", cells[i]);
			owed = 0;
		}
		owed += padding + 1;
	}
	fputc('\n', out);
}

void inspect_table_print(struct inspect_table *table, FILE *out, bool bold)
{
	unsigned int columns = (unsigned int)strlen(table->alignment);
	unsigned int rows = table->count / columns;
	int widths[INSPECT_TABLE_COLUMNS] = {0};

	for (unsigned int i = 0; i < rows * columns; i++) {
		int length = (int)strlen(table->cells[i]);

		if (length > widths[i % columns])
			widths[i % columns] = length;
	}
	for (unsigned int i = 0; i < columns; i++) {
		int length = (int)strlen(table->headings[i]);

		if (widths[i] && length > widths[i])
			widths[i] = length;
	}
	if (rows) {
		if (bold)
			fputs("\033[2m", out);
		print_row(table, out, table->headings, widths, columns);
		if (bold)
			fputs("\033[0m", out);
	}
	for (unsigned int i = 0; i < rows; i++)
		print_row(table, out, (const char *const *)table->cells + i * columns, widths,
			  columns);
	if (table->out_of_memory)
		fputs("  (the table is not complete: out of memory)\n", out);
	for (unsigned int i = 0; i < table->count; i++)
		free(table->cells[i]);
	free(table->cells);
	table->cells = NULL;
}
