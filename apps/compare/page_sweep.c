/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Sweeps: lines over one parameter, heat maps over two. Of more, each combination of the others is
 * a heat map of its own. */

#include "apps/compare/page.h"

#include <math.h>
#include <string.h>

#define MAX_MAPS    32u
#define MAP_LEFT    82
#define MAP_HEAD    8
#define MAP_FOOT    44
#define CELL_HEIGHT 28
#define MAP_WIDTH   360
#define DARK        0.55
/* So many equals are not called the best. */
#define MANY    3u
#define AS_GOOD 0.0005

static const enum vl_metric metrics[] = {
	VL_METRIC_slowdown,          VL_METRIC_job_time_ns,      VL_METRIC_completion_p99_ns,
	VL_METRIC_goodput_bps,       VL_METRIC_queue_mean_bytes, VL_METRIC_paused_ns,
	VL_METRIC_credit_stalled_ns, VL_METRIC_marked,           VL_METRIC_dropped,
};
#define METRICS (sizeof(metrics) / sizeof(metrics[0]))

/* What all groups of a metric share, so that their colours compare. */
struct scale {
	const struct vl_page *page;
	const struct vl_metric_description *description;
	enum vl_metric metric;
	double least, most;
	double best; /* NAN: many are */
};

/* What reads the same is as good. */
static bool is_best(const struct scale *scale, unsigned int point, const struct vl_figure *figure)
{
	return figure->count && fabs(figure->mean - scale->best) <= AS_GOOD * fabs(scale->best) &&
	       vl_comparison_is_whole(scale->page->comparison, point);
}

static unsigned int count_best(const struct scale *scale)
{
	struct vl_figure figures[VL_METRIC_COUNT];
	unsigned int count = 0;

	for (unsigned int i = 0; i < scale->page->plan->point_count; i++) {
		vl_comparison_figures(scale->page->comparison, i, figures);
		count += is_best(scale, i, &figures[scale->metric]);
	}
	return count;
}

/* False: the metric does not change, so there is nothing to see. */
static bool find_scale(const struct vl_page *page, enum vl_metric metric, struct scale *scale)
{
	struct vl_figure figures[VL_METRIC_COUNT];

	*scale = (struct scale){.page = page,
				.description = vl_metric_describe(metric),
				.metric = metric,
				.least = INFINITY,
				.most = -INFINITY,
				.best = NAN};
	int better = scale->description->better;
	for (unsigned int i = 0; i < page->plan->point_count; i++) {
		vl_comparison_figures(page->comparison, i, figures);
		if (!figures[metric].count)
			continue;
		scale->least = fmin(scale->least, figures[metric].mean);
		scale->most = fmax(scale->most, figures[metric].mean);
		if (!vl_comparison_is_whole(page->comparison, i))
			continue;
		scale->best = better > 0 ? fmax(scale->best, figures[metric].mean)
					 : fmin(scale->best, figures[metric].mean);
	}
	if (!better || count_best(scale) > MANY)
		scale->best = NAN;
	return isfinite(scale->least) && scale->most > scale->least;
}

static const char *last_part(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot ? dot + 1 : path;
}

static void put_title(const struct scale *scale, const char *label, const char *others)
{
	fputs("<figcaption><b>", scale->page->out);
	vl_html_text(scale->page->out, label);
	fputs("</b>", scale->page->out);
	vl_html_text(scale->page->out, others);
	fputs("</figcaption>", scale->page->out);
}

/* ---- Two parameters -------------------------------------------------------------------------- */

static void put_value(const struct scale *scale, unsigned int point, double x, double y,
		      double width)
{
	const struct vl_page *page = scale->page;
	struct vl_figure figures[VL_METRIC_COUNT];
	const struct vl_figure *figure = &figures[scale->metric];
	char text[VL_PAGE_NUMBER], label[VL_PLAN_LABEL], tip[VL_PLAN_LABEL + 100];
	bool is_whole = vl_comparison_is_whole(page->comparison, point);
	double part;

	vl_comparison_figures(page->comparison, point, figures);
	vl_svg_cell(page->out, x, y, width - 2, CELL_HEIGHT - 2, "cell", 1, NULL);
	if (!figure->count) {
		vl_svg_text(page->out, x + width / 2, y + 17, "middle", "value muted",
			    "\xe2\x80\x93");
		return;
	}
	part = (figure->mean - scale->least) / (scale->most - scale->least);
	vl_page_number(figure->mean, scale->description, text);
	snprintf(tip, sizeof(tip), "%s: %s %s", vl_plan_point_label(page->plan, point, label), text,
		 vl_page_unit(scale->description));
	vl_svg_cell(page->out, x, y, width - 2, CELL_HEIGHT - 2, "heat", 0.04 + 0.96 * part, tip);
	vl_svg_text(page->out, x + width / 2 - 1, y + 17, "middle",
		    part > DARK ? "value on-heat" : "value", "%s%s", text, is_whole ? "" : "*");
	if (is_best(scale, point, figure))
		vl_svg_cell(page->out, x + 1, y + 1, width - 4, CELL_HEIGHT - 4, "best", 0, NULL);
}

