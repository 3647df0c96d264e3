/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Jobs of workloads, side by side. */

#include "apps/compare/findings_private.h"

#include <math.h>
#include <string.h>

/* Slowing down is worth a sentence from this on. */
#define MUCH_LONGER 1.25

/* False: the shown point of the group has no jobs of it. */
static bool find_jobs(const struct vl_findings_view *view, unsigned int group,
		      unsigned int class_number, struct vl_job_means *means)
{
	return view->points[group] != UINT_MAX &&
	       vl_comparison_jobs(view->comparison, view->points[group], class_number, means);
}

/* A workload at the shown points: where its jobs are shortest and where longest. */
static void say_ends(const struct vl_findings_view *view, unsigned int class_number,
		     const char *name)
{
	struct vl_job_means least = {.time = INFINITY}, most = {.time = -INFINITY}, means;
	char first[VL_PLAN_LABEL], last[VL_PLAN_LABEL], text[2][VL_QUANTITY_TEXT];
	char bandwidth[80] = "", ties[VL_FINDINGS_TIES_TEXT];
	unsigned int best = 0, worst = 0;

	for (unsigned int i = 0; i < view->count; i++) {
		if (!find_jobs(view, i, class_number, &means))
			continue;
		if (view->whole[i] && means.time < least.time) {
			least = means;
			best = i;
		}
		if (means.time > most.time) {
			most = means;
			worst = i;
		}
	}
	if (isinf(least.time) || most.time <= least.time * (1 + VL_FINDINGS_ALIKE))
		return;
	for (unsigned int i = 0; i < view->count; i++)
		view->alike[i] = view->whole[i] && find_jobs(view, i, class_number, &means) &&
				 means.time <= least.time * (1 + VL_FINDINGS_ALIKE);
	vl_findings_ties(view, best, ties);
	if (least.busbw > 0)
		snprintf(bandwidth, sizeof(bandwidth), "; bus bandwidth %.2f and %.2f GB/s",
			 least.busbw / 8e9, most.busbw / 8e9);
	vl_findings_say(view->findings,
			"Jobs of %s are shortest on %s, %s on average (%.2f times the ideal%s%s), "
			"and longest on %s, %s (%.2f times)%s.",
			name, vl_findings_label(view, best, first),
			vl_findings_time(least.time, text[0]), least.slowdown, *ties ? "; " : "",
			ties, vl_findings_label(view, worst, last),
			vl_findings_time(most.time, text[1]), most.slowdown, bandwidth);
}

/* The group of the same variant whose switches do the same, and whose senders do not slow down. */
static unsigned int find_without_dcqcn(const struct vl_findings_view *view, unsigned int group)
{
	const struct vl_plan *plan = view->comparison->plan;
	const struct vl_plan_point *with, *without;
	const char *other;

	if (view->points[group] == UINT_MAX)
		return UINT_MAX;
	with = &plan->points[view->points[group]];
	if (!strcmp(plan->fabrics[with->fabric], "pfc_dcqcn"))
		other = "pfc";
	else if (!strcmp(plan->fabrics[with->fabric], "dcqcn"))
		other = "lossy";
	else
		return UINT_MAX;
	for (unsigned int i = 0; i < view->count; i++) {
		if (view->points[i] == UINT_MAX)
			continue;
		without = &plan->points[view->points[i]];
		if (without->variant == with->variant &&
		    !strcmp(plan->fabrics[without->fabric], other))
			return i;
	}
	return UINT_MAX;
}

/* Where the senders' slowing down costs more than it saves, and what to try before it is given up.
 */
static void say_slowing(const struct vl_findings_view *view, unsigned int class_number,
			const char *name)
{
	struct vl_job_means with, without, worst = {0}, beside = {0};
	char first[VL_PLAN_LABEL], last[VL_PLAN_LABEL], text[2][VL_QUANTITY_TEXT];
	unsigned int slow = UINT_MAX, fast = 0, other;
	double most = MUCH_LONGER;

	for (unsigned int i = 0; i < view->count; i++) {
		other = find_without_dcqcn(view, i);
		if (other == UINT_MAX || !view->whole[i] || !view->whole[other] ||
		    !(vl_findings_value(view, i, VL_METRIC_notifications) > 0) ||
		    !find_jobs(view, i, class_number, &with) ||
		    !find_jobs(view, other, class_number, &without) ||
		    with.time < most * without.time)
			continue;
		most = with.time / without.time;
		worst = with;
		beside = without;
		slow = i;
		fast = other;
	}
	if (slow == UINT_MAX)
		return;
	vl_findings_say(
		view->findings,
		"To slow down costs jobs of %s more than it saves: they take %s with DCQCN "
		"(%s), %.2f times the %s without (%s). Senders that CNPs have slowed take "
		"their rate back in steps; how fast, congestion_control.parameters say "
		"(rpg_time_reset, rpg_ai_rate), and how often they are slowed, ecn.kmin "
		"and ecn.kmax.",
		name, vl_findings_time(worst.time, text[0]), vl_findings_label(view, slow, last),
		most, vl_findings_time(beside.time, text[1]), vl_findings_label(view, fast, first));
}

void vl_findings_say_jobs(const struct vl_findings_view *view)
{
	const struct vl_record *any = vl_comparison_any_record(view->comparison);

	for (unsigned int i = 0; any && i < any->head.class_count; i++) {
		if (any->classes[i].kind != VL_RECORD_WORKLOAD)
			continue;
		say_ends(view, i, any->classes[i].name);
		say_slowing(view, i, any->classes[i].name);
	}
}
