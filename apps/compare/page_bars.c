/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* A row for each group, a column for each figure, every value with a bar on its column's scale. */

#include "apps/compare/page.h"

#include <math.h>

#define NAME_WIDTH   130
#define COLUMN_WIDTH 158
#define BAR_WIDTH    84
#define ROW_HEIGHT   24
#define HEAD         40

static void put_column(const struct vl_page *page, const struct vl_page_column *column, double x)
{
	double most = 0, width, y;
	char class[16];

	for (unsigned int i = 0; i < page->group_count; i++)
		most = fmax(most, isnan(column->values[i]) ? 0 : column->values[i]);
	vl_svg_text(page->out, x, HEAD - 22, "start", "value strong", "%s", column->title);
	vl_svg_text(page->out, x, HEAD - 8, "start", "tick", "%s", column->unit);
	for (unsigned int i = 0; i < page->group_count; i++) {
		y = HEAD + ROW_HEIGHT * (double)i;
		width = most > 0 && column->values[i] > 0 ? column->values[i] / most * BAR_WIDTH
							  : 0;
		snprintf(class, sizeof(class), "bar s%u", page->groups[i].series);
		if (width > 0)
			vl_svg_cell(page->out, x, y + 3, fmax(width, 1), ROW_HEIGHT - 9, class, 1,
				    NULL);
		vl_svg_text(page->out, x + width + (width > 0 ? 5 : 0), y + 15, "start",
			    column->values[i] > 0 ? "value" : "value muted", "%s",
			    isnan(column->values[i]) ? "\xe2\x80\x93" : column->texts[i]);
	}
}

void vl_page_bars(const struct vl_page *page, const struct vl_page_column *columns,
		  unsigned int count, const char *name)
{
	char text[VL_PLAN_LABEL];

	fputs("<figure class=\"scroll\">", page->out);
	vl_svg_begin(page->out, NAME_WIDTH + COLUMN_WIDTH * (int)count,
		     HEAD + ROW_HEIGHT * (int)page->group_count + 4, name);
	for (unsigned int i = 0; i < page->group_count; i++)
		vl_svg_text(page->out, 0, HEAD + ROW_HEIGHT * (double)i + 15, "start",
			    "value strong", "%s", vl_page_short(page->groups[i].label, 19, text));
	for (unsigned int i = 0; i < count; i++)
		put_column(page, &columns[i], NAME_WIDTH + COLUMN_WIDTH * (double)i);
	vl_svg_end(page->out);
	fputs("</figure>\n", page->out);
}
