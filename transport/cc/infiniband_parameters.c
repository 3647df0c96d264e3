/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Parameters of InfiniBand's congestion control by name. */

#include "transport/cc/cc.h"
#include "transport/cc/description.h"

#include <errno.h>
#include <stddef.h>

#define COUNT(array)  (sizeof(array) / sizeof((array)[0]))
#define DEFAULT_SHIFT 3u

static const struct vl_cc_description descriptions[] = {
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

void vl_infiniband_cc_defaults(struct vl_infiniband_cc_parameters *parameters)
{
	for (size_t i = 0; i < COUNT(descriptions); i++)
		vl_cc_set_parameter(parameters, &descriptions[i], descriptions[i].value);
	for (uint32_t i = 0; i < VL_CCT_ENTRIES; i++)
		parameters->cct[i] = (uint16_t)(DEFAULT_SHIFT << VL_CCT_SHIFT | i);
}

int vl_infiniband_cc_set(struct vl_infiniband_cc_parameters *parameters, const char *name,
			 uint64_t value)
{
	return vl_cc_table_set(VL_CC_TABLE(descriptions), parameters, name, value);
}

int vl_infiniband_cct_set(struct vl_infiniband_cc_parameters *parameters, uint32_t entry,
			  uint32_t shift, uint32_t multiplier)
{
	if (entry >= VL_CCT_ENTRIES || shift > 3 || multiplier > VL_CCT_MULTIPLIER_MASK)
		return -ERANGE;
	parameters->cct[entry] = (uint16_t)(shift << VL_CCT_SHIFT | multiplier);
	return 0;
}

const struct vl_cc_description *vl_infiniband_cc_describe(unsigned int n)
{
	return vl_cc_table_at(VL_CC_TABLE(descriptions), n);
}

int vl_infiniband_cc_check(const struct vl_infiniband_cc_parameters *parameters)
{
	if (vl_cc_table_check(VL_CC_TABLE(descriptions), parameters, false))
		return -EINVAL;
	return parameters->ccti_min <= parameters->ccti_limit ? 0 : -EINVAL;
}
