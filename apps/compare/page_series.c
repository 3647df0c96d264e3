/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Throughput and the bottleneck's queue over time: one row a group, all on the same scales. */

#include "apps/compare/page.h"

#include <math.h>
#include <string.h>

#define WIDTH      540
#define HEIGHT     180
#define RIGHT      92 /* for the names of lines */
#define MAX_LINES  4u
#define LINE_SPACE 13
/* Where a logarithmic axis of a queue begins, KB: about a packet. */
#define LEAST_QUEUE 4.0
#define MUCH_LARGER 6.0

/* To the end and no further: ticks beyond it have no place. */
static void fit_time(struct vl_axis *x, double end)
{
	vl_axis_fit(x, 0, end, false);
	x->high = end;
	while (x->tick_count && x->ticks[x->tick_count - 1] > end)
		x->tick_count--;
}

static double time_end(const struct vl_page *page)
{
	double end = 0;

	for (unsigned int i = 0; i < page->group_count; i++) {
		const struct vl_record *record = page->groups[i].record;

		if (record->head.sample_count)
			end = fmax(end,
				   (double)record->samples[record->head.sample_count - 1].time);
	}
	return end;
}

/* Lines of a throughput plot: the classes, or all together where they are many. */
static bool has_classes(const struct vl_page *page)
{
	bool are_traced = page->class_count <= MAX_LINES;

	for (unsigned int i = 0; i < page->group_count; i++)
		are_traced = are_traced && page->groups[i].record->head.is_traced;
	return are_traced;
}

static unsigned int line_count(const struct vl_page *page)
{
	return has_classes(page) ? page->class_count : 1;
}

static double line_value(const struct vl_page *page, const struct vl_record_sample *sample,
			 unsigned int line)
{
	return (has_classes(page) ? sample->classes[line] : sample->goodput) / 1e9;
}

static double highest_rate(const struct vl_page *page)
{
	double most = 0;

	for (unsigned int i = 0; i < page->group_count; i++) {
		const struct vl_record *record = page->groups[i].record;

		for (unsigned int n = 0; n < record->head.sample_count; n++) {
			for (unsigned int line = 0; line < line_count(page); line++)
				most = fmax(most, line_value(page, &record->samples[n], line));
		}
	}
	return most;
}

static double peak_queue(const struct vl_record *record)
{
	double most = 0;

	for (unsigned int i = 0; i < record->head.sample_count; i++)
		most = fmax(most, (double)record->samples[i].queue_max);
	return most / 1e3;
}

/* One axis for all groups, logarithmic where some would be too small to be seen beside others. */
static struct vl_axis queue_axis(const struct vl_page *page)
{
	struct vl_axis y = {.from = HEIGHT - 40, .to = 8};
	double most = 0, least = INFINITY, peak;

	for (unsigned int i = 0; i < page->group_count; i++) {
		peak = peak_queue(page->groups[i].record);
		most = fmax(most, peak);
		least = fmin(least, peak);
	}
	if (most > MUCH_LARGER * least && most > 10 * LEAST_QUEUE)
		vl_axis_fit(&y, LEAST_QUEUE, most, true);
	else
		vl_axis_fit(&y, 0, most, false);
	return y;
}

/* What is not measured lies in shade. */
static void shade_warm_up(const struct vl_page *page, const struct vl_record *record,
			  const struct vl_axis *x, const struct vl_axis *y)
{
	double at = vl_axis_place(x, (double)record->head.window_start);

	if (record->head.window_start)
		vl_svg_cell(page->out, x->from, y->to, at - x->from, y->from - y->to, "shade", 0.14,
			    "warm-up, not measured");
}

/* Names at the ends of lines, pushed apart. */
static void put_names(const struct vl_page *page, const struct vl_record *record,
		      const struct vl_axis *x, const struct vl_axis *y)
{
	double at[MAX_LINES], last = -INFINITY;
	unsigned int order[MAX_LINES], count = line_count(page), kept;
	char text[VL_PLAN_LABEL];

	for (unsigned int line = 0; line < count; line++) {
		order[line] = line;
		at[line] = vl_axis_place(
			y, line_value(page, &record->samples[record->head.sample_count - 1], line));
	}
	for (unsigned int i = 1; i < count; i++) {
		for (unsigned int n = i; n && at[order[n]] < at[order[n - 1]]; n--) {
			kept = order[n];
			order[n] = order[n - 1];
			order[n - 1] = kept;
		}
	}
	/* None below the axis: those above make room. */
	for (unsigned int i = count; i-- > 0;)
		at[order[i]] = fmin(at[order[i]], y->from - LINE_SPACE * (double)(count - 1 - i));
	for (unsigned int i = 0; i < count; i++) {
		last = fmax(at[order[i]], last + LINE_SPACE);
		vl_svg_text(page->out, x->to + 6, last + 4, "start", "value", "%s",
			    vl_page_short(record->classes[order[i]].name, 14, text));
	}
}

