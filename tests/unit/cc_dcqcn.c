/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * DCQCN's reaction point: numbers worked out from the rules, and random schedules against a
 * reference that lives through every microsecond with timers of its own, in floating point.
 */

#include "tests/support/suite.h"
#include "transport/cc/cc.h"
#include "transport/random.h"

#include <math.h>
#include <string.h>

#define US   UINT64_C(1000)
#define GBPS UINT64_C(1000000000)

static const struct vl_cc_algorithm *const dcqcn = &vl_cc_dcqcn;

static struct vl_cc_parameters profile(const char *name)
{
	struct vl_cc_parameters parameters = {.algorithm = dcqcn};

	CU_ASSERT_EQUAL_FATAL(vl_dcqcn_profile(&parameters.dcqcn, name), 0);
	return parameters;
}

/* ---- Reference --------------------------------------------------------------------------------
 */

struct reference {
	const struct vl_dcqcn_parameters *values;
	double rate, target, highest, alpha; /* bit/s, 0..1 */
	uint32_t alpha_age, timer_age; /* us since the last alpha update, since the last event */
	uint32_t since_cut;            /* us */
	uint64_t timer_count, byte_count, bytes, cuts;
	bool had_cnp, cut_waits;
};

static void reference_start(struct reference *reference, const struct vl_cc_parameters *parameters,
			    double line_rate)
{
	const struct vl_dcqcn_parameters *values = &parameters->dcqcn;

	memset(reference, 0, sizeof(*reference));
	reference->values = values;
	reference->highest =
		values->rpg_max_rate ? fmin(values->rpg_max_rate * 1e6, line_rate) : line_rate;
	reference->rate = reference->highest;
	if (parameters->initial_rate)
		reference->rate =
			fmin(fmax((double)parameters->initial_rate, values->rpg_min_rate * 1e6),
			     reference->highest);
	reference->target = reference->rate;
}

static void reference_increase(struct reference *reference)
{
	const struct vl_dcqcn_parameters *values = reference->values;
	uint64_t most = reference->timer_count, least = most;

	if (values->rpg_byte_reset) {
		if (reference->byte_count > most)
			most = reference->byte_count;
		else
			least = reference->byte_count;
	}
	if (least > values->rpg_threshold) {
		uint64_t i = least - values->rpg_threshold;

		reference->target += 1e6 * values->rpg_hai_rate * (double)(i < 255 ? i : 255);
	} else if (most > values->rpg_threshold) {
		reference->target += 1e6 * values->rpg_ai_rate;
	}
	reference->target = fmin(reference->target, reference->highest);
	reference->rate = (reference->rate + reference->target) / 2;
}

static void reference_restart(struct reference *reference)
{
	reference->timer_count = 0;
	reference->byte_count = 0;
	reference->bytes = 0;
	reference->timer_age = 0;
	reference->since_cut = 0;
	reference->cut_waits = false;
	reference->cuts++;
}

static void reference_cut(struct reference *reference)
{
	const struct vl_dcqcn_parameters *values = reference->values;
	double old = reference->rate;
	double factor = 1 - reference->alpha / (values->rpg_gd == 11 ? 2 : 4);

	if (values->clamp_tgt_rate ||
	    (values->clamp_tgt_rate_after_time_inc && reference->timer_count))
		reference->target = old;
	reference->rate = old * fmax(factor, values->rpg_min_dec_fac / 100.0);
	reference->rate = fmin(old, fmax(reference->rate, values->rpg_min_rate * 1e6));
	reference_restart(reference);
}

static void reference_microsecond(struct reference *reference)
{
	const struct vl_dcqcn_parameters *values = reference->values;

	reference->since_cut++;
	if (reference->had_cnp && ++reference->alpha_age == values->dce_tcp_rtt) {
		reference->alpha *= values->dce_tcp_g / 1024.0;
		reference->alpha_age = 0;
	}
	if (reference->cut_waits && reference->since_cut == values->rate_reduce_monitor_period) {
		reference_cut(reference);
	} else if (++reference->timer_age == values->rpg_time_reset) {
		reference->timer_age = 0;
		reference->timer_count++;
		reference_increase(reference);
	}
}

