/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/fabric/red.h"

#include "transport/wire/path.h"

#include <inttypes.h>
#include <stdio.h>

struct vl_red_config vl_red_marking(enum vl_red_point point, uint64_t kmin, uint64_t kmax,
				    double pmax)
{
	struct vl_red_config config = {.point = point};

	for (unsigned int i = 0; i < VL_COLOURS; i++)
		config.curves[i] = (struct vl_red_curve){VL_RED_MARK_OR_DROP, kmin, kmax, pmax};
	return config;
}

const char *vl_red_config_error(const struct vl_red_config *config)
{
	static const char *const colours[VL_COLOURS] = {"green", "yellow", "red"};
	static _Thread_local char text[128];

	if (config->point > VL_RED_AT_DEQUEUE)
		return "the point of marking is neither enqueue nor dequeue";
	if (config->point == VL_RED_OFF)
		return NULL;
	if (config->weight > VL_RED_WEIGHT_MAX) {
		snprintf(text, sizeof(text), "the weight of the average is %u; the largest is %u",
			 config->weight, VL_RED_WEIGHT_MAX);
		return text;
	}
	for (unsigned int i = 0; i < VL_COLOURS; i++) {
		const struct vl_red_curve *curve = &config->curves[i];

		if (curve->action == VL_RED_IGNORE)
			continue;
		if (curve->action > VL_RED_DROP_ALL)
			snprintf(text, sizeof(text), "the action of %s is none that there is",
				 colours[i]);
		else if (curve->kmin > curve->kmax)
			snprintf(text, sizeof(text),
				 "kmin of %s, %" PRIu64 " B, is larger than its kmax, %" PRIu64
				 " B",
				 colours[i], curve->kmin, curve->kmax);
		else if (curve->kmax > VL_RED_LENGTH_MAX)
			snprintf(text, sizeof(text), "kmax of %s, %" PRIu64 " B, is beyond 1 TiB",
				 colours[i], curve->kmax);
		else if (!(curve->pmax >= 0 && curve->pmax <= 1))
			snprintf(text, sizeof(text), "pmax of %s, %g, is not within 0 and 1",
				 colours[i], curve->pmax);
		else
			continue;
		return text;
	}
	return NULL;
}

void vl_red_init(struct vl_red *red, const struct vl_red_config *config)
{
	red->config = *config;
	for (unsigned int i = 0; i < VL_COLOURS; i++) {
		const struct vl_red_curve *curve = &config->curves[i];

		red->slope[i] = curve->kmax > curve->kmin
					? curve->pmax / (double)(curve->kmax - curve->kmin)
					: 0;
	}
}

enum vl_red_verdict vl_red_apply(const struct vl_red *red, enum vl_colour colour,
				 struct vl_random *random, uint64_t bytes, uint8_t *frame,
				 uint32_t length)
{
	enum vl_red_action action = red->config.curves[colour].action;

	if (!vl_red_decide(red, colour, random, bytes))
		return VL_RED_PASS;
	if (action != VL_RED_DROP_ALL && vl_frame_mark_ce(frame, length))
		return VL_RED_MARKED;
	return action == VL_RED_MARK_OR_PASS ? VL_RED_PASS : VL_RED_DROP;
}
