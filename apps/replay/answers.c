/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/replay/answers.h"

#include "transport/psn.h"

#include <string.h>

/* How much later than its slowest answer a recorded responder may still be expected to answer. */
#define PATIENCE       4
#define LEAST_PATIENCE UINT64_C(1000000) /* ns */

struct holding {
	struct trial *trial;
	const struct packet_list *recorded;
	const struct stack_packets *answers;
	const struct request_outcomes *outcomes;
	const struct last_seen *last;
};

static bool is_same_answer(const struct vl_packet *a, const struct vl_packet *b)
{
	return a->psn == b->psn && a->opcode == b->opcode &&
	       (a->syndrome & 0xe0) == (b->syndrome & 0xe0);
}

/* ---- Outcomes ------------------------------------------------------------------------------- */

/* Whether the recorded packet, which the stack did not send, is a known habit of the peer. */
static bool is_habit(const struct holding *holding, uint32_t index)
{
	const struct vl_packet *packet = &holding->recorded->items[index]->packet;

	if (!is_nak(packet) || packet->syndrome != NAK_SEQUENCE)
		return false;
	for (uint32_t i = index; i-- > 0;) {
		const struct vl_packet *before = &holding->recorded->items[i]->packet;

		if (before->psn != packet->psn)
			return false;
		if (is_rnr_nak(before))
			return true;
	}
	return false;
}

static void count_habit(struct trial *trial, enum replay_habit habit)
{
	trial->compared++;
	trial->explained++;
	trial->habits[habit]++;
}

static bool is_long_send_habit(const struct vl_packet *recorded, const struct vl_packet *stack)
{
	return is_acknowledge(recorded) && is_acknowledge(stack) && recorded->psn == stack->psn &&
	       recorded->syndrome == NAK_REMOTE_OPERATIONAL &&
	       stack->syndrome == NAK_INVALID_REQUEST;
}

/* The first packet of the answer to the rest of a READ is one of its middle, without an AETH. */
static bool is_repeated_read_habit(const struct holding *holding, const struct vl_packet *recorded,
				   uint32_t j)
{
	const struct stack_packet *ours = &holding->answers->items[j];
	uint8_t theirs = vl_opcode_operation(recorded->opcode);
	uint8_t own = vl_opcode_operation(ours->packet.opcode);

	return ((theirs == VL_OP_READ_RESPONSE_MIDDLE && own == VL_OP_READ_RESPONSE_FIRST) ||
		(theirs == VL_OP_READ_RESPONSE_LAST && own == VL_OP_READ_RESPONSE_ONLY)) &&
	       recorded->psn == ours->packet.psn &&
	       !holding->outcomes->items[ours->cause].is_expected &&
	       recorded->payload_length == ours->packet.payload_length &&
	       !memcmp(recorded->payload, ours->packet.payload, recorded->payload_length);
}

/* Of the ACK of the last SEND of a connection, which ends with it. */
static bool is_invalidate_habit(const struct holding *holding, const struct vl_packet *expected,
				uint32_t i, uint32_t j)
{
	const struct stack_packet *ours = &holding->answers->items[j];
	const struct recorded_packet *cause =
		holding->trial->conversation->requests.items[ours->cause];

	return (cause->packet.info->flags & VL_OPCODE_IETH) && is_ack(expected) &&
	       is_ack(&ours->packet) && i + 1 == holding->recorded->count &&
	       vl_psn_add(expected->msn, 1) == ours->packet.msn &&
	       expected->psn == ours->packet.psn && expected->psn == cause->packet.psn;
}

static void count_pair(const struct holding *holding, uint32_t i, uint32_t j)
{
	const struct recorded_packet *recorded = holding->recorded->items[i];
	const struct vl_packet *stack = &holding->answers->items[j].packet;
	struct vl_packet expected = recorded->packet;
	struct comparison comparison;

	expected.msn = (expected.msn - holding->outcomes->msn_offset) & VL_PSN_MASK;
	if (is_long_send_habit(&expected, stack)) {
		count_habit(holding->trial, REPLAY_HABIT_operational_error_for_long_send);
		return;
	}
	if (is_invalidate_habit(holding, &expected, i, j)) {
		count_habit(holding->trial, REPLAY_HABIT_failed_invalidate_not_counted);
		return;
	}
	if (is_repeated_read_habit(holding, &expected, j)) {
		count_habit(holding->trial, REPLAY_HABIT_repeated_read_goes_on);
		return;
	}
	comparison = compare_packets(&expected, stack);
	trial_count(holding->trial, &comparison);
	if (comparison.is_different)
		trial_difference(holding->trial, comparison.field, recorded, stack);
}

