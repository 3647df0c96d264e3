/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Endpoints, switches and links together, in virtual time: timing, determinism, building. */

#include "tests/unit/fabric_star.h"

#include <errno.h>
#include <stdlib.h>

/* ---- Timing -------------------------------------------------------------------------------- */

struct sighting {
	const struct vl_node *node;
	uint32_t port, length;
	enum vl_direction direction;
	uint64_t time;
};

static struct sighting sightings[32];
static unsigned int sighting_count;

static void note(void *context, const struct vl_node *node, uint32_t port,
		 enum vl_direction direction, const struct vl_frame *frame, uint64_t now)
{
	(void)context;
	if (sighting_count < 32)
		sightings[sighting_count++] =
			(struct sighting){node, port, frame->length, direction, now};
}

/* A WRITE of 100 bytes: 14 + 20 + 8 + 12 + 16 + 100 + 4 = 174 bytes, 186 with preamble and FCS,
 * 14.88 ns at 100 Gb/s; its ACK: 62 bytes, 74 on the line, 5.92 ns. */
static void test_times_of_one_message(void)
{
	struct vl_switch_config config = switch_config();
	const struct vl_tap tap = {.frame = note};
	struct star star;

	start(&star, 2, &config);
	for (unsigned int i = 0; i < 2; i++) {
		CU_ASSERT_EQUAL(vl_network_tap(star.network, star.hosts[i], 0, &tap), 0);
		CU_ASSERT_EQUAL(vl_network_tap(star.network, star.sw, i, &tap), 0);
	}
	add_flow(&star, 1, 2, 100, 1, NULL);
	sighting_count = 0;
	CU_ASSERT_TRUE(vl_network_run_until(star.network, 1000000));
	CU_ASSERT_EQUAL_FATAL(sighting_count, 8);
	{
		const struct sighting expected[8] = {
			{star.hosts[0], 0, 174, VL_DIRECTION_TRANSMITTED, 0},
			{star.sw, 0, 174, VL_DIRECTION_RECEIVED, 315},
			{star.sw, 1, 174, VL_DIRECTION_TRANSMITTED, 315},
			{star.hosts[1], 0, 174, VL_DIRECTION_RECEIVED, 630},
			{star.hosts[1], 0, 62, VL_DIRECTION_TRANSMITTED, 630},
			{star.sw, 1, 62, VL_DIRECTION_RECEIVED, 936},
			{star.sw, 0, 62, VL_DIRECTION_TRANSMITTED, 936},
			{star.hosts[0], 0, 62, VL_DIRECTION_RECEIVED, 1242},
		};

		for (unsigned int i = 0; i < 8; i++) {
			CU_ASSERT_PTR_EQUAL(sightings[i].node, expected[i].node);
			CU_ASSERT_EQUAL(sightings[i].port, expected[i].port);
			CU_ASSERT_EQUAL(sightings[i].length, expected[i].length);
			CU_ASSERT_EQUAL(sightings[i].direction, expected[i].direction);
			CU_ASSERT_EQUAL(sightings[i].time, expected[i].time);
		}
	}
	CU_ASSERT_EQUAL(finish_time(&star), 1242);
	CU_ASSERT_EQUAL(vl_network_now(star.network), 1000000);
	finish(&star);
}

/* The same through a cut-through switch, which has what it needs when 64 bytes are there: 114 bytes
 * less, 9.12 ns, and 2 bytes of the ACK, 0.16 ns. Heads come at the next whole nanosecond. */
static void test_cut_through(void)
{
	struct vl_switch_config config = switch_config();
	struct star star;

	config.cut_through = true;
	start(&star, 2, &config);
	CU_ASSERT_TRUE(vl_network_link(star.hosts[0], 0)->delivers_head);
	CU_ASSERT_FALSE(vl_network_link(star.sw, 0)->delivers_head);
	add_flow(&star, 1, 2, 100, 1, NULL);
	CU_ASSERT_TRUE(vl_network_run_until(star.network, 1000000));
	CU_ASSERT_EQUAL(finish_time(&star), 1242 - 9);
	finish(&star);
}

/* A long flow fills its line: 4096 of 4178 bytes, less the first and last flight. */
static void test_line_rate(void)
{
	struct vl_switch_config config = switch_config();
	struct star star;
	double rate;

	start(&star, 2, &config);
	add_flow(&star, 1, 2, 65536, 500, NULL);
	vl_network_run_until(star.network, 100000000);
	rate = 500.0 * 65536 * 8 / (double)finish_time(&star);
	/* WRITE First carries a RETH, so a little less. */
	CU_ASSERT_TRUE(rate > 97.8 && rate < 100.0 * 4096 / 4178);
	CU_ASSERT_EQUAL(counters_of(&star, 1)->data_frames_retransmitted, 0);
	finish(&star);
}

/* ---- Determinism --------------------------------------------------------------------------- */

