/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/fabric/link.h"
#include "dataplane/pfc.h"
#include "tests/support/frame.h"
#include "tests/support/suite.h"

#include <math.h>

#define GBPS UINT64_C(1000000000)

static struct vl_memory_frame_pool pool;

static struct vl_frame *numbered(uint32_t number, uint32_t length)
{
	struct vl_frame *frame = make_ipv4_frame(&pool.pool, length, 1, 2, 26, 2);

	memcpy(frame->data + 42, &number, sizeof(number));
	return frame;
}

static uint32_t number_of(const struct vl_frame *frame)
{
	uint32_t number;

	memcpy(&number, frame->data + 42, sizeof(number));
	return number;
}

static void start(struct vl_fabric_link *link, const struct vl_link_config *config)
{
	vl_memory_frame_pool_init(&pool, 0, 0);
	CU_ASSERT_EQUAL_FATAL(vl_fabric_link_init(link, config), 0);
}

static void finish(struct vl_fabric_link *link)
{
	vl_fabric_link_clear(link);
	CU_ASSERT_EQUAL(pool.in_use, 0);
	vl_memory_frame_pool_release(&pool);
}

/* Sends count frames back to back, as an executor would. Returns the time at the end. */
static uint64_t send_numbered(struct vl_fabric_link *link, uint32_t count, uint32_t length,
			      uint64_t now)
{
	for (uint32_t i = 0; i < count; i++) {
		if (!vl_fabric_link_is_free(link, now))
			now = vl_fabric_link_free_at(link);
		vl_fabric_link_send(link, numbered(i, length), now);
	}
	return vl_fabric_link_free_at(link);
}

/* 100 Gb/s: a byte takes 80 ps. 1000 bytes and preamble and FCS arrive after 1012 * 0.08 = 80.96
 * ns, and the next frame may follow 12 bytes later, after 81.92 ns. */
static void test_timing_of_one_frame(void)
{
	struct vl_fabric_link link;
	struct vl_frame *frame;

	start(&link, &(struct vl_link_config){.rate = 100 * GBPS, .propagation = 500});
	CU_ASSERT_EQUAL(vl_fabric_link_next_arrival(&link), UINT64_MAX);
	vl_fabric_link_send(&link, numbered(0, 1000), 10000);
	CU_ASSERT_FALSE(vl_fabric_link_is_free(&link, 10081));
	CU_ASSERT_EQUAL(vl_fabric_link_free_at(&link), 10082);
	CU_ASSERT_EQUAL(vl_fabric_link_next_arrival(&link), 10581);
	CU_ASSERT_PTR_NULL(vl_fabric_link_receive(&link, 10580));
	frame = vl_fabric_link_receive(&link, 10581);
	CU_ASSERT_PTR_NOT_NULL_FATAL(frame);
	CU_ASSERT_EQUAL(frame->length, 1000);
	vl_frame_free(frame);

	/* Short frames are padded to 64 bytes with FCS: 84 bytes with preamble and gap, 6.72 ns. */
	vl_fabric_link_send(&link, numbered(0, 46), 20000);
	CU_ASSERT_EQUAL(vl_fabric_link_free_at(&link), 20007);
	CU_ASSERT_EQUAL(link.counters.frames_tx, 2);
	CU_ASSERT_EQUAL(link.counters.bytes_tx, 1046);
	CU_ASSERT_EQUAL(link.counters.frames_rx, 1);
	finish(&link);
}

/* The independent oracle is rational arithmetic on the sum of all bits. */
static void test_no_cumulative_rounding(void)
{
	static const uint64_t rates[] = {1000000,
					 1 * GBPS,
					 10 * GBPS,
					 25 * GBPS,
					 40 * GBPS,
					 50 * GBPS,
					 100 * GBPS,
					 200 * GBPS,
					 400 * GBPS,
					 800 * GBPS,
					 UINT64_C(54545454545),
					 UINT64_C(99999999977),
					 UINT64_C(3999999999989)};

	for (size_t r = 0; r < sizeof(rates) / sizeof(rates[0]); r++) {
		struct vl_random random = {r};
		struct vl_fabric_link link;
		uint64_t bits = 0, now = 1000;
		unsigned int wrong = 0;

		start(&link, &(struct vl_link_config){.rate = rates[r], .propagation = 7});
		for (unsigned int i = 0; i < 20000; i++) {
			uint32_t length = 60 + (uint32_t)vl_random_below(&random, 4200 - 60);
			unsigned __int128 scaled =
				(unsigned __int128)(bits + (length + 12) * 8) * GBPS;
			struct vl_frame *frame;

			vl_fabric_link_send(&link, numbered(i, length), now);
			bits += (length + 24) * 8;
			if (vl_fabric_link_next_arrival(&link) !=
			    1007 + (uint64_t)((scaled + rates[r] - 1) / rates[r]))
				wrong++;
			scaled = (unsigned __int128)bits * GBPS;
			now = vl_fabric_link_free_at(&link);
			if (now != 1000 + (uint64_t)((scaled + rates[r] - 1) / rates[r]))
				wrong++;
			frame = vl_fabric_link_receive(&link, now + 7);
			if (!frame) {
				wrong++;
				continue;
			}
			vl_frame_free(frame);
		}
		CU_ASSERT_EQUAL(wrong, 0);
		finish(&link);
	}
}

