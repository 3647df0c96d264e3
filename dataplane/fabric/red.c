/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/fabric/red.h"

#include <errno.h>

#include "transport/wire/path.h"

int vl_red_init(struct vl_red *red, const struct vl_red_config *config)
{
	if (config->kmin > config->kmax || !(config->pmax >= 0 && config->pmax <= 1))
		return -EINVAL;
	red->config = *config;
	red->slope = config->kmax > config->kmin
			     ? config->pmax / (double)(config->kmax - config->kmin)
			     : 0;
	return 0;
}

enum vl_red_verdict vl_red_apply(const struct vl_red *red, struct vl_random *random, uint64_t bytes,
				 uint8_t *frame, uint32_t length)
{
	if (!vl_red_decide(red, random, bytes))
		return VL_RED_PASS;
	return vl_frame_mark_ce(frame, length) ? VL_RED_MARKED : VL_RED_DROP;
}
