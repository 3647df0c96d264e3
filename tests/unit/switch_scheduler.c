/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Shares, turns and rates of a port's queues. */

#include "tests/unit/switch_frames.h"

#define DSCP(priority) ((uint8_t)((priority) << 3))

static void fill(uint8_t priority, uint32_t length, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		put(0, 1, length, DSCP(priority), ECT, 0);
}

static uint8_t priority_of(const struct vl_frame *frame)
{
	return frame->data[15] >> 5;
}

/* Bytes by priority of the next frames that leave, total bytes at least. */
static void drain(uint64_t total, uint64_t bytes[8])
{
	uint64_t sum = 0;

	memset(bytes, 0, 8 * sizeof(*bytes));
	while (sum < total) {
		struct vl_frame *frame = vl_switch_transmit(sw, 1, 1);

		CU_ASSERT_PTR_NOT_NULL_FATAL(frame);
		bytes[priority_of(frame)] += frame->length;
		sum += frame->length;
		vl_frame_free(frame);
	}
}

static struct vl_switch_config roomy(void)
{
	struct vl_switch_config config = four_ports();

	config.buffer = 100000000;
	return config;
}

/* Percentages as ETS has them; the frames are of different lengths; other queues have no traffic.
 */
static void test_ets_shares(void)
{
	static const uint32_t percent[3][3] = {{50, 30, 20}, {60, 39, 1}, {34, 33, 33}};
	struct vl_switch_config config = roomy();
	uint64_t bytes[8];

	for (unsigned int i = 0; i < 3; i++) {
		for (unsigned int q = 0; q < 3; q++)
			config.port.queues[2 * q].scheduler.weight = percent[i][q];
		start(&config);
		fill(0, 4200, 3000);
		fill(2, 1500, 8000);
		fill(4, 90, 100000);
		drain(8000000, bytes);
		for (unsigned int q = 0; q < 3; q++)
			CU_ASSERT_DOUBLE_EQUAL((double)bytes[2 * q] / 8e6, percent[i][q] / 100.0,
					       0.01);
		finish();
	}
}

/* One round after the other, as deficit round robin is described: the oracle of what is done at
 * once. */
static uint8_t plain_round_robin(const struct vl_scheduler *scheduler,
				 struct vl_scheduler_state *state, const uint32_t lengths[8],
				 uint8_t candidates, uint8_t occupied)
{
	for (;; state->turn = (state->turn + 1) % 8, state->has_begun = false) {
		uint8_t q = state->turn;
		int64_t cost = scheduler->by_frames >> q & 1 ? 1 : lengths[q];

		if (!(candidates >> q & 1)) {
			state->deficits[q] = occupied >> q & 1 ? state->deficits[q] : 0;
			continue;
		}
		state->deficits[q] += state->has_begun ? 0 : scheduler->quanta[q];
		state->has_begun = true;
		if (cost > state->deficits[q])
			continue;
		state->deficits[q] -= cost;
		return q;
	}
}

/* Weights from 1:255 to 1:1, and queues that are paused, empty and come again. */
static void test_rounds_at_once(void)
{
	struct vl_random random = {1};
	unsigned int wrong = 0;

	for (unsigned int n = 0; n < 300; n++) {
		struct vl_scheduler_queue_config configs[8] = {{.weight = 1}, {.weight = 255}};
		struct vl_scheduler_state state = {0}, plain = {0};
		struct vl_scheduler scheduler;

		for (unsigned int q = 0; n && q < 8; q++)
			configs[q] = (struct vl_scheduler_queue_config){
				.type = vl_random_below(&random, 4) ? VL_SCHEDULING_DWRR
								    : VL_SCHEDULING_WRR,
				.weight = (uint32_t)vl_random_below(&random, 256)};
		vl_scheduler_init(&scheduler, configs, sizeof(configs[0]),
				  &(struct vl_shaper_config){0});
		for (unsigned int i = 0; i < 1000; i++) {
			uint8_t candidates = (uint8_t)(1 + vl_random_below(&random, 255));
			uint8_t occupied = candidates | (uint8_t)vl_random_below(&random, 256);
			struct vl_frame heads[8] = {0};
			struct vl_frame_queue queues[8];
			uint32_t lengths[8];

			for (unsigned int q = 0; q < 8; q++) {
				lengths[q] = heads[q].length =
					1 +
					(uint32_t)vl_random_below(&random, q & 1 ? 65535 : 9216);
				queues[q] = (struct vl_frame_queue){.head = &heads[q]};
			}
			wrong += vl_scheduler_round_robin(&scheduler, &state, queues, candidates,
							  occupied) !=
				 plain_round_robin(&scheduler, &plain, lengths, candidates,
						   occupied);
			wrong += memcmp(&state, &plain, sizeof(state)) != 0;
		}
	}
	CU_ASSERT_EQUAL(wrong, 0);
}