static void test_slack_joins_frames(void)
{
	struct vl_fabric_link link;

	start(&link, &(struct vl_link_config){.rate = 8 * GBPS, .slack = 100});
	vl_fabric_link_send(&link, numbered(0, 76), 1000); /* 100 bytes: 100 ns */
	vl_fabric_link_send(&link, numbered(1, 76), 1200); /* 100 ns late: follows without a gap */
	CU_ASSERT_EQUAL(vl_fabric_link_free_at(&link), 1200);
	vl_fabric_link_send(&link, numbered(2, 76), 1301); /* 101 ns late */
	CU_ASSERT_EQUAL(vl_fabric_link_free_at(&link), 1401);
	/* Nothing was there to be sent before: no slack for that. */
	vl_fabric_link_idle(&link, 1450);
	vl_fabric_link_send(&link, numbered(3, 76), 1450);
	CU_ASSERT_EQUAL(vl_fabric_link_free_at(&link), 1550);
	vl_fabric_link_idle(&link, 1500);
	CU_ASSERT_EQUAL(vl_fabric_link_free_at(&link), 1550);
	finish(&link);
}

static void test_order_and_mtu(void)
{
	struct vl_fabric_link link;
	struct vl_frame *frame;
	uint64_t end;

	start(&link,
	      &(struct vl_link_config){.rate = 10 * GBPS, .propagation = 100000, .mtu = 1500});
	end = send_numbered(&link, 50, 1500, 0);
	vl_fabric_link_send(&link, numbered(0, 1501), end);
	CU_ASSERT_EQUAL(vl_fabric_link_free_at(&link), end);
	CU_ASSERT_EQUAL(link.counters.dropped_mtu, 1);
	CU_ASSERT_EQUAL(link.in_flight, 50);
	for (uint32_t i = 0; i < 50; i++) {
		frame = vl_fabric_link_receive(&link, UINT64_MAX - 1);
		CU_ASSERT_PTR_NOT_NULL_FATAL(frame);
		CU_ASSERT_EQUAL(number_of(frame), i);
		vl_frame_free(frame);
	}
	CU_ASSERT_PTR_NULL(vl_fabric_link_receive(&link, UINT64_MAX - 1));
	finish(&link);
}

/* What arrived: a fold of numbers, times and bytes, and the numbers themselves. */
struct arrivals {
	uint64_t digest;
	uint32_t count, ce_count, damaged_count, late_count;
	uint32_t numbers[40000];
};

static void collect(struct vl_fabric_link *link, uint64_t now, struct arrivals *arrivals)
{
	struct vl_frame *frame;

	while ((frame = vl_fabric_link_receive(link, now))) {
		uint32_t number = number_of(frame);
		unsigned int flips = 0;
		struct vl_frame *original = numbered(number, frame->length);

		for (uint32_t i = 0; i < frame->length; i++) {
			arrivals->digest =
				(arrivals->digest ^ frame->data[i]) * UINT64_C(0x100000001b3);
			flips += (unsigned int)__builtin_popcount(frame->data[i] ^
								  original->data[i]);
		}
		vl_frame_free(original);
		arrivals->digest ^= frame->time;
		arrivals->damaged_count += flips == 1;
		arrivals->ce_count += ipv4_frame_ecn(frame) == 3;
		if (arrivals->count && number < arrivals->numbers[arrivals->count - 1])
			arrivals->late_count++;
		arrivals->numbers[arrivals->count++] = number;
		vl_frame_free(frame);
	}
}

