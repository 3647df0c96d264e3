/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Responses of a reliable flow: which requests of the other half they answer, and READ responses
 * by their PSNs. IBTA 9.7.5.
 */

#include "apps/inspect/analysis.h"
#include "transport/psn.h"
#include "transport/wire/opcode.h"

/* AETH syndrome, IBTA 9.7.5.2 */
#define SYNDROME_TYPE(syndrome)  ((syndrome) >> 5 & 3)
#define SYNDROME_VALUE(syndrome) ((syndrome)&0x1f)
#define TYPE_ACK                 0
#define TYPE_RNR                 1
#define TYPE_NAK                 3
#define NAK_SEQUENCE             0
#define CREDITS_UNLIMITED        31

/* PSNs of a gap that have been acknowledged did arrive: only the capture lacks them. */
static void close_answered_gaps(struct inspect_requests *requests)
{
	for (uint32_t i = requests->gap_count; i-- > 0;) {
		struct inspect_gap *gap = &requests->gaps[i];
		int32_t answered = vl_psn_distance(requests->answered_psn, gap->first);

		if (answered <= 0)
			continue;
		if ((uint32_t)answered < gap->count) {
			requests->gap_answered += (uint32_t)answered;
			gap->first = requests->answered_psn;
			gap->count -= (uint32_t)answered;
		} else {
			requests->gap_answered += gap->count;
			*gap = requests->gaps[--requests->gap_count];
		}
	}
}

/* All requests before psn have been answered. */
static void answer(struct inspect_requests *requests, uint32_t psn, uint64_t packet)
{
	if (!requests->started)
		return;
	if (vl_psn_distance(psn, requests->responder_psn) > 0)
		requests->responder_psn = psn;
	if (requests->retries && vl_psn_distance(psn, requests->retry_psn) > 0)
		requests->retries = 0;
	if (requests->answered && vl_psn_distance(psn, requests->answered_psn) <= 0)
		return;
	requests->answered = true;
	requests->answered_psn = psn;
	requests->answer_packet = packet;
	if (requests->nak.pending && vl_psn_distance(psn, requests->nak.psn) > 0)
		requests->nak.pending = false;
	if (requests->rnr.pending && vl_psn_distance(psn, requests->rnr.psn) > 0)
		requests->rnr.pending = false;
	if (requests->gap_count)
		close_answered_gaps(requests);
}

static void remember(struct inspect_nak *nak, const struct inspect_arrival *arrival, uint32_t event)
{
	*nak = (struct inspect_nak){
		.pending = true,
		.syndrome = arrival->packet->syndrome,
		.psn = arrival->packet->psn,
		.event = event,
		.packet = arrival->number,
		.time = arrival->time,
	};
}

/* Soft-RoCE sends one for what was under way behind a request that it refused for lack of a
 * receive; nothing was lost then. */
static bool follows_rnr(const struct inspect_requests *requests, const struct inspect_past *past,
			uint32_t psn)
{
	return requests->rnr.pending && requests->rnr.psn == psn &&
	       (!past || past->packet < requests->rnr.packet);
}

static enum inspect_loss judge_loss(const struct inspect_requests *requests,
				    const struct inspect_past *past, uint32_t psn)
{
	if (follows_rnr(requests, past, psn))
		return INSPECT_BEHIND_RNR;
	if (!past)
		return INSPECT_LOST_BEFORE;
	if (past->in_order)
		return INSPECT_LOST_BEHIND;
	/* It was dropped for being ahead. Sent once more, it would have been lost then; what
	 * follows a late packet was not. */
	return requests->any_late && vl_psn_add(requests->late_psn, 1) == psn ? INSPECT_OUT_OF_ORDER
									      : INSPECT_LOST_BEFORE;
}

static void sequence_nak(struct inspect_analysis *analysis, struct inspect_flow *requester,
			 const struct inspect_arrival *arrival, struct inspect_event *event)
{
	struct inspect_requests *requests = &requester->requests;
	uint32_t psn = arrival->packet->psn;
	const struct inspect_past *past, *trigger;
	enum inspect_loss loss;

	past = inspect_history_find(&analysis->history, requester, psn);
	trigger = inspect_history_find_trigger(&analysis->history, requester, psn);
	loss = judge_loss(requests, past, psn);
	if (event) {
		event->loss = loss;
		event->cause_packet = past && loss != INSPECT_LOST_BEFORE ? past->packet : 0;
		event->trigger_packet = trigger ? trigger->packet : 0;
	}
	if (loss == INSPECT_BEHIND_RNR)
		return;
	requests->lost_before += loss == INSPECT_LOST_BEFORE;
	requests->lost_behind += loss == INSPECT_LOST_BEHIND;
	requests->out_of_order += loss == INSPECT_OUT_OF_ORDER;
	requests->responder_psn = psn;
	remember(&requests->nak, arrival,
		 event ? (uint32_t)(event - analysis->events) : INSPECT_NO_EVENT);
}

