/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Tables of the subnet manager on random graphs, held to searches of their own: walks along the
 * tables, all shortest ways, and the closure of the dependencies between channels.
 */

#include "dataplane/infiniband/subnet_manager.h"
#include "tests/support/suite.h"
#include "transport/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define GRAPHS    400
#define MAX_NODES 2048u
#define MAX_LINKS 8192u
#define SMALL     64u
#define FAR       1000000u

struct graph {
	struct vl_subnet_node nodes[MAX_NODES];
	char names[MAX_NODES][16];
	uint32_t node_count;
	struct vl_subnet_cable cables[MAX_LINKS];
	uint32_t cable_count;
};

static struct graph graph;
static char message[VL_SUBNET_MESSAGE_SIZE];

static uint32_t add_node(bool is_switch, const char *prefix, uint32_t number)
{
	uint32_t node = graph.node_count++;

	snprintf(graph.names[node], sizeof(graph.names[node]), "%s%u", prefix, number);
	graph.nodes[node] =
		(struct vl_subnet_node){.name = graph.names[node], .is_switch = is_switch};
	return node;
}

/* By the next free port of each. */
static void join(uint32_t a, uint32_t b)
{
	struct vl_subnet_cable *cable = &graph.cables[graph.cable_count++];

	cable->a = a;
	cable->port_a = graph.nodes[a].ports++;
	cable->b = b;
	cable->port_b = graph.nodes[b].ports++;
}

static struct vl_subnet *try_subnet(enum vl_subnet_routing routing, const uint32_t *roots,
				    uint32_t root_count)
{
	const struct vl_subnet_config config = {
		.nodes = graph.nodes,
		.node_count = graph.node_count,
		.cables = graph.cables,
		.cable_count = graph.cable_count,
		.routing = routing,
		.roots = roots,
		.root_count = root_count,
	};

	message[0] = 0;
	return vl_subnet_create(&config, message);
}

static struct vl_subnet *make_subnet(enum vl_subnet_routing routing)
{
	struct vl_subnet *subnet = try_subnet(routing, NULL, 0);

	if (!subnet)
		printf("    %s\n", message);
	CU_ASSERT_PTR_NOT_NULL_FATAL(subnet);
	return subnet;
}

/* Switches in a random tree with some more links, parallel ones too, adapters anywhere, and nodes
 * in any order. */
static void make_random_graph(struct vl_random *random)
{
	uint32_t switches = 1 + (uint32_t)vl_random_below(random, 14);
	uint32_t adapters = 1 + (uint32_t)vl_random_below(random, 30);
	uint32_t more = (uint32_t)vl_random_below(random, 2 * switches);
	uint32_t numbers[SMALL], switch_count = 0, adapter_count = 0;

	graph.node_count = graph.cable_count = 0;
	while (switch_count < switches || adapter_count < adapters) {
		if (adapter_count == adapters ||
		    (switch_count < switches && vl_random_below(random, 3) == 0)) {
			numbers[switch_count] = add_node(true, "sw", switch_count + 1);
			switch_count++;
		} else {
			adapter_count++;
			add_node(false, "host", adapter_count);
		}
	}
	for (uint32_t i = 1; i < switches; i++)
		join(numbers[i], numbers[vl_random_below(random, i)]);
	for (uint32_t i = 0; i < more; i++) {
		uint32_t a = (uint32_t)vl_random_below(random, switches);
		uint32_t b = (uint32_t)vl_random_below(random, switches);

		if (a != b)
			join(numbers[a], numbers[b]);
	}
	for (uint32_t i = 0; i < graph.node_count; i++) {
		if (!graph.nodes[i].is_switch)
			join(i, numbers[vl_random_below(random, switches)]);
	}
}

static void make_ring(uint32_t switches, uint32_t adapters)
{
	graph.node_count = graph.cable_count = 0;
	for (uint32_t i = 0; i < switches; i++)
		add_node(true, "sw", i + 1);
	for (uint32_t i = 0; i < switches; i++)
		join(i, (i + 1) % switches);
	for (uint32_t i = 0; i < switches * adapters; i++)
		join(add_node(false, "host", i + 1), i / adapters);
}

