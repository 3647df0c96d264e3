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

uint32_t inspect_psns_of(const struct inspect_flow *flow, const struct vl_packet *packet,
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
	requests->run.active = requests->run.tentative = false;
	requests->run.event = INSPECT_NO_EVENT;
	requests->any_late = false;
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
	requests->first_psn = requests->next_psn = psn;
	requests->answered_psn = requests->responder_psn = psn;
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
	/* A message whose start was not seen is of the kind that its first packet seen is. */
	if (starts || requests->message_unknown)
		requests->message_opcode = packet->opcode;
	requests->message_unknown = false;
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

	requests->next_psn = vl_psn_add(packet->psn, inspect_psns_of(flow, packet, &certain));
	requests->next_uncertain = !certain;
	if (!certain) {
		requests->uncertain_psn = packet->psn;
		requests->uncertain_length = packet->dma_length;
	}
}

static void start(struct inspect_flow *flow, const struct vl_packet *packet)
{
	struct inspect_requests *requests = &flow->requests;

	requests->started = true;
	requests->first_psn = packet->psn;
	requests->answered_psn = requests->responder_psn = packet->psn;
	requests->message_unknown = true;
	requests->in_message = false;
}

/* True if the packet is not ahead of what the responder expects. */
static bool advance_responder(struct inspect_flow *flow, const struct vl_packet *packet,
			      bool was_uncertain)
{
	struct inspect_requests *requests = &flow->requests;
	int32_t ahead = vl_psn_distance(packet->psn, requests->responder_psn);
	uint32_t behind;
	bool certain;

	if (ahead > 0 && !was_uncertain)
		return false;
	behind = vl_psn_add(packet->psn, inspect_psns_of(flow, packet, &certain));
	if (vl_psn_distance(behind, requests->responder_psn) > 0)
		requests->responder_psn = behind;
	return true;
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
	bool was_uncertain = requests->next_uncertain;
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
		if (inspect_again(analysis, flow, arrival))
			count_new(flow, packet);
	} else {
		if (requests->run.active)
			inspect_run_end(analysis, flow, true);
		if (distance > 0) {
			inspect_gap(analysis, flow, arrival, (uint32_t)distance);
			requests->message_unknown = true;
		}
		count_new(flow, packet);
		follow_message(analysis, flow, arrival);
		advance_next(flow, packet);
	}
	inspect_history_add(&analysis->history, flow, packet->psn, arrival->number, arrival->time,
			    packet->icrc ? vl_icrc_found(packet) : 0,
			    advance_responder(flow, packet, was_uncertain));
}