static void negative(struct inspect_analysis *analysis, struct inspect_flow *flow,
		     const struct inspect_arrival *arrival)
{
	struct inspect_flow *requester = flow->reverse;
	uint8_t syndrome = arrival->packet->syndrome;
	bool is_rnr = SYNDROME_TYPE(syndrome) == TYPE_RNR;
	uint32_t psn = arrival->packet->psn;
	const struct inspect_past *past;
	struct inspect_event *event;

	if (is_rnr) {
		flow->responses.rnr_naks++;
	} else {
		uint8_t code = SYNDROME_VALUE(syndrome);

		flow->responses.naks++;
		flow->responses.nak_codes[code < 7 ? code : 7]++;
	}
	event = inspect_event_add(analysis, is_rnr ? INSPECT_EVENT_rnr : INSPECT_EVENT_nak, flow,
				  arrival);
	if (!requester)
		return;
	answer(&requester->requests, psn, arrival->number);
	if (!is_rnr && SYNDROME_VALUE(syndrome) == NAK_SEQUENCE) {
		sequence_nak(analysis, requester, arrival, event);
		return;
	}
	past = inspect_history_find_holder(&analysis->history, requester, psn);
	if (event)
		event->cause_packet = past ? past->packet : 0;
	if (is_rnr) {
		requester->requests.responder_psn = psn;
		remember(&requester->requests.rnr, arrival, INSPECT_NO_EVENT);
	}
}

static void response_gap(struct inspect_analysis *analysis, struct inspect_flow *flow,
			 const struct inspect_arrival *arrival, uint32_t count)
{
	struct inspect_responses *responses = &flow->responses;
	struct inspect_event *event;

	responses->gap_events++;
	responses->gap_packets += count;
	responses->gap_open = true;
	event = inspect_event_add(analysis, INSPECT_EVENT_response_gap, flow, arrival);
	if (event) {
		event->psn = responses->next_psn;
		event->count = count;
	}
}

static void read_response(struct inspect_analysis *analysis, struct inspect_flow *flow,
			  const struct inspect_arrival *arrival)
{
	struct inspect_responses *responses = &flow->responses;
	const struct vl_packet *packet = arrival->packet;
	uint32_t flags = packet->info->flags;
	int32_t distance;

	if (!(flags & VL_OPCODE_LAST) && packet->payload_length >= 256 &&
	    !(packet->payload_length & (packet->payload_length - 1)))
		inspect_learn_path_mtu(flow, packet->payload_length);
	if (!responses->started) {
		responses->started = true;
		responses->next_psn = responses->highest_psn = packet->psn;
	}
	distance = vl_psn_distance(packet->psn, responses->next_psn);
	/* A first response may lie anywhere ahead; inside a READ each follows the one before. */
	if (distance > 0 && (responses->in_read || !(flags & VL_OPCODE_FIRST)))
		response_gap(analysis, flow, arrival, (uint32_t)distance);
	else if (distance <= 0 && (flags & VL_OPCODE_FIRST))
		responses->gap_open = false;
	responses->next_psn = vl_psn_add(packet->psn, 1);
	responses->in_read = !(flags & VL_OPCODE_LAST);
	if (vl_psn_distance(packet->psn, responses->highest_psn) < 0) {
		responses->repeated++;
		return;
	}
	responses->highest_psn = responses->next_psn;
	flow->payload += packet->payload_length;
	if (flags & VL_OPCODE_LAST)
		responses->reads++;
}

static void acknowledge(struct inspect_analysis *analysis, struct inspect_flow *flow,
			const struct inspect_arrival *arrival)
{
	const struct vl_packet *packet = arrival->packet;

	if (SYNDROME_TYPE(packet->syndrome) != TYPE_ACK) {
		negative(analysis, flow, arrival);
		return;
	}
	if (SYNDROME_VALUE(packet->syndrome) != CREDITS_UNLIMITED)
		flow->responses.limited_credits++;
	if (packet->info->flags & VL_OPCODE_ATOMIC)
		flow->responses.atomics++;
	else if (!(packet->info->flags & VL_OPCODE_READ))
		flow->responses.acks++;
	if (flow->reverse)
		answer(&flow->reverse->requests, vl_psn_add(packet->psn, 1), arrival->number);
}

void inspect_response(struct inspect_analysis *analysis, struct inspect_flow *flow,
		      const struct inspect_arrival *arrival)
{
	const struct vl_packet *packet = arrival->packet;

	flow->responses.packets++;
	if (!flow->reverse)
		inspect_find_requester(analysis, flow, packet->psn);
	if (packet->info->flags & VL_OPCODE_READ)
		read_response(analysis, flow, arrival);
	if (packet->info->flags & VL_OPCODE_AETH)
		acknowledge(analysis, flow, arrival);
	else if (flow->reverse)
		answer(&flow->reverse->requests, vl_psn_add(packet->psn, 1), arrival->number);
}
