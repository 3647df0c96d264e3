/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What the parts of the findings share. */
#ifndef VERBLINE_COMPARE_FINDINGS_PRIVATE_H
#define VERBLINE_COMPARE_FINDINGS_PRIVATE_H

#include "apps/compare/findings.h"

#include <limits.h>

/* Values that are closer are not called different. */
#define VL_FINDINGS_ALIKE 0.03
/* More that are as good as the best are counted, and not named. */
#define VL_FINDINGS_MAX_TIES  3u
#define VL_FINDINGS_TIES_TEXT (VL_FINDINGS_MAX_TIES * (VL_PLAN_LABEL + 8))
/* Of so many groups something is said each. */
#define VL_FINDINGS_MAX_GROUPS 8u

/* The shown points, side by side. */
struct vl_findings_view {
	const struct vl_comparison *comparison;
	struct vl_findings *findings;
	struct vl_figure (*figures)[VL_METRIC_COUNT]; /* by group, of the shown point */
	unsigned int *points;                         /* by group; UINT_MAX: none */
	bool *whole;                                  /* by group, of the shown point */
	bool *alike;                                  /* by group, for vl_findings_ties */
	unsigned int count;
};

static inline bool vl_findings_has(const struct vl_findings_view *view, unsigned int group,
				   enum vl_metric metric)
{
	return view->points[group] != UINT_MAX && view->figures[group][metric].count;
}

static inline double vl_findings_value(const struct vl_findings_view *view, unsigned int group,
				       enum vl_metric metric)
{
	return view->figures[group][metric].mean;
}

static inline const char *vl_findings_label(const struct vl_findings_view *view, unsigned int group,
					    char text[VL_PLAN_LABEL])
{
	return vl_plan_point_label(view->comparison->plan, view->points[group], text);
}

static inline const char *vl_findings_time(double ns, char text[VL_QUANTITY_TEXT])
{
	return vl_quantity_text(VL_QUANTITY_DURATION, (uint64_t)ns, text);
}

/* "A and B within 3 %": the groups that are alike, but the best. "": there are none. */
const char *vl_findings_ties(const struct vl_findings_view *view, unsigned int best,
			     char text[VL_FINDINGS_TIES_TEXT]);

/* Adds a sentence, if there is room. */
void vl_findings_say(struct vl_findings *findings, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void vl_findings_limit(struct vl_findings *findings, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* findings_sweep.c: the best and the worst points of a sweep, and what each parameter does. */
void vl_findings_say_sweep(const struct vl_comparison *comparison, struct vl_findings *findings);
/* findings_victims.c: whether a class does so much worse than at its best point that it is a
 * victim. */
bool vl_findings_is_much_worse(const struct vl_victim *victim, double p99, double goodput);
/* findings_jobs.c: where the jobs of workloads are shortest, and what DCQCN does to them. */
void vl_findings_say_jobs(const struct vl_findings_view *view);
/* findings_limits.c */
void vl_findings_say_limits(const struct vl_findings_view *view);

#endif
