/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/fabric/queue.h"
#include "dataplane/fabric/red.h"
#include "tests/support/frame.h"
#include "tests/support/suite.h"

#include <math.h>

static struct vl_red_config paper(void)
{
	return vl_red_marking(VL_RED_AT_ENQUEUE, 5000, 200000, 0.01);
}

static double measured(const struct vl_red *red, uint64_t bytes, unsigned int draws)
{
	struct vl_random random = {bytes};
	unsigned int hits = 0;

	for (unsigned int i = 0; i < draws; i++)
		hits += vl_red_decide(red, VL_COLOUR_GREEN, &random, bytes);
	return (double)hits / draws;
}

static void test_edges_are_exact(void)
{
	const struct vl_red_config config = paper();
	struct vl_random random = {7};
	struct vl_red red;

	vl_red_init(&red, &config);
	CU_ASSERT_EQUAL(vl_red_probability(&red, VL_COLOUR_GREEN, 0), 0);
	CU_ASSERT_EQUAL(vl_red_probability(&red, VL_COLOUR_GREEN, 5000), 0);
	CU_ASSERT_TRUE(vl_red_probability(&red, VL_COLOUR_GREEN, 5001) > 0);
	CU_ASSERT_EQUAL(vl_red_probability(&red, VL_COLOUR_GREEN, 200000), 0.01);
	CU_ASSERT_EQUAL(vl_red_probability(&red, VL_COLOUR_GREEN, 200001), 1);
	CU_ASSERT_DOUBLE_EQUAL(vl_red_probability(&red, VL_COLOUR_GREEN, 102500), 0.005, 1e-12);
	CU_ASSERT_FALSE(vl_red_decide(&red, VL_COLOUR_GREEN, &random, 5000));
	CU_ASSERT_TRUE(vl_red_decide(&red, VL_COLOUR_GREEN, &random, 200001));
	CU_ASSERT_EQUAL(random.state, 7);
}

static void test_curve(void)
{
	const struct vl_red_config config = vl_red_marking(VL_RED_AT_ENQUEUE, 10000, 50000, 0.4);
	const unsigned int draws = 100000;
	struct vl_red red;

	vl_red_init(&red, &config);
	for (uint64_t bytes = 0; bytes <= 60000; bytes += 2500) {
		double p = bytes <= 10000 ? 0 : bytes > 50000 ? 1 : 0.4 * (bytes - 10000) / 40000.0;
		double bound = 5 * sqrt(p * (1 - p) / draws);

		CU_ASSERT_TRUE(fabs(measured(&red, bytes, draws) - p) <= bound);
	}
}

static void test_step(void)
{
	const struct vl_red_config config = vl_red_marking(VL_RED_AT_ENQUEUE, 30000, 30000, 0.5);
	struct vl_random random = {1};
	struct vl_red red;

	vl_red_init(&red, &config);
	CU_ASSERT_FALSE(vl_red_decide(&red, VL_COLOUR_GREEN, &random, 30000));
	CU_ASSERT_TRUE(vl_red_decide(&red, VL_COLOUR_GREEN, &random, 30001));
}

static void test_marks_or_drops(void)
{
	const struct vl_red_config config = paper();
	struct vl_memory_frame_pool pool;
	struct vl_random random = {1};
	struct vl_frame *frame;
	struct vl_red red;

	vl_memory_frame_pool_init(&pool, 0, 0);
	vl_red_init(&red, &config);
	frame = vl_frame_get(&pool.pool);
	for (uint8_t ecn = 0; ecn < 4; ecn++) {
		fill_ipv4_frame(frame, 200, 1, 2, 26, ecn);
		CU_ASSERT_EQUAL(
			vl_red_apply(&red, VL_COLOUR_GREEN, &random, 5000, frame->data, 200),
			VL_RED_PASS);
		CU_ASSERT_EQUAL(ipv4_frame_ecn(frame), ecn);
		CU_ASSERT_EQUAL(
			vl_red_apply(&red, VL_COLOUR_GREEN, &random, 200001, frame->data, 200),
			ecn ? VL_RED_MARKED : VL_RED_DROP);
		CU_ASSERT_EQUAL(ipv4_frame_ecn(frame), ecn ? 3 : 0);
		CU_ASSERT_EQUAL(frame->data[15] >> 2, 26);
		CU_ASSERT_EQUAL(ipv4_header_sum(frame->data + 14), 0xffff);
	}
	vl_memory_frame_pool_release(&pool);
}