/* A k-ary fat tree (Al-Fares et al. 2008): k pods, k^3 / 4 adapters. */
static void make_fat_tree(uint32_t k)
{
	uint32_t half = k / 2, cores, pod;

	graph.node_count = graph.cable_count = 0;
	for (uint32_t i = 0; i < k * half * half; i++)
		add_node(false, "host", i + 1);
	cores = graph.node_count;
	for (uint32_t i = 0; i < half * half; i++)
		add_node(true, "core", i + 1);
	for (uint32_t p = 0; p < k; p++) {
		pod = graph.node_count;
		for (uint32_t i = 0; i < half; i++)
			add_node(true, "edge", p * half + i + 1);
		for (uint32_t i = 0; i < half; i++)
			add_node(true, "spine", p * half + i + 1);
		for (uint32_t edge = 0; edge < half; edge++) {
			for (uint32_t i = 0; i < half; i++)
				join((p * half + edge) * half + i, pod + edge);
			for (uint32_t i = 0; i < half; i++)
				join(pod + edge, pod + half + i);
		}
		for (uint32_t spine = 0; spine < half; spine++) {
			for (uint32_t i = 0; i < half; i++)
				join(pod + half + spine, cores + spine * half + i);
		}
	}
}

/* ---- Oracles --------------------------------------------------------------------------- */

/* The node at the other end of a cable, and its port there. */
static bool cross(uint32_t node, uint32_t port, uint32_t *peer, uint32_t *peer_port)
{
	for (uint32_t i = 0; i < graph.cable_count; i++) {
		const struct vl_subnet_cable *cable = &graph.cables[i];

		if (cable->a == node && cable->port_a == port) {
			*peer = cable->b;
			*peer_port = cable->port_b;
			return true;
		}
		if (cable->b == node && cable->port_b == port) {
			*peer = cable->a;
			*peer_port = cable->port_a;
			return true;
		}
	}
	return false;
}

struct hop {
	uint32_t node, port; /* the link that was taken, by where it starts */
};

/* Follows the tables. The number of links, or -1: they lead nowhere, or in a circle. */
static int walk(const struct vl_subnet *subnet, uint32_t from, uint32_t lid, struct hop *hops)
{
	uint32_t to, to_port, node = from, port = 0;
	int count = 0;

	if (!vl_subnet_lid_owner(subnet, lid, &to, &to_port))
		return -1;
	while (node != to) {
		if (graph.nodes[node].is_switch)
			port = vl_subnet_forwarding_table(subnet, node)[lid];
		else if (node != from)
			return -1;
		hops[count].node = node;
		hops[count].port = port;
		if (port == VL_SUBNET_NO_PORT || ++count > (int)SMALL ||
		    !cross(node, port, &node, &port))
			return -1;
	}
	return count;
}

/* Floyd and Warshall, with adapters as ends only. */
static void find_distances(uint32_t distances[SMALL][SMALL])
{
	for (uint32_t a = 0; a < graph.node_count; a++) {
		for (uint32_t b = 0; b < graph.node_count; b++)
			distances[a][b] = a == b ? 0 : FAR;
	}
	for (uint32_t i = 0; i < graph.cable_count; i++)
		distances[graph.cables[i].a][graph.cables[i].b] =
			distances[graph.cables[i].b][graph.cables[i].a] = 1;
	for (uint32_t by = 0; by < graph.node_count; by++) {
		for (uint32_t a = 0; graph.nodes[by].is_switch && a < graph.node_count; a++) {
			for (uint32_t b = 0; b < graph.node_count; b++) {
				uint32_t sum = distances[a][by] + distances[by][b];

				if (sum < distances[a][b])
					distances[a][b] = sum;
			}
		}
	}
}

static uint32_t max_ports(void)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < graph.node_count; i++)
		most = graph.nodes[i].ports > most ? graph.nodes[i].ports : most;
	return most;
}

/* Whether packets between adapters wait in one channel for another, by node * max_ports + port. */
static uint8_t *find_dependencies(const struct vl_subnet *subnet, uint32_t *channels)
{
	uint32_t stride = max_ports(), owner, owner_port;
	struct hop hops[SMALL + 1];
	uint8_t *waits;

	*channels = graph.node_count * stride;
	waits = calloc((size_t)*channels * *channels, 1);
	for (uint32_t from = 0; from < graph.node_count; from++) {
		for (uint32_t lid = 1; lid < vl_subnet_lid_limit(subnet); lid++) {
			int count = walk(subnet, from, lid, hops);

			vl_subnet_lid_owner(subnet, lid, &owner, &owner_port);
			if (graph.nodes[from].is_switch || graph.nodes[owner].is_switch)
				continue;
			for (int i = 0; i + 1 < count; i++)
				waits[(size_t)(hops[i].node * stride + hops[i].port) * *channels +
				      hops[i + 1].node * stride + hops[i + 1].port] = 1;
		}
	}
	return waits;
}

