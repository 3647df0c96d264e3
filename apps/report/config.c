/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/report/config.h"

#include "apps/option.h"

#define HELP_COLUMN 26

static json_t *list_json(const struct vl_schema *schema, const struct vl_list *list)
{
	json_t *array = json_array();

	for (unsigned int i = 0; i < list->count; i++)
		json_array_append_new(array,
				      vl_config_json(schema, (const char *)list->elements +
								     (size_t)i * schema->size));
	return array;
}

static json_t *texts_json(const struct vl_text_list *list)
{
	json_t *array = json_array();

	for (unsigned int i = 0; i < list->count; i++)
		json_array_append_new(array, json_string(list->texts[i]));
	return array;
}

static json_t *series_json(const struct vl_list *list)
{
	const struct vl_text_list *series = list->elements;
	json_t *object = json_object();

	for (unsigned int i = 0; i < list->count; i++)
		json_object_set_new(object, series[i].name, texts_json(&series[i]));
	return object;
}

static const char *unit_suffix(const struct vl_field *field)
{
	static const char *const suffixes[] = {
		[VL_QUANTITY_RATE] = "_bps",
		[VL_QUANTITY_SIZE] = "_bytes",
		[VL_QUANTITY_DURATION] = "_ns",
		[VL_QUANTITY_COUNT] = "",
	};

	return field->kind == VL_FIELD_QUANTITY ? suffixes[field->quantity] : "";
}

/* Of "name value name value ". NULL: left out. */
static json_t *numbers_json(const char *numbers)
{
	json_t *object;
	char name[64], text[64], error[160];
	uint64_t number;
	int length;

	if (!numbers || !*numbers)
		return NULL;
	object = json_object();
	while (sscanf(numbers, "%63s %63s %n", name, text, &length) == 2) {
		/* As it was read: in hexadecimal, too. */
		if (!vl_quantity_parse(VL_QUANTITY_COUNT, text, 0, INT64_MAX, &number, error,
				       sizeof(error)))
			json_object_set_new(object, name, json_integer((json_int_t)number));
		numbers += length;
	}
	return object;
}

/* NULL: left out. */
static json_t *value_json(const struct vl_field *field, const void *value, bool is_given)
{
	switch (field->kind) {
	case VL_FIELD_TEXT:
	case VL_FIELD_NAME:
		return *(const char *const *)value ? json_string(*(const char *const *)value)
						   : NULL;
	case VL_FIELD_QUANTITY:
		if (field->takes_auto && *(const uint64_t *)value == VL_AUTOMATIC)
			return json_string("auto");
		return json_integer((json_int_t) * (const uint64_t *)value);
	case VL_FIELD_FRACTION:
	case VL_FIELD_RATIO:
		return json_real(*(const double *)value);
	case VL_FIELD_CHOICE:
		return json_string(field->choices[*(const unsigned int *)value]);
	case VL_FIELD_TRUTH:
		return json_boolean(*(const bool *)value);
	case VL_FIELD_MAPPING:
		return is_given ? vl_config_json(field->schema, value) : NULL;
	case VL_FIELD_LIST:
		return list_json(field->schema, value);
	case VL_FIELD_TEXTS:
		return texts_json(value);
	case VL_FIELD_SERIES:
		return series_json(value);
	case VL_FIELD_NUMBERS:
		return numbers_json(((const struct vl_section *)value)->numbers);
	}
	return NULL;
}

json_t *vl_config_json(const struct vl_schema *schema, const void *structure)
{
	const struct vl_section *section = structure;
	const struct vl_field *field;
	json_t *object = json_object(), *value;
	char name[64];

	for (unsigned int i = 0; i < schema->field_count; i++) {
		field = &schema->fields[i];
		value = value_json(field, (const char *)structure + field->offset,
				   section->present >> i & 1);
		if (!value)
			continue;
		snprintf(name, sizeof(name), "%s%s", field->name, unit_suffix(field));
		json_object_set_new(object, name, value);
	}
	return object;
}

void vl_config_describe(const struct vl_schema *schema, unsigned int indent, FILE *out)
{
	const struct vl_field *field;
	int column;

	for (unsigned int i = 0; i < schema->field_count; i++) {
		field = &schema->fields[i];
		column = fprintf(out, "%*s%s:", (int)indent, "", field->name);
		if (column + 1 > HELP_COLUMN) {
			fputc('\n', out);
			column = 0;
		}
		vl_print_wrapped(out, field->help, HELP_COLUMN, (unsigned int)column);
		if (field->schema)
			vl_config_describe(field->schema, indent + 2, out);
	}
}
