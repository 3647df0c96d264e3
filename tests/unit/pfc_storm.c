/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/pfc_storm.h"
#include "tests/support/suite.h"

#include <string.h>

#define RATE_400G UINT64_C(400000000000)
#define RATE_100G UINT64_C(100000000000)

static struct vl_pfc_storm storm; /* too large for a stack */
static struct vl_pfc_receiver peer;

static const struct vl_pfc_storm_config classes_3_and_4 = {
	.mac = {2, 0, 0, 0, 0, 1},
	.classes = 0x18,
	.rate = RATE_400G,
	.quanta = 65535,
};

static void begin(const struct vl_pfc_storm_config *config)
{
	CU_ASSERT_EQUAL_FATAL(vl_pfc_storm_init(&storm, config, 1000), 0);
	vl_pfc_receiver_init(&peer, vl_rate_make(config->rate), 0);
}

/* The frame goes out late ns after it was due, and the peer has it at once. Returns its time. */
static uint64_t send(uint64_t late)
{
	uint8_t frame[VL_PFC_FRAME_LENGTH];
	uint64_t now = storm.due + late;
	struct vl_pfc pfc;

	CU_ASSERT_FALSE(vl_pfc_storm_is_due(&storm, storm.due - 1));
	CU_ASSERT_TRUE(vl_pfc_storm_is_due(&storm, now));
	vl_pfc_storm_write(&storm, frame, now);
	CU_ASSERT_EQUAL(vl_pfc_parse(frame, sizeof(frame), &pfc), VL_MAC_CONTROL_PFC);
	CU_ASSERT_EQUAL(pfc.is_global, storm.config.is_global);
	vl_pfc_receiver_update(&peer, now);
	vl_pfc_receiver_take(&peer, &pfc, now);
	vl_pfc_receiver_update(&peer, now);
	vl_pfc_storm_sent(&storm, now);
	return now;
}

static void test_single_frame(void)
{
	struct vl_pfc_storm_config config = classes_3_and_4;

	config.quanta = 1000;
	begin(&config);
	send(0);
	CU_ASSERT_TRUE(vl_pfc_storm_is_over(&storm));
	CU_ASSERT_EQUAL(peer.paused, 0x18);
	vl_pfc_receiver_update(&peer, 10000);
	CU_ASSERT_EQUAL(peer.paused_time[3], 1280); /* 1000 * 512 bits at 400 Gb/s */
	CU_ASSERT_EQUAL(peer.paused_time[2], 0);
	CU_ASSERT_EQUAL(storm.frames, 1);
	CU_ASSERT_EQUAL(storm.pauses, 1);
}

/* 65,535 quanta are 83,885 ns at 400 Gb/s, 60 % of them 50,331 ns; the peer's pause never ends. */
static void test_storm(void)
{
	struct vl_pfc_storm_config config = classes_3_and_4;
	uint64_t now = 0;

	config.hold = VL_PFC_HOLD_FOREVER;
	begin(&config);
	CU_ASSERT_EQUAL(storm.pause_time, 83885);
	CU_ASSERT_EQUAL(storm.config.longest_gap, 50331);
	for (unsigned int i = 0; i < 1000; i++) {
		now = send(i % 7 * 1000);
		CU_ASSERT_EQUAL(peer.paused, 0x18);
	}
	CU_ASSERT_EQUAL(peer.paused_time[3], now - 1000);
	CU_ASSERT_EQUAL(storm.gaps.count, 999);
	CU_ASSERT_EQUAL(storm.late_gaps + storm.stolen_gaps + storm.broken, 0);
	CU_ASSERT(storm.gaps.most <= 50331);

	/* A gap in the limit is none; beyond it somebody is to blame; beyond the pause it broke. */
	send(storm.config.longest_gap - storm.interval);
	CU_ASSERT_EQUAL(storm.late_gaps, 0);
	send(storm.config.longest_gap - storm.interval + 1);
	CU_ASSERT_EQUAL(storm.late_gaps, 1);
	vl_pfc_storm_kept(&storm, 40000);
	send(40000);
	CU_ASSERT_EQUAL(storm.stolen_gaps, 1);
	CU_ASSERT_EQUAL(storm.late_gaps, 1);
	CU_ASSERT_EQUAL(storm.broken, 0);
	send(storm.pause_time);
	CU_ASSERT_EQUAL(storm.late_gaps, 2);
	CU_ASSERT_EQUAL(storm.broken, 1);

	/* The end is said. */
	vl_pfc_storm_stop(&storm, storm.last_sent + 5000);
	now = send(0);
	CU_ASSERT_EQUAL(peer.paused, 0);
	CU_ASSERT_EQUAL(peer.resumes[4], 1);
	CU_ASSERT_TRUE(vl_pfc_storm_is_over(&storm));
}

