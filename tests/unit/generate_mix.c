/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Mixes of messages: shares by weight, ranges, turns, the same by the same seed. */

#include "dataplane/generate/mix.h"
#include "tests/support/suite.h"

#include <string.h>

#define DRAWS 1000000u

static struct vl_mix mix;

static void set_up(const struct vl_mix_config *config)
{
	CU_ASSERT_PTR_NULL_FATAL(vl_mix_config_error(config, IBV_QPT_RC, 4096));
	vl_mix_init(&mix, config);
}

/* Within 5 standard deviations of a binomial count. */
static bool is_near(uint64_t count, double share)
{
	double expected = share * DRAWS, off = (double)count - expected;

	return off * off <= 25 * expected * (1 - share) + 1;
}

static void test_weights(void)
{
	const struct vl_mix_config config = {.count = 4,
					     .entries = {{VL_FLOW_WRITE, 1000, 1000, 70},
							 {VL_FLOW_READ, 2000, 2000, 20},
							 {VL_FLOW_SEND, 64, 64, 9},
							 {VL_FLOW_FETCH_ADD, 8, 8, 1}}};
	struct vl_mix_cursor cursor = {.random = {1}};
	uint64_t counts[VL_FLOW_VERB_COUNT] = {0};
	struct vl_message message;
	double bytes = 0;

	set_up(&config);
	for (uint32_t i = 0; i < DRAWS; i++) {
		message = vl_mix_next(&mix, &cursor);
		counts[message.verb]++;
		bytes += message.size;
	}
	CU_ASSERT_TRUE(is_near(counts[VL_FLOW_WRITE], 0.70));
	CU_ASSERT_TRUE(is_near(counts[VL_FLOW_READ], 0.20));
	CU_ASSERT_TRUE(is_near(counts[VL_FLOW_SEND], 0.09));
	CU_ASSERT_TRUE(is_near(counts[VL_FLOW_FETCH_ADD], 0.01));
	CU_ASSERT_DOUBLE_EQUAL(bytes / DRAWS, vl_mix_mean(&config), 5);
	CU_ASSERT_EQUAL(vl_mix_largest(&config), 2000);
	CU_ASSERT_TRUE(vl_mix_takes_receives(&config));
}

/* Both ends occur, and the mean is the middle. */
static void test_range(void)
{
	const struct vl_mix_config config = {.count = 1, .entries = {{VL_FLOW_WRITE, 10, 19, 1}}};
	struct vl_mix_cursor cursor = {.random = {7}};
	uint64_t counts[20] = {0};

	set_up(&config);
	for (uint32_t i = 0; i < DRAWS; i++) {
		uint32_t size = vl_mix_next(&mix, &cursor).size;

		CU_ASSERT_FATAL(size >= 10 && size <= 19);
		counts[size]++;
	}
	for (unsigned int size = 10; size <= 19; size++)
		CU_ASSERT_TRUE(is_near(counts[size], 0.1));
}

static void test_turns(void)
{
	const struct vl_mix_config config = {
		.count = 2,
		.in_turn = true,
		.entries = {{VL_FLOW_WRITE, 1, 1, 2}, {VL_FLOW_SEND, 5, 5, 1}}};
	static const uint32_t expected[] = {1, 1, 5, 1, 1, 5, 1};
	struct vl_mix_cursor cursor = {.random = {1}};

	set_up(&config);
	for (unsigned int i = 0; i < 7; i++)
		CU_ASSERT_EQUAL(vl_mix_next(&mix, &cursor).size, expected[i]);
}

static void test_same_by_seed(void)
{
	const struct vl_mix_config config = {
		.count = 2, .entries = {{VL_FLOW_WRITE, 1, 100000, 1}, {VL_FLOW_SEND, 1, 99, 3}}};
	struct vl_mix_cursor a = {.random = {3}}, b = {.random = {3}}, c = {.random = {4}};
	unsigned int different = 0;

	set_up(&config);
	for (unsigned int i = 0; i < 1000; i++) {
		struct vl_message one = vl_mix_next(&mix, &a), other = vl_mix_next(&mix, &b);

		CU_ASSERT_EQUAL(one.size, other.size);
		CU_ASSERT_EQUAL(one.verb, other.verb);
		different += vl_mix_next(&mix, &c).size != one.size;
	}
	CU_ASSERT_TRUE(different > 900);
}

static void refuse(struct vl_mix_entry entry, enum ibv_qp_type transport, const char *reason)
{
	const struct vl_mix_config config = {.count = 1, .entries = {entry}};
	const char *error = vl_mix_config_error(&config, transport, 1024);

	CU_ASSERT_PTR_NOT_NULL_FATAL(error);
	CU_ASSERT_PTR_NOT_NULL(strstr(error, reason));
}

static void test_refusals(void)
{
	const struct vl_mix_config none = {0};

	CU_ASSERT_PTR_NOT_NULL(vl_mix_config_error(&none, IBV_QPT_RC, 4096));
	refuse((struct vl_mix_entry){VL_FLOW_READ, 1, 1, 1}, IBV_QPT_UC, "UC has no READ");
	refuse((struct vl_mix_entry){VL_FLOW_WRITE, 1, 1, 1}, IBV_QPT_UD, "UD has SEND only");
	refuse((struct vl_mix_entry){VL_FLOW_SEND, 1, 1025, 1}, IBV_QPT_UD, "one path MTU");
	refuse((struct vl_mix_entry){VL_FLOW_SEND, 2, 1, 1}, IBV_QPT_RC, "must not end before");
	refuse((struct vl_mix_entry){VL_FLOW_SEND, 0, 1, 1}, IBV_QPT_RC, "1 B to 2 GiB");
	refuse((struct vl_mix_entry){VL_FLOW_SEND, 1, 1, 0}, IBV_QPT_RC, "weights");
	refuse((struct vl_mix_entry){VL_FLOW_FETCH_ADD, 8, 16, 1}, IBV_QPT_RC, "atomic is 8 B");
}

static const struct test tests[] = {
	{"weights", test_weights},           {"range", test_range},       {"turns", test_turns},
	{"same_by_seed", test_same_by_seed}, {"refusals", test_refusals},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("generate_mix", tests, argc, argv);
}
