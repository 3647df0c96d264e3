/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/compare/page.h"

#include <math.h>

#define MAX_ROWS 200u
/* A figure so near to the best is called as good. */
#define AS_GOOD 0.005

/* Those that say something are shown. */
static const enum vl_metric columns[] = {
	VL_METRIC_goodput_bps,
	VL_METRIC_job_time_ns,
	VL_METRIC_slowdown,
	VL_METRIC_completion_p50_ns,
	VL_METRIC_completion_p99_ns,
	VL_METRIC_jain_index,
	VL_METRIC_queue_mean_bytes,
	VL_METRIC_queue_max_bytes,
	VL_METRIC_paused_ns,
	VL_METRIC_credit_stalled_ns,
	VL_METRIC_marked,
	VL_METRIC_notifications,
	VL_METRIC_dropped,
	VL_METRIC_retransmitted,
	VL_METRIC_stalled,
	VL_METRIC_incomplete,
};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

struct sheet {
	const struct vl_page *page;
	bool shown[COLUMNS];
	double best[VL_METRIC_COUNT];
};

static bool is_best(const struct vl_figure *figure, const struct vl_metric_description *metric,
		    double best)
{
	return metric->better && figure->count && fabs(figure->mean - best) <= AS_GOOD * fabs(best);
}

/* The best of each metric among the points that are whole, and whether there is anything to choose:
 * NAN if not. */
static void find_best(const struct vl_page *page, double best[VL_METRIC_COUNT])
{
	struct vl_figure figures[VL_METRIC_COUNT];
	double low[VL_METRIC_COUNT], high[VL_METRIC_COUNT];
	bool is_whole;

	for (unsigned int i = 0; i < VL_METRIC_COUNT; i++) {
		low[i] = INFINITY;
		high[i] = -INFINITY;
		best[i] = NAN;
	}
	for (unsigned int point = 0; point < page->plan->point_count; point++) {
		is_whole = vl_comparison_is_whole(page->comparison, point);
		vl_comparison_figures(page->comparison, point, figures);
		for (unsigned int i = 0; i < VL_METRIC_COUNT; i++) {
			if (!figures[i].count)
				continue;
			low[i] = fmin(low[i], figures[i].mean);
			high[i] = fmax(high[i], figures[i].mean);
			if (!is_whole)
				continue;
			best[i] = isnan(best[i]) ? figures[i].mean
				  : vl_metric_describe(i)->better > 0
					  ? fmax(best[i], figures[i].mean)
					  : fmin(best[i], figures[i].mean);
		}
	}
	for (unsigned int i = 0; i < VL_METRIC_COUNT; i++) {
		if (high[i] - low[i] <= AS_GOOD * fabs(high[i]))
			best[i] = NAN;
	}
}

static void put_header(const struct sheet *sheet)
{
	FILE *out = sheet->page->out;
	char title[VL_METRIC_TITLE];

	fputs("<thead><tr><th scope=\"col\"></th>", out);
	for (unsigned int i = 0; i < COLUMNS; i++) {
		const struct vl_metric_description *metric = vl_metric_describe(columns[i]);

		if (!sheet->shown[i])
			continue;
		fputs("<th scope=\"col\">", out);
		vl_html_text(out, vl_comparison_title(sheet->page->comparison, columns[i], title));
		fputs("<small>", out);
		vl_html_text(out, vl_page_unit(metric));
		fputs("</small></th>", out);
	}
	fputs("</tr></thead>\n", out);
}

static void put_cell(FILE *out, const struct vl_figure *figure,
		     const struct vl_metric_description *metric, double best)
{
	char text[3][VL_PAGE_NUMBER];

	fputs(is_best(figure, metric, best) ? "<td class=\"best\">" : "<td>", out);
	if (!figure->count) {
		fputs("\xe2\x80\x93</td>", out);
		return;
	}
	fputs(vl_page_number(figure->mean, metric, text[0]), out);
	if (figure->count > 1 && figure->least < figure->most)
		fprintf(out, "<span class=\"spread\">%s\xe2\x80\x93%s</span>",
			vl_page_number(figure->least, metric, text[1]),
			vl_page_number(figure->most, metric, text[2]));
	fputs("</td>", out);
}

