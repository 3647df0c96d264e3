/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Requests of a connected flow, by their PSNs: new, skipped, sent again, copied, or reordered.
 * What a requester sends takes consecutive PSNs, a READ as many as its responses (IBTA 9.7.2).
 */

#include "apps/inspect/analysis.h"
#include "transport/psn.h"
#include "transport/wire/icrc.h"
#include "transport/wire/opcode.h"

#include <string.h>

/* A distance beyond which a PSN is of a new connection: more than any window in use. */
#define FOREIGN_DISTANCE (1 << 17)
/* A copy follows its original sooner than a requester could have timed out. */
#define COPY_TIME UINT64_C(100000)

/* PSNs that the packet takes; *certain is false for a READ of unknown path MTU. */
static uint32_t psns_of(const struct inspect_flow *flow, const struct vl_packet *packet,
			bool *certain)
{
	uint32_t path_mtu = flow->path_mtu;

	*certain = true;
	if (!(packet->info->flags & VL_OPCODE_READ) || packet->dma_length <= 256)
		return 1;
	if (path_mtu) {
		uint32_t count = (packet->dma_length - 1) / path_mtu + 1;

		return count < VL_PSN_MASK / 2 ? count : VL_PSN_MASK / 2;
	}
	*certain = false;
	return 1;
}

static bool starts_message(const struct vl_packet *packet)
{
	return packet->info->flags & VL_OPCODE_FIRST;
}

static bool ends_message(const struct vl_packet *packet)
{
	return packet->info->flags & VL_OPCODE_LAST;
}

/* SEND or WRITE, which a message keeps from its first to its last packet. */
static uint32_t kind_of_message(uint8_t opcode)
{
	return vl_opcode_table[opcode].flags & (VL_OPCODE_SEND | VL_OPCODE_WRITE);
}

void inspect_requests_restart(struct inspect_requests *requests)
{
	requests->started = false;
	requests->next_uncertain = false;
	requests->in_message = false;
	requests->in_retransmission = false;
	requests->run_event = INSPECT_NO_EVENT;
	requests->gap_count = 0;
	requests->answered = false;
	requests->retries = 0;
	requests->nak.pending = requests->rnr.pending = false;
}

void inspect_requests_expect(struct inspect_requests *requests, uint32_t psn)
{
	requests->restarts += requests->started;
	inspect_requests_restart(requests);
	requests->started = true;
	requests->message_unknown = false;
	requests->first_psn = requests->next_psn = requests->answered_psn = psn;
}

/* The next request tells how many PSNs the READ took, and so the path MTU. */
static void settle_read(struct inspect_flow *flow, uint32_t psn)
{
	struct inspect_requests *requests = &flow->requests;
	int32_t taken = vl_psn_distance(psn, requests->uncertain_psn);
	uint32_t found = 0;

	requests->next_uncertain = false;
	if (taken < 1)
		return;
	for (uint32_t mtu = 256; mtu <= 4096; mtu *= 2) {
		if ((requests->uncertain_length - 1) / mtu + 1 == (uint32_t)taken)
			found = found ? UINT32_MAX : mtu;
	}
	if (found && found != UINT32_MAX)
		inspect_learn_path_mtu(flow, found);
	requests->next_psn = psn;
}

static void follow_message(struct inspect_analysis *analysis, struct inspect_flow *flow,
			   const struct inspect_arrival *arrival)
{
	struct inspect_requests *requests = &flow->requests;
	const struct vl_packet *packet = arrival->packet;
	bool starts = starts_message(packet);
	bool fits;

	if (starts)
		fits = !requests->in_message;
	else
		fits = requests->in_message &&
		       kind_of_message(requests->message_opcode) == kind_of_message(packet->opcode);
	if (!fits && !requests->message_unknown) {
		requests->order_errors++;
		inspect_event_add(analysis, INSPECT_EVENT_order_error, flow, arrival);
	}
	requests->message_unknown = false;
	if (starts)
		requests->message_opcode = packet->opcode;
	requests->in_message = !ends_message(packet);
}

