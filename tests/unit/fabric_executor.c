/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/executor.h"
#include "tests/support/suite.h"
#include "transport/random.h"

#include <stdlib.h>

#define EVENTS 500

struct recorder {
	struct vl_event event;
	struct vl_executor *executor;
	unsigned int number;
	uint64_t time;     /* it should run at */
	uint64_t sequence; /* of its scheduling */
	unsigned int left; /* times to schedule itself again */
};

static struct {
	uint64_t time, sequence;
	unsigned int number;
} last;
static unsigned int run_count, disorder_count;
static uint64_t next_sequence;
static struct vl_random dice;

static void start_recording(void)
{
	last.time = 0;
	last.sequence = 0;
	run_count = 0;
	disorder_count = 0;
	next_sequence = 1;
	dice.state = 1;
}

static void schedule(struct recorder *recorder, uint64_t time)
{
	recorder->time = time;
	recorder->sequence = next_sequence++;
	vl_executor_schedule(recorder->executor, &recorder->event, time);
}

static void record(struct vl_event *event, uint64_t now)
{
	struct recorder *recorder = (struct recorder *)event;

	if (now != recorder->time || now < last.time ||
	    (now == last.time && recorder->sequence < last.sequence) ||
	    now != vl_executor_now(recorder->executor))
		disorder_count++;
	last.time = now;
	last.sequence = recorder->sequence;
	last.number = recorder->number;
	run_count++;
	if (recorder->left) {
		recorder->left--;
		schedule(recorder, now + vl_random_below(&dice, 20));
	}
}

static void make(struct recorder *recorders, struct vl_executor *executor, unsigned int count)
{
	CU_ASSERT_EQUAL_FATAL(vl_executor_reserve(executor, count), 0);
	for (unsigned int i = 0; i < count; i++) {
		recorders[i] = (struct recorder){.executor = executor, .number = i};
		vl_event_init(&recorders[i].event, record);
	}
}

static void test_order(void)
{
	struct vl_executor *executor = vl_executor_create();
	struct recorder recorders[EVENTS];
	unsigned int expected = 0;

	start_recording();
	make(recorders, executor, EVENTS);
	for (unsigned int i = 0; i < EVENTS; i++) {
		recorders[i].left = (unsigned int)vl_random_below(&dice, 40);
		expected += recorders[i].left + 1;
		schedule(&recorders[i], vl_random_below(&dice, 100));
	}
	CU_ASSERT_TRUE(vl_executor_run(executor));
	CU_ASSERT_EQUAL(run_count, expected);
	CU_ASSERT_EQUAL(disorder_count, 0);
	CU_ASSERT_EQUAL(vl_executor_event_count(executor), expected);
	CU_ASSERT_EQUAL(vl_executor_next(executor), UINT64_MAX);
	vl_executor_destroy(executor);
}

static void test_ties_run_in_order_of_scheduling(void)
{
	struct vl_executor *executor = vl_executor_create();
	struct recorder recorders[4];

	start_recording();
	make(recorders, executor, 4);
	for (unsigned int i = 4; i-- > 0;)
		schedule(&recorders[i], 7);
	schedule(&recorders[3], 7); /* moved behind the others */
	vl_executor_run(executor);
	CU_ASSERT_EQUAL(disorder_count, 0);
	CU_ASSERT_EQUAL(run_count, 4);
	CU_ASSERT_EQUAL(last.number, 3);
	vl_executor_destroy(executor);
}

static void test_move_and_cancel(void)
{
	struct vl_executor *executor = vl_executor_create();
	struct recorder recorders[EVENTS];
	unsigned int cancelled = 0;

	start_recording();
	make(recorders, executor, EVENTS);
	for (unsigned int i = 0; i < EVENTS; i++)
		schedule(&recorders[i], 1000 + vl_random_below(&dice, 1000));
	for (unsigned int i = 0; i < EVENTS; i += 3)
		schedule(&recorders[i], vl_random_below(&dice, 3000));
	for (unsigned int i = 0; i < EVENTS; i += 7) {
		vl_executor_cancel(executor, &recorders[i].event);
		vl_executor_cancel(executor, &recorders[i].event);
		CU_ASSERT_FALSE(vl_event_is_pending(&recorders[i].event));
		cancelled++;
	}
	vl_executor_run(executor);
	CU_ASSERT_EQUAL(run_count, EVENTS - cancelled);
	CU_ASSERT_EQUAL(disorder_count, 0);
	vl_executor_destroy(executor);
}

static struct recorder *victim;

static void cancel_victim(struct vl_event *event, uint64_t now)
{
	struct recorder *recorder = (struct recorder *)event;

	(void)now;
	CU_ASSERT_EQUAL(vl_executor_next(recorder->executor), victim->time);
	vl_executor_cancel(recorder->executor, &victim->event);
	CU_ASSERT_EQUAL(vl_executor_next(recorder->executor), UINT64_MAX);
}

static void test_cancel_from_an_event(void)
{
	struct vl_executor *executor = vl_executor_create();
	struct recorder recorders[2];

	start_recording();
	make(recorders, executor, 2);
	victim = &recorders[1];
	recorders[0].event.run = cancel_victim;
	schedule(&recorders[0], 5);
	schedule(&recorders[1], 6);
	vl_executor_run(executor);
	CU_ASSERT_EQUAL(run_count, 0);
	CU_ASSERT_EQUAL(vl_executor_event_count(executor), 1);
	vl_executor_destroy(executor);
}

static void stop(struct vl_event *event, uint64_t now)
{
	(void)now;
	vl_executor_stop(((struct recorder *)event)->executor);
}

