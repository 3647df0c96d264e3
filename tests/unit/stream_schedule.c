/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* When open-loop streams send: rates, bursts, limits, pauses, congestion control. */

#include "tests/support/stream_rig.h"
#include "tests/support/suite.h"
#include "transport/wire/opcode.h"
#include "transport/wire/packet.h"

#include <stdio.h>

/* Polls at odd times until the end, never longer apart than arrears allow; returns what was sent.
 */
static struct vl_stream_counters run_until(uint64_t from, uint64_t until)
{
	struct vl_stream_slot slots[BUFFERS];
	uint64_t now = from, step = 1;

	while (now < until) {
		while (stream_test_make(now, slots, BUFFERS) == BUFFERS)
			;
		step = step * 7 % 1000003;
		now += step < 500000 ? step : 500000;
	}
	while (stream_test_make(until - 1, slots, BUFFERS) == BUFFERS)
		;
	return *vl_stream_counters(stream);
}

static void check_rate(struct vl_stream_config *config, uint64_t duration, double expected,
		       double (*measure)(const struct vl_stream_counters *counters))
{
	struct vl_stream_counters first, second;
	double seconds = (double)duration * 1e-9, found;

	stream_test_open(config, 1000);
	first = run_until(1000, 1000 + duration);
	second = run_until(1000 + duration, 1000 + 2 * duration);
	found = (measure(&second) - measure(&first)) / seconds;
	if (found < expected * 0.999 || found > expected * 1.001)
		fprintf(stderr, "expected %g, found %g\n", expected, found);
	CU_ASSERT(found >= expected * 0.999 && found <= expected * 1.001);
	CU_ASSERT_EQUAL(second.arrears_dropped, 0);
	stream_test_close();
}

static double wire_bits(const struct vl_stream_counters *counters)
{
	return 8 * (double)(counters->bytes_tx + 24 * counters->frames_tx);
}

static double frame_count(const struct vl_stream_counters *counters)
{
	return (double)counters->frames_tx;
}

static double message_count(const struct vl_stream_counters *counters)
{
	return (double)counters->message_tx;
}

static void check_rates(void)
{
	static const struct vl_stream_size sizes[] = {{4096, 3}, {100, 2}, {9000, 1}};
	struct vl_stream_config config =
		stream_test_config(IBV_QPT_RC, IBV_WR_RDMA_WRITE, sizes, 3);

	config.flow_count = 3;
	config.bits_per_second = 10000000;
	check_rate(&config, UINT64_C(20000000000), 1e7, wire_bits);
	config.bits_per_second = 25000000000;
	check_rate(&config, 20000000, 25e9, wire_bits);
	config.burst = 1000;
	check_rate(&config, 200000000, 25e9, wire_bits);
	config.burst = 64;
	config.bits_per_second = 800000000000;
	check_rate(&config, 3000000, 800e9, wire_bits);
	config.bits_per_second = 0;
	config.burst = 0;
	config.frames_per_second = 333333.3;
	check_rate(&config, 100000000, 333333.3, frame_count);
	config.frames_per_second = 0;
	config.messages_per_second = 12345;
	check_rate(&config, UINT64_C(2000000000), 12345, message_count);
}

static void check_bursts(void)
{
	static const struct vl_stream_size sizes[] = {{1000, 1}};
	struct vl_stream_config config = stream_test_config(IBV_QPT_UC, IBV_WR_SEND, sizes, 1);
	struct vl_stream_slot slots[BUFFERS];

	config.flow_count = 2;
	config.burst = 3;
	config.frames_per_second = 1000;
	config.start_delay = 500;
	stream_test_open(&config, 0);
	CU_ASSERT_EQUAL(vl_stream_group_next_deadline(group), 500);
	CU_ASSERT_EQUAL(stream_test_make(499, slots, BUFFERS), 0);
	CU_ASSERT_EQUAL(stream_test_make(500, slots, BUFFERS), 3);
	CU_ASSERT_EQUAL(slots[2].flow, 0);
	CU_ASSERT_EQUAL(vl_stream_group_next_deadline(group), 3000500);
	CU_ASSERT_EQUAL(stream_test_make(3000499, slots, BUFFERS), 0);
	/* A burst that does not fit is finished as soon as there is room. */
	CU_ASSERT_EQUAL(stream_test_make(3000500, slots, 2), 2);
	CU_ASSERT_EQUAL(slots[1].flow, 1);
	CU_ASSERT_EQUAL(vl_stream_group_next_deadline(group), 0);
	CU_ASSERT_EQUAL(stream_test_make(3000500, slots, BUFFERS), 1);
	CU_ASSERT_EQUAL(vl_stream_group_next_deadline(group), 6000500);
	stream_test_close();
}

