/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/fabric/classifier.h"

#include <stdio.h>

void vl_classifier_config_defaults(struct vl_classifier_config *config)
{
	*config = (struct vl_classifier_config){.trust = VL_TRUST_DSCP};
	for (unsigned int i = 0; i < VL_DSCP_COUNT; i++)
		config->dscp_to_class[i] = (uint8_t)(i >> 3);
	for (unsigned int i = 0; i < VL_PCP_COUNT; i++)
		config->pcp_to_class[i] = (uint8_t)i;
	for (unsigned int i = 0; i < VL_TRAFFIC_CLASSES; i++) {
		config->class_to_queue[i] = (uint8_t)i;
		config->class_to_group[i] = (uint8_t)i;
	}
}

static const char *map_error(const uint8_t *map, unsigned int count, unsigned int end,
			     const char *from, const char *to)
{
	static _Thread_local char text[96];

	for (unsigned int i = 0; i < count; i++) {
		if (map[i] < end)
			continue;
		snprintf(text, sizeof(text), "%s %u is mapped to %s %u; the last one is %u", from,
			 i, to, map[i], end - 1);
		return text;
	}
	return NULL;
}

const char *vl_classifier_config_error(const struct vl_classifier_config *config)
{
	const char *error = NULL;

	if (config->trust > VL_TRUST_PCP)
		return "the trust is neither DSCP nor PCP";
	if (config->default_class >= VL_TRAFFIC_CLASSES)
		return "the default traffic class is beyond 7";
#define CHECK_MAP(map, count, end, from, to)                                                       \
	if (!error)                                                                                \
	error = map_error(config->map, count, end, from, to)
	CHECK_MAP(dscp_to_class, VL_DSCP_COUNT, VL_TRAFFIC_CLASSES, "DSCP", "traffic class");
	CHECK_MAP(pcp_to_class, VL_PCP_COUNT, VL_TRAFFIC_CLASSES, "PCP", "traffic class");
	CHECK_MAP(dscp_to_colour, VL_DSCP_COUNT, VL_COLOURS, "DSCP", "colour");
	CHECK_MAP(pcp_to_colour, VL_PCP_COUNT, VL_COLOURS, "PCP", "colour");
	CHECK_MAP(class_to_queue, VL_TRAFFIC_CLASSES, 8, "traffic class", "queue");
	CHECK_MAP(class_to_group, VL_TRAFFIC_CLASSES, 8, "traffic class", "priority group");
#undef CHECK_MAP
	return error;
}

static struct vl_class join(const struct vl_classifier_config *config, uint8_t traffic_class,
			    uint8_t colour)
{
	return (struct vl_class){
		.queue = config->class_to_queue[traffic_class],
		.group = config->class_to_group[traffic_class],
		.colour = colour,
	};
}

void vl_classifier_init(struct vl_classifier *classifier, const struct vl_classifier_config *config)
{
	classifier->trust = config->trust;
	for (unsigned int i = 0; i < VL_DSCP_COUNT; i++)
		classifier->by_dscp[i] =
			join(config, config->dscp_to_class[i], config->dscp_to_colour[i]);
	for (unsigned int i = 0; i < VL_PCP_COUNT; i++)
		classifier->by_pcp[i] =
			join(config, config->pcp_to_class[i], config->pcp_to_colour[i]);
	classifier->otherwise = join(config, config->default_class, VL_COLOUR_GREEN);
}
