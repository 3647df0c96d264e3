/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Verdicts on our own stack as the peer: right as it is, and broken on purpose in each way. */

#include <endian.h>
#include <string.h>

#include "apps/verdict/verdict.h"
#include "tests/support/fault_bench.h"
#include "transport/cc/cc.h"
#include "transport/wire/headers.h"
#include "transport/wire/icrc.h"

#define RX          VL_FAULT_RECEIVED
#define TX          VL_FAULT_TRANSMITTED
#define MILLISECOND UINT64_C(1000000)

static struct bench bench;
static struct vl_verdict *verdict;
static struct vl_verdict_config expectations;
static int we;

static void see(void *context, enum vl_direction direction, const struct vl_frame *frame,
		uint64_t now, const char *comment)
{
	(void)context;
	vl_verdict_see(verdict, direction, frame, now, comment);
}

/* We are the one side, the peer is the other. */
static void begin(int side)
{
	bench_init(&bench);
	expectations = (struct vl_verdict_config){.patience = 20 * MILLISECOND};
	we = side;
}

static void run(uint64_t until)
{
	verdict = vl_verdict_create(&expectations);
	CU_ASSERT_PTR_NOT_NULL_FATAL(verdict);
	bench.watcher[we] = (struct vl_frame_tap){see, NULL};
	bench_open(&bench);
	bench_run(&bench, until);
	vl_verdict_finish(verdict, until);
}

static void end(void)
{
	vl_verdict_destroy(verdict);
	bench_close(&bench);
}

static void expect(enum vl_verdict_kind kind, enum vl_verdict_result result)
{
	const char *text;

	CU_ASSERT_EQUAL(vl_verdict_result(verdict, kind), result);
	if (vl_verdict_result(verdict, kind) == result)
		return;
	printf("\n    %s: %d, not %d\n", vl_verdict_name(kind), vl_verdict_result(verdict, kind),
	       result);
	for (unsigned int n = 0; (text = vl_verdict_evidence(verdict, kind, n)); n++)
		printf("      %s\n", text);
}

/* No failure but those that are named. */
static void expect_no_other_failure(uint64_t named)
{
	for (unsigned int kind = 0; kind < VL_VERDICT_COUNT; kind++) {
		if (!(named >> kind & 1) &&
		    vl_verdict_result(verdict, (enum vl_verdict_kind)kind) == VL_VERDICT_FAIL)
			expect((enum vl_verdict_kind)kind, VL_VERDICT_PASS);
	}
}

