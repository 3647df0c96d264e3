/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Actions of the fault engine that change what is in a frame. */

#include "tests/unit/fault_actions.h"

static void test_mark_ce(void)
{
	struct vl_fault_event event = bench_event("mark", TX, "data", VL_FAULT_MARK_CE);
	const struct bench_frame *cnp;

	event.match.nth = (struct vl_fault_range){5, 5};
	bench_init(&bench);
	bench_faults(&bench, CLIENT, &event, 1);
	bench_open(&bench);
	bench_run(&bench, SECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	CU_ASSERT_EQUAL(bench_find(&bench.wire, OUT, FIRST, 2)->ecn, VL_ECN_CE);
	CU_ASSERT_TRUE(bench_find(&bench.wire, OUT, FIRST, 2)->icrc_right);
	CU_ASSERT_EQUAL(device_counters(SERVER)->ecn_ce_rx, 1);
	cnp = bench_find(&bench.wire, IN, VL_OPCODE_CNP, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(cnp);
	CU_ASSERT_EQUAL(cnp->dscp, 48);
	CU_ASSERT_EQUAL(bench_comments(&bench.taps[CLIENT], "marked CE by event 'mark'"), 1);
	bench_close(&bench);
}

/* The client marks all, the server does not see it. */
static void test_ignore_ce(void)
{
	struct vl_fault_event mark = bench_event("mark", TX, "data", VL_FAULT_MARK_CE);
	struct vl_fault_event ignore = bench_event("blind", RX, "data", VL_FAULT_IGNORE_CE);

	bench_init(&bench);
	bench_faults(&bench, CLIENT, &mark, 1);
	bench_faults(&bench, SERVER, &ignore, 1);
	bench_open(&bench);
	bench_run(&bench, SECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	CU_ASSERT_EQUAL(counters(SERVER)->acted, 40);
	CU_ASSERT_EQUAL(device_counters(SERVER)->ecn_ce_rx, 0);
	CU_ASSERT_EQUAL(bench_count(&bench.wire, IN, VL_OPCODE_CNP), 0);
	/* The tap is shown what came. */
	CU_ASSERT_EQUAL(bench_find(&bench.taps[SERVER], IN, FIRST, 0)->ecn, VL_ECN_CE);
	/* The checksum stayed right, or the packets would not have been taken. */
	CU_ASSERT_EQUAL(vl_device_drops(bench_endpoint(&bench, SERVER)->device)[VL_DROP_not_parsed],
			0);
	bench_close(&bench);
}

static void corrupt(enum vl_fault_part part, uint32_t bit)
{
	struct vl_fault_event event = at_psn_6(VL_FAULT_CORRUPT);

	event.action.part = part;
	event.action.bit = bit;
	run_on_server(&event);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	CU_ASSERT_EQUAL(counters(SERVER)->acted, 1);
	CU_ASSERT_EQUAL(vl_device_drops(bench_endpoint(&bench, SERVER)->device)[VL_DROP_icrc], 1);
	CU_ASSERT_TRUE(bench_comments(&bench.taps[SERVER], "flipped by event 'six'") == 1);
	bench_close(&bench);
}

static void test_corrupt(void)
{
	corrupt(VL_FAULT_PART_HEADER, 64 + 16); /* in the BTH's PSN */
	corrupt(VL_FAULT_PART_PAYLOAD, VL_FAULT_ANY_BIT);
	corrupt(VL_FAULT_PART_ICRC, 31);
}

/* A bit of the BTH's reserved byte, which the ICRC does not cover, is none the wiser: the PSN's
 * lowest bit, on the way out, is. */
static void test_corrupt_transmitted(void)
{
	struct vl_fault_event event = at_psn_6(VL_FAULT_CORRUPT);
	unsigned int wrong = 0;

	event.match.directions = TX;
	event.action.part = VL_FAULT_PART_HEADER;
	event.action.bit = 95;
	bench_init(&bench);
	bench_faults(&bench, CLIENT, &event, 1);
	bench_open(&bench);
	bench_run(&bench, SECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	for (unsigned int i = 0; i < bench.wire.count; i++) {
		if (bench.wire.frames[i].icrc_right)
			continue;
		wrong++;
		CU_ASSERT_EQUAL(bench.wire.frames[i].psn, psn(6) ^ 1);
	}
	CU_ASSERT_EQUAL(wrong, 1);
	bench_close(&bench);
}

static void test_truncate(void)
{
	struct vl_fault_event event = at_psn_6(VL_FAULT_TRUNCATE);

	event.action.bytes = 1000;
	run_on_server(&event);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	CU_ASSERT_EQUAL(vl_device_drops(bench_endpoint(&bench, SERVER)->device)[VL_DROP_not_parsed],
			1);
	bench_close(&bench);
	/* With lengths and ICRC to fit it is a packet, and its length is what is wrong: First
	 * packets are full ones. */
	event.action.repair = true;
	run_on_server(&event);
	CU_ASSERT_EQUAL(vl_device_drops(bench_endpoint(&bench, SERVER)->device)[VL_DROP_not_parsed],
			0);
	CU_ASSERT_EQUAL(vl_device_drops(bench_endpoint(&bench, SERVER)->device)[VL_DROP_icrc], 0);
	CU_ASSERT_EQUAL(vl_flow_progress(bench.flow, 0)->status, IBV_WC_REM_INV_REQ_ERR);
	bench_close(&bench);
}

/* Together they ask for more than there is: those that find too little leave it. */
static void test_truncate_often(void)
{
	struct vl_fault_event events[6];

	for (unsigned int i = 0; i < 6; i++) {
		events[i] = at_psn_6(VL_FAULT_TRUNCATE);
		events[i].action.bytes = 1000;
	}
	bench_init(&bench);
	bench_faults(&bench, SERVER, events, 6);
	bench_open(&bench);
	bench_run(&bench, SECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	CU_ASSERT_EQUAL(vl_device_drops(bench_endpoint(&bench, SERVER)->device)[VL_DROP_not_parsed],
			1);
	bench_close(&bench);
}

/* What is no packet any more has no ICRC to be made right. */
static void test_credits_of_a_stump(void)
{
	struct vl_fault_event events[2] = {bench_event("cut", RX, "ack", VL_FAULT_TRUNCATE),
					   bench_event("none", RX, "ack", VL_FAULT_CREDITS)};

	for (unsigned int i = 0; i < 2; i++)
		events[i].match.limit = 1;
	events[0].action.bytes = 4;
	bench_init(&bench);
	bench_faults(&bench, CLIENT, events, 2);
	bench_open(&bench);
	bench_run(&bench, SECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	CU_ASSERT_EQUAL(vl_fault_event_counters(bench.faults[CLIENT], 1)->acted, 1);
	CU_ASSERT_EQUAL(vl_device_drops(bench_endpoint(&bench, CLIENT)->device)[VL_DROP_not_parsed],
			1);
	bench_close(&bench);
}

/* The pad of a last packet moves with the ICRC. */
static void test_truncate_padded(void)
{
	struct vl_fault_event event = bench_event("short", TX, "send_only", VL_FAULT_TRUNCATE);
	const struct bench_frame *frame;

	event.match.nth = (struct vl_fault_range){2, 2};
	event.action.bytes = 8;
	event.action.repair = true;
	bench_init(&bench);
	bench.flow_config.verb = VL_FLOW_SEND;
	bench.flow_config.size = 101;
	bench_faults(&bench, CLIENT, &event, 1);
	bench_open(&bench);
	bench_run(&bench, SECOND);
	frame = bench_find(&bench.wire, OUT, VL_OP_SEND_ONLY, 1);
	CU_ASSERT_PTR_NOT_NULL_FATAL(frame);
	CU_ASSERT_TRUE(frame->icrc_right);
	CU_ASSERT_EQUAL(frame->payload_length, 93);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	bench_close(&bench);
}

/* No credits: of the SENDs one goes out at a time, to ask. */
static void test_credits(void)
{
	struct vl_fault_event event = bench_event("none", TX, "ack", VL_FAULT_CREDITS);

	event.action.syndrome = 2;
	bench_init(&bench);
	bench.flow_config.verb = VL_FLOW_SEND;
	bench.flow_config.size = 100;
	bench_faults(&bench, SERVER, &event, 1);
	bench_open(&bench);
	bench_run(&bench, SECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	for (unsigned int n = 0; n < bench_count(&bench.wire, IN, ACK); n++) {
		CU_ASSERT_EQUAL(bench_find(&bench.wire, IN, ACK, n)->syndrome, 2);
		CU_ASSERT_TRUE(bench_find(&bench.wire, IN, ACK, n)->icrc_right);
	}
	CU_ASSERT_EQUAL(bench_comments(&bench.taps[SERVER], "with credit code 2 by event 'none'"),
			bench_count(&bench.wire, IN, ACK));
	bench_close(&bench);
}

static const struct test tests[] = {
	{"mark_ce", test_mark_ce},
	{"ignore_ce", test_ignore_ce},
	{"corrupt", test_corrupt},
	{"corrupt_transmitted", test_corrupt_transmitted},
	{"truncate", test_truncate},
	{"truncate_often", test_truncate_often},
	{"credits_of_a_stump", test_credits_of_a_stump},
	{"truncate_padded", test_truncate_padded},
	{"credits", test_credits},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("fault_contents", tests, argc, argv);
}