/* Whatever the length and however late the frames, the pause lasts as long as asked for. */
static void test_exact_duration(void)
{
	static const uint64_t holds[] = {1, 500, 83884, 83885, 83886, 100000, 1000000, 12345678};

	for (unsigned int i = 0; i < sizeof(holds) / sizeof(holds[0]); i++) {
		struct vl_pfc_storm_config config = classes_3_and_4;
		uint64_t first = 0, error;

		config.hold = holds[i];
		begin(&config);
		for (unsigned int k = 0; !vl_pfc_storm_is_over(&storm); k++) {
			uint64_t sent = send(k * 977 % 9000);

			first = k ? first : sent;
		}
		error = peer.until[3] - first;
		error = error > holds[i] ? error - holds[i] : holds[i] - error;
		CU_ASSERT(error <= 2); /* half a quantum and its rounding; a quantum is 1.28 ns */
		vl_pfc_receiver_update(&peer, first + holds[i] + 10);
		CU_ASSERT_EQUAL(peer.paused, 0);
		CU_ASSERT_EQUAL(peer.resumes[3], 0);
		CU_ASSERT_EQUAL(storm.pauses, 1);
	}
}

static void test_rhythm(void)
{
	struct vl_pfc_storm_config config = classes_3_and_4;
	uint64_t begins[5], frames = 0;

	config.rate = RATE_100G;
	config.hold = 500000;
	config.period = 2000000;
	config.count = 5;
	begin(&config);
	while (!vl_pfc_storm_is_over(&storm)) {
		bool is_first = !storm.in_pause;
		uint64_t now = send(0);

		if (is_first && storm.pauses <= 5)
			begins[storm.pauses - 1] = now;
		frames++;
	}
	CU_ASSERT_EQUAL(storm.pauses, 5);
	CU_ASSERT_EQUAL(storm.frames, frames);
	CU_ASSERT_EQUAL(begins[4], 1000 + 4 * 2000000);
	vl_pfc_receiver_update(&peer, UINT64_C(1) << 40);
	CU_ASSERT(peer.paused_time[3] >= 2500000 - 15 && peer.paused_time[3] <= 2500000 + 15);
	/* Gaps are those inside a pause. */
	CU_ASSERT_EQUAL(storm.gaps.count, frames - 5);
	CU_ASSERT(storm.gaps.most < 335540);
}

static void test_global(void)
{
	struct vl_pfc_storm_config config = classes_3_and_4;

	config.classes = 0;
	config.is_global = true;
	config.hold = 300000;
	begin(&config);
	while (!vl_pfc_storm_is_over(&storm))
		send(0);
	CU_ASSERT_EQUAL(peer.paused, 0xff);
	vl_pfc_receiver_update(&peer, 1000000);
	for (unsigned int i = 0; i < VL_PFC_PRIORITIES; i++)
		CU_ASSERT(peer.paused_time[i] >= 299998 && peer.paused_time[i] <= 300002);
}

static void test_refusals(void)
{
	struct vl_pfc_storm_config config = classes_3_and_4;

	config.classes = 0;
	CU_ASSERT_NOT_EQUAL(vl_pfc_storm_init(&storm, &config, 0), 0);
	config = classes_3_and_4;
	config.rate = 0;
	CU_ASSERT_NOT_EQUAL(vl_pfc_storm_init(&storm, &config, 0), 0);
	config = classes_3_and_4;
	config.quanta = 0;
	CU_ASSERT_EQUAL(vl_pfc_storm_init(&storm, &config, 0), 0);
	config.hold = 1;
	CU_ASSERT_NOT_EQUAL(vl_pfc_storm_init(&storm, &config, 0), 0);
	config = classes_3_and_4;
	config.hold = VL_PFC_HOLD_FOREVER;
	config.longest_gap = 83885;
	CU_ASSERT_NOT_EQUAL(vl_pfc_storm_init(&storm, &config, 0), 0);
	config = classes_3_and_4;
	config.hold = 1000;
	config.period = 1000;
	CU_ASSERT_NOT_EQUAL(vl_pfc_storm_init(&storm, &config, 0), 0);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"single_frame", test_single_frame},
		{"storm", test_storm},
		{"exact_duration", test_exact_duration},
		{"rhythm", test_rhythm},
		{"global", test_global},
		{"refusals", test_refusals},
	};

	return RUN_SUITE("pfc_storm", tests, argc, argv);
}
