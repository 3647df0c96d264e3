/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What InfiniBand fabrics are known to do, and whether the emulation does it. */

#include "tests/support/infiniband.h"
#include "tests/support/suite.h"

#define MS   UINT64_C(1000000)
#define RATE 100e9

/* ---- Lines and credits ------------------------------------------------------------------ */

/* A flow alone on two hosts and a switch has the line: 4096 of each 4162 + 2 bytes. */
static void test_line_rate(void)
{
	const struct vl_flow_config flow = fabric_flow();
	struct fabric fabric;
	double rate;

	fabric_init(&fabric);
	fabric_add_switch(&fabric);
	fabric_add_host(&fabric, 0);
	fabric_add_host(&fabric, 0);
	fabric_manage(&fabric, VL_SUBNET_MIN_HOP);
	fabric_start(&fabric, 0, 1, &flow);
	vl_network_run_until(fabric.network, MS);
	rate = fabric_rate(&fabric, 0, 2 * MS);
	CU_ASSERT_DOUBLE_EQUAL(rate / (RATE * 4096 / 4164), 1, 0.002);
	fabric_destroy(&fabric);
}

struct limited {
	double rate;  /* payload, bit/s */
	double stall; /* part of the time that the sender waited for credits */
};

/* Packets of 65 blocks (no GRH) and a buffer of some of them, drained at once: so many are under
 * way in the time that a packet and its credits take. */
static struct limited credit_limited(uint32_t packets, uint64_t propagation)
{
	struct vl_flow_config flow = fabric_flow();
	const struct vl_infiniband_port *port;
	struct limited limited;
	struct fabric fabric;
	uint64_t before;

	fabric_init(&fabric);
	fabric.host.port.buffer = packets * 65 * 64;
	fabric.link.propagation = propagation;
	fabric_add_loose_host(&fabric);
	fabric_add_loose_host(&fabric);
	fabric_join_hosts(&fabric, 0, 1);
	fabric_manage(&fabric, VL_SUBNET_MIN_HOP);
	flow.without_grh = true;
	flow.depth = 32;
	fabric_start(&fabric, 0, 1, &flow);
	vl_network_run_until(fabric.network, 2 * MS);
	port = fabric_host_port(&fabric, 0);
	before = vl_infiniband_port_credit_stall(port, 0, 2 * MS);
	limited.rate = fabric_rate(&fabric, 0, 4 * MS);
	limited.stall =
		(double)(vl_infiniband_port_credit_stall(port, 0, 6 * MS) - before) / (4.0 * MS);
	fabric_destroy(&fabric);
	return limited;
}

static void test_credit_limit(void)
{
	static const struct {
		uint32_t packets;
		uint64_t propagation;
	} cases[] = {{2, 1000}, {4, 5000}, {8, 2000}, {16, 10000}, {30, 20000}, {31, 100000}};

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double packet = 4124 * 8e9 / RATE, link_packet = 8 * 8e9 / RATE;
		double round_trip = 2.0 * (double)cases[i].propagation + packet + link_packet;
		double credits = cases[i].packets * 65 * 64 * 8;
		/* 4096 of the 4160 bytes of credit that a packet takes are payload. */
		double expected = credits * 1e9 / round_trip * 4096 / 4160;
		struct limited limited = credit_limited(cases[i].packets, cases[i].propagation);

		CU_ASSERT_DOUBLE_EQUAL(limited.rate / expected, 1, 0.02);
		CU_ASSERT_DOUBLE_EQUAL(limited.stall, 1 - cases[i].packets * packet / round_trip,
				       0.03);
	}
}

/* ---- Spreading of congestion ------------------------------------------------------------ */

#define HOT_FLOWS 4u

struct spread {
	double victim, hot; /* payload, bit/s */
	uint64_t fecn;
};

/*
 * One sender on the first switch and three on the second send to a host there; another on the first
 * sends to an idle host on the second. What the hot host gets of the line between the switches is a
 * quarter, so that the victim could have three.
 */
static struct spread spread(uint8_t lanes, uint8_t victim_level,
			    const struct vl_switch_congestion_setting *marking,
			    const struct vl_cc_parameters *cc)
{
	struct vl_flow_config flow = fabric_flow();
	struct spread result = {0};
	struct fabric fabric;
	uint64_t hot = 0;

	fabric_init(&fabric);
	fabric.host.port.virtual_lanes = lanes;
	fabric.sw.port.virtual_lanes = lanes;
	if (marking)
		fabric.sw.congestion = *marking;
	for (unsigned int i = 0; i < 2; i++)
		fabric_add_switch(&fabric);
	fabric_join(&fabric, 0, 1);
	for (unsigned int i = 0; i < 7; i++)
		fabric_add_host(&fabric, i >= 2);
	fabric_manage(&fabric, VL_SUBNET_MIN_HOP);
	flow.cc = cc;
	fabric_start(&fabric, 0, 2, &flow);
	for (unsigned int i = 1; i < HOT_FLOWS; i++)
		fabric_start(&fabric, 3 + i, 2, &flow);
	flow.priority = victim_level;
	fabric_start(&fabric, 1, 3, &flow);
	vl_network_run_until(fabric.network, 5 * MS);
	for (unsigned int i = 0; i < HOT_FLOWS; i++)
		hot += fabric_received(&fabric, i);
	result.victim = fabric_rate(&fabric, HOT_FLOWS, 5 * MS);
	for (unsigned int i = 0; i < HOT_FLOWS; i++)
		result.hot += (double)fabric_received(&fabric, i);
	result.hot = (result.hot - (double)hot) * 8e9 / (5.0 * MS);
	for (unsigned int i = 2; i < 4; i++)
		result.fecn += fabric_host_port(&fabric, i)->lane_counters[0].rcv_fecn;
	fabric_destroy(&fabric);
	return result;
}

