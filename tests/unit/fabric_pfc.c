/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/pfc.h"
#include "tests/support/suite.h"

#include <string.h>

static const uint8_t mac[6] = {0x02, 0, 0, 0, 0, 0x17};
static const struct vl_rate rate_100g = {100000000000, 184467440};

static struct vl_pfc pause_of(uint8_t priority, uint16_t quanta)
{
	struct vl_pfc pfc = {.enabled = (uint8_t)(1u << priority)};

	pfc.quanta[priority] = quanta;
	return pfc;
}

/* The bytes of 802.3 annex 31D, written out. */
static void test_frame_bytes(void)
{
	static const uint8_t expected[VL_PFC_FRAME_LENGTH] = {
		0x01, 0x80, 0xc2, 0x00, 0x00, 0x01, 0x02, 0, 0, 0, 0, 0x17,
		0x88, 0x08, 0x01, 0x01, 0x00, 0x48, 0,    0, 0, 0, 0, 0,
		0xff, 0xff, 0,    0,    0,    0,    0,    0, 0, 0};
	struct vl_pfc pfc = {.enabled = 0x48}, parsed;
	uint8_t frame[VL_PFC_FRAME_LENGTH];

	pfc.quanta[3] = 0xffff;
	pfc.quanta[5] = 0x1234; /* not enabled: not said */
	vl_pfc_write(frame, mac, &pfc);
	CU_ASSERT_EQUAL(memcmp(frame, expected, sizeof(frame)), 0);
	CU_ASSERT_EQUAL(vl_pfc_parse(frame, sizeof(frame), &parsed), VL_MAC_CONTROL_PFC);
	CU_ASSERT_EQUAL(parsed.enabled, 0x48);
	CU_ASSERT_EQUAL(parsed.quanta[3], 0xffff);
	CU_ASSERT_EQUAL(parsed.quanta[6], 0);
}

static void test_other_frames(void)
{
	uint8_t frame[VL_PFC_FRAME_LENGTH];
	struct vl_pfc pfc = {.enabled = 1}, parsed;

	vl_pfc_write(frame, mac, &pfc);
	CU_ASSERT_EQUAL(vl_pfc_parse(frame, 34, &parsed), VL_MAC_CONTROL_PFC);
	for (uint32_t length = 14; length < 34; length++)
		CU_ASSERT_EQUAL(vl_pfc_parse(frame, length, &parsed), VL_MAC_CONTROL_IGNORED);
	for (uint32_t length = 0; length < 14; length++)
		CU_ASSERT_EQUAL(vl_pfc_parse(frame, length, &parsed), VL_MAC_CONTROL_NONE);
	frame[14] = 2; /* no opcode that there is */
	CU_ASSERT_EQUAL(vl_pfc_parse(frame, sizeof(frame), &parsed), VL_MAC_CONTROL_IGNORED);
	frame[12] = 8;
	CU_ASSERT_EQUAL(vl_pfc_parse(frame, sizeof(frame), &parsed), VL_MAC_CONTROL_NONE);
}

