/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The rules of packet memory against figures worked out by hand. */

#include "dataplane/fabric/buffer.h"
#include "tests/support/suite.h"

static const uint64_t none[VL_BUFFER_POOLS];

struct one {
	struct vl_buffer buffer;
	struct vl_buffer_rule queue_rule;
	uint64_t queue;
};

/* One pool, queues without limits. */
static void begin(struct one *one, uint64_t size, uint64_t reserved, uint64_t shared_headroom)
{
	const struct vl_buffer_pool_config pool = {.size = size,
						   .shared_headroom = shared_headroom};
	const struct vl_buffer_queue_config queue = {0};
	const uint64_t groups[VL_BUFFER_POOLS] = {reserved};

	vl_buffer_init(&one->buffer, size, 0, &pool, 1, groups, none);
	vl_buffer_queue_rule(&one->queue_rule, &queue);
	one->queue = 0;
}

static enum vl_buffer_verdict put(struct one *one, const struct vl_buffer_rule *rule,
				  struct vl_buffer_group *group, uint32_t bytes)
{
	return vl_buffer_admit(&one->buffer, rule, group, &one->queue_rule, &one->queue, bytes);
}

static void take(struct one *one, const struct vl_buffer_rule *rule, struct vl_buffer_group *group,
		 uint32_t bytes)
{
	vl_buffer_release(&one->buffer, rule, group, &one->queue_rule, &one->queue, bytes);
}

/* Bytes that a group gets in frames of bytes each. */
static uint64_t fill(struct one *one, const struct vl_buffer_rule *rule,
		     struct vl_buffer_group *group, uint32_t bytes)
{
	while (put(one, rule, group, bytes) == VL_BUFFER_ADMITTED)
		;
	return group->used + group->headroom;
}

static void test_cells(void)
{
	static const uint32_t sizes[] = {32, 80, 144, 208, 254, 256, 288, 1000, 4095, 4096};
	const struct vl_buffer_pool_config pool = {.size = 1000000};
	struct vl_buffer buffer;
	unsigned int wrong = 0;

	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		vl_buffer_init(&buffer, 1000000, sizes[i], &pool, 1, none, none);
		for (uint32_t length = 1; length <= UINT16_MAX; length++)
			wrong += vl_buffer_occupancy(&buffer, length) !=
				 (length + sizes[i] - 1) / sizes[i] * sizes[i];
	}
	CU_ASSERT_EQUAL(wrong, 0);
	vl_buffer_init(&buffer, 1000000, 0, &pool, 1, none, none);
	CU_ASSERT_EQUAL(vl_buffer_occupancy(&buffer, 1234), 1234);
}

/* Alone with alpha a group gets alpha / (1 + alpha) of the pool; n groups get alpha / (1 + n alpha)
 * each (Choudhury and Hahne, equation 3). */
static void test_dynamic_threshold(void)
{
	static const struct {
		double alpha;
		unsigned int groups;
		uint64_t each; /* of 900000 bytes, in frames of 100 */
	} cases[] = {
		{1, 1, 450000},
		{1, 2, 300000},
		{0.5, 1, 300000},
		{2, 4, 200000},
		{0.125, 1, 100000},
		{8, 1, 800000},
		{8, 8, 110700 /* 110769 */},
		{1.0 / 128, 2, 6900 /* 6923 */},
	};

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct vl_buffer_group_config config = {
			.threshold = vl_threshold_dynamic(cases[i].alpha)};
		struct vl_buffer_group groups[8] = {{0}};
		struct vl_buffer_rule rule;
		struct one one;
		bool any = true;

		begin(&one, 900000, 0, 0);
		vl_buffer_group_rule(&rule, &config);
		/* In turns, so that all come to the same. */
		while (any) {
			any = false;
			for (unsigned int g = 0; g < cases[i].groups; g++)
				any |= put(&one, &rule, &groups[g], 100) == VL_BUFFER_ADMITTED;
		}
		for (unsigned int g = 0; g < cases[i].groups; g++)
			CU_ASSERT_TRUE(groups[g].used + 200 >= cases[i].each &&
				       groups[g].used <= cases[i].each + 100);
		CU_ASSERT_EQUAL(put(&one, &rule, &groups[0], 100), VL_BUFFER_BEYOND_THRESHOLD);
	}
}

