/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* No congestion control: a QP sends as fast as its port lets it. */

#include "transport/cc/cc.h"

#include <string.h>

static void init(struct vl_cc_state *state, const struct vl_cc_parameters *parameters,
		 uint64_t line_rate, uint64_t now)
{
	(void)parameters;
	(void)line_rate;
	(void)now;
	memset(state, 0, sizeof(*state));
}

static uint64_t byte_time(struct vl_cc_state *state, const struct vl_cc_parameters *parameters,
			  uint64_t now)
{
	(void)state;
	(void)parameters;
	(void)now;
	return 0;
}

static uint64_t next_change(const struct vl_cc_state *state,
			    const struct vl_cc_parameters *parameters)
{
	(void)state;
	(void)parameters;
	return UINT64_MAX;
}

static struct vl_cc_report report(struct vl_cc_state *state,
				  const struct vl_cc_parameters *parameters, uint64_t now)
{
	(void)state;
	(void)parameters;
	(void)now;
	return (struct vl_cc_report){.rate = UINT64_MAX, .target_rate = UINT64_MAX};
}

const struct vl_cc_algorithm vl_cc_none = {
	.name = "none",
	.init = init,
	.byte_time = byte_time,
	.next_change = next_change,
	.report = report,
};