#define FAILS(kind)                                                                                \
	do {                                                                                       \
		expect(VL_VERDICT_##kind, VL_VERDICT_FAIL);                                        \
		expect_no_other_failure(UINT64_C(1) << VL_VERDICT_##kind);                         \
	} while (0)
#define PASSES(kind)                                                                               \
	do {                                                                                       \
		expect(VL_VERDICT_##kind, VL_VERDICT_PASS);                                        \
		expect_no_other_failure(0);                                                        \
	} while (0)

static bool says(enum vl_verdict_kind kind, const char *what)
{
	const char *text;

	for (unsigned int n = 0; (text = vl_verdict_evidence(verdict, kind, n)); n++) {
		if (strstr(text, what))
			return true;
	}
	return false;
}

/* ---- The peer sends requests ---------------------------------------------------------------- */

static struct vl_fault_event lose_six(void)
{
	struct vl_fault_event event = bench_event("lose", RX, "request", VL_FAULT_DROP);

	event.match.psn = (struct vl_fault_range){6, 6};
	event.match.limit = 1;
	return event;
}

static void test_quiet(void)
{
	begin(SERVER);
	run(100 * MILLISECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	CU_ASSERT_FALSE(vl_verdict_has_failed(verdict));
	expect(VL_VERDICT_ICRC, VL_VERDICT_PASS);
	CU_ASSERT_EQUAL(vl_verdict_passes(verdict, VL_VERDICT_ICRC), 40);
	expect(VL_VERDICT_DATA_CLASS, VL_VERDICT_PASS);
	expect(VL_VERDICT_DATA_ECN, VL_VERDICT_PASS);
	for (unsigned int kind = VL_VERDICT_RETRANSMIT_NAK; kind < VL_VERDICT_DATA_CLASS; kind++)
		expect((enum vl_verdict_kind)kind, VL_VERDICT_NOT_SEEN);
	end();
}

static void test_go_back_n(void)
{
	struct vl_fault_event lose = lose_six();
	uint64_t least, mean, most;

	begin(SERVER);
	bench_faults(&bench, SERVER, &lose, 1);
	bench.flow_config.depth = 4;
	run(100 * MILLISECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	expect(VL_VERDICT_RETRANSMIT_NAK, VL_VERDICT_PASS);
	PASSES(GO_BACK_N);
	CU_ASSERT_TRUE(
		vl_verdict_measure(verdict, VL_VERDICT_RETRANSMIT_NAK, &least, &mean, &most));
	/* There and back, 2 us, and the frames. */
	CU_ASSERT_TRUE(least >= 2000 && most < 4000);
	end();
}

static void test_never_retransmits(void)
{
	struct vl_fault_event lose = lose_six();
	struct vl_fault_event keep = bench_event("keep", TX, "request", VL_FAULT_DROP);

	keep.match.psn = (struct vl_fault_range){6, 6};
	keep.match.nth = (struct vl_fault_range){2, UINT64_MAX};
	begin(SERVER);
	bench_faults(&bench, SERVER, &lose, 1);
	bench_faults(&bench, CLIENT, &keep, 1);
	run(100 * MILLISECOND);
	FAILS(RETRANSMIT_NAK);
	CU_ASSERT_TRUE(says(VL_VERDICT_RETRANSMIT_NAK, "does not come for"));
	end();
}

static void test_selective(void)
{
	struct vl_fault_event lose = lose_six();
	struct vl_fault_event keep = bench_event("keep", TX, "request", VL_FAULT_DROP);
	uint64_t count;

	begin(SERVER);
	bench_faults(&bench, SERVER, &lose, 1);
	bench.flow_config.depth = 20;
	run(100 * MILLISECOND);
	/* How many followed PSN 6 before the NAK had come. */
	count = vl_device_counters(bench_endpoint(&bench, CLIENT)->device)
			->data_frames_retransmitted -
		1;
	end();
	CU_ASSERT_TRUE_FATAL(count >= 2);
	keep.match.psn = (struct vl_fault_range){7, 6 + count};
	keep.match.nth = (struct vl_fault_range){count + 1, 2 * count};
	begin(SERVER);
	bench_faults(&bench, SERVER, &lose, 1);
	bench_faults(&bench, CLIENT, &keep, 1);
	bench.flow_config.depth = 20;
	run(100 * MILLISECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	FAILS(GO_BACK_N);
	CU_ASSERT_TRUE(says(VL_VERDICT_GO_BACK_N, "were not sent again"));
	end();
}

static void test_timeout(void)
{
	struct vl_fault_event mute = bench_event("mute", TX, "ack", VL_FAULT_DROP);
	uint64_t least, mean, most;

	mute.match.nth = (struct vl_fault_range){20, 20};
	begin(SERVER);
	bench_faults(&bench, SERVER, &mute, 1);
	run(100 * MILLISECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	PASSES(RETRANSMIT_TIMEOUT);
	CU_ASSERT_TRUE(
		vl_verdict_measure(verdict, VL_VERDICT_RETRANSMIT_TIMEOUT, &least, &mean, &most));
	/* 4.096 us * 2^6 */
	CU_ASSERT_TRUE(least >= 255000 && most < 4 * 262144);
	end();
}

static void test_no_timeout(void)
{
	struct vl_fault_event mute = bench_event("mute", TX, "ack", VL_FAULT_DROP);

	mute.match.nth = (struct vl_fault_range){20, 20};
	begin(SERVER);
	bench_faults(&bench, SERVER, &mute, 1);
	bench.flow_config.timeout = 0;
	run(100 * MILLISECOND);
	CU_ASSERT_FALSE(bench_is_done(&bench));
	FAILS(RETRANSMIT_TIMEOUT);
	end();
}

/* A QP that was refused for good owes nothing. */
static void test_refused(void)
{
	struct vl_fault_event refuse = bench_event("refuse", RX, "request", VL_FAULT_NAK);

	refuse.match.psn = (struct vl_fault_range){6, 6};
	refuse.action.syndrome = 0x62;
	begin(SERVER);
	bench_faults(&bench, SERVER, &refuse, 1);
	run(100 * MILLISECOND);
	CU_ASSERT_FALSE(vl_verdict_has_failed(verdict));
	end();
}

/* ---- A peer that reads and writes what is not there ----------------------------------------- */

/* Between an endpoint and its wire: a NIC with a fault that no event has. */
struct broken {
	uint8_t rnr_code; /* read instead of the one that is there; 0: right */
	bool is_not_ecn_capable;
};
static struct broken broken;

static void seal(struct vl_frame *frame)
{
	struct vl_packet packet;
	uint32_t icrc;

	if (vl_parse(&packet, VL_LINK_ETHERNET, frame->data, frame->length, frame->length) !=
	    VL_PARSE_ok)
		return;
	icrc = htole32(vl_icrc_compute(&packet));
	memcpy(frame->data + (packet.icrc - packet.frame), &icrc, sizeof(icrc));
}

static bool broken_receive(void *context, struct vl_frame *frame, uint64_t now)
{
	const struct broken *nic = context;
	struct vl_packet packet;

	(void)now;
	if (vl_parse(&packet, VL_LINK_ETHERNET, frame->data, frame->length, frame->length) ==
		    VL_PARSE_ok &&
	    packet.opcode == VL_OP_ACKNOWLEDGE && packet.syndrome >> 5 == 1 && nic->rnr_code) {
		frame->data[packet.bth - packet.frame + sizeof(struct vl_bth)] =
			(uint8_t)(0x20 | nic->rnr_code);
		seal(frame);
	}
	return true;
}

static bool broken_transmit(void *context, struct vl_frame *frame, uint64_t now)
{
	const struct broken *nic = context;
	struct vl_packet packet;

	(void)now;
	if (!nic->is_not_ecn_capable || vl_parse(&packet, VL_LINK_ETHERNET, frame->data,
						 frame->length, frame->length) != VL_PARSE_ok)
		return true;
	/* The checksum's word grows by what the traffic class's loses. */
	if (frame->data[15] & 3) {
		uint32_t sum = (uint32_t)vl_load_be16(frame->data + 24) + (frame->data[15] & 3);

		frame->data[15] &= 0xfc;
		vl_store_be16(frame->data + 24, (uint16_t)((sum >> 16) + sum));
	}
	return true;
}

static struct vl_frame *nothing_received(void *context, uint64_t now)
{
	(void)context;
	(void)now;
	return NULL;
}

static bool nothing_transmitted(void *context, struct vl_frame *frame, uint64_t now)
{
	(void)context;
	(void)frame;
	(void)now;
	return false;
}

static uint64_t no_deadline(void *context)
{
	(void)context;
	return UINT64_MAX;
}

static void break_peer(struct broken nic)
{
	const struct vl_frame_filter filter = {.receive = broken_receive,
					       .next_received = nothing_received,
					       .transmit = broken_transmit,
					       .next_transmitted = nothing_transmitted,
					       .next_deadline = no_deadline,
					       .context = &broken};

	broken = nic;
	vl_endpoint_set_filter(bench_endpoint(&bench, !we), &filter);
}

static void run_broken(struct broken nic, uint64_t until)
{
	run(0);
	break_peer(nic);
	vl_verdict_destroy(verdict);
	verdict = vl_verdict_create(&expectations);
	CU_ASSERT_PTR_NOT_NULL_FATAL(verdict);
	bench_run(&bench, until);
	vl_verdict_finish(verdict, until);
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

	begin(SERVER);
	bench_faults(&bench, SERVER, &refuse, 1);
	run(100 * MILLISECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	PASSES(RNR_WAIT);
	CU_ASSERT_EQUAL(vl_verdict_passes(verdict, VL_VERDICT_RNR_WAIT), 2);
	end();
}

static void test_ignores_rnr_timer(void)
{
	struct vl_fault_event refuse = refuse_six();

	begin(SERVER);
	bench_faults(&bench, SERVER, &refuse, 1);
	bench.flow_config.start = 1000;
	run_broken((struct broken){.rnr_code = 2}, 100 * MILLISECOND);
	FAILS(RNR_WAIT);
	CU_ASSERT_EQUAL(vl_verdict_failures(verdict, VL_VERDICT_RNR_WAIT), 2);
	end();
}

static void test_not_ecn_capable(void)
{
	begin(SERVER);
	bench.flow_config.start = 1000;
	run_broken((struct broken){.is_not_ecn_capable = true}, 100 * MILLISECOND);
	expect(VL_VERDICT_DATA_ECN, VL_VERDICT_NOT_SEEN);
	end();
	begin(SERVER);
	expectations.expects_ecn = true;
	bench.flow_config.start = 1000;
	run_broken((struct broken){.is_not_ecn_capable = true}, 100 * MILLISECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	FAILS(DATA_ECN);
	end();
}

static void test_wrong_icrc(void)
{
	struct vl_fault_event spoil = bench_event("spoil", TX, "request", VL_FAULT_CORRUPT);

	spoil.match.every = 10;
	spoil.match.limit = 3;
	spoil.action.part = VL_FAULT_PART_ICRC;
	begin(SERVER);
	bench_faults(&bench, CLIENT, &spoil, 1);
	run(100 * MILLISECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	FAILS(ICRC);
	CU_ASSERT_EQUAL(vl_verdict_failures(verdict, VL_VERDICT_ICRC), 3);
	end();
}

static void test_wrong_class(void)
{
	begin(SERVER);
	expectations.data_dscp = 26;
	bench.flow_config.dscp = 10;
	run(100 * MILLISECOND);
	FAILS(DATA_CLASS);
	end();
	begin(SERVER);
	bench.flow_config.dscp = 48;
	run(100 * MILLISECOND);
	FAILS(DATA_CLASS);
	CU_ASSERT_TRUE(says(VL_VERDICT_DATA_CLASS, "which is for CNPs"));
	end();
}

/* ---- The peer answers ----------------------------------------------------------------------- */

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

	begin(CLIENT);
	bench_faults(&bench, CLIENT, &keep, 1);
	run(100 * MILLISECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	PASSES(SENDS_NAK);
	end();
}

static void test_no_nak(void)
{
	struct vl_fault_event keep = keep_six();
	struct vl_fault_event mute = bench_event("mute", TX, "nak", VL_FAULT_DROP);

	begin(CLIENT);
	expectations.nak_limit = 100000; /* our own timer brings it after 262 us */
	bench_faults(&bench, CLIENT, &keep, 1);
	bench_faults(&bench, SERVER, &mute, 1);
	run(100 * MILLISECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	FAILS(SENDS_NAK);
	end();
}

/* What was asked for is lost again, and more with it: the peer has said all that it says. */
static void test_nak_is_sent_once(void)
{
	struct vl_fault_event events[2] = {keep_six(), keep_six()};

	events[0].match.limit = 2;
	events[1].match.psn = (struct vl_fault_range){20, 20};
	begin(CLIENT);
	expectations.nak_limit = 100000;
	bench.flow_config.depth = 20;
	bench_faults(&bench, CLIENT, events, 2);
	run(100 * MILLISECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	PASSES(SENDS_NAK);
	CU_ASSERT_EQUAL(vl_verdict_passes(verdict, VL_VERDICT_SENDS_NAK), 1);
	end();
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

	begin(CLIENT);
	bench_faults(&bench, CLIENT, &twice, 1);
	run(100 * MILLISECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	PASSES(ANSWERS_DUPLICATES);
	CU_ASSERT_EQUAL(vl_verdict_passes(verdict, VL_VERDICT_ANSWERS_DUPLICATES), 1);
	end();
}

static void test_silent_on_duplicates(void)
{
	struct vl_fault_event twice = repeat_last();
	struct vl_fault_event mute = bench_event("mute", TX, "ack", VL_FAULT_DROP);

	mute.match.nth = (struct vl_fault_range){21, 21};
	begin(CLIENT);
	bench_faults(&bench, CLIENT, &twice, 1);
	bench_faults(&bench, SERVER, &mute, 1);
	run(100 * MILLISECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	FAILS(ANSWERS_DUPLICATES);
	end();
}

/* READ responses are the peer's data. */
static void test_reads(void)
{
	begin(CLIENT);
	bench.flow_config.verb = VL_FLOW_READ;
	run(100 * MILLISECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	CU_ASSERT_EQUAL(vl_verdict_passes(verdict, VL_VERDICT_DATA_CLASS), 40);
	CU_ASSERT_FALSE(vl_verdict_has_failed(verdict));
	end();
}

/* ---- CNPs ----------------------------------------------------------------------------------- */

static struct vl_cc_parameters parameters(const struct vl_cc_algorithm *algorithm)
{
	struct vl_cc_parameters made = {.algorithm = algorithm};

	CU_ASSERT_EQUAL_FATAL(vl_dcqcn_profile(&made.dcqcn, "nvidia"), 0);
	return made;
}

static void mark_all(struct vl_fault_event *mark)
{
	*mark = bench_event("mark", TX, "data", VL_FAULT_MARK_CE);
	begin(CLIENT);
	bench.flow_config.messages = 200;
	bench.flow_config.depth = 20;
	bench_faults(&bench, CLIENT, mark, 1);
}

static void test_cnps(void)
{
	struct vl_cc_parameters cc = parameters(&vl_cc_none);
	struct vl_fault_event mark;
	uint64_t least, mean, most;

	mark_all(&mark);
	bench.cc[SERVER] = &cc;
	run(100 * MILLISECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	expect(VL_VERDICT_SENDS_CNP, VL_VERDICT_PASS);
	expect(VL_VERDICT_CNP_CLASS, VL_VERDICT_PASS);
	PASSES(CNP_INTERVAL);
	CU_ASSERT_TRUE(vl_verdict_measure(verdict, VL_VERDICT_CNP_INTERVAL, &least, &mean, &most));
	/* 4 us, or up to one packet's time more. */
	CU_ASSERT_TRUE(least >= 3900 && mean < 4500);
	CU_ASSERT_TRUE(vl_verdict_measure(verdict, VL_VERDICT_SENDS_CNP, &least, &mean, &most));
	/* At once to the first; a mark behind a CNP waits for the next. */
	CU_ASSERT_TRUE(least >= 2000 && most < 7000);
	end();
}

/* Every other one comes late, close before the next: as many as there should be, though. */
static void test_bunched_cnps(void)
{
	struct vl_cc_parameters cc = parameters(&vl_cc_none);
	struct vl_fault_event mark, late = bench_event("late", TX, "cnp", VL_FAULT_DELAY);
	uint64_t least, mean, most;

	late.match.every = 2;
	late.action.delay = 3500;
	mark_all(&mark);
	bench.cc[SERVER] = &cc;
	bench_faults(&bench, SERVER, &late, 1);
	run(100 * MILLISECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	PASSES(CNP_INTERVAL);
	CU_ASSERT_TRUE(vl_verdict_measure(verdict, VL_VERDICT_CNP_INTERVAL, &least, &mean, &most));
	CU_ASSERT_TRUE(least < 1000);
	end();
}

static void test_no_cnps(void)
{
	struct vl_fault_event deaf = bench_event("deaf", RX, "", VL_FAULT_IGNORE_CE), mark;

	mark_all(&mark);
	bench_faults(&bench, SERVER, &deaf, 1);
	run(100 * MILLISECOND);
	FAILS(SENDS_CNP);
	end();
}

static void test_cnps_too_often(void)
{
	struct vl_cc_parameters cc = parameters(&vl_cc_none);
	struct vl_fault_event mark;

	cc.dcqcn.min_time_between_cnps = 0;
	mark_all(&mark);
	bench.cc[SERVER] = &cc;
	run(100 * MILLISECOND);
	FAILS(CNP_INTERVAL);
	end();
}

static void test_wrong_cnp_dscp(void)
{
	struct vl_cc_parameters cc = parameters(&vl_cc_none);
	struct vl_fault_event mark;

	cc.dcqcn.cnp_dscp = 26;
	mark_all(&mark);
	bench.cc[SERVER] = &cc;
	run(100 * MILLISECOND);
	FAILS(CNP_CLASS);
	CU_ASSERT_TRUE(says(VL_VERDICT_CNP_CLASS, "has DSCP 26, not 48"));
	end();
}

/* ---- Rates ---------------------------------------------------------------------------------- */

/* CNPs for 1 ms to a peer that sends as fast as it may. */
static void slow_down(struct vl_fault_event *event, struct vl_cc_parameters *cc)
{
	*event = bench_event("slow", RX, "data", VL_FAULT_CNP);
	event->match.from = MILLISECOND;
	event->match.until = 2 * MILLISECOND;
	event->match.every = 64;
	begin(SERVER);
	bench.flow_config.size = 1 << 20;
	bench.flow_config.messages = 0;
	bench.flow_config.stop = 60 * MILLISECOND;
	bench.cc[CLIENT] = cc;
	bench_faults(&bench, SERVER, event, 1);
}

static void test_cuts_rate(void)
{
	struct vl_cc_parameters cc = parameters(&vl_cc_dcqcn);
	struct vl_fault_event event;

	cc.dcqcn.rpg_time_reset = 50;
	slow_down(&event, &cc);
	run(80 * MILLISECOND);
	expect(VL_VERDICT_CUTS_RATE, VL_VERDICT_PASS);
	PASSES(RECOVERS_RATE);
	end();
}

static void test_does_not_cut_rate(void)
{
	struct vl_cc_parameters cc = parameters(&vl_cc_none);
	struct vl_fault_event event;

	slow_down(&event, &cc);
	run(80 * MILLISECOND);
	FAILS(CUTS_RATE);
	expect(VL_VERDICT_RECOVERS_RATE, VL_VERDICT_NOT_SEEN);
	end();
}

/* It may never rise by more than 1 Mb/s in a second. */
static void test_does_not_recover(void)
{
	struct vl_cc_parameters cc = parameters(&vl_cc_dcqcn);
	struct vl_fault_event event;

	cc.dcqcn.rpg_time_reset = 131071;
	cc.dcqcn.rpg_byte_reset = 0;
	slow_down(&event, &cc);
	expectations.recovery_limit = 20 * MILLISECOND;
	run(80 * MILLISECOND);
	FAILS(RECOVERS_RATE);
	end();
}

/* ---- Pauses --------------------------------------------------------------------------------- */

static void pause_peer(struct vl_fault_event *event, uint64_t response)
{
	*event = bench_event("pause", RX, "data", VL_FAULT_PAUSE);
	event->match.nth = (struct vl_fault_range){1000, 1000};
	event->action.priorities = 1 << 3;
	event->action.quanta = 65535;
	event->action.duration = MILLISECOND / 2;
	begin(SERVER);
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
	run(30 * MILLISECOND);
	expect(VL_VERDICT_HONOURS_PAUSE, VL_VERDICT_PASS);
	PASSES(PAUSE_RESPONSE);
	CU_ASSERT_TRUE(
		vl_verdict_measure(verdict, VL_VERDICT_PAUSE_RESPONSE, &least, &mean, &most));
	/* There and back, and up to two frames of 334 ns. */
	CU_ASSERT_TRUE(least >= 1500 && most <= 3000);
	end();
}

static void test_slow_to_pause(void)
{
	struct vl_fault_event event;

	pause_peer(&event, 100000);
	run(30 * MILLISECOND);
	expect(VL_VERDICT_HONOURS_PAUSE, VL_VERDICT_PASS);
	FAILS(PAUSE_RESPONSE);
	end();
}

static void test_ignores_pause(void)
{
	struct vl_fault_event event;

	pause_peer(&event, 1000 * MILLISECOND);
	run(30 * MILLISECOND);
	FAILS(HONOURS_PAUSE);
	end();
}

/* A second class, CNPs, while the data's is paused: the peer is the responder of marked data, and
 * paused in the class of its ACKs. */
static void test_pause_classes(void)
{
	struct vl_cc_parameters cc = parameters(&vl_cc_none);
	struct vl_fault_event events[2] = {bench_event("mark", TX, "data", VL_FAULT_MARK_CE),
					   bench_event("pause", TX, "data", VL_FAULT_PAUSE)};

	events[1].match.nth = (struct vl_fault_range){100, 100};
	events[1].action.priorities = 1 << 3;
	events[1].action.duration = 100000;
	begin(CLIENT);
	bench.flow_config.messages = 2000;
	bench.flow_config.depth = 200;
	bench.flow_config.timeout = 10;
	bench.cc[SERVER] = &cc;
	bench_faults(&bench, CLIENT, events, 2);
	run(100 * MILLISECOND);
	CU_ASSERT_TRUE(bench_is_done(&bench));
	expect(VL_VERDICT_HONOURS_PAUSE, VL_VERDICT_PASS);
	PASSES(PAUSE_CLASSES);
	end();
}

/* ---- Reports -------------------------------------------------------------------------------- */

static void test_report(void)
{
	struct vl_fault_event lose = lose_six();
	static char text[16384];
	struct vl_verdict *sum;
	json_t *json, *list;
	FILE *out;

	begin(SERVER);
	bench_faults(&bench, SERVER, &lose, 1);
	run(100 * MILLISECOND);
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
	end();
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
		{"ignores_rnr_timer", test_ignores_rnr_timer},
		{"not_ecn_capable", test_not_ecn_capable},
		{"wrong_icrc", test_wrong_icrc},
		{"wrong_class", test_wrong_class},
		{"sends_nak", test_sends_nak},
		{"no_nak", test_no_nak},
		{"nak_is_sent_once", test_nak_is_sent_once},
		{"answers_duplicates", test_answers_duplicates},
		{"silent_on_duplicates", test_silent_on_duplicates},
		{"reads", test_reads},
		{"cnps", test_cnps},
		{"bunched_cnps", test_bunched_cnps},
		{"no_cnps", test_no_cnps},
		{"cnps_too_often", test_cnps_too_often},
		{"wrong_cnp_dscp", test_wrong_cnp_dscp},
		{"cuts_rate", test_cuts_rate},
		{"does_not_cut_rate", test_does_not_cut_rate},
		{"does_not_recover", test_does_not_recover},
		{"pause", test_pause},
		{"slow_to_pause", test_slow_to_pause},
		{"ignores_pause", test_ignores_pause},
		{"pause_classes", test_pause_classes},
		{"report", test_report},
	};

	return RUN_SUITE("verdict", tests, argc, argv);
}
