/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/replay/port/port_report.h"

#include "apps/quantity.h"

#include <inttypes.h>
#include <string.h>

static double seconds(const struct vl_replay_counters *counters)
{
	return (double)(counters->last - counters->first) / 1e9;
}

static const char *duration(uint64_t time, char text[VL_QUANTITY_TEXT])
{
	return vl_quantity_text(VL_QUANTITY_DURATION, time, text);
}

/* How it was to be sent. */
static const char *describe_schedule(const struct schedule *schedule, char *text, size_t size)
{
	char rate[VL_QUANTITY_TEXT], wait[VL_QUANTITY_TEXT];
	int used;

	switch (schedule->kind) {
	case SCHEDULE_RECORDED:
		if (schedule->speed == 1)
			used = snprintf(text, size, "at the recorded times");
		else
			used = snprintf(text, size, "at %g times the recorded speed",
					schedule->speed);
		if (schedule->longest_wait)
			snprintf(text + used, size - (size_t)used, ", no pause longer than %s",
				 duration(schedule->longest_wait, wait));
		break;
	case SCHEDULE_RATE:
		snprintf(text, size, "at %s",
			 vl_quantity_text(VL_QUANTITY_RATE, schedule->rate, rate));
		break;
	case SCHEDULE_PACKETS:
		snprintf(text, size, "at %" PRIu64 " frames/s", schedule->rate);
		break;
	case SCHEDULE_FASTEST:
		return "as fast as possible";
	}
	return text;
}

/* A rate that was asked for and by this part not reached is missed. */
#define RATE_MISSED 0.99

/* What was sent of the rate that was asked for, as a part of it, over all frames but the last,
 * which takes its time behind the run; 1 where none was asked for, or the frames are too few to
 * tell. */
static double part_of_rate(const struct replay_port_result *result)
{
	const struct vl_replay_counters *counters = &result->stage->counters;
	const struct schedule *schedule = &result->feed->schedule;
	double sent = 0, time = seconds(counters);

	if (time <= 0 || counters->frames < 2)
		return 1;
	if (schedule->kind == SCHEDULE_RATE)
		sent = (double)counters->bytes * 8;
	else if (schedule->kind == SCHEDULE_PACKETS)
		sent = (double)counters->frames;
	else
		return 1;
	sent *= (double)(counters->frames - 1) / (double)counters->frames;
	return sent / time / (double)schedule->rate;
}

static void print_missed_rate(const struct replay_port_result *result, FILE *out)
{
	double part = part_of_rate(result);

	if (part < RATE_MISSED)
		fprintf(out,
			"  The rate that was asked for was not reached: %.1f %% of it was sent\n",
			part * 100);
}

static void print_sent(const struct replay_port_result *result, FILE *out)
{
	const struct vl_replay_counters *counters = &result->stage->counters;
	char texts[3][VL_QUANTITY_TEXT], how[120];
	double time = seconds(counters);
	double rate = time > 0 ? (double)(counters->frames - 1) / time : 0;

	fprintf(out, "Sent %" PRIu64 " frames, %s, out of %s, %s", counters->frames,
		vl_quantity_text(VL_QUANTITY_SIZE, counters->bytes, texts[0]), result->port,
		describe_schedule(&result->feed->schedule, how, sizeof(how)));
	if (time > 0)
		fprintf(out, ", in %s: %.*f frames/s, %s",
			duration(counters->last - counters->first, texts[1]), rate < 100 ? 2 : 0,
			rate,
			vl_quantity_text(VL_QUANTITY_RATE,
					 (uint64_t)((double)counters->bytes * 8 / time), texts[2]));
	fputc('\n', out);
	print_missed_rate(result, out);
	if (result->feed->runs != 1)
		fprintf(out, "  %" PRIu64 " runs through the files; PSNs %s\n", result->feed->run,
			result->feed->flows ? "carried on" : "repeated");
	if (result->feed->flows && psn_flows_beyond(result->feed->flows))
		fprintf(out,
			"  more than %u flows: the PSNs of %" PRIu64
			" packets in the first run belong to none that was followed\n",
			PSN_FLOWS_MOST, psn_flows_beyond(result->feed->flows));
	if (result->feed->schedule.backward)
		fprintf(out,
			"  %" PRIu64 " packets stand behind later ones in the files; sent in their "
			"order, without waiting\n",
			result->feed->schedule.backward);
	if (result->stage->counters.received)
		fprintf(out, "  %" PRIu64 " frames came in meanwhile, and were let go\n",
			result->stage->counters.received);
}

static void print_unsent(const struct replay_port_result *result, FILE *out)
{
	for (unsigned int i = 0; i < FEED_SKIP_COUNT; i++) {
		if (result->feed->skipped[i])
			fprintf(out, "Not sent: %" PRIu64 " packets: %s\n",
				result->feed->skipped[i], feed_skip_meaning((enum feed_skip)i));
	}
	if (result->interrupted && result->chosen->loop)
		fprintf(out, "Stopped before the end of the files\n");
	if (result->unsent)
		fprintf(out, "Not sent: %" PRIu64 " frames that were ready: %s\n", result->unsent,
			result->interrupted ? "the run was stopped" : "the port took them not");
	if (result->statistics.tx_errors)
		fprintf(out,
			"Not sent: %" PRIu64 " frames that the device took and failed to send\n",
			result->statistics.tx_errors);
}

static void print_rules(const struct replay_port_result *result, FILE *out)
{
	const struct rewrite_rules *rules = &result->feed->rewrite.rules;

	if (!rules->count)
		return;
	fprintf(out, "Rewritten: %" PRIu64 " frames\n", result->feed->rewritten);
	for (unsigned int i = 0; i < rules->count; i++)
		fprintf(out, "  %-40s applied %" PRIu64 " times\n",
			result->chosen->rewrites.values[i], rules->list[i].used);
}