static void fold(void *context, const struct vl_node *node, uint32_t port,
		 enum vl_direction direction, const struct vl_frame *frame, uint64_t now)
{
	struct star *star = context;

	(void)node;
	star->backward += now < star->last_time;
	star->last_time = now;
	star->taps_seen++;
	star->digest = (star->digest ^ now ^ port << 8 ^ direction) * UINT64_C(0x100000001b3);
	for (uint32_t i = 0; i < frame->length; i += 7)
		star->digest = (star->digest ^ frame->data[i]) * UINT64_C(0x100000001b3);
}

static uint64_t congested_digest(uint64_t seed)
{
	struct vl_switch_config config = switch_config();
	struct vl_cc_parameters cc = {.algorithm = &vl_cc_dcqcn};
	struct vl_tap tap = {.frame = fold};
	struct star star;
	uint64_t digest;

	vl_dcqcn_profile(&cc.dcqcn, "paper");
	config.seed = seed;
	config.port.queues[HOST_DATA_PRIORITY].red =
		vl_red_marking(VL_RED_AT_DEQUEUE, 20000, 200000, 0.2);
	start(&star, 3, &config);
	tap.context = &star;
	for (unsigned int i = 0; i < 3; i++)
		vl_network_tap(star.network, star.sw, i, &tap);
	add_flow(&star, 1, 3, 65536, 100, &cc);
	add_flow(&star, 2, 3, 65536, 100, &cc);
	vl_network_run_until(star.network, 50000000);
	finish_time(&star);
	CU_ASSERT_EQUAL(star.backward, 0);
	CU_ASSERT_TRUE(port_of(&star, 3)->queue_counters[3].ecn_marked > 0);
	CU_ASSERT_EQUAL(port_of(&star, 3)->queue_counters[3].ecn_marked,
			counters_of(&star, 3)->ecn_ce_rx);
	CU_ASSERT_TRUE(counters_of(&star, 3)->cnp_tx > 0);
	CU_ASSERT_EQUAL(counters_of(&star, 3)->cnp_tx,
			counters_of(&star, 1)->cnp_rx + counters_of(&star, 2)->cnp_rx);
	digest = star.digest ^ star.taps_seen;
	finish(&star);
	return digest;
}

static void test_same_seed_same_bytes(void)
{
	uint64_t digest = congested_digest(1);

	CU_ASSERT_EQUAL(congested_digest(1), digest);
	CU_ASSERT_NOT_EQUAL(congested_digest(2), digest);
}

/* ---- Building ------------------------------------------------------------------------------ */

static void test_two_switches(void)
{
	struct vl_network *network = vl_network_create(NULL);
	struct vl_switch_config config = switch_config();
	struct vl_endpoint_config host = host_config(1, RATE), far_host = host_config(2, RATE);
	struct vl_node *a, *b, *near, *far;
	const struct vl_forwarding *routes;
	const struct vl_forwarding_route *route;

	host.name = "near";
	far_host.name = "far";
	a = vl_network_add_switch(network, "a", &config);
	b = vl_network_add_switch(network, "b", &config);
	near = vl_network_add_endpoint(network, &host);
	far = vl_network_add_endpoint(network, &far_host);
	CU_ASSERT_EQUAL(vl_network_connect(network, near, 0, a, 3, &clean, NULL), 0);
	CU_ASSERT_EQUAL(vl_network_connect(network, far, 0, b, 4, &clean, NULL), 0);
	CU_ASSERT_EQUAL(vl_network_route(network), -ENETUNREACH);
	CU_ASSERT_STRING_EQUAL(vl_network_error(network), "b has no way to near");
	/* Two equal ways, both of which are taken. */
	CU_ASSERT_EQUAL(vl_network_connect(network, a, 2, b, 2, &clean, NULL), 0);
	CU_ASSERT_EQUAL(vl_network_connect(network, a, 0, b, 1, &clean, NULL), 0);
	CU_ASSERT_EQUAL(vl_network_route(network), 0);
	routes = &vl_node_switch(a)->forwarding;
	route = vl_forwarding_find(routes, 0x020000000001);
	CU_ASSERT_EQUAL(route->way_count, 1);
	CU_ASSERT_EQUAL(route->port, 3);
	route = vl_forwarding_find(routes, 0x020000000002);
	CU_ASSERT_EQUAL_FATAL(route->way_count, 2);
	CU_ASSERT_EQUAL(routes->ways[route->port], 0);
	CU_ASSERT_EQUAL(routes->ways[route->port + 1], 2);
	CU_ASSERT_STRING_EQUAL(vl_node_name(far), "far");
	CU_ASSERT_PTR_NULL(vl_node_switch(far));
	CU_ASSERT_PTR_NULL(vl_node_endpoint(a));
	CU_ASSERT_PTR_NOT_NULL(vl_network_link(far, 0));
	CU_ASSERT_PTR_NULL(vl_network_link(a, 5));
	CU_ASSERT_PTR_NULL(vl_network_link(a, 99));
	vl_network_destroy(network);
}

