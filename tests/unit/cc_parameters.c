/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Algorithms by name, profiles, parameters, the simple algorithms and the notification point. */

#include "tests/support/suite.h"
#include "transport/cc/cc.h"

#include <errno.h>
#include <string.h>

static void test_algorithms_by_name(void)
{
	CU_ASSERT_PTR_EQUAL(vl_cc_find("none"), &vl_cc_none);
	CU_ASSERT_PTR_EQUAL(vl_cc_find("fixed"), &vl_cc_fixed);
	CU_ASSERT_PTR_EQUAL(vl_cc_find("dcqcn"), &vl_cc_dcqcn);
	CU_ASSERT_PTR_NULL(vl_cc_find("DCQCN"));
	CU_ASSERT_PTR_NULL(vl_cc_find(""));
	for (unsigned int i = 0; i < 4; i++) {
		CU_ASSERT_PTR_NOT_NULL_FATAL(vl_cc_name(i));
		CU_ASSERT_STRING_EQUAL(vl_cc_find(vl_cc_name(i))->name, vl_cc_name(i));
	}
	CU_ASSERT_PTR_NULL(vl_cc_name(4));
}

/* The paper's parameters (CoNEXT 2016, section 3) and NVIDIA's defaults, in numbers of their own.
 */
static void test_profiles(void)
{
	struct vl_dcqcn_parameters values;

	CU_ASSERT_EQUAL(vl_dcqcn_profile(&values, "paper"), 0);
	CU_ASSERT_EQUAL(values.rpg_byte_reset * 64, 10000000);
	CU_ASSERT_EQUAL(values.rpg_time_reset, 55);
	CU_ASSERT_EQUAL(values.rpg_threshold, 5);
	CU_ASSERT_EQUAL(values.rpg_ai_rate, 40);
	CU_ASSERT_EQUAL((1024 - values.dce_tcp_g) * 256, 1024);
	CU_ASSERT_EQUAL(values.dce_tcp_rtt, 55);
	CU_ASSERT_EQUAL(values.min_time_between_cnps, 50);
	CU_ASSERT_EQUAL(values.clamp_tgt_rate, 1);

	CU_ASSERT_EQUAL(vl_dcqcn_profile(&values, "nvidia"), 0);
	CU_ASSERT_EQUAL(values.rpg_ai_rate, 5);
	CU_ASSERT_EQUAL(values.rpg_hai_rate, 50);
	CU_ASSERT_EQUAL(values.rpg_time_reset, 300);
	CU_ASSERT_EQUAL(values.rpg_byte_reset, 32767);
	CU_ASSERT_EQUAL(values.rpg_threshold, 1);
	CU_ASSERT_EQUAL(values.dce_tcp_g, 1019);
	CU_ASSERT_EQUAL(values.dce_tcp_rtt, 1);
	CU_ASSERT_EQUAL(values.initial_alpha_value, 1023);
	CU_ASSERT_EQUAL(values.rate_reduce_monitor_period, 4);
	CU_ASSERT_EQUAL(values.clamp_tgt_rate, 0);
	CU_ASSERT_EQUAL(values.clamp_tgt_rate_after_time_inc, 1);
	CU_ASSERT_EQUAL(values.min_time_between_cnps, 4);
	CU_ASSERT_EQUAL(values.cnp_dscp, 48);
	CU_ASSERT_EQUAL(values.cnp_802p_prio, 6);

	CU_ASSERT_EQUAL(vl_dcqcn_profile(&values, "mellanox"), -EINVAL);
	CU_ASSERT_EQUAL(values.rpg_ai_rate, 5);
}