static void reference_send(struct reference *reference, uint32_t bytes)
{
	uint64_t per_event = reference->values->rpg_byte_reset * UINT64_C(64);

	if (!per_event)
		return;
	for (reference->bytes += bytes; reference->bytes >= per_event;
	     reference->bytes -= per_event) {
		reference->byte_count++;
		reference_increase(reference);
	}
}

static void reference_cnp(struct reference *reference)
{
	const struct vl_dcqcn_parameters *values = reference->values;
	bool is_first = !reference->had_cnp;

	if (is_first) {
		reference->had_cnp = true;
		reference->alpha = values->initial_alpha_value / 1024.0;
	}
	if (is_first && values->rate_to_set_on_first_cnp) {
		reference->rate = fmin(reference->rate, fmax(values->rate_to_set_on_first_cnp * 1e6,
							     values->rpg_min_rate * 1e6));
		reference->target = reference->rate;
		reference_restart(reference);
	} else if (!reference->cuts || reference->since_cut >= values->rate_reduce_monitor_period) {
		reference_cut(reference);
	} else {
		reference->cut_waits = true;
	}
	reference->alpha = reference->alpha * values->dce_tcp_g / 1024.0 +
			   (1024.0 - values->dce_tcp_g) / 1024.0;
	reference->alpha_age = 0;
}

/* ---- Random schedules ---------------------------------------------------------------------------
 */

static uint64_t between(struct vl_random *random, uint64_t least, uint64_t most)
{
	return least + vl_random_below(random, most - least + 1);
}

/* Any order of magnitude. */
static uint64_t spread(struct vl_random *random, unsigned int bits)
{
	return vl_random_next(random) >> (64 - between(random, 1, bits));
}

static struct vl_cc_parameters random_parameters(struct vl_random *random, uint64_t line_rate)
{
	struct vl_cc_parameters parameters = profile(between(random, 0, 1) ? "paper" : "nvidia");
	struct vl_dcqcn_parameters *values = &parameters.dcqcn;

	if (between(random, 0, 2) == 0)
		return parameters;
	values->rpg_ai_rate = (uint32_t)(1 + spread(random, 9));
	values->rpg_hai_rate = (uint32_t)(1 + spread(random, 10));
	values->rpg_time_reset = (uint32_t)(1 + spread(random, 9));
	values->rpg_byte_reset = (uint32_t)(between(random, 0, 3) ? spread(random, 17) : 0);
	values->rpg_threshold = (uint32_t)between(random, 1, 31);
	values->rpg_max_rate = (uint32_t)(between(random, 0, 2) ? 0 : 100 + spread(random, 20));
	values->rpg_min_rate = (uint32_t)(1 + spread(random, 8));
	values->rpg_min_dec_fac = (uint32_t)between(random, 1, 100);
	values->rpg_gd = (uint32_t)between(random, 10, 11);
	values->dce_tcp_g = (uint32_t)between(random, between(random, 0, 1) ? 0 : 1000, 1023);
	values->dce_tcp_rtt = (uint32_t)(1 + spread(random, 8));
	values->initial_alpha_value = (uint32_t)between(random, 1, 1023);
	values->rate_reduce_monitor_period =
		(uint32_t)(between(random, 0, 1) ? spread(random, 7) : 0);
	values->rate_to_set_on_first_cnp =
		(uint32_t)(between(random, 0, 3) ? 0 : 1 + spread(random, 20));
	values->clamp_tgt_rate = (uint32_t)between(random, 0, 1);
	values->clamp_tgt_rate_after_time_inc = (uint32_t)between(random, 0, 1);
	if (between(random, 0, 3) == 0)
		parameters.initial_rate = 1 + vl_random_below(random, line_rate);
	CU_ASSERT_EQUAL(vl_cc_check(&parameters), 0);
	return parameters;
}

static bool is_close(double value, double expected)
{
	return fabs(value - expected) <= 100 + 1e-6 * expected;
}

/* A run with CNPs, packets and looks at random times. The state under test is touched only then;
 * a second one, at every microsecond, must come out the same to the last bit. */
