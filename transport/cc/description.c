/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "transport/cc/description.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

uint32_t vl_cc_parameter(const void *parameters, const struct vl_cc_description *description)
{
	uint32_t value;

	memcpy(&value, (const char *)parameters + description->offset, sizeof(value));
	return value;
}

int vl_cc_set_parameter(void *parameters, const struct vl_cc_description *description,
			uint64_t value)
{
	uint32_t stored = (uint32_t)value;

	if (value < description->least || value > description->most)
		return -ERANGE;
	memcpy((char *)parameters + description->offset, &stored, sizeof(stored));
	return 0;
}

const struct vl_cc_description *vl_cc_table_at(struct vl_cc_table table, unsigned int n)
{
	return n < table.count ? &table.list[n] : NULL;
}

int vl_cc_table_set(struct vl_cc_table table, void *parameters, const char *name, uint64_t value)
{
	for (unsigned int i = 0; i < table.count; i++) {
		if (!strcmp(table.list[i].name, name))
			return vl_cc_set_parameter(parameters, &table.list[i], value);
	}
	return -ENOENT;
}

int vl_cc_table_check(struct vl_cc_table table, const void *parameters, bool may_be_zero)
{
	for (unsigned int i = 0; i < table.count; i++) {
		uint32_t value = vl_cc_parameter(parameters, &table.list[i]);

		if ((value < table.list[i].least && (value || !may_be_zero)) ||
		    value > table.list[i].most)
			return -EINVAL;
	}
	return 0;
}
