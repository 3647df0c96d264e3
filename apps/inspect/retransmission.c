/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Requests out of sequence: skipped, sent again, copied, late. A requester goes back to one PSN and
 * sends from there on (go-back-N), so one packet that was missing and is followed by new ones was
 * only late.
 */

#include "apps/inspect/analysis.h"
#include "transport/psn.h"
#include "transport/wire/icrc.h"
#include "transport/wire/opcode.h"

#include <string.h>

/* A copy follows its original sooner than a requester could have timed out. */
#define COPY_TIME UINT64_C(100000)

void inspect_gap(struct inspect_analysis *analysis, struct inspect_flow *flow,
		 const struct inspect_arrival *arrival, uint32_t count)
{
	struct inspect_requests *requests = &flow->requests;
	struct inspect_event *event;

	requests->gap_events++;
	requests->gap_packets += count;
	if (requests->gap_count == INSPECT_MAX_GAPS)
		memmove(requests->gaps, requests->gaps + 1,
			--requests->gap_count * sizeof(requests->gaps[0]));
	requests->gaps[requests->gap_count++] = (struct inspect_gap){requests->next_psn, count};
	event = inspect_event_add(analysis, INSPECT_EVENT_gap, flow, arrival);
	if (event) {
		event->psn = requests->next_psn;
		event->count = count;
	}
}

/* True if psn was missing until now. */
static bool fill_gap(struct inspect_requests *requests, uint32_t psn)
{
	for (uint32_t i = 0; i < requests->gap_count; i++) {
		struct inspect_gap *gap = &requests->gaps[i];
		uint32_t at = (psn - gap->first) & VL_PSN_MASK;
		struct inspect_gap behind = *gap;

		if (at >= gap->count)
			continue;
		behind.first = vl_psn_add(psn, 1);
		behind.count -= at + 1;
		gap->count = at;
		if (!gap->count)
			*gap = behind;
		else if (behind.count && requests->gap_count < INSPECT_MAX_GAPS)
			requests->gaps[requests->gap_count++] = behind;
		if (!gap->count)
			*gap = requests->gaps[--requests->gap_count];
		return true;
	}
	return false;
}

static void set_cause(struct inspect_analysis *analysis, const struct inspect_flow *flow,
		      struct inspect_event *event)
{
	const struct inspect_requests *requests = &flow->requests;
	const struct inspect_nak *nak = requests->rnr.pending ? &requests->rnr : &requests->nak;
	const struct inspect_past *original =
		inspect_history_find_holder(&analysis->history, flow, event->psn);
	uint64_t since = original ? original->time : event->time;

	event->cause_packet = original ? original->packet : 0;
	if (nak->pending) {
		event->cause = requests->rnr.pending ? INSPECT_CAUSE_RNR : INSPECT_CAUSE_NAK;
		event->cause_packet = nak->packet;
		since = nak->time;
	} else if (requests->answered && vl_psn_distance(requests->answered_psn, event->psn) > 0) {
		event->cause = INSPECT_CAUSE_ANSWERED;
		event->cause_packet = requests->answer_packet;
	} else if (flow->reverse && flow->reverse->responses.gap_open) {
		event->cause = INSPECT_CAUSE_RESPONSE;
	}
	event->silence = event->time > since ? event->time - since : 0;
}

static void confirm(struct inspect_analysis *analysis, struct inspect_run *run)
{
	run->tentative = false;
	run->event = inspect_event_keep(analysis, &run->first);
}

static void start_run(struct inspect_analysis *analysis, struct inspect_flow *flow,
		      const struct inspect_arrival *arrival, bool was_missing)
{
	struct inspect_requests *requests = &flow->requests;
	struct inspect_run *run = &requests->run;
	uint32_t psn = arrival->packet->psn;

	*run = (struct inspect_run){
		.active = true,
		.tentative = was_missing,
		.next_psn = psn,
		.event = INSPECT_NO_EVENT,
		.first = inspect_event_make(INSPECT_EVENT_retransmission, flow, arrival),
		.first_payload = arrival->packet->payload_length,
		.nak = requests->nak,
		.rnr = requests->rnr,
		.retry_psn = requests->retry_psn,
		.retries = requests->retries,
	};
	set_cause(analysis, flow, &run->first);
	requests->rnr.pending = requests->nak.pending = false;
	requests->retransmissions++;
	requests->runs_by_cause[run->first.cause]++;
	requests->retries =
		requests->retries && requests->retry_psn == psn ? requests->retries + 1 : 1;
	requests->retry_psn = psn;
	if (!was_missing)
		confirm(analysis, run);
}

/* The packet whose loss a NAK told of was only late. */
static void excuse_nak(struct inspect_analysis *analysis, struct inspect_requests *requests,
		       const struct inspect_event *late)
{
	const struct inspect_nak *nak = &requests->run.nak;

	if (!nak->pending || nak->psn != late->psn)
		return;
	requests->lost_before--;
	requests->out_of_order++;
	if (nak->event != INSPECT_NO_EVENT) {
		analysis->events[nak->event].loss = INSPECT_OUT_OF_ORDER;
		analysis->events[nak->event].cause_packet = late->packet;
	}
}

