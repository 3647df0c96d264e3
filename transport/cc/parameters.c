/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Algorithms and parameters by name. */

#include "transport/cc/cc.h"
#include "transport/cc/description.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

static const struct vl_cc_algorithm *const algorithms[] = {
	&vl_cc_none,
	&vl_cc_fixed,
	&vl_cc_dcqcn,
	&vl_cc_infiniband,
};

static const struct vl_cc_description descriptions[] = {
#define DESCRIPTION(name_, paper_, nvidia_, least_, most_, unit_, meaning_)                        \
	{                                                                                          \
		.name = #name_,                                                                    \
		.unit = unit_,                                                                     \
		.meaning = meaning_,                                                               \
		.least = least_,                                                                   \
		.most = most_,                                                                     \
		.paper = paper_,                                                                   \
		.nvidia = nvidia_,                                                                 \
		.offset = offsetof(struct vl_dcqcn_parameters, name_),                             \
	},
	VL_DCQCN_PARAMETERS(DESCRIPTION)
#undef DESCRIPTION
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const struct vl_cc_algorithm *vl_cc_find(const char *name)
{
	for (size_t i = 0; i < COUNT(algorithms); i++) {
		if (!strcmp(algorithms[i]->name, name))
			return algorithms[i];
	}
	return NULL;
}

const char *vl_cc_name(unsigned int n)
{
	return n < COUNT(algorithms) ? algorithms[n]->name : NULL;
}

int vl_dcqcn_profile(struct vl_dcqcn_parameters *parameters, const char *profile)
{
	bool is_paper = !strcmp(profile, "paper");

	if (!is_paper && strcmp(profile, "nvidia"))
		return -EINVAL;
	for (size_t i = 0; i < COUNT(descriptions); i++)
		vl_cc_set_parameter(parameters, &descriptions[i],
				    is_paper ? descriptions[i].paper : descriptions[i].nvidia);
	return 0;
}

int vl_dcqcn_set(struct vl_dcqcn_parameters *parameters, const char *name, uint64_t value)
{
	return vl_cc_table_set(VL_CC_TABLE(descriptions), parameters, name, value);
}

const struct vl_cc_description *vl_dcqcn_describe(unsigned int n)
{
	return vl_cc_table_at(VL_CC_TABLE(descriptions), n);
}

int vl_cc_check(const struct vl_cc_parameters *parameters)
{
	const bool is_dcqcn = parameters->algorithm == &vl_cc_dcqcn;

	if (!parameters->algorithm)
		return -EINVAL;
	if (parameters->algorithm == &vl_cc_fixed && parameters->fixed_rate < VL_CC_LEAST_RATE)
		return -EINVAL;
	if (vl_cc_table_check(VL_CC_TABLE(descriptions), &parameters->dcqcn, !is_dcqcn))
		return -EINVAL;
	return vl_infiniband_cc_check(&parameters->infiniband);
}