/* The stack has not sent this one. An ACK may have been put off; but what it says must be true. */
static void count_missing(const struct holding *holding, uint32_t i)
{
	const struct recorded_packet *recorded = holding->recorded->items[i];
	struct trial *trial = holding->trial;
	char field[REPLAY_LINE] = "recorded, and not sent by the stack";

	trial->compared++;
	if (holding->outcomes->speaks_of_unsent[i]) {
		snprintf(field, sizeof(field), "recorded, for a PSN that had not been sent");
	} else if (is_ack(&recorded->packet)) {
		uint32_t msn = expected_msn(holding->outcomes, recorded->position);

		if (recorded->packet.msn == msn) {
			trial->tolerated++;
			trial->freedoms[REPLAY_FREEDOM_ack_coalescing]++;
			return;
		}
		snprintf(field, sizeof(field),
			 "MSN: recorded %u, by the messages up to its PSN %u; and not sent by the "
			 "stack",
			 recorded->packet.msn, msn);
	}
	trial->different++;
	trial_difference(trial, field, recorded, NULL);
}

static void count_extra(const struct holding *holding, uint32_t j, uint32_t i)
{
	const struct recorded_packet *beside =
		i < holding->recorded->count ? holding->recorded->items[i] : NULL;

	trial_count_unrecorded(holding->trial);
	trial_difference(holding->trial, "sent by the stack, and not recorded", beside,
			 &holding->answers->items[j].packet);
}

static void tolerate_extra(const struct holding *holding, enum replay_freedom freedom)
{
	holding->trial->extra++;
	holding->trial->freedoms[freedom]++;
}

/* An ACK of the stack alone: it must name the last packet that came in order, with the messages up
 * to there, and no packet is acknowledged twice. */
static bool is_true_ack(const struct holding *holding, uint32_t j)
{
	const struct stack_packet *ours = &holding->answers->items[j];
	const struct stack_packet *before = j ? ours - 1 : NULL;

	return is_ack(&ours->packet) && ours->packet.psn == ours->last_psn &&
	       ours->packet.msn == ours->msn &&
	       !(before && before->cause == ours->cause &&
		 is_same_answer(&before->packet, &ours->packet));
}

/* A NAK of the stack alone: of the packet that is missing, and brought by one behind it. */
static bool is_true_nak(const struct holding *holding, uint32_t j)
{
	const struct stack_packet *ours = &holding->answers->items[j];
	const struct recorded_packet *cause =
		holding->trial->conversation->requests.items[ours->cause];

	return is_nak(&ours->packet) && ours->packet.syndrome == NAK_SEQUENCE &&
	       ours->packet.psn == vl_psn_add(ours->last_psn, 1) &&
	       vl_psn_distance(cause->packet.psn, ours->packet.psn) > 0 &&
	       ours->packet.msn == ours->msn;
}

static void count_own(const struct holding *holding, uint32_t j, uint32_t i)
{
	if (is_true_ack(holding, j))
		tolerate_extra(holding, REPLAY_FREEDOM_ack_coalescing);
	else
		count_extra(holding, j, i);
}

/* ---- Side by side --------------------------------------------------------------------------- */

/* The recorded answer to a READ broke off when a repeated request came. */
static bool is_cut_short(const struct holding *holding, uint32_t i, uint32_t j)
{
	const struct stack_packet *ours = &holding->answers->items[j];
	uint32_t request = holding->outcomes->begins_answer_to[i];

	return request != FATE_NONE && ours->cause < request &&
	       (ours->packet.info->flags & VL_OPCODE_READ) &&
	       !holding->outcomes->items[request].is_expected &&
	       vl_psn_distance(holding->recorded->items[i]->packet.psn, ours->packet.psn) < 0;
}

/* The capture lacks an answer to a READ or ATOMIC, and so did the requester, who asked again. */
static bool is_asked_for_again(const struct holding *holding, uint32_t j)
{
	const struct stack_packet *ours = &holding->answers->items[j];
	const struct conversation *conversation = holding->trial->conversation;

	if (is_acknowledge(&ours->packet))
		return false;
	for (uint32_t i = ours->cause + 1; i < conversation->requests.count; i++) {
		const struct vl_packet *request = &conversation->requests.items[i]->packet;
		int32_t offset = vl_psn_distance(ours->packet.psn, request->psn);

		if (is_resource(request) && offset >= 0 &&
		    (uint32_t)offset < request_psn_count(conversation, request))
			return true;
	}
	return false;
}

/* The next answer of a recorded list from i on, or of the stack's, that is no ACK. */
static uint32_t next_recorded(const struct holding *holding, uint32_t i)
{
	while (i < holding->recorded->count && is_ack(&holding->recorded->items[i]->packet))
		i++;
	return i;
}

static uint32_t next_own(const struct holding *holding, uint32_t j)
{
	while (j < holding->answers->count && is_ack(&holding->answers->items[j].packet))
		j++;
	return j;
}

static bool fits(const struct holding *holding, uint32_t i, uint32_t j)
{
	return i < holding->recorded->count && j < holding->answers->count &&
	       is_same_answer(&holding->recorded->items[i]->packet,
			      &holding->answers->items[j].packet);
}

/* Answers ahead that are looked at to find where both sides agree again. */
#define LOOKED_AHEAD 1024u

/* Two answers that must both have their place, and differ: one of them is superfluous, or they
 * stand for each other. */
