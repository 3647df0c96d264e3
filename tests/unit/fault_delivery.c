/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Actions of the fault engine that decide whether, how often, when and in which order a frame
 * arrives, and that of several. */

#include "tests/unit/fault_actions.h"

#include <string.h>

/* What the responder says of a lost packet is a sequence NAK, and all from there comes again. */
static void test_drop(void)
{
	struct vl_fault_event event = at_psn_6(VL_FAULT_DROP);
	const struct bench_frame *nak = NULL;

	run_on_server(&event);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	CU_ASSERT_EQUAL(counters(SERVER)->acted, 1);
	CU_ASSERT_EQUAL(bench_comments(&bench.taps[SERVER],
				       "not delivered: dropped by event 'six' (test.yaml:1)"),
			1);
	for (unsigned int n = 0; !nak && n < bench_count(&bench.wire, IN, ACK); n++) {
		const struct bench_frame *frame = bench_find(&bench.wire, IN, ACK, n);

		if (frame->syndrome == 0x60)
			nak = frame;
	}
	CU_ASSERT_PTR_NOT_NULL_FATAL(nak);
	CU_ASSERT_EQUAL(nak->psn, psn(6));
	CU_ASSERT_TRUE(device_counters(CLIENT)->data_frames_retransmitted >= 2);
	bench_close(&bench);
}

static void test_drop_transmitted(void)
{
	struct vl_fault_event event = bench_event("acks", TX, "ack", VL_FAULT_DROP);

	event.match.nth = (struct vl_fault_range){20, 20}; /* the last message's */
	run_on_server(&event);
	/* The requester's timer brings it again. */
	CU_ASSERT_TRUE(bench_is_done(&bench));
	CU_ASSERT_EQUAL(counters(SERVER)->acted, 1);
	CU_ASSERT_EQUAL(bench_comments(&bench.taps[SERVER], "not sent: dropped by event"), 1);
	CU_ASSERT_TRUE(device_counters(SERVER)->duplicate_request >= 1);
	bench_close(&bench);
}

static void test_duplicate(void)
{
	struct vl_fault_event event = at_psn_6(VL_FAULT_DUPLICATE);

	event.action.copies = 3;
	event.action.delay = 50000;
	run_on_server(&event);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	CU_ASSERT_EQUAL(device_counters(SERVER)->duplicate_request, 3);
	CU_ASSERT_EQUAL(bench_comments(&bench.taps[SERVER], "delivered 3 times more by event"), 1);
	bench_close(&bench);
}

static void test_duplicate_transmitted(void)
{
	struct vl_fault_event event = bench_event("twice", TX, "ack", VL_FAULT_DUPLICATE);

	event.match.nth = (struct vl_fault_range){3, 3};
	event.action.copies = 1;
	run_on_server(&event);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	CU_ASSERT_EQUAL(bench_count(&bench.wire, IN, ACK), 21);
	CU_ASSERT_EQUAL(bench_find(&bench.wire, IN, ACK, 2)->psn,
			bench_find(&bench.wire, IN, ACK, 3)->psn);
	CU_ASSERT_EQUAL(bench_comments(&bench.taps[SERVER], "copy made by event 'twice'"), 1);
	bench_close(&bench);
}

