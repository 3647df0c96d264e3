/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * What a frame is to a switch: DSCP (RFC 2474) or PCP (IEEE 802.1Q) says the traffic class and the
 * colour, the traffic class says the egress queue and the ingress priority group. The maps are
 * those of SONiC's DSCP_TO_TC_MAP, DOT1P_TO_TC_MAP, TC_TO_QUEUE_MAP and TC_TO_PRIORITY_GROUP_MAP.
 */
#ifndef VERBLINE_FABRIC_CLASSIFIER_H
#define VERBLINE_FABRIC_CLASSIFIER_H

#include <stdint.h>

#define VL_TRAFFIC_CLASSES 8
#define VL_DSCP_COUNT      64
#define VL_PCP_COUNT       8

/* Where a frame's traffic class is read. */
enum vl_switch_trust {
	VL_TRUST_DSCP, /* of IPv4 and IPv6; not IP: the default class */
	VL_TRUST_PCP,  /* of the VLAN tag; untagged: the default class */
};

/* Drop precedence. */
enum vl_colour {
	VL_COLOUR_GREEN,
	VL_COLOUR_YELLOW,
	VL_COLOUR_RED,
	VL_COLOURS,
};

struct vl_classifier_config {
	enum vl_switch_trust trust;
	uint8_t default_class;                      /* 0..7; green */
	uint8_t dscp_to_class[VL_DSCP_COUNT];       /* 0..7 */
	uint8_t pcp_to_class[VL_PCP_COUNT];         /* 0..7 */
	uint8_t dscp_to_colour[VL_DSCP_COUNT];      /* enum vl_colour */
	uint8_t pcp_to_colour[VL_PCP_COUNT];        /* enum vl_colour */
	uint8_t class_to_queue[VL_TRAFFIC_CLASSES]; /* 0..7 */
	uint8_t class_to_group[VL_TRAFFIC_CLASSES]; /* 0..7 */
};

/* Where a frame goes. */
struct vl_class {
	uint8_t queue, group, colour;
};

/* The maps of a port, joined. */
struct vl_classifier {
	struct vl_class by_dscp[VL_DSCP_COUNT], by_pcp[VL_PCP_COUNT], otherwise;
	enum vl_switch_trust trust;
};

/* Class = DSCP >> 3 and class = PCP (the class selectors), everything green, queue and group of
 * the class's number, trust in the DSCP, default class 0. */
void vl_classifier_config_defaults(struct vl_classifier_config *config);
/* NULL: config is fine; else what is not, valid until the next call in this thread. */
const char *vl_classifier_config_error(const struct vl_classifier_config *config);
void vl_classifier_init(struct vl_classifier *classifier,
			const struct vl_classifier_config *config);
/* Of a frame of at least 14 bytes. */
static inline struct vl_class vl_classify(const struct vl_classifier *classifier,
					  const uint8_t *frame, uint32_t length)
{
	const uint8_t *type = frame + 12;
	uint8_t traffic_class;

	if (type[0] == 0x81 && type[1] == 0x00 && length >= 18) {
		if (classifier->trust == VL_TRUST_PCP)
			return classifier->by_pcp[type[2] >> 5];
		type += 4;
	}
	if (classifier->trust == VL_TRUST_PCP || type + 4 > frame + length)
		return classifier->otherwise;
	if (type[0] == 0x08 && type[1] == 0x00)
		traffic_class = type[3];
	else if ((type[0] == 0x86 && type[1] == 0xdd) || (type[0] == 0x89 && type[1] == 0x15))
		traffic_class = (uint8_t)(type[2] << 4 | type[3] >> 4);
	else
		return classifier->otherwise;
	return classifier->by_dscp[traffic_class >> 2];
}

#endif