static unsigned int run_schedule(uint64_t seed, unsigned int operations)
{
	struct vl_random random = {seed};
	const uint64_t line_rate = GBPS * between(&random, 1, 1600);
	struct vl_cc_parameters parameters = random_parameters(&random, line_rate);
	struct vl_cc_state lazy, eager;
	struct reference reference;
	unsigned int wrong = 0;
	uint64_t now = spread(&random, 62) / US * US;

	dcqcn->init(&lazy, &parameters, line_rate, now);
	dcqcn->init(&eager, &parameters, line_rate, now);
	reference_start(&reference, &parameters, (double)line_rate);
	for (unsigned int i = 0; i < operations && !wrong; i++) {
		uint64_t gap = between(&random, 0, 3) ? spread(&random, 7) : spread(&random, 14);
		uint32_t bytes = (uint32_t)spread(&random, between(&random, 0, 7) ? 13 : 20);
		struct vl_cc_report report, same;
		uint64_t change;

		for (uint64_t us = 0; us < gap; us++) {
			now += US;
			reference_microsecond(&reference);
			dcqcn->byte_time(&eager, &parameters, now);
		}
		switch (between(&random, 0, 3)) {
		case 0:
			reference_cnp(&reference);
			dcqcn->on_cnp(&lazy, &parameters, now);
			dcqcn->on_cnp(&eager, &parameters, now);
			break;
		case 1:
			dcqcn->byte_time(&lazy, &parameters, now);
			break;
		default:
			reference_send(&reference, bytes);
			dcqcn->on_send(&lazy, &parameters, bytes, now);
			dcqcn->on_send(&eager, &parameters, bytes, now);
			break;
		}
		report = dcqcn->report(&lazy, &parameters, now);
		same = dcqcn->report(&eager, &parameters, now);
		change = dcqcn->next_change(&eager, &parameters);
		if (!is_close((double)report.rate, reference.rate) ||
		    !is_close((double)report.target_rate, reference.target) ||
		    fabs(report.alpha - reference.alpha) > 1e-6 ||
		    report.rate_cuts != reference.cuts || report.rate != same.rate ||
		    report.target_rate != same.target_rate || report.alpha != same.alpha ||
		    change <= now) {
			printf("seed %llu, operation %u: rate %.0f, reference %.0f; target %.0f, "
			       "%.0f; "
			       "alpha %.9f, %.9f\n",
			       (unsigned long long)seed, i, (double)report.rate, reference.rate,
			       (double)report.target_rate, reference.target, report.alpha,
			       reference.alpha);
			wrong++;
		}
	}
	return wrong;
}

static void test_against_reference(void)
{
	unsigned int wrong = 0;

	for (uint64_t seed = 1; seed <= 1500; seed++)
		wrong += run_schedule(seed, 250);
	CU_ASSERT_EQUAL(wrong, 0);
}

/* ---- Numbers ------------------------------------------------------------------------------------
 */

static void start(struct vl_cc_state *state, const struct vl_cc_parameters *parameters,
		  uint64_t line_rate)
{
	memset(state, 0x5a, sizeof(*state));
	dcqcn->init(state, parameters, line_rate, 0);
}

static void test_starts_at_line_rate(void)
{
	struct vl_cc_parameters parameters = profile("paper");
	struct vl_cc_state state;

	start(&state, &parameters, 100 * GBPS);
	CU_ASSERT_EQUAL(dcqcn->byte_time(&state, &parameters, 0), 0);
	CU_ASSERT_EQUAL(dcqcn->next_change(&state, &parameters), UINT64_MAX);
	for (uint64_t now = 0; now < 1000 * US; now += 80)
		dcqcn->on_send(&state, &parameters, 1000, now);
	CU_ASSERT_EQUAL(dcqcn->report(&state, &parameters, 1000 * US).rate, 100 * GBPS);
	CU_ASSERT_EQUAL(dcqcn->report(&state, &parameters, 1000 * US).alpha, 0);

	parameters.dcqcn.rpg_max_rate = 40000;
	start(&state, &parameters, 100 * GBPS);
	CU_ASSERT_EQUAL(dcqcn->byte_time(&state, &parameters, 0), UINT64_C(200) << 16);
	CU_ASSERT_EQUAL(dcqcn->report(&state, &parameters, 0).rate, 40 * GBPS);

	/* Below it a flow comes up by itself. */
	parameters.initial_rate = 5 * GBPS;
	start(&state, &parameters, 100 * GBPS);
	CU_ASSERT_EQUAL(dcqcn->report(&state, &parameters, 275 * US).rate, 5 * GBPS);
	CU_ASSERT_EQUAL(dcqcn->report(&state, &parameters, 330 * US).target_rate, 5040000000);
	CU_ASSERT_EQUAL(dcqcn->report(&state, &parameters, 330 * US).rate, 5020000000);
}

