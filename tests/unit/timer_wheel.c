/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The timing wheel against a list that is searched from end to end. */

#include "tests/support/suite.h"
#include "transport/random.h"
#include "transport/timer_wheel.h"

#include <stdlib.h>
#include <string.h>

/* ---- The oracle ---------------------------------------------------------------------------- */

#define MODEL_TIMERS 48

struct model {
	struct vl_timer_wheel wheel;
	struct vl_timer timers[MODEL_TIMERS];
	uint64_t expires[MODEL_TIMERS], order[MODEL_TIMERS]; /* order 0: not armed */
	uint64_t now, armed_count, failures;
};

static void model_arm(struct model *model, unsigned int n, uint64_t expires)
{
	vl_timer_arm(&model->wheel, &model->timers[n], expires);
	model->expires[n] = expires > model->now ? expires : model->now;
	model->order[n] = ++model->armed_count;
}

static void model_cancel(struct model *model, unsigned int n)
{
	vl_timer_cancel(&model->wheel, &model->timers[n]);
	model->order[n] = 0;
}

static int model_earliest(const struct model *model)
{
	int earliest = -1;

	for (int i = 0; i < MODEL_TIMERS; i++) {
		if (model->order[i] &&
		    (earliest < 0 || model->expires[i] < model->expires[earliest] ||
		     (model->expires[i] == model->expires[earliest] &&
		      model->order[i] < model->order[earliest])))
			earliest = i;
	}
	return earliest;
}

/* One call on the wheel, and what the list says of it. Returns the timer's number or -1. */
static int model_expire(struct model *model, uint64_t now)
{
	struct vl_timer *timer = vl_timer_wheel_expire(&model->wheel, now);
	int expected = model_earliest(model);

	if (expected >= 0 && model->expires[expected] > now)
		expected = -1;
	if (timer != (expected < 0 ? NULL : &model->timers[expected]))
		model->failures++;
	if (expected < 0) {
		if (now > model->now)
			model->now = now;
	} else {
		model->now = model->expires[expected];
		model->order[expected] = 0;
	}
	if (model->wheel.now != model->now)
		model->failures++;
	return expected;
}

static void model_check(struct model *model)
{
	int earliest = model_earliest(model);
	uint64_t next = vl_timer_wheel_next(&model->wheel);

	for (unsigned int i = 0; i < MODEL_TIMERS; i++) {
		if (vl_timer_is_armed(&model->timers[i]) != (model->order[i] != 0))
			model->failures++;
	}
	if (earliest < 0 ? next != UINT64_MAX
			 : next > model->expires[earliest] || next < model->now)
		model->failures++;
}

/* A distance of any magnitude, often one that many timers share. */
static uint64_t random_distance(struct vl_random *random, unsigned int bits)
{
	uint64_t width = vl_random_below(random, bits + 1);
	uint64_t value = vl_random_next(random);

	value = width < 64 ? value & ((UINT64_C(1) << width) - 1) : value;
	if (vl_random_below(random, 3) == 0)
		value &= ~UINT64_C(0) << vl_random_below(random, bits);
	return value;
}