/* A queue that stood empty has nothing to catch up. */
static void test_no_credit_for_idleness(void)
{
	struct vl_switch_config config = roomy();
	uint64_t bytes[8];

	start(&config);
	fill(0, 1000, 3000);
	fill(2, 1000, 1000);
	drain(1000000, bytes);
	CU_ASSERT_DOUBLE_EQUAL((double)bytes[0], 5e5, 1e4);
	drain(1050000, bytes);
	drain(500000, bytes);
	CU_ASSERT_EQUAL(bytes[2], 0);
	fill(2, 1000, 1000);
	drain(400000, bytes);
	CU_ASSERT_DOUBLE_EQUAL((double)bytes[2], 2e5, 1e4);
	finish();
}

/* Frames are counted, not bytes; and strictly last to first otherwise. */
static void test_wrr_and_strict(void)
{
	struct vl_switch_config config = roomy();
	uint64_t bytes[8];

	config.port.queues[1].scheduler =
		(struct vl_scheduler_queue_config){.type = VL_SCHEDULING_WRR, .weight = 3};
	config.port.queues[2].scheduler =
		(struct vl_scheduler_queue_config){.type = VL_SCHEDULING_WRR, .weight = 1};
	config.port.queues[5].scheduler.type = VL_SCHEDULING_STRICT;
	config.port.queues[7].scheduler.type = VL_SCHEDULING_STRICT;
	start(&config);
	fill(1, 100, 4000);
	fill(2, 4000, 4000);
	fill(5, 70, 100);
	fill(7, 80, 100);
	drain(8000, bytes);
	CU_ASSERT_EQUAL(bytes[7], 8000);
	drain(7000, bytes);
	CU_ASSERT_EQUAL(bytes[5], 7000);
	drain(1000 * 4300, bytes);
	CU_ASSERT_DOUBLE_EQUAL((double)bytes[1] / 100 / ((double)bytes[2] / 4000), 3, 0.01);
	finish();
}

/* Sends what may be sent until the end; the frame after the end does not count. */
static uint64_t run_until(uint64_t now, uint64_t end, uint64_t bytes[8])
{
	memset(bytes, 0, 8 * sizeof(*bytes));
	for (;;) {
		struct vl_frame *frame;

		now = vl_switch_next_deadline(sw, 1, now);
		if (now >= end)
			return now;
		frame = vl_switch_transmit(sw, 1, now);
		/* The deadline was right. */
		CU_ASSERT_PTR_NOT_NULL_FATAL(frame);
		bytes[priority_of(frame)] += frame->length + 4;
		vl_frame_free(frame);
	}
}

static void test_shaped_queue(void)
{
	static const uint64_t rates[] = {UINT64_C(1000000000), UINT64_C(37300000000),
					 UINT64_C(123456789)};
	uint64_t bytes[8];

	for (unsigned int i = 0; i < 3; i++) {
		struct vl_switch_config config = roomy();
		uint64_t time = UINT64_C(20000000) * UINT64_C(8000000000) / rates[i];
		double expected = (double)rates[i] * (double)time / 8e9;

		config.port.queues[3].scheduler.shaper.rate = rates[i];
		start(&config);
		fill(3, 1513, 20000);
		run_until(5, 5 + time, bytes);
		CU_ASSERT_DOUBLE_EQUAL((double)bytes[3] / expected, 1, 0.001);
		finish();
	}
}

