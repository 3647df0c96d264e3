/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* VL arbitration against sequences worked out by hand from the tables. */

#include "dataplane/infiniband/arbiter.h"
#include "tests/support/suite.h"

#include <string.h>

#define ALL    0x7fffu
#define LANE15 (1u << 15)

/* Which lanes are served, as digits (f: lane 15, -: none), all with packets of one length. */
static void check_sequence(struct vl_arbiter *arbiter, uint16_t ready, uint32_t length,
			   const char *expected)
{
	char found[65] = "";
	size_t count = strlen(expected);

	for (size_t i = 0; i < count; i++) {
		uint8_t lane = vl_arbiter_choose(arbiter, ready);

		found[i] = lane == VL_ARBITER_NONE ? '-' : "0123456789abcdef"[lane];
		if (lane != VL_ARBITER_NONE)
			vl_arbiter_sent(arbiter, length);
	}
	CU_ASSERT_STRING_EQUAL(found, expected);
}

static struct vl_arbiter make(const struct vl_arbiter_config *config)
{
	struct vl_arbiter arbiter;

	vl_arbiter_init(&arbiter, config);
	return arbiter;
}

static void test_weights(void)
{
	/* 4096, 8192 and 64 bytes: packets of 4096 go 1, 2 and 1 (one, whole, for what is left). */
	const struct vl_arbiter_config config = {
		.limit_of_high_priority = 255,
		.low_count = 3,
		.low = {{0, 64}, {1, 128}, {2, 1}},
	};
	struct vl_arbiter arbiter = make(&config);

	check_sequence(&arbiter, ALL, 4096, "011201120112");
	/* Packets of 4100: the weight's last bytes let one more go. */
	arbiter = make(&config);
	check_sequence(&arbiter, ALL, 4100, "011201120112");
	arbiter = make(&config);
	check_sequence(&arbiter, ALL, 4000, "001112001112");
	/* A lane without packets loses its turn, and what was left of it. */
	arbiter = make(&config);
	check_sequence(&arbiter, ALL, 4096, "01");
	check_sequence(&arbiter, 1u << 2 | 1u << 0, 4096, "2020");
	check_sequence(&arbiter, 1u << 1, 4096, "111");
	check_sequence(&arbiter, 0, 4096, "--");
	check_sequence(&arbiter, 1u << 7, 4096, "-");
}

static void test_repeated_and_skipped_entries(void)
{
	const struct vl_arbiter_config config = {
		.limit_of_high_priority = 255,
		.low_count = 5,
		.low = {{0, 64}, {1, 64}, {0, 64}, {2, 0}, {2, 64}},
	};
	struct vl_arbiter arbiter = make(&config);

	check_sequence(&arbiter, ALL, 4096, "010201020102");
}

static void test_high_priority(void)
{
	struct vl_arbiter_config config = {
		.limit_of_high_priority = 255,
		.high_count = 1,
		.high = {{3, 64}},
		.low_count = 2,
		.low = {{0, 64}, {1, 64}},
	};
	struct vl_arbiter arbiter = make(&config);

	/* No limit: the low table starves. */
	check_sequence(&arbiter, ALL, 4096, "33333333");
	check_sequence(&arbiter, 3, 4096, "0101");
	/* Two packets of 4096 bytes, then a chance. */
	config.limit_of_high_priority = 2;
	arbiter = make(&config);
	check_sequence(&arbiter, ALL, 4096, "330331330331");
	/* One packet. */
	config.limit_of_high_priority = 0;
	arbiter = make(&config);
	check_sequence(&arbiter, ALL, 4096, "30313031");
	/* A chance that nobody takes is gone. */
	config.limit_of_high_priority = 1;
	arbiter = make(&config);
	check_sequence(&arbiter, 1u << 3, 4096, "33");
	check_sequence(&arbiter, ALL, 4096, "031303");
}

static void test_management_first(void)
{
	struct vl_arbiter_config config;
	struct vl_arbiter arbiter;

	vl_arbiter_default(&config, 2);
	arbiter = make(&config);
	check_sequence(&arbiter, ALL, 4096, "01");
	check_sequence(&arbiter, LANE15 | 3, 256, "fff");
	check_sequence(&arbiter, 3, 4096, "01");
}

static void test_errors(void)
{
	struct vl_arbiter_config config;

	vl_arbiter_default(&config, 15);
	CU_ASSERT_PTR_NULL(vl_arbiter_config_error(&config, 15));
	CU_ASSERT_PTR_NOT_NULL(vl_arbiter_config_error(&config, 14));
	vl_arbiter_default(&config, 3);
	CU_ASSERT_PTR_NOT_NULL(vl_arbiter_config_error(&config, 4));
	config.low[2].weight = 0;
	CU_ASSERT_PTR_NOT_NULL(vl_arbiter_config_error(&config, 3));
	config.high[0] = (struct vl_arbiter_entry){2, 1};
	config.high_count = 1;
	CU_ASSERT_PTR_NULL(vl_arbiter_config_error(&config, 3));
	config.high_count = 65;
	CU_ASSERT_PTR_NOT_NULL(vl_arbiter_config_error(&config, 3));
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"weights", test_weights},
		{"repeated entries, and those of weight 0", test_repeated_and_skipped_entries},
		{"limit of high priority", test_high_priority},
		{"lane 15 first", test_management_first},
		{"tables that are refused", test_errors},
	};

	return RUN_SUITE("InfiniBand arbiter", tests, argc, argv);
}