/* What others take lowers the threshold, what they give back raises it. */
static void test_threshold_follows_the_others(void)
{
	const struct vl_buffer_group_config greedy = {0},
					    modest = {.threshold = vl_threshold_dynamic(1)};
	struct vl_buffer_group a = {0}, b = {0};
	struct vl_buffer_rule greedy_rule, rule;
	struct one one;

	begin(&one, 100000, 0, 0);
	vl_buffer_group_rule(&greedy_rule, &greedy);
	vl_buffer_group_rule(&rule, &modest);
	CU_ASSERT_EQUAL(put(&one, &greedy_rule, &a, 60000), VL_BUFFER_ADMITTED);
	CU_ASSERT_EQUAL(fill(&one, &rule, &b, 1000), 20000);
	take(&one, &greedy_rule, &a, 20000);
	CU_ASSERT_EQUAL(fill(&one, &rule, &b, 1000), 30000);
	CU_ASSERT_EQUAL(put(&one, &greedy_rule, &a, 30001), VL_BUFFER_POOL_FULL);
	CU_ASSERT_EQUAL(put(&one, &greedy_rule, &a, 30000), VL_BUFFER_ADMITTED);
	CU_ASSERT_EQUAL(put(&one, &rule, &b, 1), VL_BUFFER_BEYOND_THRESHOLD);
	CU_ASSERT_EQUAL(one.buffer.pools[0].groups.used, 100000);
	CU_ASSERT_EQUAL(one.buffer.pools[0].groups.watermark, 100000);
}

/* 20000 bytes, of which group a has 5000 for itself: others share 15000, a may have 20000. */
static void test_reserved(void)
{
	const struct vl_buffer_group_config with = {.reserved = 5000}, without = {0};
	struct vl_buffer_group a = {0}, b = {0};
	struct vl_buffer_rule with_rule, rule;
	struct one one;

	begin(&one, 20000, 5000, 0);
	vl_buffer_group_rule(&with_rule, &with);
	vl_buffer_group_rule(&rule, &without);
	CU_ASSERT_EQUAL(fill(&one, &rule, &b, 1000), 15000);
	CU_ASSERT_EQUAL(fill(&one, &with_rule, &a, 1000), 5000);
	CU_ASSERT_EQUAL(one.buffer.used, 20000);
	take(&one, &rule, &b, 10000);
	CU_ASSERT_EQUAL(fill(&one, &with_rule, &a, 1000), 15000);
	/* What a gives back comes from the shared part first. */
	take(&one, &with_rule, &a, 4000);
	CU_ASSERT_EQUAL(one.buffer.pools[0].groups.used, 5000 + 6000);
	take(&one, &with_rule, &a, 11000);
	CU_ASSERT_EQUAL(one.buffer.pools[0].groups.used, 5000);
	CU_ASSERT_EQUAL(fill(&one, &rule, &b, 1000), 15000);
}