static void test_alpha(void)
{
	struct vl_cc_parameters parameters = profile("paper");
	const double g = 1 / 256.0, alpha0 = 100 / 1024.0;
	struct vl_cc_state state;
	double half;

	/* k CNPs within tau' of each other: 1 - (1 - g)^k (1 - alpha0). */
	parameters.dcqcn.initial_alpha_value = 100;
	start(&state, &parameters, 40 * GBPS);
	for (unsigned int k = 1; k <= 1000; k++) {
		dcqcn->on_cnp(&state, &parameters, k * 54 * US);
		CU_ASSERT_DOUBLE_EQUAL(dcqcn->report(&state, &parameters, k * 54 * US).alpha,
				       1 - pow(1 - g, k) * (1 - alpha0), 1e-6);
	}

	/* No CNP for t: alpha0 (1 - g)^floor(t / tau'). */
	parameters.dcqcn.initial_alpha_value = 1023;
	start(&state, &parameters, 40 * GBPS);
	dcqcn->on_cnp(&state, &parameters, 7);
	half = dcqcn->report(&state, &parameters, 7).alpha;
	for (uint64_t t = 0; t < 20000 * US; t += 27499)
		CU_ASSERT_DOUBLE_EQUAL(dcqcn->report(&state, &parameters, 7 + t).alpha,
				       half * pow(1 - g, (double)(t / (55 * US))), 1e-6);
	/* It halves in 177.1 periods, 9.74 ms. */
	CU_ASSERT(dcqcn->report(&state, &parameters, 7 + 178 * 55 * US - 1).alpha > half / 2);
	CU_ASSERT(dcqcn->report(&state, &parameters, 7 + 178 * 55 * US).alpha < half / 2);

	/* NVIDIA's gain: 5/1024 per microsecond. */
	parameters = profile("nvidia");
	start(&state, &parameters, 40 * GBPS);
	dcqcn->on_cnp(&state, &parameters, 0);
	CU_ASSERT_DOUBLE_EQUAL(dcqcn->report(&state, &parameters, 100 * US).alpha,
			       (1 - 1 / 1024.0 * 1019 / 1024.0) * pow(1019 / 1024.0, 100), 1e-6);
}

