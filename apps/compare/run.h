/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Runs a plan on all processors. */
#ifndef VERBLINE_COMPARE_RUN_H
#define VERBLINE_COMPARE_RUN_H

#include "apps/compare/comparison.h"

struct vl_compare_run_config {
	unsigned int processes; /* side by side, at least 1 */
	uint64_t memory;        /* bytes for each; 0: no limit */
	FILE *progress;         /* where it says how far it is */
	const volatile int *interrupted;
};

/* Fills in the comparison. 0; -EINTR: interrupted, and what was done is there; or another negative
 * errno value with a message. */
int vl_compare_run(struct vl_comparison *comparison, const struct vl_compare_run_config *config,
		   char *error, size_t error_size);

#endif