static bool has_cycle(const uint8_t *waits, uint32_t channels)
{
	uint8_t *closure = malloc((size_t)channels * channels);
	bool found = false;

	memcpy(closure, waits, (size_t)channels * channels);
	for (uint32_t by = 0; by < channels; by++) {
		for (uint32_t a = 0; a < channels; a++) {
			if (!closure[(size_t)a * channels + by])
				continue;
			for (uint32_t b = 0; b < channels; b++)
				closure[(size_t)a * channels + b] |=
					closure[(size_t)by * channels + b];
		}
	}
	for (uint32_t a = 0; a < channels; a++)
		found |= closure[(size_t)a * channels + a] != 0;
	free(closure);
	return found;
}

/* ---- Tests ----------------------------------------------------------------------------- */

static void check_walks(const struct vl_subnet *subnet, bool minimal)
{
	static uint32_t distances[SMALL][SMALL];
	uint32_t wrong = 0, longer = 0, node, port;
	struct hop hops[SMALL + 1];

	find_distances(distances);
	for (uint32_t from = 0; from < graph.node_count; from++) {
		for (uint32_t lid = 1; lid < vl_subnet_lid_limit(subnet); lid++) {
			int count = walk(subnet, from, lid, hops);

			vl_subnet_lid_owner(subnet, lid, &node, &port);
			wrong += count < 0 || vl_subnet_lid(subnet, node, port) != lid ||
				 vl_subnet_hops(subnet, from, lid) != (uint32_t)count;
			longer += (uint32_t)count != distances[from][node];
		}
	}
	CU_ASSERT_EQUAL(wrong, 0);
	if (minimal)
		CU_ASSERT_EQUAL(longer, 0);
}

static void test_every_way_arrives(void)
{
	struct vl_random random = {1};

	for (unsigned int i = 0; i < GRAPHS; i++) {
		make_random_graph(&random);
		for (unsigned int routing = 0; routing < VL_SUBNET_ROUTING_COUNT; routing++) {
			struct vl_subnet *subnet = make_subnet((enum vl_subnet_routing)routing);

			CU_ASSERT_EQUAL(vl_subnet_lid_limit(subnet), graph.node_count + 1);
			check_walks(subnet, routing == VL_SUBNET_MIN_HOP);
			vl_subnet_destroy(subnet);
		}
	}
}

/* Whether a link leads up: to a smaller rank, or to a lower number in the same. */
static bool is_up(const struct vl_subnet *subnet, const struct hop *hop)
{
	uint32_t next = hop->node, port, rank, next_rank;

	cross(hop->node, hop->port, &next, &port);
	rank = vl_subnet_rank(subnet, hop->node);
	next_rank = vl_subnet_rank(subnet, next);
	return next_rank != rank ? next_rank < rank : next < hop->node;
}

static uint32_t count_ups_after_downs(const struct vl_subnet *subnet)
{
	uint32_t found = 0, owner, port;
	struct hop hops[SMALL + 1];

	for (uint32_t from = 0; from < graph.node_count; from++) {
		for (uint32_t lid = 1; lid < vl_subnet_lid_limit(subnet); lid++) {
			int count = walk(subnet, from, lid, hops);

			vl_subnet_lid_owner(subnet, lid, &owner, &port);
			if (graph.nodes[from].is_switch || graph.nodes[owner].is_switch)
				continue;
			/* The first and the last link are the adapters'. */
			for (int i = 2; i + 1 < count; i++)
				found += is_up(subnet, &hops[i]) && !is_up(subnet, &hops[i - 1]);
		}
	}
	return found;
}

static void test_up_down_never_turns_up(void)
{
	struct vl_random random = {2};

	for (unsigned int i = 0; i < GRAPHS; i++) {
		uint32_t root, channels;
		struct vl_subnet *subnet;
		uint8_t *waits;

		make_random_graph(&random);
		subnet = make_subnet(VL_SUBNET_UP_DOWN);
		CU_ASSERT_EQUAL(count_ups_after_downs(subnet), 0);
		CU_ASSERT_EQUAL(vl_subnet_find_deadlock(subnet, NULL, 0), 0);
		waits = find_dependencies(subnet, &channels);
		CU_ASSERT_FALSE(has_cycle(waits, channels));
		free(waits);
		vl_subnet_destroy(subnet);

		/* From any one root there is a way to everybody. */
		do
			root = (uint32_t)vl_random_below(&random, graph.node_count);
		while (!graph.nodes[root].is_switch);
		subnet = try_subnet(VL_SUBNET_UP_DOWN, &root, 1);
		CU_ASSERT_PTR_NOT_NULL_FATAL(subnet);
		CU_ASSERT_EQUAL(vl_subnet_rank(subnet, root), 0);
		check_walks(subnet, false);
		CU_ASSERT_EQUAL(count_ups_after_downs(subnet), 0);
		vl_subnet_destroy(subnet);
	}
}

