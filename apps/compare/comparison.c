/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/compare/comparison.h"

#include <float.h>
#include <limits.h>
#include <math.h>

struct vl_comparison *vl_comparison_create(const struct vl_plan *plan)
{
	struct vl_comparison *comparison = calloc(1, sizeof(*comparison));

	if (!comparison)
		return NULL;
	comparison->plan = plan;
	comparison->runs =
		calloc((size_t)plan->point_count * plan->repeat, sizeof(*comparison->runs));
	if (comparison->runs)
		return comparison;
	free(comparison);
	return NULL;
}

static unsigned int run_count(const struct vl_comparison *comparison)
{
	return comparison->plan->point_count * comparison->plan->repeat;
}

void vl_comparison_destroy(struct vl_comparison *comparison)
{
	if (!comparison)
		return;
	for (unsigned int i = 0; i < run_count(comparison); i++) {
		free(comparison->runs[i].problem);
		vl_record_destroy(comparison->runs[i].record);
	}
	free(comparison->runs);
	free(comparison);
}

const struct vl_record *vl_comparison_record(const struct vl_comparison *comparison,
					     unsigned int point)
{
	const struct vl_run *run;

	for (unsigned int i = 0; i < comparison->plan->repeat; i++) {
		run = vl_comparison_run(comparison, point, i);
		if (run->record)
			return run->record;
	}
	return NULL;
}

const struct vl_record *vl_comparison_any_record(const struct vl_comparison *comparison)
{
	for (unsigned int i = 0; i < run_count(comparison); i++) {
		if (comparison->runs[i].record)
			return comparison->runs[i].record;
	}
	return NULL;
}

unsigned int vl_comparison_count(const struct vl_comparison *comparison, enum vl_run_state state)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < run_count(comparison); i++)
		count += comparison->runs[i].state == state;
	return count;
}

bool vl_comparison_is_good(const struct vl_comparison *comparison)
{
	for (unsigned int i = 0; i < run_count(comparison); i++) {
		if (!comparison->runs[i].record || !comparison->runs[i].record->head.is_good)
			return false;
	}
	return true;
}

/* ---- Figures -------------------------------------------------------------------------------- */

