/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/compare/report.h"

#include <string.h>

#define CELL 24

/* What fits a terminal: the rest is in the files. */
static const enum vl_metric columns[] = {
	VL_METRIC_goodput_bps,       VL_METRIC_job_time_ns,
	VL_METRIC_slowdown,          VL_METRIC_completion_p50_ns,
	VL_METRIC_completion_p99_ns, VL_METRIC_jain_index,
	VL_METRIC_queue_mean_bytes,  VL_METRIC_paused_ns,
	VL_METRIC_credit_stalled_ns, VL_METRIC_marked,
	VL_METRIC_notifications,     VL_METRIC_dropped,
	VL_METRIC_retransmitted,     VL_METRIC_stalled,
};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

static void format_figure(enum vl_metric metric, const struct vl_figure *figure, char text[CELL])
{
	const struct vl_metric_description *description = vl_metric_describe(metric);

	if (figure->count)
		snprintf(text, CELL, "%.*f", description->decimals,
			 figure->mean / description->divisor);
	else
		snprintf(text, CELL, "-");
}

/* All cells of a column are as wide as the widest. Of width 0: not shown, as it says nothing. */
struct table {
	const struct vl_comparison *comparison;
	char (*cells)[COLUMNS][CELL]; /* by point */
	int label_width, widths[COLUMNS];
};

static void widen(int *width, size_t length)
{
	if ((int)length > *width)
		*width = (int)length;
}

/* The title's first word, what is left of it, and the unit: one under the other. */
static const char *header(const struct vl_comparison *comparison, enum vl_metric metric,
			  unsigned int line, char text[VL_METRIC_TITLE])
{
	size_t length;

	if (line == 2)
		return vl_metric_describe(metric)->shown_unit;
	vl_comparison_title(comparison, metric, text);
	length = strcspn(text, " ");
	if (line == 1)
		return text[length] ? text + length + 1 : "";
	text[length] = '\0';
	return text;
}

static void fill(struct table *table)
{
	const struct vl_plan *plan = table->comparison->plan;
	struct vl_figure figures[VL_METRIC_COUNT];
	char label[VL_PLAN_LABEL], title[VL_METRIC_TITLE];

	for (unsigned int i = 0; i < COLUMNS; i++) {
		table->widths[i] = 0;
		for (unsigned int line = 0;
		     line < 3 && vl_comparison_has(table->comparison, columns[i]); line++)
			widen(&table->widths[i],
			      strlen(header(table->comparison, columns[i], line, title)));
	}
	for (unsigned int point = 0; point < plan->point_count; point++) {
		widen(&table->label_width, strlen(vl_plan_point_label(plan, point, label)));
		vl_comparison_figures(table->comparison, point, figures);
		for (unsigned int i = 0; i < COLUMNS; i++) {
			format_figure(columns[i], &figures[columns[i]], table->cells[point][i]);
			if (table->widths[i])
				widen(&table->widths[i], strlen(table->cells[point][i]));
		}
	}
}

static const char *state(const struct vl_comparison *comparison, unsigned int point)
{
	unsigned int failed = 0, missing = 0;
	bool is_good = true;
	const struct vl_run *run;

	for (unsigned int i = 0; i < comparison->plan->repeat; i++) {
		run = vl_comparison_run(comparison, point, i);
		failed += run->state == VL_RUN_FAILED;
		missing += run->state == VL_RUN_NOT_DONE;
		is_good &= !run->record || run->record->head.is_good;
	}
	return failed ? "  failed" : missing ? "  not done" : is_good ? "" : "  incomplete";
}

static void put_cell(const struct table *table, unsigned int column, const char *text, FILE *out)
{
	if (table->widths[column])
		fprintf(out, "  %*s", table->widths[column], text);
}

static void print(const struct table *table, FILE *out)
{
	const struct vl_plan *plan = table->comparison->plan;
	char label[VL_PLAN_LABEL], title[VL_METRIC_TITLE];

	for (unsigned int line = 0; line < 3; line++) {
		fprintf(out, "%-*s", table->label_width, "");
		for (unsigned int i = 0; i < COLUMNS; i++)
			put_cell(table, i, header(table->comparison, columns[i], line, title), out);
		fputc('\n', out);
	}
	for (unsigned int point = 0; point < plan->point_count; point++) {
		fprintf(out, "%-*s", table->label_width, vl_plan_point_label(plan, point, label));
		for (unsigned int i = 0; i < COLUMNS; i++)
			put_cell(table, i, table->cells[point][i], out);
		fprintf(out, "%s\n", state(table->comparison, point));
	}
}

void vl_compare_table(const struct vl_comparison *comparison, FILE *out)
{
	struct table table = {.comparison = comparison};

	table.cells = calloc(comparison->plan->point_count, sizeof(*table.cells));
	if (!table.cells) {
		fprintf(out, "out of memory for the table\n");
		return;
	}
	fill(&table);
	print(&table, out);
	if (comparison->plan->repeat > 1)
		fprintf(out, "Each line is the mean of %u seeds.\n", comparison->plan->repeat);
	free(table.cells);
}