static struct arrivals first, second;

static void run(const struct vl_impairments *impairments, uint64_t seed, uint32_t count,
		struct vl_link_counters *counters, struct arrivals *arrivals)
{
	struct vl_fabric_link link;
	struct vl_link_config config = {
		.rate = 100 * GBPS,
		.propagation = 1000,
		.seed = seed,
		.impairments = *impairments,
	};
	uint64_t now = 0;

	memset(arrivals, 0, sizeof(*arrivals));
	start(&link, &config);
	for (uint32_t i = 0; i < count; i++) {
		vl_fabric_link_send(&link, numbered(i, 100), now);
		now = vl_fabric_link_free_at(&link);
		collect(&link, now, arrivals);
	}
	collect(&link, UINT64_MAX - 1, arrivals);
	*counters = link.counters;
	finish(&link);
}

/* Whether hits of count draws are within five standard deviations of probability p. */
static bool is_plausible(uint64_t hits, uint64_t count, double p)
{
	return fabs((double)hits - p * (double)count) <= 5 * sqrt((double)count * p * (1 - p));
}

static void test_impairment_rates(void)
{
	struct vl_link_counters c;
	const uint32_t n = 30000;

	run(&(struct vl_impairments){.loss = 0.1}, 1, n, &c, &first);
	CU_ASSERT_TRUE(is_plausible(c.dropped_loss, n, 0.1));
	CU_ASSERT_EQUAL(first.count, n - c.dropped_loss);
	run(&(struct vl_impairments){.duplicate = 0.05}, 1, n, &c, &first);
	CU_ASSERT_TRUE(is_plausible(c.duplicated, n, 0.05));
	CU_ASSERT_EQUAL(first.count, n + c.duplicated);
	CU_ASSERT_EQUAL(first.damaged_count, 0);
	run(&(struct vl_impairments){.mark = 0.3}, 1, n, &c, &first);
	CU_ASSERT_TRUE(is_plausible(c.marked, n, 0.3));
	CU_ASSERT_EQUAL(first.ce_count, c.marked);
	run(&(struct vl_impairments){.loss = 1}, 1, 100, &c, &first);
	CU_ASSERT_EQUAL(c.dropped_loss, 100);
}

static void test_corruption_flips_one_bit(void)
{
	struct vl_link_counters c;
	struct vl_fabric_link link;
	unsigned int wrong = 0;

	start(&link, &(struct vl_link_config){.rate = 100 * GBPS, .impairments = {.corrupt = 1}});
	for (uint32_t i = 0; i < 1000; i++) {
		struct vl_frame *original = numbered(i, 100), *frame;
		unsigned int flips = 0;

		vl_fabric_link_send(&link, numbered(i, 100), i * 100);
		frame = vl_fabric_link_receive(&link, UINT64_MAX - 1);
		for (uint32_t k = 0; k < 100; k++)
			flips += (unsigned int)__builtin_popcount(frame->data[k] ^
								  original->data[k]);
		wrong += flips != 1;
		vl_frame_free(frame);
		vl_frame_free(original);
	}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT_EQUAL(link.counters.corrupted, 1000);
	finish(&link);
	run(&(struct vl_impairments){.corrupt = 0.02}, 3, 30000, &c, &first);
	CU_ASSERT_TRUE(is_plausible(c.corrupted, 30000, 0.02));
}

static void test_same_seed_same_bytes(void)
{
	const struct vl_impairments everything = {
		.loss = 0.05,
		.duplicate = 0.05,
		.reorder = 0.05,
		.corrupt = 0.05,
		.mark = 0.05,
		.reorder_frames = 3,
		.jitter = 200,
	};
	struct vl_link_counters c, d;

	run(&everything, 42, 10000, &c, &first);
	run(&everything, 42, 10000, &d, &second);
	CU_ASSERT_EQUAL(first.digest, second.digest);
	CU_ASSERT_EQUAL(memcmp(&c, &d, sizeof(c)), 0);
	run(&everything, 43, 10000, &d, &second);
	CU_ASSERT_NOT_EQUAL(first.digest, second.digest);
}

static enum vl_link_action choose(void *context, const struct vl_frame *frame, uint64_t ordinal)
{
	const enum vl_link_action *actions = context;

	CU_ASSERT_EQUAL(number_of(frame), ordinal);
	return ordinal < 12 ? actions[ordinal] : VL_LINK_PASS;
}

