/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Links as people write them: what they come to, and why some cannot be built. */

#include "dataplane/fabric/link_spec.h"
#include "tests/support/suite.h"

#include <string.h>

struct possible {
	const char *text;
	uint64_t rate;
	uint8_t lanes, medium_lanes;
	uint32_t medium_lane_rate, propagation, fec, modules;
};

/* Propagation by hand: 5.051 ns a metre in fibre, 4.6 in copper. */
static const struct possible possible[] = {
	{"800g osfp dr8 120 m", 800000000000, 8, 8, 100, 606, 80, 100},
	{"800G OSFP DR4 120m", 800000000000, 4, 4, 200, 606, 80, 100},
	{"ndr osfp aoc 20 m", 400000000000, 4, 4, 100, 101, 90, 100},
	{"ndr 8x osfp dac 1 m", 800000000000, 8, 8, 100, 5, 90, 0},
	{"xdr osfp dac 2 m", 800000000000, 4, 4, 200, 9, 80, 0},
	{"sdr qsfp+ dac 7 m", 8000000000, 4, 4, 10, 32, 0, 0},
	{"qdr 12x cxp dac 3 m", 96000000000, 12, 12, 10, 14, 0, 0},
	{"fdr qsfp+ aoc 50 m", 54544000000, 4, 4, 25, 253, 0, 10},
	{"10g sfp+ sr 300 m", 10000000000, 1, 1, 10, 1515, 0, 10},
	{"25g sfp28 dac 5 m", 25000000000, 1, 1, 25, 23, 250, 0},
	{"100g qsfp28 dr 500 m", 100000000000, 4, 1, 100, 2526, 100, 100},
	{"100g sfp112 dr 500 m", 100000000000, 1, 1, 100, 2526, 120, 100},
	{"100g qsfp28 lr4 10 km", 100000000000, 4, 4, 25, 50510, 100, 10},
	{"400g qsfp-dd sr8 100 m", 400000000000, 8, 8, 50, 505, 90, 100},
	{"400g qsfp112 vr4 50 m", 400000000000, 4, 4, 100, 253, 90, 100},
	{"800g osfp 2xfr4 2 km", 800000000000, 8, 8, 100, 10102, 80, 120},
	{"1.6t osfp-xd dr8 0.5 km", 1600000000000, 8, 8, 200, 2526, 80, 100},
	{"400g osfp - 400g qsfp112 dac 2 m", 400000000000, 4, 4, 100, 9, 90, 0},
};

static void test_possible(void)
{
	struct vl_link_spec spec;
	char error[512] = "";

	for (unsigned int i = 0; i < sizeof(possible) / sizeof(possible[0]); i++) {
		const struct possible *want = &possible[i];

		if (vl_link_spec_parse(want->text, &spec, error, sizeof(error))) {
			printf("%s: %s\n", want->text, error);
			CU_FAIL("refused");
			continue;
		}
		CU_ASSERT_EQUAL(spec.rate, want->rate);
		CU_ASSERT_EQUAL(spec.generation->lanes, want->lanes);
		CU_ASSERT_EQUAL(spec.medium_lanes, want->medium_lanes);
		CU_ASSERT_EQUAL(spec.medium_lane_rate, want->medium_lane_rate);
		CU_ASSERT_EQUAL(spec.propagation, want->propagation);
		CU_ASSERT_EQUAL(spec.fec_latency, want->fec);
		CU_ASSERT_EQUAL(spec.module_latency, want->modules);
		CU_ASSERT_EQUAL(spec.delay, want->propagation + want->fec + want->modules);
	}
}

static void test_lanes_follow_the_medium(void)
{
	struct vl_link_spec spec;
	char error[512];

	/* The same speed in the same module by 8 x 50 or 4 x 100 Gb/s. */
	CU_ASSERT_EQUAL(vl_link_spec_parse("400g osfp sr8 50 m", &spec, error, sizeof(error)), 0);
	CU_ASSERT_EQUAL(spec.generation->lanes, 8);
	CU_ASSERT_EQUAL(vl_link_spec_parse("400g qsfp112 dr4 50 m", &spec, error, sizeof(error)),
			0);
	CU_ASSERT_EQUAL(spec.generation->lanes, 4);
	CU_ASSERT_STRING_EQUAL(spec.form_factors[1]->name, "qsfp112");
}

