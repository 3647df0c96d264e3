/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The peer as requester: what it does about NAKs, RNR NAKs and silence. IBTA 9.7.5.1, 9.9.2. */

#include "apps/inspect/describe.h"
#include "apps/verdict/private.h"
#include "transport/credit.h"

#include <inttypes.h>

#define SYNDROME_TYPE(syndrome)  ((syndrome) >> 5)
#define SYNDROME_VALUE(syndrome) ((syndrome)&0x1f)
enum { TYPE_ACK, TYPE_RNR, TYPE_RESERVED, TYPE_NAK };

/* The shortest local ACK timeout is 8.2 us: what comes again sooner is a copy of the network's. */
#define LEAST_TIMEOUT UINT64_C(8000)

void verdict_note_request(struct verdict_flow *state, const struct verdict_packet *packet)
{
	bool certain;
	uint32_t next = vl_psn_add(packet->parsed->psn,
				   inspect_psns_of(packet->flow, packet->parsed, &certain));
	uint32_t last = vl_psn_add(next, VL_PSN_MASK);

	if (!state->started) {
		state->started = true;
		state->newest_psn = last;
		state->answered_psn = packet->parsed->psn;
	} else if (vl_psn_distance(last, state->newest_psn) > 0) {
		state->newest_psn = last;
	}
	state->expected_psn = next;
	state->last_time = packet->now;
	state->last_number = packet->number;
}

/* A NAK answers all before its PSN, an ACK and a response its own too. */
void verdict_note_answer(struct verdict_flow *requests, const struct verdict_packet *packet)
{
	const struct vl_packet *parsed = packet->parsed;
	bool is_refusal = parsed->opcode == VL_OP_ACKNOWLEDGE && SYNDROME_TYPE(parsed->syndrome);
	uint32_t answered = is_refusal ? parsed->psn : vl_psn_add(parsed->psn, 1);

	if (!requests->started)
		return;
	if (vl_psn_distance(answered, requests->answered_psn) > 0 &&
	    vl_psn_distance(answered, vl_psn_add(requests->newest_psn, 1)) <= 0) {
		requests->answered_psn = answered;
		requests->last_time = packet->now;
		requests->has_rewound = false;
	}
	if (is_refusal && SYNDROME_TYPE(parsed->syndrome) == TYPE_NAK &&
	    SYNDROME_VALUE(parsed->syndrome))
		requests->is_over = true;
}

static void note_copies(struct verdict_flow *state)
{
	state->has_copies = true;
	state->copies_psn = state->newest_psn;
}

/* ---- NAKs ----------------------------------------------------------------------------------- */

static void comes_again(struct vl_verdict *verdict, struct verdict_flow *state,
			const struct verdict_packet *packet)
{
	uint64_t delay = packet->now - state->nak.time;
	char text[VERDICT_TIME_TEXT];
	bool certain;

	verdict_measured(verdict, VL_VERDICT_RETRANSMIT_NAK, delay);
	verdict_pass(verdict, VL_VERDICT_RETRANSMIT_NAK,
		     "NAK in packet %" PRIu64 " asks for PSN %06x; it comes in packet %" PRIu64
		     ", %s later",
		     state->nak.number, state->nak.psn, packet->number,
		     verdict_time_text(delay, text));
	note_copies(state);
	state->nak_limit_psn = state->newest_psn;
	state->nak_next_psn = vl_psn_add(packet->parsed->psn,
					 inspect_psns_of(packet->flow, packet->parsed, &certain));
	state->nak_state = vl_psn_distance(state->nak_limit_psn, state->nak_next_psn) >= 0
				   ? VERDICT_NAK_FOLLOW
				   : VERDICT_NAK_NONE;
}

