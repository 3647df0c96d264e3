/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What the numbers of a comparison say, in plain sentences, and what they do not. */
#ifndef VERBLINE_COMPARE_FINDINGS_H
#define VERBLINE_COMPARE_FINDINGS_H

#include "apps/compare/comparison.h"

#define VL_MAX_FINDINGS 32u

struct vl_findings {
	char *says[VL_MAX_FINDINGS];
	unsigned int says_count;
	char *limits[VL_MAX_FINDINGS];
	unsigned int limits_count;
};

/* What could not be said for want of memory is left out. */
void vl_findings_make(const struct vl_comparison *comparison, struct vl_findings *findings);
void vl_findings_release(struct vl_findings *findings);

/*
 * A victim does not cross the bottleneck and yet does worse on one fabric than on the best of those
 * compared: its messages take longer at p99, or it gets less through.
 */
struct vl_victim {
	unsigned int class_number;
	unsigned int best, worst;           /* points, by completion p99 */
	double best_p99, worst_p99;         /* ns; INFINITY: no message was completed */
	double best_goodput, worst_goodput; /* bit/s, at the same points */
};
/* Of the shown points of all groups. Whether the class crosses the bottleneck nowhere and there
 * are at least two groups to set beside each other. */
bool vl_compare_bystander(const struct vl_comparison *comparison, unsigned int class_number,
			  struct vl_victim *victim);
/* Whether a bystander does so much worse somewhere that it is a victim there. */
bool vl_compare_is_victim(const struct vl_victim *victim);

#endif