static const struct {
	const char *text, *reason;
} impossible[] = {
	{"800g qsfp112 dr8 100 m", "QSFP112 has 4 lanes of at most 100 Gb/s, 400 Gb/s together"},
	{"400g osfp sr8 500 m", "sr (short reach, OM4) reaches 100 m at 50 Gb/s a lane, not 500 m"},
	{"400g qsfp28 sr4 50 m", "QSFP28 has 4 NRZ lanes of at most 25 Gb/s"},
	{"400g osfp - ndr osfp dac 1 m", "one end is Ethernet (400g), the other InfiniBand (ndr)"},
	{"800g osfp - 400g osfp dac 1 m", "the ends run at 800 and 400 Gb/s"},
	{"200g qsfp28 dac 1 m", "100 Gb/s together: it cannot carry 200g"},
	{"400g qsfp56 dac 1 m", "200 Gb/s together: it cannot carry 400g"},
	{"xdr qsfp112 dac 1 m", "it cannot carry xdr"},
	{"25g sfp28 dac 6 m", "reaches 5 m at 25 Gb/s a lane, not 6 m"},
	{"800g osfp dac 4 m", "reaches 3 m at 100 Gb/s a lane, not 4 m"},
	{"400g qsfp112 sr8 50 m", "8 optical lanes of sr cannot carry 400g from the 4 electrical"},
	{"800g osfp dr 1 m", "dr8 would"},
	{"1.6t osfp sr8 50 m", "sr does not exist at 200 Gb/s a lane"},
	{"400g 16x osfp dr8 2 m", "400g does not exist with 16 lanes"},
	{"800g", "the form factor is missing after 800g"},
	{"800g osfp", "'' is no medium"},
	{"800g osfp dr8", "the length is missing"},
	{"800g osfp dr8 5", "'' is no unit of a length"},
	{"800g osfp dr8 5 miles", "'miles' is no unit of a length"},
	{"800g osfp dr8 nan m", "'nan' is no length"},
	{"800g osfp dr8 -3 m", "'-3' is no length"},
	{"800g osfp dr8 0 m", "a length of 0 m is not possible"},
	{"800g osfp dr8 1e3 m", "'1e3' is no length"},
	{"800g osfp dr8 99999999999999 m", "at most 100 km"},
	{"400g qsfp-dd - 400g qsfp112 dac 1 m", "no way in common to make 400g"},
	{"800g osfp dr8 5 m here", "'here' is too much"},
	{"800g osfp dr0 5 m", "1 to 16 lanes follow the medium"},
	{"800g osfp dr9999999999 5 m", "1 to 16 lanes follow the medium"},
	{"800g osfp dac8 1 m", "no lane count follows a cable's name"},
	{"800g osfp 9xfr4 1 m", "1x to 4x go before the medium"},
	{"800g osfp drx 1 m", "'drx' is no medium"},
	{"900g osfp dr8 5 m", "'900g' is no speed of a link; known are 10g"},
	{"", "'' is no speed"},
	{"a b c d e f g h i j k l m", "is not a link"},
	{"averyveryverylongword", "is not a link"},
};

static void test_impossible(void)
{
	struct vl_link_spec spec;
	char error[512];

	for (unsigned int i = 0; i < sizeof(impossible) / sizeof(impossible[0]); i++) {
		error[0] = 0;
		CU_ASSERT_NOT_EQUAL(
			vl_link_spec_parse(impossible[i].text, &spec, error, sizeof(error)), 0);
		if (!strstr(error, impossible[i].reason)) {
			printf("%s: %s\n", impossible[i].text, error);
			CU_FAIL("another reason");
		}
	}
}

/* The data rate of each generation follows from its lanes, their signalling and their coding. */
static void test_rates_follow_from_coding(void)
{
	const struct vl_link_generation *generation;

	for (unsigned int n = 0; (generation = vl_link_generation(n)); n++) {
		double factor = 1, rate;

		if (!strcmp(generation->encoding, "8b/10b"))
			factor = 8.0 / 10;
		else if (!strcmp(generation->encoding, "64b/66b"))
			factor = 64.0 / 66;
		else
			/* Transcoding and FEC parity together restore 64/66 at most. */
			factor = generation->fec == VL_FEC_KP4 ? 256.0 / 257 * 514 / 544
							       : 256.0 / 257 * 514 / 528;
		rate = generation->lanes * generation->lane_signalling * 1e6 * factor;
		CU_ASSERT_TRUE(rate > (double)generation->rate * 0.999);
		CU_ASSERT_TRUE(rate < (double)generation->rate * 1.001);
	}
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"possible", test_possible},
		{"lanes_follow_the_medium", test_lanes_follow_the_medium},
		{"impossible", test_impossible},
		{"rates_follow_from_coding", test_rates_follow_from_coding},
	};

	return RUN_SUITE("unit/link_spec", tests, argc, argv);
}
