/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/report/links.h"
#include "apps/report/results.h"
#include "apps/report/workload.h"

#include <stdlib.h>
#include <string.h>

#define MAX_ROWS     32u
#define EXTREME_ROWS 8u

static const char *verb_name(unsigned int verb)
{
	static const char *const names[] = {
#define VERB_NAME(enumerator, name) name,
		VL_FLOW_VERBS(VERB_NAME)
#undef VERB_NAME
	};

	return names[verb];
}

static uint64_t retransmitted(const struct vl_qp_result *qp)
{
	return qp->requester.data_frames_retransmitted + qp->responder.data_frames_retransmitted;
}

static const char *state(const struct vl_qp_result *qp)
{
	if (qp->status != IBV_WC_SUCCESS)
		return "failed";
	return qp->finished ? "done" : qp->stalled ? "stalled" : "";
}

static void print_qp(const struct vl_results *results, const struct vl_qp_result *qp, FILE *out)
{
	const struct vl_scenario_node *nodes = results->scenario->nodes;
	const struct vl_scenario_flow *flow = qp->pair->flow;
	char name[VL_MAX_NAME + 16], rate[16] = "-";

	if (flow->qps > 1)
		snprintf(name, sizeof(name), "%s#%u", flow->name, qp->number);
	else
		snprintf(name, sizeof(name), "%s", flow->name);
	if (qp->cc_rate > 0)
		snprintf(rate, sizeof(rate), "%.2f", qp->cc_rate / 1e9);
	fprintf(out, "  %-14s %-12s %-12s %-12s %9.3f %10s %10llu %8llu %s\n", name,
		nodes[qp->pair->from].name, nodes[qp->pair->to].name, verb_name(flow->verb),
		qp->goodput / 1e9, rate, (unsigned long long)qp->messages,
		(unsigned long long)retransmitted(qp), state(qp));
}

static int compare_goodput(const void *a, const void *b)
{
	const struct vl_qp_result *one = *(const struct vl_qp_result *const *)a;
	const struct vl_qp_result *other = *(const struct vl_qp_result *const *)b;

	if (one->goodput != other->goodput)
		return one->goodput < other->goodput ? -1 : 1;
	return one < other ? -1 : one > other;
}

/* Too many for a row each: the slowest, the fastest, and how the others lie between them. */
static void print_extremes(const struct vl_results *results, FILE *out)
{
	static const unsigned int percents[] = {1, 10, 25, 50, 75, 90, 99};
	const struct vl_qp_result **qps = malloc(results->qp_count * sizeof(*qps));
	unsigned int last = results->qp_count - 1;

	if (!qps)
		return;
	for (unsigned int i = 0; i < results->qp_count; i++)
		qps[i] = &results->qps[i];
	qsort(qps, results->qp_count, sizeof(*qps), compare_goodput);
	for (unsigned int i = 0; i < EXTREME_ROWS; i++)
		print_qp(results, qps[i], out);
	fprintf(out, "  ... %u more ...\n", results->qp_count - 2 * EXTREME_ROWS);
	for (unsigned int i = 0; i < EXTREME_ROWS; i++)
		print_qp(results, qps[results->qp_count - EXTREME_ROWS + i], out);
	fprintf(out, "  goodput of %u queue pairs, Gb/s: least %.3f", results->qp_count,
		qps[0]->goodput / 1e9);
	for (unsigned int i = 0; i < sizeof(percents) / sizeof(percents[0]); i++)
		fprintf(out, ", p%u %.3f", percents[i],
			qps[(uint64_t)last * percents[i] / 100]->goodput / 1e9);
	fprintf(out, ", most %.3f\n", qps[last]->goodput / 1e9);
	free(qps);
}

static void print_qps(const struct vl_results *results, FILE *out)
{
	fprintf(out, "  %-14s %-12s %-12s %-12s %9s %10s %10s %8s\n", "flow", "from", "to", "verb",
		"goodput", "allowed", "messages", "again");
	fprintf(out, "  %-14s %-12s %-12s %-12s %9s %10s %10s %8s\n", "", "", "", "", "Gb/s",
		"Gb/s", "", "packets");
	if (results->qp_count > MAX_ROWS) {
		print_extremes(results, out);
	} else {
		for (unsigned int i = 0; i < results->qp_count; i++)
			print_qp(results, &results->qps[i], out);
	}
	fprintf(out, "  %-14s %-12s %-12s %-12s %9.3f\n", "all", "", "", "",
		results->goodput / 1e9);
}

