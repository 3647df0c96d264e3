/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Groups from their shares, ports from their workers, and what must hold of them. */

#include "apps/endpoint/status.h"
#include "apps/gen/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a schedule carries in so many seconds from its start: the ramp is a straight line. */
static double carried(double from, double rate, double ramp, double seconds)
{
	if (seconds <= 0)
		return 0;
	if (seconds < ramp)
		return from * seconds + (rate - from) * seconds * seconds / (2 * ramp);
	return (from + rate) / 2 * ramp + rate * (seconds - ramp);
}

/* The mean rate that the share's schedules ask for in its window. */
static double expected_rate(const struct gen_share_result *share)
{
	const struct vl_generate_group_config *config =
		vl_generate_group_configuration(share->share->qps);
	const struct vl_schedule_config *schedule = &config->schedule;
	uint32_t count = config->scope == VL_RATE_OF_QP ? config->qps : 1;
	double rate = gen_share_asked(share->share) / count, ramp = (double)schedule->ramp_time;
	double from, sum = 0;

	if (!schedule->rate)
		return 0;
	from = rate * (double)schedule->ramp_from / (double)schedule->rate;
	for (uint32_t i = 0; i < count; i++) {
		double start = (double)share->start;

		if (config->scope == VL_RATE_OF_QP)
			start += (double)config->stagger * (config->first + i);
		sum += carried(from, rate, ramp, (double)share->end.time - start) -
		       carried(from, rate, ramp, (double)share->begin.time - start);
	}
	return sum / (double)(share->end.time - share->begin.time);
}

static void add_share(struct gen_group_result *result, const struct gen_share_result *share)
{
	const struct vl_generate_group_config *config =
		vl_generate_group_configuration(share->share->qps);
	const struct vl_generate_totals *begin = &share->begin.totals, *end = &share->end.totals;
	double unit = config->schedule.counts == VL_RATE_OF_MESSAGES ? 1 : 8, seconds, goodput;

	result->counts = config->schedule.counts;
	result->failed += share->final.totals.failed;
	result->unfinished += share->final.totals.active;
	result->held_back += share->final.totals.held_back;
	result->put_off += share->final.totals.put_off;
	result->asked += gen_share_asked(share->share);
	for (uint32_t n = 0; n < share->share->count; n++) {
		result->cnp_rx +=
			vl_qp_counters(vl_generate_group_qp(share->share->qps, n))->cnp_rx;
		if (result->failure == IBV_WC_SUCCESS)
			result->failure = vl_generate_group_progress(share->share->qps, n)->status;
	}
	vl_histogram_add(&result->completion, &share->share->completion);
	vl_histogram_add(&result->pacing, &share->share->pacing);
	if (share->end.time <= share->begin.time)
		return;
	seconds = (double)(share->end.time - share->begin.time) * 1e-9;
	goodput = (double)(end->bytes - begin->bytes) * 8 / seconds;
	result->bytes += end->bytes - begin->bytes;
	result->messages += end->completed - begin->completed;
	result->goodput += goodput;
	result->message_rate += (double)(end->completed - begin->completed) / seconds;
	result->expected += expected_rate(share);
	result->sent += unit * (double)(end->cost - begin->cost) / seconds;
	result->least += unit * share->least_rate;
	result->most += unit * share->most_rate;
	result->best_goodput += share->seconds ? share->most_goodput : goodput;
	if (seconds > result->seconds)
		result->seconds = seconds;
}

static void add_one_way(struct gen_group_result *result, const struct gen_application *application,
			uint32_t share)
{
	const struct vl_control_one_way *one_way =
		application->client ? vl_control_client_one_way(application->client, share) : NULL;

	if (!one_way)
		return;
	vl_histogram_add(&result->one_way.times, &one_way->found.times);
	result->one_way.early += one_way->found.early;
	if (one_way->clock < result->clock)
		result->clock = one_way->clock;
	if (one_way->error > result->clock_error)
		result->clock_error = one_way->error;
	if (one_way->difference_error > result->difference_error)
		result->difference_error = one_way->difference_error;
	if (one_way->arrival_error > result->arrival_error)
		result->arrival_error = one_way->arrival_error;
	snprintf(result->arrival_clock, sizeof(result->arrival_clock), "%s",
		 !*result->arrival_clock || !strcmp(result->arrival_clock, one_way->arrival_clock)
			 ? one_way->arrival_clock
			 : "mixed");
}

