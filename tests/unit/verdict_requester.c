/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Verdicts on our own stack as a peer that sends requests: right as it is, and broken on purpose.
 */

#include "tests/support/judge.h"

#include <string.h>

#define RX VL_FAULT_RECEIVED
#define TX VL_FAULT_TRANSMITTED

static struct vl_fault_event lose_six(void)
{
	struct vl_fault_event event = bench_event("lose", RX, "request", VL_FAULT_DROP);

	event.match.psn = (struct vl_fault_range){6, 6};
	event.match.limit = 1;
	return event;
}

static void test_quiet(void)
{
	judge_begin(SERVER);
	judge_run(100 * MILLISECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	CU_ASSERT_FALSE(vl_verdict_has_failed(verdict));
	judge_expect(VL_VERDICT_ICRC, VL_VERDICT_PASS);
	CU_ASSERT_EQUAL(vl_verdict_passes(verdict, VL_VERDICT_ICRC), 40);
	judge_expect(VL_VERDICT_DATA_CLASS, VL_VERDICT_PASS);
	judge_expect(VL_VERDICT_DATA_ECN, VL_VERDICT_PASS);
	for (unsigned int kind = VL_VERDICT_RETRANSMIT_NAK; kind < VL_VERDICT_DATA_CLASS; kind++)
		judge_expect((enum vl_verdict_kind)kind, VL_VERDICT_NOT_SEEN);
	judge_end();
}

static void test_go_back_n(void)
{
	struct vl_fault_event lose = lose_six();
	uint64_t least, mean, most;

	judge_begin(SERVER);
	bench_faults(&bench, SERVER, &lose, 1);
	bench.flow_config.depth = 4;
	judge_run(100 * MILLISECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	judge_expect(VL_VERDICT_RETRANSMIT_NAK, VL_VERDICT_PASS);
	PASSES(GO_BACK_N);
	CU_ASSERT_TRUE(
		vl_verdict_measure(verdict, VL_VERDICT_RETRANSMIT_NAK, &least, &mean, &most));
	/* There and back, 2 us, and the frames. */
	CU_ASSERT_TRUE(least >= 2000 && most < 4000);
	judge_end();
}

static void test_never_retransmits(void)
{
	struct vl_fault_event lose = lose_six();
	struct vl_fault_event keep = bench_event("keep", TX, "request", VL_FAULT_DROP);

	keep.match.psn = (struct vl_fault_range){6, 6};
	keep.match.nth = (struct vl_fault_range){2, UINT64_MAX};
	judge_begin(SERVER);
	bench_faults(&bench, SERVER, &lose, 1);
	bench_faults(&bench, CLIENT, &keep, 1);
	judge_run(100 * MILLISECOND);
	FAILS(RETRANSMIT_NAK);
	CU_ASSERT_TRUE(judge_says(VL_VERDICT_RETRANSMIT_NAK, "does not come for"));
	judge_end();
}

static void test_selective(void)
{
	struct vl_fault_event lose = lose_six();
	struct vl_fault_event keep = bench_event("keep", TX, "request", VL_FAULT_DROP);
	uint64_t count;

	judge_begin(SERVER);
	bench_faults(&bench, SERVER, &lose, 1);
	bench.flow_config.depth = 20;
	judge_run(100 * MILLISECOND);
	/* How many followed PSN 6 before the NAK had come. */
	count = vl_device_counters(bench_endpoint(&bench, CLIENT)->device)
			->data_frames_retransmitted -
		1;
	judge_end();
	CU_ASSERT_TRUE_FATAL(count >= 2);
	keep.match.psn = (struct vl_fault_range){7, 6 + count};
	keep.match.nth = (struct vl_fault_range){count + 1, 2 * count};
	judge_begin(SERVER);
	bench_faults(&bench, SERVER, &lose, 1);
	bench_faults(&bench, CLIENT, &keep, 1);
	bench.flow_config.depth = 20;
	judge_run(100 * MILLISECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	FAILS(GO_BACK_N);
	CU_ASSERT_TRUE(judge_says(VL_VERDICT_GO_BACK_N, "were not sent again"));
	judge_end();
}

static void test_timeout(void)
{
	struct vl_fault_event mute = bench_event("mute", TX, "ack", VL_FAULT_DROP);
	uint64_t least, mean, most;

	mute.match.nth = (struct vl_fault_range){20, 20};
	judge_begin(SERVER);
	bench_faults(&bench, SERVER, &mute, 1);
	judge_run(100 * MILLISECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	PASSES(RETRANSMIT_TIMEOUT);
	CU_ASSERT_TRUE(
		vl_verdict_measure(verdict, VL_VERDICT_RETRANSMIT_TIMEOUT, &least, &mean, &most));
	/* 4.096 us * 2^6 */
	CU_ASSERT_TRUE(least >= 255000 && most < 4 * 262144);
	judge_end();
}

static void test_no_timeout(void)
{
	struct vl_fault_event mute = bench_event("mute", TX, "ack", VL_FAULT_DROP);

	mute.match.nth = (struct vl_fault_range){20, 20};
	judge_begin(SERVER);
	bench_faults(&bench, SERVER, &mute, 1);
	bench.flow_config.timeout = 0;
	judge_run(100 * MILLISECOND);
	CU_ASSERT_FALSE(bench_is_done(&bench));
	FAILS(RETRANSMIT_TIMEOUT);
	judge_end();
}

/* A QP that was refused for good owes nothing. */
static void test_refused(void)
{
	struct vl_fault_event refuse = bench_event("refuse", RX, "request", VL_FAULT_NAK);

	refuse.match.psn = (struct vl_fault_range){6, 6};
	refuse.action.syndrome = 0x62;
	judge_begin(SERVER);
	bench_faults(&bench, SERVER, &refuse, 1);
	judge_run(100 * MILLISECOND);
	CU_ASSERT_FALSE(vl_verdict_has_failed(verdict));
	judge_end();
}

static struct vl_fault_event refuse_six(void)
{
	struct vl_fault_event event = bench_event("refuse", RX, "request", VL_FAULT_RNR);

	event.match.psn = (struct vl_fault_range){6, 6};
	event.match.limit = 2;
	event.action.syndrome = 0x20 | 16; /* 2.56 ms */
	return event;
}

static void test_rnr(void)
{
	struct vl_fault_event refuse = refuse_six();

	judge_begin(SERVER);
	bench_faults(&bench, SERVER, &refuse, 1);
	judge_run(100 * MILLISECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	PASSES(RNR_WAIT);
	CU_ASSERT_EQUAL(vl_verdict_passes(verdict, VL_VERDICT_RNR_WAIT), 2);
	judge_end();
}

/* It goes back for an answer that it misses while the RNR NAK is on its way: what it sends again
 * then owes the RNR NAK nothing. */
static void test_rnr_while_going_back(void)
{
	struct vl_fault_event events[2] = {bench_event("keep", TX, "response", VL_FAULT_DROP),
					   refuse_six()};

	events[0].match.psn = (struct vl_fault_range){6, 6};
	events[0].match.limit = 1;
	events[1].match.psn = (struct vl_fault_range){20, 20};
	events[1].match.limit = 1;
	judge_begin(SERVER);
	bench.flow_config.verb = VL_FLOW_FETCH_ADD;
	bench.flow_config.size = 8;
	bench.flow_config.messages = 50;
	bench.flow_config.depth = 20;
	bench_faults(&bench, SERVER, events, 2);
	judge_run(100 * MILLISECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	CU_ASSERT_EQUAL(vl_fault_event_counters(bench.faults[SERVER], 0)->acted, 1);
	CU_ASSERT_EQUAL(vl_fault_event_counters(bench.faults[SERVER], 1)->acted, 1);
	judge_expect_no_other_failure(0);
	judge_end();
}

static void test_ignores_rnr_timer(void)
{
	struct vl_fault_event refuse = refuse_six();

	judge_begin(SERVER);
	bench_faults(&bench, SERVER, &refuse, 1);
	bench.flow_config.start = 1000;
	judge_run_broken((struct broken){.rnr_code = 2}, 100 * MILLISECOND);
	FAILS(RNR_WAIT);
	CU_ASSERT_EQUAL(vl_verdict_failures(verdict, VL_VERDICT_RNR_WAIT), 2);
	judge_end();
}

/* ---- Reports -------------------------------------------------------------------------------- */

static void test_report(void)
{
	struct vl_fault_event lose = lose_six();
	static char text[16384];
	struct vl_verdict *sum;
	json_t *json, *list;
	FILE *out;

	judge_begin(SERVER);
	bench_faults(&bench, SERVER, &lose, 1);
	judge_run(100 * MILLISECOND);
	out = fmemopen(text, sizeof(text), "w");
	vl_verdict_print(verdict, out);
	fclose(out);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "PASS      are its ICRCs right?"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "not seen  does it stop when it is paused by PFC?"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "NAK to packet: least"));
	sum = vl_verdict_create(&expectations);
	vl_verdict_finish(sum, 0);
	vl_verdict_merge(sum, verdict);
	vl_verdict_merge(sum, verdict);
	CU_ASSERT_EQUAL(vl_verdict_passes(sum, VL_VERDICT_ICRC),
			2 * vl_verdict_passes(verdict, VL_VERDICT_ICRC));
	json = vl_verdict_json(sum);
	list = json_object_get(json, "verdicts");
	CU_ASSERT_EQUAL(json_array_size(list), VL_VERDICT_COUNT);
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(json_array_get(list, 1), "name")),
			       "retransmits_after_nak");
	CU_ASSERT_STRING_EQUAL(
		json_string_value(json_object_get(json_array_get(list, 1), "verdict")), "pass");
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(json_array_get(list, 1), "passes")), 2);
	json_decref(json);
	vl_verdict_destroy(sum);
	judge_end();
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"quiet", test_quiet},
		{"go_back_n", test_go_back_n},
		{"never_retransmits", test_never_retransmits},
		{"selective", test_selective},
		{"timeout", test_timeout},
		{"no_timeout", test_no_timeout},
		{"refused", test_refused},
		{"rnr", test_rnr},
		{"rnr_while_going_back", test_rnr_while_going_back},
		{"ignores_rnr_timer", test_ignores_rnr_timer},
		{"report", test_report},
	};

	return RUN_SUITE("verdict_requester", tests, argc, argv);
}