/* Held back at the client: on the wire it is behind the two next ones. */
static void test_reorder(void)
{
	struct vl_fault_event event = at_psn_6(VL_FAULT_REORDER);
	unsigned int at = 0;

	event.match.directions = TX;
	event.action.by = 1;
	bench_init(&bench);
	bench_faults(&bench, CLIENT, &event, 1);
	bench_open(&bench);
	bench_run(&bench, SECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	while (bench.wire.frames[at].direction != OUT || bench.wire.frames[at].psn != psn(7))
		at++;
	do {
		at++;
	} while (bench.wire.frames[at].direction != OUT);
	CU_ASSERT_EQUAL(bench.wire.frames[at].psn, psn(6));
	CU_ASSERT_EQUAL(bench_comments(&bench.taps[CLIENT], "behind the next 1 packets by event"),
			1);
	CU_ASSERT_TRUE(device_counters(SERVER)->frame_sequence_error >= 1);
	bench_close(&bench);
}

/* Nothing comes that could overtake it: it goes on after the hold. */
static void test_reorder_hold(void)
{
	struct vl_fault_event event = bench_event("last", RX, "request", VL_FAULT_REORDER);

	event.match.psn = (struct vl_fault_range){39, 39};
	event.match.limit = 1;
	event.action.by = 5;
	event.action.delay = 20000;
	run_on_server(&event);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	CU_ASSERT_EQUAL(device_counters(CLIENT)->data_frames_retransmitted, 0);
	CU_ASSERT_TRUE(vl_flow_progress(bench.flow, 0)->last_completion > 20000);
	bench_close(&bench);
}

static void test_delay(void)
{
	struct vl_fault_event event = bench_event("late", TX, "ack", VL_FAULT_DELAY);
	const struct bench_frame *request, *answer;

	event.match.nth = (struct vl_fault_range){20, 20};
	event.action.delay = 100000;
	run_on_server(&event);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	request = bench_find(&bench.wire, OUT, LAST, 19);
	answer = bench_find(&bench.wire, IN, ACK, 19);
	CU_ASSERT_FATAL(request && answer);
	CU_ASSERT_TRUE(answer->time - request->time >= 102000);
	CU_ASSERT_TRUE(answer->time - request->time < 104000);
	CU_ASSERT_EQUAL(bench_comments(&bench.taps[SERVER], "100.000 us later by event 'late'"), 1);
	bench_close(&bench);
}

/* An earlier event that lets a packet pass keeps it from the later ones. */
static void test_pass(void)
{
	struct vl_fault_event events[2] = {at_psn_6(VL_FAULT_PASS),
					   bench_event("all", RX, "request", VL_FAULT_MARK_CE)};

	events[0].match.limit = 0;
	bench_init(&bench);
	bench_faults(&bench, SERVER, events, 2);
	bench_open(&bench);
	bench_run(&bench, SECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	CU_ASSERT_EQUAL(vl_fault_event_counters(bench.faults[SERVER], 1)->acted, 39);
	CU_ASSERT_EQUAL(device_counters(SERVER)->ecn_ce_rx, 39);
	bench_close(&bench);
}

/* Several on one packet: it is marked, comes twice and late. */
static void test_several(void)
{
	struct vl_fault_event events[3] = {at_psn_6(VL_FAULT_MARK_CE), at_psn_6(VL_FAULT_DUPLICATE),
					   at_psn_6(VL_FAULT_DELAY)};

	events[1].action.copies = 1;
	events[1].action.delay = 30000;
	events[2].action.delay = 20000;
	bench_init(&bench);
	bench_faults(&bench, SERVER, events, 3);
	bench_open(&bench);
	bench_run(&bench, SECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	CU_ASSERT_EQUAL(device_counters(SERVER)->ecn_ce_rx, 2);
	CU_ASSERT_EQUAL(
		bench_comments(&bench.taps[SERVER],
			       "delivered marked CE by event 'six' (test.yaml:1); delivered "
			       "1 times more by event 'six' (test.yaml:1); delivered 20.000"),
		1);
	bench_close(&bench);
}

/* The comment of a copy stands with the copy, though another frame waits for longer. */
static void test_copy_before_late(void)
{
	struct vl_fault_event events[2] = {bench_event("late", TX, "ack", VL_FAULT_DELAY),
					   bench_event("twice", TX, "ack", VL_FAULT_DUPLICATE)};
	const struct bench_record *taps = &bench.taps[SERVER];
	uint32_t late = UINT32_MAX, copy = UINT32_MAX;

	events[0].match.nth = (struct vl_fault_range){3, 3};
	events[0].action.delay = 20000;
	events[1].match.nth = (struct vl_fault_range){4, 4}; /* of those that are not late */
	events[1].action.copies = 1;
	bench_init(&bench);
	bench_faults(&bench, SERVER, events, 2);
	bench_open(&bench);
	bench_run(&bench, SECOND);
	for (unsigned int i = 0; i < taps->count; i++) {
		if (strstr(taps->frames[i].comment, "copy made by event 'twice'"))
			copy = taps->frames[i].psn;
		if (strstr(taps->frames[i].comment, "20.000 us later"))
			late = taps->frames[i].psn;
	}
	CU_ASSERT_EQUAL(late, psn(5));
	CU_ASSERT_EQUAL(copy, psn(9));
	bench_close(&bench);
}

/* No room to hold a frame: it goes on, and that is counted. */
static void test_no_room(void)
{
	struct vl_fault_event event = bench_event("late", RX, "request", VL_FAULT_DELAY);

	event.action.delay = 10000;
	bench_init(&bench);
	bench_faults(&bench, SERVER, &event, 1);
	bench.fault_config[SERVER].max_held = 1;
	bench_open(&bench);
	bench_run(&bench, SECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	CU_ASSERT_TRUE(counters(SERVER)->no_room > 0);
	CU_ASSERT_TRUE(counters(SERVER)->acted > 0);
	bench_close(&bench);
}

static const struct test tests[] = {
	{"drop", test_drop},           {"drop_transmitted", test_drop_transmitted},
	{"duplicate", test_duplicate}, {"duplicate_transmitted", test_duplicate_transmitted},
	{"reorder", test_reorder},     {"reorder_hold", test_reorder_hold},
	{"delay", test_delay},         {"pass", test_pass},
	{"several", test_several},     {"copy_before_late", test_copy_before_late},
	{"no_room", test_no_room},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("fault_delivery", tests, argc, argv);
}