bool gen_one_way_is_measurable(const struct gen_group_result *result)
{
	return result->one_way.times.count &&
	       vl_histogram_percentile(&result->one_way.times, 0.5) > result->clock_error;
}

const char *gen_clock_text(enum vl_control_clock_kind clock)
{
	static const char *const texts[] = {
		[VL_CLOCK_OTHER] = "the TSCs of two hosts, compared by ping-pong",
		[VL_CLOCK_SAME_HOST] =
			"the TSC of this host at both ends, from two starts, compared by ping-pong",
		[VL_CLOCK_SAME] = "the TSC at both ends, of one process",
	};

	return texts[clock];
}

struct gen_group_result *gen_group_results(const struct gen_run *run)
{
	const struct gen_group *groups = run->config->groups.elements;
	struct gen_group_result *results = calloc(run->config->groups.count, sizeof(*results));

	if (!results)
		return NULL;
	for (unsigned int i = 0; i < run->config->groups.count; i++) {
		results[i].group = &groups[i];
		results[i].clock = VL_CLOCK_SAME;
	}
	for (uint32_t i = 0; i < run->share_count; i++)
		add_share(&results[run->shares[i].share->group - groups], &run->shares[i]);
	for (uint32_t i = 0; i < run->application_count; i++) {
		const struct gen_application *application = &run->applications[i];

		for (uint32_t n = 0; n < application->share_count; n++)
			add_one_way(&results[application->shares[n]->group - groups], application,
				    n);
	}
	return results;
}

struct gen_endpoint_result gen_port_result(const struct gen_run *run, uint32_t application)
{
	struct gen_endpoint_result sum = run->endpoints[application];

	for (uint32_t i = 1; i < run->session->worker_count; i++) {
		const struct gen_endpoint_result *result = &run->endpoints[application + i];

#define ADD_COUNTER(name, unit, meaning) sum.counters.name += result->counters.name;
		VL_COUNTERS(ADD_COUNTER)
#undef ADD_COUNTER
#define ADD_COUNTER(name, unit, meaning) sum.frames.name += result->frames.name;
		VL_ENDPOINT_COUNTERS(ADD_COUNTER)
#undef ADD_COUNTER
		for (unsigned int reason = 0; reason < VL_DROP_COUNT; reason++)
			sum.drops[reason] += result->drops[reason];
		/* Pauses are for the port: each of its workers obeys the same ones. */
		for (unsigned int n = 0; n < VL_PFC_PRIORITIES; n++)
			if (result->paused[n] > sum.paused[n])
				sum.paused[n] = result->paused[n];
	}
	return sum;
}

/* ---- Checks -------------------------------------------------------------------------------- */

double gen_rate_granularity(const struct gen_group_result *result)
{
	const struct gen_group *group = result->group;
	double message = result->counts == VL_RATE_OF_MESSAGES
				 ? 1
				 : 8 * 1.1 * vl_mix_largest(&group->messages_mix);
	double at_a_time = message * (double)(group->burst ? group->burst : 1);

	if (!group->shares_total && group->per == VL_RATE_OF_QP)
		at_a_time *= (double)group->qps;
	return result->seconds > 0 ? at_a_time / result->seconds : 0;
}

/* A rate that is more than allowed off. Congestion control that got CNPs had to slow down, by how
 * much nobody can say beforehand: that is no failure, but must not go unsaid. */
static void judge_rate(struct gen_check *check, double off, double allowed, uint64_t cnps)
{
	size_t used = strlen(check->text);

	check->passed = off >= -allowed && off <= allowed;
	if (check->passed || off > 0 || !cnps)
		return;
	check->passed = check->is_excused = true;
	snprintf(check->text + used, sizeof(check->text) - used,
		 "; the rate was not held, excused as congestion control obeyed %" PRIu64 " CNP%s",
		 cnps, cnps == 1 ? "" : "s");
}

static void check_rate(const struct gen_group_result *result, struct gen_check *check)
{
	double off = result->sent - result->expected;
	double allowed = GEN_RATE_TOLERANCE * result->expected + gen_rate_granularity(result);
	bool obeys = result->group->cc.resolved.algorithm != &vl_cc_none;
	bool is_messages = result->counts == VL_RATE_OF_MESSAGES;
	double unit = is_messages ? 1 : 1e9;
	size_t used;

	*check = (struct gen_check){.name = "rate"};
	snprintf(check->text, sizeof(check->text),
		 "group %s: asked for %.6g %s/s%s, sent %.6g (%+.4f%%)", result->group->name,
		 result->expected / unit, is_messages ? "messages" : "Gb",
		 result->group->ramp || result->group->stagger ? " (mean, as it grows)" : "",
		 result->sent / unit, 100 * off / result->expected);
	judge_rate(check, off, allowed, obeys ? result->cnp_rx : 0);
	used = strlen(check->text);
	if (off < -allowed && result->put_off && !check->is_excused)
		snprintf(
			check->text + used, sizeof(check->text) - used,
			"; its schedules were put off by %.1f ms%s: the CPU was taken, or the peer "
			"slow",
			(double)result->put_off / 1e6,
			result->group->qps > 1 ? ", all queue pairs added up" : "");
}

