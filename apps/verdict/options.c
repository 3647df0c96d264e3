/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/verdict/options.h"

struct vl_verdict_config vl_verdict_options_config(const struct vl_verdict_options *options)
{
	struct vl_verdict_config config = {
		.expects_ecn = options->expects_ecn,
		.cnp_interval = options->cnp_interval,
		.cnp_limit = options->cnp_limit,
		.pause_limit = options->pause_limit,
		.patience = options->patience,
	};

	/* 0 is a DSCP and a priority, too. */
	if (options->cnp_dscp != UINT64_MAX)
		config.cnp_dscp = options->cnp_dscp ? (uint32_t)options->cnp_dscp : VL_VERDICT_ZERO;
	if (options->cnp_priority != UINT64_MAX)
		config.cnp_priority =
			options->cnp_priority ? (uint32_t)options->cnp_priority : VL_VERDICT_ZERO;
	if (options->data_dscp != UINT64_MAX)
		config.data_dscp =
			options->data_dscp ? (uint32_t)options->data_dscp : VL_VERDICT_ZERO;
	return config;
}