/* What comes behind the packet that was asked for: what followed it before, or what is new. */
static void comes_next(struct vl_verdict *verdict, struct verdict_flow *state,
		       const struct verdict_packet *packet)
{
	uint32_t psn = packet->parsed->psn;

	if (psn == state->nak.psn)
		return;
	state->nak_state = VERDICT_NAK_NONE;
	if (vl_psn_distance(psn, state->nak_limit_psn) > 0)
		verdict_fail(verdict, VL_VERDICT_GO_BACK_N,
			     "after PSN %06x, which the NAK in packet %" PRIu64
			     " asked for, packet %" PRIu64
			     " has PSN %06x: PSNs %06x to %06x were not sent again",
			     state->nak.psn, state->nak.number, packet->number, psn,
			     state->nak_next_psn, state->nak_limit_psn);
	else if (vl_psn_distance(psn, state->nak_next_psn) >= 0)
		verdict_pass(verdict, VL_VERDICT_GO_BACK_N,
			     "PSN %06x again, as the NAK in packet %" PRIu64
			     " asked, then PSN %06x again in packet %" PRIu64,
			     state->nak.psn, state->nak.number, psn, packet->number);
}

static void fail_nak(struct vl_verdict *verdict, struct verdict_flow *state, uint64_t now)
{
	char text[VERDICT_TIME_TEXT];

	state->nak_state = VERDICT_NAK_NONE;
	verdict_fail(verdict, VL_VERDICT_RETRANSMIT_NAK,
		     "NAK in packet %" PRIu64 " asks for PSN %06x, which does not come for %s",
		     state->nak.number, state->nak.psn,
		     verdict_time_text(now - state->nak.time, text));
}

/* ---- RNR NAKs ------------------------------------------------------------------------------- */

static void end_rnr_wait(struct vl_verdict *verdict, struct verdict_flow *state,
			 const struct verdict_packet *packet)
{
	uint64_t waited = packet->now - state->rnr.time;
	char asked[VERDICT_TIME_TEXT], was[VERDICT_TIME_TEXT];

	state->rnr.is_pending = false;
	verdict_time_text(state->rnr_time, asked);
	verdict_time_text(waited, was);
	if (waited < state->rnr_time && state->is_rnr_doubtful) {
		/* It may have been on its way. */
		state->rnr.is_pending = true;
		return;
	}
	if (waited < state->rnr_time) {
		verdict_fail(verdict, VL_VERDICT_RNR_WAIT,
			     "RNR NAK in packet %" PRIu64
			     " asks to wait %s; PSN %06x comes again in packet %" PRIu64
			     " after %s",
			     state->rnr.number, asked, state->rnr.psn, packet->number, was);
		return;
	}
	verdict_measured(verdict, VL_VERDICT_RNR_WAIT, waited - state->rnr_time);
	verdict_pass(verdict, VL_VERDICT_RNR_WAIT,
		     "RNR NAK in packet %" PRIu64
		     " asks to wait %s; PSN %06x comes again in packet %" PRIu64 " after %s",
		     state->rnr.number, asked, state->rnr.psn, packet->number, was);
}

/* ---- Silence -------------------------------------------------------------------------------- */

static void goes_back(struct vl_verdict *verdict, struct verdict_flow *state,
		      const struct verdict_packet *packet)
{
	uint64_t silence = packet->now - state->last_time;
	char text[VERDICT_TIME_TEXT];

	state->has_rewound = true;
	note_copies(state);
	/* A NAK or RNR NAK in between may be why. */
	if (silence < LEAST_TIMEOUT || state->refusal_time >= state->last_time)
		return;
	verdict_measured(verdict, VL_VERDICT_RETRANSMIT_TIMEOUT, silence);
	verdict_pass(verdict, VL_VERDICT_RETRANSMIT_TIMEOUT,
		     "PSN %06x comes again in packet %" PRIu64 " after %s of silence",
		     packet->parsed->psn, packet->number, verdict_time_text(silence, text));
}

/* ---- The door ------------------------------------------------------------------------------- */

void verdict_peer_request(struct vl_verdict *verdict, const struct verdict_packet *packet)
{
	struct verdict_flow *state = verdict_flow_of(verdict, packet->flow);
	uint32_t psn = packet->parsed->psn;
	bool is_asked = false;

	if (!state)
		return;
	if (state->nak_state == VERDICT_NAK_FOLLOW) {
		comes_next(verdict, state, packet);
		is_asked = true;
	}
	if (state->nak_state == VERDICT_NAK_SENT && psn == state->nak.psn) {
		comes_again(verdict, state, packet);
		is_asked = true;
	}
	/* It goes back for something else, which it learnt of before the RNR NAK reached it: what
	 * was refused may come again among the rest. */
	if (state->rnr.is_pending && vl_psn_distance(psn, state->rnr.psn) < 0)
		state->is_rnr_doubtful = true;
	if (state->rnr.is_pending && psn == state->rnr.psn) {
		end_rnr_wait(verdict, state, packet);
		is_asked = true;
	}
	if (is_asked)
		state->has_rewound = true;
	else if (state->started && psn != state->expected_psn &&
		 vl_psn_distance(psn, state->newest_psn) <= 0)
		goes_back(verdict, state, packet);
	if (state->nak_state == VERDICT_NAK_SENT &&
	    packet->now - state->nak.time > verdict->config.patience)
		fail_nak(verdict, state, packet->now);
	verdict_note_request(state, packet);
}