static void test_xoff_and_xon(void)
{
	const struct vl_buffer_group_config config = {
		.lossless = true,
		.reserved = 1000,
		.threshold = vl_threshold_static(4000),
		.headroom = 3000,
		.xon = 2000,
	};
	struct vl_buffer_group group = {0};
	struct vl_buffer_rule rule;
	struct one one;

	begin(&one, 100000, 4000, 0);
	vl_buffer_group_rule(&rule, &config);
	put(&one, &rule, &group, 4999);
	CU_ASSERT_FALSE(vl_buffer_is_xoff(&one.buffer, &rule, &group));
	put(&one, &rule, &group, 1);
	CU_ASSERT_TRUE(vl_buffer_is_xoff(&one.buffer, &rule, &group));
	CU_ASSERT_EQUAL(put(&one, &rule, &group, 3000), VL_BUFFER_ADMITTED);
	CU_ASSERT_EQUAL(put(&one, &rule, &group, 1), VL_BUFFER_HEADROOM_FULL);
	CU_ASSERT_EQUAL(group.headroom, 3000);
	CU_ASSERT_EQUAL(group.headroom_watermark, 3000);
	CU_ASSERT_EQUAL(group.watermark, 8000);
	take(&one, &rule, &group, 2999);
	CU_ASSERT_FALSE(vl_buffer_is_xon(&one.buffer, &rule, &group));
	take(&one, &rule, &group, 3000); /* 1 of headroom, 2999 of 5000 */
	CU_ASSERT_EQUAL(group.used, 2001);
	CU_ASSERT_FALSE(vl_buffer_is_xon(&one.buffer, &rule, &group));
	take(&one, &rule, &group, 1);
	CU_ASSERT_TRUE(vl_buffer_is_xon(&one.buffer, &rule, &group));

	/* XON also at 500 below the threshold, 4500. */
	rule.xon_offset = 500;
	put(&one, &rule, &group, 2501);
	CU_ASSERT_FALSE(vl_buffer_is_xon(&one.buffer, &rule, &group));
	take(&one, &rule, &group, 1);
	CU_ASSERT_TRUE(vl_buffer_is_xon(&one.buffer, &rule, &group));
}

/* Alpha 1 of 100000 less a headroom of 10000: XOFF at half of 90000; while others hold 60000 of
 * it, at half of 30000. */
static void test_dynamic_xoff(void)
{
	const struct vl_buffer_group_config config = {
		.lossless = true,
		.threshold = vl_threshold_dynamic(1),
		.headroom = 10000,
		.xon = 1000,
		.xon_offset = 2000,
	};
	const struct vl_buffer_group_config other = {0};
	struct vl_buffer_group group = {0}, rest = {0};
	struct vl_buffer_rule rule, other_rule;
	struct one one;

	begin(&one, 100000, 10000, 0);
	vl_buffer_group_rule(&rule, &config);
	vl_buffer_group_rule(&other_rule, &other);
	put(&one, &rule, &group, 44999);
	CU_ASSERT_FALSE(vl_buffer_is_xoff(&one.buffer, &rule, &group));
	put(&one, &rule, &group, 1);
	CU_ASSERT_TRUE(vl_buffer_is_xoff(&one.buffer, &rule, &group));
	take(&one, &rule, &group, 45000);
	put(&one, &other_rule, &rest, 60000);
	put(&one, &rule, &group, 15000);
	CU_ASSERT_TRUE(vl_buffer_is_xoff(&one.buffer, &rule, &group));
	CU_ASSERT_EQUAL(fill(&one, &rule, &group, 100), 25000);
	CU_ASSERT_EQUAL(group.headroom, 10000);
	/* 14000 <= 30000 - 14000 - 2000 */
	take(&one, &rule, &group, 10999);
	CU_ASSERT_FALSE(vl_buffer_is_xon(&one.buffer, &rule, &group));
	take(&one, &rule, &group, 1);
	CU_ASSERT_TRUE(vl_buffer_is_xon(&one.buffer, &rule, &group));
}

/* Two groups with a headroom of 4000 each, of a pool of 6000. */
static void test_shared_headroom(void)
{
	const struct vl_buffer_group_config config = {
		.lossless = true,
		.threshold = vl_threshold_static(1000),
		.headroom = 4000,
	};
	struct vl_buffer_group a = {0}, b = {0};
	struct vl_buffer_rule rule;
	struct one one;

	begin(&one, 100000, 0, 6000);
	CU_ASSERT_EQUAL(one.buffer.pools[0].groups.limit, 94000);
	CU_ASSERT_EQUAL(one.buffer.shared.limit, 94000);
	vl_buffer_group_rule(&rule, &config);
	CU_ASSERT_EQUAL(fill(&one, &rule, &a, 500), 5000);
	CU_ASSERT_EQUAL(fill(&one, &rule, &b, 500), 3000);
	CU_ASSERT_EQUAL(b.headroom, 2000);
	CU_ASSERT_EQUAL(one.buffer.pools[0].headroom.used, 6000);
	CU_ASSERT_EQUAL(one.buffer.pools[0].headroom.watermark, 6000);
	take(&one, &rule, &a, 1500);
	CU_ASSERT_EQUAL(fill(&one, &rule, &b, 500), 4500);
	CU_ASSERT_EQUAL(one.buffer.pools[0].groups.used, 2000);
}

