/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The sections of the report page, each a file of its own. */
#ifndef VERBLINE_COMPARE_PAGE_H
#define VERBLINE_COMPARE_PAGE_H

#include "apps/compare/comparison.h"
#include "apps/compare/findings.h"
#include "apps/report/html.h"

/* A group that is drawn, by one of its points. */
struct vl_page_group {
	unsigned int group, point;
	unsigned int series; /* its colour */
	char label[VL_PLAN_LABEL];
	const struct vl_record *record; /* of the point's first seed that is done */
	struct vl_figure figures[VL_METRIC_COUNT];
};

struct vl_page {
	FILE *out;
	const struct vl_comparison *comparison;
	const struct vl_plan *plan;
	/* Of those that are done, as many as are told apart. */
	struct vl_page_group groups[VL_SVG_SERIES];
	unsigned int group_count;
	unsigned int hidden_groups; /* that are done and not drawn */
	unsigned int class_count;   /* of every record */
	/* For plots to fill in and throw away. */
	struct vl_histogram *times;
};

/* "KB" of a metric for people, with a true micro sign. */
const char *vl_page_unit(const struct vl_metric_description *metric);
/* Figures with as many digits as they deserve. */
#define VL_PAGE_NUMBER 48
const char *vl_page_number(double value, const struct vl_metric_description *metric,
			   char text[VL_PAGE_NUMBER]);
/* Text in which times are written as on terminals, with true micro signs. NULL: no memory; else to
 * be freed. */
char *vl_page_true_units(const char *text);
/* A label cut to so many characters, ended by an ellipsis. */
const char *vl_page_short(const char *label, unsigned int length, char text[VL_PLAN_LABEL]);
/* The keys of all groups. */
void vl_page_keys(const struct vl_page *page);

/* A column of bars: a value and its text for each group; NAN: the group has none. */
struct vl_page_column {
	const char *title, *unit;
	double values[VL_SVG_SERIES];
	char texts[VL_SVG_SERIES][VL_PAGE_NUMBER];
};
void vl_page_bars(const struct vl_page *page, const struct vl_page_column *columns,
		  unsigned int count, const char *name);

void vl_page_summary(const struct vl_page *page);
void vl_page_workloads(const struct vl_page *page);
void vl_page_completion(const struct vl_page *page);
void vl_page_series(const struct vl_page *page);
void vl_page_links(const struct vl_page *page);
void vl_page_counters(const struct vl_page *page);
void vl_page_victims(const struct vl_page *page);
void vl_page_sweep(const struct vl_page *page);
void vl_page_reproduce(const struct vl_page *page);

#endif
