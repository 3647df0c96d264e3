/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* How long messages took: the distribution, and its tail on a scale that shows it. */

#include "apps/compare/page.h"

#include <math.h>
#include <string.h>

#define WIDTH       540
#define HEIGHT      290
#define STEPS       200
#define TAIL_STEPS  90
#define MAX_CLASSES 4u
/* The tail is drawn down to such a part of the messages. */
#define LEAST_PART 1e-4

/* One class on all groups. */
struct plot {
	const struct vl_page *page;
	unsigned int class_number;
	struct vl_axis x;
	uint64_t messages; /* of the group with most */
	double least_part; /* of the tail */
};

/* The completion times on a group; false: none. */
static bool load(const struct plot *plot, unsigned int group)
{
	const struct vl_page *page = plot->page;

	memset(page->times, 0, sizeof(*page->times));
	vl_comparison_times(page->comparison, page->groups[group].point, plot->class_number,
			    page->times);
	return page->times->count != 0;
}

/* False: no message of the class was completed anywhere. */
static bool fit(struct plot *plot)
{
	const struct vl_histogram *times = plot->page->times;
	double low = INFINITY, high = 0;

	for (unsigned int i = 0; i < plot->page->group_count; i++) {
		if (!load(plot, i))
			continue;
		low = fmin(low, times->least ? (double)times->least : 1);
		high = fmax(high, (double)times->most);
		if (times->count > plot->messages)
			plot->messages = times->count;
	}
	if (!plot->messages)
		return false;
	plot->x = (struct vl_axis){.from = 62, .to = WIDTH - 30, .unit = VL_AXIS_TIME};
	vl_axis_fit(&plot->x, low * 0.9, high * 1.1, true);
	plot->least_part = fmax(LEAST_PART, 1 / (double)plot->messages);
	return true;
}

static void put_lines(const struct plot *plot, const struct vl_axis *y, bool is_tail)
{
	const struct vl_page *page = plot->page;
	int steps = is_tail ? TAIL_STEPS : STEPS;
	double part, share, time;

	for (unsigned int i = 0; i < page->group_count; i++) {
		if (!load(plot, i))
			continue;
		vl_svg_path_begin(page->out, "line", page->groups[i].series);
		for (int step = 0; step <= steps; step++) {
			part = is_tail ? 1 - pow(plot->least_part, (double)step / steps)
				       : (double)step / steps;
			share = is_tail ? 1 - part : part;
			time = step ? (double)vl_histogram_percentile(page->times, part)
				    : (double)page->times->least;
			vl_svg_path_point(page->out, step == 0, vl_axis_place(&plot->x, time),
					  vl_axis_place(y, share));
		}
		vl_svg_path_end(page->out);
	}
}

static void put_figure(const struct plot *plot, const char *name, bool is_tail)
{
	FILE *out = plot->page->out;
	struct vl_axis y = {.from = HEIGHT - 44, .to = 12, .unit = VL_AXIS_PART};
	char title[200];

	if (is_tail) {
		vl_axis_fit(&y, plot->least_part, 1, true);
		y.tick_count = 0;
		for (double part = 1; part >= plot->least_part * 0.999; part /= 10)
			y.ticks[y.tick_count++] = part;
	} else {
		vl_axis_fit(&y, 0, 1, false);
	}
	fputs("<figure><figcaption><b>", out);
	vl_html_text(out, name);
	fputs(is_tail ? "</b>: its tail, messages that took longer than a time"
		      : "</b>: messages that were done within a time",
	      out);
	fputs("</figcaption>", out);
	snprintf(title, sizeof(title), "%s of the completion times of %s",
		 is_tail ? "Tail" : "Distribution", name);
	vl_svg_begin(out, WIDTH, HEIGHT, title);
	vl_svg_axes(out, &plot->x, &y, "completion time of a message (logarithmic)",
		    is_tail ? "share that took longer" : "share of messages");
	if (!is_tail) {
		vl_svg_line(out, plot->x.from, vl_axis_place(&y, 0.5), plot->x.to,
			    vl_axis_place(&y, 0.5), "guide");
		vl_svg_line(out, plot->x.from, vl_axis_place(&y, 0.99), plot->x.to,
			    vl_axis_place(&y, 0.99), "guide");
		vl_svg_text(out, plot->x.to + 3, vl_axis_place(&y, 0.5) + 4, "start", "tick",
			    "p50");
		vl_svg_text(out, plot->x.to + 3, vl_axis_place(&y, 0.99) + 4, "start", "tick",
			    "p99");
	}
	put_lines(plot, &y, is_tail);
	vl_svg_end(out);
	fputs("</figure>\n", out);
}

void vl_page_completion(const struct vl_page *page)
{
	const struct vl_record_class *classes = page->groups[0].record->classes;
	unsigned int drawn = 0, left = 0;

	vl_html_section(page->out, "completion", "Completion times");
	vl_page_keys(page);
	fputs("<div class=\"plots\">\n", page->out);
	for (unsigned int i = 0; i < page->class_count; i++) {
		struct plot plot = {.page = page, .class_number = i};

		if (!fit(&plot))
			continue;
		if (drawn == MAX_CLASSES) {
			left++;
			continue;
		}
		put_figure(&plot, classes[i].name, false);
		put_figure(&plot, classes[i].name, true);
		drawn++;
	}
	fputs("</div>\n", page->out);
	if (!drawn)
		vl_html_paragraph(page->out, "note",
				  "No message was completed in the measured window.");
	if (left)
		vl_html_paragraph(page->out, "note",
				  "%u more flows or workloads are in the CSV and JSON files.",
				  left);
	vl_html_section_end(page->out);
}
