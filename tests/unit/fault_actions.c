/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Each action of the fault engine, on a connection of our own stack in virtual time. */

#include "tests/support/fault_bench.h"
#include "transport/credit.h"
#include "transport/psn.h"

#include <string.h>

#define RX     VL_FAULT_RECEIVED
#define TX     VL_FAULT_TRANSMITTED
#define OUT    VL_DIRECTION_TRANSMITTED
#define IN     VL_DIRECTION_RECEIVED
#define FIRST  VL_OP_WRITE_FIRST
#define LAST   VL_OP_WRITE_LAST
#define ACK    VL_OP_ACKNOWLEDGE
#define SECOND UINT64_C(1000000000)

static struct bench bench;

static const struct vl_fault_event_counters *counters(int side)
{
	return vl_fault_event_counters(bench.faults[side], 0);
}

/* One event on the server, at the packet with relative PSN 6 (the first of the fourth message). */
static void run_on_server(const struct vl_fault_event *event)
{
	bench_init(&bench);
	bench_faults(&bench, SERVER, event, 1);
	bench_open(&bench);
	bench_run(&bench, SECOND);
}

static struct vl_fault_event at_psn_6(enum vl_fault_action_kind kind)
{
	struct vl_fault_event event = bench_event("six", RX, "request", kind);

	event.match.psn = (struct vl_fault_range){6, 6};
	event.match.limit = 1;
	return event;
}

static uint32_t psn(uint32_t relative)
{
	return vl_psn_add(bench_first_psn(&bench), relative);
}

static const struct vl_counters *device_counters(int side)
{
	return vl_device_counters(bench_endpoint(&bench, side)->device);
}

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

static void nak(uint8_t syndrome, enum ibv_wc_status status)
{
	struct vl_fault_event event = at_psn_6(VL_FAULT_NAK);
	const struct bench_frame *answer = NULL;

	event.action.syndrome = syndrome;
	run_on_server(&event);
	CU_ASSERT_EQUAL(vl_flow_progress(bench.flow, 0)->status, status);
	for (unsigned int n = 0; n < bench_count(&bench.wire, IN, ACK); n++) {
		const struct bench_frame *frame = bench_find(&bench.wire, IN, ACK, n);

		CU_ASSERT_TRUE(frame->icrc_right);
		if (frame->syndrome == syndrome) {
			CU_ASSERT_PTR_NULL(answer);
			answer = frame;
		}
	}
	CU_ASSERT_PTR_NOT_NULL_FATAL(answer);
	CU_ASSERT_EQUAL(answer->psn, psn(6));
	CU_ASSERT_EQUAL(bench_comments(&bench.taps[SERVER], "not delivered: refused with NAK"), 1);
	CU_ASSERT_EQUAL(bench_comments(&bench.taps[SERVER], "made up by event 'six'"), 1);
	if (status == IBV_WC_SUCCESS)
		CU_ASSERT_TRUE(bench_is_done(&bench));
	bench_close(&bench);
}

static void test_nak(void)
{
	nak(0x60, IBV_WC_SUCCESS);
	nak(0x61, IBV_WC_REM_INV_REQ_ERR);
	nak(0x62, IBV_WC_REM_ACCESS_ERR);
	nak(0x63, IBV_WC_REM_OP_ERR);
}

/* The client's own request is refused to it: it never leaves. */
static void test_nak_to_ourselves(void)
{
	struct vl_fault_event event = at_psn_6(VL_FAULT_NAK);

	event.match.directions = TX;
	event.action.syndrome = 0x62;
	bench_init(&bench);
	bench_faults(&bench, CLIENT, &event, 1);
	bench_open(&bench);
	bench_run(&bench, SECOND);
	CU_ASSERT_EQUAL(vl_flow_progress(bench.flow, 0)->status, IBV_WC_REM_ACCESS_ERR);
	CU_ASSERT_EQUAL(bench_comments(&bench.taps[CLIENT], "not on the wire: "), 1);
	for (unsigned int i = 0; i < bench.wire.count; i++)
		CU_ASSERT_NOT_EQUAL(bench.wire.frames[i].syndrome, 0x62);
	bench_close(&bench);
}

