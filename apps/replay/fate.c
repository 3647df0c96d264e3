/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/replay/fate.h"

#include "transport/psn.h"

#include <stdlib.h>
#include <string.h>

#define NONE         UINT32_MAX
#define NAK_SEQUENCE 0x60

static bool is_resource(const struct vl_packet *request)
{
	return request->info->flags &
	       (VL_OPCODE_READ | VL_OPCODE_ATOMIC | VL_OPCODE_IS_FLUSH | VL_OPCODE_IS_ATOMIC_WRITE);
}

static bool is_acknowledge(const struct vl_packet *response)
{
	return vl_opcode_operation(response->opcode) == VL_OP_ACKNOWLEDGE;
}

static bool is_nak(const struct vl_packet *response)
{
	return is_acknowledge(response) && (response->syndrome & 0x60) == 0x60;
}

static bool is_rnr_nak(const struct vl_packet *response)
{
	return is_acknowledge(response) && (response->syndrome & 0x60) == 0x20;
}

uint32_t request_psn_count(const struct conversation *conversation, const struct vl_packet *request)
{
	uint32_t mtu = conversation->path_mtu;

	if (!(request->info->flags & VL_OPCODE_READ) || !request->dma_length || !mtu)
		return 1;
	return (uint32_t)(((uint64_t)request->dma_length + mtu - 1) / mtu);
}

/* ---- Requests ------------------------------------------------------------------------------- */

struct walk {
	const struct conversation *conversation;
	struct request_outcome *outcomes;
	uint32_t *next_same; /* index of the next request with the same PSN */
	uint64_t last_from_responder;
	uint32_t expected;
	uint32_t response; /* first response after the request at hand */
	bool nak_sent;     /* for the gap at expected */
	uint32_t gap_end;  /* requests before this index that lie beyond a silent gap are lost */
};

static bool find_next_same(struct walk *walk)
{
	const struct packet_list *requests = &walk->conversation->requests;
	uint32_t *latest = malloc(((size_t)VL_PSN_MASK + 1) * sizeof(*latest));

	walk->next_same = malloc((requests->count + 1) * sizeof(*walk->next_same));
	if (!latest || !walk->next_same) {
		free(latest);
		return false;
	}
	/* Only entries that a request's PSN selects are read, so only these are set. */
	for (uint32_t i = 0; i < requests->count; i++)
		latest[requests->items[i]->packet.psn] = NONE;
	for (uint32_t i = requests->count; i-- > 0;) {
		uint32_t psn = requests->items[i]->packet.psn;

		walk->next_same[i] = latest[psn];
		latest[psn] = i;
	}
	free(latest);
	return true;
}

static uint64_t number_of_next(const struct walk *walk, uint32_t index)
{
	uint32_t next = walk->next_same[index];

	return next == NONE ? UINT64_MAX : walk->conversation->requests.items[next]->number;
}

/* The request at the expected PSN: what do the answers up to its repetition say? */
static struct request_outcome judge_expected(const struct walk *walk, uint32_t index)
{
	const struct packet_list *responses = &walk->conversation->responses;
	const struct recorded_packet *request = walk->conversation->requests.items[index];
	uint64_t until = number_of_next(walk, index);
	uint32_t psn = request->packet.psn;

	for (uint32_t i = walk->response; i < responses->count; i++) {
		const struct recorded_packet *response = responses->items[i];
		int32_t distance = vl_psn_distance(response->packet.psn, psn);

		if (response->number > until)
			break;
		if (distance > 0 ||
		    (distance == 0 && !is_nak(&response->packet) && !is_rnr_nak(&response->packet)))
			return (struct request_outcome){.fate = REQUEST_ARRIVED};
		if (distance < 0)
			continue;
		if (is_rnr_nak(&response->packet))
			return (struct request_outcome){
				REQUEST_NOT_READY, response->packet.syndrome, response->number};
		if (response->packet.syndrome == NAK_SEQUENCE)
			return (struct request_outcome){.fate = REQUEST_LOST,
							.evidence = response->number};
		return (struct request_outcome){REQUEST_REFUSED, response->packet.syndrome,
						response->number};
	}
	/* Sent again, and nothing had answered it. */
	if (until != UINT64_MAX && walk->conversation->service == VL_SERVICE_RC)
		return (struct request_outcome){.fate = REQUEST_LOST};
	/* Never answered, though it asked and its receiver was heard of later. */
	if (request->packet.ack_request && walk->conversation->service == VL_SERVICE_RC &&
	    walk->last_from_responder > request->number)
		return (struct request_outcome){.fate = REQUEST_LOST};
	return (struct request_outcome){.fate = REQUEST_ARRIVED};
}

