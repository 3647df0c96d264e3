/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Actions of the fault engine that answer in the place of the stack, or have it not answer. */

#include "tests/unit/fault_actions.h"
#include "transport/credit.h"

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

static const struct test tests[] = {
	{"nak", test_nak},
	{"nak_to_ourselves", test_nak_to_ourselves},
	{"rnr", test_rnr},
	{"cnp", test_cnp},
	{"cnp_class", test_cnp_class},
	{"suppress_acks", test_suppress_acks},
	{"delay_acks", test_delay_acks},
	{"stop_answering", test_stop_answering},
	{"pause", test_pause},
	{"single_pause", test_single_pause},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("fault_answers", tests, argc, argv);
}
