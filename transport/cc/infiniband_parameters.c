/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Parameters of InfiniBand's congestion control by name. */

#include "transport/cc/cc.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#define COUNT(array)  (sizeof(array) / sizeof((array)[0]))
#define DEFAULT_SHIFT 3u

static const struct vl_infiniband_cc_description descriptions[] = {
#define DESCRIPTION(name_, value_, least_, most_, unit_, meaning_)                                 \
	{                                                                                          \
		.name = #name_,                                                                    \
		.unit = unit_,                                                                     \
		.meaning = meaning_,                                                               \
		.value = value_,                                                                   \
		.least = least_,                                                                   \
		.most = most_,                                                                     \
		.offset = offsetof(struct vl_infiniband_cc_parameters, name_),                     \
	},
	VL_INFINIBAND_CC_PARAMETERS(DESCRIPTION)
#undef DESCRIPTION
};

static void store(struct vl_infiniband_cc_parameters *parameters,
		  const struct vl_infiniband_cc_description *description, uint32_t value)
{
	memcpy((char *)parameters + description->offset, &value, sizeof(value));
}

void vl_infiniband_cc_defaults(struct vl_infiniband_cc_parameters *parameters)
{
	for (size_t i = 0; i < COUNT(descriptions); i++)
		store(parameters, &descriptions[i], descriptions[i].value);
	for (uint32_t i = 0; i < VL_CCT_ENTRIES; i++)
		parameters->cct[i] = (uint16_t)(DEFAULT_SHIFT << VL_CCT_SHIFT | i);
}

int vl_infiniband_cc_set(struct vl_infiniband_cc_parameters *parameters, const char *name,
			 uint64_t value)
{
	for (size_t i = 0; i < COUNT(descriptions); i++) {
		if (strcmp(descriptions[i].name, name))
			continue;
		if (value < descriptions[i].least || value > descriptions[i].most)
			return -ERANGE;
		store(parameters, &descriptions[i], (uint32_t)value);
		return 0;
	}
	return -ENOENT;
}

int vl_infiniband_cct_set(struct vl_infiniband_cc_parameters *parameters, uint32_t entry,
			  uint32_t shift, uint32_t multiplier)
{
	if (entry >= VL_CCT_ENTRIES || shift > 3 || multiplier > VL_CCT_MULTIPLIER_MASK)
		return -ERANGE;
	parameters->cct[entry] = (uint16_t)(shift << VL_CCT_SHIFT | multiplier);
	return 0;
}

const struct vl_infiniband_cc_description *vl_infiniband_cc_describe(unsigned int n)
{
	return n < COUNT(descriptions) ? &descriptions[n] : NULL;
}

int vl_infiniband_cc_check(const struct vl_infiniband_cc_parameters *parameters)
{
	for (size_t i = 0; i < COUNT(descriptions); i++) {
		uint32_t value;

		memcpy(&value, (const char *)parameters + descriptions[i].offset, sizeof(value));
		if (value < descriptions[i].least || value > descriptions[i].most)
			return -EINVAL;
	}
	return parameters->ccti_min <= parameters->ccti_limit ? 0 : -EINVAL;
}
