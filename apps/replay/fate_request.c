/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What became of the requests, and what follows from it: which packet shows a loss, how many
 * messages an acknowledgement speaks of. */

#include "apps/replay/fate_search.h"
#include "transport/psn.h"

#include <stdlib.h>

/* ---- The course of events -------------------------------------------------------------------- */

struct walk {
	const struct conversation *conversation;
	struct request_outcomes *result;
	int64_t expected;
	uint32_t lost; /* the last that was lost at the expected position; FATE_NONE */
	bool is_refused;
};

static void note_arrival(struct walk *walk, uint32_t index)
{
	const struct conversation *conversation = walk->conversation;
	const struct recorded_packet *request = conversation->requests.items[index], *answer = NULL;
	struct request_outcomes *result = walk->result;
	struct request_outcome *outcome = &result->items[index];

	if (outcome->answer != FATE_NONE)
		answer = conversation->responses.items[outcome->answer];
	if (request->position > walk->expected) {
		if (answer && walk->lost != FATE_NONE)
			result->items[walk->lost].evidence = answer->number;
		return;
	}
	if (answer && is_resource(&request->packet))
		result->begins_answer_to[outcome->answer] = index;
	if (answer && answer->time - request->time > result->slowest_answer)
		result->slowest_answer = answer->time - request->time;
	if (request->position < walk->expected || walk->is_refused)
		return;
	outcome->is_expected = true;
	if (is_resource(&request->packet) || (request->packet.info->flags & VL_OPCODE_LAST))
		result->messages[result->message_count++] = request->position;
	walk->expected += request_psn_count(conversation, &request->packet);
	walk->lost = FATE_NONE;
}

static void note_outcome(struct walk *walk, uint32_t index)
{
	const struct packet_list *responses = &walk->conversation->responses;
	struct request_outcome *outcome = &walk->result->items[index];

	switch (outcome->fate) {
	case REQUEST_ARRIVED:
		note_arrival(walk, index);
		break;
	case REQUEST_LOST:
		if (walk->conversation->requests.items[index]->position == walk->expected)
			walk->lost = index;
		break;
	case REQUEST_NOT_READY:
	case REQUEST_REFUSED:
		outcome->is_expected = true;
		outcome->syndrome = responses->items[outcome->answer]->packet.syndrome;
		outcome->evidence = responses->items[outcome->answer]->number;
		walk->is_refused = outcome->fate == REQUEST_REFUSED;
		break;
	default:
		break;
	}
}

/* In the order of their arrival. */
static void follow_course(struct walk *walk)
{
	uint32_t overtaken = FATE_NONE;

	for (uint32_t i = 0; i < walk->conversation->requests.count; i++) {
		note_outcome(walk, i);
		if (walk->result->items[i].fate == REQUEST_OVERTAKEN) {
			overtaken = i;
		} else if (overtaken != FATE_NONE && walk->result->items[overtaken].after == i) {
			note_arrival(walk, overtaken);
			overtaken = FATE_NONE;
		}
	}
}

/* ---- MSNs ----------------------------------------------------------------------------------- */

static int64_t acknowledged_by(const struct recorded_packet *response)
{
	return response->position - is_negative(&response->packet);
}

uint32_t expected_msn(const struct request_outcomes *outcomes, int64_t position)
{
	uint32_t low = 0, high = outcomes->message_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (outcomes->messages[middle] <= position)
			low = middle + 1;
		else
			high = middle;
	}
	return vl_psn_add(low, outcomes->msn_offset);
}

/* What more than half of the answers agree on; 0 without a majority, or where the capture holds the
 * connection's beginning. */
static void find_msn_offset(const struct conversation *conversation,
			    struct request_outcomes *result)
{
	uint32_t candidate = 0, lead = 0, voters = 0, votes = 0;

	for (unsigned int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < conversation->responses.count; i++) {
			const struct recorded_packet *response = conversation->responses.items[i];
			uint32_t offset;

			if (!(response->packet.info->flags & VL_OPCODE_AETH) ||
			    acknowledged_by(response) < result->start - 1)
				continue;
			offset = (response->packet.msn -
				  expected_msn(result, acknowledged_by(response))) &
				 VL_PSN_MASK;
			if (round == 1) {
				voters++;
				votes += offset == candidate;
			} else if (!lead) {
				candidate = offset;
				lead = 1;
			} else {
				lead += offset == candidate ? 1 : UINT32_MAX;
			}
		}
	}
	if (2 * votes > voters &&
	    !(conversation->start_is_known &&
	      conversation->start_psn == ((uint32_t)result->start & VL_PSN_MASK)))
		result->msn_offset = candidate;
}

/* ---- All of it ------------------------------------------------------------------------------ */

void request_outcomes_release(struct request_outcomes *outcomes)
{
	free(outcomes->items);
	free(outcomes->messages);
	free(outcomes->begins_answer_to);
	free(outcomes->speaks_of_unsent);
	*outcomes = (struct request_outcomes){0};
}

static void find_bounds(const struct conversation *conversation, struct request_outcomes *result)
{
	result->start = INT64_MAX;
	result->end = INT64_MIN;
	for (uint32_t i = 0; i < conversation->requests.count; i++) {
		const struct recorded_packet *request = conversation->requests.items[i];
		int64_t end = request->position + request_psn_count(conversation, &request->packet);

		if (result->start == INT64_MAX && starts_message(&request->packet))
			result->start = request->position;
		if (end > result->end)
			result->end = end;
	}
}

struct request_outcomes request_outcomes(const struct conversation *conversation,
					 uint64_t last_from_responder)
{
	uint32_t requests = conversation->requests.count;
	uint32_t responses = conversation->responses.count;
	struct request_outcomes result = {
		.items = calloc(requests + 1, sizeof(*result.items)),
		.messages = malloc((requests + 1) * sizeof(*result.messages)),
		.begins_answer_to = malloc((responses + 1) * sizeof(uint32_t)),
		.speaks_of_unsent = calloc(responses + 1, sizeof(bool)),
	};
	struct walk walk = {.conversation = conversation, .result = &result, .lost = FATE_NONE};

	result.is_out_of_memory = !result.items || !result.messages || !result.begins_answer_to ||
				  !result.speaks_of_unsent;
	if (result.is_out_of_memory)
		return result;
	find_bounds(conversation, &result);
	for (uint32_t i = 0; i < responses; i++)
		result.begins_answer_to[i] = FATE_NONE;
	/* UC shows no loss. */
	if (conversation->service == VL_SERVICE_RC) {
		if (!search_fates(conversation, last_from_responder, &result))
			return result;
	} else {
		for (uint32_t i = 0; i < requests; i++) {
			result.items[i].answer = FATE_NONE;
			if (conversation->requests.items[i]->position < result.start)
				result.items[i].fate = REQUEST_SKIPPED;
		}
	}
	walk.expected = result.start;
	follow_course(&walk);
	find_msn_offset(conversation, &result);
	return result;
}