static void print_times(const struct vl_results *results, FILE *out)
{
	const struct vl_scenario_flow *flows = results->scenario->flows.elements;
	const struct vl_histogram *times;
	char size[VL_QUANTITY_TEXT];

	fprintf(out, "\nMessage completion times, us\n");
	fprintf(out, "  %-14s %10s %10s %10s %10s %10s %10s %10s\n", "flow", "size", "messages",
		"mean", "p50", "p99", "p99.9", "max");
	for (unsigned int i = 0; i < results->scenario->flows.count; i++) {
		if (i == MAX_ROWS) {
			fprintf(out, "  and %u more\n", results->scenario->flows.count - i);
			break;
		}
		times = &results->flow_times[i];
		fprintf(out, "  %-14s %10s %10llu", flows[i].name,
			vl_quantity_text(VL_QUANTITY_SIZE, flows[i].size, size),
			(unsigned long long)times->count);
		if (!times->count) {
			fputc('\n', out);
			continue;
		}
		fprintf(out, " %10.1f %10.1f %10.1f %10.1f %10.1f\n",
			vl_histogram_mean(times) / 1e3,
			(double)vl_histogram_percentile(times, 0.5) / 1e3,
			(double)vl_histogram_percentile(times, 0.99) / 1e3,
			(double)vl_histogram_percentile(times, 0.999) / 1e3,
			(double)times->most / 1e3);
	}
}

static void print_busiest(const struct vl_results *results, const struct vl_link_result *link,
			  FILE *out)
{
	const struct vl_scenario_node *nodes = results->scenario->nodes;
	unsigned int alike = results->scenario->bottleneck.alike;
	char rate[VL_QUANTITY_TEXT];

	if (alike > 1)
		fprintf(out, "\nNo bottleneck: the workloads ask for %u lines of switches alike\n",
			alike);
	else
		fprintf(out,
			"\nNo bottleneck: the line from %s to %s, which the workloads ask for "
			"most, is %.1f %% used\n",
			results->bottleneck.node, results->bottleneck.neighbour,
			results->bottleneck.utilization * 100);
	fprintf(out, "  used most: %s to %s, %s, %.1f %%\n", nodes[link->node].name,
		nodes[link->neighbour].name, vl_quantity_text(VL_QUANTITY_RATE, link->rate, rate),
		link->utilization * 100);
	if (nodes[link->node].sw)
		fprintf(out, "  its queue: mean %.1f KB, max %.1f KB\n", link->queue_mean / 1e3,
			(double)link->queue_max / 1e3);
}

static void print_bottleneck(const struct vl_results *results, FILE *out)
{
	const struct vl_bottleneck_result *bottleneck = &results->bottleneck;
	const struct vl_link_result *busiest = vl_report_busiest(results);
	char text[3][VL_QUANTITY_TEXT];

	if (busiest) {
		print_busiest(results, busiest, out);
		return;
	}
	fprintf(out, "\nBottleneck: %s to %s, %s\n", bottleneck->node, bottleneck->neighbour,
		vl_quantity_text(VL_QUANTITY_RATE, bottleneck->rate, text[0]));
	fprintf(out, "  used %.1f %%", bottleneck->utilization * 100);
	if (results->jain > 0)
		fprintf(out, "; fairness of %u queue pairs (Jain) %.4f", results->jain_count,
			results->jain);
	fputc('\n', out);
	if (!bottleneck->has_queue)
		return;
	fprintf(out, "  queue: mean %.1f KB, p99 %.1f KB, max %.1f KB",
		bottleneck->queue_mean / 1e3, bottleneck->queue_p99 / 1e3,
		(double)bottleneck->queue_max / 1e3);
	if (bottleneck->kmax)
		fprintf(out, " (Kmin %s, Kmax %s)",
			vl_quantity_text(VL_QUANTITY_SIZE, bottleneck->kmin, text[1]),
			vl_quantity_text(VL_QUANTITY_SIZE, bottleneck->kmax, text[2]));
	fputc('\n', out);
}

