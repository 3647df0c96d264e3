/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/gen/report.h"
#include "apps/report/config.h"
#include "apps/report/machine.h"

#include <math.h>
#include <string.h>

#define JSON_SCHEMA_VERSION 1

static json_t *real(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *whole(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static void put(json_t *object, const char *name, json_t *value)
{
	json_object_set_new(object, name, value);
}

/* ---- Measurements -------------------------------------------------------------------------- */

static json_t *times_json(const struct vl_histogram *times)
{
	static const struct {
		const char *name;
		double part;
	} percentiles[] = {{"p50_ns", 0.5},
			   {"p90_ns", 0.9},
			   {"p99_ns", 0.99},
			   {"p99_9_ns", 0.999},
			   {"p99_99_ns", 0.9999}};
	json_t *object = json_object();

	put(object, "count", whole(times->count));
	if (!times->count)
		return object;
	put(object, "mean_ns", real(vl_histogram_mean(times)));
	put(object, "min_ns", whole(times->least));
	for (unsigned int i = 0; i < sizeof(percentiles) / sizeof(percentiles[0]); i++)
		put(object, percentiles[i].name,
		    whole(vl_histogram_percentile(times, percentiles[i].part)));
	put(object, "max_ns", whole(times->most));
	return object;
}

static json_t *counters_json(const struct vl_counters *counters)
{
	json_t *object = json_object();

#define PUT_COUNTER(name, unit, meaning) put(object, #name, whole(counters->name));
	VL_COUNTERS(PUT_COUNTER)
#undef PUT_COUNTER
	return object;
}

static json_t *one_way_json(const struct gen_group_result *result)
{
	json_t *object = times_json(&result->one_way.times);

	put(object, "clock", json_string(gen_clock_text(result->clock)));
	put(object, "clock_is_shared", json_boolean(result->clock == VL_CLOCK_SAME));
	put(object, "clock_error_ns",
	    result->clock_error == UINT64_MAX ? json_null() : whole(result->clock_error));
	put(object, "clock_difference_error_ns",
	    result->difference_error == UINT64_MAX ? json_null() : whole(result->difference_error));
	put(object, "arrival_clock", json_string(result->arrival_clock));
	put(object, "arrival_clock_error_ns", whole(result->arrival_error));
	put(object, "is_measurable", json_boolean(gen_one_way_is_measurable(result)));
	put(object, "arrived_before_sent", whole(result->one_way.early));
	return object;
}

static json_t *group_json(const struct gen_group_result *result)
{
	static const char *const counts[] = {
#define COUNT_NAME(enumerator, name, meaning) name,
		VL_RATE_COUNTS(COUNT_NAME)
#undef COUNT_NAME
	};
	json_t *object = json_object(), *rate;

	put(object, "name", json_string(result->group->name));
	put(object, "qps", whole(result->group->qps));
	put(object, "window_s", real(result->seconds));
	put(object, "message_tx", whole(result->messages));
	put(object, "bytes", whole(result->bytes));
	put(object, "goodput_bps", real(result->goodput));
	put(object, "messages_per_s", real(result->message_rate));
	put(object, "failed_qps", whole(result->failed));
	put(object, "unfinished_qps", whole(result->unfinished));
	put(object, "completion_time", times_json(&result->completion));
	/* Else a message completes when it has left. */
	put(object, "completion_is_acknowledged",
	    json_boolean(result->group->transport == VL_SCENARIO_RC));
	if (result->one_way.times.count)
		put(object, "one_way_latency", one_way_json(result));
	if (!(result->asked > 0))
		return object;
	rate = json_object();
	put(rate, "counts", json_string(counts[result->counts]));
	put(rate, "asked_per_s", real(result->asked));
	put(rate, "expected_per_s", real(result->expected));
	put(rate, "sent_per_s", real(result->sent));
	put(rate, "granularity_per_s", real(gen_rate_granularity(result)));
	if (result->least > 0) {
		put(rate, "least_second", real(result->least));
		put(rate, "most_second", real(result->most));
	}
	put(rate, "held_back_messages", whole(result->held_back));
	put(rate, "put_off_ns", whole(result->put_off));
	put(rate, "pacing_error", times_json(&result->pacing));
	put(object, "rate", rate);
	return object;
}

/* Of its own time: from its start to its last completion, or to the end if it has failed. */
static void put_times(json_t *object, const struct vl_generate_progress *progress, uint64_t end)
{
	if (progress->status == IBV_WC_SUCCESS && progress->last_completion)
		end = progress->last_completion;
	if (progress->start && end > progress->start)
		put(object, "goodput_bps",
		    real(8e9 * (double)progress->bytes / (double)(end - progress->start)));
	if (progress->last_completion)
		put(object, "flow_completion_time_ns",
		    whole(progress->last_completion - progress->start));
}

static json_t *qps_json(const struct gen_run *run)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < run->share_count; i++) {
		const struct gen_share *share = run->shares[i].share;

		for (uint32_t n = 0; n < share->count; n++) {
			const struct vl_generate_progress *progress =
				vl_generate_group_progress(share->qps, n);
			const struct vl_qp *qp = vl_generate_group_qp(share->qps, n);
			json_t *object = counters_json(vl_qp_counters(qp));

			put(object, "group", json_string(share->group->name));
			put(object, "number", whole(share->first + n));
			put(object, "qpn", whole(vl_qp_number(qp)));
			put(object, "messages_completed", whole(progress->completed));
			put(object, "bytes_completed", whole(progress->bytes));
			put(object, "status", whole(progress->status));
			put_times(object, progress, run->shares[i].end.time);
			json_array_append_new(list, object);
		}
	}
	return list;
}