/* Pools that promise more than there is: the memory itself is what is shared last. */
static void test_pools_beyond_the_memory(void)
{
	const struct vl_buffer_pool_config pools[2] = {
		{.size = 80000, .is_shared_only = true},
		{.size = 80000},
	};
	const struct vl_buffer_group_config first = {.pool = 0, .reserved = 10000},
					    second = {.pool = 1};
	const uint64_t reserved[VL_BUFFER_POOLS] = {10000};
	struct vl_buffer_group a = {0}, b = {0};
	struct vl_buffer_rule rules[2];
	struct one one;

	begin(&one, 100000, 0, 0);
	vl_buffer_init(&one.buffer, 100000, 0, pools, 2, reserved, none);
	vl_buffer_group_rule(&rules[0], &first);
	vl_buffer_group_rule(&rules[1], &second);
	CU_ASSERT_EQUAL(fill(&one, &rules[1], &b, 1000), 80000);
	CU_ASSERT_EQUAL(fill(&one, &rules[0], &a, 1000), 20000);
	CU_ASSERT_EQUAL(one.buffer.used, 100000);
	CU_ASSERT_EQUAL(put(&one, &rules[0], &a, 1), VL_BUFFER_POOL_FULL);
}

/* The egress side: a queue's threshold, and a pool that queues share. */
static void test_queues(void)
{
	const struct vl_buffer_group_config any = {0};
	const struct vl_buffer_queue_config queue = {.threshold = vl_threshold_dynamic(1),
						     .reserved = 1000};
	struct vl_buffer_group group = {0};
	struct vl_buffer_rule rule;
	const struct vl_buffer_pool_config pool = {.size = 31000};
	const uint64_t reserved[VL_BUFFER_POOLS] = {1000};
	struct one one;

	begin(&one, 100000, 0, 0);
	vl_buffer_init(&one.buffer, 100000, 0, &pool, 1, none, reserved);
	vl_buffer_queue_rule(&one.queue_rule, &queue);
	vl_buffer_group_rule(&rule, &any);
	/* 1000 and half of 30000 */
	while (vl_buffer_queue_check(&one.buffer, &one.queue_rule, one.queue, 500) ==
	       VL_BUFFER_ADMITTED)
		put(&one, &rule, &group, 500);
	CU_ASSERT_EQUAL(one.queue, 16000);
	CU_ASSERT_EQUAL(vl_buffer_queue_check(&one.buffer, &one.queue_rule, one.queue, 1),
			VL_BUFFER_BEYOND_THRESHOLD);
	one.queue_rule.alpha = 0;
	one.queue_rule.limit = VL_BUFFER_SIZE_MAX;
	one.queue_rule.reserved = 0;
	CU_ASSERT_EQUAL(vl_buffer_queue_check(&one.buffer, &one.queue_rule, 0, 15001),
			VL_BUFFER_POOL_FULL);
	CU_ASSERT_EQUAL(vl_buffer_queue_check(&one.buffer, &one.queue_rule, 0, 15000),
			VL_BUFFER_ADMITTED);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"cells", test_cells},
		{"dynamic_threshold", test_dynamic_threshold},
		{"threshold_follows_the_others", test_threshold_follows_the_others},
		{"reserved", test_reserved},
		{"xoff_and_xon", test_xoff_and_xon},
		{"dynamic_xoff", test_dynamic_xoff},
		{"shared_headroom", test_shared_headroom},
		{"pools_beyond_the_memory", test_pools_beyond_the_memory},
		{"queues", test_queues},
	};

	return RUN_SUITE("switch_buffer", tests, argc, argv);
}
