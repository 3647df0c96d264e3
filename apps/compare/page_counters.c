/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What fabrics did to hold traffic back: marks, notifications, pauses, losses. */

#include "apps/compare/page.h"

#include <math.h>

static const struct {
	enum vl_metric metric;
	const char *title, *unit;
} counters[] = {
	{VL_METRIC_marked, "ECN or FECN marks", "packets"},
	{VL_METRIC_notifications, "CNPs or BECNs", "packets"},
	{VL_METRIC_paused_ns, "paused by PFC", "\xc2\xb5s, all ports added"},
	{VL_METRIC_credit_stalled_ns, "without credits", "\xc2\xb5s, all ports added"},
	{VL_METRIC_dropped, "dropped", "packets"},
	{VL_METRIC_retransmitted, "sent again", "packets"},
};
#define COUNTERS (sizeof(counters) / sizeof(counters[0]))

void vl_page_counters(const struct vl_page *page)
{
	struct vl_page_column columns[COUNTERS];
	const struct vl_metric_description *metric;
	const struct vl_figure *figure;

	for (unsigned int i = 0; i < COUNTERS; i++) {
		columns[i].title = counters[i].title;
		columns[i].unit = counters[i].unit;
		metric = vl_metric_describe(counters[i].metric);
		for (unsigned int n = 0; n < page->group_count; n++) {
			figure = &page->groups[n].figures[counters[i].metric];
			columns[i].values[n] = figure->count ? figure->mean : NAN;
			vl_page_number(columns[i].values[n], metric, columns[i].texts[n]);
		}
	}
	vl_html_section(page->out, "counters", "Marks, notifications, pauses, losses");
	vl_html_paragraph(
		page->out, "note",
		"Of the whole run. Each column has a scale of its own; a dash stands where a "
		"fabric has no such thing.");
	vl_page_bars(page, columns, COUNTERS,
		     "Marks, notifications, pauses, credit stalls, drops and retransmissions");
	vl_html_section_end(page->out);
}