/* A repeated READ or ATOMIC is answered again: without an answer it did not arrive. */
static struct request_outcome judge_repeated(const struct walk *walk, uint32_t index)
{
	const struct packet_list *responses = &walk->conversation->responses;
	const struct recorded_packet *request = walk->conversation->requests.items[index];
	uint32_t count = request_psn_count(walk->conversation, &request->packet);
	uint64_t until = number_of_next(walk, index);

	if (!is_resource(&request->packet))
		return (struct request_outcome){.fate = REQUEST_ARRIVED};
	for (uint32_t i = walk->response; i < responses->count; i++) {
		const struct recorded_packet *response = responses->items[i];

		if (response->number > until)
			break;
		if (((response->packet.psn - request->packet.psn) & VL_PSN_MASK) < count)
			return (struct request_outcome){.fate = REQUEST_ARRIVED};
	}
	return (struct request_outcome){.fate = REQUEST_LOST};
}

static struct request_outcome judge(struct walk *walk, uint32_t index)
{
	const struct recorded_packet *request = walk->conversation->requests.items[index];
	int32_t distance = vl_psn_distance(request->packet.psn, walk->expected);
	struct request_outcome outcome;

	if (distance < 0)
		return judge_repeated(walk, index);
	if (distance > 0) {
		/* A responder that sees a packet beyond a gap says so, once. If it was silent, it
		 * did not see this one either. */
		outcome.fate = index < walk->gap_end ? REQUEST_LOST : REQUEST_ARRIVED;
		outcome.syndrome = 0;
		outcome.evidence = 0;
		return outcome;
	}
	outcome = judge_expected(walk, index);
	if (outcome.fate == REQUEST_ARRIVED) {
		walk->expected = vl_psn_add(
			walk->expected, request_psn_count(walk->conversation, &request->packet));
		walk->nak_sent = false;
	} else if (outcome.fate == REQUEST_LOST) {
		walk->nak_sent = walk->nak_sent || outcome.evidence;
		walk->gap_end = walk->nak_sent ? 0 : walk->next_same[index];
	}
	return outcome;
}

static bool starts_message(const struct vl_packet *request)
{
	return (request->info->flags & VL_OPCODE_FIRST) || is_resource(request);
}

struct request_outcome *request_outcomes(const struct conversation *conversation,
					 uint64_t last_from_responder)
{
	const struct packet_list *requests = &conversation->requests;
	struct walk walk = {
		.conversation = conversation,
		.outcomes = calloc(requests->count + 1, sizeof(*walk.outcomes)),
		.last_from_responder = last_from_responder,
	};
	uint32_t start = 0;

	if (!walk.outcomes || !find_next_same(&walk)) {
		free(walk.outcomes);
		free(walk.next_same);
		return NULL;
	}
	while (start < requests->count && !starts_message(&requests->items[start]->packet))
		walk.outcomes[start++].fate = REQUEST_SKIPPED;
	if (start < requests->count)
		walk.expected = requests->items[start]->packet.psn;
	for (uint32_t i = start; i < requests->count; i++) {
		while (walk.response < conversation->responses.count &&
		       conversation->responses.items[walk.response]->number <
			       requests->items[i]->number)
			walk.response++;
		/* UD numbers its packets and nobody looks. UC shows no loss. */
		if (conversation->service == VL_SERVICE_RC)
			walk.outcomes[i] = judge(&walk, i);
	}
	free(walk.next_same);
	return walk.outcomes;
}