static void test_parameters(void)
{
	struct vl_dcqcn_parameters values;
	const struct vl_cc_description *description;
	unsigned int n;

	CU_ASSERT_EQUAL_FATAL(vl_dcqcn_profile(&values, "paper"), 0);
	for (n = 0; (description = vl_dcqcn_describe(n)); n++) {
		CU_ASSERT_EQUAL(vl_dcqcn_set(&values, description->name, description->most), 0);
		CU_ASSERT_EQUAL(*(uint32_t *)((char *)&values + description->offset),
				description->most);
		CU_ASSERT_EQUAL(
			vl_dcqcn_set(&values, description->name, (uint64_t)description->most + 1),
			-ERANGE);
		CU_ASSERT_EQUAL(vl_dcqcn_set(&values, description->name,
					     description->most + (UINT64_C(1) << 32)),
				-ERANGE);
		CU_ASSERT_EQUAL(vl_dcqcn_set(&values, description->name, description->least), 0);
		if (description->least)
			CU_ASSERT_EQUAL(
				vl_dcqcn_set(&values, description->name, description->least - 1),
				-ERANGE);
		CU_ASSERT_EQUAL(*(uint32_t *)((char *)&values + description->offset),
				description->least);
		CU_ASSERT(description->least <= description->paper &&
			  description->paper <= description->most);
		CU_ASSERT(description->least <= description->nvidia &&
			  description->nvidia <= description->most);
		CU_ASSERT(strlen(description->unit) && strlen(description->meaning));
	}
	CU_ASSERT_EQUAL(n * sizeof(uint32_t), sizeof(values));
	CU_ASSERT_EQUAL(vl_dcqcn_set(&values, "rpg_gain", 1), -ENOENT);
}

static void test_check(void)
{
	struct vl_cc_parameters parameters = {0};

	CU_ASSERT_EQUAL(vl_cc_check(&parameters), -EINVAL);
	parameters.algorithm = &vl_cc_none;
	CU_ASSERT_EQUAL(vl_cc_check(&parameters), 0);
	parameters.dcqcn.cnp_dscp = 64;
	CU_ASSERT_EQUAL(vl_cc_check(&parameters), -EINVAL);
	parameters.dcqcn.cnp_dscp = 48;
	parameters.algorithm = &vl_cc_dcqcn;
	CU_ASSERT_EQUAL(vl_cc_check(&parameters), -EINVAL);
	vl_dcqcn_profile(&parameters.dcqcn, "nvidia");
	CU_ASSERT_EQUAL(vl_cc_check(&parameters), 0);
	parameters.dcqcn.rpg_time_reset = 0;
	CU_ASSERT_EQUAL(vl_cc_check(&parameters), -EINVAL);
}

static void test_none_and_fixed(void)
{
	struct vl_cc_parameters parameters = {.algorithm = &vl_cc_none};
	const struct vl_cc_algorithm *fixed = &vl_cc_fixed;
	struct vl_cc_state state;

	memset(&state, 0xa5, sizeof(state));
	vl_cc_none.init(&state, &parameters, 100000000000, 5);
	CU_ASSERT_EQUAL(vl_cc_none.byte_time(&state, &parameters, 10), 0);
	CU_ASSERT_EQUAL(vl_cc_none.next_change(&state, &parameters), UINT64_MAX);
	CU_ASSERT_EQUAL(vl_cc_none.report(&state, &parameters, 10).rate, UINT64_MAX);

	parameters = (struct vl_cc_parameters){.algorithm = fixed, .fixed_rate = 25000000000};
	memset(&state, 0xa5, sizeof(state));
	fixed->init(&state, &parameters, 100000000000, 5);
	CU_ASSERT_EQUAL(fixed->byte_time(&state, &parameters, 10), UINT64_C(320) << 16);
	CU_ASSERT_EQUAL(fixed->report(&state, &parameters, 10).rate, 25000000000);
	CU_ASSERT_EQUAL(fixed->next_change(&state, &parameters), UINT64_MAX);
	/* 1 Mb/s: 8 us a byte; 3 Gb/s, not a divisor: to the nearest 2^-16 ps. */
	parameters.fixed_rate = 1000000;
	CU_ASSERT_EQUAL(vl_cc_check(&parameters), 0);
	parameters.fixed_rate = 999999;
	CU_ASSERT_EQUAL(vl_cc_check(&parameters), -EINVAL);
	parameters.fixed_rate = 1000000;
	fixed->init(&state, &parameters, 100000000000, 5);
	CU_ASSERT_EQUAL(fixed->byte_time(&state, &parameters, 10), UINT64_C(8000000) << 16);
	parameters.fixed_rate = 3000000000;
	fixed->init(&state, &parameters, 100000000000, 5);
	CU_ASSERT_EQUAL(fixed->byte_time(&state, &parameters, 10), 174762667);
	/* The line rate and above do not limit. */
	parameters.fixed_rate = 100000000000;
	fixed->init(&state, &parameters, 100000000000, 5);
	CU_ASSERT_EQUAL(fixed->byte_time(&state, &parameters, 10), 0);
	CU_ASSERT_EQUAL(fixed->report(&state, &parameters, 10).rate, UINT64_MAX);
}