static void hold_unlike(const struct holding *holding, uint32_t *i, uint32_t *j)
{
	uint32_t ahead_i = next_recorded(holding, *i + 1), ahead_j = next_own(holding, *j + 1);
	bool is_replaced =
		fits(holding, ahead_i, ahead_j) ||
		(ahead_i == holding->recorded->count && ahead_j == holding->answers->count);

	for (uint32_t n = 0; n < LOOKED_AHEAD && !is_replaced; n++) {
		if (fits(holding, *i, ahead_j) && is_asked_for_again(holding, *j)) {
			tolerate_extra(holding, REPLAY_FREEDOM_not_captured);
			++*j;
			return;
		}
		if (fits(holding, *i, ahead_j)) {
			count_extra(holding, (*j)++, *i);
			return;
		}
		if (fits(holding, ahead_i, *j)) {
			count_missing(holding, (*i)++);
			return;
		}
		ahead_i = next_recorded(holding, ahead_i + 1);
		ahead_j = next_own(holding, ahead_j + 1);
	}
	count_pair(holding, (*i)++, (*j)++);
}

/*
 * ACKs may be fewer or more on either side, as long as what they say is true, and their PSNs never
 * go back; everything else stands in its place.
 */
static void hold_one(const struct holding *holding, uint32_t *i, uint32_t *j)
{
	const struct vl_packet *theirs = &holding->recorded->items[*i]->packet;
	const struct vl_packet *ours = &holding->answers->items[*j].packet;
	int32_t distance = vl_psn_distance(theirs->psn, ours->psn);

	if (is_same_answer(theirs, ours) || is_repeated_read_habit(holding, theirs, *j)) {
		count_pair(holding, (*i)++, (*j)++);
	} else if (is_habit(holding, *i)) {
		count_habit(holding->trial, REPLAY_HABIT_nak_sequence_after_rnr_nak);
		++*i;
	} else if (is_cut_short(holding, *i, *j)) {
		tolerate_extra(holding, REPLAY_FREEDOM_read_cut_short);
		++*j;
	} else if (distance == 0 && is_acknowledge(theirs) && is_acknowledge(ours)) {
		count_pair(holding, (*i)++, (*j)++);
	} else if (is_ack(theirs) && (!is_ack(ours) || distance < 0)) {
		count_missing(holding, (*i)++);
	} else if (is_ack(ours)) {
		count_own(holding, (*j)++, *i);
	} else {
		hold_unlike(holding, i, j);
	}
}

/*
 * The recorded responder may have answered after the capture had ended: but not refused, not what
 * it had answered before, and not when it was heard of long after.
 */
static void hold_rest(const struct holding *holding, uint32_t j)
{
	const struct packet_list *requests = &holding->trial->conversation->requests;
	const struct recorded_packet *last =
		holding->recorded->count ? holding->recorded->items[holding->recorded->count - 1]
					 : NULL;
	uint64_t patience = PATIENCE * holding->outcomes->slowest_answer + LEAST_PATIENCE;

	for (; j < holding->answers->count; j++) {
		const struct stack_packet *ours = &holding->answers->items[j];
		const struct recorded_packet *cause = requests->items[ours->cause];
		bool is_due = !last || cause->number > last->number ||
			      vl_psn_distance(ours->packet.psn, last->packet.psn) > 0;

		if ((is_negative(&ours->packet) && !is_true_nak(holding, j)) || !is_due ||
		    (holding->last->time > cause->time + patience &&
		     !holding->trial->conversation->is_continued))
			count_own(holding, j, holding->recorded->count);
		else
			tolerate_extra(holding, REPLAY_FREEDOM_capture_ended);
	}
}

static bool holds_beginning(const struct holding *holding)
{
	const struct conversation *conversation = holding->trial->conversation;

	return conversation->start_is_known &&
	       conversation->start_psn == ((uint32_t)holding->outcomes->start & VL_PSN_MASK);
}

/* To a request from before the capture, or to one that the capture lacks. */
static bool is_out_of_sight(const struct holding *holding, uint32_t i)
{
	int64_t position = holding->recorded->items[i]->position;

	return (position < holding->outcomes->start && !holds_beginning(holding)) ||
	       (holding->trial->conversation->is_continued && position >= holding->outcomes->end);
}

void hold_answers(struct trial *trial, const struct stack_packets *answers,
		  const struct request_outcomes *outcomes, const struct last_seen *last)
{
	struct holding holding = {.trial = trial,
				  .recorded = &trial->conversation->responses,
				  .answers = answers,
				  .outcomes = outcomes,
				  .last = last};
	uint32_t i = 0, j = 0;

	while (i < holding.recorded->count) {
		if (is_out_of_sight(&holding, i)) {
			trial->not_compared++;
			i++;
		} else if (j < answers->count) {
			hold_one(&holding, &i, &j);
		} else if (is_habit(&holding, i)) {
			count_habit(trial, REPLAY_HABIT_nak_sequence_after_rnr_nak);
			i++;
		} else {
			count_missing(&holding, i++);
		}
	}
	hold_rest(&holding, j);
}
