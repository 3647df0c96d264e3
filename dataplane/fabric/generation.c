/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/fabric/generation.h"

#include <stddef.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define G            UINT64_C(1000000000)

#define ETHERNET(name, lanes, lane_rate, signalling, modulation, fec, encoding, gigabits, latency) \
	{                                                                                          \
		name, VL_LINK_TECHNOLOGY_ETHERNET, lanes, lane_rate, signalling,                   \
			VL_MODULATION_##modulation, VL_FEC_##fec, encoding, (gigabits)*G, latency, \
			(latency) != 0                                                             \
	}

/* Data rate in Mb/s of one lane; each InfiniBand rate exists at four widths. */
#define INFINIBAND_ONE(name, lanes, lane_rate, signalling, modulation, fec, encoding, megabits,    \
		       latency)                                                                    \
	{                                                                                          \
		name, VL_LINK_TECHNOLOGY_INFINIBAND, lanes, lane_rate, signalling,                 \
			VL_MODULATION_##modulation, VL_FEC_##fec, encoding,                        \
			(uint64_t)(lanes) * (megabits)*UINT64_C(1000000), latency, (latency) != 0  \
	}
#define INFINIBAND(...)                                                                            \
	INFINIBAND_WIDTH(4, __VA_ARGS__), INFINIBAND_WIDTH(1, __VA_ARGS__),                        \
		INFINIBAND_WIDTH(8, __VA_ARGS__), INFINIBAND_WIDTH(12, __VA_ARGS__)
#define INFINIBAND_WIDTH(lanes, name, ...) INFINIBAND_ONE(name, lanes, __VA_ARGS__)

static const struct vl_link_generation generations[] = {
	ETHERNET("10g", 1, 10, 10312, NRZ, NONE, "64b/66b", 10, 0),
	ETHERNET("25g", 1, 25, 25781, NRZ, KR4, "64b/66b", 25, 250),
	ETHERNET("40g", 4, 10, 10312, NRZ, NONE, "64b/66b", 40, 0),
	ETHERNET("50g", 1, 50, 53125, PAM4, KP4, "256b/257b", 50, 180),
	ETHERNET("50g", 2, 25, 25781, NRZ, KR4, "64b/66b", 50, 140),
	ETHERNET("100g", 4, 25, 25781, NRZ, KR4, "256b/257b", 100, 100),
	ETHERNET("100g", 2, 50, 53125, PAM4, KP4, "256b/257b", 100, 120),
	ETHERNET("100g", 1, 100, 106250, PAM4, KP4, "256b/257b", 100, 120),
	ETHERNET("200g", 4, 50, 53125, PAM4, KP4, "256b/257b", 200, 110),
	ETHERNET("200g", 2, 100, 106250, PAM4, KP4, "256b/257b", 200, 110),
	ETHERNET("200g", 1, 200, 212500, PAM4, KP4, "256b/257b", 200, 110),
	ETHERNET("400g", 8, 50, 53125, PAM4, KP4, "256b/257b", 400, 90),
	ETHERNET("400g", 4, 100, 106250, PAM4, KP4, "256b/257b", 400, 90),
	ETHERNET("400g", 2, 200, 212500, PAM4, KP4, "256b/257b", 400, 90),
	ETHERNET("800g", 8, 100, 106250, PAM4, KP4, "256b/257b", 800, 80),
	ETHERNET("800g", 4, 200, 212500, PAM4, KP4, "256b/257b", 800, 80),
	ETHERNET("1.6t", 8, 200, 212500, PAM4, KP4, "256b/257b", 1600, 80),
	ETHERNET("1.6t", 16, 100, 106250, PAM4, KP4, "256b/257b", 1600, 80),
	INFINIBAND("sdr", 2, 2500, NRZ, NONE, "8b/10b", 2000, 0),
	INFINIBAND("ddr", 4, 5000, NRZ, NONE, "8b/10b", 4000, 0),
	INFINIBAND("qdr", 8, 10000, NRZ, NONE, "8b/10b", 8000, 0),
	INFINIBAND("fdr10", 10, 10312, NRZ, NONE, "64b/66b", 10000, 0),
	INFINIBAND("fdr", 14, 14062, NRZ, NONE, "64b/66b", 13636, 0),
	INFINIBAND("edr", 25, 25781, NRZ, NONE, "64b/66b", 25000, 0),
	INFINIBAND("hdr", 50, 53125, PAM4, KP4, "256b/257b", 50000, 110),
	INFINIBAND("ndr", 100, 106250, PAM4, KP4, "256b/257b", 100000, 90),
	INFINIBAND("xdr", 200, 212500, PAM4, KP4, "256b/257b", 200000, 80),
};

