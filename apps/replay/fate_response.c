/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Which responses the recorded requester saw, and when it heeded them. Its requests show it: what
 * has been acknowledged is not sent again, and where it turns back to the oldest unacknowledged
 * packet there was a NAK, a response that implied a loss, or a timeout.
 */

#include "apps/replay/fate.h"
#include "transport/credit.h"

#include <stdlib.h>

/* PSNs that one request took when it was first sent. */
struct span {
	int64_t end;
	uint64_t sent; /* time, when it was sent last */
	bool is_resource;
	bool is_gap; /* the capture lacks them, at first */
};

/* A requester that has received the responses up to one. */
struct receiver {
	uint32_t next;   /* response */
	int64_t unacked; /* oldest position that is not acknowledged */
	uint32_t span;   /* that it lies in */
};

enum signal {
	SIGNAL_NONE,
	SIGNAL_NAK,     /* of the oldest unacknowledged packet; RNR too */
	SIGNAL_IMPLIED, /* its own response is missing where a later one came */
};

struct walk {
	const struct packet_list *requests, *responses;
	struct response_outcomes *result;
	uint64_t slowest_answer;
	struct span *spans; /* in the order of their positions, without gaps */
	uint32_t span_count;
	bool *is_first; /* of each request: it has no other with its position before */
	bool *is_idle;  /* of each response: a NAK on which the requester did not turn back */
	/* By what the requester must have received when it turned back, and by as much as it can
	 * have received since. */
	struct receiver receiver, eager;
};

/* ---- Receiving ------------------------------------------------------------------------------ */

/* Everything up to a position is acknowledged; a READ or ATOMIC, by its own responses alone. */
static void acknowledge(const struct walk *walk, struct receiver *receiver, int64_t position)
{
	while (receiver->unacked <= position && receiver->span < walk->span_count) {
		const struct span *span = &walk->spans[receiver->span];

		if (span->is_resource)
			return;
		receiver->unacked = position + 1 < span->end ? position + 1 : span->end;
		receiver->span += receiver->unacked == span->end;
	}
}

static enum signal receive(const struct walk *walk, struct receiver *receiver)
{
	const struct recorded_packet *response = walk->responses->items[receiver->next++];
	bool is_data = !is_acknowledge(&response->packet);
	int64_t position = response->position - (is_data || is_negative(&response->packet));

	acknowledge(walk, receiver, position);
	if (receiver->unacked <= position)
		return SIGNAL_IMPLIED;
	if (is_negative(&response->packet))
		return receiver->unacked == response->position ? SIGNAL_NAK : SIGNAL_NONE;
	if (is_data && receiver->unacked == response->position &&
	    receiver->span < walk->span_count && walk->spans[receiver->span].is_resource) {
		receiver->unacked++;
		receiver->span += receiver->unacked == walk->spans[receiver->span].end;
	}
	return SIGNAL_NONE;
}

/* ---- Sending again -------------------------------------------------------------------------- */

static struct span *span_of(const struct walk *walk, int64_t position)
{
	uint32_t low = 0, high = walk->span_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (walk->spans[middle].end <= position)
			low = middle + 1;
		else
			high = middle;
	}
	return low < walk->span_count ? &walk->spans[low] : NULL;
}

/* Whether a response may just have been about to arrive when a request was sent again. */
static bool was_on_its_way(const struct walk *walk, const struct recorded_packet *response,
			   const struct recorded_packet *again)
{
	uint64_t age = again->time - response->time;
	const struct span *span = span_of(walk, again->position);

	return age <= walk->slowest_answer || (span && age < (again->time - span->sent) / 2);
}

/*
 * The requester turns back to the oldest packet that it does not know to have arrived: finds what
 * it had received by then. What would have told it of that packet is lost, or was on its way. What
 * came behind the cause told it nothing new.
 */
static void turn_back(struct walk *walk, uint32_t request)
{
	const struct recorded_packet *again = walk->requests->items[request];
	struct response_outcome *outcomes = walk->result->items;
	struct receiver receiver = walk->receiver, late = receiver;
	enum rewind_cause cause = REWIND_TIMEOUT;
	bool is_late = false;

	while (receiver.next < walk->responses->count &&
	       walk->responses->items[receiver.next]->number < again->number) {
		struct receiver before = receiver;
		enum signal signal = receive(walk, &receiver);

		if (receiver.unacked > again->position) {
			receiver = before;
			if (cause != REWIND_TIMEOUT)
				break;
			if (!is_late &&
			    was_on_its_way(walk, walk->responses->items[before.next], again)) {
				is_late = true;
				late = before;
			}
			outcomes[before.next].lost = true;
			outcomes[before.next].evidence = again->number;
			receiver.next++;
		} else if (signal != SIGNAL_NONE && receiver.unacked == again->position) {
			/* It is heeded when the requester turns back, and not before. */
			outcomes[before.next].not_before = request;
			outcomes[before.next].turns_back = signal == SIGNAL_NAK;
			if (cause == REWIND_TIMEOUT)
				cause = signal == SIGNAL_NAK ? REWIND_NAK : REWIND_IMPLIED;
			is_late = false;
		} else {
			walk->is_idle[before.next] = signal == SIGNAL_NAK;
		}
	}
	for (uint32_t i = is_late ? late.next : receiver.next; i < receiver.next; i++) {
		if (outcomes[i].evidence == again->number)
			outcomes[i].lost = false;
	}
	walk->result->causes[request] = cause;
	walk->receiver = is_late ? late : receiver;
	outcomes[walk->receiver.next].not_before = request + 1;
	walk->eager = walk->receiver;
}

