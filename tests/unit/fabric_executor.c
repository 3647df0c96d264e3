/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/executor.h"

#include <stdlib.h>

#include "tests/support/suite.h"
#include "transport/random.h"

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

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"order", test_order},
		{"ties_run_in_order_of_scheduling", test_ties_run_in_order_of_scheduling},
		{"move_and_cancel", test_move_and_cancel},
		{"cancel_from_an_event", test_cancel_from_an_event},
		{"run_until_and_stop", test_run_until_and_stop},
	};

	return RUN_SUITE("fabric_executor", tests, argc, argv);
}
