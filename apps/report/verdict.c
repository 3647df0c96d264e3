/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What the numbers mean, for who has not seen such numbers before. */

#include "apps/report/links.h"
#include "apps/report/results.h"
#include "apps/report/workload.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Of a worker's time: some is lost to rounds that find nothing. */
#define BUSY        0.80
#define MUCH_LATE   0.10
#define MUCH_PAUSED 0.10
#define EVEN        0.99
#define NEARLY_EVEN 0.95
#define MUCH_RESENT 0.01
/* Of a line's rate, as it would be printed as nothing; bytes, likewise. */
#define UNUSED       0.0005
#define LITTLE_QUEUE 500
/* Of a link's rate, that credits let through. */
#define TOO_LONG     0.95
#define NEARLY_ALL   0.75
#define MOST_CREDITS (2047u * 64)
#define PART_TEXT    16

static unsigned int count_failed(const struct vl_results *results)
{
	unsigned int failed = 0;

	for (unsigned int i = 0; i < results->qp_count; i++)
		failed += results->qps[i].status != IBV_WC_SUCCESS;
	return failed;
}

static unsigned int count_unfinished(const struct vl_results *results)
{
	unsigned int unfinished = 0;

	for (unsigned int i = 0; i < results->qp_count; i++)
		unfinished += results->qps[i].pair->flow->messages && !results->qps[i].finished;
	return unfinished;
}

bool vl_results_are_good(const struct vl_results *results)
{
	return !count_failed(results) && !count_unfinished(results) &&
	       !vl_results_unfinished_workloads(results) && !results->deadlock.count;
}

static const char *status_name(enum ibv_wc_status status)
{
	switch (status) {
	case IBV_WC_RETRY_EXC_ERR:
		return "retries exceeded: too many timeouts or sequence NAKs in a row";
	case IBV_WC_RNR_RETRY_EXC_ERR:
		return "RNR retries exceeded: the peer has no receive posted";
	case IBV_WC_REM_ACCESS_ERR:
		return "remote access error";
	case IBV_WC_REM_INV_REQ_ERR:
		return "remote invalid request";
	case IBV_WC_REM_OP_ERR:
		return "remote operational error";
	case IBV_WC_LOC_PROT_ERR:
		return "local protection error";
	case IBV_WC_LOC_QP_OP_ERR:
		return "local queue pair operation error";
	default:
		return "work requests completed in error";
	}
}

static void say_failures(const struct vl_results *results, FILE *out)
{
	unsigned int failed = count_failed(results), unfinished = count_unfinished(results);

	for (unsigned int i = 0; i < results->qp_count && failed; i++) {
		if (results->qps[i].status == IBV_WC_SUCCESS)
			continue;
		fprintf(out, "%u of %u queue pairs failed; the first with: %s. ", failed,
			results->qp_count, status_name(results->qps[i].status));
		break;
	}
	if (unfinished > failed)
		fprintf(out,
			"%u of %u queue pairs did not get all their messages through in time. ",
			unfinished, results->qp_count);
}

static bool has_lifetimes(const struct vl_scenario *scenario)
{
	return vl_scenario_is_infiniband(scenario) &&
	       (scenario->infiniband.lifetime || scenario->infiniband.head_of_queue_lifetime);
}