static json_t *endpoints_json(const struct gen_run *run)
{
	static const char *const reasons[] = {
#define REASON(name, meaning) #name,
		VL_DROPS(REASON)
#undef REASON
	};
	json_t *list = json_array();

	for (uint32_t i = 0; i < run->application_count; i++) {
		const struct gen_endpoint_result *result = &run->endpoints[i];
		const struct gen_application_config *config = &run->applications[i].config;
		json_t *object = json_object(), *frames = json_object(), *drops = json_object();

		put(object, "port",
		    json_string(vl_host_port(run->session->host, config->port)->name));
		put(object, "worker", whole(config->worker));
		put(object, "link_rate_bps", whole(config->link_rate));
		put(object, "path_mtu_bytes", whole(128u << config->path_mtu));
		put(object, "counters", counters_json(&result->counters));
#define PUT_COUNTER(name, unit, meaning) put(frames, #name, whole(result->frames.name));
		VL_ENDPOINT_COUNTERS(PUT_COUNTER)
#undef PUT_COUNTER
		put(object, "frames", frames);
		for (unsigned int reason = 0; reason < VL_DROP_COUNT; reason++) {
			if (result->drops[reason])
				put(drops, reasons[reason], whole(result->drops[reason]));
		}
		put(object, "drops", drops);
		json_array_append_new(list, object);
	}
	return list;
}

/* Of each port, all its workers added. */
static json_t *ports_json(const struct gen_run *run)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < run->application_count; i += run->session->worker_count) {
		struct gen_endpoint_result sum = gen_port_result(run, i);
		uint32_t port = run->applications[i].config.port;
		json_t *object = json_object(), *frames = json_object(), *paused = json_array();

		put(object, "port", json_string(vl_host_port(run->session->host, port)->name));
		put(object, "arrival_clock",
		    json_string(vl_port_arrival_clock(vl_host_port(run->session->host, port))));
		put(object, "arrival_clock_error_ns",
		    whole(vl_port_arrival_error(vl_host_port(run->session->host, port))));
		put(object, "counters", counters_json(&sum.counters));
#define PUT_COUNTER(name, unit, meaning) put(frames, #name, whole(sum.frames.name));
		VL_ENDPOINT_COUNTERS(PUT_COUNTER)
#undef PUT_COUNTER
		put(object, "frames", frames);
		for (unsigned int n = 0; n < VL_PFC_PRIORITIES; n++)
			json_array_append_new(paused, whole(sum.paused[n]));
		put(object, "paused_ns", paused);
		json_array_append_new(list, object);
	}
	return list;
}

static json_t *clock_json(const struct vl_control_client *client)
{
	static const char *const names[] = {"begin", "end"};
	json_t *object = json_object();

	put(object, "clock", json_string("TSC, nanoseconds since the peer's start"));
	for (unsigned int at_end = 0; at_end < 2; at_end++) {
		struct vl_control_clock clock = vl_control_client_clock(client, at_end);

		if (clock.error != UINT64_MAX)
			put(object, names[at_end],
			    json_pack("{s:I,s:I}", "offset_ns", (json_int_t)clock.offset,
				      "error_ns", (json_int_t)clock.error));
	}
	return object;
}

static json_t *peer_json(const struct gen_run *run)
{
	json_t *object = json_object(), *clocks = json_array();

	put(object, "address", json_string(run->config->to));
	if (run->peer_hello.protocol)
		put(object, "version", json_string(run->peer_hello.version));
	if (run->peer.qps)
		put(object, "counters", counters_json(&run->peer.counters));
	for (uint32_t i = 0; i < run->application_count; i++) {
		if (run->applications[i].client)
			json_array_append_new(clocks, clock_json(run->applications[i].client));
	}
	put(object, "clocks", clocks);
	return object;
}

static json_t *checks_json(const struct gen_check *checks, unsigned int count)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < count; i++)
		json_array_append_new(list,
				      json_pack("{s:s,s:b,s:b,s:s}", "name", checks[i].name,
						"passed", (int)checks[i].passed, "excused",
						(int)checks[i].is_excused, "text", checks[i].text));
	return list;
}

json_t *gen_report_json(const struct gen_run *run, const struct gen_group_result *groups,
			const struct gen_check *checks, unsigned int check_count)
{
	json_t *root = json_object(), *list = json_array();

	put(root, "schema_version", whole(JSON_SCHEMA_VERSION));
	put(root, "command", json_string("gen"));
	put(root, "version", json_string(VERBLINE_VERSION));
	put(root, "host", vl_machine_json());
	put(root, "configuration", vl_config_json(&gen_config_schema, run->config));
	put(root, "interrupted", json_boolean(run->interrupted));
	for (unsigned int i = 0; i < run->config->groups.count; i++)
		json_array_append_new(list, group_json(&groups[i]));
	put(root, "groups", list);
	list = json_array();
	for (uint32_t i = 0; i < run->application_count; i++)
		gen_streams_json(run->applications[i].config.streams, list);
	put(root, "streams", list);
	put(root, "qps", qps_json(run));
	put(root, "ports", ports_json(run));
	put(root, "endpoints", endpoints_json(run));
	put(root, "peer", peer_json(run));
	put(root, "checks", checks_json(checks, check_count));
	return root;
}