static void check_messages_in_bursts(void)
{
	static const struct vl_stream_size sizes[] = {{4000, 1}};
	struct vl_stream_config config = stream_test_config(IBV_QPT_UC, IBV_WR_SEND, sizes, 1);
	struct vl_stream_slot slots[BUFFERS];

	config.flow_count = 2;
	config.messages_per_second = 1000;
	stream_test_open(&config, 0);
	CU_ASSERT_EQUAL(stream_test_make(0, slots, BUFFERS), 4);
	CU_ASSERT_EQUAL(slots[3].flow, 0);
	CU_ASSERT_EQUAL(stream_test_make(999999, slots, BUFFERS), 0);
	CU_ASSERT_EQUAL(stream_test_make(1000000, slots, BUFFERS), 4);
	CU_ASSERT_EQUAL(slots[0].flow, 1);
	stream_test_close();
}

static void check_ends(void)
{
	static const struct vl_stream_size sizes[] = {{3000, 1}};
	struct vl_stream_config config = stream_test_config(IBV_QPT_UC, IBV_WR_SEND, sizes, 1);
	struct vl_stream_slot slots[BUFFERS];
	uint32_t frames = 0, made;

	/* Every message that has begun is finished. */
	config.flow_count = 3;
	config.message_limit = 4;
	stream_test_open(&config, 0);
	while ((made = stream_test_make(0, slots, BUFFERS)))
		frames += made;
	CU_ASSERT_EQUAL(frames, 12);
	CU_ASSERT_EQUAL(vl_stream_counters(stream)->message_tx, 4);
	CU_ASSERT_TRUE(vl_stream_is_done(stream, 0));
	CU_ASSERT_EQUAL(vl_stream_group_next_deadline(group), UINT64_MAX);
	stream_test_close();

	config.message_limit = 0;
	config.frame_limit = 7;
	stream_test_open(&config, 0);
	CU_ASSERT_EQUAL(stream_test_make(0, slots, BUFFERS), BUFFERS);
	CU_ASSERT_EQUAL(stream_test_make(0, slots, BUFFERS), 7 - BUFFERS);
	CU_ASSERT_EQUAL(stream_test_make(0, slots, BUFFERS), 0);
	stream_test_close();

	config.frame_limit = 0;
	config.duration = 1000;
	stream_test_open(&config, 5);
	CU_ASSERT_EQUAL(stream_test_make(1004, slots, BUFFERS), BUFFERS);
	CU_ASSERT_FALSE(vl_stream_is_done(stream, 1004));
	CU_ASSERT_EQUAL(stream_test_make(1005, slots, BUFFERS), 0);
	CU_ASSERT_TRUE(vl_stream_is_done(stream, 1005));
	stream_test_close();
}