static void learn_from_length(struct inspect_flow *flow, const struct vl_packet *packet)
{
	uint32_t flags = packet->info->flags;
	uint32_t length = packet->payload_length;

	/* First and middle packets are as long as the path MTU. */
	if (!(flags & VL_OPCODE_PAYLOAD) || (flags & VL_OPCODE_LAST) ||
	    !(flags & (VL_OPCODE_SEND | VL_OPCODE_WRITE)) || flow->path_mtu == length)
		return;
	if (length >= 256 && length <= 4096 && !(length & (length - 1)))
		inspect_learn_path_mtu(flow, length);
}

/* A packet seen for the first time. */
static void count_new(struct inspect_flow *flow, const struct vl_packet *packet)
{
	struct inspect_requests *requests = &flow->requests;
	uint32_t flags = packet->info->flags;

	flow->payload += packet->payload_length;
	if (!ends_message(packet))
		return;
	requests->messages++;
	if (flags & VL_OPCODE_READ) {
		requests->reads++;
		requests->read_bytes += packet->dma_length;
	} else if (flags & VL_OPCODE_ATOMIC) {
		requests->atomics++;
	}
}

static void advance_next(struct inspect_flow *flow, const struct vl_packet *packet)
{
	struct inspect_requests *requests = &flow->requests;
	bool certain;

	requests->next_psn = vl_psn_add(packet->psn, psns_of(flow, packet, &certain));
	requests->next_uncertain = !certain;
	if (!certain) {
		requests->uncertain_psn = packet->psn;
		requests->uncertain_length = packet->dma_length;
	}
}

static void end_run(struct inspect_requests *requests)
{
	requests->in_retransmission = false;
	requests->run_event = INSPECT_NO_EVENT;
}

static void start(struct inspect_flow *flow, const struct vl_packet *packet)
{
	struct inspect_requests *requests = &flow->requests;

	requests->started = true;
	requests->first_psn = packet->psn;
	requests->answered_psn = packet->psn;
	requests->message_unknown = true;
	requests->in_message = false;
}