static void test_run_until_and_stop(void)
{
	struct vl_executor *executor = vl_executor_create();
	struct recorder recorders[3];

	start_recording();
	make(recorders, executor, 3);
	schedule(&recorders[0], 10);
	schedule(&recorders[1], 11);
	CU_ASSERT_TRUE(vl_executor_run_until(executor, 10));
	CU_ASSERT_EQUAL(run_count, 1);
	CU_ASSERT_EQUAL(vl_executor_now(executor), 10);
	CU_ASSERT_EQUAL(vl_executor_next(executor), 11);

	recorders[2].event.run = stop;
	schedule(&recorders[2], 0); /* the past is now */
	CU_ASSERT_EQUAL(vl_executor_next(executor), 10);
	CU_ASSERT_FALSE(vl_executor_run_until(executor, 50));
	CU_ASSERT_EQUAL(vl_executor_now(executor), 10);
	CU_ASSERT_EQUAL(run_count, 1);
	CU_ASSERT_TRUE(vl_executor_run_until(executor, 50));
	CU_ASSERT_EQUAL(run_count, 2);
	CU_ASSERT_EQUAL(vl_executor_now(executor), 50);
	vl_executor_destroy(executor);
}

/* ---- Against a model ----------------------------------------------------------------------- */

#define MODEL_EVENTS 200
#define MODEL_RUNS   50000u

/* What is pending, searched in full each time. */
static struct model {
	struct vl_executor *executor;
	struct vl_random random;
	struct vl_event events[MODEL_EVENTS];
	uint64_t times[MODEL_EVENTS], sequences[MODEL_EVENTS];
	bool pending[MODEL_EVENTS];
	uint64_t sequence;
	uint32_t runs, wrong, hints;
} model;

static unsigned int first_of_model(void)
{
	unsigned int first = MODEL_EVENTS;

	for (unsigned int i = 0; i < MODEL_EVENTS; i++) {
		if (model.pending[i] &&
		    (first == MODEL_EVENTS || model.times[i] < model.times[first] ||
		     (model.times[i] == model.times[first] &&
		      model.sequences[i] < model.sequences[first])))
			first = i;
	}
	return first;
}

/* Now, soon, at the edge of what is soon, and far off; often at the time of others. */
static void schedule_one(unsigned int i, uint64_t now)
{
	static const uint64_t ranges[] = {1, 16, 5000, 100000};
	uint64_t time =
		now + vl_random_below(&model.random, ranges[vl_random_below(&model.random, 4)]);

	vl_executor_schedule(model.executor, &model.events[i], time);
	model.times[i] = time;
	model.sequences[i] = model.sequence++;
	model.pending[i] = true;
}

static void run_model(struct vl_event *event, uint64_t now)
{
	unsigned int i = (unsigned int)(event - model.events);

	model.wrong += i != first_of_model() || now != model.times[i] ||
		       vl_event_is_pending(event) || vl_executor_now(model.executor) != now;
	model.pending[i] = false;
	if (++model.runs == MODEL_RUNS)
		vl_executor_stop(model.executor);
	schedule_one(i, now);
	i = (unsigned int)vl_random_below(&model.random, MODEL_EVENTS);
	if (vl_random_below(&model.random, 4)) {
		schedule_one(i, now);
	} else {
		vl_executor_cancel(model.executor, &model.events[i]);
		model.pending[i] = false;
	}
}

static void hint_model(const struct vl_event *event, unsigned int step)
{
	model.wrong += event < model.events || event >= model.events + MODEL_EVENTS ||
		       step >= VL_EVENT_PREFETCH_STEPS;
	model.hints++;
}

static void check_as_a_model(uint32_t reserved)
{
	model = (struct model){.executor = vl_executor_create(), .random = {7}};
	CU_ASSERT_EQUAL(vl_executor_reserve(model.executor, reserved), 0);
	for (unsigned int i = 0; i < MODEL_EVENTS; i++) {
		vl_event_init(&model.events[i], run_model);
		model.events[i].prefetch = i % 2 ? hint_model : NULL;
		schedule_one(i, 0);
	}
	/* In steps, so that the clock also stands where no event is. */
	for (uint64_t until = 0; model.runs < MODEL_RUNS && until < UINT64_C(10000000000);) {
		until += vl_random_below(&model.random, 3000);
		if (!vl_executor_run_until(model.executor, until))
			break;
		CU_ASSERT_TRUE(model.times[first_of_model()] > until);
		CU_ASSERT_EQUAL(vl_executor_next(model.executor), model.times[first_of_model()]);
	}
	CU_ASSERT_EQUAL(model.runs, MODEL_RUNS);
	CU_ASSERT_EQUAL(model.wrong, 0);
	vl_executor_destroy(model.executor);
}

static void test_as_a_model(void)
{
	check_as_a_model(MODEL_EVENTS);
	CU_ASSERT_EQUAL(model.hints, 0);
}

/* What so many events touch is fetched before they run. */
static void test_as_a_model_of_many(void)
{
	check_as_a_model(10000);
	CU_ASSERT_TRUE(model.hints > MODEL_RUNS);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"order", test_order},
		{"ties_run_in_order_of_scheduling", test_ties_run_in_order_of_scheduling},
		{"move_and_cancel", test_move_and_cancel},
		{"cancel_from_an_event", test_cancel_from_an_event},
		{"run_until_and_stop", test_run_until_and_stop},
		{"as_a_model", test_as_a_model},
		{"as_a_model_of_many", test_as_a_model_of_many},
	};

	return RUN_SUITE("fabric_executor", tests, argc, argv);
}