static void print_ethernet(const struct vl_totals *totals, FILE *out)
{
	char paused[VL_QUANTITY_TEXT];

	fprintf(out, "  ECN: %llu packets marked, %llu received marked\n",
		(unsigned long long)totals->ecn_marked, (unsigned long long)totals->ecn_ce_rx);
	fprintf(out, "  CNP: %llu sent, %llu received\n", (unsigned long long)totals->cnp_tx,
		(unsigned long long)totals->cnp_rx);
	fprintf(out, "  PFC: %llu pauses, %llu resumes, ports paused for %s together\n",
		(unsigned long long)totals->pfc_pause_tx, (unsigned long long)totals->pfc_resume_tx,
		vl_quantity_text(VL_QUANTITY_DURATION, totals->pfc_paused_ns, paused));
}

static void print_infiniband(const struct vl_totals *totals, FILE *out)
{
	char stalled[VL_QUANTITY_TEXT];

	fprintf(out,
		"  FECN: %llu packets marked, %llu received marked; BECN: %llu sent, %llu "
		"received\n",
		(unsigned long long)totals->ecn_marked, (unsigned long long)totals->fecn_rx,
		(unsigned long long)totals->becn_tx, (unsigned long long)totals->becn_rx);
	fprintf(out, "  credits: ports and lanes waited for %s together\n",
		vl_quantity_text(VL_QUANTITY_DURATION, totals->credit_stall_ns, stalled));
}

static void print_totals(const struct vl_results *results, FILE *out)
{
	const struct vl_totals *totals = &results->totals;
	char late[VL_QUANTITY_TEXT];

	fprintf(out, "\nCounted over the whole run\n");
	if (vl_scenario_is_infiniband(results->scenario))
		print_infiniband(totals, out);
	else
		print_ethernet(totals, out);
	fprintf(out,
		"  loss: %llu packets of %llu sent again; %llu NAKs, %llu RNR NAKs, %llu "
		"timeouts\n",
		(unsigned long long)totals->data_frames_retransmitted,
		(unsigned long long)totals->data_frames_tx, (unsigned long long)totals->nak_tx,
		(unsigned long long)totals->rnr_nak_tx,
		(unsigned long long)totals->local_ack_timeout_err);
	if (results->is_live)
		fprintf(out,
			"  workers: the busier one %.0f %% of the time; one kept from running for "
			"%s; "
			"rings full %llu times, no free buffer %llu times\n",
			results->live_busy * 100,
			vl_quantity_text(VL_QUANTITY_DURATION, results->live_late_time, late),
			(unsigned long long)results->live_overruns,
			(unsigned long long)results->live_exhausted);
	for (unsigned int i = 0; i < results->drop_count; i++)
		fprintf(out, "  dropped at %s, %s: %llu\n", results->drops[i].where,
			results->drops[i].reason, (unsigned long long)results->drops[i].count);
}

void vl_report_tables(const struct vl_results *results, FILE *out)
{
	const struct vl_scenario *scenario = results->scenario;
	char end[VL_QUANTITY_TEXT], start[VL_QUANTITY_TEXT], last[VL_QUANTITY_TEXT];

	fprintf(out,
		"%s%s%s, seed %llu: %s of %s time; goodput, completion times and queue from %s "
		"%s%s\n\n",
		scenario->name, scenario->fabric ? " over " : "",
		scenario->fabric ? vl_scenario_fabric_name(scenario->fabric) : "",
		(unsigned long long)scenario->seed,
		vl_quantity_text(VL_QUANTITY_DURATION, results->end, end),
		results->is_live ? "real" : "virtual",
		vl_quantity_text(VL_QUANTITY_DURATION, results->window_start, start),
		results->window_end < results->end ? "to " : "on",
		results->window_end < results->end
			? vl_quantity_text(VL_QUANTITY_DURATION, results->window_end, last)
			: "");
	if (results->qp_count) {
		print_qps(results, out);
		print_times(results, out);
		fputs(results->workload_count ? "\n" : "", out);
	}
	vl_report_workloads(results, out);
	print_bottleneck(results, out);
	vl_report_links(results, out);
	print_totals(results, out);
}