static void test_refuses_bad_configurations(void)
{
	struct vl_red_config config = paper();
	struct vl_red_curve *yellow = &config.curves[VL_COLOUR_YELLOW];

	CU_ASSERT_PTR_NULL(vl_red_config_error(&config));
	yellow->kmin = yellow->kmax + 1;
	CU_ASSERT_STRING_EQUAL(vl_red_config_error(&config),
			       "kmin of yellow, 200001 B, is larger than its kmax, 200000 B");
	yellow->action = VL_RED_IGNORE;
	CU_ASSERT_PTR_NULL(vl_red_config_error(&config));
	config = paper();
	yellow->pmax = 1.001;
	CU_ASSERT_STRING_EQUAL(vl_red_config_error(&config),
			       "pmax of yellow, 1.001, is not within 0 and 1");
	yellow->pmax = -0.1;
	CU_ASSERT_PTR_NOT_NULL(vl_red_config_error(&config));
	yellow->pmax = NAN;
	CU_ASSERT_PTR_NOT_NULL(vl_red_config_error(&config));
	config.point = VL_RED_OFF;
	CU_ASSERT_PTR_NULL(vl_red_config_error(&config));
	config = paper();
	config.weight = 16;
	CU_ASSERT_STRING_EQUAL(vl_red_config_error(&config),
			       "the weight of the average is 16; the largest is 15");
}

static void test_queue_limit_watermark_and_mean(void)
{
	struct vl_memory_frame_pool pool;
	struct vl_frame_queue queue;
	struct vl_frame *frame;

	vl_memory_frame_pool_init(&pool, 0, 0);
	vl_frame_queue_init(&queue, 1000, 50);
	CU_ASSERT_PTR_NULL(vl_frame_queue_pop(&queue, 60));
	CU_ASSERT_TRUE(
		vl_frame_queue_push(&queue, make_ipv4_frame(&pool.pool, 600, 1, 2, 0, 2), 100));
	CU_ASSERT_TRUE(
		vl_frame_queue_push(&queue, make_ipv4_frame(&pool.pool, 400, 1, 3, 0, 2), 150));
	frame = make_ipv4_frame(&pool.pool, 42, 1, 4, 0, 2);
	CU_ASSERT_FALSE(vl_frame_queue_push(&queue, frame, 160));
	vl_frame_free(frame);
	CU_ASSERT_EQUAL(queue.frames, 2);
	frame = vl_frame_queue_pop(&queue, 250);
	CU_ASSERT_EQUAL(frame->data[11], 2);
	CU_ASSERT_EQUAL(frame->time, 100);
	vl_frame_free(frame);
	/* 0 for 50 ns, 600 for 50, 1000 for 100, 400 for 50 */
	CU_ASSERT_TRUE(vl_frame_queue_area(&queue, 300) == 30000 + 100000 + 20000);
	CU_ASSERT_EQUAL(queue.watermark, 1000);
	vl_frame_queue_reset_watermark(&queue);
	CU_ASSERT_EQUAL(queue.watermark, 400);
	vl_frame_queue_clear(&queue, 300);
	CU_ASSERT_EQUAL(queue.bytes, 0);
	CU_ASSERT_EQUAL(pool.in_use, 0);
	vl_memory_frame_pool_release(&pool);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"edges_are_exact", test_edges_are_exact},
		{"curve", test_curve},
		{"step", test_step},
		{"marks_or_drops", test_marks_or_drops},
		{"refuses_bad_configurations", test_refuses_bad_configurations},
		{"queue_limit_watermark_and_mean", test_queue_limit_watermark_and_mean},
	};

	return RUN_SUITE("fabric_red", tests, argc, argv);
}
