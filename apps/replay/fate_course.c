/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/replay/fate_course.h"

/* Answers that are looked at for one that is not where it should be. */
#define LOOKED_AT 64u

/* ---- Responses ------------------------------------------------------------------------------ */

/* The next response, if a request may have caused it; NULL. */
static const struct recorded_packet *next_response(const struct scene *scene,
						   const struct course *course,
						   const struct recorded_packet *request)
{
	const struct recorded_packet *response;

	if (course->next >= scene->responses->count)
		return NULL;
	response = scene->responses->items[course->next];
	return response->number > request->number ? response : NULL;
}

static bool is_ack_of(const struct recorded_packet *response, int64_t position)
{
	return response && response->position == position && is_ack(&response->packet);
}

static bool is_sequence_nak_of(const struct recorded_packet *response, int64_t position)
{
	return response && response->position == position && is_nak(&response->packet) &&
	       response->packet.syndrome == NAK_SEQUENCE;
}

static bool is_refusal_of(const struct recorded_packet *response, int64_t position)
{
	return response && response->position == position && is_negative(&response->packet) &&
	       response->packet.syndrome != NAK_SEQUENCE;
}

static bool is_data_of(const struct recorded_packet *response, int64_t position)
{
	return response && response->position == position && !is_acknowledge(&response->packet);
}

/* The rest of an answer of several packets. */
static bool is_continuation(const struct scene *scene, uint32_t response)
{
	const struct recorded_packet *this = scene->responses->items[response];
	const struct recorded_packet *before =
		response ? scene->responses->items[response - 1] : NULL;

	return before && !is_acknowledge(&this->packet) && !is_acknowledge(&before->packet) &&
	       this->position == before->position + 1;
}

/* Responses that were sent before a packet, and that nothing has explained. */
void course_pass_unexplained(const struct scene *scene, struct course *course, uint64_t number)
{
	for (; course->next < scene->responses->count &&
	       scene->responses->items[course->next]->number < number;
	     course->next++) {
		const struct recorded_packet *response = scene->responses->items[course->next];

		if (response->position < scene->start - 1 || is_continuation(scene, course->next))
			continue;
		if (!is_ack(&response->packet))
			course->cost += COST_CONTRADICTION;
		else if (response->position + 1 == course->expected)
			course->cost += COST_VOLUNTARY_ACK;
		else
			course->cost += COST_LATE_ACK;
	}
}

typedef bool response_test(const struct recorded_packet *response, int64_t position);

/* Whether the next response is what a request brought, perhaps behind voluntary ACKs or the rest of
 * an answer; then the course has come to it. */
static bool comes_next(const struct scene *scene, struct course *course,
		       const struct recorded_packet *request, response_test *test, int64_t position)
{
	struct course skipping = *course;
	const struct recorded_packet *response = next_response(scene, &skipping, request);

	while (response && !test(response, position)) {
		/* The rest of an answer that has a gap, and that was under way when what it lacks
		 * was asked for. */
		bool is_rest = test == is_data_of && response->position > position &&
			       is_continuation(scene, skipping.next);

		if (!is_rest &&
		    !(is_ack(&response->packet) && response->position < skipping.expected))
			break;
		if (!is_rest)
			skipping.cost += response->position + 1 == skipping.expected
						 ? COST_VOLUNTARY_ACK
						 : COST_LATE_ACK;
		skipping.next++;
		response = next_response(scene, &skipping, request);
	}
	if (!test(response, position))
		return false;
	*course = skipping;
	return true;
}

/* Takes the packets of an answer that begins with the next response. */
static void take_answer(const struct scene *scene, struct course *course, uint32_t *answer,
			uint32_t count)
{
	*answer = course->next++;
	while (--count && course->next < scene->responses->count &&
	       is_continuation(scene, course->next))
		course->next++;
}

/* ---- The responder --------------------------------------------------------------------------- */

/* Nothing is left in the capture that could be the answer, though its sender was heard of later. */
static bool is_unanswered(const struct scene *scene, const struct course *course,
			  const struct recorded_packet *request)
{
	return course->next == scene->responses->count &&
	       scene->last_from_responder > request->number && !scene->conversation->is_continued;
}

