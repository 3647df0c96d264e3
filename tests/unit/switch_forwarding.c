/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What frames are to a switch, and which of several ways they take. */

#include "tests/unit/switch_frames.h"

#include <errno.h>
#include <math.h>

#define FLOWS 20000

/* ---- Classification -------------------------------------------------------------------- */

/* A frame of a DSCP, untagged or with a VLAN tag of a PCP. */
static struct vl_class classify(const struct vl_classifier_config *config, uint8_t dscp, int pcp)
{
	struct vl_classifier classifier;
	struct vl_frame frame;
	uint8_t bytes[128];

	frame.data = bytes + 4;
	fill_ipv4_frame(&frame, 100, 1, 0, dscp, ECT);
	vl_classifier_init(&classifier, config);
	if (pcp < 0)
		return vl_classify(&classifier, frame.data, 100);
	memmove(bytes, bytes + 4, 12);
	bytes[12] = 0x81;
	bytes[13] = 0;
	bytes[14] = (uint8_t)(pcp << 5);
	bytes[15] = 1;
	return vl_classify(&classifier, bytes, 104);
}

static void test_maps(void)
{
	struct vl_classifier_config config;
	struct vl_class class;

	vl_classifier_config_defaults(&config);
	class = classify(&config, 26, -1);
	CU_ASSERT_EQUAL(class.queue, 3);
	CU_ASSERT_EQUAL(class.group, 3);
	CU_ASSERT_EQUAL(class.colour, VL_COLOUR_GREEN);
	CU_ASSERT_EQUAL(classify(&config, 26, 5).queue, 3);

	/* DSCP 26 -> class 4 -> queue 2, group 7; yellow */
	config.dscp_to_class[26] = 4;
	config.dscp_to_colour[26] = VL_COLOUR_YELLOW;
	config.class_to_queue[4] = 2;
	config.class_to_group[4] = 7;
	class = classify(&config, 26, -1);
	CU_ASSERT_EQUAL(class.queue, 2);
	CU_ASSERT_EQUAL(class.group, 7);
	CU_ASSERT_EQUAL(class.colour, VL_COLOUR_YELLOW);
	CU_ASSERT_EQUAL(classify(&config, 27, -1).queue, 3);

	config.trust = VL_TRUST_PCP;
	config.default_class = 1;
	config.pcp_to_class[5] = 4;
	config.pcp_to_colour[5] = VL_COLOUR_RED;
	CU_ASSERT_EQUAL(classify(&config, 26, -1).queue, 1);
	class = classify(&config, 26, 5);
	CU_ASSERT_EQUAL(class.queue, 2);
	CU_ASSERT_EQUAL(class.group, 7);
	CU_ASSERT_EQUAL(class.colour, VL_COLOUR_RED);
	CU_ASSERT_EQUAL(classify(&config, 26, 6).queue, 6);
}

static void test_refuses_bad_maps(void)
{
	struct vl_classifier_config config;

	vl_classifier_config_defaults(&config);
	CU_ASSERT_PTR_NULL(vl_classifier_config_error(&config));
	config.dscp_to_class[48] = 8;
	CU_ASSERT_STRING_EQUAL(vl_classifier_config_error(&config),
			       "DSCP 48 is mapped to traffic class 8; the last one is 7");
	config.dscp_to_class[48] = 7;
	config.pcp_to_colour[2] = 3;
	CU_ASSERT_STRING_EQUAL(vl_classifier_config_error(&config),
			       "PCP 2 is mapped to colour 3; the last one is 2");
	config.pcp_to_colour[2] = 2;
	config.class_to_group[7] = 9;
	CU_ASSERT_STRING_EQUAL(vl_classifier_config_error(&config),
			       "traffic class 7 is mapped to priority group 9; the last one is 7");
}

/* ---- Equal ways ------------------------------------------------------------------------ */

struct flow {
	uint8_t frame[100];
};