/* The requester goes on sending again: what would keep it from this packet is still to arrive. */
static void go_on(struct walk *walk, uint32_t request)
{
	const struct recorded_packet *again = walk->requests->items[request];

	while (walk->eager.next < walk->responses->count &&
	       walk->responses->items[walk->eager.next]->number < again->number) {
		struct receiver receiver = walk->eager;

		receive(walk, &receiver);
		if (receiver.unacked > again->position) {
			walk->result->items[walk->eager.next].not_before = request + 1;
			return;
		}
		walk->eager = receiver;
	}
}

/* Number of the response that acknowledges what a NAK asked for. */
static uint64_t settled_by(const struct walk *walk, uint32_t nak)
{
	const struct packet_list *responses = walk->responses;

	for (uint32_t i = nak + 1; i < responses->count; i++) {
		if (responses->items[i]->position - is_negative(&responses->items[i]->packet) >=
		    responses->items[nak]->position)
			return responses->items[i]->number;
	}
	return UINT64_MAX;
}

/*
 * A NAK on which the requester did not turn back came when it was to send that very packet anyway;
 * or, as it must have if it asked to wait, so late that another response settled it, or never.
 */
static void put_off_naks(struct walk *walk)
{
	const struct packet_list *requests = walk->requests, *responses = walk->responses;
	uint32_t next = 0;

	while (walk->receiver.next < responses->count) {
		uint32_t response = walk->receiver.next;

		walk->is_idle[response] = receive(walk, &walk->receiver) == SIGNAL_NAK;
	}
	for (uint32_t i = 0; i < responses->count; i++) {
		const struct recorded_packet *nak = responses->items[i];
		struct response_outcome *outcome = &walk->result->items[i];
		uint64_t settled;

		if (!walk->is_idle[i])
			continue;
		settled = settled_by(walk, i);
		while (next < requests->count && requests->items[next]->number < nak->number)
			next++;
		while (next < requests->count && requests->items[next]->number < settled &&
		       (is_rnr_nak(&nak->packet) ||
			requests->items[next]->position != nak->position))
			next++;
		if (outcome->not_before < next)
			outcome->not_before = next;
		if (is_rnr_nak(&nak->packet) && next < requests->count &&
		    requests->items[next]->time <
			    nak->time + vl_rnr_timer_ns(nak->packet.syndrome & 0x1f)) {
			outcome->lost = true;
			outcome->evidence = requests->items[next]->number;
		}
	}
}

static void note_sending(struct walk *walk, const struct recorded_packet *request, int64_t end)
{
	int64_t last =
		walk->span_count ? walk->spans[walk->span_count - 1].end : walk->receiver.unacked;
	struct span *span = span_of(walk, request->position);

	if (request->position > last) {
		walk->spans[walk->span_count++] = (struct span){
			.end = request->position, .sent = request->time, .is_gap = true};
	}
	if (span)
		span->sent = request->time;
	if (end > last)
		walk->spans[walk->span_count++] =
			(struct span){.end = end,
				      .sent = request->time,
				      .is_resource = is_resource(&request->packet)};
}

/* One packet with a strange PSN shows no loss: more must follow. */
static bool goes_on(const struct walk *walk, uint32_t request, int64_t end)
{
	return request + 1 < walk->requests->count &&
	       walk->requests->items[request + 1]->position >= end;
}

/* Whether the responder, too, missed a position when a request behind it had come: before it
 * acknowledges that, it sends a sequence NAK. */
static bool is_missed(const struct walk *walk, uint32_t request, int64_t position)
{
	const struct packet_list *responses = walk->responses;
	uint64_t number = walk->requests->items[request]->number;
	uint32_t low = 0, high = responses->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (responses->items[middle]->number < number)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < responses->count; low++) {
		const struct recorded_packet *response = responses->items[low];

		if (response->position >= position)
			return response->position == position && is_nak(&response->packet) &&
			       response->packet.syndrome == NAK_SEQUENCE;
	}
	return false;
}

/* Whether the requester stopped within a message, and waited for an answer before it turned back:
 * so it had sent the message to its end. */
