/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Which requests the recorded responder saw. Its answers show, in the order in which it sent them,
 * how far it had come; where a request was sent more than once, what lies between the copies shows
 * which of them arrived.
 */

#include "apps/replay/fate.h"

#include "transport/psn.h"

#include <stdlib.h>

struct place {
	int64_t position;
	uint32_t index;
};

struct walk {
	const struct conversation *conversation;
	const struct packet_list *requests, *responses;
	struct request_outcomes *result;
	uint64_t last_from_responder;
	struct place *request_places, *response_places; /* by position, then index */
	uint32_t *next_same; /* of each request: the next with the same PSN, or FATE_NONE */
	uint32_t *answer;    /* of each request: the response that is its own, or FATE_NONE */
	int64_t *progress;   /* of each response: the PSN expected by then, at least */

	int64_t expected;
	uint32_t response; /* first response after the request at hand */
	uint32_t reached;  /* first response that shows the expected PSN, or a later one, ... */
	uint32_t passed;   /* ... and first that shows a later one */
	bool nak_sent;     /* for the gap at expected */
	uint32_t gap_end;  /* requests before this index that lie beyond a silent gap are lost */
	uint32_t overtaken, overtaken_after; /* a request that takes effect later */
};

/* ---- Preparation ---------------------------------------------------------------------------- */

static int compare_places(const void *a, const void *b)
{
	const struct place *one = a, *two = b;

	if (one->position != two->position)
		return one->position < two->position ? -1 : 1;
	return one->index < two->index ? -1 : one->index > two->index;
}

static struct place *make_places(const struct packet_list *list)
{
	struct place *places = malloc((list->count + 1) * sizeof(*places));

	for (uint32_t i = 0; places && i < list->count; i++)
		places[i] = (struct place){list->items[i]->position, i};
	if (places && list->count)
		qsort(places, list->count, sizeof(*places), compare_places);
	return places;
}

/* Whether a response may be the answer to a request, and to no other PSN. */
static bool is_of_kind(const struct vl_packet *request, const struct vl_packet *response)
{
	return is_resource(request) ? !is_acknowledge(response) : is_ack(response);
}

/*
 * The copies of one request, and the responses with its PSN: a response belongs to the last copy
 * sent before it; a second one there to the copy before, which was answered late.
 */
static void pair_copies(struct walk *walk, const struct place *copies, uint32_t copy_count,
			const struct place *answers, uint32_t answer_count)
{
	const struct vl_packet *request = &walk->requests->items[copies[0].index]->packet;
	uint32_t next = 0;

	for (uint32_t i = 0; i < copy_count; i++) {
		uint64_t from = walk->requests->items[copies[i].index]->number;
		uint64_t until = i + 1 < copy_count
					 ? walk->requests->items[copies[i + 1].index]->number
					 : UINT64_MAX;
		uint32_t found = 0;

		for (; next < answer_count; next++) {
			const struct recorded_packet *answer =
				walk->responses->items[answers[next].index];

			if (answer->number > until)
				break;
			if (answer->number < from || !is_of_kind(request, &answer->packet))
				continue;
			if (!found)
				walk->answer[copies[i].index] = answers[next].index;
			else if (found == 1 && i && walk->answer[copies[i - 1].index] == FATE_NONE)
				walk->answer[copies[i - 1].index] = answers[next].index;
			found++;
		}
	}
}

static void pair_all(struct walk *walk)
{
	uint32_t request_count = walk->requests->count, response_count = walk->responses->count;
	uint32_t answer = 0;

	for (uint32_t i = 0; i < request_count; i++)
		walk->answer[i] = walk->next_same[i] = FATE_NONE;
	for (uint32_t i = 0, end; i < request_count; i = end) {
		int64_t position = walk->request_places[i].position;
		uint32_t answer_end;

		for (end = i + 1;
		     end < request_count && walk->request_places[end].position == position; end++)
			walk->next_same[walk->request_places[end - 1].index] =
				walk->request_places[end].index;
		while (answer < response_count && walk->response_places[answer].position < position)
			answer++;
		for (answer_end = answer; answer_end < response_count &&
					  walk->response_places[answer_end].position == position;
		     answer_end++)
			;
		pair_copies(walk, &walk->request_places[i], end - i, &walk->response_places[answer],
			    answer_end - answer);
		answer = answer_end;
	}
}