static uint64_t saturating_add(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

static void random_operation(struct model *model, struct vl_random *random, unsigned int bits)
{
	unsigned int n = (unsigned int)vl_random_below(random, MODEL_TIMERS);
	uint64_t target;

	switch (vl_random_below(random, 8)) {
	case 0:
	case 1:
	case 2:
		model_arm(model, n, saturating_add(model->now, random_distance(random, bits)));
		break;
	case 3: /* the time of another, armed long ago or just now */
		model_arm(model, n, model->expires[vl_random_below(random, MODEL_TIMERS)]);
		break;
	case 4:
		target = random_distance(random, bits);
		model_arm(model, n, target < model->now ? model->now - target : 0);
		break;
	case 5:
		model_cancel(model, n);
		break;
	case 6: /* as an executor does */
		target = vl_timer_wheel_next(&model->wheel);
		if (target != UINT64_MAX)
			model_expire(model, target);
		break;
	default: /* a jump, and owners that arm and cancel while timers come out */
		target = saturating_add(model->now, random_distance(random, bits));
		for (unsigned int i = 0; model_expire(model, target) >= 0 && i < 200; i++) {
			n = (unsigned int)vl_random_below(random, MODEL_TIMERS);
			switch (vl_random_below(random, 6)) {
			case 0:
				model_cancel(model, n);
				break;
			case 1:
				model_arm(
					model, n,
					saturating_add(model->now, random_distance(random, bits)));
				break;
			case 2:
				model_arm(model, n, model->now);
				break;
			default:
				break;
			}
		}
		break;
	}
}

static uint64_t run_model(uint64_t seed, uint64_t start, unsigned int bits, unsigned int operations)
{
	struct model *model = calloc(1, sizeof(*model));
	struct vl_random random = {seed};
	uint64_t failures;

	CU_ASSERT_PTR_NOT_NULL_FATAL(model);
	model->now = start;
	vl_timer_wheel_init(&model->wheel, start);
	for (unsigned int i = 0; i < operations && !model->failures; i++) {
		random_operation(model, &random, bits);
		if (i % 8 == 0)
			model_check(model);
	}
	while (model_expire(model, UINT64_MAX) >= 0)
		;
	model_check(model);
	failures = model->failures;
	free(model);
	return failures;
}

/* ---- Tests ------------------------------------------------------------------------------------
 */

static void test_random_near_zero(void)
{
	CU_ASSERT_EQUAL(run_model(1, 0, 12, 1000000), 0);
}

static void test_random_any_magnitude(void)
{
	CU_ASSERT_EQUAL(run_model(2, 0, 30, 600000), 0);
	CU_ASSERT_EQUAL(run_model(3, UINT64_C(1700000000000000000), 40, 600000), 0);
}

/* Starts a little before each digit of the time, and the last bit of all, rolls over. */
static void test_random_at_rollovers(void)
{
	for (unsigned int bit = 6; bit < 64; bit++)
		CU_ASSERT_EQUAL(run_model(bit, (UINT64_C(1) << bit) - 5000, 14, 20000), 0);
	CU_ASSERT_EQUAL(run_model(99, UINT64_MAX - 5000000, 14, 100000), 0);
	for (unsigned int seed = 0; seed < 50; seed++)
		CU_ASSERT_EQUAL(run_model(seed, seed, 64, 2000), 0);
}

static void test_ties_in_order_of_arming(void)
{
	static struct vl_timer_wheel wheel;
	struct vl_timer timers[9] = {0};
	const uint64_t expires = 1000000;

	/* Armed from ever closer by, so that each starts on another level. */
	vl_timer_wheel_init(&wheel, 0);
	for (unsigned int i = 0; i < 8; i++) {
		CU_ASSERT_PTR_NULL(vl_timer_wheel_expire(&wheel, expires - (expires >> (2 * i))));
		vl_timer_arm(&wheel, &timers[i], expires);
	}
	/* Moving one to the time that it has puts it behind the others. */
	vl_timer_arm(&wheel, &timers[2], expires);
	for (unsigned int i = 0; i < 8; i++) {
		static const unsigned int order[8] = {0, 1, 3, 4, 5, 6, 7, 2};

		CU_ASSERT_PTR_EQUAL(vl_timer_wheel_expire(&wheel, UINT64_MAX), &timers[order[i]]);
		CU_ASSERT_EQUAL(wheel.now, expires);
		CU_ASSERT_FALSE(vl_timer_is_armed(&timers[order[i]]));
		if (i == 3) { /* in the past: now, after all that were armed before */
			vl_timer_arm(&wheel, &timers[8], 5);
			CU_ASSERT_EQUAL(timers[8].expires, expires);
		}
	}
	CU_ASSERT_PTR_EQUAL(vl_timer_wheel_expire(&wheel, expires), &timers[8]);
	CU_ASSERT_PTR_NULL(vl_timer_wheel_expire(&wheel, expires));
}

static void test_time_does_not_run_back(void)
{
	static struct vl_timer_wheel wheel;
	struct vl_timer timer = {0};

	vl_timer_wheel_init(&wheel, 1000);
	vl_timer_cancel(&wheel, &timer);
	CU_ASSERT_EQUAL(vl_timer_wheel_next(&wheel), UINT64_MAX);
	vl_timer_arm(&wheel, &timer, 10);
	CU_ASSERT_EQUAL(vl_timer_wheel_next(&wheel), 1000);
	CU_ASSERT_PTR_NULL(vl_timer_wheel_expire(&wheel, 999));
	CU_ASSERT_EQUAL(wheel.now, 1000);
	CU_ASSERT_PTR_EQUAL(vl_timer_wheel_expire(&wheel, 1000), &timer);
}

static void test_next_is_exact_for_few(void)
{
	static struct vl_timer_wheel wheel;
	struct vl_timer timers[20] = {0};

	vl_timer_wheel_init(&wheel, 7);
	for (unsigned int i = 0; i < 8; i++) {
		vl_timer_arm(&wheel, &timers[i], 900000 - i);
		CU_ASSERT_EQUAL(vl_timer_wheel_next(&wheel), 900000 - i);
	}
	for (unsigned int i = 8; i < 20; i++)
		vl_timer_arm(&wheel, &timers[i], 900000 - i);
	CU_ASSERT(vl_timer_wheel_next(&wheel) <= 900000 - 19);
	/* The slot's begin makes progress: a loop that only follows next arrives. */
	for (unsigned int i = 0, calls = 0; i < 20; calls++) {
		struct vl_timer *timer = vl_timer_wheel_expire(&wheel, vl_timer_wheel_next(&wheel));

		if (timer) {
			CU_ASSERT_PTR_EQUAL(timer, &timers[19 - i]);
			i++;
		}
		CU_ASSERT_FATAL(calls < 40);
	}
}

/* Many timers in few slots: order over whole populations, by time and then by number. */
static void test_large_populations(void)
{
	enum { COUNT = 20000 };
	static struct vl_timer_wheel wheel;
	static struct vl_timer timers[COUNT];
	struct vl_random random = {4};
	unsigned int wrong = 0;

	for (unsigned int bits = 4; bits <= 40; bits += 4) {
		struct vl_timer *last = NULL, *timer;
		unsigned int count = 0;
		const uint64_t start = vl_random_next(&random) >> 8;

		memset(timers, 0, sizeof(timers));
		vl_timer_wheel_init(&wheel, start);
		for (unsigned int i = 0; i < COUNT; i++)
			vl_timer_arm(&wheel, &timers[i],
				     start + vl_random_below(&random, UINT64_C(1) << bits));
		while ((timer = vl_timer_wheel_expire(&wheel, UINT64_MAX))) {
			if (last && (last->expires > timer->expires ||
				     (last->expires == timer->expires && last > timer)))
				wrong++;
			last = timer;
			count++;
		}
		CU_ASSERT_EQUAL(count, COUNT);
	}
	CU_ASSERT_EQUAL(wrong, 0);
}

static const struct test tests[] = {
	{"random near zero", test_random_near_zero},
	{"random of any magnitude", test_random_any_magnitude},
	{"random at rollovers", test_random_at_rollovers},
	{"ties in order of arming", test_ties_in_order_of_arming},
	{"time does not run back", test_time_does_not_run_back},
	{"next is exact for few", test_next_is_exact_for_few},
	{"large populations", test_large_populations},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("timer wheel", tests, argc, argv);
}
