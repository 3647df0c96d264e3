/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Tables of the subnet manager on random graphs, held to searches of their own: walks along the
 * tables, all shortest ways, and the closure of the dependencies between channels.
 */

#include "dataplane/infiniband/subnet_manager.h"
#include "tests/support/subnet_graph.h"
#include "tests/support/suite.h"
#include "transport/random.h"

#include <stdlib.h>
#include <string.h>

#define GRAPHS 400
#define SMALL  64u
#define FAR    1000000u

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
			numbers[switch_count] = graph_add_node(true, "sw", switch_count + 1);
			switch_count++;
		} else {
			adapter_count++;
			graph_add_node(false, "host", adapter_count);
		}
	}
	for (uint32_t i = 1; i < switches; i++)
		graph_join(numbers[i], numbers[vl_random_below(random, i)]);
	for (uint32_t i = 0; i < more; i++) {
		uint32_t a = (uint32_t)vl_random_below(random, switches);
		uint32_t b = (uint32_t)vl_random_below(random, switches);

		if (a != b)
			graph_join(numbers[a], numbers[b]);
	}
	for (uint32_t i = 0; i < graph.node_count; i++) {
		if (!graph.nodes[i].is_switch)
			graph_join(i, numbers[vl_random_below(random, switches)]);
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
			struct vl_subnet *subnet =
				graph_make_subnet((enum vl_subnet_routing)routing);

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
		subnet = graph_make_subnet(VL_SUBNET_UP_DOWN);
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
		subnet = graph_try_subnet(VL_SUBNET_UP_DOWN, &root, 1);
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
		subnet = graph_make_subnet(VL_SUBNET_MIN_HOP);
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

static const struct test tests[] = {
	{"every_way_arrives", test_every_way_arrives},
	{"up_down_never_turns_up", test_up_down_never_turns_up},
	{"finds_every_cycle", test_finds_every_cycle},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("subnet_manager", tests, argc, argv);
}
