/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Tidy data: every row is one thing of one run (the run as a whole, a flow, a workload, a link),
 * every column one variable; what does not apply to a thing is empty. Units are in the names.
 */

#include "apps/compare/report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Quoted where it must be. A spreadsheet takes what begins with = + - @ for a formula, so such
 * text gets a quotation mark before it. */
static void put_text(const char *text, FILE *out)
{
	bool is_formula = *text && strchr("=+-@\t\r", *text);

	if (!is_formula && !text[strcspn(text, ",\"\r\n")]) {
		fputs(text, out);
		return;
	}
	fputc('"', out);
	if (is_formula)
		fputc('\'', out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

static void put_real(double value, FILE *out)
{
	fputc(',', out);
	if (isfinite(value))
		fprintf(out, "%.10g", value);
}

static void put_whole(uint64_t value, FILE *out)
{
	fprintf(out, ",%" PRIu64, value);
}

static void put_empty(unsigned int count, FILE *out)
{
	while (count--)
		fputc(',', out);
}

/* Columns of the classes and links; those of the whole run are the metrics. */
#define CLASS_COLUMNS                                                                              \
	",queue_pairs,messages,completion_mean_ns,completion_p90_ns,completion_p99_9_ns,jobs,"     \
	"jobs_finished,job_p50_ns,job_p99_ns,job_max_ns,slowdown_p99,algbw_bps,busbw_bps,"         \
	"deadline_missed"
#define CLASS_COLUMN_COUNT 14u
#define JOB_COLUMN_COUNT   9u
#define LINK_COLUMNS       ",rate_bps,bytes"
#define LINK_COLUMN_COUNT  2u

static void put_header(const struct vl_plan *plan, FILE *out)
{
	fputs("fabric,variant", out);
	for (unsigned int i = 0; i < plan->sweep_count; i++) {
		fputc(',', out);
		put_text(plan->sweeps[i].name, out);
	}
	fputs(",seed,state,kind,name,to", out);
	for (unsigned int i = 0; i < VL_METRIC_COUNT; i++)
		fprintf(out, ",%s", vl_metric_describe(i)->name);
	fputs(CLASS_COLUMNS LINK_COLUMNS "\n", out);
}

static const char *state_name(const struct vl_run *run)
{
	if (run->record)
		return run->record->head.is_good ? "done" : "incomplete";
	return run->state == VL_RUN_FAILED ? "failed" : "not_done";
}

/* What tells the run and the thing apart. */
static void put_key(const struct vl_plan *plan, unsigned int point, unsigned int repetition,
		    const struct vl_run *run, const char *kind, const char *name, const char *to,
		    FILE *out)
{
	const struct vl_plan_point *at = &plan->points[point];

	put_text(plan->fabrics[at->fabric], out);
	fputc(',', out);
	put_text(plan->variants[at->variant].name, out);
	for (unsigned int i = 0; i < plan->sweep_count; i++) {
		fputc(',', out);
		put_text(plan->sweeps[i].texts[at->values[i]], out);
	}
	fprintf(out, ",%" PRIu64 ",%s,%s,", plan->base->seed + repetition, state_name(run), kind);
	put_text(name, out);
	fputc(',', out);
	put_text(to, out);
}

static void put_values(const double values[VL_METRIC_COUNT], FILE *out)
{
	for (unsigned int i = 0; i < VL_METRIC_COUNT; i++)
		put_real(values[i], out);
}

static void clear(double values[VL_METRIC_COUNT])
{
	for (unsigned int i = 0; i < VL_METRIC_COUNT; i++)
		values[i] = NAN;
}

static void put_jobs(const struct vl_record_jobs *jobs, FILE *out)
{
	put_whole(jobs->all, out);
	put_whole(jobs->finished, out);
	put_real(jobs->finished ? jobs->p50 : NAN, out);
	put_real(jobs->finished ? jobs->p99 : NAN, out);
	put_real(jobs->finished ? jobs->most : NAN, out);
	put_real(jobs->finished ? jobs->slowdown_p99 : NAN, out);
	put_real(jobs->algbw > 0 ? jobs->algbw : NAN, out);
	put_real(jobs->busbw > 0 ? jobs->busbw : NAN, out);
	put_real(jobs->has_deadline ? (double)jobs->missed : NAN, out);
}

static void put_class(const struct vl_record *record, const struct vl_record_class *class,
		      struct vl_histogram *times, FILE *out)
{
	double values[VL_METRIC_COUNT];

	memset(times, 0, sizeof(*times));
	vl_record_add_times(record, class, times);
	clear(values);
	values[VL_METRIC_goodput_bps] = class->goodput;
	values[VL_METRIC_incomplete] = class->failed + class->unfinished;
	values[VL_METRIC_stalled] = class->kind == VL_RECORD_FLOW ? class->stalled : NAN;
	if (class->kind == VL_RECORD_WORKLOAD && class->jobs.finished) {
		values[VL_METRIC_job_time_ns] = class->jobs.mean;
		values[VL_METRIC_slowdown] = class->jobs.slowdown_mean;
	}
	if (times->count) {
		values[VL_METRIC_completion_p50_ns] = (double)vl_histogram_percentile(times, 0.5);
		values[VL_METRIC_completion_p99_ns] = (double)vl_histogram_percentile(times, 0.99);
		values[VL_METRIC_completion_max_ns] = (double)times->most;
	}
	put_values(values, out);
	put_whole(class->qps, out);
	put_whole(class->messages, out);
	put_real(times->count ? vl_histogram_mean(times) : NAN, out);
	put_real(times->count ? (double)vl_histogram_percentile(times, 0.9) : NAN, out);
	put_real(times->count ? (double)vl_histogram_percentile(times, 0.999) : NAN, out);
	if (class->kind == VL_RECORD_WORKLOAD)
		put_jobs(&class->jobs, out);
	else
		put_empty(JOB_COLUMN_COUNT, out);
	put_empty(LINK_COLUMN_COUNT, out);
	fputc('\n', out);
}

static void put_link(const struct vl_record_link *link, FILE *out)
{
	double values[VL_METRIC_COUNT];

	clear(values);
	values[VL_METRIC_utilization] = link->utilization;
	values[VL_METRIC_queue_mean_bytes] = link->queue_mean;
	values[VL_METRIC_queue_max_bytes] = (double)link->queue_max;
	values[VL_METRIC_paused_ns] = (double)link->paused_ns;
	values[VL_METRIC_credit_stalled_ns] = (double)link->stalled_ns;
	values[VL_METRIC_marked] = (double)link->marked;
	values[VL_METRIC_dropped] = (double)link->dropped;
	put_values(values, out);
	put_empty(CLASS_COLUMN_COUNT, out);
	put_real(link->rate, out);
	put_whole(link->bytes, out);
	fputc('\n', out);
}

static void put_run(const struct vl_comparison *comparison, unsigned int point,
		    unsigned int repetition, struct vl_histogram *times, FILE *out)
{
	const struct vl_plan *plan = comparison->plan;
	const struct vl_run *run = vl_comparison_run(comparison, point, repetition);
	const struct vl_record *record = run->record;
	double values[VL_METRIC_COUNT];

	clear(values);
	if (record)
		vl_record_measure(record, values);
	put_key(plan, point, repetition, run, "run", "", "", out);
	put_values(values, out);
	put_empty(CLASS_COLUMN_COUNT + LINK_COLUMN_COUNT, out);
	fputc('\n', out);
	for (unsigned int i = 0; record && i < record->head.class_count; i++) {
		put_key(plan, point, repetition, run,
			record->classes[i].kind == VL_RECORD_WORKLOAD ? "workload" : "flow",
			record->classes[i].name, "", out);
		put_class(record, &record->classes[i], times, out);
	}
	for (unsigned int i = 0; record && i < record->head.link_count; i++) {
		put_key(plan, point, repetition, run, "link", record->links[i].from,
			record->links[i].to, out);
		put_link(&record->links[i], out);
	}
}

void vl_compare_csv(const struct vl_comparison *comparison, FILE *out)
{
	struct vl_histogram *times = malloc(sizeof(*times));

	put_header(comparison->plan, out);
	for (unsigned int point = 0; times && point < comparison->plan->point_count; point++) {
		for (unsigned int n = 0; n < comparison->plan->repeat; n++)
			put_run(comparison, point, n, times, out);
	}
	free(times);
}
