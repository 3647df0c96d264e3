/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The congestion control table: the index by hand computed times, and rates by the table. */

#include "tests/support/suite.h"
#include "transport/cc/cc.h"

#include <errno.h>

#define LINE UINT64_C(100000000000)

static struct vl_cc_parameters make_parameters(void)
{
	struct vl_cc_parameters parameters = {.algorithm = &vl_cc_infiniband};

	vl_infiniband_cc_defaults(&parameters.infiniband);
	return parameters;
}

static uint32_t ccti(struct vl_cc_state *state, const struct vl_cc_parameters *parameters,
		     uint64_t now)
{
	return vl_cc_infiniband.report(state, parameters, now).ccti;
}

/* Picoseconds per byte << 16. */
static double line_byte_time(void)
{
	return 80.0 * 65536;
}

static void test_index(void)
{
	struct vl_cc_parameters parameters = make_parameters();
	const uint64_t start = 1000000, period = 100 * 1024;
	struct vl_cc_state state;

	parameters.infiniband.ccti_timer = 100;
	parameters.infiniband.ccti_increase = 3;
	parameters.infiniband.ccti_min = 2;
	parameters.infiniband.ccti_limit = 10;
	vl_cc_infiniband.init(&state, &parameters, LINE, 0);
	CU_ASSERT_EQUAL(ccti(&state, &parameters, 0), 2);
	CU_ASSERT_EQUAL(vl_cc_infiniband.next_change(&state, &parameters), UINT64_MAX);
	vl_cc_infiniband.on_cnp(&state, &parameters, start);
	CU_ASSERT_EQUAL(ccti(&state, &parameters, start), 5);
	CU_ASSERT_EQUAL(vl_cc_infiniband.next_change(&state, &parameters), start + period);
	vl_cc_infiniband.on_cnp(&state, &parameters, start + 10);
	CU_ASSERT_EQUAL(ccti(&state, &parameters, start + 10), 8);
	vl_cc_infiniband.on_cnp(&state, &parameters, start + 20);
	CU_ASSERT_EQUAL(ccti(&state, &parameters, start + 20), 10); /* the limit */
	/* The timer goes on from the first. */
	CU_ASSERT_EQUAL(ccti(&state, &parameters, start + period - 1), 10);
	CU_ASSERT_EQUAL(ccti(&state, &parameters, start + period), 9);
	CU_ASSERT_EQUAL(ccti(&state, &parameters, start + 5 * period), 5);
	vl_cc_infiniband.on_cnp(&state, &parameters, start + 5 * period + 1);
	CU_ASSERT_EQUAL(ccti(&state, &parameters, start + 6 * period - 1), 8);
	CU_ASSERT_EQUAL(ccti(&state, &parameters, start + 6 * period), 7);
	CU_ASSERT_EQUAL(ccti(&state, &parameters, start + 11 * period), 2); /* the least */
	CU_ASSERT_EQUAL(ccti(&state, &parameters, start + 1000 * period), 2);
	/* Begins anew with the next. */
	vl_cc_infiniband.byte_time(&state, &parameters, start + 11 * period);
	CU_ASSERT_EQUAL(vl_cc_infiniband.next_change(&state, &parameters), UINT64_MAX);
	vl_cc_infiniband.on_cnp(&state, &parameters, start + 20 * period + 7);
	CU_ASSERT_EQUAL(vl_cc_infiniband.next_change(&state, &parameters), start + 21 * period + 7);
}

static void test_no_timer(void)
{
	struct vl_cc_parameters parameters = make_parameters();
	struct vl_cc_state state;

	parameters.infiniband.ccti_timer = 0;
	vl_cc_infiniband.init(&state, &parameters, LINE, 0);
	vl_cc_infiniband.on_cnp(&state, &parameters, 1);
	CU_ASSERT_EQUAL(ccti(&state, &parameters, UINT64_C(1) << 60), 1);
}