/* RoCEv2 between two hosts, told apart by the UDP source port alone. */
static void make_flow(struct flow *flow, uint16_t source_port)
{
	struct vl_frame frame = {.data = flow->frame};

	fill_ipv4_frame(&frame, sizeof(flow->frame), 1, 2, 26, ECT);
	flow->frame[34] = (uint8_t)(source_port >> 8);
	flow->frame[35] = (uint8_t)source_port;
	flow->frame[36] = 4791 >> 8;
	flow->frame[37] = 4791 & 0xff;
}

static void start_ways(struct vl_forwarding *forwarding, uint64_t seed, uint32_t count)
{
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 1};
	const uint32_t ports[16] = {3, 5, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21};

	CU_ASSERT_EQUAL_FATAL(vl_forwarding_init(forwarding, seed), 0);
	CU_ASSERT_EQUAL_FATAL(vl_forwarding_add(forwarding, mac, ports, count), 0);
}

/* Pearson's statistic of equal shares against its 99.9 % point for count - 1 degrees of freedom. */
static void check_shares(const unsigned int *flows, unsigned int count, unsigned int total)
{
	static const double limits[] = {0, 0, 10.83, 13.82, 16.27, 0, 0, 24.32};
	double sum = 0, expected = (double)total / count;

	for (unsigned int i = 0; i < count; i++)
		sum += pow(flows[i] - expected, 2) / expected;
	CU_ASSERT_TRUE(sum < limits[count]);
}

/* Consecutive source ports, as connections get them. */
static void test_spreads(void)
{
	static const uint32_t ways[] = {2, 3, 4};
	struct vl_forwarding forwarding;

	for (unsigned int i = 0; i < 3; i++) {
		unsigned int flows[22] = {0}, used[4];
		struct flow flow;

		start_ways(&forwarding, 77, ways[i]);
		for (uint16_t n = 0; n < FLOWS; n++) {
			uint32_t port;

			make_flow(&flow, (uint16_t)(0xc000 + n));
			port = vl_forwarding_port(&forwarding, flow.frame, sizeof(flow.frame));
			CU_ASSERT_EQUAL(port, vl_forwarding_port(&forwarding, flow.frame,
								 sizeof(flow.frame)));
			flows[port % 22]++;
		}
		used[0] = flows[3];
		used[1] = flows[5];
		used[2] = flows[8];
		used[3] = flows[9];
		check_shares(used, ways[i], FLOWS);
		vl_forwarding_release(&forwarding);
	}
}

/* What one switch sends one way, the next, of another seed, parts again as evenly; of the same seed
 * it would go one way only. */
static void test_tiers_do_not_polarise(void)
{
	struct vl_forwarding first, second, same;
	unsigned int flows[2] = {0}, polarised[2] = {0};
	struct flow flow;

	start_ways(&first, 1, 2);
	start_ways(&second, 2, 2);
	start_ways(&same, 1, 2);
	for (uint16_t n = 0; n < FLOWS; n++) {
		make_flow(&flow, n);
		if (vl_forwarding_port(&first, flow.frame, sizeof(flow.frame)) != 3)
			continue;
		flows[vl_forwarding_port(&second, flow.frame, sizeof(flow.frame)) == 5]++;
		polarised[vl_forwarding_port(&same, flow.frame, sizeof(flow.frame)) == 5]++;
	}
	check_shares(flows, 2, flows[0] + flows[1]);
	CU_ASSERT_EQUAL(polarised[1], 0);
	vl_forwarding_release(&first);
	vl_forwarding_release(&second);
	vl_forwarding_release(&same);
}

