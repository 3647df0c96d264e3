/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* When frames leave a cut-through switch: by hand for one frame, and for every frame of random
 * traffic that its line never waits for the rest of it. Two switches share the work with networks:
 * here a link delivers heads to the switch. */

#include "dataplane/fabric/link.h"
#include "tests/unit/switch_frames.h"

#define GIGABIT UINT64_C(1000000000)

static struct vl_fabric_link in, out;

static void start_lines(uint64_t in_rate, uint64_t out_rate, bool cut_through)
{
	struct vl_switch_config config = four_ports();
	const struct vl_link_config to = {
		.rate = in_rate, .propagation = 100, .delivers_head = cut_through};
	const struct vl_link_config from = {.rate = out_rate, .propagation = 100};

	config.cut_through = cut_through;
	start(&config);
	CU_ASSERT_EQUAL_FATAL(vl_fabric_link_init(&in, &to), 0);
	CU_ASSERT_EQUAL_FATAL(vl_fabric_link_init(&out, &from), 0);
	vl_switch_set_port_rate(sw, 0, in_rate);
	vl_switch_set_port_rate(sw, 1, out_rate);
}

static void send(uint32_t length, uint64_t now)
{
	vl_fabric_link_send(&in, make_ipv4_frame(&pool.pool, length, 1, 0, DATA, ECT), now);
}

/* Moves what is to be moved until nothing is; calls the check for each frame that leaves. */
static void run(void (*leaves)(const struct vl_frame *frame, uint64_t now))
{
	uint64_t now = 0;

	for (;;) {
		uint64_t arrival = vl_fabric_link_next_arrival(&in);
		uint64_t departure = vl_switch_next_deadline(sw, 1, now);
		uint64_t free_at = vl_fabric_link_free_at(&out);

		if (departure != UINT64_MAX && departure < free_at)
			departure = free_at;
		if (arrival == UINT64_MAX && departure == UINT64_MAX)
			return;
		now = arrival < departure ? arrival : departure;
		if (arrival <= departure) {
			vl_switch_receive(sw, 0, vl_fabric_link_receive(&in, arrival), arrival);
		} else {
			struct vl_frame *frame = vl_switch_transmit(sw, 1, departure);

			CU_ASSERT_PTR_NOT_NULL_FATAL(frame);
			leaves(frame, departure);
			vl_fabric_link_send(&out, frame, departure);
		}
		while (vl_fabric_link_next_arrival(&out) != UINT64_MAX)
			vl_frame_free(vl_fabric_link_receive(&out, UINT64_MAX - 1));
	}
}

static uint64_t left_at;

static void note(const struct vl_frame *frame, uint64_t now)
{
	(void)frame;
	left_at = now;
}

/* 4000 bytes, with preamble and FCS 4012. */
static void check_departure(uint64_t in_gigabits, uint64_t out_gigabits, bool cut_through,
			    uint32_t length, uint64_t expected)
{
	start_lines(in_gigabits * GIGABIT, out_gigabits * GIGABIT, cut_through);
	send(length, 0);
	run(note);
	CU_ASSERT_EQUAL(left_at, expected);
	finish();
}

static void test_departures(void)
{
	/* The last bit: 100 + 4012 * 8 / 10 = 3309.6. The head: 72 * 8 / 10 = 57.6 + 100. */
	check_departure(10, 10, false, 4000, 3310);
	check_departure(10, 10, true, 4000, 158);
	/* Slower out: no reason to wait. */
	check_departure(10, 1, true, 4000, 158);
	/* Faster out, 4012 * 8 / 40 = 802.4: that long before the last bit. */
	check_departure(10, 40, true, 4000, 3310 - 802);
	check_departure(10, 40, false, 4000, 3310);
	/* The shortest frame is all head: 72 * 8 / 10 + 100. */
	check_departure(10, 10, true, 60, 158);
	check_departure(10, 10, false, 60, 158);
	check_departure(10, 40, true, 60, 158);
}

static uint64_t arrivals[64];
static unsigned int position, violations;
static uint64_t out_rate;

/* What leaves may not be through before the last bit of it has come in. */
static void check_continuity(const struct vl_frame *frame, uint64_t now)
{
	uint64_t time = (frame->length + 12) * UINT64_C(8) * GIGABIT / out_rate;

	violations += now + time < arrivals[frame->data[50]];
	position++;
}

static void test_lines_never_wait(void)
{
	static const uint64_t gigabits[] = {10, 25, 40, 100, 400};
	struct vl_random random = {3};

	for (unsigned int round = 0; round < 200; round++) {
		uint64_t in_rate = gigabits[vl_random_below(&random, 5)] * GIGABIT;

		out_rate = gigabits[vl_random_below(&random, 5)] * GIGABIT;
		start_lines(in_rate, out_rate, true);
		position = violations = 0;
		for (uint8_t i = 0; i < 64; i++) {
			uint32_t length = 60 + (uint32_t)vl_random_below(&random, 4100);
			struct vl_frame *frame =
				make_ipv4_frame(&pool.pool, length, 1, 0, DATA, ECT);

			frame->data[50] = i;
			vl_fabric_link_send(&in, frame, vl_random_below(&random, 100) * i);
			arrivals[i] = in.busy_until - 12 * UINT64_C(8) * GIGABIT / in_rate + 100;
		}
		run(check_continuity);
		CU_ASSERT_EQUAL(position, 64);
		CU_ASSERT_EQUAL(violations, 0);
		finish();
	}
}

/* A frame that is not here far enough holds up its own queue only. */
static void test_other_queues_go_first(void)
{
	struct vl_frame *slow;

	start_lines(GIGABIT, 100 * GIGABIT, true);
	send(4000, 0);
	slow = vl_fabric_link_receive(&in, 676);
	CU_ASSERT_PTR_NOT_NULL_FATAL(slow); /* 576 + 100 */
	vl_switch_receive(sw, 0, slow, 676);
	slow = make_ipv4_frame(&pool.pool, 1000, 1, 2, 8, ECT);
	slow->whole_at = 700;
	vl_switch_receive(sw, 2, slow, 700);
	CU_ASSERT_EQUAL(vl_switch_next_deadline(sw, 1, 700), 700);
	CU_ASSERT_EQUAL(take(1, 700, NULL), 1000);
	/* 32096 + 100 less 4012 * 8 / 100 = 320.96, of which 320 are whole */
	CU_ASSERT_EQUAL(vl_switch_next_deadline(sw, 1, 701), 32196 - 320);
	CU_ASSERT_EQUAL(take(1, 32196 - 321, NULL), 0);
	CU_ASSERT_EQUAL(take(1, 32196 - 320, NULL), 4000);
	finish();
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"departures", test_departures},
		{"lines_never_wait", test_lines_never_wait},
		{"other_queues_go_first", test_other_queues_go_first},
	};

	return RUN_SUITE("switch_cut_through", tests, argc, argv);
}