static void test_cut(void)
{
	struct vl_cc_parameters parameters = profile("paper");
	struct vl_cc_state state;
	struct vl_cc_report report;

	/* alpha is the one before the CNP's update: 1023/1024 at first. */
	start(&state, &parameters, 100 * GBPS);
	dcqcn->on_cnp(&state, &parameters, 0);
	report = dcqcn->report(&state, &parameters, 0);
	CU_ASSERT_EQUAL(report.rate, 50048828125);
	CU_ASSERT_EQUAL(report.target_rate, 100 * GBPS);
	CU_ASSERT_EQUAL(report.rate_cuts, 1);
	CU_ASSERT_EQUAL(dcqcn->byte_time(&state, &parameters, 0), 10475530); /* 159.844 ps */

	/* alpha = 1/4 exactly, kept as it is: a quarter of rpg_gd 11 is an eighth. */
	parameters.dcqcn.initial_alpha_value = 256;
	start(&state, &parameters, 100 * GBPS);
	dcqcn->on_cnp(&state, &parameters, 0);
	CU_ASSERT_EQUAL(dcqcn->report(&state, &parameters, 0).rate, 87500000000);
	parameters.dcqcn.rpg_gd = 10;
	start(&state, &parameters, 100 * GBPS);
	dcqcn->on_cnp(&state, &parameters, 0);
	CU_ASSERT_EQUAL(dcqcn->report(&state, &parameters, 0).rate, 93750000000);

	/* rpg_min_dec_fac, rpg_min_rate. */
	parameters = profile("paper");
	parameters.dcqcn.rpg_min_dec_fac = 80;
	parameters.dcqcn.rpg_min_rate = 75000;
	start(&state, &parameters, 100 * GBPS);
	dcqcn->on_cnp(&state, &parameters, 0);
	CU_ASSERT_EQUAL(dcqcn->report(&state, &parameters, 0).rate, 80 * GBPS);
	for (unsigned int i = 0; i < 3; i++) {
		dcqcn->on_cnp(&state, &parameters, 0);
		CU_ASSERT_EQUAL(dcqcn->report(&state, &parameters, 0).rate, 75 * GBPS);
	}

	/* The first CNP's own rate: no cut besides, and never up. */
	parameters = profile("nvidia");
	parameters.dcqcn.rate_to_set_on_first_cnp = 30000;
	start(&state, &parameters, 100 * GBPS);
	dcqcn->on_cnp(&state, &parameters, 0);
	report = dcqcn->report(&state, &parameters, 0);
	CU_ASSERT_EQUAL(report.rate, 30 * GBPS);
	CU_ASSERT_EQUAL(report.target_rate, 30 * GBPS);
	dcqcn->on_cnp(&state, &parameters, 10 * US);
	CU_ASSERT(dcqcn->report(&state, &parameters, 10 * US).rate < 16 * GBPS);
	start(&state, &parameters, 10 * GBPS);
	dcqcn->on_cnp(&state, &parameters, 0);
	CU_ASSERT_EQUAL(dcqcn->report(&state, &parameters, 0).rate, 10 * GBPS);
	/* Nor does it go below the least rate. */
	parameters.dcqcn.rpg_min_rate = 40000;
	start(&state, &parameters, 100 * GBPS);
	dcqcn->on_cnp(&state, &parameters, 0);
	CU_ASSERT_EQUAL(dcqcn->report(&state, &parameters, 0).rate, 40 * GBPS);
}

static void test_least_time_between_cuts(void)
{
	struct vl_cc_parameters parameters = profile("nvidia");
	struct vl_cc_state state;

	start(&state, &parameters, 100 * GBPS);
	dcqcn->on_cnp(&state, &parameters, 100 * US);
	CU_ASSERT_EQUAL(dcqcn->report(&state, &parameters, 100 * US).rate_cuts, 1);
	/* Two CNPs within 4 us: one cut more, when they are over. */
	dcqcn->on_cnp(&state, &parameters, 101 * US);
	dcqcn->on_cnp(&state, &parameters, 103 * US);
	CU_ASSERT_EQUAL(dcqcn->report(&state, &parameters, 104 * US - 1).rate_cuts, 1);
	CU_ASSERT_EQUAL(dcqcn->next_change(&state, &parameters), 104 * US);
	CU_ASSERT_EQUAL(dcqcn->report(&state, &parameters, 104 * US).rate_cuts, 2);
	CU_ASSERT_EQUAL(dcqcn->report(&state, &parameters, 1000 * US).rate_cuts, 2);
	/* Found late, it counts from when it was due. */
	dcqcn->byte_time(&state, &parameters, 290 * US);
	CU_ASSERT_EQUAL(dcqcn->next_change(&state, &parameters), 404 * US);
}

static void test_target_clamp(void)
{
	struct vl_cc_parameters parameters = profile("nvidia");
	struct vl_cc_state state;
	uint64_t rate;

	start(&state, &parameters, 100 * GBPS);
	dcqcn->on_cnp(&state, &parameters, 0);
	dcqcn->on_cnp(&state, &parameters, 10 * US);
	/* No timer event in between: the target rate stays. */
	CU_ASSERT_EQUAL(dcqcn->report(&state, &parameters, 10 * US).target_rate, 100 * GBPS);
	rate = dcqcn->report(&state, &parameters, 310 * US).rate;
	dcqcn->on_cnp(&state, &parameters, 310 * US);
	CU_ASSERT_EQUAL(dcqcn->report(&state, &parameters, 310 * US).target_rate, rate);
	/* Off altogether. */
	parameters.dcqcn.clamp_tgt_rate_after_time_inc = 0;
	start(&state, &parameters, 100 * GBPS);
	dcqcn->on_cnp(&state, &parameters, 0);
	dcqcn->on_cnp(&state, &parameters, 310 * US);
	CU_ASSERT_EQUAL(dcqcn->report(&state, &parameters, 310 * US).target_rate, 100 * GBPS);
}