static void test_says_what_is_wrong(void)
{
	struct vl_network *network = vl_network_create(NULL);
	struct vl_switch_config config = switch_config();
	struct vl_endpoint_config host = host_config(1, RATE), bad_host = host;
	const struct vl_link_config bad = {.rate = 10};
	struct vl_node *sw = vl_network_add_switch(network, "leaf", &config);
	struct vl_node *node = vl_network_add_endpoint(network, &host);

	CU_ASSERT_EQUAL(vl_network_connect(network, node, 1, sw, 0, &clean, NULL), -EINVAL);
	CU_ASSERT_STRING_EQUAL(vl_network_error(network), "endpoint has no port 1: it has 1");
	CU_ASSERT_EQUAL(vl_network_connect(network, sw, 1, sw, 1, &clean, NULL), -EINVAL);
	CU_ASSERT_STRING_EQUAL(vl_network_error(network), "port 1 of leaf is connected to itself");
	CU_ASSERT_EQUAL(vl_network_connect(network, node, 0, sw, 0, &bad, NULL), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(vl_network_error(network), "port 0 of endpoint"));
	CU_ASSERT_EQUAL(vl_network_connect(network, node, 0, sw, 0, &clean, NULL), 0);
	CU_ASSERT_EQUAL(vl_network_connect(network, node, 0, sw, 1, &clean, NULL), -EBUSY);
	CU_ASSERT_STRING_EQUAL(vl_network_error(network),
			       "port 0 of endpoint is connected already");
	config.ports = 5000;
	CU_ASSERT_PTR_NULL(vl_network_add_switch(network, "spine", &config));
	CU_ASSERT_STRING_EQUAL(vl_network_error(network),
			       "switch spine: a switch has 1 to 4096 ports");
	bad_host.rate = 5;
	bad_host.name = "slow";
	CU_ASSERT_PTR_NULL(vl_network_add_endpoint(network, &bad_host));
	CU_ASSERT_PTR_NOT_NULL(strstr(vl_network_error(network), "endpoint slow: "));
	CU_ASSERT_EQUAL(vl_network_tap(network, sw, 6, &(struct vl_tap){.frame = note}), -EINVAL);
	vl_network_destroy(network);
}

/* All frames are on their way for a millisecond: who wants one asks as often as long frames could
 * leave, not each nanosecond, and gets on when they come back. */
static void test_frame_pool_runs_dry(void)
{
	const struct vl_network_config limits = {.frame_limit = 8};
	const struct vl_link_config far = {.rate = RATE, .propagation = 1000000};
	const struct vl_traffic_config memory = {.largest_message = 65536};
	const uint64_t frame_time = (9216 + 24) * 8 / 100;
	struct vl_memory_frame_pool *pool;
	struct star star = {.count = 2};
	uint64_t duration;

	star.network = vl_network_create(&limits);
	CU_ASSERT_PTR_NOT_NULL_FATAL(star.network);
	for (unsigned int i = 0; i < 2; i++) {
		struct vl_endpoint_config host = host_config((uint16_t)(1 + i), RATE);

		star.hosts[i] = vl_network_add_endpoint(star.network, &host);
		CU_ASSERT_PTR_NOT_NULL_FATAL(star.hosts[i]);
		star.traffic[i] = vl_traffic_create(vl_node_endpoint(star.hosts[i]), &memory, NULL);
		CU_ASSERT_PTR_NOT_NULL_FATAL(star.traffic[i]);
	}
	CU_ASSERT_EQUAL_FATAL(
		vl_network_connect(star.network, star.hosts[0], 0, star.hosts[1], 0, &far, NULL),
		0);
	add_flow(&star, 1, 2, 65536, 20, NULL);
	duration =
		vl_network_run_until(star.network, UINT64_C(10000000000)) ? finish_time(&star) : 0;
	pool = (struct vl_memory_frame_pool *)vl_network_frame_pool(star.network);
	CU_ASSERT_EQUAL(vl_flow_progress(star.flows[0], 0)->completed, 20);
	CU_ASSERT_TRUE(pool->failures > 0);
	/* 320 packets, 8 at a time at the most, an ACK's way back for what frees some of them. */
	CU_ASSERT_TRUE(duration >= 40000000);
	CU_ASSERT_TRUE(pool->failures <= 2 * duration / frame_time + 2);
	CU_ASSERT_TRUE(vl_executor_event_count(vl_network_executor(star.network)) <
		       3 * duration / frame_time);
	finish(&star);
}

static const struct test tests[] = {
	{"times_of_one_message", test_times_of_one_message},
	{"cut_through", test_cut_through},
	{"line_rate", test_line_rate},
	{"same_seed_same_bytes", test_same_seed_same_bytes},
	{"two_switches", test_two_switches},
	{"says_what_is_wrong", test_says_what_is_wrong},
	{"frame_pool_runs_dry", test_frame_pool_runs_dry},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("fabric_network", tests, argc, argv);
}