/* 10 Gb/s, 15200 bytes: ten frames of 1516 leave at once and leave 40 bytes; the eleventh takes
 * them and 1476 that are not there; the twelfth waits until those are paid, 1180.8 ns. */
static void test_burst(void)
{
	struct vl_switch_config config = roomy();
	unsigned int count = 0;

	config.port.queues[3].scheduler.shaper =
		(struct vl_shaper_config){.rate = UINT64_C(10000000000), .burst = 15200};
	start(&config);
	fill(3, 1512, 100);
	while (take(1, 1000, NULL))
		count++;
	CU_ASSERT_EQUAL(count, 11);
	CU_ASSERT_EQUAL(vl_switch_next_deadline(sw, 1, 1000), 2181);
	CU_ASSERT_EQUAL(take(1, 2180, NULL), 0);
	CU_ASSERT_EQUAL(take(1, 2181, NULL), 1512);
	CU_ASSERT_EQUAL(take(1, 2181, NULL), 0);
	/* After a rest the bucket is full, and no more. */
	count = 0;
	while (take(1, 10000000, NULL))
		count++;
	CU_ASSERT_EQUAL(count, 11);
	finish();
}

/* The port to 10 Gb/s, one strict queue in it to 2: the others get 8. */
static void test_shaped_port(void)
{
	struct vl_switch_config config = roomy();
	uint64_t bytes[8];

	config.port.shaper.rate = UINT64_C(10000000000);
	config.port.queues[6].scheduler.type = VL_SCHEDULING_STRICT;
	config.port.queues[6].scheduler.shaper.rate = UINT64_C(2000000000);
	config.port.queues[1].scheduler.weight = 3;
	start(&config);
	fill(6, 996, 4000);
	fill(1, 996, 9000);
	fill(2, 996, 9000);
	run_until(0, 10000000, bytes);
	CU_ASSERT_DOUBLE_EQUAL((double)bytes[6], 2.5e6, 2500);
	CU_ASSERT_DOUBLE_EQUAL((double)(bytes[1] + bytes[2] + bytes[6]), 12.5e6, 12500);
	CU_ASSERT_DOUBLE_EQUAL((double)bytes[1] / (double)bytes[2], 3, 0.03);
	finish();
}

/* PFC frames do not wait for a shaper. */
static void test_pfc_is_not_shaped(void)
{
	struct vl_switch_config config = roomy();

	config.port.shaper.rate = VL_RATE_MIN;
	vl_switch_config_lossless(&config.port, 3, 3000, 1000, 5000);
	start(&config);
	put(1, 0, 1000, DATA, ECT, 0);
	put(0, 1, 1000, DATA, ECT, 0);
	put(0, 1, 1000, DATA, ECT, 0);
	CU_ASSERT_EQUAL(take(0, 0, NULL), 1000);
	put(1, 0, 1000, DATA, ECT, 0);
	CU_ASSERT_EQUAL(take(0, 1, NULL), 0);
	put(0, 1, 1000, DATA, ECT, 2);
	CU_ASSERT_EQUAL(vl_switch_next_deadline(sw, 0, 2), 2);
	CU_ASSERT_EQUAL(take(0, 2, NULL), VL_PFC_FRAME_LENGTH);
	finish();
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"ets_shares", test_ets_shares},
		{"rounds_at_once", test_rounds_at_once},
		{"no_credit_for_idleness", test_no_credit_for_idleness},
		{"wrr_and_strict", test_wrr_and_strict},
		{"shaped_queue", test_shaped_queue},
		{"burst", test_burst},
		{"shaped_port", test_shaped_port},
		{"pfc_is_not_shaped", test_pfc_is_not_shaped},
	};

	return RUN_SUITE("switch_scheduler", tests, argc, argv);
}