/* The bytes of 802.3 annex 31B, written out: all classes, whatever they are. */
static void test_global_pause(void)
{
	static const uint8_t expected[VL_PFC_FRAME_LENGTH] = {
		0x01, 0x80, 0xc2, 0x00, 0x00, 0x01, 0x02, 0,    0,    0,
		0,    0x17, 0x88, 0x08, 0x00, 0x01, 0x00, 0x64, 0x00, 0x00};
	struct vl_pfc pause = {.is_global = true, .quanta = {100}}, parsed;
	struct vl_pfc_receiver receiver;
	uint8_t frame[VL_PFC_FRAME_LENGTH];

	vl_pfc_write(frame, mac, &pause);
	CU_ASSERT_EQUAL(memcmp(frame, expected, sizeof(frame)), 0);
	CU_ASSERT_EQUAL(vl_pfc_parse(frame, 17, &parsed), VL_MAC_CONTROL_IGNORED);
	CU_ASSERT_EQUAL(vl_pfc_parse(frame, 18, &parsed), VL_MAC_CONTROL_PFC);
	CU_ASSERT_TRUE(parsed.is_global);
	CU_ASSERT_EQUAL(parsed.enabled, 0xff);
	for (unsigned int i = 0; i < VL_PFC_PRIORITIES; i++)
		CU_ASSERT_EQUAL(parsed.quanta[i], 100);

	vl_pfc_receiver_init(&receiver, rate_100g, 1000);
	vl_pfc_receiver_take(&receiver, &parsed, 0);
	vl_pfc_receiver_update(&receiver, 1000);
	CU_ASSERT_EQUAL(receiver.paused, 0xff);
	CU_ASSERT_EQUAL(receiver.next_change, 1512);
	pause.quanta[0] = 0;
	vl_pfc_write(frame, mac, &pause);
	vl_pfc_parse(frame, sizeof(frame), &parsed);
	vl_pfc_receiver_take(&receiver, &parsed, 100);
	vl_pfc_receiver_update(&receiver, 1100);
	CU_ASSERT_EQUAL(receiver.paused, 0);
	CU_ASSERT_EQUAL(receiver.global_frames, 2);
	for (unsigned int i = 0; i < VL_PFC_PRIORITIES; i++) {
		CU_ASSERT_EQUAL(receiver.frames[i], 1);
		CU_ASSERT_EQUAL(receiver.resumes[i], 1);
		CU_ASSERT_EQUAL(receiver.paused_time[i], 100);
	}
}

/* A quantum at 100 Gb/s is 5.12 ns: 100 of them end at 512 ns. */
static void test_pause_ends_exactly(void)
{
	struct vl_pfc_receiver receiver;
	struct vl_pfc pfc = pause_of(3, 100);

	CU_ASSERT_EQUAL(vl_rate_make(100000000000).reciprocal, rate_100g.reciprocal);
	vl_pfc_receiver_init(&receiver, rate_100g, 0);
	CU_ASSERT_FALSE(vl_pfc_receiver_update(&receiver, 900));
	vl_pfc_receiver_take(&receiver, &pfc, 1000);
	CU_ASSERT_TRUE(vl_pfc_receiver_update(&receiver, 1000));
	CU_ASSERT_EQUAL(receiver.paused, 0x08);
	CU_ASSERT_EQUAL(receiver.next_change, 1512);
	CU_ASSERT_FALSE(vl_pfc_receiver_update(&receiver, 1511));
	CU_ASSERT_EQUAL(vl_pfc_receiver_paused_time(&receiver, 3, 1511), 511);
	CU_ASSERT_EQUAL(receiver.paused, 0x08);
	CU_ASSERT_TRUE(vl_pfc_receiver_update(&receiver, 1512));
	CU_ASSERT_EQUAL(receiver.paused, 0);
	CU_ASSERT_EQUAL(receiver.paused_time[3], 512);
	CU_ASSERT_EQUAL(vl_pfc_receiver_paused_time(&receiver, 3, 9999), 512);
	CU_ASSERT_EQUAL(receiver.frames[3], 1);
	CU_ASSERT_EQUAL(receiver.next_change, UINT64_MAX);
}

/* Longest pauses of the usual rates, ns: 65535 * 512 bits, rounded up. */
static void test_longest_pauses(void)
{
	static const struct {
		uint64_t gbps, ns;
	} cases[] = {{10, 3355392}, {25, 1342157}, {40, 838848}, {100, 335540},
		     {200, 167770}, {400, 83885},  {800, 41943}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct vl_pfc_receiver receiver;
		struct vl_pfc pfc = pause_of(0, 65535);

		vl_pfc_receiver_init(&receiver, vl_rate_make(cases[i].gbps * 1000000000), 0);
		vl_pfc_receiver_take(&receiver, &pfc, 0);
		vl_pfc_receiver_update(&receiver, 0);
		CU_ASSERT_EQUAL(receiver.next_change, cases[i].ns);
	}
}

