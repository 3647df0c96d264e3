/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Verdicts on our own stack as a peer that answers: right as it is, and broken on purpose. */

#include "tests/support/judge.h"

#define RX VL_FAULT_RECEIVED
#define TX VL_FAULT_TRANSMITTED

static struct vl_fault_event keep_six(void)
{
	struct vl_fault_event event = bench_event("keep", TX, "request", VL_FAULT_DROP);

	event.match.psn = (struct vl_fault_range){6, 6};
	event.match.limit = 1;
	return event;
}

static void test_sends_nak(void)
{
	struct vl_fault_event keep = keep_six();

	judge_begin(CLIENT);
	bench_faults(&bench, CLIENT, &keep, 1);
	judge_run(100 * MILLISECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	PASSES(SENDS_NAK);
	judge_end();
}

static void test_no_nak(void)
{
	struct vl_fault_event keep = keep_six();
	struct vl_fault_event mute = bench_event("mute", TX, "nak", VL_FAULT_DROP);

	judge_begin(CLIENT);
	expectations.nak_limit = 100000; /* our own timer brings it after 262 us */
	bench_faults(&bench, CLIENT, &keep, 1);
	bench_faults(&bench, SERVER, &mute, 1);
	judge_run(100 * MILLISECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	FAILS(SENDS_NAK);
	judge_end();
}

/* What was asked for is lost again, and more with it: the peer has said all that it says. */
static void test_nak_is_sent_once(void)
{
	struct vl_fault_event events[2] = {keep_six(), keep_six()};

	events[0].match.limit = 2;
	events[1].match.psn = (struct vl_fault_range){20, 20};
	judge_begin(CLIENT);
	expectations.nak_limit = 100000;
	bench.flow_config.depth = 20;
	bench_faults(&bench, CLIENT, events, 2);
	judge_run(100 * MILLISECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	PASSES(SENDS_NAK);
	CU_ASSERT_EQUAL(vl_verdict_passes(verdict, VL_VERDICT_SENDS_NAK), 1);
	judge_end();
}

static struct vl_fault_event repeat_last(void)
{
	struct vl_fault_event event = bench_event("twice", TX, "request", VL_FAULT_DUPLICATE);

	event.match.psn = (struct vl_fault_range){39, 39};
	event.match.limit = 1;
	event.action.copies = 1;
	event.action.delay = 100000;
	return event;
}

static void test_answers_duplicates(void)
{
	struct vl_fault_event twice = repeat_last();

	judge_begin(CLIENT);
	bench_faults(&bench, CLIENT, &twice, 1);
	judge_run(100 * MILLISECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	PASSES(ANSWERS_DUPLICATES);
	CU_ASSERT_EQUAL(vl_verdict_passes(verdict, VL_VERDICT_ANSWERS_DUPLICATES), 1);
	judge_end();
}

/* Many are outstanding, and each comes twice at once: whose an answer is shows only where it has
 * been given before. */
static void test_answers_duplicates_of_many(void)
{
	struct vl_fault_event twice = bench_event("twice", TX, "request", VL_FAULT_DUPLICATE);
	struct vl_fault_event lose = bench_event("lose", RX, "request", VL_FAULT_DROP);

	twice.match.every = 5;
	twice.action.copies = 1;
	judge_begin(CLIENT);
	bench.flow_config.depth = 10;
	bench.flow_config.messages = 100;
	bench_faults(&bench, CLIENT, &twice, 1);
	judge_run(100 * MILLISECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	PASSES(ANSWERS_DUPLICATES);
	judge_end();

	/* The answers to later requests are none to a duplicate. */
	twice = repeat_last();
	lose.match.psn = twice.match.psn;
	lose.match.nth = (struct vl_fault_range){2, 2};
	judge_begin(CLIENT);
	bench.flow_config.depth = 10;
	bench.flow_config.messages = 500;
	bench_faults(&bench, CLIENT, &twice, 1);
	bench_faults(&bench, SERVER, &lose, 1);
	judge_run(100 * MILLISECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	CU_ASSERT_EQUAL(vl_fault_event_counters(bench.faults[SERVER], 0)->acted, 1);
	judge_expect(VL_VERDICT_ANSWERS_DUPLICATES, VL_VERDICT_NOT_SEEN);
	judge_expect_no_other_failure(0);
	judge_end();
}

static void test_silent_on_duplicates(void)
{
	struct vl_fault_event twice = repeat_last();
	struct vl_fault_event mute = bench_event("mute", TX, "ack", VL_FAULT_DROP);

	mute.match.nth = (struct vl_fault_range){21, 21};
	judge_begin(CLIENT);
	bench_faults(&bench, CLIENT, &twice, 1);
	bench_faults(&bench, SERVER, &mute, 1);
	judge_run(100 * MILLISECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	FAILS(ANSWERS_DUPLICATES);
	judge_end();
}

/* READ responses are the peer's data. */
static void test_reads(void)
{
	judge_begin(CLIENT);
	bench.flow_config.verb = VL_FLOW_READ;
	judge_run(100 * MILLISECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	CU_ASSERT_EQUAL(vl_verdict_passes(verdict, VL_VERDICT_DATA_CLASS), 40);
	CU_ASSERT_FALSE(vl_verdict_has_failed(verdict));
	judge_end();
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"sends_nak", test_sends_nak},
		{"no_nak", test_no_nak},
		{"nak_is_sent_once", test_nak_is_sent_once},
		{"answers_duplicates", test_answers_duplicates},
		{"answers_duplicates_of_many", test_answers_duplicates_of_many},
		{"silent_on_duplicates", test_silent_on_duplicates},
		{"reads", test_reads},
	};

	return RUN_SUITE("verdict_responder", tests, argc, argv);
}
