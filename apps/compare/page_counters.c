/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What fabrics did to hold traffic back: marks, notifications, pauses, losses, as bars. */

#include "apps/compare/page.h"

#include <math.h>

#define NAME_WIDTH   130
#define COLUMN_WIDTH 158
#define BAR_WIDTH    84
#define ROW_HEIGHT   24
#define HEAD         40

static const struct {
	enum vl_metric metric;
	const char *title, *unit;
} columns[] = {
	{VL_METRIC_marked, "ECN or FECN marks", "packets"},
	{VL_METRIC_cnp_tx, "CNPs or BECNs", "packets"},
	{VL_METRIC_paused_ns, "paused by PFC", "\xc2\xb5s, all ports added"},
	{VL_METRIC_credit_stalled_ns, "without credits", "\xc2\xb5s, all ports added"},
	{VL_METRIC_dropped, "dropped", "packets"},
	{VL_METRIC_retransmitted, "sent again", "packets"},
};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

static double most_of(const struct vl_page *page, enum vl_metric metric)
{
	double most = 0;

	for (unsigned int i = 0; i < page->group_count; i++)
		most = fmax(most, page->groups[i].figures[metric].mean);
	return most;
}

static void put_column(const struct vl_page *page, unsigned int column)
{
	const struct vl_metric_description *metric = vl_metric_describe(columns[column].metric);
	double x = NAME_WIDTH + COLUMN_WIDTH * column, most = most_of(page, columns[column].metric);
	const struct vl_figure *figure;
	char text[VL_PAGE_NUMBER], class[16];
	double y, width;

	vl_svg_text(page->out, x, HEAD - 22, "start", "value strong", "%s", columns[column].title);
	vl_svg_text(page->out, x, HEAD - 8, "start", "tick", "%s", columns[column].unit);
	for (unsigned int i = 0; i < page->group_count; i++) {
		figure = &page->groups[i].figures[columns[column].metric];
		y = HEAD + ROW_HEIGHT * (double)i;
		width = most > 0 ? figure->mean / most * BAR_WIDTH : 0;
		snprintf(class, sizeof(class), "bar s%u", page->groups[i].series);
		if (width > 0)
			vl_svg_cell(page->out, x, y + 3, fmax(width, 1), ROW_HEIGHT - 9, class, 1,
				    NULL);
		vl_svg_text(page->out, x + width + (width > 0 ? 5 : 0), y + 15, "start",
			    figure->mean > 0 ? "value" : "value muted", "%s",
			    vl_page_number(figure->mean, metric, text));
	}
}

void vl_page_counters(const struct vl_page *page)
{
	char text[VL_PLAN_LABEL];

	vl_html_section(page->out, "counters", "Marks, notifications, pauses, losses");
	vl_html_paragraph(page->out, "note",
			  "Of the whole run. Each column has a scale of its own.");
	fputs("<figure class=\"scroll\">", page->out);
	vl_svg_begin(page->out, NAME_WIDTH + COLUMN_WIDTH * (int)COLUMNS,
		     HEAD + ROW_HEIGHT * (int)page->group_count + 4,
		     "Marks, notifications, pauses, credit stalls, drops and retransmissions");
	for (unsigned int i = 0; i < page->group_count; i++)
		vl_svg_text(page->out, 0, HEAD + ROW_HEIGHT * (double)i + 15, "start",
			    "value strong", "%s", vl_page_short(page->groups[i].label, 19, text));
	for (unsigned int i = 0; i < COLUMNS; i++)
		put_column(page, i);
	vl_svg_end(page->out);
	fputs("</figure>\n", page->out);
	vl_html_section_end(page->out);
}
