/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The headroom formulas against figures worked out by hand. */

#include "dataplane/fabric/headroom.h"
#include "dataplane/pfc.h"
#include "tests/support/suite.h"

static struct vl_headroom_input link_of(uint64_t gigabits, double metres)
{
	return (struct vl_headroom_input){
		.rate = gigabits * UINT64_C(1000000000),
		.propagation = vl_headroom_propagation(metres),
		.lossless_mtu = 9216,
		.port_mtu = 9216,
		.smallest = 60,
		.response = -1,
	};
}

/* MTU 9216 twice, 2 * L * rate / 1.98e8 / 8, and the response of 394 or 905 quanta of 64 bytes. */
static void test_sonic_figures(void)
{
	static const struct {
		uint64_t gigabits;
		double metres, bytes;
	} cases[] = {
		{100, 40, 48698.5},
		{100, 300, 81526.8},
		{400, 40, 96554.0},
		{400, 300, 227867.2},
	};
	struct vl_headroom headroom;

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct vl_headroom_input input = link_of(cases[i].gigabits, cases[i].metres);

		vl_headroom_sonic(&input, &headroom);
		CU_ASSERT_DOUBLE_EQUAL(headroom.exact, cases[i].bytes, 1);
		CU_ASSERT_EQUAL(headroom.bytes % 1024, 0);
		CU_ASSERT_TRUE((double)headroom.bytes >= headroom.exact);
		CU_ASSERT_TRUE((double)headroom.bytes < headroom.exact + 1024);
	}
}

/* 144-byte cells, all packets small: factor 144 / 64 on all but the lossless MTU. By hand:
 * 1024 + 2.25 * (9100 + 2 * 5 m * 100e9 / 1.98e8 / 8 + 819 + 25216) = 81498. */
static void test_sonic_cells_and_delays(void)
{
	struct vl_headroom_input input = link_of(100, 5);
	struct vl_headroom headroom;
	double sum = 0;

	input.lossless_mtu = 1024;
	input.port_mtu = 9100;
	input.cell_size = 144;
	input.small_packet_percent = 100;
	input.mac_phy_delay = 819;
	vl_headroom_sonic(&input, &headroom);
	CU_ASSERT_DOUBLE_EQUAL(headroom.cell_factor, 2.25, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(headroom.exact, 81498.2, 0.1);
	CU_ASSERT_EQUAL(headroom.bytes, 80 * 1024);
	input.gearbox_delay = 100; /* 2 * 1250 bytes */
	vl_headroom_sonic(&input, &headroom);
	CU_ASSERT_DOUBLE_EQUAL(headroom.exact, 81498.2 + 2.25 * 2500, 0.1);
	for (unsigned int i = 0; i < headroom.term_count; i++)
		sum += headroom.terms[i].bytes *
		       (headroom.terms[i].is_scaled ? headroom.cell_factor : 1);
	CU_ASSERT_DOUBLE_EQUAL(sum, headroom.exact, 1e-9);

	input.small_packet_percent = 50;
	vl_headroom_sonic(&input, &headroom);
	CU_ASSERT_DOUBLE_EQUAL(headroom.cell_factor, 1.625, 1e-12);
	input.cell_size = 96;
	vl_headroom_sonic(&input, &headroom);
	CU_ASSERT_DOUBLE_EQUAL(headroom.cell_factor, (50 + 50 * 192.0 / 97) / 100, 1e-12);
}

/* 100 Gb/s, 500 ns, frames of 4200 bytes only, obedience at once: 2 * 4200, and of 4200 / 4224 of a
 * byte each: 4224 of the other frame, 72 of PFC, 12500 of cable, 25 of rounding. */
static void test_worst_case(void)
{
	struct vl_headroom_input input = {
		.rate = UINT64_C(100000000000),
		.propagation = 500,
		.lossless_mtu = 4200,
		.port_mtu = 4200,
		.smallest = 4200,
	};
	struct vl_headroom headroom;

	vl_headroom_worst_case(&input, &headroom);
	CU_ASSERT_DOUBLE_EQUAL(headroom.exact, 8400 + 16821 * 4200.0 / 4224, 1e-6);
	CU_ASSERT_EQUAL(headroom.bytes, 8400 + 16725);
	input.cell_size = 254; /* 17 cells of a frame: 4318 */
	vl_headroom_worst_case(&input, &headroom);
	CU_ASSERT_DOUBLE_EQUAL(headroom.exact, 8636 + 16821 * 4318.0 / 4224, 1e-6);
	CU_ASSERT_EQUAL(headroom.bytes % 254, 0);
	/* 255 bytes take two cells, 508 bytes for 279 of the line: none wastes more. */
	input.smallest = 250;
	vl_headroom_worst_case(&input, &headroom);
	CU_ASSERT_DOUBLE_EQUAL(headroom.cell_factor, 508.0 / 279, 1e-12);
	/* 60 bytes take one, 254 for 84. */
	input.smallest = 42;
	vl_headroom_worst_case(&input, &headroom);
	CU_ASSERT_DOUBLE_EQUAL(headroom.cell_factor, 254.0 / 84, 1e-12);
}

static void test_response_quanta(void)
{
	static const struct {
		uint64_t megabits;
		uint32_t quanta;
	} cases[] = {
		{100, 1},
		{1000, 2},
		{10000, 67},
		{25000, 80},
		{40000, 118},
		{50000, 147},
		{100000, 394},
		{200000, 453},
		{400000, 905},
		{800000, 1810},
		{1600000, 3620},
		/* 67 quanta of 10 Gb/s are 3430.4 ns, which are 134 at 20 Gb/s */
		{20000, 134},
	};
	struct vl_pfc_receiver receiver;

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CU_ASSERT_EQUAL(vl_pfc_response_quanta(cases[i].megabits * 1000000),
				cases[i].quanta);
	vl_pfc_receiver_init(&receiver, vl_rate_make(UINT64_C(100000000000)),
			     VL_PFC_RESPONSE_BY_RATE);
	CU_ASSERT_EQUAL(receiver.response_delay, 2018); /* 2017.28 */
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"sonic_figures", test_sonic_figures},
		{"sonic_cells_and_delays", test_sonic_cells_and_delays},
		{"worst_case", test_worst_case},
		{"response_quanta", test_response_quanta},
	};

	return RUN_SUITE("switch_headroom", tests, argc, argv);
}