const struct vl_metric_description *vl_metric_describe(enum vl_metric metric)
{
	static const struct vl_metric_description descriptions[] = {
#define VL_METRIC_DESCRIPTION(name, title, unit, shown_unit, divisor, decimals, better)            \
	{#name, title, unit, shown_unit, divisor, decimals, better},
		VL_METRICS(VL_METRIC_DESCRIPTION)
#undef VL_METRIC_DESCRIPTION
	};

	return &descriptions[metric];
}

static void all_times(const struct vl_record *record, struct vl_histogram *times)
{
	for (unsigned int i = 0; i < record->head.class_count; i++)
		vl_record_add_times(record, &record->classes[i], times);
}

unsigned int vl_record_job_class(const struct vl_record *record)
{
	for (unsigned int i = 0; i < record->head.class_count; i++) {
		if (record->classes[i].kind == VL_RECORD_WORKLOAD && record->classes[i].jobs.all)
			return i;
	}
	return UINT_MAX;
}

static void measure_jobs(const struct vl_record *record, double values[VL_METRIC_COUNT])
{
	unsigned int number = vl_record_job_class(record);
	const struct vl_record_jobs *jobs =
		number == UINT_MAX ? NULL : &record->classes[number].jobs;
	bool any = jobs && jobs->finished;

	values[VL_METRIC_job_time_ns] = any ? jobs->mean : NAN;
	values[VL_METRIC_slowdown] = any && jobs->slowdown_mean > 0 ? jobs->slowdown_mean : NAN;
}

/* Of the bottleneck. Where many lines are asked for alike, none of them is: then of the line where
 * it is most. */
static void measure_lines(const struct vl_record *record, double values[VL_METRIC_COUNT])
{
	const struct vl_record_head *head = &record->head;
	double used = head->utilization, mean = head->queue_mean, most = (double)head->queue_max;

	for (unsigned int i = 0; head->bottlenecks > 1 && i < head->link_count; i++) {
		used = fmax(used, record->links[i].utilization);
		mean = fmax(mean, record->links[i].queue_mean);
		most = fmax(most, (double)record->links[i].queue_max);
	}
	values[VL_METRIC_utilization] = used;
	values[VL_METRIC_queue_mean_bytes] = head->has_queue ? mean : NAN;
	values[VL_METRIC_queue_max_bytes] = head->has_queue ? most : NAN;
}

void vl_record_measure(const struct vl_record *record, double values[VL_METRIC_COUNT])
{
	const struct vl_record_head *head = &record->head;
	const struct vl_totals *totals = &head->totals;
	struct vl_histogram *times = calloc(1, sizeof(*times));
	double incomplete = 0, stalled = 0;
	bool has_times;

	for (unsigned int i = 0; i < head->class_count; i++) {
		incomplete += record->classes[i].failed + record->classes[i].unfinished;
		stalled += record->classes[i].stalled;
	}
	measure_jobs(record, values);
	if (times)
		all_times(record, times);
	has_times = times && times->count;
	values[VL_METRIC_goodput_bps] = head->goodput;
	values[VL_METRIC_completion_p50_ns] =
		has_times ? (double)vl_histogram_percentile(times, 0.5) : NAN;
	values[VL_METRIC_completion_p99_ns] =
		has_times ? (double)vl_histogram_percentile(times, 0.99) : NAN;
	values[VL_METRIC_completion_max_ns] = has_times ? (double)times->most : NAN;
	values[VL_METRIC_jain_index] = head->jain > 0 ? head->jain : NAN;
	measure_lines(record, values);
	values[VL_METRIC_paused_ns] = head->is_infiniband ? NAN : (double)totals->pfc_paused_ns;
	values[VL_METRIC_credit_stalled_ns] =
		head->is_infiniband ? (double)totals->credit_stall_ns : NAN;
	values[VL_METRIC_marked] = (double)totals->ecn_marked;
	values[VL_METRIC_notifications] = (double)(totals->cnp_tx + totals->becn_tx);
	values[VL_METRIC_dropped] = (double)(totals->switch_drops + totals->link_losses);
	values[VL_METRIC_refused] = (double)totals->endpoint_drops;
	values[VL_METRIC_retransmitted] = (double)totals->data_frames_retransmitted;
	values[VL_METRIC_stalled] = stalled;
	values[VL_METRIC_incomplete] = incomplete;
	free(times);
}

static void add_value(struct vl_figure *figure, double value)
{
	if (isnan(value))
		return;
	if (!figure->count || value < figure->least)
		figure->least = value;
	if (!figure->count || value > figure->most)
		figure->most = value;
	figure->mean += (value - figure->mean) / ++figure->count;
}

void vl_comparison_figures(const struct vl_comparison *comparison, unsigned int point,
			   struct vl_figure figures[VL_METRIC_COUNT])
{
	double values[VL_METRIC_COUNT];
	const struct vl_run *run;

	for (unsigned int i = 0; i < VL_METRIC_COUNT; i++)
		figures[i] = (struct vl_figure){0};
	for (unsigned int n = 0; n < comparison->plan->repeat; n++) {
		run = vl_comparison_run(comparison, point, n);
		if (!run->record)
			continue;
		vl_record_measure(run->record, values);
		for (unsigned int i = 0; i < VL_METRIC_COUNT; i++)
			add_value(&figures[i], values[i]);
	}
}

const char *vl_comparison_title(const struct vl_comparison *comparison, enum vl_metric metric,
				char title[VL_METRIC_TITLE])
{
	const struct vl_record *record = vl_comparison_any_record(comparison);
	const char *own = vl_metric_describe(metric)->title;
	unsigned int number = record ? vl_record_job_class(record) : UINT_MAX;

	if ((metric != VL_METRIC_job_time_ns && metric != VL_METRIC_slowdown) || number == UINT_MAX)
		snprintf(title, VL_METRIC_TITLE, "%s", own);
	else
		snprintf(title, VL_METRIC_TITLE, "%s %s", record->classes[number].name, own);
	return title;
}

bool vl_comparison_is_whole(const struct vl_comparison *comparison, unsigned int point)
{
	const struct vl_record *record;

	for (unsigned int n = 0; n < comparison->plan->repeat; n++) {
		record = vl_comparison_run(comparison, point, n)->record;
		if (!record || !record->head.is_good)
			return false;
		for (unsigned int i = 0; i < record->head.class_count; i++) {
			if (record->classes[i].stalled)
				return false;
		}
	}
	return true;
}

bool vl_comparison_has(const struct vl_comparison *comparison, enum vl_metric metric)
{
	struct vl_figure figures[VL_METRIC_COUNT];
	bool may_be_zero = metric != VL_METRIC_credit_stalled_ns &&
			   metric != VL_METRIC_incomplete && metric != VL_METRIC_stalled &&
			   metric != VL_METRIC_refused;

	for (unsigned int i = 0; i < comparison->plan->point_count; i++) {
		vl_comparison_figures(comparison, i, figures);
		if (figures[metric].count && (may_be_zero || figures[metric].most > 0))
			return true;
	}
	return false;
}

void vl_comparison_times(const struct vl_comparison *comparison, unsigned int point,
			 unsigned int class_number, struct vl_histogram *times)
{
	const struct vl_record *record;

	for (unsigned int n = 0; n < comparison->plan->repeat; n++) {
		record = vl_comparison_run(comparison, point, n)->record;
		if (record && class_number < record->head.class_count)
			vl_record_add_times(record, &record->classes[class_number], times);
	}
}

double vl_comparison_class_goodput(const struct vl_comparison *comparison, unsigned int point,
				   unsigned int class_number)
{
	struct vl_figure figure = {0};
	const struct vl_record *record;

	for (unsigned int n = 0; n < comparison->plan->repeat; n++) {
		record = vl_comparison_run(comparison, point, n)->record;
		if (record && class_number < record->head.class_count)
			add_value(&figure, record->classes[class_number].goodput);
	}
	return figure.mean;
}

bool vl_comparison_jobs(const struct vl_comparison *comparison, unsigned int point,
			unsigned int class_number, struct vl_job_means *means)
{
	struct vl_figure time = {0}, slowdown = {0}, busbw = {0};
	const struct vl_record *record;
	const struct vl_record_class *class;

	for (unsigned int n = 0; n < comparison->plan->repeat; n++) {
		record = vl_comparison_run(comparison, point, n)->record;
		if (!record || class_number >= record->head.class_count)
			continue;
		class = &record->classes[class_number];
		if (class->kind != VL_RECORD_WORKLOAD || !class->jobs.finished)
			continue;
		add_value(&time, class->jobs.mean);
		add_value(&slowdown, class->jobs.slowdown_mean);
		add_value(&busbw, class->jobs.busbw);
	}
	*means = (struct vl_job_means){time.mean, slowdown.mean, busbw.mean};
	return time.count != 0;
}

unsigned int vl_comparison_shown_point(const struct vl_comparison *comparison, unsigned int group)
{
	unsigned int first = group * comparison->plan->sweep_points, best = UINT_MAX;
	struct vl_figure figures[VL_METRIC_COUNT];
	double least = INFINITY, fewest = INFINITY, value, missing;

	for (unsigned int i = first; i < first + comparison->plan->sweep_points; i++) {
		if (!vl_comparison_record(comparison, i))
			continue;
		vl_comparison_figures(comparison, i, figures);
		missing = figures[VL_METRIC_stalled].mean + figures[VL_METRIC_incomplete].mean;
		if (!vl_comparison_is_whole(comparison, i))
			missing = fmax(missing, 1);
		if (missing > fewest)
			continue;
		value = figures[VL_METRIC_completion_p99_ns].count
				? figures[VL_METRIC_completion_p99_ns].mean
				: DBL_MAX;
		if (value >= least && missing >= fewest)
			continue;
		least = value;
		fewest = missing;
		best = i;
	}
	return best;
}
