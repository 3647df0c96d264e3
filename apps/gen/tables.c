/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/endpoint/status.h"
#include "apps/gen/report.h"
#include "apps/quantity.h"
#include "dataplane/runtime/host.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

static const double parts[] = {0.5, 0.9, 0.99, 0.999, 0.9999};
#define PART_COUNT  (sizeof(parts) / sizeof(parts[0]))
#define MAX_QP_ROWS 64u

/* ---- Groups -------------------------------------------------------------------------------- */

/* Where what is off is no more than that, but looks like much. */
static void print_granularity(const struct gen_group_result *result, FILE *out)
{
	double off = fabs(result->sent - result->expected);
	double granularity = gen_rate_granularity(result);

	if (!(result->asked > 0) || !(result->expected > 0) || off > granularity ||
	    off < GEN_RATE_TOLERANCE * result->expected)
		return;
	fprintf(out,
		"  (%s: what is measured begins and ends between messages, and can seem off by "
		"%.3g %% for\n  that; the pacing error says how exactly each was sent)\n",
		result->group->name, 100 * granularity / result->expected);
}

static void print_groups(const struct gen_run *run, const struct gen_group_result *groups,
			 FILE *out)
{
	bool grows = false;

	fprintf(out, "  %-16s %6s %12s %12s %15s %15s %10s\n", "group", "QPs", "goodput",
		"messages", "asked", "sent", "off");
	fprintf(out, "  %-16s %6s %12s %12s %15s %15s %10s\n", "", "", "Gb/s", "1/s", "", "", "%");
	for (unsigned int i = 0; i < run->config->groups.count; i++) {
		const struct gen_group_result *result = &groups[i];
		bool counts_messages = result->counts == VL_RATE_OF_MESSAGES;
		double unit = counts_messages ? 1 : 1e9;
		const char *name = counts_messages ? "1/s" : "Gb/s";

		fprintf(out, "  %-16s %6" PRIu64 " %12.*f %12.0f", result->group->name,
			result->group->qps, gen_rate_decimals(result->goodput),
			result->goodput / 1e9, result->message_rate);
		if (!(result->asked > 0))
			fprintf(out, " %15s\n", "all that goes");
		else if (!(result->expected > 0))
			fprintf(out, " %10.6g %-4s %15s\n", result->asked / unit, name, "nothing");
		else
			fprintf(out, " %10.6g %-4s %10.6g %-4s %10.4f\n", result->expected / unit,
				name, result->sent / unit, name,
				100 * (result->sent - result->expected) / result->expected);
		grows = grows ||
			(result->asked > 0 && (result->group->ramp || result->group->stagger));
	}
	if (grows)
		fprintf(out, "  (of rates that grow, asked is the mean over what is measured)\n");
	for (unsigned int i = 0; i < run->config->groups.count; i++)
		print_granularity(&groups[i], out);
}

static const struct vl_histogram *histogram_of(const struct gen_group_result *result, size_t offset)
{
	return (const struct vl_histogram *)((const char *)result + offset);
}

/* histogram: offset in struct gen_group_result. */
static void print_times(const char *heading, const struct gen_run *run,
			const struct gen_group_result *groups, size_t histogram_offset, FILE *out)
{
	const struct vl_histogram *histogram;
	bool has_any = false;

	for (unsigned int i = 0; i < run->config->groups.count; i++)
		has_any = has_any || histogram_of(&groups[i], histogram_offset)->count;
	if (!has_any)
		return;
	fprintf(out, "\n  %-28s %9s %9s %9s %9s %9s %9s %9s\n", heading, "min", "p50", "p90", "p99",
		"p99.9", "p99.99", "max");
	for (unsigned int i = 0; i < run->config->groups.count; i++) {
		histogram = histogram_of(&groups[i], histogram_offset);
		if (!histogram->count)
			continue;
		if (histogram == &groups[i].one_way.times &&
		    !gen_one_way_is_measurable(&groups[i])) {
			fprintf(out, "  %-28s %9s %9s %9s %9s %9s %9s %9s\n", groups[i].group->name,
				"-", "-", "-", "-", "-", "-", "-");
			continue;
		}
		fprintf(out, "  %-28s %9.2f", groups[i].group->name,
			(double)histogram->least / 1e3);
		for (unsigned int n = 0; n < PART_COUNT; n++)
			fprintf(out, " %9.2f",
				(double)vl_histogram_percentile(histogram, parts[n]) / 1e3);
		fprintf(out, " %9.2f\n", (double)histogram->most / 1e3);
	}
}