/* Each link waits for the next, with the packets that it says. */
static void check_cycle(const struct vl_subnet *subnet, const uint8_t *waits, uint32_t channels,
			const struct vl_subnet_channel *cycle, int length)
{
	uint32_t stride = max_ports(), wrong = 0;

	for (int i = 0; i < length; i++) {
		const struct vl_subnet_channel *next = &cycle[(i + 1) % length];

		wrong += !waits[(size_t)(cycle[i].node * stride + cycle[i].port) * channels +
				next->node * stride + next->port];
		wrong += vl_subnet_forwarding_table(subnet, cycle[i].node)[cycle[i].witness] !=
			 cycle[i].port;
		wrong += vl_subnet_forwarding_table(subnet, next->node)[cycle[i].witness] !=
			 next->port;
	}
	CU_ASSERT_EQUAL(wrong, 0);
}

static void test_finds_every_cycle(void)
{
	struct vl_random random = {3};
	struct vl_subnet_channel cycle[SMALL];
	uint32_t cyclic = 0;

	for (unsigned int i = 0; i < GRAPHS; i++) {
		struct vl_subnet *subnet;
		uint32_t channels;
		uint8_t *waits;
		int length;

		make_random_graph(&random);
		subnet = make_subnet(VL_SUBNET_MIN_HOP);
		length = vl_subnet_find_deadlock(subnet, cycle, SMALL);
		waits = find_dependencies(subnet, &channels);
		CU_ASSERT_EQUAL(length > 0, has_cycle(waits, channels));
		CU_ASSERT(length >= 0 && length <= (int)SMALL);
		check_cycle(subnet, waits, channels, cycle, length);
		cyclic += length > 0;
		free(waits);
		vl_subnet_destroy(subnet);
	}
	/* There are enough of either kind to tell. */
	CU_ASSERT(cyclic > GRAPHS / 20 && cyclic < GRAPHS - GRAPHS / 20);
}

static void test_says_that_a_ring_can_deadlock(void)
{
	struct vl_subnet_channel cycle[8];
	struct vl_subnet *subnet;
	char text[512];

	make_ring(5, 1);
	subnet = make_subnet(VL_SUBNET_MIN_HOP);
	CU_ASSERT_EQUAL(vl_subnet_find_deadlock(subnet, cycle, 8), 5);
	CU_ASSERT_TRUE(vl_subnet_describe_deadlock(subnet, text, sizeof(text)));
	CU_ASSERT_STRING_EQUAL(text,
			       "min_hop can deadlock: sw1 -> sw2 -> sw3 -> sw4 -> sw5 -> sw1 wait "
			       "for each other's buffers (with packets to host3, host4, host5, "
			       "host1, host2); use up_down");
	CU_ASSERT_TRUE(vl_subnet_describe_deadlock(subnet, text, 20));
	CU_ASSERT_STRING_EQUAL(text, "min_hop can deadloc");
	vl_subnet_destroy(subnet);

	subnet = make_subnet(VL_SUBNET_UP_DOWN);
	CU_ASSERT_EQUAL(vl_subnet_find_deadlock(subnet, cycle, 8), 0);
	CU_ASSERT_FALSE(vl_subnet_describe_deadlock(subnet, text, sizeof(text)));
	CU_ASSERT_STRING_EQUAL(text, "");
	vl_subnet_destroy(subnet);

	/* With three switches no packet takes two of the ring's links. */
	make_ring(3, 4);
	subnet = make_subnet(VL_SUBNET_MIN_HOP);
	CU_ASSERT_EQUAL(vl_subnet_find_deadlock(subnet, cycle, 8), 0);
	vl_subnet_destroy(subnet);
}

/* How many adapters' LIDs leave a switch by each port. */
static void count_loads(const struct vl_subnet *subnet, uint32_t node, uint32_t *loads)
{
	const uint16_t *table = vl_subnet_forwarding_table(subnet, node);
	uint32_t owner, port;

	memset(loads, 0, SMALL * sizeof(*loads));
	for (uint32_t lid = 1; lid < vl_subnet_lid_limit(subnet); lid++) {
		vl_subnet_lid_owner(subnet, lid, &owner, &port);
		if (!graph.nodes[owner].is_switch)
			loads[table[lid]]++;
	}
}