static void say_deadlock(const struct vl_results *results, FILE *out)
{
	const struct vl_deadlock_result *deadlock = &results->deadlock;
	const struct vl_scenario_node *nodes = results->scenario->nodes;
	unsigned int shown =
		deadlock->count < VL_MAX_DEADLOCK_LINKS ? deadlock->count : VL_MAX_DEADLOCK_LINKS;
	char since[VL_QUANTITY_TEXT];

	if (!deadlock->count) {
		if (*results->possible_deadlock)
			fprintf(out, "The subnet manager warns: %s. ", results->possible_deadlock);
		return;
	}
	fprintf(out, "DEADLOCK: since %s nothing moves on",
		vl_quantity_text(VL_QUANTITY_DURATION, deadlock->since, since));
	for (unsigned int i = 0; i < shown; i++)
		fprintf(out, " %s ->", nodes[results->links[deadlock->links[i]].node].name);
	fprintf(out, " %s: ", nodes[results->links[deadlock->links[shown - 1]].neighbour].name);
	if (deadlock->elsewhere)
		fprintf(out,
			"%u of these %u links are seen here, and each waits until there is room "
			"behind the next; of the others, which other processes run, their reports "
			"tell. ",
			deadlock->count - deadlock->elsewhere, deadlock->count);
	else
		fprintf(out, "each of these %u links waits until there is room behind the next. ",
			deadlock->count);
	if (has_lifetimes(results->scenario))
		fprintf(out, "It ends when packets in it are dropped for their age, and may come "
			     "again. ");
	fprintf(out, "Paths without a circle (up-down), or fewer hops, avoid it. ");
}

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/* Packets corrupted on links are found out by whom they reach, and are among the drops there. */
static void say_loss(const struct vl_results *results, FILE *out)
{
	const struct vl_totals *totals = &results->totals;
	uint64_t lost = totals->switch_drops + totals->link_losses;
	double again = totals->data_frames_tx ? (double)totals->data_frames_retransmitted /
							(double)totals->data_frames_tx
					      : 0;

	if (!lost && !totals->link_corrupted) {
		if (!totals->data_frames_retransmitted)
			fprintf(out, "Nothing was lost and nothing sent twice. ");
		else
			fprintf(out,
				"Nothing was lost, but %.2f %% of all data packets were sent "
				"again: others overtook them, or answers came later than the "
				"timeout. ",
				again * 100);
		return;
	}
	if (lost)
		fprintf(out, "%llu packet%s lost (", (unsigned long long)lost,
			lost == 1 ? " was" : "s were");
	if (lost && totals->switch_drops && totals->switch_drops < lost)
		fprintf(out, "%llu of them dropped by switches)",
			(unsigned long long)totals->switch_drops);
	else if (lost)
		fprintf(out, "%s by switches)",
			!totals->switch_drops ? "none dropped"
			: lost == 1           ? "dropped"
					      : "all dropped");
	if (totals->link_corrupted)
		fprintf(out, "%s%llu packet%s corrupted on links", lost ? ", " : "",
			(unsigned long long)totals->link_corrupted,
			totals->link_corrupted == 1 ? " was" : "s were");
	fprintf(out, ", and %.2f %% of all data packets were sent again%s. ", again * 100,
		again > MUCH_RESENT ? ": go-back-N repeats everything after a loss" : "");
}

static bool stood_still(const struct vl_results *results, uint64_t time)
{
	return (double)time > MUCH_PAUSED * (double)results->end;
}

/* Whether anybody answers CNPs by sending less. */
static bool senders_react(const struct vl_results *results)
{
	for (unsigned int i = 0; i < results->scenario->pair_count; i++) {
		const struct vl_scenario_flow *flow = results->scenario->pairs[i].flow;
		const struct vl_scenario_cc *cc = flow->has_cc ? &flow->cc : &results->scenario->cc;

		if (cc->resolved.algorithm->on_cnp)
			return true;
	}
	return results->workload_count && results->scenario->cc.resolved.algorithm->on_cnp;
}

static bool is_a_line_busy(const struct vl_results *results)
{
	for (unsigned int i = 0; i < results->link_count; i++) {
		if (results->links[i].utilization >= VL_REPORT_WELL_USED)
			return true;
	}
	return false;
}

