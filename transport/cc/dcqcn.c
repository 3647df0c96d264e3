/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * DCQCN, reaction point (Zhu et al., SIGCOMM 2015), with the knobs of NVIDIA's adapters.
 *
 * The rules, with Rc the rate, Rt the target rate:
 * - A CNP cuts: Rt = Rc, Rc = Rc (1 - alpha / 2), then alpha = (1 - g) alpha + g; byte counter,
 *   timer and both event counts start over.
 * - Every period tau' without a CNP: alpha = (1 - g) alpha.
 * - The byte counter gives an event per B bytes sent, the timer one per T. With BC and TC the
 *   events since the last cut, this one included: max(TC, BC) <= F: fast recovery,
 *   Rc = (Rt + Rc) / 2; min(TC, BC) > F: hyper increase, Rt += (min - F) R_HAI first; else
 *   additive increase, Rt += R_AI first. So the first F events only recover, as in the fluid
 *   model of the paper's analysis (Zhu et al., CoNEXT 2016).
 * - Rates stay within rpg_min_rate and the smaller of rpg_max_rate and the line rate.
 *
 * Where the documents leave a choice:
 * - The reaction point runs from the start, at Rc = Rt = the initial rate; at the highest rate
 *   that is the same as not running, and below it the increase events bring the flow up. It is
 *   not released when the rate is back at the highest: alpha goes on to decay instead of
 *   beginning again at the next CNP.
 * - alpha is updated at each CNP, and its period starts over there. A CNP at the very end of a
 *   period finds alpha decayed.
 * - Within rate_reduce_monitor_period of a cut, a CNP updates alpha, and one cut follows at the
 *   end of the period, however many CNPs came. The counters start over at cuts, not at CNPs.
 * - rate_to_set_on_first_cnp replaces the first cut; it sets both rates, and never raises one.
 * - With clamp_tgt_rate off, Rt stays at a cut, unless clamp_tgt_rate_after_time_inc is on and the
 *   timer gave an event since the last cut.
 * - Without the byte counter, hyper increase goes by the timer alone.
 * - Event counts stop at F + 255, so the hyper step at 255 R_HAI.
 * - At the same time: first the cut that was put off, then the timer, then what is being
 *   reported (the bytes sent, the CNP).
 *
 * Nothing runs by itself. Timer events, the cut that was put off and alpha's periods are worked
 * out when the QP is next touched, alpha's only for a cut: powers by repeated squaring, and runs of
 * equal increase steps in closed form (increase_run), so no gap, however long, takes more than a
 * few hundred steps. Divisions happen on events only.
 */

#include "transport/cc/cc.h"
#include "transport/cc/rate.h"

#include <string.h>

#define ALPHA_BITS    32
#define ALPHA_ONE     (UINT64_C(1) << ALPHA_BITS)
#define HYPER_MOST    255
#define NANOSECONDS   UINT64_C(1000) /* of a microsecond */
#define BYTE_UNIT     64             /* of rpg_byte_reset */
#define GAIN_BITS     10             /* of dce_tcp_g and initial_alpha_value */
#define DECREASE_BITS 12             /* of rpg_gd */

struct VL_CC_VIEW dcqcn {
	uint64_t rate, target; /* bit/s; rate <= target <= highest */
	uint64_t highest;
	uint64_t byte_time, byte_time_rate; /* the former belongs to the latter */
	uint64_t alpha;                     /* 1/2^32, as of alpha_time */
	uint64_t alpha_time;
	uint64_t next_event; /* of the timer */
	uint64_t last_cut;
	uint64_t bytes; /* since the last event of the byte counter */
	uint64_t cuts;
	uint16_t timer_events, byte_events; /* since the last cut */
	bool had_cnp;
	bool cut_waits; /* until rate_reduce_monitor_period has passed */
	bool is_line;   /* highest is the line rate */
};

_Static_assert(sizeof(struct dcqcn) <= sizeof(struct vl_cc_state), "fits the QP's words");

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* ---- Alpha ---------------------------------------------------------------------------------- */