/*				  metres at 10, 25, 50, 100 and 200 Gb/s a lane */
static const struct vl_link_medium media[] = {
	{"dac", "passive copper cable", VL_FIBRE_COPPER, false, false, {7, 5, 3, 3, 2}, 0, 0},
	{"acc", "active copper cable", VL_FIBRE_COPPER, false, false, {15, 10, 7, 5, 3}, 1, 1},
	{"aoc",
	 "active optical cable",
	 VL_FIBRE_ACTIVE,
	 false,
	 false,
	 {100, 100, 100, 50, 30},
	 5,
	 50},
	{"sr", "short reach, OM4", VL_FIBRE_MULTIMODE, true, false, {400, 100, 100, 100, 0}, 5, 50},
	{"vr", "very short reach, OM4", VL_FIBRE_MULTIMODE, true, false, {0, 0, 0, 50, 30}, 5, 50},
	{"dr",
	 "parallel single mode",
	 VL_FIBRE_SINGLE_MODE,
	 true,
	 false,
	 {0, 0, 500, 500, 500},
	 5,
	 50},
	{"cwdm", "four wavelengths", VL_FIBRE_SINGLE_MODE, true, true, {0, 2000, 0, 0, 0}, 5, 50},
	{"fr",
	 "wavelengths, 2 km",
	 VL_FIBRE_SINGLE_MODE,
	 true,
	 true,
	 {0, 2000, 2000, 2000, 2000},
	 5,
	 60},
	{"lr",
	 "wavelengths, 10 km",
	 VL_FIBRE_SINGLE_MODE,
	 true,
	 true,
	 {10000, 10000, 10000, 10000, 0},
	 5,
	 60},
};

static const struct vl_link_form_factor form_factors[] = {
	{"sfp+", "SFP+", 1, 10, NULL},
	{"sfp28", "SFP28", 1, 25, "SFP+"},
	{"sfp56", "SFP56", 1, 50, "SFP+, SFP28"},
	{"sfp112", "SFP112", 1, 100, "SFP+, SFP28, SFP56"},
	{"qsfp+", "QSFP+", 4, 14, NULL},
	{"qsfp28", "QSFP28", 4, 25, "QSFP+"},
	{"qsfp56", "QSFP56", 4, 50, "QSFP+, QSFP28"},
	{"qsfp112", "QSFP112", 4, 100, "QSFP+, QSFP28, QSFP56"},
	{"qsfp-dd", "QSFP-DD", 8, 50, "QSFP28, QSFP56"},
	{"qsfp-dd800", "QSFP-DD800", 8, 100, "QSFP28, QSFP56, QSFP112, QSFP-DD"},
	{"osfp", "OSFP", 8, 200, NULL},
	{"osfp-xd", "OSFP-XD", 16, 200, NULL},
	{"cxp", "CXP", 12, 14, NULL},
};

const struct vl_link_generation *vl_link_generation(unsigned int n)
{
	return n < COUNT(generations) ? &generations[n] : NULL;
}

const struct vl_link_medium *vl_link_medium(unsigned int n)
{
	return n < COUNT(media) ? &media[n] : NULL;
}

const struct vl_link_form_factor *vl_link_form_factor(unsigned int n)
{
	return n < COUNT(form_factors) ? &form_factors[n] : NULL;
}

const char *vl_link_technology_name(enum vl_link_technology technology)
{
	return technology == VL_LINK_TECHNOLOGY_ETHERNET ? "Ethernet" : "InfiniBand";
}

const char *vl_link_fec_name(enum vl_link_fec fec)
{
	static const char *const names[] = {"none", "RS(528,514)", "RS(544,514)"};

	return names[fec];
}

const char *vl_link_modulation_name(enum vl_link_modulation modulation)
{
	return modulation == VL_MODULATION_NRZ ? "NRZ" : "PAM4";
}

const char *vl_link_fibre_name(enum vl_link_fibre fibre)
{
	static const char *const names[] = {"copper", "in the cable", "multimode", "single mode"};

	return names[fibre];
}

static const uint32_t lane_classes[VL_LANE_CLASSES] = {10, 25, 50, 100, 200};

unsigned int vl_link_lane_class(uint32_t lane_rate)
{
	unsigned int lane_class = 0;

	while (lane_class + 1 < VL_LANE_CLASSES && lane_classes[lane_class] < lane_rate)
		lane_class++;
	return lane_class;
}

uint32_t vl_link_lane_class_rate(unsigned int lane_class)
{
	return lane_classes[lane_class];
}