static void test_refresh_xon_and_independence(void)
{
	struct vl_pfc_receiver receiver;
	struct vl_pfc long_pause = pause_of(3, 100), other = pause_of(4, 50), xon = pause_of(3, 0);

	vl_pfc_receiver_init(&receiver, rate_100g, 0);
	vl_pfc_receiver_take(&receiver, &long_pause, 0);
	vl_pfc_receiver_update(&receiver, 0);
	vl_pfc_receiver_take(&receiver, &long_pause, 400); /* replaces, does not add */
	vl_pfc_receiver_update(&receiver, 400);
	CU_ASSERT_EQUAL(receiver.until[3], 912);
	vl_pfc_receiver_take(&receiver, &other, 500);
	vl_pfc_receiver_update(&receiver, 500);
	CU_ASSERT_EQUAL(receiver.paused, 0x18);
	CU_ASSERT_EQUAL(receiver.next_change, 756);
	vl_pfc_receiver_take(&receiver, &xon, 600);
	CU_ASSERT_TRUE(vl_pfc_receiver_update(&receiver, 600));
	CU_ASSERT_EQUAL(receiver.paused, 0x10);
	CU_ASSERT_EQUAL(receiver.paused_time[3], 600);
	CU_ASSERT_EQUAL(receiver.resumes[3], 1);
	CU_ASSERT_TRUE(vl_pfc_receiver_update(&receiver, 5000));
	CU_ASSERT_EQUAL(receiver.paused, 0);
	CU_ASSERT_EQUAL(receiver.paused_time[4], 256);
}

static void test_response_delay(void)
{
	struct vl_pfc_receiver receiver;
	struct vl_pfc pause = pause_of(3, 100), xon = pause_of(3, 0);

	vl_pfc_receiver_init(&receiver, rate_100g, 1000);
	vl_pfc_receiver_take(&receiver, &pause, 0);
	vl_pfc_receiver_take(&receiver, &xon, 300);
	CU_ASSERT_FALSE(vl_pfc_receiver_update(&receiver, 999));
	CU_ASSERT_EQUAL(receiver.next_change, 1000);
	CU_ASSERT_TRUE(vl_pfc_receiver_update(&receiver, 1000));
	CU_ASSERT_EQUAL(receiver.paused, 0x08);
	CU_ASSERT_EQUAL(receiver.next_change, 1300);
	CU_ASSERT_TRUE(vl_pfc_receiver_update(&receiver, 2000));
	CU_ASSERT_EQUAL(receiver.paused, 0);
	CU_ASSERT_EQUAL(receiver.paused_time[3], 300);
	/* A caller who comes late has missed a pause, but not its time. */
	vl_pfc_receiver_take(&receiver, &pause, 3000);
	CU_ASSERT_FALSE(vl_pfc_receiver_update(&receiver, 9000));
	CU_ASSERT_EQUAL(receiver.paused_time[3], 300 + 512);
}

/* What is in force lasts longer, the rest is not touched, and a frame ends it all the same. */
static void test_held_pauses(void)
{
	struct vl_pfc pause = pause_of(3, 1000), resume = pause_of(3, 0); /* 5120 ns */
	struct vl_pfc_receiver receiver;

	vl_pfc_receiver_init(&receiver, rate_100g, 0);
	vl_pfc_receiver_hold(&receiver, 50000);
	CU_ASSERT_EQUAL(receiver.next_change, UINT64_MAX);
	vl_pfc_receiver_take(&receiver, &pause, 1000);
	vl_pfc_receiver_update(&receiver, 1000);
	vl_pfc_receiver_hold(&receiver, 2000); /* shorter than it is: nothing */
	CU_ASSERT_EQUAL(receiver.next_change, 6120);
	vl_pfc_receiver_hold(&receiver, 9000);
	vl_pfc_receiver_update(&receiver, 8999);
	CU_ASSERT_EQUAL(receiver.paused, 0x08);
	vl_pfc_receiver_update(&receiver, 9000);
	CU_ASSERT_EQUAL(receiver.paused, 0);
	CU_ASSERT_EQUAL(vl_pfc_receiver_paused_time(&receiver, 3, 9000), 8000);
	vl_pfc_receiver_take(&receiver, &pause, 10000);
	vl_pfc_receiver_update(&receiver, 10000);
	vl_pfc_receiver_hold(&receiver, 100000);
	vl_pfc_receiver_take(&receiver, &resume, 11000);
	vl_pfc_receiver_update(&receiver, 11000);
	CU_ASSERT_EQUAL(receiver.paused, 0);
	CU_ASSERT_EQUAL(vl_pfc_receiver_paused_time(&receiver, 3, 11000), 9000);
}

