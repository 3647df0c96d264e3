/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Verdicts on our own stack as a peer that marks are for, and CNPs: right as it is, and broken on
 * purpose; and on what its packets are like. */

#include "tests/support/judge.h"

#define RX VL_FAULT_RECEIVED
#define TX VL_FAULT_TRANSMITTED

/* ---- Packets -------------------------------------------------------------------------------- */

static void test_not_ecn_capable(void)
{
	judge_begin(SERVER);
	bench.flow_config.start = 1000;
	judge_run_broken((struct broken){.is_not_ecn_capable = true}, 100 * MILLISECOND);
	judge_expect(VL_VERDICT_DATA_ECN, VL_VERDICT_NOT_SEEN);
	judge_end();
	judge_begin(SERVER);
	expectations.expects_ecn = true;
	bench.flow_config.start = 1000;
	judge_run_broken((struct broken){.is_not_ecn_capable = true}, 100 * MILLISECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	FAILS(DATA_ECN);
	judge_end();
}

static void test_wrong_icrc(void)
{
	struct vl_fault_event spoil = bench_event("spoil", TX, "request", VL_FAULT_CORRUPT);

	spoil.match.every = 10;
	spoil.match.limit = 3;
	spoil.action.part = VL_FAULT_PART_ICRC;
	judge_begin(SERVER);
	bench_faults(&bench, CLIENT, &spoil, 1);
	judge_run(100 * MILLISECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	FAILS(ICRC);
	CU_ASSERT_EQUAL(vl_verdict_failures(verdict, VL_VERDICT_ICRC), 3);
	judge_end();
}

static void test_wrong_class(void)
{
	judge_begin(SERVER);
	expectations.data_dscp = 26;
	bench.flow_config.dscp = 10;
	judge_run(100 * MILLISECOND);
	FAILS(DATA_CLASS);
	judge_end();
	judge_begin(SERVER);
	bench.flow_config.dscp = 48;
	judge_run(100 * MILLISECOND);
	FAILS(DATA_CLASS);
	CU_ASSERT_TRUE(judge_says(VL_VERDICT_DATA_CLASS, "which is for CNPs"));
	judge_end();
}

/* ---- CNPs ----------------------------------------------------------------------------------- */

static void mark_all(struct vl_fault_event *mark)
{
	*mark = bench_event("mark", TX, "data", VL_FAULT_MARK_CE);
	judge_begin(CLIENT);
	bench.flow_config.messages = 200;
	bench.flow_config.depth = 20;
	bench_faults(&bench, CLIENT, mark, 1);
}

static void test_cnps(void)
{
	struct vl_cc_parameters cc = judge_cc(&vl_cc_none);
	struct vl_fault_event mark;
	uint64_t least, mean, most;

	mark_all(&mark);
	bench.cc[SERVER] = &cc;
	judge_run(100 * MILLISECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	judge_expect(VL_VERDICT_SENDS_CNP, VL_VERDICT_PASS);
	judge_expect(VL_VERDICT_CNP_CLASS, VL_VERDICT_PASS);
	PASSES(CNP_INTERVAL);
	CU_ASSERT_TRUE(vl_verdict_measure(verdict, VL_VERDICT_CNP_INTERVAL, &least, &mean, &most));
	/* 4 us, or up to one packet's time more. */
	CU_ASSERT_TRUE(least >= 3900 && mean < 4500);
	CU_ASSERT_TRUE(vl_verdict_measure(verdict, VL_VERDICT_SENDS_CNP, &least, &mean, &most));
	/* At once to the first; a mark behind a CNP waits for the next. */
	CU_ASSERT_TRUE(least >= 2000 && most < 7000);
	judge_end();
}

/* Every other one comes late, close before the next: as many as there should be, though. */
static void test_bunched_cnps(void)
{
	struct vl_cc_parameters cc = judge_cc(&vl_cc_none);
	struct vl_fault_event mark, late = bench_event("late", TX, "cnp", VL_FAULT_DELAY);
	uint64_t least, mean, most;

	late.match.every = 2;
	late.action.delay = 3500;
	mark_all(&mark);
	bench.cc[SERVER] = &cc;
	bench_faults(&bench, SERVER, &late, 1);
	judge_run(100 * MILLISECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	PASSES(CNP_INTERVAL);
	CU_ASSERT_TRUE(vl_verdict_measure(verdict, VL_VERDICT_CNP_INTERVAL, &least, &mean, &most));
	CU_ASSERT_TRUE(least < 1000);
	judge_end();
}

static void test_no_cnps(void)
{
	struct vl_fault_event deaf = bench_event("deaf", RX, "", VL_FAULT_IGNORE_CE), mark;

	mark_all(&mark);
	bench_faults(&bench, SERVER, &deaf, 1);
	judge_run(100 * MILLISECOND);
	FAILS(SENDS_CNP);
	judge_end();
}

static void test_cnps_too_often(void)
{
	struct vl_cc_parameters cc = judge_cc(&vl_cc_none);
	struct vl_fault_event mark;

	cc.dcqcn.min_time_between_cnps = 0;
	mark_all(&mark);
	bench.cc[SERVER] = &cc;
	judge_run(100 * MILLISECOND);
	FAILS(CNP_INTERVAL);
	judge_end();
}

static void test_wrong_cnp_dscp(void)
{
	struct vl_cc_parameters cc = judge_cc(&vl_cc_none);
	struct vl_fault_event mark;

	cc.dcqcn.cnp_dscp = 26;
	mark_all(&mark);
	bench.cc[SERVER] = &cc;
	judge_run(100 * MILLISECOND);
	FAILS(CNP_CLASS);
	CU_ASSERT_TRUE(judge_says(VL_VERDICT_CNP_CLASS, "has DSCP 26, not 48"));
	judge_end();
}

/* ---- Rates ---------------------------------------------------------------------------------- */

/* CNPs for 1 ms to a peer that sends as fast as it may. */
static void slow_down(struct vl_fault_event *event, struct vl_cc_parameters *cc)
{
	*event = bench_event("slow", RX, "data", VL_FAULT_CNP);
	event->match.from = MILLISECOND;
	event->match.until = 2 * MILLISECOND;
	event->match.every = 64;
	judge_begin(SERVER);
	bench.flow_config.size = 1 << 20;
	bench.flow_config.messages = 0;
	bench.flow_config.stop = 60 * MILLISECOND;
	bench.cc[CLIENT] = cc;
	bench_faults(&bench, SERVER, event, 1);
}

static void test_cuts_rate(void)
{
	struct vl_cc_parameters cc = judge_cc(&vl_cc_dcqcn);
	struct vl_fault_event event;

	cc.dcqcn.rpg_time_reset = 50;
	slow_down(&event, &cc);
	judge_run(80 * MILLISECOND);
	judge_expect(VL_VERDICT_CUTS_RATE, VL_VERDICT_PASS);
	PASSES(RECOVERS_RATE);
	judge_end();
}

static void test_does_not_cut_rate(void)
{
	struct vl_cc_parameters cc = judge_cc(&vl_cc_none);
	struct vl_fault_event event;

	slow_down(&event, &cc);
	judge_run(80 * MILLISECOND);
	FAILS(CUTS_RATE);
	judge_expect(VL_VERDICT_RECOVERS_RATE, VL_VERDICT_NOT_SEEN);
	judge_end();
}

/* It may never rise by more than 1 Mb/s in a second. */
static void test_does_not_recover(void)
{
	struct vl_cc_parameters cc = judge_cc(&vl_cc_dcqcn);
	struct vl_fault_event event;

	cc.dcqcn.rpg_time_reset = 131071;
	cc.dcqcn.rpg_byte_reset = 0;
	slow_down(&event, &cc);
	expectations.recovery_limit = 20 * MILLISECOND;
	judge_run(80 * MILLISECOND);
	FAILS(RECOVERS_RATE);
	judge_end();
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"not_ecn_capable", test_not_ecn_capable},
		{"wrong_icrc", test_wrong_icrc},
		{"wrong_class", test_wrong_class},
		{"cnps", test_cnps},
		{"bunched_cnps", test_bunched_cnps},
		{"no_cnps", test_no_cnps},
		{"cnps_too_often", test_cnps_too_often},
		{"wrong_cnp_dscp", test_wrong_cnp_dscp},
		{"cuts_rate", test_cuts_rate},
		{"does_not_cut_rate", test_does_not_cut_rate},
		{"does_not_recover", test_does_not_recover},
	};

	return RUN_SUITE("verdict_congestion", tests, argc, argv);
}
