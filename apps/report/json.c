/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Results as JSON. Units are in the names; nothing depends on the host or on the time of day, so
 * that the same scenario and seed give the same bytes.
 */

#include "apps/report/config.h"
#include "apps/report/links.h"
#include "apps/report/results.h"
#include "apps/report/switches.h"
#include "apps/report/workload.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>

/* Columns of the time series. */
#define SERIES              10
#define JSON_SCHEMA_VERSION 1

/* jansson refuses numbers that are not finite. */
static json_t *real(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *whole(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static json_t *counters_json(const struct vl_counters *counters)
{
	json_t *object = json_object();

#define PUT_COUNTER(name, unit, meaning) json_object_set_new(object, #name, whole(counters->name));
	VL_COUNTERS(PUT_COUNTER)
#undef PUT_COUNTER
	return object;
}

static json_t *times_json(const struct vl_histogram *times)
{
	static const struct {
		const char *name;
		double part;
	} percentiles[] = {{"p50_ns", 0.5}, {"p90_ns", 0.9}, {"p99_ns", 0.99}, {"p99_9_ns", 0.999}};
	json_t *object = json_object();

	json_object_set_new(object, "count", whole(times->count));
	if (!times->count)
		return object;
	json_object_set_new(object, "mean_ns", real(vl_histogram_mean(times)));
	json_object_set_new(object, "min_ns", whole(times->least));
	for (unsigned int i = 0; i < sizeof(percentiles) / sizeof(percentiles[0]); i++)
		json_object_set_new(object, percentiles[i].name,
				    whole(vl_histogram_percentile(times, percentiles[i].part)));
	json_object_set_new(object, "max_ns", whole(times->most));
	return object;
}

/* What a flow was run with, every parameter. */
static json_t *cc_json(const struct vl_cc_parameters *cc)
{
	const struct vl_cc_description *description;
	json_t *object = json_object(), *parameters = json_object();

	json_object_set_new(object, "algorithm", json_string(cc->algorithm->name));
	json_object_set_new(object, "fixed_rate_bps", whole(cc->fixed_rate));
	json_object_set_new(object, "initial_rate_bps", whole(cc->initial_rate));
	for (unsigned int i = 0; (description = vl_dcqcn_describe(i)); i++) {
		json_object_set_new(parameters, description->name,
				    whole(vl_cc_parameter(&cc->dcqcn, description)));
	}
	json_object_set_new(object, "dcqcn", parameters);
	return object;
}

static json_t *flows_json(const struct vl_results *results)
{
	const struct vl_scenario_flow *flows = results->scenario->flows.elements;
	json_t *array = json_array(), *object;
	unsigned int qp = 0;
	double goodput;

	for (unsigned int i = 0; i < results->scenario->flows.count; i++) {
		goodput = 0;
		/* Those of a flow lie together. */
		for (; qp < results->qp_count && results->qps[qp].pair->flow == &flows[i]; qp++)
			goodput += results->qps[qp].goodput;
		object = json_object();
		json_object_set_new(object, "name", json_string(flows[i].name));
		json_object_set_new(object, "goodput_bps", real(goodput));
		json_object_set_new(object, "congestion_control",
				    cc_json(flows[i].has_cc ? &flows[i].cc.resolved
							    : &results->scenario->cc.resolved));
		json_object_set_new(object, "flow_completion_time",
				    times_json(&results->flow_times[i]));
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *qps_json(const struct vl_results *results)
{
	const struct vl_scenario_node *nodes = results->scenario->nodes;
	json_t *array = json_array(), *object;
	const struct vl_qp_result *qp;

	for (unsigned int i = 0; i < results->qp_count; i++) {
		qp = &results->qps[i];
		object = json_object();
		json_object_set_new(object, "flow", json_string(qp->pair->flow->name));
		json_object_set_new(object, "from", json_string(nodes[qp->pair->from].name));
		json_object_set_new(object, "to", json_string(nodes[qp->pair->to].name));
		json_object_set_new(object, "number", whole(qp->number));
		json_object_set_new(object, "requester_qpn", whole(qp->requester_qpn));
		json_object_set_new(object, "responder_qpn", whole(qp->responder_qpn));
		json_object_set_new(object, "goodput_bps", real(qp->goodput));
		json_object_set_new(object, "allowed_rate_bps",
				    qp->cc_rate > 0 ? real(qp->cc_rate) : json_null());
		json_object_set_new(object, "messages", whole(qp->messages));
		json_object_set_new(object, "bytes", whole(qp->bytes));
		json_object_set_new(object, "status", whole(qp->status));
		json_object_set_new(object, "finished", json_boolean(qp->finished));
		json_object_set_new(object, "stalled", json_boolean(qp->stalled));
		json_object_set_new(object, "requester", counters_json(&qp->requester));
		json_object_set_new(object, "responder", counters_json(&qp->responder));
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *bottleneck_json(const struct vl_results *results)
{
	const struct vl_bottleneck_result *bottleneck = &results->bottleneck;
	json_t *object = json_object();

	json_object_set_new(object, "from", json_string(bottleneck->node));
	json_object_set_new(object, "to", json_string(bottleneck->neighbour));
	json_object_set_new(object, "rate_bps", whole(bottleneck->rate));
	json_object_set_new(object, "utilization", real(bottleneck->utilization));
	if (!bottleneck->has_queue)
		return object;
	json_object_set_new(object, "queue_mean_bytes", real(bottleneck->queue_mean));
	json_object_set_new(object, "queue_p99_bytes", real(bottleneck->queue_p99));
	json_object_set_new(object, "queue_max_bytes", whole(bottleneck->queue_max));
	return object;
}

static json_t *totals_json(const struct vl_results *results)
{
	json_t *object = json_object();

#define PUT_TOTAL(name, unit, meaning)                                                             \
	json_object_set_new(object, #name, whole(results->totals.name));
	VL_TOTALS(PUT_TOTAL)
#undef PUT_TOTAL
	return object;
}

static json_t *drops_json(const struct vl_results *results)
{
	json_t *array = json_array();

	for (unsigned int i = 0; i < results->drop_count; i++)
		json_array_append_new(array,
				      json_pack("{s:s, s:s, s:I}", "where", results->drops[i].where,
						"reason", results->drops[i].reason, "count",
						(json_int_t)results->drops[i].count));
	return array;
}

/* null: there is none. */
static json_t *deadlock_json(const struct vl_results *results)
{
	const struct vl_deadlock_result *deadlock = &results->deadlock;
	json_t *object, *links;

	if (!deadlock->count)
		return json_null();
	object = json_object();
	links = json_array();
	json_object_set_new(object, "since_ns", whole(deadlock->since));
	json_object_set_new(object, "link_count", whole(deadlock->count));
	json_object_set_new(object, "links_elsewhere", whole(deadlock->elsewhere));
	for (unsigned int i = 0; i < deadlock->count && i < VL_MAX_DEADLOCK_LINKS; i++)
		json_array_append_new(links, whole(deadlock->links[i]));
	json_object_set_new(object, "links", links);
	return object;
}

/* Columns, not rows: shorter, and what plotting wants. */
static json_t *series_json(const struct vl_results *results)
{
	static const char *const names[SERIES] = {
		"time_ns",         "utilization",  "queue_mean_bytes",
		"queue_max_bytes", "ecn_marked",   "cnp_tx",
		"drops",           "pfc_pause_tx", "data_frames_retransmitted",
		"goodput_bps"};
	json_t *object = json_object(), *columns[SERIES], *rates = json_array(), *rate;
	const struct vl_sample *sample;

	for (unsigned int i = 0; i < SERIES; i++) {
		columns[i] = json_array();
		json_object_set_new(object, names[i], columns[i]);
	}
	for (unsigned int i = 0; i < results->sample_count; i++) {
		sample = &results->samples[i];
		json_array_append_new(columns[0], whole(sample->time));
		json_array_append_new(columns[1], real(sample->utilization));
		json_array_append_new(columns[2], real(sample->queue_mean));
		json_array_append_new(columns[3], whole(sample->queue_max));
		json_array_append_new(columns[4], whole(sample->ecn_marked));
		json_array_append_new(columns[5], whole(sample->cnp_tx));
		json_array_append_new(columns[6], whole(sample->drops));
		json_array_append_new(columns[7], whole(sample->pauses));
		json_array_append_new(columns[8], whole(sample->retransmitted));
		json_array_append_new(columns[9], real(sample->goodput));
	}
	for (unsigned int qp = 0; qp < results->traced_count; qp++) {
		rate = json_array();
		for (unsigned int i = 0; i < results->sample_count; i++)
			json_array_append_new(rate, real(results->samples[i].rates[qp]));
		json_array_append_new(rates, rate);
	}
	json_object_set_new(object, "goodput_bps_by_queue_pair", rates);
	return object;
}

static json_t *workers_json(const struct vl_results *results)
{
	json_t *workers = json_object();

	json_object_set_new(workers, "busy", real(results->live_busy));
	json_object_set_new(workers, "kept_from_running_ns", whole(results->live_late_time));
	json_object_set_new(workers, "ring_full", whole(results->live_overruns));
	json_object_set_new(workers, "no_free_buffer", whole(results->live_exhausted));
	return workers;
}

int vl_report_json(const struct vl_results *results, FILE *out)
{
	const struct vl_scenario *scenario = results->scenario;
	json_t *root = json_object();
	int status = 0;

	json_object_set_new(root, "schema_version", whole(JSON_SCHEMA_VERSION));
	json_object_set_new(root, "verbline_version", json_string(VERBLINE_VERSION));
	json_object_set_new(root, "mode", json_string(results->is_live ? "live" : "virtual"));
	if (results->is_live)
		json_object_set_new(root, "workers", workers_json(results));
	json_object_set_new(root, "seed", whole(scenario->seed));
	json_object_set_new(root, "end_ns", whole(results->end));
	json_object_set_new(root, "window_start_ns", whole(results->window_start));
	json_object_set_new(root, "window_end_ns", whole(results->window_end));
	json_object_set_new(root, "good", json_boolean(vl_results_are_good(results)));
	json_object_set_new(root, "goodput_bps", real(results->goodput));
	json_object_set_new(root, "jain_index",
			    results->jain > 0 ? real(results->jain) : json_null());
	json_object_set_new(root, "bottleneck", bottleneck_json(results));
	json_object_set_new(root, "totals", totals_json(results));
	json_object_set_new(root, "drops", drops_json(results));
	json_object_set_new(root, "flows", flows_json(results));
	json_object_set_new(root, "deadlock", deadlock_json(results));
	json_object_set_new(root, "workloads", vl_report_workloads_json(results));
	json_object_set_new(root, "classes", vl_report_classes_json(results));
	if (*results->possible_deadlock)
		json_object_set_new(root, "possible_deadlock",
				    json_string(results->possible_deadlock));
	json_object_set_new(root, "switches", vl_report_switches_json(results));
	json_object_set_new(root, "queues", vl_report_queues_json(results));
	json_object_set_new(root, "priority_groups", vl_report_groups_json(results));
	json_object_set_new(root, "links", vl_report_links_json(results));
	json_object_set_new(root, "queue_pairs", qps_json(results));
	json_object_set_new(root, "time_series", series_json(results));
	json_object_set_new(root, "scenario", vl_config_json(&vl_scenario_schema, scenario));
	if (json_dumpf(root, out, JSON_INDENT(1) | JSON_REAL_PRECISION(12)) ||
	    fputc('\n', out) == EOF)
		status = ferror(out) ? -EIO : -ENOMEM;
	json_decref(root);
	return status;
}