/* What belongs to a flow changes the hash, what does not does not. */
static void test_what_is_hashed(void)
{
	struct flow flow, other;
	uint64_t hash;

	make_flow(&flow, 50000);
	hash = vl_forwarding_flow_hash(9, flow.frame, 100);
	CU_ASSERT_NOT_EQUAL(hash, vl_forwarding_flow_hash(10, flow.frame, 100));
	for (unsigned int i = 0; i < 100; i++) {
		/* protocol 23, addresses 26 to 33, ports 34 to 37; not the type, version, fragment
		 */
		bool is_flow = i == 23 || (i >= 26 && i < 38);

		if (i == 12 || i == 13 || i == 14 || i == 20 || i == 21)
			continue;
		other = flow;
		other.frame[i] ^= 0x04;
		CU_ASSERT_EQUAL(vl_forwarding_flow_hash(9, other.frame, 100) != hash, is_flow);
	}
	/* Fragments have no ports. */
	other = flow;
	other.frame[20] = 0x20;
	hash = vl_forwarding_flow_hash(9, other.frame, 100);
	other.frame[20] = 0;
	other.frame[21] = 100;
	other.frame[35] ^= 1;
	CU_ASSERT_EQUAL(vl_forwarding_flow_hash(9, other.frame, 100), hash);
	/* Behind a tag all is the same. */
	hash = vl_forwarding_flow_hash(9, flow.frame, 96);
	memmove(other.frame + 4, flow.frame, 96);
	memmove(other.frame, other.frame + 4, 12);
	other.frame[12] = 0x81;
	other.frame[13] = 0;
	CU_ASSERT_EQUAL(vl_forwarding_flow_hash(9, other.frame, 100), hash);
	/* Not IP: MACs. Cut short: no reading beyond the end. */
	flow.frame[12] = 0x88;
	hash = vl_forwarding_flow_hash(9, flow.frame, 14);
	flow.frame[11] ^= 1;
	CU_ASSERT_NOT_EQUAL(vl_forwarding_flow_hash(9, flow.frame, 14), hash);
}

static void test_ipv6_flows(void)
{
	struct flow flow = {{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x86, 0xdd, 0x60}};
	uint64_t hash;

	flow.frame[20] = 17;
	hash = vl_forwarding_flow_hash(9, flow.frame, 100);
	for (unsigned int i = 14; i < 64; i++) {
		struct flow other = flow;
		bool is_flow = i == 20 || (i >= 22 && i < 58);

		other.frame[i] ^= 0x10;
		CU_ASSERT_EQUAL(vl_forwarding_flow_hash(9, other.frame, 100) != hash, is_flow);
	}
}

static void test_sets_are_kept_once(void)
{
	struct vl_switch_config config = four_ports();
	static const uint32_t pairs[2][2] = {{1, 2}, {1, 3}}, beyond[2] = {1, 4};
	uint8_t mac[6] = {6};
	uint32_t room;

	start(&config);
	for (unsigned int i = 0; i < 2000; i++) {
		mac[4] = (uint8_t)(i >> 8);
		mac[5] = (uint8_t)i;
		CU_ASSERT_EQUAL_FATAL(vl_switch_add_ways(sw, mac, pairs[i % 2], 2), 0);
	}
	CU_ASSERT_EQUAL(sw->forwarding.way_count, 6);
	/* A route that is replaced. */
	room = sw->forwarding.route_count;
	CU_ASSERT_EQUAL(vl_switch_add_route(sw, mac, 2), 0);
	CU_ASSERT_EQUAL(sw->forwarding.route_count, room);
	CU_ASSERT_EQUAL(vl_forwarding_find(&sw->forwarding, vl_mac_number(mac))->port, 2);
	CU_ASSERT_EQUAL(vl_switch_add_ways(sw, mac, beyond, 2), -EINVAL);
	CU_ASSERT_EQUAL(vl_switch_add_ways(sw, mac, beyond, 0), -EINVAL);
	finish();
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"maps", test_maps},
		{"refuses_bad_maps", test_refuses_bad_maps},
		{"spreads", test_spreads},
		{"tiers_do_not_polarise", test_tiers_do_not_polarise},
		{"what_is_hashed", test_what_is_hashed},
		{"ipv6_flows", test_ipv6_flows},
		{"sets_are_kept_once", test_sets_are_kept_once},
	};

	return RUN_SUITE("switch_forwarding", tests, argc, argv);
}
