/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Algorithms and parameters by name. */

#include "transport/cc/cc.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

static const struct vl_cc_algorithm *const algorithms[] = {
	&vl_cc_none,
	&vl_cc_fixed,
	&vl_cc_dcqcn,
	&vl_cc_infiniband,
};

static const struct vl_dcqcn_description descriptions[] = {
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

static void store(struct vl_dcqcn_parameters *parameters,
		  const struct vl_dcqcn_description *description, uint32_t value)
{
	memcpy((char *)parameters + description->offset, &value, sizeof(value));
}

int vl_dcqcn_profile(struct vl_dcqcn_parameters *parameters, const char *profile)
{
	bool is_paper = !strcmp(profile, "paper");

	if (!is_paper && strcmp(profile, "nvidia"))
		return -EINVAL;
	for (size_t i = 0; i < COUNT(descriptions); i++)
		store(parameters, &descriptions[i],
		      is_paper ? descriptions[i].paper : descriptions[i].nvidia);
	return 0;
}

int vl_dcqcn_set(struct vl_dcqcn_parameters *parameters, const char *name, uint64_t value)
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

const struct vl_dcqcn_description *vl_dcqcn_describe(unsigned int n)
{
	return n < COUNT(descriptions) ? &descriptions[n] : NULL;
}

int vl_cc_check(const struct vl_cc_parameters *parameters)
{
	const bool is_dcqcn = parameters->algorithm == &vl_cc_dcqcn;

	if (!parameters->algorithm)
		return -EINVAL;
	if (parameters->algorithm == &vl_cc_fixed && parameters->fixed_rate < VL_CC_LEAST_RATE)
		return -EINVAL;
	for (size_t i = 0; i < COUNT(descriptions); i++) {
		uint32_t value;

		memcpy(&value, (const char *)&parameters->dcqcn + descriptions[i].offset,
		       sizeof(value));
		if ((value < descriptions[i].least && (is_dcqcn || value)) ||
		    value > descriptions[i].most)
			return -EINVAL;
	}
	return vl_infiniband_cc_check(&parameters->infiniband);
}