static void test_notification_point(void)
{
	struct vl_cc_parameters parameters = {0};
	struct vl_notification_point point = {0};
	unsigned int sent = 0;

	vl_dcqcn_profile(&parameters.dcqcn, "paper");
	CU_ASSERT_FALSE(vl_notification_due(&point, &parameters, false, 0));
	CU_ASSERT_TRUE(vl_notification_due(&point, &parameters, true, 0));
	/* Nothing marked in the window: nothing at its end, and the next mark is answered at once.
	 */
	CU_ASSERT_FALSE(vl_notification_due(&point, &parameters, false, 1));
	CU_ASSERT_FALSE(vl_notification_due(&point, &parameters, false, 50000));
	CU_ASSERT_TRUE(vl_notification_due(&point, &parameters, true, 60000));
	/* Marked in the window: one CNP with the first packet after it, from which the next runs.
	 */
	CU_ASSERT_FALSE(vl_notification_due(&point, &parameters, true, 60001));
	CU_ASSERT_FALSE(vl_notification_due(&point, &parameters, true, 109999));
	CU_ASSERT_TRUE(vl_notification_due(&point, &parameters, false, 110200));
	CU_ASSERT_FALSE(vl_notification_due(&point, &parameters, false, 160200));
	/* A mark is not kept for a flow that stood still. */
	CU_ASSERT_TRUE(vl_notification_due(&point, &parameters, true, 200000));
	CU_ASSERT_FALSE(vl_notification_due(&point, &parameters, true, 210000));
	CU_ASSERT_FALSE(vl_notification_due(&point, &parameters, false, 300000));
	CU_ASSERT_FALSE(vl_notification_due(&point, &parameters, false, 300001));
	CU_ASSERT_TRUE(vl_notification_due(&point, &parameters, true, 300002));
	CU_ASSERT_FALSE(vl_notification_due(&point, &parameters, true, 300003));
	CU_ASSERT_TRUE(vl_notification_due(&point, &parameters, true, 900000));
	/* All packets marked, one each 7 us over 10 ms: one CNP per 56 us. */
	point = (struct vl_notification_point){0};
	for (uint64_t now = 0; now < 10000000; now += 7000)
		sent += vl_notification_due(&point, &parameters, true, now);
	CU_ASSERT_EQUAL(sent, 179);
	/* No least time: each CE packet. */
	parameters.dcqcn.min_time_between_cnps = 0;
	point = (struct vl_notification_point){0};
	CU_ASSERT_TRUE(vl_notification_due(&point, &parameters, true, 5));
	CU_ASSERT_TRUE(vl_notification_due(&point, &parameters, true, 5));
	CU_ASSERT_FALSE(vl_notification_due(&point, &parameters, false, 5));
}

static const struct test tests[] = {
	{"algorithms by name", test_algorithms_by_name},
	{"profiles", test_profiles},
	{"parameters", test_parameters},
	{"check", test_check},
	{"none and fixed", test_none_and_fixed},
	{"notification point", test_notification_point},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("congestion control parameters", tests, argc, argv);
}