/* Queue pairs that lost something and then brought nothing through in the whole window. */
static unsigned int count_silent(const struct vl_results *results,
				 const struct vl_qp_result **first)
{
	unsigned int silent = 0;

	if (!results->totals.switch_drops && !results->totals.link_losses &&
	    !results->totals.link_corrupted)
		return 0;
	for (unsigned int i = 0; i < results->qp_count; i++) {
		const struct vl_qp_result *qp = &results->qps[i];

		if (qp->goodput > 0 || qp->finished || qp->status != IBV_WC_SUCCESS ||
		    qp->pair->start >= results->window_start || !qp->pair->flow->timeout)
			continue;
		if (!silent++)
			*first = qp;
	}
	return silent;
}

static void say_silent(const struct vl_results *results, FILE *out)
{
	const struct vl_qp_result *first = NULL;
	unsigned int silent = count_silent(results, &first);
	char timeout[VL_QUANTITY_TEXT];

	if (!silent)
		return;
	if (silent == results->qp_count)
		fprintf(out, "No queue pair brings anything");
	else
		fprintf(out, "%u of %u queue pairs bring%s nothing", silent, results->qp_count,
			silent == 1 ? "s" : "");
	fprintf(out,
		" through in the measured window: what was lost is found out by the timeout "
		"alone, which is %s (the flow's key timeout). ",
		vl_quantity_text(VL_QUANTITY_DURATION, UINT64_C(4096) << first->pair->flow->timeout,
				 timeout));
}

/*
 * The link that carries as much as the credits of one lane can, which come back only after a round
 * trip, and for want of them no more: that part of its rate. 1: none is too long for its buffers.
 */
static double find_too_long(const struct vl_results *results, const struct vl_link_result **longest,
			    uint64_t *round_trip)
{
	const struct vl_scenario *scenario = results->scenario;
	uint64_t packet = vl_scenario_mtu(scenario) + VL_INFINIBAND_PACKET_OVERHEAD, delay, time;
	double least = 1, part;

	if (!vl_scenario_is_infiniband(scenario) || results->is_live)
		return 1;
	for (unsigned int i = 0; i < results->link_count; i++) {
		const struct vl_link_result *link = &results->links[i];

		if (!link->rate || !stood_still(results, link->longest_credit_stall_ns))
			continue;
		delay = vl_scenario_port(scenario, link->node, link->port)->cable->links->delay;
		time = 2 * delay + packet * 8000000000u / link->rate;
		part = (double)(scenario->infiniband.buffer / packet * packet) * 8e9 /
		       ((double)time * (double)link->rate);
		/* One that carries less waits for something else. */
		if (part >= least || link->utilization < NEARLY_ALL * part)
			continue;
		least = part;
		*longest = link;
		*round_trip = time;
	}
	return least;
}

/* What held the flows back, if not the line. */
static const char *bottleneck_elsewhere(const struct vl_results *results)
{
	const struct vl_totals *totals = &results->totals;
	const struct vl_qp_result *silent;
	const struct vl_link_result *link;
	uint64_t round_trip;

	if (results->deadlock.count)
		return "nothing gets through the deadlock";
	if ((double)results->live_late_time > MUCH_LATE * (double)results->end)
		return "other programs ran on the workers' CPUs for a good part of the time, and "
		       "real time did not wait";
	if (results->live_busy > BUSY)
		return "this machine's cores are, as they have to do in real time what the "
		       "scenario asks for";
	if (count_silent(results, &silent))
		return "after losses, senders stand still until their timeouts";
	if (find_too_long(results, &link, &round_trip) < TOO_LONG)
		return "a link is too long for the credits of its buffers";
	if (!results->is_live && totals->cnp_rx && senders_react(results))
		return "the senders have slowed down on CNPs further than they had to, and are "
		       "still speeding up again";
	if (totals->becn_rx && !stood_still(results, results->most_stalled_ns))
		return "the adapters have slowed down on BECNs further than they had to";
	if (totals->data_frames_retransmitted && totals->local_ack_timeout_err)
		return "after losses, senders stand still until their timeouts";
	if (stood_still(results, results->most_paused_ns))
		return "senders stand still in pauses that congestion elsewhere brings about";
	if (stood_still(results, results->most_stalled_ns))
		return is_a_line_busy(results)
			       ? "senders wait for credits that congestion elsewhere holds back"
			       : "senders wait for credits although no line is busy: buffers hold "
				 "less "
				 "than a round trip, or are emptied slowly";
	return "something else holds the flows back";
}