/* (keep / 1024)^count, 1/2^32; keep < 1024, count > 0. */
static uint64_t power(uint32_t keep, uint64_t count)
{
	const uint64_t half = ALPHA_ONE / 2;
	uint64_t square = (uint64_t)keep << (ALPHA_BITS - GAIN_BITS), result = ALPHA_ONE;

	for (; count && square; count >>= 1) {
		if (count & 1)
			result = (result * square + half) >> ALPHA_BITS;
		square = (square * square + half) >> ALPHA_BITS;
	}
	return count ? 0 : result;
}

static void decay_alpha(struct dcqcn *dcqcn, const struct vl_dcqcn_parameters *parameters,
			uint64_t now)
{
	uint64_t period = parameters->dce_tcp_rtt * NANOSECONDS, count;

	if (!dcqcn->had_cnp || now < dcqcn->alpha_time + period)
		return;
	count = (now - dcqcn->alpha_time) / period;
	dcqcn->alpha = dcqcn->alpha * power(parameters->dce_tcp_g, count) >> ALPHA_BITS;
	dcqcn->alpha_time += count * period;
}

/* ---- Increase ---------------------------------------------------------------------------------
 */

static bool is_highest(const struct dcqcn *dcqcn)
{
	return dcqcn->rate == dcqcn->highest && dcqcn->target == dcqcn->highest;
}

/* Rounds up, so that the rate arrives at the target. */
static void recover(struct dcqcn *dcqcn)
{
	dcqcn->rate = dcqcn->target - (dcqcn->target - dcqcn->rate) / 2;
}

/* The target rate's step of the event just counted. */
static uint64_t increase_step(const struct dcqcn *dcqcn,
			      const struct vl_dcqcn_parameters *parameters)
{
	uint64_t threshold = parameters->rpg_threshold, timer = dcqcn->timer_events;
	uint64_t bytes = parameters->rpg_byte_reset ? dcqcn->byte_events : timer;

	if (larger(timer, bytes) <= threshold)
		return 0;
	if (smaller(timer, bytes) > threshold)
		return (smaller(timer, bytes) - threshold) * parameters->rpg_hai_rate *
		       VL_CC_MEGABIT;
	return parameters->rpg_ai_rate * VL_CC_MEGABIT;
}

static void increase(struct dcqcn *dcqcn, uint64_t step)
{
	dcqcn->target = smaller(dcqcn->target + step, dcqcn->highest);
	recover(dcqcn);
}

/*
 * count increases by the same step > 0, to the same result as one at a time. While the target is
 * not clamped, the gap D = Rt - Rc goes as D' = floor((D + step) / 2), so its distance from the
 * step halves each time, rounded down from above and up from below.
 */
static void increase_run(struct dcqcn *dcqcn, uint64_t step, uint64_t count)
{
	uint64_t whole = smaller(count, (dcqcn->highest - dcqcn->target) / step);
	uint64_t gap = dcqcn->target - dcqcn->rate;
	uint64_t shift = smaller(whole, 63), round_up = (UINT64_C(1) << shift) - 1;

	gap = gap >= step ? step + ((gap - step) >> shift)
			  : step - ((step - gap + round_up) >> shift);
	dcqcn->target += whole * step;
	dcqcn->rate = dcqcn->target - gap;
	count -= whole;
	if (!count)
		return;
	dcqcn->target = dcqcn->highest;
	gap = dcqcn->target - dcqcn->rate;
	dcqcn->rate = dcqcn->target - (gap >> smaller(count, 63));
}

/* count events of one of the two counters. */
static void increase_events(struct dcqcn *dcqcn, const struct vl_dcqcn_parameters *parameters,
			    uint16_t *events, uint64_t count)
{
	uint64_t most = parameters->rpg_threshold + HYPER_MOST;

	while (count && !is_highest(dcqcn)) {
		if (*events == most) {
			increase_run(dcqcn, increase_step(dcqcn, parameters), count);
			return;
		}
		++*events;
		increase(dcqcn, increase_step(dcqcn, parameters));
		count--;
	}
	*events = (uint16_t)smaller(*events + count, most);
}