static void print_lateness(const struct replay_port_result *result, FILE *out)
{
	const struct vl_replay_counters *counters = &result->stage->counters;
	const struct vl_histogram *lateness = &result->stage->lateness;
	uint64_t late = counters->late_reader + counters->late_port + counters->late_machine;
	char texts[5][VL_QUANTITY_TEXT];

	if (!lateness->count)
		return;
	fprintf(out, "Timing error: p50 %s, p99 %s, p99.9 %s, longest %s\n",
		duration(vl_histogram_percentile(lateness, 0.5), texts[0]),
		duration(vl_histogram_percentile(lateness, 0.99), texts[1]),
		duration(vl_histogram_percentile(lateness, 0.999), texts[2]),
		duration(lateness->most, texts[3]));
	if (late)
		fprintf(out,
			"Late by more than %s: %" PRIu64 " frames (%.3g %%): %" PRIu64
			" were not read in time, %" PRIu64 " not taken by the port, %" PRIu64
			" kept by the machine\n",
			duration(result->chosen->tolerance, texts[4]), late,
			(double)late * 100 / (double)counters->frames, counters->late_reader,
			counters->late_port, counters->late_machine);
	else
		fprintf(out, "No frame was late by more than %s\n",
			duration(result->chosen->tolerance, texts[4]));
}

void replay_port_report_text(const struct replay_port_result *result, FILE *out)
{
	print_sent(result, out);
	print_unsent(result, out);
	print_rules(result, out);
	print_lateness(result, out);
}

static json_t *whole(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static json_t *lateness_json(const struct vl_histogram *lateness)
{
	static const struct {
		const char *name;
		double part;
	} percentiles[] = {{"p50_ns", 0.5}, {"p90_ns", 0.9}, {"p99_ns", 0.99}, {"p99_9_ns", 0.999}};
	json_t *object = json_object();

	json_object_set_new(object, "count", whole(lateness->count));
	if (!lateness->count)
		return object;
	json_object_set_new(object, "mean_ns", json_real(vl_histogram_mean(lateness)));
	for (unsigned int i = 0; i < sizeof(percentiles) / sizeof(percentiles[0]); i++)
		json_object_set_new(object, percentiles[i].name,
				    whole(vl_histogram_percentile(lateness, percentiles[i].part)));
	json_object_set_new(object, "max_ns", whole(lateness->most));
	return object;
}

/* A path may be any bytes; JSON takes only UTF-8. */
static json_t *path_json(const char *path)
{
	json_t *text = json_string(path);
	char plain[512];

	if (text)
		return text;
	snprintf(plain, sizeof(plain), "%s", path);
	for (char *at = plain; *at; at++)
		*at = (unsigned char)*at < 0x80 ? *at : '?';
	return json_string(plain);
}

static json_t *files_json(const struct replay_port_result *result)
{
	json_t *files = json_array();

	for (unsigned int i = 0; i < result->operands->count; i++) {
		const char *damage = source_damage(result->feed->source, i);

		json_array_append_new(files,
				      json_pack("{s:o, s:o}", "file",
						path_json(result->operands->values[i]), "damage",
						damage ? json_string(damage) : json_null()));
	}
	return files;
}

static json_t *rules_json(const struct replay_port_result *result)
{
	const struct rewrite_rules *rules = &result->feed->rewrite.rules;
	json_t *list = json_array();

	for (unsigned int i = 0; i < rules->count; i++)
		json_array_append_new(list, json_pack("{s:o, s:o}", "rule",
						      path_json(result->chosen->rewrites.values[i]),
						      "applied", whole(rules->list[i].used)));
	return list;
}

static json_t *late_json(const struct replay_port_result *result)
{
	const struct vl_replay_counters *counters = &result->stage->counters;

	return json_pack("{s:o, s:o, s:o, s:o}", "tolerance_ns", whole(result->chosen->tolerance),
			 "reader", whole(counters->late_reader), "port", whole(counters->late_port),
			 "machine", whole(counters->late_machine));
}

static json_t *skipped_json(const struct feed *feed)
{
	json_t *skipped = json_object();

	for (unsigned int i = 0; i < FEED_SKIP_COUNT; i++)
		json_object_set_new(skipped, feed_skip_name((enum feed_skip)i),
				    whole(feed->skipped[i]));
	return skipped;
}

json_t *replay_port_report_json(const struct replay_port_result *result)
{
	const struct vl_replay_counters *counters = &result->stage->counters;
	const struct feed *feed = result->feed;
	char how[120];

	return json_pack(
		"{s:s, s:s, s:s, s:s, s:o, s:s, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
		"s:o, s:o, s:o, s:o, s:o, s:o, s:b}",
		"schema", "verbline-replay-port-1", "version", VERBLINE_VERSION, "command",
		"replay", "port", result->port, "files", files_json(result), "schedule",
		describe_schedule(&feed->schedule, how, sizeof(how)), "runs", whole(feed->run),
		"interrupted", result->interrupted, "packets_read", whole(feed->read),
		"packets_backward", whole(feed->schedule.backward), "packets_of_no_flow",
		whole(feed->flows ? psn_flows_beyond(feed->flows) : 0), "frames",
		whole(counters->frames), "bytes", whole(counters->bytes), "duration_ns",
		whole(counters->last - counters->first), "rewritten", whole(feed->rewritten),
		"rules", rules_json(result), "skipped", skipped_json(feed), "unsent",
		whole(result->unsent), "device_errors", whole(result->statistics.tx_errors),
		"received", whole(counters->received), "timing_error",
		lateness_json(&result->stage->lateness), "late", late_json(result), "rate_missed",
		part_of_rate(result) < RATE_MISSED);
}