/* ---- Responses ------------------------------------------------------------------------------ */

/* The last request before index that covers psn. */
static uint32_t find_sent_before(const struct conversation *conversation, uint32_t index,
				 uint32_t psn)
{
	for (uint32_t i = index; i-- > 0;) {
		const struct vl_packet *request = &conversation->requests.items[i]->packet;

		if (((psn - request->psn) & VL_PSN_MASK) < request_psn_count(conversation, request))
			return i;
	}
	return NONE;
}

struct rewind {
	uint32_t index;    /* of the retransmission that begins it, in the requests */
	uint32_t previous; /* when that PSN was sent before */
	uint32_t psn;
	uint64_t progress; /* time of the last thing that restarted the timer */
	bool has_cause;    /* a NAK, or a later response that implied the loss */
};

/* Decides over the responses between a packet and its repetition. */
static void judge_responses(const struct conversation *conversation, struct rewind *rewind,
			    struct response_outcome *outcomes)
{
	const struct packet_list *requests = &conversation->requests;
	uint64_t from = requests->items[rewind->previous]->number;
	const struct recorded_packet *again = requests->items[rewind->index];
	bool is_answered_itself = is_resource(&requests->items[rewind->previous]->packet);
	bool hold = false;

	rewind->progress = requests->items[rewind->previous]->time;
	for (uint32_t i = 0; i < conversation->responses.count; i++) {
		const struct recorded_packet *response = conversation->responses.items[i];
		int32_t distance = vl_psn_distance(response->packet.psn, rewind->psn);

		if (response->number < from || outcomes[i].lost)
			continue;
		if (response->number > again->number)
			break;
		if (distance == 0 && (is_rnr_nak(&response->packet) || is_nak(&response->packet))) {
			rewind->has_cause = hold = true;
		} else if (distance >= 0 && is_answered_itself && distance > 0) {
			rewind->has_cause = hold = true;
		} else if (distance >= 0) {
			outcomes[i].lost = true;
			outcomes[i].evidence = again->number;
			continue;
		}
		/* It takes effect when the requester turned back, and not before. */
		if (hold)
			outcomes[i].not_before = rewind->index;
		else if (response->time > rewind->progress)
			rewind->progress = response->time;
	}
}

static uint8_t timeout_exponent(uint64_t gap)
{
	uint8_t exponent = 1;

	while (exponent < 31 && (UINT64_C(4096) << (exponent + 1)) <= gap)
		exponent++;
	return exponent;
}

struct response_outcomes response_outcomes(const struct conversation *conversation)
{
	const struct packet_list *requests = &conversation->requests;
	struct response_outcomes result = {
		.items = calloc(conversation->responses.count + 1, sizeof(*result.items)),
	};
	uint32_t highest, next, in_a_row = 0;

	if (!result.items || !requests->count || conversation->service != VL_SERVICE_RC)
		return result;
	highest = next = requests->items[0]->packet.psn;
	for (uint32_t i = 0; i < requests->count; i++) {
		const struct vl_packet *request = &requests->items[i]->packet;
		bool is_repeated = vl_psn_distance(request->psn, highest) < 0;
		struct rewind rewind = {.index = i, .psn = request->psn};
		uint8_t exponent;

		if (is_repeated && request->psn != next &&
		    (rewind.previous = find_sent_before(conversation, i, request->psn)) != NONE) {
			judge_responses(conversation, &rewind, result.items);
			if (!rewind.has_cause) {
				exponent = timeout_exponent(requests->items[i]->time -
							    rewind.progress);
				if (!result.timeouts++ || exponent < result.timeout_exponent)
					result.timeout_exponent = exponent;
				if (++in_a_row > result.most_retries)
					result.most_retries = in_a_row;
			}
		}
		if (!is_repeated)
			in_a_row = 0;
		next = vl_psn_add(request->psn, request_psn_count(conversation, request));
		if (vl_psn_distance(next, highest) > 0)
			highest = next;
	}
	return result;
}
