/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Flows that do not cross the bottleneck, and what its congestion does to them all the same. */

#include "apps/compare/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH       540
#define LEFT        120
#define ROW_HEIGHT  24
#define MAX_CLASSES 6u

/* One bystander's figures on all groups. */
struct bystander {
	struct vl_victim victim;
	double p99[VL_SVG_SERIES], goodput[VL_SVG_SERIES]; /* p99 NAN: no message completed */
};

static void measure(const struct vl_page *page, struct bystander *bystander)
{
	unsigned int number = bystander->victim.class_number;

	for (unsigned int i = 0; i < page->group_count; i++) {
		memset(page->times, 0, sizeof(*page->times));
		vl_comparison_times(page->comparison, page->groups[i].point, number, page->times);
		bystander->p99[i] = page->times->count
					    ? (double)vl_histogram_percentile(page->times, 0.99)
					    : NAN;
		bystander->goodput[i] = vl_comparison_class_goodput(page->comparison,
								    page->groups[i].point, number);
	}
}

/* A row for each group: a stem and a dot, the value beside it. */
static void put_dots(const struct vl_page *page, const struct bystander *bystander, bool is_time)
{
	int height = ROW_HEIGHT * (int)page->group_count + 52;
	struct vl_axis x = {.from = LEFT, .to = WIDTH - 84}, y = {.from = height - 44, .to = 6};
	const double *values = is_time ? bystander->p99 : bystander->goodput;
	char text[VL_QUANTITY_TEXT], label[VL_PLAN_LABEL], *shown;
	double most = 0, at, row;

	for (unsigned int i = 0; i < page->group_count; i++)
		most = fmax(most, isnan(values[i]) ? 0 : values[i]);
	x.unit = is_time ? VL_AXIS_TIME : VL_AXIS_PLAIN;
	vl_axis_fit(&x, 0, is_time ? most : most / 1e9, false);
	vl_svg_begin(page->out, WIDTH, height,
		     is_time ? "Completion time p99 of a bystander" : "Goodput of a bystander");
	vl_svg_axes(page->out, &x, &y, is_time ? "completion time, p99" : "goodput, Gb/s", NULL);
	for (unsigned int i = 0; i < page->group_count; i++) {
		row = 6 + ROW_HEIGHT * (i + 0.5);
		vl_svg_text(page->out, LEFT - 8, row + 4, "end", "value", "%s",
			    vl_page_short(page->groups[i].label, 17, label));
		if (isnan(values[i])) {
			vl_svg_text(page->out, LEFT + 6, row + 4, "start", "value muted",
				    "nothing completed");
			continue;
		}
		at = vl_axis_place(&x, is_time ? values[i] : values[i] / 1e9);
		fprintf(page->out,
			"<path class=\"line solid s%u\" d=\"M%d %.1fL%.1f %.1f\"/>"
			"<circle class=\"dot s%u\" cx=\"%.1f\" cy=\"%.1f\" r=\"5\"/>\n",
			page->groups[i].series, LEFT, row, at, row, page->groups[i].series, at,
			row);
		vl_quantity_text(is_time ? VL_QUANTITY_DURATION : VL_QUANTITY_RATE,
				 (uint64_t)values[i], text);
		shown = vl_page_true_units(text);
		vl_svg_text(page->out, at + 10, row + 4, "start", "value", "%s",
			    shown ? shown : text);
		free(shown);
	}
	vl_svg_end(page->out);
}

static void put_bystander(const struct vl_page *page, const struct vl_victim *victim)
{
	const char *name = page->groups[0].record->classes[victim->class_number].name;
	struct bystander bystander = {.victim = *victim};
	char best[VL_PLAN_LABEL], worst[VL_PLAN_LABEL];

	measure(page, &bystander);
	fputs("<h3>", page->out);
	vl_html_text(page->out, name);
	fputs("</h3>\n", page->out);
	if (isinf(victim->worst_p99))
		vl_html_paragraph(page->out, "note",
				  "A victim: on %s it completes no message in the measured window.",
				  vl_plan_point_label(page->plan, victim->worst, worst));
	else if (vl_compare_is_victim(victim))
		vl_html_paragraph(
			page->out, "note",
			"A victim: on %s its slowest messages take %.1f times as long as on %s, "
			"and it gets %.0f %% of the payload through.",
			vl_plan_point_label(page->plan, victim->worst, worst),
			victim->best_p99 > 0 ? victim->worst_p99 / victim->best_p99 : 1,
			vl_plan_point_label(page->plan, victim->best, best),
			victim->best_goodput > 0
				? victim->worst_goodput * 100 / victim->best_goodput
				: 100);
	else
		vl_html_paragraph(page->out, "note",
				  "Not a victim: it fares about the same on all of them.");
	fputs("<div class=\"plots\"><figure>", page->out);
	put_dots(page, &bystander, true);
	fputs("</figure><figure>", page->out);
	put_dots(page, &bystander, false);
	fputs("</figure></div>\n", page->out);
}

void vl_page_victims(const struct vl_page *page)
{
	struct vl_victim victim;
	unsigned int drawn = 0;

	if (page->group_count < 2)
		return;
	vl_html_section(page->out, "victims", "Bystanders and victims");
	vl_html_paragraph(page->out, "note",
			  "Flows and workloads that never cross the bottleneck. What they lose on "
			  "one fabric against the best of those compared, they lose to congestion "
			  "that is not theirs.");
	for (unsigned int i = 0; i < page->class_count && drawn < MAX_CLASSES; i++) {
		if (!vl_compare_bystander(page->comparison, i, &victim))
			continue;
		put_bystander(page, &victim);
		drawn++;
	}
	if (!drawn)
		vl_html_paragraph(page->out, "",
				  "There are none here: all of them cross the bottleneck.");
	vl_html_section_end(page->out);
}
