/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Which responses the recorded requester saw, and when it heeded them. Its requests show it: what
 * has been acknowledged is not sent again, and where it turns back there was a NAK, a response that
 * implied a loss, or a timeout.
 */

#include "apps/replay/fate.h"

#include <stdlib.h>

struct rewind {
	uint32_t index;    /* of the retransmission that begins it, in the requests */
	uint32_t previous; /* when that position was sent before */
	int64_t position;
	bool has_nak;
	bool is_implied; /* by a later response, which came where the position's own was missing */
};

struct walk {
	const struct packet_list *requests, *responses;
	const struct conversation *conversation;
	struct response_outcomes *result;
	uint64_t slowest_answer;
	bool *implies_loss; /* of each response: it came where an earlier one was missing */
	struct request_place {
		int64_t position;
		uint32_t index;
	} * places; /* the requests by position, then index */
};

/* Position up to which a response acknowledges. */
static int64_t acknowledged_by(const struct recorded_packet *response)
{
	return response->position - is_negative(&response->packet);
}

static bool covers(const struct walk *walk, uint32_t index, int64_t position)
{
	const struct recorded_packet *request = walk->requests->items[index];

	return position >= request->position &&
	       position <
		       request->position + request_psn_count(walk->conversation, &request->packet);
}

static int compare_places(const void *a, const void *b)
{
	const struct request_place *one = a, *two = b;

	if (one->position != two->position)
		return one->position < two->position ? -1 : 1;
	return one->index < two->index ? -1 : one->index > two->index;
}

/* READs that a search for the one that covers a position looks at. */
#define SEARCHED 256

/* The last request before index that covers a position; FATE_NONE if none does. */
static uint32_t find_sent_before(const struct walk *walk, uint32_t index, int64_t position)
{
	struct request_place key = {position, index};
	uint32_t low = 0, high = walk->requests->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (compare_places(&walk->places[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (uint32_t i = low; i-- > 0 && low - i < SEARCHED;) {
		if (walk->places[i].index < index && covers(walk, walk->places[i].index, position))
			return walk->places[i].index;
	}
	return FATE_NONE;
}

/* First response sent after a packet. */
static uint32_t first_response_after(const struct walk *walk, uint64_t number)
{
	uint32_t low = 0, high = walk->responses->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (walk->responses->items[middle]->number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Decides over the responses between a packet and its repetition. */
static void judge_rewind(const struct walk *walk, struct rewind *rewind)
{
	const struct recorded_packet *sent = walk->requests->items[rewind->previous];
	const struct recorded_packet *again = walk->requests->items[rewind->index];
	uint32_t from = first_response_after(walk, sent->number);
	uint32_t until = first_response_after(walk, again->number);
	uint64_t age;

	for (uint32_t i = from; i < until; i++) {
		const struct recorded_packet *response = walk->responses->items[i];

		if (walk->result->items[i].lost)
			continue;
		if (is_negative(&response->packet) && response->position == rewind->position) {
			/* It is heeded when the requester turns back, and not before. */
			walk->result->items[i].not_before = rewind->index;
			rewind->has_nak = true;
		} else if (is_resource(&sent->packet) && response->position > rewind->position) {
			walk->implies_loss[i] = true;
			walk->result->items[i].not_before = rewind->index;
			rewind->is_implied = true;
		}
	}
	for (uint32_t i = from; i < until; i++) {
		const struct recorded_packet *response = walk->responses->items[i];
		struct response_outcome *outcome = &walk->result->items[i];

		if (outcome->lost || walk->implies_loss[i] ||
		    acknowledged_by(response) < rewind->position)
			continue;
		/* It would have kept the requester from turning back. Unless it was just about to
		 * arrive then, it never did. */
		age = again->time - response->time;
		if (!rewind->is_implied && (rewind->has_nak || age <= walk->slowest_answer ||
					    age < (again->time - sent->time) / 2))
			continue;
		outcome->lost = true;
		outcome->evidence = again->number;
	}
}

/* Goes through the requests and finds where the requester turned back. */
static void find_rewinds(struct walk *walk)
{
	const struct packet_list *requests = walk->requests;
	int64_t highest = requests->items[0]->position, next = highest;
	uint32_t in_a_row = 0;

	for (uint32_t i = 0; i < requests->count; i++) {
		const struct recorded_packet *request = requests->items[i];
		struct rewind rewind = {.index = i, .position = request->position};

		if (request->position < next) {
			rewind.previous = find_sent_before(walk, i, request->position);
			if (rewind.previous != FATE_NONE)
				judge_rewind(walk, &rewind);
			walk->result->timed_out[i] = !rewind.has_nak && !rewind.is_implied;
			if (walk->result->timed_out[i] && ++in_a_row > walk->result->most_retries)
				walk->result->most_retries = in_a_row;
		}
		next = request->position + request_psn_count(walk->conversation, &request->packet);
		if (next > highest) {
			highest = next;
			in_a_row = 0;
		}
	}
}

/* What acknowledges a request that was sent again after it had not arrived by then. */
static void find_late(const struct walk *walk)
{
	const struct packet_list *requests = walk->requests;
	int64_t bound = INT64_MAX; /* of the positions before late */
	uint32_t next = 0, late = 0;

	for (uint32_t i = 0; i < walk->responses->count; i++) {
		const struct recorded_packet *response = walk->responses->items[i];
		struct response_outcome *outcome = &walk->result->items[i];

		while (next < requests->count && requests->items[next]->number < response->number)
			next++;
		if (outcome->lost || walk->implies_loss[i])
			continue;
		if (late < next || acknowledged_by(response) < bound)
			late = next;
		bound = acknowledged_by(response);
		while (late < requests->count && requests->items[late]->position <= bound)
			late++;
		if (late > next && late > outcome->not_before)
			outcome->not_before = late;
	}
}

struct response_outcomes response_outcomes(const struct conversation *conversation,
					   uint64_t slowest_answer)
{
	struct response_outcomes result = {
		.items = calloc(conversation->responses.count + 1, sizeof(*result.items)),
		.timed_out = calloc(conversation->requests.count + 1, sizeof(*result.timed_out)),
	};
	struct walk walk = {
		.requests = &conversation->requests,
		.responses = &conversation->responses,
		.conversation = conversation,
		.result = &result,
		.slowest_answer = slowest_answer,
		.implies_loss =
			calloc(conversation->responses.count + 1, sizeof(*walk.implies_loss)),
		.places = malloc((conversation->requests.count + 1) * sizeof(*walk.places)),
	};

	if (!result.items || !result.timed_out || !walk.implies_loss || !walk.places) {
		response_outcomes_release(&result);
	} else if (conversation->service == VL_SERVICE_RC && conversation->requests.count) {
		for (uint32_t i = 0; i < walk.requests->count; i++)
			walk.places[i] =
				(struct request_place){walk.requests->items[i]->position, i};
		qsort(walk.places, walk.requests->count, sizeof(*walk.places), compare_places);
		find_rewinds(&walk);
		find_late(&walk);
	}
	free(walk.places);
	free(walk.implies_loss);
	return result;
}

void response_outcomes_release(struct response_outcomes *outcomes)
{
	free(outcomes->items);
	free(outcomes->timed_out);
	*outcomes = (struct response_outcomes){0};
}
