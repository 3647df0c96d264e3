/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The peer as notification point (CNPs on CE marks) and as reaction point (its rate on CNPs). IBTA
 * A17.9; Zhu et al., SIGCOMM 2015. */

#include "apps/inspect/describe.h"
#include "apps/verdict/private.h"

#include <inttypes.h>

/* A lower rate is one below this part of what it was; a higher one makes up for this part of the
 * cut. */
#define CUT       0.9
#define RECOVERED 0.3
/* Windows that a rate must have stayed up for, to say that it was not cut. */
#define LEAST_WINDOWS 4u
/* Queues, and whoever looks, bunch CNPs together: too many is what is more than so many beyond one
 * for each so much of the least interval, since the last long break. */
#define INTERVAL_TOLERANCE 3 / 4
#define BUNCH              16u
#define BREAK              UINT64_C(100000000)

/* ---- Notification --------------------------------------------------------------------------- */

/* A mark right behind a CNP may be left to the next one: not if there was none for so long. */
static void judge_mark(struct vl_verdict *verdict, struct verdict_flow *state, uint64_t now)
{
	uint64_t limit = verdict->config.cnp_limit;
	char text[VERDICT_TIME_TEXT];

	if (!state->mark.is_pending || now - state->mark.time <= limit)
		return;
	state->mark.is_pending = false;
	/* A QP that has failed says nothing more. */
	if (state->is_over)
		return;
	if (state->cnp_time && state->mark.time - state->cnp_time <= limit)
		return;
	verdict_fail(verdict, VL_VERDICT_SENDS_CNP,
		     "packet %" PRIu64 " (PSN %06x) was marked CE, and no CNP came for %s",
		     state->mark.number, state->mark.psn,
		     verdict_time_text(now - state->mark.time, text));
}

void verdict_our_data(struct vl_verdict *verdict, const struct verdict_packet *packet)
{
	struct verdict_flow *state = verdict_flow_of(verdict, packet->flow);

	if (!state)
		return;
	judge_mark(verdict, state, packet->now);
	if (vl_packet_ecn(packet->parsed) != VL_ECN_CE)
		return;
	state->marks++;
	if (!state->mark.is_pending)
		state->mark = (struct verdict_wait){true, packet->parsed->psn, packet->now,
						    packet->number};
}

static void judge_cnp_class(struct vl_verdict *verdict, const struct verdict_packet *packet)
{
	const struct vl_packet *parsed = packet->parsed;
	uint32_t dscp = verdict->config.cnp_dscp, priority = verdict->config.cnp_priority;

	verdict->cnp_dscps |= UINT64_C(1) << vl_packet_dscp(parsed);
	if (dscp != VL_VERDICT_ANY && vl_packet_dscp(parsed) != dscp)
		verdict_fail(verdict, VL_VERDICT_CNP_CLASS,
			     "CNP in packet %" PRIu64 " has DSCP %u, not %u", packet->number,
			     vl_packet_dscp(parsed), dscp);
	else if (priority != VL_VERDICT_ANY && parsed->vlan_present && parsed->priority != priority)
		verdict_fail(verdict, VL_VERDICT_CNP_CLASS,
			     "CNP in packet %" PRIu64 " has priority %u, not %u", packet->number,
			     parsed->priority, priority);
	else
		verdict_pass(verdict, VL_VERDICT_CNP_CLASS, "CNP in packet %" PRIu64 " has DSCP %u",
			     packet->number, vl_packet_dscp(parsed));
}

static void judge_interval(struct vl_verdict *verdict, struct verdict_flow *state,
			   const struct verdict_packet *packet)
{
	uint64_t interval = packet->now - state->cnp_time;
	char text[VERDICT_TIME_TEXT], least[VERDICT_TIME_TEXT];

	if (!state->cnp_time || interval > BREAK) {
		state->cnp_since = packet->now;
		state->cnp_count = 0;
		return;
	}
	state->cnp_count++;
	verdict_measured(verdict, VL_VERDICT_CNP_INTERVAL, interval);
	if (state->cnp_count > BUNCH &&
	    (state->cnp_count - BUNCH) * verdict->config.cnp_interval * INTERVAL_TOLERANCE >
		    packet->now - state->cnp_since)
		verdict_fail(verdict, VL_VERDICT_CNP_INTERVAL,
			     "CNP in packet %" PRIu64 " is number %" PRIu64
			     " within %s; one each %s is most",
			     packet->number, state->cnp_count + 1,
			     verdict_time_text(packet->now - state->cnp_since, text),
			     verdict_time_text(verdict->config.cnp_interval, least));
	else
		verdict_pass(verdict, VL_VERDICT_CNP_INTERVAL,
			     "CNP in packet %" PRIu64 " comes %s after the one before",
			     packet->number, verdict_time_text(interval, text));
}

