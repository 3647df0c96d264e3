/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Verdicts on our own stack as a peer that is paused: right as it is, and broken on purpose. */

#include "tests/support/judge.h"

#define RX VL_FAULT_RECEIVED
#define TX VL_FAULT_TRANSMITTED

static void pause_peer(struct vl_fault_event *event, uint64_t response)
{
	*event = bench_event("pause", RX, "data", VL_FAULT_PAUSE);
	event->match.nth = (struct vl_fault_range){1000, 1000};
	event->action.priorities = 1 << 3;
	event->action.quanta = 65535;
	event->action.duration = MILLISECOND / 2;
	judge_begin(SERVER);
	bench.flow_config.size = 1 << 20;
	bench.flow_config.messages = 0;
	bench.flow_config.stop = 5 * MILLISECOND;
	bench.pfc_response_delay[CLIENT] = response;
	bench_faults(&bench, SERVER, event, 1);
}

static void test_pause(void)
{
	struct vl_fault_event event;
	uint64_t least, mean, most;

	pause_peer(&event, 0);
	judge_run(30 * MILLISECOND);
	judge_expect(VL_VERDICT_HONOURS_PAUSE, VL_VERDICT_PASS);
	PASSES(PAUSE_RESPONSE);
	CU_ASSERT_TRUE(
		vl_verdict_measure(verdict, VL_VERDICT_PAUSE_RESPONSE, &least, &mean, &most));
	/* There and back, and up to two frames of 334 ns. */
	CU_ASSERT_TRUE(least >= 1500 && most <= 3000);
	judge_end();
}

static void test_slow_to_pause(void)
{
	struct vl_fault_event event;

	pause_peer(&event, 100000);
	judge_run(30 * MILLISECOND);
	judge_expect(VL_VERDICT_HONOURS_PAUSE, VL_VERDICT_PASS);
	FAILS(PAUSE_RESPONSE);
	judge_end();
}

static void test_ignores_pause(void)
{
	struct vl_fault_event event;

	pause_peer(&event, 1000 * MILLISECOND);
	judge_run(30 * MILLISECOND);
	FAILS(HONOURS_PAUSE);
	judge_end();
}

/* A second class, CNPs, while the data's is paused: the peer is the responder of marked data, and
 * paused in the class of its ACKs. */
static void test_pause_classes(void)
{
	struct vl_cc_parameters cc = judge_cc(&vl_cc_none);
	struct vl_fault_event events[2] = {bench_event("mark", TX, "data", VL_FAULT_MARK_CE),
					   bench_event("pause", TX, "data", VL_FAULT_PAUSE)};

	events[1].match.nth = (struct vl_fault_range){100, 100};
	events[1].action.priorities = 1 << 3;
	events[1].action.duration = 100000;
	judge_begin(CLIENT);
	bench.flow_config.messages = 2000;
	bench.flow_config.depth = 200;
	bench.flow_config.timeout = 10;
	bench.cc[SERVER] = &cc;
	bench_faults(&bench, CLIENT, events, 2);
	judge_run(100 * MILLISECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	judge_expect(VL_VERDICT_HONOURS_PAUSE, VL_VERDICT_PASS);
	PASSES(PAUSE_CLASSES);
	judge_end();
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"pause", test_pause},
		{"slow_to_pause", test_slow_to_pause},
		{"ignores_pause", test_ignores_pause},
		{"pause_classes", test_pause_classes},
	};

	return RUN_SUITE("verdict_pause", tests, argc, argv);
}