static void timer_until(struct dcqcn *dcqcn, const struct vl_dcqcn_parameters *parameters,
			uint64_t now)
{
	uint64_t period = parameters->rpg_time_reset * NANOSECONDS, count;

	/* At the highest rate there is nothing to count: the next cut starts over. */
	if (now < dcqcn->next_event || is_highest(dcqcn))
		return;
	count = (now - dcqcn->next_event) / period + 1;
	dcqcn->next_event += count * period;
	increase_events(dcqcn, parameters, &dcqcn->timer_events, count);
}

/* ---- Decrease ---------------------------------------------------------------------------------
 */

static void start_over(struct dcqcn *dcqcn, const struct vl_dcqcn_parameters *parameters,
		       uint64_t now)
{
	dcqcn->timer_events = 0;
	dcqcn->byte_events = 0;
	dcqcn->bytes = 0;
	dcqcn->next_event = now + parameters->rpg_time_reset * NANOSECONDS;
	dcqcn->last_cut = now;
	dcqcn->cut_waits = false;
	dcqcn->cuts++;
}

static void cut(struct dcqcn *dcqcn, const struct vl_dcqcn_parameters *parameters, uint64_t now)
{
	uint64_t old = dcqcn->rate, part, lowest;

	decay_alpha(dcqcn, parameters, now);
	if (parameters->clamp_tgt_rate ||
	    (parameters->clamp_tgt_rate_after_time_inc && dcqcn->timer_events))
		dcqcn->target = old;
	part = dcqcn->alpha >> (DECREASE_BITS - parameters->rpg_gd);
	dcqcn->rate -= (uint64_t)((unsigned __int128)old * part >> ALPHA_BITS);
	lowest = larger(old * parameters->rpg_min_dec_fac / 100,
			parameters->rpg_min_rate * VL_CC_MEGABIT);
	dcqcn->rate = smaller(larger(dcqcn->rate, lowest), old);
	start_over(dcqcn, parameters, now);
}

static uint64_t cut_allowed(const struct dcqcn *dcqcn, const struct vl_dcqcn_parameters *parameters)
{
	return dcqcn->cuts ? dcqcn->last_cut + parameters->rate_reduce_monitor_period * NANOSECONDS
			   : 0;
}

static void advance(struct dcqcn *dcqcn, const struct vl_dcqcn_parameters *parameters, uint64_t now)
{
	if (dcqcn->cut_waits) {
		uint64_t time = cut_allowed(dcqcn, parameters);

		if (time <= now) {
			timer_until(dcqcn, parameters, time - 1);
			cut(dcqcn, parameters, time);
		}
	}
	timer_until(dcqcn, parameters, now);
}

/* ---- The interface ----------------------------------------------------------------------------
 */

static void init(struct vl_cc_state *state, const struct vl_cc_parameters *parameters,
		 uint64_t line_rate, uint64_t now)
{
	struct dcqcn *dcqcn = (struct dcqcn *)state;
	uint64_t most = parameters->dcqcn.rpg_max_rate * VL_CC_MEGABIT;
	uint64_t least = parameters->dcqcn.rpg_min_rate * VL_CC_MEGABIT;

	memset(state, 0, sizeof(*state));
	dcqcn->highest = most ? smaller(most, line_rate) : line_rate;
	dcqcn->is_line = dcqcn->highest == line_rate;
	dcqcn->rate =
		parameters->initial_rate ? larger(parameters->initial_rate, least) : dcqcn->highest;
	dcqcn->rate = smaller(dcqcn->rate, dcqcn->highest);
	dcqcn->target = dcqcn->rate;
	dcqcn->next_event = now + parameters->dcqcn.rpg_time_reset * NANOSECONDS;
}

