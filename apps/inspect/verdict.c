/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/inspect/verdict.h"

#include "apps/inspect/describe.h"
#include "apps/inspect/verdict_private.h"
#include "transport/wire/opcode.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Fewer CNPs than these say nothing about how a sender reacts. */
#define ENOUGH_CNPS 10
/* A sender that keeps this much of its rate after CNPs does not react. */
#define RATE_KEPT 0.95

#define SERVICE_BIT(service) (1u << (VL_SERVICE_##service >> 5))

struct inspect_finding *inspect_finding_add(struct inspect_verdict *verdict,
					    enum inspect_severity severity, const char *name,
					    const char *format, ...)
{
	static struct inspect_finding surplus;
	struct inspect_finding *finding = &surplus;
	va_list arguments;

	if (verdict->count < INSPECT_MAX_FINDINGS)
		finding = &verdict->findings[verdict->count++];
	finding->severity = severity;
	finding->name = name;
	finding->advice[0] = 0;
	va_start(arguments, format);
	vsnprintf(finding->text, sizeof(finding->text), format, arguments);
	va_end(arguments);
	if (severity > verdict->worst)
		verdict->worst = severity;
	return finding;
}

void inspect_advise(struct inspect_finding *finding, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(finding->advice, sizeof(finding->advice), format, arguments);
	va_end(arguments);
}

const char *inspect_plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

static void judge_reaction(struct inspect_sums *sums, const struct inspect_flow *flow)
{
	const struct inspect_flow *notified = flow->reverse;
	double before, after;

	if (!notified || notified->cnps < ENOUGH_CNPS ||
	    !inspect_rates_around_cnp(flow, &before, &after))
		return;
	if (after < RATE_KEPT * before) {
		sums->heeding++;
	} else if (before > 0 && !sums->unheeding_flow) {
		sums->unheeding_flow = flow;
		sums->unheeding_before = before;
		sums->unheeding_after = after;
	}
}

static void sum_requests(struct inspect_sums *sums, const struct inspect_flow *flow)
{
	const struct inspect_requests *requests = &flow->requests;
	struct inspect_requests *sum = &sums->requests;

	sum->packets += requests->packets;
	sum->messages += requests->messages;
	sum->retransmitted += requests->retransmitted;
	sum->retransmissions += requests->retransmissions;
	for (unsigned int cause = 0; cause < INSPECT_CAUSE_COUNT; cause++)
		sum->runs_by_cause[cause] += requests->runs_by_cause[cause];
	sum->duplicates += requests->duplicates;
	sum->gap_packets += requests->gap_packets;
	sum->gap_filled += requests->gap_filled;
	sum->gap_answered += requests->gap_answered;
	sum->reordered += requests->reordered;
	sum->lost_before += requests->lost_before;
	sum->lost_behind += requests->lost_behind;
	sum->order_errors += requests->order_errors;
	sum->restarts += requests->restarts;
	if (requests->duplicates && !sums->copied_flow)
		sums->copied_flow = flow;
	if (requests->retries) {
		sums->gave_up++;
		if (!sums->gave_up_flow || requests->retries > sums->gave_up_flow->requests.retries)
			sums->gave_up_flow = flow;
	}
}

static void sum_responses(struct inspect_sums *sums, const struct inspect_flow *flow)
{
	const struct inspect_responses *responses = &flow->responses;

	sums->responses.packets += responses->packets;
	sums->responses.naks += responses->naks;
	sums->responses.rnr_naks += responses->rnr_naks;
	sums->responses.gap_packets += responses->gap_packets;
	sums->responses.repeated += responses->repeated;
	if (responses->rnr_naks && !sums->rnr_flow)
		sums->rnr_flow = flow;
	for (unsigned int code = 0; code < 8; code++) {
		sums->responses.nak_codes[code] += responses->nak_codes[code];
		if (code && responses->nak_codes[code]) {
			sums->refusals += responses->nak_codes[code];
			if (!sums->refused_flow)
				sums->refused_flow = flow;
		}
	}
}