/* What nobody acknowledges is over when it has left. */
static void print_unanswered(const struct gen_run *run, const struct gen_group_result *groups,
			     FILE *out)
{
	for (unsigned int i = 0; i < run->config->groups.count; i++) {
		const struct gen_group *group = groups[i].group;

		if (groups[i].completion.count && group->transport != VL_SCENARIO_RC)
			fprintf(out,
				"  %s: the sender's times: nothing answers %s, so a message "
				"completes when it has left\n",
				group->name, group->transport == VL_SCENARIO_UC ? "UC" : "UD");
	}
}

static void print_arrival_clock(const struct gen_group_result *result, FILE *out)
{
	fprintf(out, "  %s: arrivals are stamped by ", result->group->name);
	if (!strcmp(result->arrival_clock, "TSC"))
		fprintf(out, "the peer's TSC, as a worker takes them from the port\n");
	else
		fprintf(out,
			"%s, told in the TSC's time give or take %.3f us, which is part of "
			"the above\n",
			strcmp(result->arrival_clock, "mixed")
				? "the peer's device"
				: "the peer's devices at some ports, by its TSC at others",
			(double)result->arrival_error / 1e3);
}

static void print_one_way(const struct gen_run *run, const struct gen_group_result *groups,
			  FILE *out)
{
	print_times("one way, us", run, groups, offsetof(struct gen_group_result, one_way), out);
	for (unsigned int i = 0; i < run->config->groups.count; i++) {
		const struct gen_group_result *result = &groups[i];

		if (!result->one_way.times.count)
			continue;
		fprintf(out, "  %s: from posting to arrival, by %s; ", result->group->name,
			gen_clock_text(result->clock));
		if (!result->clock_error)
			fprintf(out, "no error of the clock\n");
		else if (result->clock_error == UINT64_MAX)
			fprintf(out, "how they differ is not known: not measurable\n");
		else
			fprintf(out, "give or take %.3f us%s\n", (double)result->clock_error / 1e3,
				gen_one_way_is_measurable(result)
					? ""
					: ", which is more than the median: not measurable");
		print_arrival_clock(result, out);
	}
}

/* ---- Counters ------------------------------------------------------------------------------ */

static void add_qps(struct vl_counters *sum, const struct gen_share *share)
{
	for (uint32_t n = 0; n < share->count; n++) {
		const struct vl_counters *counters =
			vl_qp_counters(vl_generate_group_qp(share->qps, n));

#define ADD_COUNTER(name, unit, meaning) sum->name += counters->name;
		VL_COUNTERS(ADD_COUNTER)
#undef ADD_COUNTER
	}
}