static void test_many_pending(void)
{
	struct vl_pfc_receiver receiver;
	struct vl_pfc pause = pause_of(1, 1);

	vl_pfc_receiver_init(&receiver, rate_100g, 1000);
	for (unsigned int i = 0; i < VL_PFC_PENDING; i++)
		vl_pfc_receiver_take(&receiver, &pause, i);
	CU_ASSERT_EQUAL(receiver.paused, 0);
	vl_pfc_receiver_take(&receiver, &pause, 500); /* the oldest takes force at once */
	CU_ASSERT_EQUAL(receiver.paused, 2);
	CU_ASSERT_EQUAL(receiver.pending_count, VL_PFC_PENDING);
	vl_pfc_receiver_update(&receiver, 5000);
	CU_ASSERT_EQUAL(receiver.pending_count, 0);
	CU_ASSERT_EQUAL(receiver.paused, 0);
}

static void test_sender(void)
{
	struct vl_pfc_sender sender;
	uint8_t frame[VL_PFC_FRAME_LENGTH];
	struct vl_pfc pfc;

	vl_pfc_sender_init(&sender, mac, rate_100g, 1000); /* 5120 ns */
	CU_ASSERT_FALSE(vl_pfc_sender_is_due(&sender, 0));
	CU_ASSERT_EQUAL(vl_pfc_sender_write(&sender, frame, 0), 0);
	CU_ASSERT_TRUE(vl_pfc_sender_want(&sender, 3, true));
	CU_ASSERT_FALSE(vl_pfc_sender_want(&sender, 3, true));
	CU_ASSERT_TRUE(vl_pfc_sender_is_due(&sender, 0));
	CU_ASSERT_EQUAL(vl_pfc_sender_write(&sender, frame, 100), VL_PFC_FRAME_LENGTH);
	vl_pfc_parse(frame, sizeof(frame), &pfc);
	CU_ASSERT_EQUAL(pfc.enabled, 8);
	CU_ASSERT_EQUAL(pfc.quanta[3], 1000);

	/* Held up at half its time, so that it never ends by itself. */
	CU_ASSERT_FALSE(vl_pfc_sender_is_due(&sender, 100 + 2559));
	CU_ASSERT_TRUE(vl_pfc_sender_is_due(&sender, 100 + 2560));
	CU_ASSERT_EQUAL(vl_pfc_sender_write(&sender, frame, 2660), VL_PFC_FRAME_LENGTH);
	CU_ASSERT_EQUAL(sender.frames[3], 2);

	/* A second priority does not forget the first; ending one says so once. */
	CU_ASSERT_TRUE(vl_pfc_sender_want(&sender, 4, true));
	vl_pfc_sender_write(&sender, frame, 2700);
	CU_ASSERT_TRUE(vl_pfc_sender_want(&sender, 3, false));
	vl_pfc_sender_write(&sender, frame, 2800);
	vl_pfc_parse(frame, sizeof(frame), &pfc);
	CU_ASSERT_EQUAL(pfc.enabled, 0x18);
	CU_ASSERT_EQUAL(pfc.quanta[3], 0);
	CU_ASSERT_EQUAL(pfc.quanta[4], 1000);
	CU_ASSERT_EQUAL(sender.resumes[3], 1);

	/* What was wanted and no longer is before the frame went is not said at all. */
	CU_ASSERT_TRUE(vl_pfc_sender_want(&sender, 5, true));
	CU_ASSERT_FALSE(vl_pfc_sender_want(&sender, 5, false));
	CU_ASSERT_FALSE(vl_pfc_sender_is_due(&sender, 2900));
	vl_pfc_sender_want(&sender, 4, false);
	vl_pfc_sender_write(&sender, frame, 3000);
	CU_ASSERT_FALSE(vl_pfc_sender_is_due(&sender, UINT64_MAX - 1));
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"frame_bytes", test_frame_bytes},
		{"other_frames", test_other_frames},
		{"global_pause", test_global_pause},
		{"pause_ends_exactly", test_pause_ends_exactly},
		{"longest_pauses", test_longest_pauses},
		{"refresh_xon_and_independence", test_refresh_xon_and_independence},
		{"response_delay", test_response_delay},
		{"held_pauses", test_held_pauses},
		{"many_pending", test_many_pending},
		{"sender", test_sender},
	};

	return RUN_SUITE("fabric_pfc", tests, argc, argv);
}