static void test_fat_tree_is_balanced(void)
{
	uint32_t loads[SMALL];

	make_fat_tree(8);
	for (unsigned int routing = 0; routing < VL_SUBNET_ROUTING_COUNT; routing++) {
		struct vl_subnet *subnet = make_subnet((enum vl_subnet_routing)routing);
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
	make_fat_tree(16);
	CU_ASSERT_EQUAL(graph.node_count, 1024 + 320);
	for (unsigned int routing = 0; routing < VL_SUBNET_ROUTING_COUNT; routing++) {
		struct vl_subnet *subnet;
		struct timespec start;
		double made, checked;

		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
		subnet = make_subnet((enum vl_subnet_routing)routing);
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
	struct vl_subnet *subnet = try_subnet(VL_SUBNET_MIN_HOP, NULL, 0);

	CU_ASSERT_PTR_NULL(subnet);
	if (strcmp(message, text))
		printf("    got: %s\n", message);
	CU_ASSERT_STRING_EQUAL(message, text);
	vl_subnet_destroy(subnet);
}

static void test_says_who_is_out_of_reach(void)
{
	const uint32_t roots[] = {0, 2}, host[] = {6};
	struct vl_subnet *subnet;

	make_ring(5, 1);
	add_node(true, "island", 1);
	graph.nodes[10].ports = 4;
	expect_error("sw1 cannot reach island1, which has no cable");
	join(add_node(false, "castaway", 1), 10);
	graph.cables[graph.cable_count - 1].port_b = 0;
	expect_error("sw1 cannot reach island1: no cables lead from one to the other");
	graph.cables[graph.cable_count - 1].port_b = 9;
	expect_error("island1 has no port 9: it has 5");
	graph.cables[graph.cable_count - 1].b = 99;
	expect_error("cable 11 ends at node 99, but there are 12");

	make_ring(5, 1);
	graph.cables[1] = graph.cables[0];
	expect_error("port 0 of sw1 has a cable already");
	graph.nodes[3].ports = 0;
	expect_error("sw4 has 0 ports, not 1 to 2048");
	graph.node_count = 0;
	expect_error("a subnet has 1 to 4096 nodes, not 0");

	make_ring(6, 1);
	CU_ASSERT_PTR_NULL(try_subnet(VL_SUBNET_UP_DOWN, host, 1));
	CU_ASSERT_STRING_EQUAL(message, "root 1 of up_down is no switch: host1");
	/* sw2 lies below both roots, and every way from root to root goes by such a switch. */
	subnet = try_subnet(VL_SUBNET_UP_DOWN, roots, 2);
	CU_ASSERT_PTR_NULL(subnet);
	CU_ASSERT_PTR_NOT_NULL(strstr(message, "up_down has no way from sw"));
	CU_ASSERT_PTR_NOT_NULL(strstr(message, "with the given roots"));
}

static void test_two_adapters_need_no_switch(void)
{
	struct vl_subnet *subnet;

	graph.node_count = graph.cable_count = 0;
	join(add_node(false, "host", 1), add_node(false, "host", 2));
	subnet = make_subnet(VL_SUBNET_UP_DOWN);
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

	make_ring(3, 1);
	join(3, 1);
	graph.nodes[3].ports = 3;
	subnet = make_subnet(VL_SUBNET_MIN_HOP);
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
	const char *error = vl_subnet_lanes_error(lanes, message);

	CU_ASSERT_PTR_NOT_NULL_FATAL(error);
	CU_ASSERT_STRING_EQUAL(error, text);
}

static void test_virtual_lanes(void)
{
	struct vl_subnet_lanes lanes;

	for (uint8_t count = 1; count <= VL_INFINIBAND_DATA_LANES; count++) {
		vl_subnet_lanes_default(&lanes, count);
		CU_ASSERT_PTR_NULL(vl_subnet_lanes_error(&lanes, message));
		CU_ASSERT_EQUAL(lanes.sl_to_vl[15], 15 % count);
	}
	vl_subnet_lanes_default(&lanes, 4);
	lanes.sl_to_vl[3] = 7;
	expect_lanes_error(&lanes, "SL 3 is mapped on VL 7, but the data lanes are 0 to 3");
	vl_subnet_lanes_default(&lanes, 4);
	lanes.arbitration.low[2].weight = 0;
	CU_ASSERT_PTR_NOT_NULL(vl_subnet_lanes_error(&lanes, message));
	lanes.arbitration.high[0] = (struct vl_arbiter_entry){2, 1};
	lanes.arbitration.high_count = 1;
	CU_ASSERT_PTR_NULL(vl_subnet_lanes_error(&lanes, message));
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
	{"every_way_arrives", test_every_way_arrives},
	{"up_down_never_turns_up", test_up_down_never_turns_up},
	{"finds_every_cycle", test_finds_every_cycle},
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
