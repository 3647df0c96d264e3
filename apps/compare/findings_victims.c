/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Who suffers from congestion that is not theirs. */

#include "apps/compare/findings_private.h"

#include <math.h>
#include <string.h>

/* A bystander that takes so much longer is a victim. */
#define MUCH_LONGER 1.25
#define MUCH_LESS   0.90

bool vl_findings_is_much_worse(const struct vl_victim *victim, double p99, double goodput)
{
	return p99 > MUCH_LONGER * victim->best_p99 || goodput < MUCH_LESS * victim->best_goodput;
}

/* Whether a shown point may be the best: who fares well where others stand still owes it to them.
 */
static bool may_be_best(const struct vl_comparison *comparison, unsigned int point)
{
	unsigned int shown;

	if (vl_comparison_is_whole(comparison, point))
		return true;
	for (unsigned int group = 0; group < comparison->plan->group_count; group++) {
		shown = vl_comparison_shown_point(comparison, group);
		if (shown != UINT_MAX && vl_comparison_is_whole(comparison, shown))
			return false;
	}
	return true;
}

bool vl_compare_bystander(const struct vl_comparison *comparison, unsigned int class_number,
			  struct vl_victim *victim)
{
	struct vl_histogram *times = malloc(sizeof(*times));
	const struct vl_record *record;
	unsigned int count = 0, point;
	double p99;

	*victim = (struct vl_victim){.class_number = class_number, .best_p99 = INFINITY};
	for (unsigned int group = 0; times && group < comparison->plan->group_count; group++) {
		point = vl_comparison_shown_point(comparison, group);
		record = point == UINT_MAX ? NULL : vl_comparison_record(comparison, point);
		if (!record || class_number >= record->head.class_count)
			continue;
		if (record->classes[class_number].crosses_bottleneck) {
			count = 0;
			break;
		}
		memset(times, 0, sizeof(*times));
		vl_comparison_times(comparison, point, class_number, times);
		p99 = times->count ? (double)vl_histogram_percentile(times, 0.99) : INFINITY;
		if (p99 < victim->best_p99 && may_be_best(comparison, point)) {
			victim->best = point;
			victim->best_p99 = p99;
		}
		if (!count || p99 > victim->worst_p99) {
			victim->worst = point;
			victim->worst_p99 = p99;
		}
		count++;
	}
	free(times);
	if (count < 2 || isinf(victim->best_p99))
		return false;
	victim->best_goodput = vl_comparison_class_goodput(comparison, victim->best, class_number);
	victim->worst_goodput =
		vl_comparison_class_goodput(comparison, victim->worst, class_number);
	return true;
}

bool vl_compare_is_victim(const struct vl_victim *victim)
{
	return vl_findings_is_much_worse(victim, victim->worst_p99, victim->worst_goodput);
}