static void print_counters(const struct gen_run *run, FILE *out)
{
	struct vl_counters here = {0};
	bool has_peer = run->peer.qps != 0;
	uint64_t qps = 0;

	/* The groups' queue pairs alone, as the peer counts its side of them: not those by which
	 * the run was set up. */
	for (uint32_t i = 0; i < run->share_count; i++) {
		add_qps(&here, run->shares[i].share);
		qps += run->shares[i].share->count;
	}
	fprintf(out, "\n  %-28s %16s%s\n", "counter", "here", has_peer ? "             peer" : "");
#define PRINT_COUNTER(name, unit, meaning)                                                         \
	if (here.name || run->peer.counters.name) {                                                \
		fprintf(out, "  %-28s %16" PRIu64, #name, here.name);                              \
		if (has_peer)                                                                      \
			fprintf(out, " %16" PRIu64, run->peer.counters.name);                      \
		fputc('\n', out);                                                                  \
	}
	VL_COUNTERS(PRINT_COUNTER)
#undef PRINT_COUNTER
	if (has_peer && run->peer.qps > qps)
		fprintf(out,
			"  (the peer's are with those of its %" PRIu64 " partners of streams)\n",
			run->peer.qps - qps);
}

static void print_drops(const struct gen_run *run, FILE *out)
{
	static const char *const reasons[] = {
#define REASON(name, meaning) #name,
		VL_DROPS(REASON)
#undef REASON
	};
	uint64_t sum;

	for (unsigned int reason = 0; reason < VL_DROP_COUNT; reason++) {
		sum = 0;
		for (uint32_t i = 0; i < run->application_count; i++)
			sum += run->endpoints[i].drops[reason];
		if (sum)
			fprintf(out, "  dropped: %-19s %16" PRIu64 "\n", reasons[reason], sum);
	}
}

/* What slowed the run from outside, if it was a pause. */
static void print_pauses(const struct gen_run *run, FILE *out)
{
	char text[VL_QUANTITY_TEXT];

	for (uint32_t i = 0; i < run->application_count; i += run->session->worker_count) {
		struct gen_endpoint_result result = gen_port_result(run, i);
		const char *name =
			vl_host_port(run->session->host, run->applications[i].config.port)->name;

		for (unsigned int n = 0; n < VL_PFC_PRIORITIES; n++)
			if (result.paused[n])
				fprintf(out, "  paused by the peer's PFC: class %u of %s for %s\n",
					n, name,
					vl_quantity_text(VL_QUANTITY_DURATION, result.paused[n],
							 text));
	}
}

static void print_clock(const struct gen_run *run, FILE *out)
{
	for (uint32_t i = 0; i < run->application_count; i++) {
		const struct vl_control_client *client = run->applications[i].client;
		struct vl_control_clock begin, end;

		if (!client)
			continue;
		begin = vl_control_client_clock(client, false);
		end = vl_control_client_clock(client, true);
		if (begin.error == UINT64_MAX || end.error == UINT64_MAX)
			continue;
		fprintf(out,
			"\n  The peer's clock (TSC since its start) is %+.3f us from ours, give or "
			"take "
			"%.3f us;\n  it went %+.3f us further in the run, give or take %.3f us.\n",
			(double)end.offset / 1e3, (double)end.error / 1e3,
			(double)(end.offset - begin.offset) / 1e3,
			(double)(end.error + begin.error) / 1e3);
		return;
	}
}

/* Of frames that come in here; else it is the TSC, as workers take them. */
static void print_devices_clocks(const struct gen_run *run, FILE *out)
{
	for (uint32_t i = 0; i < run->application_count; i += run->session->worker_count) {
		const struct vl_port *port =
			vl_host_port(run->session->host, run->applications[i].config.port);

		if (port->abilities.rx_time)
			fprintf(out,
				"\n  %s: arrivals are stamped by the device, told in the TSC's "
				"time give or take %.3f us.\n",
				port->name, (double)vl_port_arrival_error(port) / 1e3);
	}
}

static void print_qps(const struct gen_run *run, FILE *out)
{
	uint32_t rows = 0;

	fprintf(out, "\n  %-16s %6s %8s %12s %16s %12s  %s\n", "group", "n", "QPN", "messages",
		"bytes", "again", "status");
	for (uint32_t i = 0; i < run->share_count; i++) {
		const struct gen_share *share = run->shares[i].share;

		for (uint32_t n = 0; n < share->count; n++) {
			const struct vl_generate_progress *progress =
				vl_generate_group_progress(share->qps, n);
			const struct vl_qp *qp = vl_generate_group_qp(share->qps, n);

			if (rows++ == MAX_QP_ROWS) {
				fprintf(out, "  (--json has the others)\n");
				return;
			}
			fprintf(out,
				"  %-16s %6u %#8x %12" PRIu64 " %16" PRIu64 " %12" PRIu64 "  %s\n",
				share->group->name, share->first + n, vl_qp_number(qp),
				progress->completed, progress->bytes,
				vl_qp_counters(qp)->data_frames_retransmitted,
				vl_wc_status_name(progress->status));
		}
	}
}

static void print_ports(const struct gen_run *run, FILE *out)
{
	fprintf(out, "\n  %-28s %14s %16s %14s %16s\n", "port", "frames out", "bytes", "frames in",
		"bytes");
	for (uint32_t i = 0; i < run->application_count; i += run->session->worker_count) {
		struct vl_endpoint_counters frames = gen_port_result(run, i).frames;
		uint32_t port = run->applications[i].config.port;

		fprintf(out, "  %-28s %14" PRIu64 " %16" PRIu64 " %14" PRIu64 " %16" PRIu64 "\n",
			vl_host_port(run->session->host, port)->name, frames.tx_frames,
			frames.tx_bytes, frames.rx_frames, frames.rx_bytes);
	}
}

void gen_report_tables(const struct gen_run *run, const struct gen_group_result *groups,
		       bool each_qp, FILE *out)
{
	bool heading = true;

	if (run->config->groups.count)
		print_groups(run, groups, out);
	for (uint32_t i = 0; i < run->application_count; i++) {
		if (run->applications[i].config.streams->count) {
			gen_streams_print(run->applications[i].config.streams, heading, out);
			heading = false;
		}
	}
	print_times("completion time, us", run, groups,
		    offsetof(struct gen_group_result, completion), out);
	print_unanswered(run, groups, out);
	print_one_way(run, groups, out);
	print_times("pacing error, us", run, groups, offsetof(struct gen_group_result, pacing),
		    out);
	print_counters(run, out);
	print_drops(run, out);
	print_pauses(run, out);
	if (run->application_count > run->session->worker_count)
		print_ports(run, out);
	print_clock(run, out);
	print_devices_clocks(run, out);
	if (each_qp)
		print_qps(run, out);
}

/* ---- As perftest --------------------------------------------------------------------------- */

static void print_line(FILE *out)
{
	fprintf(out, "----------------------------------------------------------------------------"
		     "-----------\n");
}

void gen_report_perftest(const struct gen_run *run, const struct gen_group_result *groups,
			 bool is_latency, FILE *out)
{
	print_line(out);
	if (is_latency)
		fprintf(out,
			" #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    "
			"t_avg[usec]    t_stdev[usec]   99%% percentile[usec]   99.9%% "
			"percentile[usec] \n");
	else
		fprintf(out, " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   "
			     "MsgRate[Mpps]\n");
	for (unsigned int i = 0; i < run->config->groups.count; i++) {
		const struct gen_group_result *result = &groups[i];
		const struct vl_histogram *times = &result->completion;
		uint64_t size = result->messages ? result->bytes / result->messages : 0;

		if (is_latency)
			fprintf(out,
				" %-7" PRIu64 " %" PRIu64 "          %-7.2f        %-7.2f      "
				"%-7.2f  	       %-7.2f     	"
				"%-7.2f		%-7.2f 		%-7.2f\n",
				size, times->count, (double)times->least / 1e3,
				(double)times->most / 1e3,
				(double)vl_histogram_percentile(times, 0.5) / 1e3,
				vl_histogram_mean(times) / 1e3, vl_histogram_deviation(times) / 1e3,
				(double)vl_histogram_percentile(times, 0.99) / 1e3,
				(double)vl_histogram_percentile(times, 0.999) / 1e3);
		else
			fprintf(out,
				" %-7" PRIu64 "    %-10" PRIu64
				"       %-7.2f            %-7.2f		   %-7.6f\n",
				size, result->messages, result->best_goodput / 1e9,
				result->goodput / 1e9, result->message_rate / 1e6);
	}
	print_line(out);
}