void verdict_peer_cnp(struct vl_verdict *verdict, const struct verdict_packet *packet)
{
	/* Its QPN is that of our QP, whose data the other half carries. */
	struct verdict_flow *state = verdict_flow_of(verdict, packet->flow->reverse);
	char text[VERDICT_TIME_TEXT];
	uint64_t delay;

	judge_cnp_class(verdict, packet);
	if (!state)
		return;
	judge_interval(verdict, state, packet);
	if (state->mark.is_pending) {
		delay = packet->now - state->mark.time;
		verdict_measured(verdict, VL_VERDICT_SENDS_CNP, delay);
		verdict_pass(verdict, VL_VERDICT_SENDS_CNP,
			     "packet %" PRIu64
			     " (PSN %06x) was marked CE; the CNP is packet %" PRIu64 ", %s later",
			     state->mark.number, state->mark.psn, packet->number,
			     verdict_time_text(delay, text));
		state->mark.is_pending = false;
	}
	state->cnp_time = packet->now ? packet->now : 1;
}

/* ---- Rates ---------------------------------------------------------------------------------- */

static double rate_of(uint64_t bytes, uint64_t time)
{
	return time ? (double)bytes * 8e9 / (double)time : 0;
}

/* Over the last packets; 0: there were too few, or they are long ago. */
static double present_rate(const struct verdict_flow *state, uint64_t now)
{
	uint32_t newest = state->sample_count - 1, oldest = state->sample_count;
	uint64_t start, end;

	if (state->sample_count < VERDICT_RATE_WINDOW)
		return 0;
	start = state->samples[oldest % VERDICT_RATE_WINDOW].time;
	end = state->samples[newest % VERDICT_RATE_WINDOW].time;
	if (now - end > 4 * (end - start) + 100000)
		return 0;
	return rate_of(state->samples[newest % VERDICT_RATE_WINDOW].bytes -
			       state->samples[oldest % VERDICT_RATE_WINDOW].bytes,
		       end - start);
}

static void start_window(struct verdict_flow *state, uint64_t now)
{
	state->window_time = now;
	state->window_bytes = state->bytes;
	state->window_packets = 0;
}

void verdict_our_cnp(struct vl_verdict *verdict, const struct verdict_packet *packet)
{
	struct verdict_flow *state = verdict_flow_of(verdict, packet->flow->reverse);

	if (!state)
		return;
	if (state->rate_state == VERDICT_RATE_STEADY) {
		double rate = present_rate(state, packet->now);

		if (rate <= 0 || verdict_is_pausing(verdict, packet->now))
			return;
		state->rate_state = VERDICT_RATE_ASKED;
		state->rate_before = state->rate_lowest = rate;
		state->first_cnp_time = packet->now;
		state->first_cnp_number = packet->number;
		state->windows = 0;
		start_window(state, packet->now);
	}
	state->last_cnp_time = packet->now;
	state->last_cnp_number = packet->number;
}

static void judge_cut(struct vl_verdict *verdict, struct verdict_flow *state, double rate,
		      const struct verdict_packet *packet)
{
	uint64_t delay = packet->now - state->first_cnp_time;
	char before[INSPECT_SMALL_TEXT], after[INSPECT_SMALL_TEXT], text[VERDICT_TIME_TEXT];

	if (rate >= CUT * state->rate_before) {
		if (state->windows >= LEAST_WINDOWS && delay > verdict->config.reaction_limit) {
			verdict_fail(verdict, VL_VERDICT_CUTS_RATE,
				     "%s before the CNP in packet %" PRIu64
				     ", %s still %s behind it, at packet %" PRIu64,
				     inspect_rate_text(state->rate_before, before),
				     state->first_cnp_number, inspect_rate_text(rate, after),
				     verdict_time_text(delay, text), packet->number);
			state->rate_state = VERDICT_RATE_STEADY;
		}
		return;
	}
	verdict_measured(verdict, VL_VERDICT_CUTS_RATE, delay);
	verdict_pass(verdict, VL_VERDICT_CUTS_RATE,
		     "%s before the CNP in packet %" PRIu64 ", %s behind it, at packet %" PRIu64,
		     inspect_rate_text(state->rate_before, before), state->first_cnp_number,
		     inspect_rate_text(rate, after), packet->number);
	state->rate_state = VERDICT_RATE_CUT;
	state->rate_lowest = rate;
}