static void test_exact_choices(void)
{
	static const uint64_t ordinals[] = {0, 3, 4, 99};
	static const enum vl_link_action actions[12] = {
		[1] = VL_LINK_DROP, [2] = VL_LINK_DUPLICATE, [4] = VL_LINK_MARK};
	struct vl_link_counters c;

	run(&(struct vl_impairments){.drop_ordinals = ordinals, .drop_count = 4}, 0, 100, &c,
	    &first);
	CU_ASSERT_EQUAL(c.dropped_chosen, 4);
	CU_ASSERT_EQUAL(first.numbers[0], 1);
	CU_ASSERT_EQUAL(first.numbers[2], 5);
	CU_ASSERT_EQUAL(first.numbers[first.count - 1], 98);

	run(&(struct vl_impairments){.drop_mask = 1 | UINT64_C(1) << 63}, 0, 130, &c, &first);
	CU_ASSERT_EQUAL(c.dropped_chosen, 5); /* 0, 63, 64, 127, 128 */
	CU_ASSERT_EQUAL(first.numbers[0], 1);
	CU_ASSERT_EQUAL(first.numbers[62], 65);

	run(&(struct vl_impairments){.decide = choose, .decide_context = (void *)actions}, 0, 12,
	    &c, &first);
	CU_ASSERT_EQUAL(first.count, 12);
	CU_ASSERT_EQUAL(first.numbers[1], 2);
	CU_ASSERT_EQUAL(first.numbers[2], 2);
	CU_ASSERT_EQUAL(c.marked, 1);
	CU_ASSERT_EQUAL(first.ce_count, 1);
}

/* Frame 2 is overtaken by exactly three; frame 8 by all that are left, until the hold ends. */
static void test_reorder_by_frames(void)
{
	static const enum vl_link_action actions[12] = {
		[2] = VL_LINK_REORDER, [8] = VL_LINK_REORDER};
	static const uint32_t expected[] = {0, 1, 3, 4, 5, 2, 6, 7, 9, 8};
	struct vl_link_counters c;

	run(&(struct vl_impairments){.decide = choose,
				     .decide_context = (void *)actions,
				     .reorder_frames = 3},
	    0, 10, &c, &first);
	CU_ASSERT_EQUAL(c.reordered, 2);
	CU_ASSERT_EQUAL_FATAL(first.count, 10);
	CU_ASSERT_EQUAL(memcmp(first.numbers, expected, sizeof(expected)), 0);
	run(&(struct vl_impairments){.reorder = 0.1, .reorder_frames = 2}, 5, 30000, &c, &first);
	CU_ASSERT_TRUE(is_plausible(c.reordered, 30000, 0.1));
	CU_ASSERT_EQUAL(first.count, 30000);
	CU_ASSERT_TRUE(first.late_count > c.reordered / 2);
}

static void test_hold_ends(void)
{
	static const enum vl_link_action actions[12] = {[0] = VL_LINK_REORDER};
	struct vl_fabric_link link;
	struct vl_frame *frame;

	start(&link, &(struct vl_link_config){.rate = 100 * GBPS,
					      .impairments = {.decide = choose,
							      .decide_context = (void *)actions,
							      .reorder_hold = 5000}});
	vl_fabric_link_send(&link, numbered(0, 1000), 0);
	CU_ASSERT_EQUAL(vl_fabric_link_next_arrival(&link), 5081);
	frame = vl_fabric_link_receive(&link, 5081);
	CU_ASSERT_PTR_NOT_NULL_FATAL(frame);
	CU_ASSERT_PTR_NULL(link.first_held);
	vl_frame_free(frame);
	finish(&link);
}

static void test_jitter_is_bounded(void)
{
	struct vl_fabric_link link;
	struct vl_frame *frame;
	uint64_t least = UINT64_MAX, most = 0;

	start(&link, &(struct vl_link_config){
			     .rate = 8 * GBPS, .propagation = 50, .impairments = {.jitter = 300}});
	for (uint32_t i = 0; i < 5000; i++) {
		uint64_t now = i * UINT64_C(1000);

		vl_fabric_link_send(&link, numbered(i, 88), now);
		frame = vl_fabric_link_receive(&link, UINT64_MAX - 1);
		if (frame->time - now < least)
			least = frame->time - now;
		if (frame->time - now > most)
			most = frame->time - now;
		vl_frame_free(frame);
	}
	CU_ASSERT_EQUAL(least, 150);
	CU_ASSERT_EQUAL(most, 450);
	finish(&link);
}

