/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* When the packets of a replay leave, and how their PSNs go on. */

#include "apps/replay/port/psn_flows.h"
#include "apps/replay/port/schedule.h"
#include "tests/support/suite.h"
#include "transport/wire/opcode.h"

#include <string.h>

static void test_recorded_times(void)
{
	struct schedule schedule = {.kind = SCHEDULE_RECORDED, .speed = 2};

	CU_ASSERT_EQUAL(schedule_next(&schedule, 1000000, 100), 0);
	CU_ASSERT_EQUAL(schedule_next(&schedule, 1000100, 100), 50);
	/* Recorded before the one before it: at once; and the next waits from the later of them. */
	CU_ASSERT_EQUAL(schedule_next(&schedule, 1000050, 100), 50);
	CU_ASSERT_EQUAL(schedule.backward, 1);
	CU_ASSERT_EQUAL(schedule_next(&schedule, 1000300, 100), 150);
	/* 300 ns between 4 packets: the next run begins 100 ns later, at twice the speed. */
	schedule_repeat(&schedule);
	CU_ASSERT_EQUAL(schedule_next(&schedule, 1000000, 100), 200);
	CU_ASSERT_EQUAL(schedule_next(&schedule, 1000100, 100), 250);
	CU_ASSERT_EQUAL(schedule.backward, 1);
	CU_ASSERT_EQUAL(schedule.last, 250);
}

/* Slowed down beyond all times: never, and not a time that has gone round. */
static void test_endless_waits(void)
{
	struct schedule slow = {.kind = SCHEDULE_RECORDED, .speed = 1e-6};
	struct schedule rare = {.kind = SCHEDULE_RATE, .rate = 1};

	CU_ASSERT_EQUAL(schedule_next(&slow, 0, 64), 0);
	CU_ASSERT_EQUAL(schedule_next(&slow, UINT64_C(1) << 62, 64), UINT64_C(1) << 62);
	rare.bits = UINT64_C(1) << 40;
	CU_ASSERT_EQUAL(schedule_next(&rare, 0, 64), UINT64_C(1) << 62);
}

/* A third of a nanosecond is not lost each time. */
static void test_speeds_do_not_drift(void)
{
	struct schedule schedule = {.kind = SCHEDULE_RECORDED, .speed = 3};
	uint64_t due = 0;

	for (uint64_t i = 0; i <= 3000000; i++)
		due = schedule_next(&schedule, i * 100, 64);
	CU_ASSERT(due >= 99999999 && due <= 100000001);
}

static void test_longest_wait(void)
{
	struct schedule schedule = {.kind = SCHEDULE_RECORDED, .speed = 1, .longest_wait = 1000};

	schedule_next(&schedule, 0, 64);
	CU_ASSERT_EQUAL(schedule_next(&schedule, 3600000000000, 64), 1000);
	CU_ASSERT_EQUAL(schedule_next(&schedule, 3600000000400, 64), 1400);
}

/* Rates hold to the nanosecond over any length. */
static void test_rates(void)
{
	struct schedule schedule = {.kind = SCHEDULE_RATE, .rate = 999999999, .speed = 1};
	uint64_t due = 0;

	for (unsigned int i = 0; i <= 1000000; i++)
		due = schedule_next(&schedule, 0, 1500);
	CU_ASSERT_EQUAL(due, 12000000012); /* 12e9 bits at 999,999,999 b/s, in ns, rounded down */
	schedule = (struct schedule){.kind = SCHEDULE_PACKETS, .rate = 3, .speed = 1};
	for (unsigned int i = 0; i <= 3000; i++)
		due = schedule_next(&schedule, 7, 64);
	CU_ASSERT_EQUAL(due, 1000000000000);
	schedule = (struct schedule){.kind = SCHEDULE_FASTEST, .speed = 1};
	schedule_next(&schedule, 5, 64);
	CU_ASSERT_EQUAL(schedule_next(&schedule, 500, 64), 0);
}

/* ---- PSNs ------------------------------------------------------------------------------ */

static struct psn_flows *flows;

/* Host a sends to a QP of host b. */
static struct vl_packet packet_of(uint8_t opcode, uint8_t a, uint8_t b, uint32_t qpn, uint32_t psn)
{
	struct vl_packet packet = {
		.info = &vl_opcode_table[opcode],
		.opcode = opcode,
		.destination_qpn = qpn,
		.psn = psn & 0xffffff,
	};

	packet.source_gid.raw[15] = a;
	packet.destination_gid.raw[15] = b;
	return packet;
}

static void see(uint8_t opcode, uint8_t a, uint8_t b, uint32_t qpn, uint32_t psn)
{
	struct vl_packet packet = packet_of(opcode, a, b, qpn, psn);

	psn_flows_see(flows, &packet);
}

static uint32_t step(uint8_t opcode, uint8_t a, uint8_t b, uint32_t qpn)
{
	struct vl_packet packet = packet_of(opcode, a, b, qpn, 0);

	return psn_flows_step(flows, &packet);
}

static void begin(void)
{
	psn_flows_free(flows);
	flows = psn_flows_new();
	CU_ASSERT_PTR_NOT_NULL_FATAL(flows);
}