static void judge_recovery(struct vl_verdict *verdict, struct verdict_flow *state, double rate,
			   const struct verdict_packet *packet)
{
	uint64_t delay = packet->now - state->last_cnp_time;
	char low[INSPECT_SMALL_TEXT], high[INSPECT_SMALL_TEXT], text[VERDICT_TIME_TEXT];

	if (rate < state->rate_lowest)
		state->rate_lowest = rate;
	if (rate >= state->rate_lowest + RECOVERED * (state->rate_before - state->rate_lowest)) {
		verdict_measured(verdict, VL_VERDICT_RECOVERS_RATE, delay);
		verdict_pass(verdict, VL_VERDICT_RECOVERS_RATE,
			     "from %s up to %s at packet %" PRIu64 ", %s after the CNP in packet "
			     "%" PRIu64,
			     inspect_rate_text(state->rate_lowest, low),
			     inspect_rate_text(rate, high), packet->number,
			     verdict_time_text(delay, text), state->last_cnp_number);
		state->rate_state = VERDICT_RATE_STEADY;
	} else if (delay > verdict->config.recovery_limit) {
		verdict_fail(verdict, VL_VERDICT_RECOVERS_RATE,
			     "still at %s at packet %" PRIu64 ", %s after the last CNP, in packet "
			     "%" PRIu64,
			     inspect_rate_text(rate, low), packet->number,
			     verdict_time_text(delay, text), state->last_cnp_number);
		state->rate_state = VERDICT_RATE_STEADY;
	}
}

static void judge_rate(struct vl_verdict *verdict, struct verdict_flow *state,
		       const struct verdict_packet *packet)
{
	double rate;

	if (state->rate_state == VERDICT_RATE_STEADY ||
	    ++state->window_packets < VERDICT_RATE_WINDOW)
		return;
	rate = rate_of(state->bytes - state->window_bytes, packet->now - state->window_time);
	start_window(state, packet->now);
	/* A pause slows it too. */
	if (verdict_is_pausing(verdict, packet->now))
		return;
	state->windows++;
	if (state->rate_state == VERDICT_RATE_ASKED)
		judge_cut(verdict, state, rate, packet);
	else
		judge_recovery(verdict, state, rate, packet);
}

/* ---- Classes of data ------------------------------------------------------------------------ */

static void judge_data_class(struct vl_verdict *verdict, struct verdict_flow *state,
			     const struct verdict_packet *packet)
{
	uint8_t dscp = vl_packet_dscp(packet->parsed);
	uint32_t expected = verdict->config.data_dscp;

	if (!state->has_data) {
		state->has_data = true;
		state->dscp = dscp;
	}
	if (expected != VL_VERDICT_ANY && dscp != expected)
		verdict_fail(verdict, VL_VERDICT_DATA_CLASS,
			     "packet %" PRIu64 " (PSN %06x) has DSCP %u, not %u", packet->number,
			     packet->parsed->psn, dscp, expected);
	else if (dscp != state->dscp)
		verdict_fail(verdict, VL_VERDICT_DATA_CLASS,
			     "packet %" PRIu64 " (PSN %06x) has DSCP %u, others of its flow %u",
			     packet->number, packet->parsed->psn, dscp, state->dscp);
	else if (verdict->config.cnp_dscp != VL_VERDICT_ANY && dscp == verdict->config.cnp_dscp)
		verdict_fail(verdict, VL_VERDICT_DATA_CLASS,
			     "packet %" PRIu64 " (PSN %06x) has DSCP %u, which is for CNPs",
			     packet->number, packet->parsed->psn, dscp);
	else
		verdict_pass(verdict, VL_VERDICT_DATA_CLASS, "packet %" PRIu64 " has DSCP %u",
			     packet->number, dscp);
}

static void judge_ecn(struct vl_verdict *verdict, struct verdict_flow *state,
		      const struct verdict_packet *packet)
{
	bool is_capable = vl_packet_ecn(packet->parsed) != VL_ECN_NOT_ECT;

	state->is_ecn_capable = state->is_ecn_capable || is_capable;
	if (!is_capable && (verdict->config.expects_ecn || state->is_ecn_capable))
		verdict_fail(verdict, VL_VERDICT_DATA_ECN,
			     "packet %" PRIu64
			     " (PSN %06x) is not ECN-capable: switches drop it where they would "
			     "mark it",
			     packet->number, packet->parsed->psn);
	else if (is_capable)
		verdict_pass(verdict, VL_VERDICT_DATA_ECN, "packet %" PRIu64 " is ECN-capable",
			     packet->number);
}

void verdict_peer_data(struct vl_verdict *verdict, const struct verdict_packet *packet)
{
	struct verdict_flow *state = verdict_flow_of(verdict, packet->flow);
	uint32_t at;

	if (!state)
		return;
	judge_data_class(verdict, state, packet);
	judge_ecn(verdict, state, packet);
	state->bytes += packet->parsed->payload_length;
	at = state->sample_count++ % VERDICT_RATE_WINDOW;
	state->samples[at].time = packet->now;
	state->samples[at].bytes = state->bytes;
	judge_rate(verdict, state, packet);
}

void verdict_congestion_finish(struct vl_verdict *verdict, struct verdict_flow *state,
			       const struct inspect_flow *flow, uint64_t now)
{
	(void)flow;
	judge_mark(verdict, state, now);
}