static void sum_flow(struct inspect_sums *sums, const struct inspect_flow *flow)
{
	sums->ce += flow->ecn[VL_ECN_CE];
	sums->cnps += flow->cnps;
	if (flow->payload) {
		sums->data_flows++;
		sums->default_class_flows += flow->dscps & 1 && !(flow->priorities & ~1u);
		if (flow->dscps & (flow->dscps - 1) && !sums->mixed_class_flow)
			sums->mixed_class_flow = flow;
	}
	if (flow->ecn[VL_ECN_CE] && flow->reverse && !flow->reverse->cnps && !sums->unnotified_flow)
		sums->unnotified_flow = flow;
	if (flow->services & SERVICE_BIT(RC) && !flow->reverse)
		sums->one_way++;
	if (flow->services & (SERVICE_BIT(UC) | SERVICE_BIT(UD)) && !flow->is_gsi)
		sums->unacknowledged++;
	sum_requests(sums, flow);
	sum_responses(sums, flow);
	judge_reaction(sums, flow);
}

/* Keeps the order of equals. */
static void sort_gravest_first(struct inspect_verdict *verdict)
{
	for (unsigned int i = 1; i < verdict->count; i++) {
		struct inspect_finding finding = verdict->findings[i];
		unsigned int j = i;

		for (; j && verdict->findings[j - 1].severity < finding.severity; j--)
			verdict->findings[j] = verdict->findings[j - 1];
		verdict->findings[j] = finding;
	}
}

/* Before the notes. */
static void add_healthy(struct inspect_verdict *verdict, const struct inspect_analysis *analysis)
{
	struct inspect_finding finding = {.severity = INSPECT_GOOD, .name = "healthy"};

	snprintf(finding.text, sizeof(finding.text), "%snothing was lost, refused or sent again.",
		 analysis->icrc_unchecked ? "Healthy, as far as can be told: "
					  : "Healthy: every ICRC is right, ");
	if (verdict->count == INSPECT_MAX_FINDINGS)
		verdict->count--;
	memmove(verdict->findings + 1, verdict->findings,
		verdict->count++ * sizeof(verdict->findings[0]));
	verdict->findings[0] = finding;
}

void inspect_verdict_make(struct inspect_verdict *verdict, const struct inspect_analysis *analysis,
			  const char *stopped)
{
	struct inspect_sums *sums = calloc(1, sizeof(*sums));

	verdict->count = 0;
	verdict->worst = INSPECT_GOOD;
	inspect_judge_file(verdict, analysis, stopped);
	inspect_judge_crcs(verdict, analysis);
	if (sums) {
		for (uint32_t i = 0; i < analysis->flows.count; i++)
			sum_flow(sums, inspect_flow_at(&analysis->flows, i));
		inspect_judge_failures(verdict, analysis, sums);
		inspect_judge_loss(verdict, sums);
		inspect_judge_congestion(verdict, analysis, sums);
		inspect_judge_entropy(verdict, analysis);
		if (sums->one_way)
			inspect_finding_add(
				verdict, INSPECT_NOTE, "one_way",
				"Of %" PRIu64
				" reliable flow%s only one direction is in the capture (or "
				"could not be matched), so answers cannot be told.",
				sums->one_way, inspect_plural(sums->one_way));
		if (sums->unacknowledged)
			inspect_finding_add(
				verdict, INSPECT_NOTE, "unacknowledged",
				"%" PRIu64
				" flow%s of UC or UD, which are not acknowledged: what was "
				"lost of them behind the capture cannot be seen.",
				sums->unacknowledged, sums->unacknowledged == 1 ? " is" : "s are");
		free(sums);
	}
	sort_gravest_first(verdict);
	if (verdict->worst < INSPECT_WARNING && analysis->classes[INSPECT_RDMA])
		add_healthy(verdict, analysis);
}

const char *inspect_severity_name(enum inspect_severity severity)
{
	static const char *const names[] = {"good", "note", "warning", "problem"};

	return names[severity];
}