/* Two connections between the same hosts, both directions of each with PSNs of their own. */
static void test_acknowledgements_keep_step(void)
{
	begin();
	for (uint32_t i = 0; i < 10; i++)
		see(VL_OP_SEND_ONLY, 1, 2, 0x20, 1000 + i);
	see(VL_OP_ACKNOWLEDGE, 2, 1, 0x10, 1004); /* coalesced */
	see(VL_OP_ACKNOWLEDGE, 2, 1, 0x10, 1009);
	for (uint32_t i = 0; i < 3; i++)
		see(VL_OP_WRITE_ONLY, 2, 1, 0x10, 0xfffffe + i); /* around the end */
	see(VL_OP_ACKNOWLEDGE, 1, 2, 0x20, 0);
	for (uint32_t i = 0; i < 7; i++)
		see(VL_OP_SEND_ONLY, 1, 2, 0x21, 5000 + i);
	see(VL_OP_ACKNOWLEDGE, 2, 1, 0x11, 5006);
	see(VL_OPCODE_CNP, 2, 1, 0x10, 0);
	psn_flows_settle(flows);
	CU_ASSERT_EQUAL(step(VL_OP_SEND_ONLY, 1, 2, 0x20), 10);
	CU_ASSERT_EQUAL(step(VL_OP_ACKNOWLEDGE, 2, 1, 0x10), 10);
	CU_ASSERT_EQUAL(step(VL_OP_WRITE_ONLY, 2, 1, 0x10), 3);
	CU_ASSERT_EQUAL(step(VL_OP_ACKNOWLEDGE, 1, 2, 0x20), 3);
	CU_ASSERT_EQUAL(step(VL_OP_SEND_ONLY, 1, 2, 0x21), 7);
	CU_ASSERT_EQUAL(step(VL_OP_ACKNOWLEDGE, 2, 1, 0x11), 7);
	CU_ASSERT_EQUAL(step(VL_OPCODE_CNP, 2, 1, 0x10), 0);
	CU_ASSERT_EQUAL(step(VL_OP_SEND_ONLY, 1, 2, 0x99), 0);
}

/* The last READ's responses go on past its request: the next run begins behind them. */
static void test_reads_take_their_responses(void)
{
	begin();
	see(VL_OP_READ_REQUEST, 1, 2, 0x20, 100);
	see(VL_OP_READ_RESPONSE_FIRST, 2, 1, 0x10, 100);
	for (uint32_t i = 1; i < 7; i++)
		see(VL_OP_READ_RESPONSE_MIDDLE, 2, 1, 0x10, 100 + i);
	see(VL_OP_READ_RESPONSE_LAST, 2, 1, 0x10, 107);
	psn_flows_settle(flows);
	CU_ASSERT_EQUAL(step(VL_OP_READ_REQUEST, 1, 2, 0x20), 8);
	CU_ASSERT_EQUAL(step(VL_OP_READ_RESPONSE_LAST, 2, 1, 0x10), 8);
}

/* Sent again is not sent further; what was recorded from one side alone goes by itself. */
static void test_retransmissions_and_one_side(void)
{
	begin();
	for (uint32_t i = 0; i < 8; i++)
		see(VL_OP_SEND_ONLY, 1, 2, 0x20, 10 + i);
	for (uint32_t i = 4; i < 8; i++)
		see(VL_OP_SEND_ONLY, 1, 2, 0x20, 10 + i);
	see(VL_OP_ACKNOWLEDGE, 4, 3, 0x30, 77);
	see(VL_OP_ACKNOWLEDGE, 4, 3, 0x30, 79);
	/* The recording began in the midst: an earlier PSN comes late. */
	see(VL_OP_SEND_ONLY, 5, 6, 0x40, 200);
	see(VL_OP_SEND_ONLY, 5, 6, 0x40, 198);
	psn_flows_settle(flows);
	CU_ASSERT_EQUAL(step(VL_OP_SEND_ONLY, 1, 2, 0x20), 8);
	CU_ASSERT_EQUAL(step(VL_OP_ACKNOWLEDGE, 4, 3, 0x30), 3);
	CU_ASSERT_EQUAL(step(VL_OP_SEND_ONLY, 5, 6, 0x40), 3);
}

static void test_too_many_flows(void)
{
	begin();
	for (uint32_t i = 0; i < PSN_FLOWS_MOST + 10; i++)
		see(VL_OP_SEND_ONLY, 1, 2, i, 5);
	psn_flows_settle(flows);
	CU_ASSERT_EQUAL(psn_flows_beyond(flows), 10);
	CU_ASSERT_EQUAL(step(VL_OP_SEND_ONLY, 1, 2, PSN_FLOWS_MOST - 1), 1);
	CU_ASSERT_EQUAL(step(VL_OP_SEND_ONLY, 1, 2, PSN_FLOWS_MOST), 0);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"recorded_times", test_recorded_times},
		{"endless_waits", test_endless_waits},
		{"speeds_do_not_drift", test_speeds_do_not_drift},
		{"longest_wait", test_longest_wait},
		{"rates", test_rates},
		{"acknowledgements_keep_step", test_acknowledgements_keep_step},
		{"reads_take_their_responses", test_reads_take_their_responses},
		{"retransmissions_and_one_side", test_retransmissions_and_one_side},
		{"too_many_flows", test_too_many_flows},
	};
	int status = RUN_SUITE("replay_feed", tests, argc, argv);

	psn_flows_free(flows);
	return status;
}