static void test_increase_by_timer(void)
{
	struct vl_cc_parameters parameters = profile("paper");
	struct vl_cc_state state;
	uint64_t target, gap, before;

	start(&state, &parameters, 100 * GBPS);
	dcqcn->on_cnp(&state, &parameters, 0);
	dcqcn->on_cnp(&state, &parameters, 0);
	target = dcqcn->report(&state, &parameters, 0).target_rate;
	gap = target - dcqcn->report(&state, &parameters, 0).rate;
	/* Fast recovery: n events leave 2^-n of the gap, five of them 1/32. */
	for (unsigned int n = 1; n <= 5; n++) {
		struct vl_cc_report report;

		CU_ASSERT_EQUAL(dcqcn->report(&state, &parameters, n * 55 * US - 1).rate,
				target - (gap >> (n - 1)));
		report = dcqcn->report(&state, &parameters, n * 55 * US);
		CU_ASSERT_EQUAL(report.target_rate, target);
		CU_ASSERT_EQUAL(report.rate, target - (gap >> n));
	}
	/* Then additive increase, and no hyper increase while the byte counter stands. */
	for (unsigned int n = 6; n <= 1200; n++)
		CU_ASSERT_EQUAL(dcqcn->report(&state, &parameters, n * 55 * US).target_rate,
				target + (n - 5) * UINT64_C(40000000));
	/* All at once is the same. */
	before = dcqcn->report(&state, &parameters, 1200 * 55 * US).rate;
	CU_ASSERT_EQUAL(before, target + 1195 * UINT64_C(40000000) - UINT64_C(40000000));
}

static void test_increase_by_bytes(void)
{
	struct vl_cc_parameters parameters = profile("paper");
	struct vl_cc_state state;
	uint64_t target;

	/* 10 MB an event; nothing by the timer within its 55 us. */
	start(&state, &parameters, 100 * GBPS);
	dcqcn->on_cnp(&state, &parameters, 0);
	dcqcn->on_send(&state, &parameters, 9999999, 1 * US);
	target = dcqcn->report(&state, &parameters, 1 * US).rate;
	CU_ASSERT_EQUAL(target, 50048828125);
	dcqcn->on_send(&state, &parameters, 1, 2 * US);
	CU_ASSERT_EQUAL(dcqcn->report(&state, &parameters, 2 * US).rate,
			(100 * GBPS + 50048828125 + 1) / 2);
	dcqcn->on_cnp(&state, &parameters, 3 * US);
	target = dcqcn->report(&state, &parameters, 3 * US).target_rate;
	/* Six events: the sixth is additive; one call or many. */
	dcqcn->on_send(&state, &parameters, 59999999, 4 * US);
	CU_ASSERT_EQUAL(dcqcn->report(&state, &parameters, 4 * US).target_rate, target);
	dcqcn->on_send(&state, &parameters, 1, 4 * US);
	CU_ASSERT_EQUAL(dcqcn->report(&state, &parameters, 4 * US).target_rate, target + 40000000);
	/* The sixth of the timer makes it hyper, 1 R_HAI; the next of the bytes again, the seventh
	 * of the timer 2 R_HAI. */
	target = dcqcn->report(&state, &parameters, (3 + 5 * 55) * US).target_rate;
	CU_ASSERT_EQUAL(dcqcn->report(&state, &parameters, (3 + 6 * 55) * US).target_rate,
			target + 200000000);
	dcqcn->on_send(&state, &parameters, 10000000, (3 + 6 * 55) * US);
	CU_ASSERT_EQUAL(dcqcn->report(&state, &parameters, (3 + 6 * 55) * US).target_rate,
			target + 400000000);
	CU_ASSERT_EQUAL(dcqcn->report(&state, &parameters, (3 + 7 * 55) * US).target_rate,
			target + 800000000);
	/* Off: bytes do nothing, and the timer goes to hyper increase alone. */
	parameters.dcqcn.rpg_byte_reset = 0;
	start(&state, &parameters, 100 * GBPS);
	dcqcn->on_cnp(&state, &parameters, 0);
	dcqcn->on_cnp(&state, &parameters, 0);
	dcqcn->on_send(&state, &parameters, UINT32_MAX, 0);
	target = dcqcn->report(&state, &parameters, 0).target_rate;
	CU_ASSERT_EQUAL(dcqcn->report(&state, &parameters, 7 * 55 * US).target_rate,
			target + 600000000);
}