/* A request that was executed already. False: it cannot have come. */
bool course_repeat(const struct scene *scene, struct course *course,
		   const struct recorded_packet *request, uint32_t *answer)
{
	if (is_resource(&request->packet)) {
		if (!comes_next(scene, course, request, is_data_of, request->position))
			return false;
		take_answer(scene, course, answer,
			    request_psn_count(scene->conversation, &request->packet));
		return true;
	}
	if (course->owes_ack)
		course->cost += COST_OWED_ACK_NEVER_SENT;
	course->owes_ack = false;
	if (is_ack_of(next_response(scene, course, request), course->expected - 1))
		course->next++;
	else if (is_unanswered(scene, course, request))
		course->cost += COST_UNANSWERED;
	else
		course->cost += COST_SILENCE_ON_DUPLICATE;
	return true;
}

/* A request behind a gap: one NAK, then silence. */
void course_refuse_gap(const struct scene *scene, struct course *course,
		       const struct recorded_packet *request, uint32_t *answer)
{
	if (!course->nak_sent &&
	    comes_next(scene, course, request, is_sequence_nak_of, course->expected)) {
		/* After an RNR NAK too: a habit. */
		*answer = course->next++;
		course->nak_sent = true;
		return;
	}
	if (course->nak_sent || course->rnr_sent)
		return;
	course->nak_sent = true;
	course->cost += course->next == scene->responses->count ? COST_NAK_NOT_CAPTURED
								: COST_CONTRADICTION;
}

/* The answer is not where it should be: perhaps it is near. */
static void miss_answer(const struct scene *scene, struct course *course,
			const struct recorded_packet *request, uint32_t *answer)
{
	course->cost += COST_CONTRADICTION;
	for (uint32_t i = course->next; i < scene->responses->count && i - course->next < LOOKED_AT;
	     i++) {
		if (is_data_of(scene->responses->items[i], request->position)) {
			*answer = i;
			return;
		}
	}
}

/* The request that was expected. */
void course_execute(const struct scene *scene, struct course *course,
		    const struct recorded_packet *request, uint32_t *answer, bool takes_ack)
{
	uint32_t count = request_psn_count(scene->conversation, &request->packet);
	bool is_unheard = course->next == scene->responses->count;

	if (is_resource(&request->packet)) {
		if (comes_next(scene, course, request, is_data_of, request->position))
			take_answer(scene, course, answer, count);
		else if (!is_unheard)
			miss_answer(scene, course, request, answer);
		course->owes_ack = false;
	} else if (takes_ack && comes_next(scene, course, request, is_ack_of, request->position)) {
		course->cost += request->packet.ack_request ? 0 : COST_UNASKED_ACK;
		*answer = course->next++;
		course->owes_ack = false;
	} else if (request->packet.ack_request && !is_unheard) {
		course->cost += COST_PUT_OFF_ACK;
		course->owes_ack = true;
	}
	if ((request->packet.ack_request || is_resource(&request->packet)) && is_unheard &&
	    is_unanswered(scene, course, request))
		course->cost += COST_UNANSWERED;
	/* An ACK of what was there before could not be sent later. */
	while (course->next < scene->responses->count &&
	       is_ack_of(scene->responses->items[course->next], course->expected - 1)) {
		course->cost += COST_VOLUNTARY_ACK;
		course->next++;
	}
	course->expected += count;
	course->nak_sent = course->rnr_sent = false;
}

bool course_refuse(const struct scene *scene, struct course *course,
		   const struct recorded_packet *request, uint32_t *answer)
{
	if (!comes_next(scene, course, request, is_refusal_of, course->expected))
		return false;
	*answer = course->next++;
	if (is_rnr_nak(&scene->responses->items[*answer]->packet))
		course->rnr_sent = true;
	else
		course->is_refused = true;
	return true;
}

bool course_may_hold(const struct scene *scene, const struct course *course,
		     const struct recorded_packet *request)
{
	struct course trying = *course;

	if (course->held != FATE_NONE || course->is_refused ||
	    !next_response(scene, course, request))
		return false;
	if (is_resource(&request->packet))
		return request->position <= course->expected;
	return request->position == course->expected &&
	       comes_next(scene, &trying, request, is_sequence_nak_of, course->expected);
}
