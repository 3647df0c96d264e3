/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Congestion control of InfiniBand channel adapters, IBTA volume 1, annex A10. Each QP has an index
 * CCTI into the congestion control table; after each packet it pauses for as many times the
 * packet's time on the line as the table says, so that its rate is line rate / (1 + CCT[CCTI]),
 * but never below 7.45 kb/s.
 *
 * - BECN: CCTI += CCTI_Increase, CCTI_Limit at most.
 * - Each CCTI_Timer (units of 1.024 us) that ends: CCTI -= 1, CCTI_Min at least.
 * - CCTI reaching Trigger_Threshold is an event: counted as rate_cuts is, and nothing else.
 *
 * Where the annex's text was not at hand, and so what is not verified:
 * - An entry is multiplier / 2^shift. The direction of the shift is chosen so that the two bits are
 *   of use: fractions of a packet's time, as 14 bits of multiplier reach far enough without them.
 * - The index is of the QP, not of the service level of the port.
 * - The timer begins when CCTI leaves CCTI_Min, and then goes on in equal steps; a BECN does not
 *   begin it anew.
 * - With a timer of 0 CCTI never falls.
 * - The table's default (a packet's time / 8 per entry) and those of the parameters are chosen, not
 *   the annex's, which leaves them to the manager.
 *
 * Nothing runs by itself: steps of the timer are worked out when the QP is next touched. Divisions
 * happen on such steps only.
 */

#include "transport/cc/cc.h"
#include "transport/cc/rate.h"

#include <string.h>

#define SHIFT_MOST 3u
#define FRACTION   8u /* 2^SHIFT_MOST */
#define NEVER      UINT64_MAX

struct VL_CC_VIEW infiniband {
	uint64_t line_rate;
	uint64_t line_byte_time; /* as of vl_cc_byte_time */
	uint64_t byte_time;      /* at ccti; 0: not limited */
	uint64_t next_step;      /* ns, of the timer; NEVER: not running */
	uint64_t cuts;
	uint32_t ccti;
};

_Static_assert(sizeof(struct infiniband) <= sizeof(struct vl_cc_state), "fits the QP's words");

static uint32_t multiplier_of(uint16_t entry)
{
	return entry & VL_CCT_MULTIPLIER_MASK;
}

static uint32_t shift_of(uint16_t entry)
{
	return entry >> VL_CCT_SHIFT;
}

static void set_ccti(struct infiniband *state, const struct vl_infiniband_cc_parameters *parameters,
		     uint32_t ccti)
{
	uint16_t entry = parameters->cct[ccti];
	uint64_t pause = state->line_byte_time * multiplier_of(entry) >> shift_of(entry);

	state->ccti = ccti;
	state->byte_time = pause ? state->line_byte_time + pause : 0;
	if (state->byte_time > VL_CC_MOST_BYTE_TIME)
		state->byte_time = VL_CC_MOST_BYTE_TIME;
}

static uint64_t period_of(const struct vl_infiniband_cc_parameters *parameters)
{
	return (uint64_t)parameters->ccti_timer * 1024;
}

static void advance(struct infiniband *state, const struct vl_infiniband_cc_parameters *parameters,
		    uint64_t now)
{
	uint64_t period = period_of(parameters), steps;
	uint32_t above = state->ccti - parameters->ccti_min;

	if (now < state->next_step)
		return;
	steps = (now - state->next_step) / period + 1;
	if (steps >= above) {
		state->next_step = NEVER;
		steps = above;
	} else {
		state->next_step += steps * period;
	}
	set_ccti(state, parameters, state->ccti - (uint32_t)steps);
}

static void init(struct vl_cc_state *words, const struct vl_cc_parameters *parameters,
		 uint64_t line_rate, uint64_t now)
{
	struct infiniband *state = (struct infiniband *)words;

	(void)now;
	memset(words, 0, sizeof(*words));
	state->line_rate = line_rate;
	state->line_byte_time = vl_cc_byte_time(line_rate);
	state->next_step = NEVER;
	set_ccti(state, &parameters->infiniband, parameters->infiniband.ccti_min);
}

static void on_cnp(struct vl_cc_state *words, const struct vl_cc_parameters *parameters,
		   uint64_t now)
{
	const struct vl_infiniband_cc_parameters *values = &parameters->infiniband;
	struct infiniband *state = (struct infiniband *)words;
	uint32_t before, ccti;

	advance(state, values, now);
	before = state->ccti;
	ccti = before + values->ccti_increase;
	if (ccti > values->ccti_limit)
		ccti = values->ccti_limit;
	if (ccti <= before)
		return;
	if (before < values->trigger_threshold && ccti >= values->trigger_threshold)
		state->cuts++;
	if (state->next_step == NEVER && values->ccti_timer)
		state->next_step = now + period_of(values);
	set_ccti(state, values, ccti);
}

static uint64_t byte_time(struct vl_cc_state *words, const struct vl_cc_parameters *parameters,
			  uint64_t now)
{
	struct infiniband *state = (struct infiniband *)words;

	advance(state, &parameters->infiniband, now);
	return state->byte_time;
}

static uint64_t next_change(const struct vl_cc_state *words,
			    const struct vl_cc_parameters *parameters)
{
	(void)parameters;
	return ((const struct infiniband *)words)->next_step;
}

static struct vl_cc_report report(struct vl_cc_state *words,
				  const struct vl_cc_parameters *parameters, uint64_t now)
{
	struct infiniband state = *(const struct infiniband *)words;
	uint16_t entry;
	uint64_t rate;

	advance(&state, &parameters->infiniband, now);
	entry = parameters->infiniband.cct[state.ccti];
	/* In eighths of a packet's time. */
	rate = state.line_rate * FRACTION /
	       (FRACTION + (multiplier_of(entry) * FRACTION >> shift_of(entry)));
	if (state.byte_time == VL_CC_MOST_BYTE_TIME)
		rate = VL_CC_BIT_SECOND / VL_CC_MOST_BYTE_TIME;
	return (struct vl_cc_report){
		.rate = state.byte_time ? rate : state.line_rate,
		.target_rate = state.line_rate,
		.rate_cuts = state.cuts,
		.ccti = state.ccti,
	};
}

const struct vl_cc_algorithm vl_cc_infiniband = {
	.name = "infiniband",
	.init = init,
	.on_cnp = on_cnp,
	.byte_time = byte_time,
	.next_change = next_change,
	.report = report,
};
