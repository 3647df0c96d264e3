/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The subnet manager on subnets that are drawn by hand: what it says, and what it does by them. */

#include "dataplane/infiniband/subnet_manager.h"
#include "tests/support/subnet_graph.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define MOST_PORTS 64u

static void test_says_that_a_ring_can_deadlock(void)
{
	struct vl_subnet_channel cycle[8];
	struct vl_subnet *subnet;
	char text[512];

	graph_make_ring(5, 1);
	subnet = graph_make_subnet(VL_SUBNET_MIN_HOP);
	CU_ASSERT_EQUAL(vl_subnet_find_deadlock(subnet, cycle, 8), 5);
	CU_ASSERT_TRUE(vl_subnet_describe_deadlock(subnet, text, sizeof(text)));
	CU_ASSERT_STRING_EQUAL(text,
			       "min_hop can deadlock: sw1 -> sw2 -> sw3 -> sw4 -> sw5 -> sw1 wait "
			       "for each other's buffers (with packets to host3, host4, host5, "
			       "host1, host2); use up_down");
	CU_ASSERT_TRUE(vl_subnet_describe_deadlock(subnet, text, 20));
	CU_ASSERT_STRING_EQUAL(text, "min_hop can deadloc");
	vl_subnet_destroy(subnet);

	subnet = graph_make_subnet(VL_SUBNET_UP_DOWN);
	CU_ASSERT_EQUAL(vl_subnet_find_deadlock(subnet, cycle, 8), 0);
	CU_ASSERT_FALSE(vl_subnet_describe_deadlock(subnet, text, sizeof(text)));
	CU_ASSERT_STRING_EQUAL(text, "");
	vl_subnet_destroy(subnet);

	/* With three switches no packet takes two of the ring's links. */
	graph_make_ring(3, 4);
	subnet = graph_make_subnet(VL_SUBNET_MIN_HOP);
	CU_ASSERT_EQUAL(vl_subnet_find_deadlock(subnet, cycle, 8), 0);
	vl_subnet_destroy(subnet);
}

/* How many adapters' LIDs leave a switch by each port. */
static void count_loads(const struct vl_subnet *subnet, uint32_t node, uint32_t *loads)
{
	const uint16_t *table = vl_subnet_forwarding_table(subnet, node);
	uint32_t owner, port;

	memset(loads, 0, MOST_PORTS * sizeof(*loads));
	for (uint32_t lid = 1; lid < vl_subnet_lid_limit(subnet); lid++) {
		vl_subnet_lid_owner(subnet, lid, &owner, &port);
		if (!graph.nodes[owner].is_switch)
			loads[table[lid]]++;
	}
}

static void test_fat_tree_is_balanced(void)
{
	uint32_t loads[MOST_PORTS];

	graph_make_fat_tree(8);
	for (unsigned int routing = 0; routing < VL_SUBNET_ROUTING_COUNT; routing++) {
		struct vl_subnet *subnet = graph_make_subnet((enum vl_subnet_routing)routing);
		uint32_t uneven = 0, far = 0;

		for (uint32_t node = 0; node < graph.node_count; node++) {
			if (strncmp(graph.names[node], "edge", 4))
				continue;
			count_loads(subnet, node, loads);
			/* 4 adapters; the other 124 by 4 uplinks. */
			for (uint32_t port = 0; port < 8; port++)
				uneven += loads[port] != (port < 4 ? 1 : 31);
			/* Up and down again over the core: no further than needed. */
			for (uint32_t host = 0; host < 128; host++)
				far += vl_subnet_hops(subnet, node,
						      vl_subnet_lid(subnet, host, 0)) > 5;
		}
		CU_ASSERT_EQUAL(uneven, 0);
		CU_ASSERT_EQUAL(far, 0);
		CU_ASSERT_EQUAL(vl_subnet_find_deadlock(subnet, NULL, 0), 0);
		vl_subnet_destroy(subnet);
	}
}

static double seconds_since(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)(now.tv_sec - start->tv_sec) + 1e-9 * (double)(now.tv_nsec - start->tv_nsec);
}