static bool has_waited(const struct walk *walk, uint32_t request)
{
	const struct recorded_packet *before = request ? walk->requests->items[request - 1] : NULL;

	return before && !(before->packet.info->flags & VL_OPCODE_LAST) &&
	       walk->requests->items[request]->time - before->time > walk->slowest_answer;
}

struct place {
	int64_t position;
	uint32_t index;
};

static int compare_places(const void *a, const void *b)
{
	const struct place *one = a, *two = b;

	if (one->position != two->position)
		return one->position < two->position ? -1 : 1;
	return one->index < two->index ? -1 : one->index > two->index;
}

/* Of each request, whether it is the first of its position. NULL: out of memory. */
static bool *find_firsts(const struct packet_list *requests)
{
	struct place *places = malloc((requests->count + 1) * sizeof(*places));
	bool *is_first = calloc(requests->count + 1, sizeof(*is_first));

	if (!places || !is_first) {
		free(places);
		free(is_first);
		return NULL;
	}
	for (uint32_t i = 0; i < requests->count; i++)
		places[i] = (struct place){requests->items[i]->position, i};
	qsort(places, requests->count, sizeof(*places), compare_places);
	for (uint32_t i = 0; i < requests->count; i++)
		is_first[places[i].index] = !i || places[i].position != places[i - 1].position;
	free(places);
	return is_first;
}

/*
 * Requests behind the highest that were never seen before were overtaken, unless the requester goes
 * on from there with what it had sent: then they were lost, and this is their repetition. Returns
 * the index of the first request that is not among them.
 */
static uint32_t pass_late(struct walk *walk, uint32_t from, int64_t highest)
{
	uint32_t end = from;
	bool is_late = true;

	for (; end < walk->requests->count && walk->requests->items[end]->position < highest;
	     end++) {
		const struct span *span = span_of(walk, walk->requests->items[end]->position);

		is_late = is_late && walk->is_first[end] && span && span->is_gap;
	}
	for (uint32_t i = from; is_late && i < end; i++)
		walk->result->causes[i] = REWIND_LATE;
	return end;
}

/* Goes through the requests, and finds those that were sent again. */
static void walk_requests(struct walk *walk, const struct conversation *conversation, int64_t start)
{
	int64_t highest = start, next = start;
	uint32_t in_a_row = 0, run = 0; /* run: of requests behind the highest, where it ends */

	for (uint32_t i = 0; i < walk->requests->count; i++) {
		const struct recorded_packet *request = walk->requests->items[i];
		int64_t end = request->position + request_psn_count(conversation, &request->packet);

		if (request->position < start)
			continue;
		if (i >= run && request->position < highest)
			run = pass_late(walk, i, highest);
		if (walk->result->causes[i] == REWIND_LATE)
			continue;
		if (request->position < next) {
			turn_back(walk, i);
			if (walk->result->causes[i] == REWIND_TIMEOUT &&
			    ++in_a_row > walk->result->most_retries)
				walk->result->most_retries = in_a_row;
			if (walk->result->causes[i] == REWIND_TIMEOUT && has_waited(walk, i))
				walk->result->is_behind_loss = true;
		} else if (request->position < highest) {
			go_on(walk, i);
			/* It left out what nobody had acknowledged: so the capture did. */
			if (request->position > next && walk->eager.unacked < request->position &&
			    goes_on(walk, i, end))
				walk->result->is_behind_loss = true;
		}
		if (request->position > highest &&
		    (goes_on(walk, i, end) || is_missed(walk, i, highest)))
			walk->result->is_behind_loss = true;
		note_sending(walk, request, end);
		next = end;
		if (end > highest) {
			highest = end;
			in_a_row = 0;
		}
	}
	put_off_naks(walk);
}

struct response_outcomes response_outcomes(const struct conversation *conversation,
					   const struct request_outcomes *requests)
{
	uint32_t request_count = conversation->requests.count;
	struct response_outcomes result = {
		.items = calloc(conversation->responses.count + 1, sizeof(*result.items)),
		.causes = calloc(request_count + 1, sizeof(*result.causes)),
	};
	struct walk walk = {
		.requests = &conversation->requests,
		.responses = &conversation->responses,
		.result = &result,
		.slowest_answer = requests->slowest_answer,
		.spans = malloc((2 * (size_t)request_count + 1) * sizeof(*walk.spans)),
		.is_idle = calloc(conversation->responses.count + 1, sizeof(*walk.is_idle)),
		.receiver = {.unacked = requests->start},
	};

	walk.is_first = find_firsts(walk.requests);
	if (!result.items || !result.causes || !walk.spans || !walk.is_idle || !walk.is_first)
		response_outcomes_release(&result);
	else if (conversation->service == VL_SERVICE_RC)
		walk_requests(&walk, conversation, requests->start);
	free(walk.spans);
	free(walk.is_idle);
	free(walk.is_first);
	return result;
}

void response_outcomes_release(struct response_outcomes *outcomes)
{
	free(outcomes->items);
	free(outcomes->causes);
	*outcomes = (struct response_outcomes){0};
}