static void add_gap(struct inspect_analysis *analysis, struct inspect_flow *flow,
		    const struct inspect_arrival *arrival, uint32_t count)
{
	struct inspect_requests *requests = &flow->requests;
	struct inspect_event *event;

	requests->gap_events++;
	requests->gap_packets += count;
	requests->message_unknown = true;
	if (requests->gap_count == INSPECT_MAX_GAPS)
		memmove(requests->gaps, requests->gaps + 1,
			--requests->gap_count * sizeof(requests->gaps[0]));
	requests->gaps[requests->gap_count++] = (struct inspect_gap){
		.first = requests->next_psn,
		.count = count,
		.packet = arrival->number,
	};
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

static void start_run(struct inspect_analysis *analysis, struct inspect_flow *flow,
		      const struct inspect_arrival *arrival, const struct inspect_past *original)
{
	struct inspect_requests *requests = &flow->requests;
	const struct inspect_nak *nak = requests->rnr.pending ? &requests->rnr : &requests->nak;
	enum inspect_cause cause = INSPECT_CAUSE_TIMEOUT;
	uint32_t psn = arrival->packet->psn;
	struct inspect_event *event;
	uint64_t cause_packet = original ? original->packet : 0;
	uint64_t cause_time = original ? original->time : arrival->time;

	if (nak->pending) {
		cause = requests->rnr.pending ? INSPECT_CAUSE_RNR : INSPECT_CAUSE_NAK;
		cause_packet = nak->packet;
		cause_time = nak->time;
	} else if (requests->answered && vl_psn_distance(requests->answered_psn, psn) > 0) {
		cause = INSPECT_CAUSE_ANSWERED;
		cause_packet = requests->answer_packet;
	} else if (flow->reverse && flow->reverse->responses.gap_open) {
		cause = INSPECT_CAUSE_RESPONSE;
	}
	requests->rnr.pending = requests->nak.pending = false;
	requests->in_retransmission = true;
	requests->retransmissions++;
	requests->runs_by_cause[cause]++;
	requests->retries =
		requests->retries && requests->retry_psn == psn ? requests->retries + 1 : 1;
	requests->retry_psn = psn;
	event = inspect_event_add(analysis, INSPECT_EVENT_retransmission, flow, arrival);
	requests->run_event = event ? analysis->event_count - 1 : INSPECT_NO_EVENT;
	if (event) {
		event->cause = cause;
		event->cause_packet = cause_packet;
		event->silence = arrival->time > cause_time ? arrival->time - cause_time : 0;
	}
}

static void count_retransmission(struct inspect_analysis *analysis, struct inspect_flow *flow,
				 const struct vl_packet *packet)
{
	struct inspect_requests *requests = &flow->requests;
	bool certain;
	uint32_t behind = vl_psn_add(packet->psn, psns_of(flow, packet, &certain));

	requests->retransmitted++;
	requests->retransmitted_bytes += packet->payload_length;
	if (requests->run_event != INSPECT_NO_EVENT)
		analysis->events[requests->run_event].count++;
	if (!certain || vl_psn_distance(behind, requests->next_psn) >= 0)
		end_run(requests);
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

/* A PSN that has been passed already. */
static void again(struct inspect_analysis *analysis, struct inspect_flow *flow,
		  const struct inspect_arrival *arrival)
{
	struct inspect_requests *requests = &flow->requests;
	const struct vl_packet *packet = arrival->packet;
	bool asked_for =
		requests->in_retransmission || requests->nak.pending || requests->rnr.pending;
	const struct inspect_past *original = NULL;
	bool was_missing = fill_gap(requests, packet->psn);

	if (was_missing) {
		count_new(flow, packet);
		if (!asked_for) {
			requests->reordered++;
			inspect_event_add(analysis, INSPECT_EVENT_reordered, flow, arrival);
			return;
		}
		requests->gap_filled++;
	} else {
		original = inspect_history_find(&analysis->history, flow, packet->psn);
	}
	/* UC sends nothing again: what comes twice was copied on its way. */
	if (vl_opcode_service(packet->opcode) == VL_SERVICE_UC) {
		count_duplicate(analysis, flow, arrival, original);
		return;
	}
	/* Only a copy comes at once, unasked, with the same bytes. */
	if (original && !asked_for && packet->icrc && original->icrc == vl_icrc_found(packet) &&
	    arrival->time >= original->time && arrival->time - original->time < COPY_TIME) {
		count_duplicate(analysis, flow, arrival, original);
		return;
	}
	if (!requests->in_retransmission)
		start_run(analysis, flow, arrival,
			  original ? original
				   : inspect_history_find_holder(&analysis->history, flow,
								 packet->psn));
	count_retransmission(analysis, flow, packet);
}

static void restart(struct inspect_analysis *analysis, struct inspect_flow *flow,
		    const struct inspect_arrival *arrival)
{
	struct inspect_event *event;
	uint32_t expected = flow->requests.next_psn;

	flow->requests.restarts++;
	inspect_requests_restart(&flow->requests);
	start(flow, arrival->packet);
	event = inspect_event_add(analysis, INSPECT_EVENT_restart, flow, arrival);
	if (event)
		event->expected = expected;
}

void inspect_request(struct inspect_analysis *analysis, struct inspect_flow *flow,
		     const struct inspect_arrival *arrival)
{
	struct inspect_requests *requests = &flow->requests;
	const struct vl_packet *packet = arrival->packet;
	int32_t distance;

	requests->packets++;
	learn_from_length(flow, packet);
	if (!requests->started) {
		start(flow, packet);
		requests->next_psn = packet->psn;
	}
	distance = vl_psn_distance(packet->psn, requests->next_psn);
	if ((distance > FOREIGN_DISTANCE || distance < -FOREIGN_DISTANCE) &&
	    !requests->next_uncertain && starts_message(packet)) {
		restart(analysis, flow, arrival);
		distance = 0;
	}
	if (requests->next_uncertain && distance >= 0) {
		settle_read(flow, packet->psn);
		distance = 0;
	}
	if (distance < 0) {
		again(analysis, flow, arrival);
	} else {
		if (distance > 0)
			add_gap(analysis, flow, arrival, (uint32_t)distance);
		if (requests->in_retransmission)
			end_run(requests);
		count_new(flow, packet);
		follow_message(analysis, flow, arrival);
		advance_next(flow, packet);
	}
	inspect_history_add(&analysis->history, flow, packet->psn, arrival->number, arrival->time,
			    packet->icrc ? vl_icrc_found(packet) : 0);
}