static const char *state(const struct vl_page *page, unsigned int point)
{
	const struct vl_run *run;

	for (unsigned int i = 0; i < page->plan->repeat; i++) {
		run = vl_comparison_run(page->comparison, point, i);
		if (run->state == VL_RUN_FAILED)
			return " (failed)";
		if (run->state == VL_RUN_NOT_DONE)
			return " (not done)";
		if (!run->record->head.is_good)
			return " (incomplete)";
	}
	return vl_comparison_is_whole(page->comparison, point) ? "" : " (stalled)";
}

static void put_rows(const struct sheet *sheet)
{
	const struct vl_page *page = sheet->page;
	unsigned int rows = page->plan->point_count < MAX_ROWS ? page->plan->point_count : MAX_ROWS;
	struct vl_figure figures[VL_METRIC_COUNT];
	char label[VL_PLAN_LABEL];
	const char *remark;
	bool is_whole;

	for (unsigned int point = 0; point < rows; point++) {
		remark = state(page, point);
		fprintf(page->out, "<tr%s><td class=\"name\">", *remark ? " class=\"bad\"" : "");
		vl_html_text(page->out, vl_plan_point_label(page->plan, point, label));
		fprintf(page->out, "%s</td>", remark);
		is_whole = vl_comparison_is_whole(page->comparison, point);
		vl_comparison_figures(page->comparison, point, figures);
		for (unsigned int i = 0; i < COLUMNS; i++) {
			if (sheet->shown[i])
				put_cell(page->out, &figures[columns[i]],
					 vl_metric_describe(columns[i]),
					 is_whole ? sheet->best[columns[i]] : NAN);
		}
		fputs("</tr>\n", page->out);
	}
	if (rows < page->plan->point_count)
		fprintf(page->out,
			"<tr><td colspan=\"%u\">and %u more, which the CSV and JSON files have"
			"</td></tr>\n",
			(unsigned int)COLUMNS + 1, page->plan->point_count - rows);
}

static void put_failures(const struct vl_page *page)
{
	const struct vl_plan *plan = page->plan;
	char label[VL_PLAN_LABEL];

	for (unsigned int i = 0; i < plan->point_count * plan->repeat; i++) {
		const struct vl_run *run = &page->comparison->runs[i];

		if (run->state == VL_RUN_FAILED)
			vl_html_paragraph(page->out, "warning", "%s, seed %llu: %s",
					  vl_plan_point_label(plan, i / plan->repeat, label),
					  (unsigned long long)plan->base->seed + i % plan->repeat,
					  run->problem ? run->problem : "out of memory");
	}
}

static bool has_partial(const struct vl_page *page)
{
	for (unsigned int point = 0; point < page->plan->point_count; point++) {
		if (!vl_comparison_is_whole(page->comparison, point))
			return true;
	}
	return false;
}

void vl_page_summary(const struct vl_page *page)
{
	const struct vl_record *any = vl_comparison_any_record(page->comparison);
	struct sheet sheet = {.page = page};

	for (unsigned int i = 0; i < COLUMNS; i++)
		sheet.shown[i] = vl_comparison_has(page->comparison, columns[i]);
	find_best(page, sheet.best);
	vl_html_section(page->out, "summary", "Side by side");
	vl_html_paragraph(
		page->out, "note",
		"Times, goodput, fairness, use and queues are of the measured window, "
		"from the warm-up to the end of the last job; counts are of the whole run. "
		"Completion times are of all messages of all flows and workloads together%s%s. A "
		"triangle marks the best of a column%s%s.",
		vl_comparison_has(page->comparison, VL_METRIC_job_time_ns)
			? "; job time and slowdown are means of the workload that is named, "
			  "others are below"
			: "",
		any && any->head.bottlenecks > 1
			? "; queues are of the line where they are longest, as many lines are "
			  "asked for alike"
			: "",
		has_partial(page) ? "; rows that are incomplete or stalled get none, as what never "
				    "came through is not in their figures"
				  : "",
		page->plan->repeat > 1 ? "; below a mean stands the range over the seeds" : "");
	fputs("<div class=\"scroll\"><table>\n", page->out);
	put_header(&sheet);
	fputs("<tbody>\n", page->out);
	put_rows(&sheet);
	fputs("</tbody></table></div>\n", page->out);
	put_failures(page);
	vl_html_section_end(page->out);
}
