/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* A fixed rate, whatever the network says; a rate of the line or above does not limit. */

#include "transport/cc/cc.h"
#include "transport/cc/rate.h"

#include <string.h>

struct VL_CC_VIEW fixed {
	uint64_t rate; /* bit/s; UINT64_MAX: not limited */
	uint64_t byte_time;
};

_Static_assert(sizeof(struct fixed) <= sizeof(struct vl_cc_state), "fits the QP's words");

static void init(struct vl_cc_state *state, const struct vl_cc_parameters *parameters,
		 uint64_t line_rate, uint64_t now)
{
	struct fixed *fixed = (struct fixed *)state;
	uint64_t rate = parameters->fixed_rate;

	(void)now;
	memset(state, 0, sizeof(*state));
	if (rate == 0 || rate >= line_rate) {
		fixed->rate = UINT64_MAX;
		fixed->byte_time = 0;
	} else {
		fixed->rate = rate;
		fixed->byte_time = vl_cc_byte_time(rate);
	}
}

static uint64_t byte_time(struct vl_cc_state *state, const struct vl_cc_parameters *parameters,
			  uint64_t now)
{
	(void)parameters;
	(void)now;
	return ((const struct fixed *)state)->byte_time;
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
	uint64_t rate = ((const struct fixed *)state)->rate;

	(void)parameters;
	(void)now;
	return (struct vl_cc_report){.rate = rate, .target_rate = rate};
}

const struct vl_cc_algorithm vl_cc_fixed = {
	.name = "fixed",
	.init = init,
	.byte_time = byte_time,
	.next_change = next_change,
	.report = report,
};