static void check_stream(const struct gen_stream *stream, struct gen_check *check)
{
	double sent = gen_stream_sent(stream), off = sent - stream->asked;
	double unit = stream->config->asked.is_messages ? 1 : 1e9;

	*check = (struct gen_check){.name = "stream rate"};
	snprintf(check->text, sizeof(check->text),
		 "stream %s: asked for %.6g %s, sent %.6g (%+.4f%%)", stream->config->name,
		 stream->asked / unit, stream->config->asked.is_messages ? "1/s" : "Gb/s",
		 sent / unit, 100 * off / stream->asked);
	judge_rate(check, off, GEN_RATE_TOLERANCE * stream->asked + gen_stream_granularity(stream),
		   vl_stream_counters(stream->stream)->cnp_rx);
}

/* Only of one that did not: the control connection, say, broke when all else was over. */
static void check_run(const struct gen_run *run, struct gen_check *check)
{
	const char *reason = "";

	for (uint32_t i = 0; i < run->application_count && !*reason; i++)
		reason = run->applications[i].error;
	*check = (struct gen_check){.name = "run"};
	if (!*reason && run->session->watch.gone)
		reason = "a port was taken away";
	snprintf(check->text, sizeof(check->text), "it did not come to its end%s%.300s",
		 *reason ? ": " : "", reason);
}

unsigned int gen_checks(const struct gen_run *run, const struct gen_group_result *groups,
			struct gen_check checks[GEN_MAX_CHECKS])
{
	unsigned int count = 0;

	if (run->failed)
		check_run(run, &checks[count++]);
	for (unsigned int i = 0; i < run->config->groups.count; i++) {
		const struct gen_group_result *result = &groups[i];
		struct gen_check *check = &checks[count++];

		*check = (struct gen_check){.name = "queue pairs"};
		check->passed = !result->failed && !result->unfinished;
		snprintf(check->text, sizeof(check->text),
			 "group %s: %u of %llu failed%s%s, %u did not complete what they had "
			 "posted",
			 result->group->name, result->failed,
			 (unsigned long long)result->group->qps, result->failed ? ": " : "",
			 result->failed ? vl_wc_status_name(result->failure) : "",
			 result->unfinished);
		/* Queue pairs that start one after the other and have a number of messages end one
		 * after the other. */
		if (result->expected > 0 && result->seconds > 0 && !run->interrupted &&
		    !(result->group->stagger && result->group->messages))
			check_rate(result, &checks[count++]);
	}
	for (uint32_t i = 0; i < run->application_count; i++) {
		const struct gen_streams *streams = run->applications[i].config.streams;

		for (uint32_t n = 0; n < streams->count && !run->interrupted; n++) {
			if (streams->streams[n].asked > 0)
				check_stream(&streams->streams[n], &checks[count++]);
		}
	}
	return count;
}

static void print_checks(const char *heading, const struct gen_check *checks, unsigned int count,
			 bool passed, FILE *out)
{
	for (unsigned int i = 0; i < count; i++) {
		if (checks[i].passed != passed || (passed && !checks[i].is_excused))
			continue;
		if (heading)
			fprintf(out, "%s\n", heading);
		heading = NULL;
		fprintf(out, "  %s: %s\n", checks[i].name, checks[i].text);
	}
}

void gen_report_checks(const struct gen_check *checks, unsigned int count, FILE *out)
{
	bool all = true, is_excused = false;

	for (unsigned int i = 0; i < count; i++) {
		all = all && checks[i].passed;
		is_excused = is_excused || checks[i].is_excused;
	}
	fputc('\n', out);
	if (all)
		fprintf(out, "All checks passed%s\n", is_excused ? ", but" : ".");
	print_checks("Checks that failed:", checks, count, false, out);
	print_checks(all ? NULL : "Excused:", checks, count, true, out);
}