/*
 * An ACK says which PSN is expected next, a NAK too; other responses that it is a later one than
 * theirs. A responder never goes back; what speaks of a PSN that had not been sent is a lie.
 */
static void follow_progress(struct walk *walk)
{
	int64_t progress = INT64_MIN, sent = INT64_MIN;
	uint32_t request = 0;

	for (uint32_t i = 0; i < walk->responses->count; i++) {
		const struct recorded_packet *response = walk->responses->items[i];
		int64_t shown = response->position + !is_negative(&response->packet);

		for (; request < walk->requests->count &&
		       walk->requests->items[request]->number < response->number;
		     request++) {
			const struct recorded_packet *sending = walk->requests->items[request];
			int64_t end = sending->position +
				      request_psn_count(walk->conversation, &sending->packet);

			if (end > sent)
				sent = end;
		}
		if (shown > progress && shown <= sent)
			progress = shown;
		walk->progress[i] = progress;
	}
}

static bool prepare(struct walk *walk)
{
	uint32_t requests = walk->requests->count, responses = walk->responses->count;
	struct request_outcomes *result = walk->result;

	result->items = calloc(requests + 1, sizeof(*result->items));
	result->messages = malloc((requests + 1) * sizeof(*result->messages));
	result->begins_answer_to = malloc((responses + 1) * sizeof(uint32_t));
	walk->next_same = malloc((requests + 1) * sizeof(*walk->next_same));
	walk->answer = malloc((requests + 1) * sizeof(*walk->answer));
	walk->progress = malloc((responses + 1) * sizeof(*walk->progress));
	walk->request_places = make_places(walk->requests);
	walk->response_places = make_places(walk->responses);
	if (!result->items || !result->messages || !result->begins_answer_to || !walk->next_same ||
	    !walk->answer || !walk->progress || !walk->request_places || !walk->response_places)
		return false;
	pair_all(walk);
	follow_progress(walk);
	for (uint32_t i = 0; i < responses; i++)
		result->begins_answer_to[i] = FATE_NONE;
	for (uint32_t i = 0; i < requests; i++) {
		const struct recorded_packet *request = walk->requests->items[i], *answer;

		if (walk->answer[i] == FATE_NONE)
			continue;
		answer = walk->responses->items[walk->answer[i]];
		if (is_resource(&request->packet))
			result->begins_answer_to[walk->answer[i]] = i;
		if (answer->time - request->time > result->slowest_answer)
			result->slowest_answer = answer->time - request->time;
	}
	return true;
}

/* ---- Judgement ------------------------------------------------------------------------------ */

static uint64_t number_of_request(const struct walk *walk, uint32_t index)
{
	return index < walk->requests->count ? walk->requests->items[index]->number : UINT64_MAX;
}

static uint64_t number_of_response(const struct walk *walk, uint32_t index)
{
	return index < walk->responses->count ? walk->responses->items[index]->number : UINT64_MAX;
}