/* As many as are in flight at once, put on the line at the same time, arrive in the order of their
 * times, and within the same time in the order in which they were sent. */
static void test_jitter_far_above_the_packet_time(void)
{
	enum { COUNT = 200000 };
	struct vl_fabric_link link;
	uint64_t last_time = 0, now = 0, out_of_order = 0, overtaken = 0;
	uint32_t last_number = 0, count = 0;
	static uint8_t seen[COUNT];

	memset(seen, 0, sizeof(seen));
	start(&link, &(struct vl_link_config){.rate = 100 * GBPS,
					      .seed = 7,
					      .impairments = {.jitter = UINT64_C(1000000000),
							      .reorder = 0.01,
							      .reorder_hold = 3000000}});
	now = send_numbered(&link, COUNT, 60, now);
	CU_ASSERT_EQUAL(link.in_flight, COUNT);
	/* Those that have arrived by now are few: all of the heap is left. */
	for (uint64_t next; (next = vl_fabric_link_next_arrival(&link)) != UINT64_MAX; count++) {
		struct vl_frame *frame = vl_fabric_link_receive(&link, next);

		if (!frame)
			break;
		out_of_order += frame->time < last_time;
		overtaken += number_of(frame) < last_number;
		last_time = frame->time;
		last_number = number_of(frame);
		seen[last_number]++;
		vl_frame_free(frame);
	}
	CU_ASSERT_EQUAL(count, COUNT);
	CU_ASSERT_EQUAL(out_of_order, 0);
	/* Uniform delays far above the time between frames: half of all neighbours are reversed. */
	CU_ASSERT_TRUE(overtaken > COUNT * 49 / 100 && overtaken < COUNT * 51 / 100);
	CU_ASSERT_PTR_NULL(memchr(seen, 0, sizeof(seen)));
	CU_ASSERT_TRUE(last_time > now + 990000000 && last_time <= now + 1003000000);
	finish(&link);
}

/* Late frames of the same time leave in the order in which they came, whatever has been removed
 * from among them. The oracle counts. */
static void test_late_frames_keep_their_order(void)
{
	enum { COUNT = 600, TIMES = 40 };
	struct vl_late_frames late = {.sequence = UINT32_MAX - COUNT / 2};
	struct vl_frame *frames[COUNT];
	struct vl_random random = {3};
	uint64_t last = 0;
	uint32_t left = COUNT, wrong = 0;

	vl_memory_frame_pool_init(&pool, 0, 0);
	for (uint32_t i = 0; i < COUNT; i++) {
		frames[i] = numbered(i, 60);
		frames[i]->time = vl_random_below(&random, TIMES);
		vl_late_frames_add(&late, frames[i]);
	}
	for (uint32_t i = 0; i < COUNT / 3; i++) {
		uint32_t n = (uint32_t)vl_random_below(&random, COUNT);

		if (!frames[n])
			continue;
		vl_late_frames_remove(&late, frames[n]);
		vl_frame_free(frames[n]);
		frames[n] = NULL;
		left--;
	}
	while (late.first) {
		struct vl_frame *frame = late.first;
		uint64_t key = frame->time * COUNT + number_of(frame);

		wrong += key < last || frames[number_of(frame)] != frame;
		last = key;
		vl_late_frames_remove(&late, frame);
		vl_frame_free(frame);
		left--;
	}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT_EQUAL(left, 0);
	CU_ASSERT_EQUAL(pool.in_use, 0);
	vl_memory_frame_pool_release(&pool);
}

/* Short and long frames in turn on lines on which a short one takes less than a nanosecond: heads
 * come in order, and last bits when they do where whole frames are waited for. */
