/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The keys of a schema as Markdown: a table for each mapping. */

#include "apps/report/config.h"

#include <string.h>

static void write_choices(const struct vl_field *field, FILE *out)
{
	for (unsigned int i = 0; field->choices[i]; i++)
		fprintf(out, "%s`%s`", i ? ", " : "", field->choices[i]);
}

static void write_quantity(const struct vl_field *field, FILE *out)
{
	static const char *const names[] = {
		[VL_QUANTITY_RATE] = "rate",
		[VL_QUANTITY_SIZE] = "size",
		[VL_QUANTITY_DURATION] = "time",
		[VL_QUANTITY_COUNT] = "number",
	};
	char least[VL_QUANTITY_TEXT], most[VL_QUANTITY_TEXT];

	fprintf(out, "%s, %s to %s%s", names[field->quantity],
		vl_quantity_text(field->quantity, field->least, least),
		vl_quantity_text(field->quantity, field->most, most),
		field->takes_auto ? ", or `auto`" : "");
}

static void write_kind(const struct vl_field *field, FILE *out)
{
	switch (field->kind) {
	case VL_FIELD_QUANTITY:
		write_quantity(field, out);
		return;
	case VL_FIELD_CHOICE:
		write_choices(field, out);
		return;
	case VL_FIELD_TEXT:
		fputs("text", out);
		return;
	case VL_FIELD_NAME:
		fprintf(out, "name of up to %d letters, digits, `-`, `_`", VL_MAX_NAME);
		return;
	case VL_FIELD_FRACTION:
		fputs("part, 0 to 1 or 0% to 100%", out);
		return;
	case VL_FIELD_RATIO:
		fputs("ratio, 1/1024 to 1024", out);
		return;
	case VL_FIELD_TRUTH:
		fputs("`true` or `false`", out);
		return;
	case VL_FIELD_MAPPING:
		fprintf(out, field->shorthand ? "mapping, or its `%s` alone" : "mapping",
			field->shorthand);
		return;
	case VL_FIELD_LIST:
		fputs("list of mappings", out);
		return;
	case VL_FIELD_NUMBERS:
		fputs("mapping of numbers", out);
		return;
	case VL_FIELD_TEXTS:
		fputs("list of values, or one", out);
		return;
	case VL_FIELD_SERIES:
		fputs("mapping of lists of values", out);
		return;
	}
}

/* What would end a cell. */
static void write_text(const char *text, FILE *out)
{
	for (; *text; text++) {
		if (strchr("|*<>_", *text))
			fputc('\\', out);
		fputc(*text, out);
	}
}

static void write_table(const struct vl_schema *schema, FILE *out)
{
	const struct vl_field *field;

	fputs("| key | takes | meaning [default] |\n|---|---|---|\n", out);
	for (unsigned int i = 0; i < schema->field_count; i++) {
		field = &schema->fields[i];
		fprintf(out, "| `%s` | ", field->name);
		write_kind(field, out);
		fputs(" | ", out);
		write_text(field->help, out);
		fputs(field->is_required ? "; required |\n" : " |\n", out);
	}
}

/* The earlier field of the same schema that has described the mapping; NULL: none has. */
static const char *described_by(const struct vl_schema *schema, unsigned int field)
{
	for (unsigned int i = 0; i < field; i++) {
		if (schema->fields[i].schema == schema->fields[field].schema)
			return schema->fields[i].name;
	}
	return NULL;
}

static void write_mapping(const struct vl_schema *schema, const char *path, FILE *out)
{
	const struct vl_field *field;
	const char *earlier;
	char inner[160];

	write_table(schema, out);
	for (unsigned int i = 0; i < schema->field_count; i++) {
		field = &schema->fields[i];
		if (!field->schema)
			continue;
		snprintf(inner, sizeof(inner), "%s%s%s%s", path, *path ? "." : "", field->name,
			 field->kind == VL_FIELD_LIST ? "[]" : "");
		fprintf(out, "\n## %s\n\n", inner);
		earlier = described_by(schema, i);
		if (earlier)
			fprintf(out, "As `%s%s%s`.\n", path, *path ? "." : "", earlier);
		else
			write_mapping(field->schema, inner, out);
	}
}

void vl_config_document(const struct vl_schema *schema, FILE *out)
{
	write_mapping(schema, "", out);
}