/* first: of the points over the last two sweeps, which lie together. */
static void put_map(const struct scale *scale, unsigned int first, const char *label,
		    const char *others)
{
	const struct vl_plan *plan = scale->page->plan;
	const struct vl_text_list *down = &plan->sweeps[plan->sweep_count - 2],
				  *across = &plan->sweeps[plan->sweep_count - 1];
	int height = MAP_HEAD + CELL_HEIGHT * (int)down->count + MAP_FOOT;
	double width = (MAP_WIDTH - MAP_LEFT - 2) / (double)across->count;
	int whole = width < 48 ? MAP_LEFT + 48 * (int)across->count + 2 : MAP_WIDTH;
	FILE *out = scale->page->out;
	char text[VL_PLAN_LABEL];

	if (width < 48)
		width = 48;
	fputs("<figure class=\"scroll\">", out);
	put_title(scale, label, others);
	vl_svg_begin(out, whole, height, scale->description->title);
	for (unsigned int row = 0; row < down->count; row++) {
		vl_svg_text(out, MAP_LEFT - 6, MAP_HEAD + CELL_HEIGHT * (row + 0.5) + 3, "end",
			    "tick", "%s", vl_page_short(down->texts[row], 9, text));
		for (unsigned int column = 0; column < across->count; column++)
			put_value(scale, first + row * across->count + column,
				  MAP_LEFT + width * column, MAP_HEAD + CELL_HEIGHT * row, width);
	}
	for (unsigned int column = 0; column < across->count; column++)
		vl_svg_text(out, MAP_LEFT + width * (column + 0.5), height - MAP_FOOT + 15,
			    "middle", "tick", "%s", vl_page_short(across->texts[column], 9, text));
	vl_svg_text(out, MAP_LEFT + width * across->count / 2, height - 10, "middle", "axis-title",
		    "%s", last_part(across->name));
	vl_svg_text_upward(out, 12, MAP_HEAD + CELL_HEIGHT * down->count / 2.0,
			   last_part(down->name));
	vl_svg_end(out);
	fputs("</figure>\n", out);
}

/* The values of all sweeps but the last two, as ", x=1". */
static void describe_others(const struct vl_plan *plan, unsigned int point,
			    char text[VL_PLAN_LABEL])
{
	size_t used = 0;

	text[0] = '\0';
	for (unsigned int i = 0; i + 2 < plan->sweep_count && used < VL_PLAN_LABEL; i++)
		used += (size_t)snprintf(text + used, VL_PLAN_LABEL - used, ", %s=%s",
					 last_part(plan->sweeps[i].name),
					 plan->sweeps[i].texts[plan->points[point].values[i]]);
}

static unsigned int put_maps(const struct scale *scale, unsigned int room)
{
	const struct vl_plan *plan = scale->page->plan;
	unsigned int cells = plan->sweeps[plan->sweep_count - 2].count *
			     plan->sweeps[plan->sweep_count - 1].count;
	char label[VL_PLAN_LABEL], others[VL_PLAN_LABEL];
	unsigned int drawn = 0;

	for (unsigned int point = 0; point < plan->point_count && drawn < room; point += cells) {
		vl_plan_group_label(plan, vl_plan_group(plan, point), label);
		describe_others(plan, point, others);
		put_map(scale, point, label, others);
		drawn++;
	}
	return drawn;
}

/* ---- One parameter --------------------------------------------------------------------------- */

#define LINE_WIDTH  540
#define LINE_HEIGHT 230