static void test_heads_keep_their_order(void)
{
	static const uint64_t rates[] = {10 * GBPS, 400 * GBPS, 800 * GBPS, 1600 * GBPS,
					 4000 * GBPS};

	for (unsigned int i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		struct vl_link_config config = {
			.rate = rates[i], .propagation = 100, .delivers_head = true};
		struct vl_random random = {i};
		struct vl_fabric_link link, whole;
		uint64_t now = 0, last = 0;
		struct vl_frame *frame;

		start(&link, &config);
		config.delivers_head = false;
		CU_ASSERT_EQUAL_FATAL(vl_fabric_link_init(&whole, &config), 0);
		for (uint32_t n = 0; n < 2000; n++) {
			uint32_t length = (uint32_t)(n % 2 ? 60 + vl_random_below(&random, 4000)
							   : 60 + vl_random_below(&random, 9));

			vl_fabric_link_send(&link, numbered(n, length), now);
			vl_fabric_link_send(&whole, numbered(n, length), now);
			now = vl_fabric_link_free_at(&link);
		}
		for (uint32_t n = 0; n < 2000; n++) {
			struct vl_frame *other = vl_fabric_link_receive(&whole, UINT64_MAX - 1);

			frame = vl_fabric_link_receive(&link, UINT64_MAX - 1);
			CU_ASSERT_PTR_NOT_NULL_FATAL(frame);
			CU_ASSERT_EQUAL(number_of(frame), n);
			CU_ASSERT_EQUAL(frame->whole_at, other->time);
			CU_ASSERT_TRUE(frame->time >= last && frame->time <= frame->whole_at);
			last = frame->time;
			vl_frame_free(frame);
			vl_frame_free(other);
		}
		finish(&link);
	}
}

static void test_mac_control_is_exempt(void)
{
	static const uint8_t mac[6] = {2};
	struct vl_fabric_link link;
	struct vl_frame *frame;

	start(&link, &(struct vl_link_config){.rate = 100 * GBPS, .impairments = {.loss = 1}});
	frame = vl_frame_get(&pool.pool);
	vl_pfc_write(frame->data, mac, &(struct vl_pfc){.enabled = 1});
	frame->length = VL_PFC_FRAME_LENGTH;
	vl_fabric_link_send(&link, frame, 0);
	CU_ASSERT_EQUAL(link.in_flight, 1);
	finish(&link);
}

static void test_no_frame_for_a_duplicate(void)
{
	struct vl_fabric_link link;

	vl_memory_frame_pool_init(&pool, 0, 1);
	CU_ASSERT_EQUAL_FATAL(
		vl_fabric_link_init(
			&link,
			&(struct vl_link_config){.rate = GBPS, .impairments = {.duplicate = 1}}),
		0);
	vl_fabric_link_send(&link, numbered(0, 100), 0);
	CU_ASSERT_EQUAL(link.counters.not_duplicated, 1);
	CU_ASSERT_EQUAL(link.in_flight, 1);
	finish(&link);
}

static void test_refuses_bad_configurations(void)
{
	struct vl_fabric_link link;

	CU_ASSERT_NOT_EQUAL(vl_fabric_link_init(&link, &(struct vl_link_config){.rate = 999999}),
			    0);
	CU_ASSERT_NOT_EQUAL(
		vl_fabric_link_init(&link, &(struct vl_link_config){.rate = UINT64_MAX}), 0);
	CU_ASSERT_NOT_EQUAL(
		vl_fabric_link_init(&link, &(struct vl_link_config){.rate = GBPS, .mtu = 59}), 0);
	CU_ASSERT_NOT_EQUAL(
		vl_fabric_link_init(&link, &(struct vl_link_config){.rate = GBPS,
								    .impairments = {.loss = 1.01}}),
		0);
	CU_ASSERT_NOT_EQUAL(
		vl_fabric_link_init(&link, &(struct vl_link_config){.rate = GBPS,
								    .impairments = {.mark = NAN}}),
		0);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"timing_of_one_frame", test_timing_of_one_frame},
		{"no_cumulative_rounding", test_no_cumulative_rounding},
		{"slack_joins_frames", test_slack_joins_frames},
		{"order_and_mtu", test_order_and_mtu},
		{"impairment_rates", test_impairment_rates},
		{"corruption_flips_one_bit", test_corruption_flips_one_bit},
		{"same_seed_same_bytes", test_same_seed_same_bytes},
		{"exact_choices", test_exact_choices},
		{"reorder_by_frames", test_reorder_by_frames},
		{"hold_ends", test_hold_ends},
		{"jitter_is_bounded", test_jitter_is_bounded},
		{"jitter_far_above_the_packet_time", test_jitter_far_above_the_packet_time},
		{"late_frames_keep_their_order", test_late_frames_keep_their_order},
		{"heads_keep_their_order", test_heads_keep_their_order},
		{"mac_control_is_exempt", test_mac_control_is_exempt},
		{"no_frame_for_a_duplicate", test_no_frame_for_a_duplicate},
		{"refuses_bad_configurations", test_refuses_bad_configurations},
	};

	return RUN_SUITE("fabric_link", tests, argc, argv);
}