static void put_rates(const struct vl_page *page, const struct vl_page_group *group, double end,
		      double most)
{
	const struct vl_record *record = group->record;
	struct vl_axis x = {.from = 62, .to = WIDTH - RIGHT, .unit = VL_AXIS_TIME};
	struct vl_axis y = {.from = HEIGHT - 40, .to = 8};

	fit_time(&x, end);
	vl_axis_fit(&y, 0, most, false);
	fputs("<figure><figcaption><b>", page->out);
	vl_html_text(page->out, group->label);
	fputs("</b>: payload that arrives</figcaption>", page->out);
	vl_svg_begin(page->out, WIDTH, HEIGHT, "Throughput over time");
	vl_svg_axes(page->out, &x, &y, "virtual time", "Gb/s");
	shade_warm_up(page, record, &x, &y);
	for (unsigned int line = 0; line < line_count(page); line++) {
		bool is_bystander = has_classes(page) && !record->classes[line].crosses_bottleneck;

		vl_svg_path_begin(page->out, is_bystander ? "line bystander" : "line solid",
				  group->series);
		for (unsigned int i = 0; i < record->head.sample_count; i++)
			vl_svg_path_point(
				page->out, i == 0,
				vl_axis_place(&x, (double)record->samples[i].time),
				vl_axis_place(&y, line_value(page, &record->samples[i], line)));
		vl_svg_path_end(page->out);
	}
	if (record->head.sample_count && has_classes(page))
		put_names(page, record, &x, &y);
	vl_svg_end(page->out);
	fputs("</figure>\n", page->out);
}

static void put_threshold(const struct vl_page *page, const struct vl_axis *x,
			  const struct vl_axis *y, double bytes, const char *name)
{
	double at = vl_axis_place(y, bytes / 1e3);

	if (bytes <= 0 || bytes / 1e3 > y->high)
		return;
	vl_svg_line(page->out, x->from, at, x->to, at, "guide");
	vl_svg_text(page->out, x->to + 6, at + 4, "start", "tick", "%s", name);
}

static void put_queue(const struct vl_page *page, const struct vl_page_group *group, double end,
		      struct vl_axis y)
{
	const struct vl_record *record = group->record;
	struct vl_axis x = {.from = 62, .to = WIDTH - RIGHT, .unit = VL_AXIS_TIME};
	unsigned int count = record->head.sample_count;

	fit_time(&x, end);
	fputs("<figure><figcaption><b>", page->out);
	vl_html_text(page->out, group->label);
	fputs("</b>: queue at the bottleneck</figcaption>", page->out);
	vl_svg_begin(page->out, WIDTH, HEIGHT, "Queue at the bottleneck over time");
	vl_svg_axes(page->out, &x, &y, "virtual time", y.is_log ? "KB (logarithmic)" : "KB");
	shade_warm_up(page, record, &x, &y);
	put_threshold(page, &x, &y, (double)record->head.kmin, "Kmin");
	put_threshold(page, &x, &y, (double)record->head.kmax, "Kmax");
	vl_svg_path_begin(page->out, "band", group->series);
	for (unsigned int i = 0; i < count; i++)
		vl_svg_path_point(page->out, i == 0,
				  vl_axis_place(&x, (double)record->samples[i].time),
				  vl_axis_place(&y, (double)record->samples[i].queue_max / 1e3));
	for (unsigned int i = count; i-- > 0;)
		vl_svg_path_point(page->out, false,
				  vl_axis_place(&x, (double)record->samples[i].time),
				  vl_axis_place(&y, 0));
	vl_svg_path_end(page->out);
	vl_svg_path_begin(page->out, "line solid", group->series);
	for (unsigned int i = 0; i < count; i++)
		vl_svg_path_point(page->out, i == 0,
				  vl_axis_place(&x, (double)record->samples[i].time),
				  vl_axis_place(&y, record->samples[i].queue_mean / 1e3));
	vl_svg_path_end(page->out);
	vl_svg_end(page->out);
	fputs("</figure>\n", page->out);
}

void vl_page_series(const struct vl_page *page)
{
	const struct vl_record_head *head = &page->groups[0].record->head;
	double end = time_end(page), rate = highest_rate(page);
	struct vl_axis queue = queue_axis(page);

	if (end <= 0)
		return;
	vl_html_section(page->out, "time", "Throughput and queue over time");
	vl_html_paragraph(
		page->out, "note",
		"All rows have the same scales. Left: payload that arrives at the receivers%s. "
		"Right: the queue "
		"of the line from %s to %s, %s: the line is its mean over each "
		"interval, the colour below its maximum.%s%s",
		has_classes(page) ? "; flows that do not cross the bottleneck are drawn with dashes"
				  : ", all flows and workloads together",
		head->bottleneck_from, head->bottleneck_to,
		head->bottlenecks > 1 ? "one of several that are asked for alike"
				      : "where most flows meet",
		head->window_start ? " The grey part is the warm-up, which is not measured." : "",
		page->plan->repeat > 1 ? " Of the first seed." : "");
	fputs("<div class=\"plots\">\n", page->out);
	for (unsigned int i = 0; i < page->group_count; i++) {
		put_rates(page, &page->groups[i], end, rate);
		put_queue(page, &page->groups[i], end, queue);
	}
	fputs("</div>\n", page->out);
	vl_html_section_end(page->out);
}