/* Takes back a run that was only a late packet. */
static void find_late(struct inspect_analysis *analysis, struct inspect_flow *flow)
{
	struct inspect_requests *requests = &flow->requests;
	struct inspect_run *run = &requests->run;
	struct inspect_event event = run->first;

	requests->retransmitted--;
	requests->retransmitted_bytes -= run->first_payload;
	requests->retransmissions--;
	requests->runs_by_cause[run->first.cause]--;
	requests->gap_filled--;
	requests->reordered++;
	requests->retry_psn = run->retry_psn;
	requests->retries = run->retries;
	if (!requests->nak.pending)
		requests->nak = run->nak;
	if (!requests->rnr.pending)
		requests->rnr = run->rnr;
	run->active = run->tentative = false;
	requests->any_late = true;
	requests->late_psn = event.psn;
	excuse_nak(analysis, requests, &event);
	event.kind = INSPECT_EVENT_reordered;
	event.cause_packet = 0;
	inspect_event_keep(analysis, &event);
}

void inspect_run_end(struct inspect_analysis *analysis, struct inspect_flow *flow, bool by_request)
{
	struct inspect_run *run = &flow->requests.run;

	if (run->active && run->tentative) {
		if (by_request)
			find_late(analysis, flow);
		else
			confirm(analysis, run);
	}
	run->active = false;
	run->event = INSPECT_NO_EVENT;
}

/* What a second packet makes of a run that began with one that had been missing. */
static void settle(struct inspect_analysis *analysis, struct inspect_flow *flow, uint32_t psn,
		   bool was_missing)
{
	struct inspect_run *run = &flow->requests.run;
	int32_t ahead = vl_psn_distance(psn, run->next_psn);
	bool asked_for = run->nak.pending || run->rnr.pending;

	if (!ahead || (ahead > 0 && (!was_missing || asked_for)))
		confirm(analysis, run);
	else
		find_late(analysis, flow);
}

static void count_in_run(struct inspect_analysis *analysis, struct inspect_flow *flow,
			 const struct vl_packet *packet)
{
	struct inspect_requests *requests = &flow->requests;
	struct inspect_run *run = &requests->run;
	bool certain;
	uint32_t behind = vl_psn_add(packet->psn, inspect_psns_of(flow, packet, &certain));

	run->next_psn = behind;
	requests->retransmitted++;
	requests->retransmitted_bytes += packet->payload_length;
	if (run->tentative)
		run->first.count++;
	else if (run->event != INSPECT_NO_EVENT)
		analysis->events[run->event].count++;
	if (!certain || vl_psn_distance(behind, requests->next_psn) >= 0)
		inspect_run_end(analysis, flow, false);
}

static void count_duplicate(struct inspect_analysis *analysis, struct inspect_flow *flow,
			    const struct inspect_arrival *arrival,
			    const struct inspect_past *original)
{
	struct inspect_event *event;

	flow->requests.duplicates++;
	event = inspect_event_add(analysis, INSPECT_EVENT_duplicate, flow, arrival);
	if (event)
		event->cause_packet = original ? original->packet : 0;
}

/* UC sends nothing again: what comes late was overtaken, what comes twice was copied. */
static void again_unreliable(struct inspect_analysis *analysis, struct inspect_flow *flow,
			     const struct inspect_arrival *arrival, bool was_missing)
{
	if (was_missing) {
		flow->requests.reordered++;
		inspect_event_add(analysis, INSPECT_EVENT_reordered, flow, arrival);
		return;
	}
	count_duplicate(analysis, flow, arrival,
			inspect_history_find(&analysis->history, flow, arrival->packet->psn));
}

/* Only a copy comes at once, unasked, with the same bytes. */
static bool is_copy(const struct inspect_requests *requests, const struct inspect_past *original,
		    const struct inspect_arrival *arrival)
{
	const struct vl_packet *packet = arrival->packet;

	return original && packet->icrc && !requests->run.active && !requests->nak.pending &&
	       !requests->rnr.pending && original->icrc == vl_icrc_found(packet) &&
	       arrival->time >= original->time && arrival->time - original->time < COPY_TIME;
}

bool inspect_again(struct inspect_analysis *analysis, struct inspect_flow *flow,
		   const struct inspect_arrival *arrival)
{
	struct inspect_requests *requests = &flow->requests;
	const struct vl_packet *packet = arrival->packet;
	bool was_missing = fill_gap(requests, packet->psn);

	if (vl_opcode_service(packet->opcode) == VL_SERVICE_UC) {
		again_unreliable(analysis, flow, arrival, was_missing);
		return was_missing;
	}
	if (requests->run.active && requests->run.tentative)
		settle(analysis, flow, packet->psn, was_missing);
	if (requests->run.active && vl_psn_distance(packet->psn, requests->run.next_psn) < 0)
		inspect_run_end(analysis, flow, false);
	if (!was_missing) {
		const struct inspect_past *original =
			inspect_history_find(&analysis->history, flow, packet->psn);

		if (is_copy(requests, original, arrival)) {
			count_duplicate(analysis, flow, arrival, original);
			return false;
		}
	}
	if (!requests->run.active)
		start_run(analysis, flow, arrival, was_missing);
	requests->gap_filled += was_missing;
	count_in_run(analysis, flow, packet);
	return was_missing;
}