static void test_rnr(void)
{
	struct vl_fault_event event = at_psn_6(VL_FAULT_RNR);
	const struct bench_frame *refused = NULL, *again = NULL;

	event.action.syndrome = 0x20 | 20; /* 10.24 ms */
	run_on_server(&event);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	for (unsigned int i = 0; i < bench.wire.count; i++) {
		const struct bench_frame *frame = &bench.wire.frames[i];

		if (frame->direction == IN && frame->syndrome == (0x20 | 20))
			refused = frame;
		if (refused && !again && frame->direction == OUT && frame->psn == psn(6))
			again = frame;
	}
	CU_ASSERT_FATAL(refused && again);
	CU_ASSERT_EQUAL(refused->psn, psn(6));
	CU_ASSERT_TRUE(again->time - refused->time >= vl_rnr_timer_ns(20));
	CU_ASSERT_TRUE(again->time - refused->time < vl_rnr_timer_ns(20) * 11 / 10);
	/* What came behind it was not taken, and not answered. */
	CU_ASSERT_TRUE(vl_fault_counters(bench.faults[SERVER])->refused_followers >= 1);
	CU_ASSERT_EQUAL(device_counters(SERVER)->nak_tx, 0);
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

static void test_cnp(void)
{
	struct vl_fault_event event = at_psn_6(VL_FAULT_CNP);
	const struct bench_frame *cnp;

	run_on_server(&event);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	CU_ASSERT_EQUAL(bench_count(&bench.wire, IN, VL_OPCODE_CNP), 1);
	cnp = bench_find(&bench.wire, IN, VL_OPCODE_CNP, 0);
	CU_ASSERT_TRUE(cnp->icrc_right);
	CU_ASSERT_EQUAL(cnp->dscp, 48);
	CU_ASSERT_EQUAL(cnp->length, 14 + 20 + 8 + 12 + 16 + 4);
	CU_ASSERT_EQUAL(device_counters(CLIENT)->cnp_rx, 1);
	bench_close(&bench);
}

/* A class of its own, of which each part may be 0. */
static void test_cnp_class(void)
{
	struct vl_fault_event event = at_psn_6(VL_FAULT_CNP);
	const struct bench_frame *cnp;

	bench_init(&bench);
	bench.fault_config[SERVER].cnp_dscp_is_set = true;
	bench_faults(&bench, SERVER, &event, 1);
	bench_open(&bench);
	bench_run(&bench, SECOND);
	cnp = bench_find(&bench.wire, IN, VL_OPCODE_CNP, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(cnp);
	CU_ASSERT_EQUAL(cnp->dscp, 0);
	bench_close(&bench);
}

static void test_suppress_acks(void)
{
	struct vl_fault_event event = at_psn_6(VL_FAULT_SUPPRESS_ACKS);

	event.action.duration = 1000000; /* the ACK timeout is 262 us */
	run_on_server(&event);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	CU_ASSERT_TRUE(vl_fault_counters(bench.faults[SERVER])->answers_suppressed >= 3);
	CU_ASSERT_TRUE(vl_flow_progress(bench.flow, 0)->last_completion > 1000000);
	CU_ASSERT_EQUAL(
		bench_comments(&bench.taps[SERVER], "not sent: answers are stopped by event 'six'"),
		vl_fault_counters(bench.faults[SERVER])->answers_suppressed);
	bench_close(&bench);
}

static void test_delay_acks(void)
{
	struct vl_fault_event event = at_psn_6(VL_FAULT_DELAY_ACKS);

	event.action.delay = 50000;
	run_on_server(&event);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	/* Of 20 messages, two at a time, 17 are late: 9 or more waits, one after the other. */
	CU_ASSERT_TRUE(vl_flow_progress(bench.flow, 0)->last_completion > 9 * 50000 - 50000);
	CU_ASSERT_TRUE(bench_comments(&bench.taps[SERVER], "50.000 us later by event 'six'") >= 16);
	CU_ASSERT_EQUAL(device_counters(CLIENT)->data_frames_retransmitted, 0);
	bench_close(&bench);
}

static void test_stop_answering(void)
{
	struct vl_fault_event event = at_psn_6(VL_FAULT_STOP_ANSWERING);

	for (int whole = 0; whole < 2; whole++) {
		event.action.whole_endpoint = whole;
		run_on_server(&event);
		CU_ASSERT_EQUAL(vl_flow_progress(bench.flow, 0)->status, IBV_WC_RETRY_EXC_ERR);
		CU_ASSERT_TRUE(bench_count(&bench.wire, IN, ACK) <= 3);
		bench_close(&bench);
	}
}

static void test_pause(void)
{
	struct vl_fault_event event = at_psn_6(VL_FAULT_PAUSE);
	uint64_t paused = 0, resumed = 0, next = 0;

	event.action.priorities = 1 << 3;
	event.action.quanta = 65535;
	event.action.duration = 500000; /* longer than one pause, 335 us */
	run_on_server(&event);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	for (unsigned int i = 0; i < bench.wire.count; i++) {
		const struct bench_frame *frame = &bench.wire.frames[i];

		if (frame->is_pfc) {
			CU_ASSERT_EQUAL(frame->direction, IN);
			CU_ASSERT_EQUAL(frame->pfc_enabled, 1 << 3);
			if (frame->pfc_quanta3)
				paused = paused ? paused : frame->time;
			else
				resumed = frame->time;
		} else if (paused && frame->direction == OUT && frame->time > paused + 1000 &&
			   !next) {
			next = frame->time;
		}
	}
	CU_ASSERT_TRUE(paused && resumed && next);
	CU_ASSERT_TRUE(resumed - paused >= 499000 && resumed - paused <= 501000);
	CU_ASSERT_TRUE(next >= resumed);
	bench_close(&bench);
}

static void test_single_pause(void)
{
	struct vl_fault_event event = at_psn_6(VL_FAULT_PAUSE);
	unsigned int frames = 0;

	event.action.priorities = 1 << 3;
	event.action.quanta = 1000;
	event.action.duration = 0;
	run_on_server(&event);
	for (unsigned int i = 0; i < bench.wire.count; i++) {
		if (!bench.wire.frames[i].is_pfc)
			continue;
		frames++;
		CU_ASSERT_EQUAL(bench.wire.frames[i].pfc_quanta3, 1000);
	}
	CU_ASSERT_EQUAL(frames, 1);
	CU_ASSERT_EQUAL(bench_endpoint(&bench, CLIENT)->counters.pfc_rx, 1);
	CU_ASSERT_TRUE(bench_is_done(&bench));
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

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"drop", test_drop},
		{"drop_transmitted", test_drop_transmitted},
		{"duplicate", test_duplicate},
		{"duplicate_transmitted", test_duplicate_transmitted},
		{"reorder", test_reorder},
		{"reorder_hold", test_reorder_hold},
		{"delay", test_delay},
		{"mark_ce", test_mark_ce},
		{"ignore_ce", test_ignore_ce},
		{"corrupt", test_corrupt},
		{"corrupt_transmitted", test_corrupt_transmitted},
		{"truncate", test_truncate},
		{"truncate_often", test_truncate_often},
		{"credits_of_a_stump", test_credits_of_a_stump},
		{"truncate_padded", test_truncate_padded},
		{"nak", test_nak},
		{"nak_to_ourselves", test_nak_to_ourselves},
		{"rnr", test_rnr},
		{"credits", test_credits},
		{"cnp", test_cnp},
		{"cnp_class", test_cnp_class},
		{"suppress_acks", test_suppress_acks},
		{"delay_acks", test_delay_acks},
		{"stop_answering", test_stop_answering},
		{"pause", test_pause},
		{"single_pause", test_single_pause},
		{"pass", test_pass},
		{"several", test_several},
		{"copy_before_late", test_copy_before_late},
		{"no_room", test_no_room},
	};

	return RUN_SUITE("fault_actions", tests, argc, argv);
}