/* After a packet's time T comes a pause of multiplier / 2^shift T. */
static void test_table(void)
{
	static const struct {
		uint32_t shift, multiplier;
		double pause; /* packet times */
	} entries[] = {{0, 1, 1}, {0, 3, 3}, {1, 3, 1.5}, {3, 1, 0.125}, {3, 16383, 2047.875}};
	struct vl_cc_parameters parameters = make_parameters();
	struct vl_cc_state state;

	vl_cc_infiniband.init(&state, &parameters, LINE, 0);
	CU_ASSERT_EQUAL(vl_cc_infiniband.byte_time(&state, &parameters, 0), 0); /* no limit */
	CU_ASSERT_EQUAL(vl_cc_infiniband.report(&state, &parameters, 0).rate, LINE);
	for (unsigned int i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		CU_ASSERT_EQUAL(vl_infiniband_cct_set(&parameters.infiniband, 1, entries[i].shift,
						      entries[i].multiplier),
				0);
		vl_cc_infiniband.init(&state, &parameters, LINE, 0);
		vl_cc_infiniband.on_cnp(&state, &parameters, 0);
		CU_ASSERT_DOUBLE_EQUAL((double)vl_cc_infiniband.byte_time(&state, &parameters, 0) /
					       (line_byte_time() * (1 + entries[i].pause)),
				       1, 1e-5);
		CU_ASSERT_DOUBLE_EQUAL(
			(double)vl_cc_infiniband.report(&state, &parameters, 0).rate *
				(1 + entries[i].pause) / (double)LINE,
			1, 1e-5);
	}
	CU_ASSERT_EQUAL(vl_infiniband_cct_set(&parameters.infiniband, 128, 0, 0), -ERANGE);
	CU_ASSERT_EQUAL(vl_infiniband_cct_set(&parameters.infiniband, 0, 4, 0), -ERANGE);
	CU_ASSERT_EQUAL(vl_infiniband_cct_set(&parameters.infiniband, 0, 0, 16384), -ERANGE);
}

/* The longest pause on the slowest line: a packet's time still fits 64 bits of picoseconds << 16,
 * and the report says what is done. */
static void test_slow_line(void)
{
	struct vl_cc_parameters parameters = make_parameters();
	struct vl_cc_report report;
	struct vl_cc_state state;
	uint64_t byte_time, duration;

	vl_infiniband_cct_set(&parameters.infiniband, 1, 0, 16383);
	vl_cc_infiniband.init(&state, &parameters, 1000000, 0);
	vl_cc_infiniband.on_cnp(&state, &parameters, 0);
	byte_time = vl_cc_infiniband.byte_time(&state, &parameters, 0);
	report = vl_cc_infiniband.report(&state, &parameters, 0);
	CU_ASSERT_FALSE(__builtin_mul_overflow(byte_time, UINT64_C(131071), &duration));
	CU_ASSERT_FALSE(__builtin_add_overflow(duration, UINT64_C(1000) << 16, &duration));
	CU_ASSERT_EQUAL(report.rate, 7450);
	CU_ASSERT_DOUBLE_EQUAL(8e12 * 65536 / (double)byte_time / (double)report.rate, 1, 1e-3);

	/* One that is above the least rate is not touched. */
	vl_cc_infiniband.init(&state, &parameters, 200000000, 0);
	vl_cc_infiniband.on_cnp(&state, &parameters, 0);
	CU_ASSERT_EQUAL(vl_cc_infiniband.report(&state, &parameters, 0).rate, 200000000 / 16384);
	CU_ASSERT_EQUAL(vl_cc_infiniband.byte_time(&state, &parameters, 0),
			UINT64_C(40000) * 65536 * 16384);
}

static void test_parameters(void)
{
	struct vl_cc_parameters parameters = make_parameters();
	const struct vl_cc_description *description;

	CU_ASSERT_EQUAL(vl_cc_check(&parameters), 0);
	CU_ASSERT_PTR_EQUAL(vl_cc_find("infiniband"), &vl_cc_infiniband);
	CU_ASSERT_EQUAL(vl_infiniband_cc_set(&parameters.infiniband, "ccti_timer", 65535), 0);
	CU_ASSERT_EQUAL(parameters.infiniband.ccti_timer, 65535);
	CU_ASSERT_EQUAL(vl_infiniband_cc_set(&parameters.infiniband, "ccti_timer", 65536), -ERANGE);
	CU_ASSERT_EQUAL(vl_infiniband_cc_set(&parameters.infiniband, "ccti", 1), -ENOENT);
	for (unsigned int i = 0; (description = vl_infiniband_cc_describe(i)); i++)
		CU_ASSERT_EQUAL(vl_infiniband_cc_set(&parameters.infiniband, description->name,
						     description->most),
				0);
	CU_ASSERT_EQUAL(vl_cc_check(&parameters), 0);
	parameters.infiniband.ccti_limit = 126;
	CU_ASSERT_EQUAL(vl_cc_check(&parameters), -EINVAL); /* ccti_min is 127 */
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"the index over time", test_index}, {"without a timer", test_no_timer},
		{"the table", test_table},           {"a slow line", test_slow_line},
		{"parameters", test_parameters},
	};

	return RUN_SUITE("InfiniBand congestion control", tests, argc, argv);
}
