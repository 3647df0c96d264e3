/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The peer as responder: what it says of gaps and of duplicates. IBTA 9.7.5.1.2, 9.7.5.1.5. */

#include "apps/verdict/private.h"

#include <inttypes.h>

#define SYNDROME_SEQUENCE_NAK 0x60

/* Never 0 for none. */
static uint64_t stamp(uint64_t now)
{
	return now ? now : 1;
}

static void judge_missing_nak(struct vl_verdict *verdict, struct verdict_flow *state, uint64_t now)
{
	char text[VERDICT_TIME_TEXT];

	if (!state->lost.time || now - state->lost.time <= verdict->config.nak_limit)
		return;
	verdict_fail(verdict, VL_VERDICT_SENDS_NAK,
		     "PSN %06x was kept from it, packet %" PRIu64
		     " showed the gap, and no NAK came for %s",
		     state->lost.psn, state->lost.number,
		     verdict_time_text(now - state->lost.time, text));
	state->lost.is_pending = false;
}

/* The first request behind the lost one shows the gap; the lost one, sent again, ends it. */
static void judge_gap(struct vl_verdict *verdict, struct verdict_flow *state,
		      const struct verdict_packet *packet)
{
	int32_t distance = vl_psn_distance(packet->parsed->psn, state->lost.psn);

	if (!state->lost.is_pending)
		return;
	if (distance > 0 && !state->lost.time) {
		state->lost.time = stamp(packet->now);
		state->lost.number = packet->number;
	} else if (distance <= 0) {
		judge_missing_nak(verdict, state, packet->now);
		state->lost.is_pending = false;
	}
}

static bool wants_answer(const struct vl_packet *packet)
{
	return packet->ack_request || packet->info->flags & (VL_OPCODE_READ | VL_OPCODE_ATOMIC);
}

/* A request that has left before. */
static void note_duplicate(struct verdict_flow *state, const struct verdict_packet *packet)
{
	const struct vl_packet *parsed = packet->parsed;
	bool is_waiting = state->duplicate.is_pending && !state->is_duplicate_doubtful;

	if (!state->started || is_waiting || !wants_answer(parsed) ||
	    vl_psn_distance(parsed->psn, state->newest_psn) > 0)
		return;
	if (state->has_hole && vl_psn_distance(parsed->psn, state->hole_psn) >= 0)
		return;
	state->duplicate = (struct verdict_wait){true, parsed->psn, packet->now, packet->number};
	state->is_duplicate_read = parsed->info->flags & (VL_OPCODE_READ | VL_OPCODE_ATOMIC);
	/* The answer to the first may be all that comes, for both. */
	state->is_duplicate_doubtful = vl_psn_distance(parsed->psn, state->answered_psn) >= 0;
}

void verdict_our_request(struct vl_verdict *verdict, const struct verdict_packet *packet)
{
	struct verdict_flow *state = verdict_flow_of(verdict, packet->flow);
	const struct vl_packet *parsed = packet->parsed;

	if (!state)
		return;
	judge_gap(verdict, state, packet);
	/* Out of order: what stands before it is still to come. */
	if (state->started && !state->has_hole &&
	    vl_psn_distance(parsed->psn, state->expected_psn) > 0) {
		state->has_hole = true;
		state->hole_psn = state->expected_psn;
	}
	if (state->has_hole && parsed->psn == state->hole_psn)
		state->has_hole = false;
	note_duplicate(state, packet);
	verdict_note_request(state, packet);
}

void verdict_our_loss(struct vl_verdict *verdict, const struct verdict_packet *packet)
{
	struct verdict_flow *state = verdict_flow_of(verdict, packet->flow);
	bool had_hole;

	if (!state || !state->started)
		return;
	had_hole = state->has_hole;
	if (!had_hole || vl_psn_distance(packet->parsed->psn, state->hole_psn) < 0) {
		state->has_hole = true;
		state->hole_psn = packet->parsed->psn;
	}
	if (had_hole || state->lost.is_pending ||
	    vl_psn_distance(packet->parsed->psn, state->newest_psn) <= 0)
		return;
	state->lost = (struct verdict_wait){true, packet->parsed->psn, 0, packet->number};
}

static bool is_refusal(const struct vl_packet *packet)
{
	return packet->opcode == VL_OP_ACKNOWLEDGE && packet->syndrome >> 5;
}

/* What is answered once more, though it had been answered, was asked for once more. What is
 * answered for the first time may be meant for later requests alone, or for the duplicate too. */
static void judge_duplicate(struct vl_verdict *verdict, struct verdict_flow *state,
			    const struct verdict_packet *packet)
{
	uint64_t delay = packet->now - state->duplicate.time;
	char text[VERDICT_TIME_TEXT];

	if (vl_psn_distance(packet->parsed->psn, state->answered_psn) >= 0) {
		state->is_duplicate_doubtful = true;
		return;
	}
	state->duplicate.is_pending = false;
	verdict_measured(verdict, VL_VERDICT_ANSWERS_DUPLICATES, delay);
	verdict_pass(verdict, VL_VERDICT_ANSWERS_DUPLICATES,
		     "PSN %06x, sent again in packet %" PRIu64 ", is answered by packet %" PRIu64
		     ", %s later",
		     state->duplicate.psn, state->duplicate.number, packet->number,
		     verdict_time_text(delay, text));
}

void verdict_peer_answer(struct vl_verdict *verdict, const struct verdict_packet *packet)
{
	struct verdict_flow *state = verdict_flow_of(verdict, packet->flow->reverse);
	const struct vl_packet *parsed = packet->parsed;
	char text[VERDICT_TIME_TEXT];
	uint64_t delay;

	if (!state)
		return;
	if (state->lost.is_pending && state->lost.time && parsed->opcode == VL_OP_ACKNOWLEDGE &&
	    parsed->syndrome == SYNDROME_SEQUENCE_NAK && parsed->psn == state->lost.psn) {
		delay = packet->now - state->lost.time;
		state->lost.is_pending = false;
		verdict_measured(verdict, VL_VERDICT_SENDS_NAK, delay);
		verdict_pass(verdict, VL_VERDICT_SENDS_NAK,
			     "PSN %06x was kept from it; the NAK in packet %" PRIu64
			     " asks for it, %s after packet %" PRIu64 " showed the gap",
			     state->lost.psn, packet->number, verdict_time_text(delay, text),
			     state->lost.number);
	}
	if (state->duplicate.is_pending && !is_refusal(parsed) &&
	    vl_psn_distance(parsed->psn, state->duplicate.psn) >= 0)
		judge_duplicate(verdict, state, packet);
	verdict_note_answer(state, packet);
}

void verdict_responder_finish(struct vl_verdict *verdict, struct verdict_flow *state,
			      const struct inspect_flow *flow, uint64_t now)
{
	char text[VERDICT_TIME_TEXT];

	(void)flow;
	if (state->is_over)
		return;
	if (state->lost.is_pending)
		judge_missing_nak(verdict, state, now);
	if (state->duplicate.is_pending && !state->is_duplicate_read &&
	    !state->is_duplicate_doubtful && now - state->duplicate.time > verdict->config.patience)
		verdict_fail(verdict, VL_VERDICT_ANSWERS_DUPLICATES,
			     "PSN %06x, sent again in packet %" PRIu64 ", was not answered for %s",
			     state->duplicate.psn, state->duplicate.number,
			     verdict_time_text(now - state->duplicate.time, text));
}