static void check_pauses_and_late_polls(void)
{
	static const struct vl_stream_size sizes[] = {{1000, 1}};
	struct vl_stream_config config = stream_test_config(IBV_QPT_UC, IBV_WR_SEND, sizes, 1);
	struct vl_stream_slot slots[BUFFERS];

	config.path = stream_test_path(false, true);
	config.frames_per_second = 1000000;
	config.most_arrears = 2000;
	stream_test_open(&config, 0);
	vl_stream_group_set_paused(group, 1 << 3);
	CU_ASSERT_PTR_NULL(vl_stream_group_next(group, 0));
	CU_ASSERT_EQUAL(vl_stream_group_next_deadline(group), UINT64_MAX);
	vl_stream_group_set_paused(group, 0xf7);
	CU_ASSERT_PTR_EQUAL(vl_stream_group_next(group, 10000), stream);
	/* Those of 8000, 9000 and 10000 ns; what is older is lost, and counted. */
	CU_ASSERT_EQUAL(stream_test_make(10000, slots, BUFFERS), 3);
	CU_ASSERT_EQUAL(vl_stream_counters(stream)->arrears_dropped, 8000);
	vl_stream_set_stopped(stream, true, 10000);
	CU_ASSERT_EQUAL(stream_test_make(20000, slots, BUFFERS), 0);
	vl_stream_set_stopped(stream, false, 30000);
	CU_ASSERT_EQUAL(stream_test_make(30000, slots, BUFFERS), 1);
	vl_stream_set_rate(stream, 500000, 30000);
	CU_ASSERT_EQUAL(stream_test_make(31000, slots, BUFFERS), 1);
	CU_ASSERT_EQUAL(stream_test_make(32999, slots, BUFFERS), 0);
	CU_ASSERT_EQUAL(stream_test_make(33000, slots, BUFFERS), 1);
	stream_test_close();
}

static void check_congestion_control(void)
{
	static const struct vl_stream_size sizes[] = {{100000, 1}};
	struct vl_stream_config config =
		stream_test_config(IBV_QPT_RC, IBV_WR_RDMA_WRITE, sizes, 1);
	struct vl_cc_parameters fixed = {.algorithm = &vl_cc_fixed, .fixed_rate = 1000000000};
	struct vl_cc_parameters dcqcn = {.algorithm = &vl_cc_dcqcn};
	struct vl_packet cnp = {.info = &vl_opcode_table[VL_OPCODE_CNP],
				.opcode = VL_OPCODE_CNP,
				.becn = true,
				.destination_qpn = LOCAL_QPN + 1};
	struct vl_stream_flow_report reports[3];

	config.flow_count = 3;
	config.cc = &fixed;
	check_rate(&config, 50000000, 3e9, wire_bits);
	CU_ASSERT_EQUAL_FATAL(vl_dcqcn_profile(&dcqcn.dcqcn, "paper"), 0);
	config.cc = &dcqcn;
	dcqcn.dcqcn.rpg_max_rate = 10000; /* at the line rate it would not limit at all */
	stream_test_open(&config, 0);
	run_until(0, 100000);
	for (int i = 0; i < 3; i++)
		CU_ASSERT_TRUE(vl_stream_group_receive(group, &cnp, 100000));
	for (uint32_t i = 0; i < 3; i++)
		reports[i] = vl_stream_flow_report(stream, i, 100000);
	run_until(100000, 140000);
	for (uint32_t i = 0; i < 3; i++) {
		uint64_t frames =
			vl_stream_flow_report(stream, i, 140000).frames_tx - reports[i].frames_tx;

		/* 40 us at 10 Gb/s are 45 frames; three cuts leave about an eighth. */
		CU_ASSERT(i == 1 ? frames >= 4 && frames <= 8 : frames >= 44 && frames <= 47);
		CU_ASSERT_EQUAL(reports[i].cnp_rx, i == 1 ? 3 : 0);
	}
	CU_ASSERT(reports[1].cc.rate < 2000000000);
	CU_ASSERT_EQUAL(reports[0].cc.rate, 10000000000);
	CU_ASSERT_EQUAL(vl_stream_counters(stream)->cnp_rx, 3);
	stream_test_close();
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"rates hold within 0.1 %", check_rates},
		{"bursts are of one flow, and finished later if they must", check_bursts},
		{"with a rate of messages a burst is a message", check_messages_in_bursts},
		{"limits and durations end a stream", check_ends},
		{"pauses, late polls, stops and new rates", check_pauses_and_late_polls},
		{"each flow has its own congestion control", check_congestion_control},
	};

	return RUN_SUITE("stream_schedule", tests, argc, argv);
}