static void test_thousand_adapters_take_no_second(void)
{
	graph_make_fat_tree(16);
	CU_ASSERT_EQUAL(graph.node_count, 1024 + 320);
	for (unsigned int routing = 0; routing < VL_SUBNET_ROUTING_COUNT; routing++) {
		struct vl_subnet *subnet;
		struct timespec start;
		double made, checked;

		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
		subnet = graph_make_subnet((enum vl_subnet_routing)routing);
		made = seconds_since(&start);
		CU_ASSERT_EQUAL(vl_subnet_find_deadlock(subnet, NULL, 0), 0);
		checked = seconds_since(&start) - made;
		printf("    %s, 1024 adapters, 320 switches: tables %.0f ms, deadlock %.0f ms\n",
		       vl_subnet_routing_name((enum vl_subnet_routing)routing), 1e3 * made,
		       1e3 * checked);
		CU_ASSERT(made + checked < 2);
		vl_subnet_destroy(subnet);
	}
}

static void expect_error(const char *text)
{
	struct vl_subnet *subnet = graph_try_subnet(VL_SUBNET_MIN_HOP, NULL, 0);

	CU_ASSERT_PTR_NULL(subnet);
	if (strcmp(graph_message, text))
		printf("    got: %s\n", graph_message);
	CU_ASSERT_STRING_EQUAL(graph_message, text);
	vl_subnet_destroy(subnet);
}

static void test_says_who_is_out_of_reach(void)
{
	const uint32_t roots[] = {0, 2}, host[] = {6};
	struct vl_subnet *subnet;

	graph_make_ring(5, 1);
	graph_add_node(true, "island", 1);
	graph.nodes[10].ports = 4;
	expect_error("sw1 cannot reach island1, which has no cable");
	graph_join(graph_add_node(false, "castaway", 1), 10);
	graph.cables[graph.cable_count - 1].port_b = 0;
	expect_error("sw1 cannot reach island1: no cables lead from one to the other");
	graph.cables[graph.cable_count - 1].port_b = 9;
	expect_error("island1 has no port 9: it has 5");
	graph.cables[graph.cable_count - 1].b = 99;
	expect_error("cable 11 ends at node 99, but there are 12");

	graph_make_ring(5, 1);
	graph.cables[1] = graph.cables[0];
	expect_error("port 0 of sw1 has a cable already");
	graph.nodes[3].ports = 0;
	expect_error("sw4 has 0 ports, not 1 to 2048");
	graph.node_count = 0;
	expect_error("a subnet has 1 to 4096 nodes, not 0");

	graph_make_ring(6, 1);
	CU_ASSERT_PTR_NULL(graph_try_subnet(VL_SUBNET_UP_DOWN, host, 1));
	CU_ASSERT_STRING_EQUAL(graph_message, "root 1 of up_down is no switch: host1");
	/* sw2 lies below both roots, and every way from root to root goes by such a switch. */
	subnet = graph_try_subnet(VL_SUBNET_UP_DOWN, roots, 2);
	CU_ASSERT_PTR_NULL(subnet);
	CU_ASSERT_PTR_NOT_NULL(strstr(graph_message, "up_down has no way from sw"));
	CU_ASSERT_PTR_NOT_NULL(strstr(graph_message, "with the given roots"));
}

static void test_two_adapters_need_no_switch(void)
{
	struct vl_subnet *subnet;

	graph.node_count = graph.cable_count = 0;
	graph_join(graph_add_node(false, "host", 1), graph_add_node(false, "host", 2));
	subnet = graph_make_subnet(VL_SUBNET_UP_DOWN);
	CU_ASSERT_EQUAL(vl_subnet_lid(subnet, 0, 0), 1);
	CU_ASSERT_EQUAL(vl_subnet_lid(subnet, 1, 0), 2);
	CU_ASSERT_EQUAL(vl_subnet_hops(subnet, 0, 2), 1);
	CU_ASSERT_EQUAL(vl_subnet_find_deadlock(subnet, NULL, 0), 0);
	CU_ASSERT_PTR_NULL(vl_subnet_forwarding_table(subnet, 0));
	CU_ASSERT_EQUAL(vl_subnet_lid(subnet, 0, 1), VL_LID_NONE);
	CU_ASSERT_EQUAL(vl_subnet_lid(subnet, 2, 0), VL_LID_NONE);
	CU_ASSERT_EQUAL(vl_subnet_hops(subnet, 0, 3), 0);
	vl_subnet_destroy(subnet);
}