static void say_busiest(const struct vl_results *results, const struct vl_link_result *link,
			FILE *out)
{
	const struct vl_scenario_node *nodes = results->scenario->nodes;

	fprintf(out, "The line that is used most, from %s to %s, is so to %.1f %%",
		nodes[link->node].name, nodes[link->neighbour].name, link->utilization * 100);
	if (link->queue_max)
		fprintf(out, "; its queue holds %.0f KB on average and %.0f KB at most",
			link->queue_mean / 1e3, (double)link->queue_max / 1e3);
	fprintf(out, ". ");
}

static void say_use(const struct vl_results *results, FILE *out)
{
	const struct vl_bottleneck_result *bottleneck = &results->bottleneck;
	char goodput[VL_QUANTITY_TEXT];

	fprintf(out, "The line from %s to %s is %.1f %% used", bottleneck->node,
		bottleneck->neighbour, bottleneck->utilization * 100);
	if (results->qp_count)
		fprintf(out, " and brings %s of %s",
			vl_quantity_text(VL_QUANTITY_RATE, (uint64_t)results->bottleneck_goodput,
					 goodput),
			results->workload_count ? "flows' payload" : "payload");
	if (results->jain > 0)
		fprintf(out, ", which %u queue pairs share %s (Jain's index %.3f)",
			results->jain_count,
			results->jain >= EVEN          ? "evenly"
			: results->jain >= NEARLY_EVEN ? "almost evenly"
						       : "unevenly",
			results->jain);
	fprintf(out, ". ");
	/* Workloads wait for themselves too. */
	if (bottleneck->utilization < VL_REPORT_WELL_USED && !results->workload_count)
		fprintf(out, "It is not the bottleneck: %s. ", bottleneck_elsewhere(results));
}

static void say_queue(const struct vl_results *results, FILE *out)
{
	const struct vl_bottleneck_result *bottleneck = &results->bottleneck;
	double rate = (double)bottleneck->rate * bottleneck->utilization;

	if (!bottleneck->has_queue)
		return;
	if (bottleneck->queue_mean < LITTLE_QUEUE) {
		fprintf(out, "Next to nothing waits for that line. ");
		return;
	}
	fprintf(out, "The queue of that line holds %.0f KB on average",
		bottleneck->queue_mean / 1e3);
	if (bottleneck->utilization < UNUSED) {
		fprintf(out, ", of which nothing leaves. ");
		return;
	}
	/* By Little's law, whatever else than the line holds the queue up. */
	fprintf(out, ", which delays each packet by %.1f us", bottleneck->queue_mean * 8e6 / rate);
	if (!bottleneck->kmax || !results->totals.cnp_rx)
		fprintf(out, ". ");
	else if (!senders_react(results))
		fprintf(out, "; it is marked, but nobody slows down on CNPs. ");
	else if (bottleneck->queue_mean < (double)bottleneck->kmin)
		fprintf(out, "; ECN keeps it below Kmin. ");
	else if (bottleneck->queue_mean <= (double)bottleneck->kmax)
		fprintf(out, "; ECN keeps it between Kmin and Kmax. ");
	else
		fprintf(out,
			"; that is above Kmax: the senders slow down too late or too little. ");
}