static void test_head_of_line_blocking(void)
{
	struct spread one = spread(1, 0, NULL, NULL), two = spread(2, 1, NULL, NULL);

	/* The hot host's quarter, as both take turns; then what that leaves. */
	CU_ASSERT_DOUBLE_EQUAL(one.victim / RATE, 0.25, 0.01);
	CU_ASSERT_DOUBLE_EQUAL(two.victim / RATE, 0.74, 0.01);
	CU_ASSERT_TRUE(one.hot > 0.98 * RATE);
	CU_ASSERT_TRUE(two.hot > 0.98 * RATE);
	CU_ASSERT_EQUAL(one.fecn + two.fecn, 0);
}

static void test_congestion_control(void)
{
	struct vl_cc_parameters cc = {.algorithm = &vl_cc_infiniband};
	struct vl_switch_congestion_setting marking;
	struct spread without = spread(1, 0, NULL, NULL), with;

	vl_infiniband_cc_defaults(&cc.infiniband);
	vl_switch_congestion_defaults(&marking);
	with = spread(1, 0, &marking, &cc);
	CU_ASSERT_TRUE(with.victim > 2.5 * without.victim);
	CU_ASSERT_TRUE(with.hot > 0.95 * RATE);
	CU_ASSERT_TRUE(with.fecn > 0);
}

/* ---- Loops of credits ------------------------------------------------------------------- */

#define RING 7u

/* Each host sends datagrams of a connection to the third next, which are not sent again when they
 * are dropped; true: nothing arrived in the last half of the time. */
static bool ring_stands(enum vl_subnet_routing routing, uint64_t head_of_queue_lifetime,
			uint64_t packet_lifetime, uint64_t *discards)
{
	struct vl_flow_config flow = fabric_flow();
	struct fabric fabric;
	uint64_t before = 0, after = 0;

	fabric_init(&fabric);
	fabric.sw.head_of_queue_lifetime = head_of_queue_lifetime;
	fabric.sw.packet_lifetime = packet_lifetime;
	fabric.sw.port.buffer = 16384;
	for (unsigned int i = 0; i < RING; i++)
		fabric_add_switch(&fabric);
	for (unsigned int i = 0; i < RING; i++)
		fabric_join(&fabric, i, (i + 1) % RING);
	for (unsigned int i = 0; i < RING; i++)
		fabric_add_host(&fabric, i);
	fabric_manage(&fabric, routing);
	flow.transport = IBV_QPT_UC;
	for (unsigned int i = 0; i < RING; i++)
		fabric_start(&fabric, i, (i + 3) % RING, &flow);
	vl_network_run_until(fabric.network, 5 * MS);
	for (unsigned int i = 0; i < RING; i++)
		before += fabric_received(&fabric, i);
	vl_network_run_until(fabric.network, 10 * MS);
	*discards = 0;
	for (unsigned int i = 0; i < RING; i++) {
		after += fabric_received(&fabric, i);
		for (unsigned int j = 0; j < 3; j++)
			*discards += vl_infiniband_switch_port(
					     vl_node_infiniband_switch(fabric.switches[i]), j)
					     ->counters.port_xmit_discards;
	}
	fabric_destroy(&fabric);
	return after == before;
}

static void test_credit_loop(void)
{
	uint64_t discards;

	CU_ASSERT_TRUE(ring_stands(VL_SUBNET_MIN_HOP, 0, 0, &discards));
	CU_ASSERT_EQUAL(discards, 0);
	CU_ASSERT_FALSE(ring_stands(VL_SUBNET_MIN_HOP, MS / 10, 0, &discards));
	CU_ASSERT_TRUE(discards > 0);
	CU_ASSERT_FALSE(ring_stands(VL_SUBNET_MIN_HOP, 0, MS / 10, &discards));
	CU_ASSERT_TRUE(discards > 0);
	CU_ASSERT_FALSE(ring_stands(VL_SUBNET_UP_DOWN, 0, 0, &discards));
	CU_ASSERT_EQUAL(discards, 0);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"a flow alone has the line", test_line_rate},
		{"throughput is credits per round trip", test_credit_limit},
		{"a victim is blocked on one lane, not on another", test_head_of_line_blocking},
		{"congestion control keeps congestion from spreading", test_congestion_control},
		{"a loop of credits stands still", test_credit_loop},
	};

	return RUN_SUITE("InfiniBand effects", tests, argc, argv);
}
