/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/report/workload.h"

static json_t *whole(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static json_t *time_json(uint64_t time)
{
	return time == VL_WORKLOAD_NEVER ? json_null() : whole(time);
}

static json_t *distribution_json(const struct vl_distribution *distribution)
{
	json_t *object = json_object(), *points = json_array();

	json_object_set_new(object, "count", whole(distribution->count));
	if (distribution->count) {
		json_object_set_new(object, "mean", json_real(distribution->mean));
		json_object_set_new(object, "min", json_real(distribution->least));
		json_object_set_new(object, "p50", json_real(distribution->p50));
		json_object_set_new(object, "p90", json_real(distribution->p90));
		json_object_set_new(object, "p95", json_real(distribution->p95));
		json_object_set_new(object, "p99", json_real(distribution->p99));
		json_object_set_new(object, "p99.9", json_real(distribution->p999));
		json_object_set_new(object, "max", json_real(distribution->most));
		for (unsigned int i = 0; i < VL_DISTRIBUTION_POINTS; i++)
			json_array_append_new(points, json_real(distribution->points[i]));
	}
	json_object_set_new(object, "percentiles", points);
	return object;
}

static json_t *iterations_json(const struct vl_workload_metrics *metrics)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < metrics->round_count; i++) {
		const struct vl_workload_round *round = &metrics->rounds[i];
		json_t *object = json_object();

		json_object_set_new(object, "started_ns", time_json(round->started));
		json_object_set_new(object, "finished_ns", time_json(round->finished));
		if (round->algbw > 0) {
			json_object_set_new(object, "algbw_bps", json_real(round->algbw));
			json_object_set_new(object, "busbw_bps", json_real(round->busbw));
		}
		json_array_append_new(array, object);
	}
	return array;
}

static void put_times(json_t *object, const char *key, uint64_t all, uint64_t finished,
		      const struct vl_distribution *times, const struct vl_distribution *slowdown)
{
	json_t *part = json_object();

	json_object_set_new(part, "count", whole(all));
	json_object_set_new(part, "finished", whole(finished));
	json_object_set_new(part, "completion_time_ns", distribution_json(times));
	json_object_set_new(part, "slowdown", distribution_json(slowdown));
	json_object_set_new(object, key, part);
}

static void put_progress(json_t *object, const struct vl_workload_progress *progress)
{
	json_object_set_new(object, "started_ns", time_json(progress->started));
	json_object_set_new(object, "ended_ns", time_json(progress->ended));
	json_object_set_new(object, "steps", whole(progress->steps));
	json_object_set_new(object, "steps_finished", whole(progress->finished));
	json_object_set_new(object, "steps_failed", whole(progress->failed));
	json_object_set_new(object, "messages_posted", whole(progress->messages_posted));
	json_object_set_new(object, "messages_completed", whole(progress->messages_completed));
	json_object_set_new(object, "messages_arrived", whole(progress->messages_arrived));
	json_object_set_new(object, "messages_unexpected", whole(progress->unexpected));
	json_object_set_new(object, "bytes_arrived", whole(progress->bytes_arrived));
}

static json_t *workload_json(const struct vl_workload_result *result)
{
	const struct vl_workload_metrics *metrics = &result->metrics;
	json_t *object = json_object();

	json_object_set_new(object, "name", json_string(result->workload->name));
	json_object_set_new(object, "kind",
			    json_string(vl_workload_kind_name(result->workload->kind)));
	json_object_set_new(object, "ranks", whole(result->workload->rank_count));
	json_object_set_new(object, "priority", whole(result->workload->priority));
	put_progress(object, &metrics->progress);
	json_object_set_new(object, "goodput_bps", json_real(metrics->goodput));
	json_object_set_new(object, "jain_index", json_real(metrics->jain));
	if (metrics->algbw > 0) {
		json_object_set_new(object, "algbw_bps", json_real(metrics->algbw));
		json_object_set_new(object, "busbw_bps", json_real(metrics->busbw));
	}
	if (metrics->ideal_round > 0)
		json_object_set_new(object, "ideal_iteration_ns", json_real(metrics->ideal_round));
	if (result->workload->deadline) {
		json_object_set_new(object, "deadline_ns", whole(result->workload->deadline));
		json_object_set_new(object, "deadline_missed", whole(metrics->missed));
	}
	put_times(object, "transfers", metrics->all_transfers, metrics->transfers,
		  &metrics->transfer_times, &metrics->transfer_slowdown);
	put_times(object, "jobs", metrics->all_jobs, metrics->jobs, &metrics->job_times,
		  &metrics->job_slowdown);
	json_object_set_new(object, "iterations", iterations_json(metrics));
	return object;
}

json_t *vl_report_workloads_json(const struct vl_results *results)
{
	json_t *array = json_array();

	for (unsigned int i = 0; i < results->workload_count; i++)
		json_array_append_new(array, workload_json(&results->workloads[i]));
	return array;
}

json_t *vl_report_classes_json(const struct vl_results *results)
{
	json_t *array = json_array();

	for (unsigned int i = 0; i < results->class_count; i++) {
		const struct vl_class_result *class = &results->classes[i];
		json_t *object = json_object();

		json_object_set_new(object, "priority", whole(class->priority));
		put_times(object, "transfers", class->transfer_times.count,
			  class->transfer_times.count, &class->transfer_times,
			  &class->transfer_slowdown);
		put_times(object, "jobs", class->job_times.count, class->job_times.count,
			  &class->job_times, &class->job_slowdown);
		json_array_append_new(array, object);
	}
	return array;
}