static void say_too_long(const struct vl_results *results, FILE *out)
{
	const struct vl_scenario_node *nodes = results->scenario->nodes;
	const struct vl_link_result *link = NULL;
	uint64_t round_trip = 0, packet, needed;
	double part = find_too_long(results, &link, &round_trip);
	char time[VL_QUANTITY_TEXT], sizes[2][VL_QUANTITY_TEXT];

	if (part >= TOO_LONG)
		return;
	packet = vl_scenario_mtu(results->scenario) + VL_INFINIBAND_PACKET_OVERHEAD;
	needed = (uint64_t)((double)link->rate * (double)round_trip / 8e9);
	needed = (needed + packet - 1) / packet * packet;
	fprintf(out,
		" The link from %s to %s could not be filled: the %s of credits of a lane come "
		"back "
		"after %s, which allows %.0f %% of its rate at most; all of it takes %s "
		"(infiniband.buffer)%s.",
		nodes[link->node].name, nodes[link->neighbour].name,
		vl_quantity_text(VL_QUANTITY_SIZE, results->scenario->infiniband.buffer, sizes[0]),
		vl_quantity_text(VL_QUANTITY_DURATION, round_trip, time), part * 100,
		vl_quantity_text(VL_QUANTITY_SIZE, needed, sizes[1]),
		needed > MOST_CREDITS ? ", more than the credits of one lane can count" : "");
}

/* A part that is there is never told as 0 %. */
static const char *part_text(uint64_t time, uint64_t whole, char text[PART_TEXT])
{
	double part = (double)time * 100 / (double)whole;

	if (part < 1)
		return "less than 1 %";
	snprintf(text, PART_TEXT, "%.0f %%", part);
	return text;
}

static void say_credits(const struct vl_results *results, FILE *out)
{
	char part[PART_TEXT];

	if (!results->most_stalled_node || !results->end) {
		fprintf(out, "Nobody ever had to wait for credits.");
		return;
	}
	fprintf(out,
		"A port of %s had packets but no credits for %s of the run, and whatever "
		"shares such a port and virtual lane waits with it.",
		results->most_stalled_node,
		part_text(results->most_stalled_ns, results->end, part));
	say_too_long(results, out);
}

static void say_pauses(const struct vl_results *results, FILE *out)
{
	uint64_t pauses = results->totals.pfc_pause_tx;
	char part[PART_TEXT];

	if (!pauses) {
		fprintf(out, "PFC never had to pause anybody.");
		return;
	}
	if (!results->most_paused_node || !results->end) {
		fprintf(out,
			"PFC asked for a pause %llu time%s, and no port had to stand still for it: "
			"it had nothing to send, had not heard of it yet, or does not obey PFC.",
			(unsigned long long)pauses, plural(pauses));
		return;
	}
	fprintf(out,
		"PFC sent %llu pause%s, those that only refresh one among them; a port of %s stood "
		"still for %s of the run, and whatever shares such a port waits with it.",
		(unsigned long long)pauses, plural(pauses), results->most_paused_node,
		part_text(results->most_paused_ns, results->end, part));
}

/* Not if another process runs the node. */
static bool is_bottleneck_seen(const struct vl_results *results)
{
	const struct vl_scenario *scenario = results->scenario;

	return !results->links[scenario->nodes[scenario->bottleneck.node].first_port +
			       scenario->bottleneck.port]
			.is_elsewhere;
}

void vl_report_verdict(const struct vl_results *results, FILE *out)
{
	const struct vl_link_result *busiest;
	char *text = NULL;
	size_t size = 0;
	FILE *words = open_memstream(&text, &size);

	if (!words)
		return;
	say_deadlock(results, words);
	say_failures(results, words);
	vl_report_say_workloads(results, words);
	busiest = vl_report_busiest(results);
	if (busiest)
		say_busiest(results, busiest, words);
	else if (is_bottleneck_seen(results))
		say_use(results, words);
	say_loss(results, words);
	say_silent(results, words);
	if (!busiest && is_bottleneck_seen(results))
		say_queue(results, words);
	if (vl_scenario_is_infiniband(results->scenario))
		say_credits(results, words);
	else
		say_pauses(results, words);
	if (!fclose(words))
		vl_print_wrapped(out, text, 0, 0);
	free(text);
}