void verdict_our_answer(struct vl_verdict *verdict, const struct verdict_packet *packet)
{
	const struct vl_packet *parsed = packet->parsed;
	struct verdict_flow *state = verdict_flow_of(verdict, packet->flow->reverse);
	struct verdict_wait wait = {true, parsed->psn, packet->now, packet->number};

	bool is_stale;

	if (!state)
		return;
	/* A copy that comes late, behind an answer to what it refuses, asks for nothing. */
	is_stale = state->started && vl_psn_distance(parsed->psn, state->answered_psn) < 0;
	verdict_note_answer(state, packet);
	/* It came late, and is acknowledged: nothing is to come again. */
	if (state->nak_state == VERDICT_NAK_SENT &&
	    vl_psn_distance(state->answered_psn, state->nak.psn) > 0)
		state->nak_state = VERDICT_NAK_NONE;
	if (state->rnr.is_pending && vl_psn_distance(state->answered_psn, state->rnr.psn) > 0)
		state->rnr.is_pending = false;
	if (parsed->opcode != VL_OP_ACKNOWLEDGE)
		return;
	if (SYNDROME_TYPE(parsed->syndrome))
		state->refusal_time = packet->now ? packet->now : 1;
	switch (SYNDROME_TYPE(parsed->syndrome)) {
	case TYPE_NAK:
		/* One whose answer is not here yet counts from its first time; a responder asks for
		 * a packet once, so another one for it is a copy. */
		if (SYNDROME_VALUE(parsed->syndrome) || is_stale ||
		    state->nak_state == VERDICT_NAK_SENT ||
		    (state->has_nak && state->nak.psn == parsed->psn))
			return;
		state->nak = wait;
		state->has_nak = true;
		state->nak_state = VERDICT_NAK_SENT;
		break;
	case TYPE_RNR:
		if (is_stale || (state->rnr.is_pending && state->rnr.psn == parsed->psn))
			return;
		state->rnr = wait;
		state->is_rnr_doubtful =
			state->has_copies && vl_psn_distance(parsed->psn, state->copies_psn) <= 0;
		state->rnr_time = vl_rnr_timer_ns(SYNDROME_VALUE(parsed->syndrome));
		break;
	default:
		break;
	}
}

/* Requests that nothing has answered, and that were not sent again either. */
static void judge_silence(struct vl_verdict *verdict, const struct verdict_flow *state,
			  uint64_t now)
{
	char text[VERDICT_TIME_TEXT];

	if (!state->started || state->is_over || state->has_rewound || state->rnr.is_pending ||
	    state->nak_state == VERDICT_NAK_SENT ||
	    vl_psn_distance(state->newest_psn, state->answered_psn) < 0 ||
	    now - state->last_time < verdict->config.patience)
		return;
	verdict_fail(verdict, VL_VERDICT_RETRANSMIT_TIMEOUT,
		     "PSNs %06x to %06x (the last in packet %" PRIu64
		     ") were not answered and did not come again for %s",
		     state->answered_psn, state->newest_psn, state->last_number,
		     verdict_time_text(now - state->last_time, text));
}

void verdict_requester_finish(struct vl_verdict *verdict, struct verdict_flow *state,
			      const struct inspect_flow *flow, uint64_t now)
{
	if (state->nak_state == VERDICT_NAK_SENT && !state->is_over &&
	    now - state->nak.time > verdict->config.patience)
		fail_nak(verdict, state, now);
	/* UC expects no answers. */
	if (flow->services & 1u << (VL_SERVICE_RC >> 5) && flow->reverse)
		judge_silence(verdict, state, now);
}