static void test_reaches_line_rate(void)
{
	struct vl_cc_parameters parameters = profile("paper");
	struct vl_cc_state state;
	uint64_t now = 0, changes = 0;

	start(&state, &parameters, 10 * GBPS);
	for (unsigned int i = 0; i < 10; i++)
		dcqcn->on_cnp(&state, &parameters, 0);
	while ((now = dcqcn->next_change(&state, &parameters)) != UINT64_MAX) {
		CU_ASSERT_EQUAL(now, ++changes * 55 * US);
		CU_ASSERT_NOT_EQUAL(dcqcn->byte_time(&state, &parameters, now - 1), 0);
		dcqcn->byte_time(&state, &parameters, now);
		CU_ASSERT_FATAL(changes < 300);
	}
	CU_ASSERT_EQUAL(dcqcn->byte_time(&state, &parameters, changes * 55 * US), 0);
	CU_ASSERT_EQUAL(dcqcn->report(&state, &parameters, changes * 55 * US).rate, 10 * GBPS);
}

/* The slowest climb at the highest rate, touched after days, and step by step. */
static void test_extremes(void)
{
	struct vl_cc_parameters parameters = profile("paper");
	const uint64_t day = UINT64_C(86400) * 1000000 * US, begin = UINT64_MAX / 4;
	struct vl_cc_state state;
	struct vl_cc_report report;

	parameters.dcqcn.rpg_ai_rate = 1;
	parameters.dcqcn.rpg_time_reset = 1;
	parameters.dcqcn.dce_tcp_rtt = 1;
	dcqcn->init(&state, &parameters, 1600 * GBPS, begin);
	for (unsigned int i = 0; i < 200; i++)
		dcqcn->on_cnp(&state, &parameters, begin);
	report = dcqcn->report(&state, &parameters, begin);
	CU_ASSERT_EQUAL(report.rate, 1000000);
	/* 1 us an event: after 5 + n of them the target is n Mb/s higher, and the rate 1 Mb/s less.
	 */
	CU_ASSERT_EQUAL(dcqcn->report(&state, &parameters, begin + 1000005 * US).target_rate,
			report.target_rate + 1000000 * UINT64_C(1000000));
	CU_ASSERT_EQUAL(dcqcn->report(&state, &parameters, begin + 1000005 * US).rate,
			report.target_rate + 999999 * UINT64_C(1000000) + 1);
	CU_ASSERT(dcqcn->report(&state, &parameters, begin + 1600050 * US).rate == 1600 * GBPS);
	report = dcqcn->report(&state, &parameters, begin + 30 * day);
	CU_ASSERT_EQUAL(report.rate, 1600 * GBPS);
	CU_ASSERT_EQUAL(report.alpha, 0);
	/* A CNP after that: alpha is 0, the cut takes nothing. */
	dcqcn->on_cnp(&state, &parameters, begin + 30 * day);
	report = dcqcn->report(&state, &parameters, begin + 30 * day);
	CU_ASSERT_EQUAL(report.rate, 1600 * GBPS);
	CU_ASSERT_DOUBLE_EQUAL(report.alpha, 1 / 256.0, 1e-9);
	/* Time that runs back is time that stands still. */
	dcqcn->on_cnp(&state, &parameters, begin + 31 * day);
	report = dcqcn->report(&state, &parameters, begin + 31 * day);
	CU_ASSERT_EQUAL(dcqcn->report(&state, &parameters, begin).rate, report.rate);
}

static const struct test tests[] = {
	{"against reference", test_against_reference},
	{"starts at line rate", test_starts_at_line_rate},
	{"alpha", test_alpha},
	{"cut", test_cut},
	{"least time between cuts", test_least_time_between_cuts},
	{"target clamp", test_target_clamp},
	{"increase by timer", test_increase_by_timer},
	{"increase by bytes", test_increase_by_bytes},
	{"reaches line rate", test_reaches_line_rate},
	{"extremes", test_extremes},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("DCQCN", tests, argc, argv);
}
