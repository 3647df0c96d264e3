/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/compare/findings.h"
#include "apps/compare/report.h"

#include <limits.h>
#include <math.h>

#define JSON_SCHEMA_VERSION 1

static json_t *real(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *whole(uint64_t value)
{
	return json_integer((json_int_t)value);
}

/* Text of the user's may hold bytes that are no UTF-8: then it is left out. */
static json_t *text_json(const char *text)
{
	json_t *string = json_string(text);

	return string ? string : json_null();
}

static json_t *figures_json(const struct vl_comparison *comparison, unsigned int point)
{
	struct vl_figure figures[VL_METRIC_COUNT];
	json_t *object = json_object(), *figure;

	vl_comparison_figures(comparison, point, figures);
	for (unsigned int i = 0; i < VL_METRIC_COUNT; i++) {
		figure = json_null();
		if (figures[i].count) {
			figure = json_object();
			json_object_set_new(figure, "mean", real(figures[i].mean));
			json_object_set_new(figure, "min", real(figures[i].least));
			json_object_set_new(figure, "max", real(figures[i].most));
		}
		json_object_set_new(object, vl_metric_describe(i)->name, figure);
	}
	return object;
}

static json_t *jobs_json(const struct vl_record_jobs *jobs)
{
	json_t *object = json_object();

	json_object_set_new(object, "count", whole(jobs->all));
	json_object_set_new(object, "finished", whole(jobs->finished));
	if (jobs->has_deadline)
		json_object_set_new(object, "deadline_missed", whole(jobs->missed));
	if (jobs->busbw > 0) {
		json_object_set_new(object, "algbw_bps", real(jobs->algbw));
		json_object_set_new(object, "busbw_bps", real(jobs->busbw));
	}
	if (!jobs->finished)
		return object;
	json_object_set_new(object, "mean_ns", real(jobs->mean));
	json_object_set_new(object, "p50_ns", real(jobs->p50));
	json_object_set_new(object, "p99_ns", real(jobs->p99));
	json_object_set_new(object, "max_ns", real(jobs->most));
	json_object_set_new(object, "slowdown_mean", real(jobs->slowdown_mean));
	json_object_set_new(object, "slowdown_p99", real(jobs->slowdown_p99));
	return object;
}

static json_t *class_json(const struct vl_record *record, const struct vl_record_class *class,
			  struct vl_histogram *times)
{
	static const struct {
		const char *name;
		double part;
	} percentiles[] = {{"p50_ns", 0.5}, {"p90_ns", 0.9}, {"p99_ns", 0.99}, {"p99_9_ns", 0.999}};
	json_t *object = json_object(), *completion = json_object();

	*times = (struct vl_histogram){0};
	vl_record_add_times(record, class, times);
	json_object_set_new(object, "name", text_json(class->name));
	json_object_set_new(object, "kind",
			    json_string(class->kind == VL_RECORD_WORKLOAD ? "workload" : "flow"));
	json_object_set_new(object, "crosses_bottleneck", json_boolean(class->crosses_bottleneck));
	json_object_set_new(object, "queue_pairs", whole(class->qps));
	json_object_set_new(object, "failed", whole(class->failed));
	json_object_set_new(object, "unfinished", whole(class->unfinished));
	if (class->kind == VL_RECORD_FLOW)
		json_object_set_new(object, "stalled", whole(class->stalled));
	json_object_set_new(object, "goodput_bps", real(class->goodput));
	json_object_set_new(object, "messages", whole(class->messages));
	json_object_set_new(completion, "count", whole(times->count));
	if (times->count) {
		json_object_set_new(completion, "mean_ns", real(vl_histogram_mean(times)));
		json_object_set_new(completion, "min_ns", whole(times->least));
		json_object_set_new(completion, "max_ns", whole(times->most));
	}
	for (unsigned int i = 0; times->count && i < 4; i++)
		json_object_set_new(completion, percentiles[i].name,
				    whole(vl_histogram_percentile(times, percentiles[i].part)));
	json_object_set_new(object, "flow_completion_time", completion);
	if (class->kind == VL_RECORD_WORKLOAD)
		json_object_set_new(object, "jobs", jobs_json(&class->jobs));
	return object;
}

static json_t *link_json(const struct vl_record_link *link)
{
	json_t *object = json_object();

	json_object_set_new(object, "from", text_json(link->from));
	json_object_set_new(object, "to", text_json(link->to));
	json_object_set_new(object, "rate_bps", real(link->rate));
	json_object_set_new(object, "utilization", real(link->utilization));
	json_object_set_new(object, "bytes", whole(link->bytes));
	json_object_set_new(object, "paused_ns", whole(link->paused_ns));
	json_object_set_new(object, "credit_stalled_ns", whole(link->stalled_ns));
	json_object_set_new(object, "marked", whole(link->marked));
	json_object_set_new(object, "dropped", whole(link->dropped));
	json_object_set_new(object, "queue_mean_bytes", real(link->queue_mean));
	json_object_set_new(object, "queue_max_bytes", whole(link->queue_max));
	return object;
}

/* Columns, not rows: shorter, and what plotting wants. */
static json_t *series_json(const struct vl_record *record)
{
	json_t *object = json_object(), *time = json_array(), *utilization = json_array(),
	       *goodput = json_array(), *mean = json_array(), *most = json_array();
	const struct vl_record_sample *sample;

	for (unsigned int i = 0; i < record->head.sample_count; i++) {
		sample = &record->samples[i];
		json_array_append_new(time, whole(sample->time));
		json_array_append_new(utilization, real(sample->utilization));
		json_array_append_new(goodput, real(sample->goodput));
		json_array_append_new(mean, real(sample->queue_mean));
		json_array_append_new(most, whole(sample->queue_max));
	}
	json_object_set_new(object, "time_ns", time);
	json_object_set_new(object, "utilization", utilization);
	json_object_set_new(object, "goodput_bps", goodput);
	json_object_set_new(object, "queue_mean_bytes", mean);
	json_object_set_new(object, "queue_max_bytes", most);
	return object;
}

static json_t *totals_json(const struct vl_totals *totals)
{
	json_t *object = json_object();

#define PUT_TOTAL(name, unit, meaning) json_object_set_new(object, #name, whole(totals->name));
	VL_TOTALS(PUT_TOTAL)
#undef PUT_TOTAL
	return object;
}

static json_t *run_json(const struct vl_comparison *comparison, unsigned int point,
			unsigned int repetition, struct vl_histogram *times)
{
	static const char *const states[] = {
		[VL_RUN_NOT_DONE] = "not_done", [VL_RUN_DONE] = "done", [VL_RUN_FAILED] = "failed"};
	const struct vl_run *run = vl_comparison_run(comparison, point, repetition);
	json_t *object = json_object(), *classes = json_array(), *links = json_array();
	const struct vl_record *record = run->record;

	json_object_set_new(object, "seed", whole(comparison->plan->base->seed + repetition));
	json_object_set_new(object, "state", json_string(states[run->state]));
	if (run->problem)
		json_object_set_new(object, "problem", text_json(run->problem));
	for (unsigned int i = 0; record && i < record->head.class_count; i++)
		json_array_append_new(classes, class_json(record, &record->classes[i], times));
	for (unsigned int i = 0; record && i < record->head.link_count; i++)
		json_array_append_new(links, link_json(&record->links[i]));
	if (record) {
		json_object_set_new(object, "good", json_boolean(record->head.is_good));
		json_object_set_new(object, "end_ns", whole(record->head.end));
		json_object_set_new(object, "window_start_ns", whole(record->head.window_start));
		json_object_set_new(object, "window_end_ns", whole(record->head.window_end));
		json_object_set_new(object, "bottleneck",
				    json_pack("{s:s, s:s}", "from", record->head.bottleneck_from,
					      "to", record->head.bottleneck_to));
		json_object_set_new(object, "totals", totals_json(&record->head.totals));
		json_object_set_new(object, "time_series", series_json(record));
	}
	json_object_set_new(object, "classes", classes);
	json_object_set_new(object, "links", links);
	return object;
}

static json_t *point_json(const struct vl_comparison *comparison, unsigned int point,
			  struct vl_histogram *times)
{
	const struct vl_plan *plan = comparison->plan;
	const struct vl_plan_point *at = &plan->points[point];
	json_t *object = json_object(), *runs = json_array(), *sweep = json_object();
	char label[VL_PLAN_LABEL], *command = NULL;
	size_t size;
	FILE *out;

	json_object_set_new(object, "label", text_json(vl_plan_point_label(plan, point, label)));
	json_object_set_new(object, "fabric", text_json(plan->fabrics[at->fabric]));
	json_object_set_new(object, "variant", text_json(plan->variants[at->variant].name));
	for (unsigned int i = 0; i < plan->sweep_count; i++)
		json_object_set_new(sweep, plan->sweeps[i].name,
				    text_json(plan->sweeps[i].texts[at->values[i]]));
	json_object_set_new(object, "sweep", sweep);
	out = open_memstream(&command, &size);
	if (out) {
		vl_plan_print_command(plan, point, out);
		if (!fclose(out))
			json_object_set_new(object, "command", text_json(command));
		free(command);
	}
	json_object_set_new(object, "figures", figures_json(comparison, point));
	for (unsigned int i = 0; i < plan->repeat; i++)
		json_array_append_new(runs, run_json(comparison, point, i, times));
	json_object_set_new(object, "runs", runs);
	return object;
}

static json_t *metrics_json(void)
{
	json_t *object = json_object();

	for (unsigned int i = 0; i < VL_METRIC_COUNT; i++)
		json_object_set_new(object, vl_metric_describe(i)->name,
				    json_string(vl_metric_describe(i)->unit));
	return object;
}

static json_t *sentences_json(char *const *texts, unsigned int count)
{
	json_t *array = json_array();

	for (unsigned int i = 0; i < count; i++)
		json_array_append_new(array, text_json(texts[i]));
	return array;
}

/* Whose jobs the figures job_time_ns and slowdown are of. */
static json_t *job_workload_json(const struct vl_comparison *comparison)
{
	const struct vl_record *record = vl_comparison_any_record(comparison);
	unsigned int number = record ? vl_record_job_class(record) : UINT_MAX;

	return number == UINT_MAX ? json_null() : text_json(record->classes[number].name);
}

json_t *vl_compare_json(const struct vl_comparison *comparison)
{
	const struct vl_plan *plan = comparison->plan;
	struct vl_histogram *times = malloc(sizeof(*times));
	json_t *root = json_object(), *points = json_array();
	struct vl_findings findings;

	if (!times || !root || !points) {
		free(times);
		json_decref(root);
		json_decref(points);
		return NULL;
	}
	vl_findings_make(comparison, &findings);
	json_object_set_new(root, "schema_version", whole(JSON_SCHEMA_VERSION));
	json_object_set_new(root, "verbline_version", json_string(VERBLINE_VERSION));
	json_object_set_new(root, "name", text_json(plan->base->name));
	json_object_set_new(root, "seed", whole(plan->base->seed));
	json_object_set_new(root, "complete",
			    json_boolean(!vl_comparison_count(comparison, VL_RUN_NOT_DONE)));
	json_object_set_new(root, "good", json_boolean(vl_comparison_is_good(comparison)));
	json_object_set_new(root, "units", metrics_json());
	json_object_set_new(root, "job_workload", job_workload_json(comparison));
	json_object_set_new(root, "says", sentences_json(findings.says, findings.says_count));
	json_object_set_new(root, "does_not_say",
			    sentences_json(findings.limits, findings.limits_count));
	for (unsigned int i = 0; i < plan->point_count; i++)
		json_array_append_new(points, point_json(comparison, i, times));
	json_object_set_new(root, "points", points);
	json_object_set_new(root, "scenario", text_json(plan->text));
	vl_findings_release(&findings);
	free(times);
	return root;
}