static void test_an_adapter_has_a_lid_a_port(void)
{
	struct vl_subnet *subnet;

	graph_make_ring(3, 1);
	graph_join(3, 1);
	graph.nodes[3].ports = 3;
	subnet = graph_make_subnet(VL_SUBNET_MIN_HOP);
	CU_ASSERT_EQUAL(vl_subnet_lid(subnet, 3, 0), 4);
	CU_ASSERT_EQUAL(vl_subnet_lid(subnet, 3, 1), 5);
	CU_ASSERT_EQUAL(vl_subnet_lid(subnet, 3, 2), VL_LID_NONE);
	CU_ASSERT_EQUAL(vl_subnet_lid(subnet, 4, 0), 6);
	CU_ASSERT_EQUAL(vl_subnet_forwarding_table(subnet, 0)[4], 2);
	CU_ASSERT_EQUAL(vl_subnet_hops(subnet, 0, 5), 2);
	CU_ASSERT_EQUAL(vl_subnet_hops(subnet, 1, 5), 1);
	vl_subnet_destroy(subnet);
}

static void expect_lanes_error(const struct vl_subnet_lanes *lanes, const char *text)
{
	const char *error = vl_subnet_lanes_error(lanes, graph_message);

	CU_ASSERT_PTR_NOT_NULL_FATAL(error);
	CU_ASSERT_STRING_EQUAL(error, text);
}

static void test_virtual_lanes(void)
{
	struct vl_subnet_lanes lanes;

	for (uint8_t count = 1; count <= VL_INFINIBAND_DATA_LANES; count++) {
		vl_subnet_lanes_default(&lanes, count);
		CU_ASSERT_PTR_NULL(vl_subnet_lanes_error(&lanes, graph_message));
		CU_ASSERT_EQUAL(lanes.sl_to_vl[15], 15 % count);
	}
	vl_subnet_lanes_default(&lanes, 4);
	lanes.sl_to_vl[3] = 7;
	expect_lanes_error(&lanes, "SL 3 is mapped on VL 7, but the data lanes are 0 to 3");
	vl_subnet_lanes_default(&lanes, 4);
	lanes.arbitration.low[2].weight = 0;
	CU_ASSERT_PTR_NOT_NULL(vl_subnet_lanes_error(&lanes, graph_message));
	lanes.arbitration.high[0] = (struct vl_arbiter_entry){2, 1};
	lanes.arbitration.high_count = 1;
	CU_ASSERT_PTR_NULL(vl_subnet_lanes_error(&lanes, graph_message));
	lanes.data_lanes = 16;
	expect_lanes_error(&lanes, "there are 16 data lanes, not 1 to 15");
}

static void test_routing_names(void)
{
	enum vl_subnet_routing routing = VL_SUBNET_MIN_HOP;

	CU_ASSERT_TRUE(vl_subnet_routing_parse("up_down", &routing));
	CU_ASSERT_EQUAL(routing, VL_SUBNET_UP_DOWN);
	CU_ASSERT_FALSE(vl_subnet_routing_parse("updn", &routing));
	CU_ASSERT_STRING_EQUAL(vl_subnet_routing_name(VL_SUBNET_MIN_HOP), "min_hop");
}

static const struct test tests[] = {
	{"says_that_a_ring_can_deadlock", test_says_that_a_ring_can_deadlock},
	{"fat_tree_is_balanced", test_fat_tree_is_balanced},
	{"thousand_adapters_take_no_second", test_thousand_adapters_take_no_second},
	{"says_who_is_out_of_reach", test_says_who_is_out_of_reach},
	{"two_adapters_need_no_switch", test_two_adapters_need_no_switch},
	{"an_adapter_has_a_lid_a_port", test_an_adapter_has_a_lid_a_port},
	{"virtual_lanes", test_virtual_lanes},
	{"routing_names", test_routing_names},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("subnet_manager", tests, argc, argv);
}