static void on_send(struct vl_cc_state *state, const struct vl_cc_parameters *parameters,
		    uint32_t bytes, uint64_t now)
{
	struct dcqcn *dcqcn = (struct dcqcn *)state;
	uint64_t per_event = (uint64_t)parameters->dcqcn.rpg_byte_reset * BYTE_UNIT;

	advance(dcqcn, &parameters->dcqcn, now);
	if (!per_event || is_highest(dcqcn))
		return;
	dcqcn->bytes += bytes;
	if (dcqcn->bytes >= per_event) {
		uint64_t count = dcqcn->bytes / per_event;

		dcqcn->bytes -= count * per_event;
		increase_events(dcqcn, &parameters->dcqcn, &dcqcn->byte_events, count);
	}
}

static void on_cnp(struct vl_cc_state *state, const struct vl_cc_parameters *parameters,
		   uint64_t now)
{
	const struct vl_dcqcn_parameters *values = &parameters->dcqcn;
	uint64_t first_rate = values->rate_to_set_on_first_cnp * VL_CC_MEGABIT;
	struct dcqcn *dcqcn = (struct dcqcn *)state;
	bool is_first = !dcqcn->had_cnp;

	advance(dcqcn, values, now);
	if (is_first) {
		dcqcn->had_cnp = true;
		dcqcn->alpha = (uint64_t)values->initial_alpha_value << (ALPHA_BITS - GAIN_BITS);
		dcqcn->alpha_time = now;
	}
	if (is_first && first_rate) {
		first_rate = larger(first_rate, values->rpg_min_rate * VL_CC_MEGABIT);
		dcqcn->rate = smaller(first_rate, dcqcn->rate);
		dcqcn->target = dcqcn->rate;
		start_over(dcqcn, values, now);
	} else if (now >= cut_allowed(dcqcn, values)) {
		cut(dcqcn, values, now);
	} else {
		decay_alpha(dcqcn, values, now);
		dcqcn->cut_waits = true;
	}
	dcqcn->alpha = (dcqcn->alpha * values->dce_tcp_g +
			((uint64_t)((1 << GAIN_BITS) - values->dce_tcp_g) << ALPHA_BITS)) >>
		       GAIN_BITS;
	dcqcn->alpha_time = now;
}

static uint64_t byte_time(struct vl_cc_state *state, const struct vl_cc_parameters *parameters,
			  uint64_t now)
{
	struct dcqcn *dcqcn = (struct dcqcn *)state;

	advance(dcqcn, &parameters->dcqcn, now);
	if (dcqcn->byte_time_rate != dcqcn->rate) {
		dcqcn->byte_time_rate = dcqcn->rate;
		dcqcn->byte_time = dcqcn->rate == dcqcn->highest && dcqcn->is_line
					   ? 0
					   : vl_cc_byte_time(dcqcn->rate);
	}
	return dcqcn->byte_time;
}

static uint64_t next_change(const struct vl_cc_state *state,
			    const struct vl_cc_parameters *parameters)
{
	const struct dcqcn *dcqcn = (const struct dcqcn *)state;
	uint64_t next = is_highest(dcqcn) ? UINT64_MAX : dcqcn->next_event;

	if (dcqcn->cut_waits)
		next = smaller(next, cut_allowed(dcqcn, &parameters->dcqcn));
	return next;
}

/* Of a copy: decaying alpha in more steps would round differently, and a run that is watched must
 * be the same as one that is not. */
static struct vl_cc_report report(struct vl_cc_state *state,
				  const struct vl_cc_parameters *parameters, uint64_t now)
{
	struct dcqcn dcqcn = *(const struct dcqcn *)state;

	advance(&dcqcn, &parameters->dcqcn, now);
	decay_alpha(&dcqcn, &parameters->dcqcn, now);
	return (struct vl_cc_report){
		.rate = dcqcn.rate,
		.target_rate = dcqcn.target,
		.alpha = (double)dcqcn.alpha / (double)ALPHA_ONE,
		.rate_cuts = dcqcn.cuts,
	};
}

const struct vl_cc_algorithm vl_cc_dcqcn = {
	.name = "dcqcn",
	.init = init,
	.on_send = on_send,
	.on_cnp = on_cnp,
	.byte_time = byte_time,
	.next_change = next_change,
	.report = report,
};