static void put_curve(const struct scale *scale, const struct vl_page_group *group,
		      const struct vl_axis *x, const struct vl_axis *y)
{
	const struct vl_page *page = scale->page;
	unsigned int first = group->group * page->plan->sweep_points;
	struct vl_figure figures[VL_METRIC_COUNT];
	bool is_first = true;

	vl_svg_path_begin(page->out, "line", group->series);
	for (unsigned int i = 0; i < page->plan->sweep_points; i++) {
		vl_comparison_figures(page->comparison, first + i, figures);
		if (!figures[scale->metric].count)
			continue;
		vl_svg_path_point(page->out, is_first, vl_axis_place(x, i),
				  vl_axis_place(y, figures[scale->metric].mean /
							   scale->description->divisor));
		is_first = false;
	}
	vl_svg_path_end(page->out);
	for (unsigned int i = 0; i < page->plan->sweep_points; i++) {
		vl_comparison_figures(page->comparison, first + i, figures);
		if (figures[scale->metric].count)
			fprintf(page->out,
				"<circle class=\"%s s%u\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\"/>\n",
				vl_comparison_is_whole(page->comparison, first + i) ? "dot"
										    : "line solid",
				group->series, vl_axis_place(x, i),
				vl_axis_place(y, figures[scale->metric].mean /
							 scale->description->divisor));
	}
}

static void put_curves(const struct scale *scale)
{
	const struct vl_page *page = scale->page;
	const struct vl_text_list *sweep = &page->plan->sweeps[0];
	struct vl_axis x = {.from = 72, .to = LINE_WIDTH - 24, .high = sweep->count - 1};
	struct vl_axis y = {.from = LINE_HEIGHT - 44, .to = 10};
	unsigned int step = (sweep->count + 7) / 8;
	char own[VL_METRIC_TITLE], title[VL_METRIC_TITLE + 20], text[VL_PLAN_LABEL];

	vl_axis_fit(&y, fmin(0, scale->least / scale->description->divisor),
		    scale->most / scale->description->divisor, false);
	vl_comparison_title(page->comparison, scale->metric, own);
	snprintf(title, sizeof(title), "%s%s%s", own, *scale->description->shown_unit ? ", " : "",
		 vl_page_unit(scale->description));
	fputs("<figure>", page->out);
	put_title(scale, own, "");
	vl_svg_begin(page->out, LINE_WIDTH, LINE_HEIGHT, title);
	vl_svg_axes(page->out, &x, &y, last_part(sweep->name), vl_page_unit(scale->description));
	for (unsigned int i = 0; i < sweep->count; i += step)
		vl_svg_text(page->out, vl_axis_place(&x, i), y.from + 16, "middle", "tick", "%s",
			    vl_page_short(sweep->texts[i], 9, text));
	for (unsigned int i = 0; i < page->group_count; i++)
		put_curve(scale, &page->groups[i], &x, &y);
	vl_svg_end(page->out);
	fputs("</figure>\n", page->out);
}

/* Of the curves, which are of whole groups. */
static void put_keys(const struct vl_page *page)
{
	char label[VL_PLAN_LABEL];

	fputs("<div class=\"keys\">", page->out);
	for (unsigned int i = 0; i < page->group_count; i++)
		vl_html_key(page->out, page->groups[i].series,
			    vl_plan_group_label(page->plan, page->groups[i].group, label));
	fputs("</div>\n", page->out);
}

void vl_page_sweep(const struct vl_page *page)
{
	const struct vl_plan *plan = page->plan;
	char title[VL_METRIC_TITLE];
	unsigned int drawn = 0;
	struct scale scale;

	if (!plan->sweep_count)
		return;
	vl_html_section(page->out, "sweep", "The sweep");
	if (plan->sweep_count == 1) {
		vl_html_paragraph(
			page->out, "note",
			"Over %s; its values are evenly spaced, whatever they are. An empty "
			"ring is a point where not everything came through.",
			plan->sweeps[0].name);
		put_keys(page);
		fputs("<div class=\"plots\">\n", page->out);
	} else {
		vl_html_paragraph(page->out, "note",
				  "Over %s (down) and %s (across). Within a row of maps a stronger "
				  "colour is more, on one scale for all; a frame marks the best of "
				  "those where everything came through, and an asterisk "
				  "stands where not everything did.",
				  plan->sweeps[plan->sweep_count - 2].name,
				  plan->sweeps[plan->sweep_count - 1].name);
	}
	for (unsigned int i = 0; i < METRICS; i++) {
		if (!find_scale(page, metrics[i], &scale))
			continue;
		if (plan->sweep_count == 1) {
			put_curves(&scale);
			continue;
		}
		if (drawn >= MAX_MAPS)
			break;
		fputs("<h3>", page->out);
		vl_html_printf(page->out, "%s, %s",
			       vl_comparison_title(page->comparison, metrics[i], title),
			       vl_page_unit(scale.description));
		fputs("</h3>\n<div class=\"plots three\">\n", page->out);
		drawn += put_maps(&scale, MAX_MAPS - drawn);
		fputs("</div>\n", page->out);
	}
	if (plan->sweep_count == 1)
		fputs("</div>\n", page->out);
	vl_html_section_end(page->out);
}