/* Whether a request with this very position was sent between the request at index and a packet. */
static bool was_sent_between(const struct walk *walk, int64_t position, uint32_t index,
			     uint64_t before)
{
	struct place key = {position, index};
	uint32_t low = 0, high = walk->requests->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (compare_places(&walk->request_places[middle], &key) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < walk->requests->count && walk->request_places[low].position == position &&
	       number_of_request(walk, walk->request_places[low].index) < before;
}

/*
 * The request was refused as behind a gap, and executed all the same without being sent again: the
 * one behind it had come first. That one must have been sent again then. FATE_NONE, or the index of
 * the request after which it came.
 */
static uint32_t overtaken_by(const struct walk *walk, uint32_t index)
{
	uint32_t behind = index + 1, again;

	if (behind >= walk->requests->count)
		return FATE_NONE;
	again = walk->next_same[behind];
	if (again == FATE_NONE ||
	    number_of_response(walk, walk->passed) > number_of_request(walk, again))
		return FATE_NONE;
	/* If a further one was refused before it was sent again, it was still to come. */
	for (uint32_t i = walk->passed; i < walk->responses->count; i++) {
		const struct recorded_packet *response = walk->responses->items[i];

		if (response->number > number_of_request(walk, again) ||
		    walk->progress[i] > walk->expected + 1)
			break;
		if (is_nak(&response->packet) && response->position == walk->expected + 1)
			return behind;
	}
	while (behind + 1 < walk->requests->count && behind + 1 < again &&
	       number_of_request(walk, behind + 1) < number_of_response(walk, walk->passed) &&
	       walk->requests->items[behind + 1]->position > walk->expected)
		behind++;
	return behind;
}

/* What a negative answer with the request's PSN says of it, if it says anything: true. */
static bool judge_negative(const struct walk *walk, uint32_t index,
			   const struct recorded_packet *response, struct request_outcome *outcome)
{
	bool has_passed = walk->passed < walk->responses->count;
	bool passed_by_itself = number_of_response(walk, walk->passed) <
				number_of_request(walk, walk->next_same[index]);
	uint64_t behind = number_of_request(walk, index + 1);
	uint32_t after;

	outcome->syndrome = response->packet.syndrome;
	outcome->evidence = response->number;
	if (is_rnr_nak(&response->packet)) {
		outcome->fate = REQUEST_NOT_READY;
		return !passed_by_itself;
	}
	if (response->packet.syndrome != NAK_SEQUENCE) {
		outcome->fate = REQUEST_REFUSED;
		return !has_passed;
	}
	/* What came behind it, and that was sent after it, has brought the NAK. */
	if (behind > response->number ||
	    walk->requests->items[index + 1]->position <= walk->expected)
		return false;
	if (!passed_by_itself) {
		outcome->fate = REQUEST_LOST;
		return true;
	}
	after = overtaken_by(walk, index);
	if (after == FATE_NONE)
		return false;
	outcome->fate = REQUEST_OVERTAKEN;
	outcome->after = after;
	return true;
}

/* The request at the expected PSN was sent again before an answer showed that it had come. */
static bool came_before_repetition(const struct walk *walk, uint32_t index)
{
	uint32_t next = walk->next_same[index];
	int64_t shown;

	if (walk->answer[index] != FATE_NONE)
		return true;
	if (is_resource(&walk->requests->items[index]->packet) ||
	    walk->passed == walk->responses->count)
		return false;
	/* The answer speaks of a PSN that had not been sent again by then. */
	shown = walk->progress[walk->passed] - 1;
	return shown != walk->expected &&
	       !was_sent_between(walk, shown, next, number_of_response(walk, walk->passed));
}

static struct request_outcome judge_expected(struct walk *walk, uint32_t index)
{
	const struct vl_packet *request = &walk->requests->items[index]->packet;
	uint64_t until = number_of_request(walk, walk->next_same[index]), passed;
	struct request_outcome outcome = {.is_expected = true};

	while (walk->reached < walk->responses->count &&
	       walk->progress[walk->reached] < walk->expected)
		walk->reached++;
	if (walk->passed < walk->reached)
		walk->passed = walk->reached;
	while (walk->passed < walk->responses->count &&
	       walk->progress[walk->passed] <= walk->expected)
		walk->passed++;
	passed = number_of_response(walk, walk->passed);
	for (uint32_t i = walk->response > walk->reached ? walk->response : walk->reached;
	     i < walk->passed && number_of_response(walk, i) < until; i++) {
		const struct recorded_packet *response = walk->responses->items[i];

		if (response->position == walk->expected && is_negative(&response->packet) &&
		    judge_negative(walk, index, response, &outcome))
			return outcome;
	}
	outcome = (struct request_outcome){.is_expected = true};
	if (passed < until)
		return outcome;
	if (walk->next_same[index] != FATE_NONE) {
		if (!came_before_repetition(walk, index))
			outcome.fate = REQUEST_LOST;
	} else if ((request->ack_request || is_resource(request)) &&
		   walk->last_from_responder > walk->requests->items[index]->number &&
		   !walk->conversation->is_continued) {
		/* Never answered, though it asked, and its receiver was heard of later. */
		outcome.fate = REQUEST_LOST;
	}
	return outcome;
}

/* The expected request has come: so the next PSN is expected. */
static void advance(struct walk *walk, uint32_t index)
{
	const struct recorded_packet *request = walk->requests->items[index];
	struct request_outcomes *result = walk->result;

	if (is_resource(&request->packet) || (request->packet.info->flags & VL_OPCODE_LAST))
		result->messages[result->message_count++] = request->position;
	walk->expected += request_psn_count(walk->conversation, &request->packet);
	walk->nak_sent = false;
}

static struct request_outcome judge(struct walk *walk, uint32_t index)
{
	const struct recorded_packet *request = walk->requests->items[index];
	struct request_outcome outcome = {0};

	if (request->position < walk->result->start) {
		outcome.fate = REQUEST_SKIPPED;
	} else if (request->position < walk->expected) {
		/* Repeated: a SEND or WRITE changes nothing, others are answered again. */
		if (is_resource(&request->packet) && walk->answer[index] == FATE_NONE)
			outcome.fate = REQUEST_LOST;
	} else if (request->position > walk->expected) {
		/* A responder that sees a packet beyond a gap says so, once. If it was silent, it
		 * did not see this one either. */
		if (index < walk->gap_end)
			outcome.fate = REQUEST_LOST;
	} else {
		outcome = judge_expected(walk, index);
		if (outcome.fate == REQUEST_ARRIVED) {
			advance(walk, index);
		} else if (outcome.fate == REQUEST_OVERTAKEN) {
			walk->overtaken = index;
			walk->overtaken_after = outcome.after;
			walk->nak_sent = true;
		} else if (outcome.fate == REQUEST_LOST) {
			walk->nak_sent = walk->nak_sent || outcome.evidence;
			walk->gap_end = walk->nak_sent ? 0 : walk->next_same[index];
		}
	}
	if (walk->overtaken != FATE_NONE && walk->overtaken_after == index) {
		advance(walk, walk->overtaken);
		walk->overtaken = FATE_NONE;
	}
	return outcome;
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
static void find_msn_offset(struct walk *walk)
{
	struct request_outcomes *result = walk->result;
	uint32_t candidate = 0, lead = 0, voters = 0, votes = 0;

	for (unsigned int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < walk->responses->count; i++) {
			const struct recorded_packet *response = walk->responses->items[i];
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
	    !(walk->conversation->start_is_known &&
	      walk->conversation->start_psn == ((uint32_t)result->start & VL_PSN_MASK)))
		result->msn_offset = candidate;
}

/* ---- All of it ------------------------------------------------------------------------------ */

void request_outcomes_release(struct request_outcomes *outcomes)
{
	free(outcomes->items);
	free(outcomes->messages);
	free(outcomes->begins_answer_to);
	*outcomes = (struct request_outcomes){0};
}

struct request_outcomes request_outcomes(const struct conversation *conversation,
					 uint64_t last_from_responder)
{
	struct request_outcomes result = {.start = INT64_MAX};
	struct walk walk = {
		.conversation = conversation,
		.requests = &conversation->requests,
		.responses = &conversation->responses,
		.result = &result,
		.last_from_responder = last_from_responder,
		.overtaken = FATE_NONE,
	};
	bool fits = prepare(&walk);

	for (uint32_t i = 0; fits && i < walk.requests->count && result.start == INT64_MAX; i++) {
		if (starts_message(&walk.requests->items[i]->packet))
			result.start = walk.requests->items[i]->position;
	}
	walk.expected = result.start;
	for (uint32_t i = 0; fits && i < walk.requests->count; i++) {
		while (walk.response < walk.responses->count &&
		       walk.responses->items[walk.response]->number <
			       walk.requests->items[i]->number)
			walk.response++;
		/* UC shows no loss. */
		if (conversation->service == VL_SERVICE_RC)
			result.items[i] = judge(&walk, i);
		else if (walk.requests->items[i]->position < result.start)
			result.items[i].fate = REQUEST_SKIPPED;
	}
	if (fits)
		find_msn_offset(&walk);
	free(walk.next_same);
	free(walk.answer);
	free(walk.progress);
	free(walk.request_places);
	free(walk.response_places);
	if (!fits)
		request_outcomes_release(&result);
	return result;
}
