/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/fabric/topology.h"
#include "tests/support/suite.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct vl_topology topology;
static const char *wrong_field;
static char error[160];

static void make(const struct vl_topology_config *config)
{
	CU_ASSERT_EQUAL_FATAL(
		vl_topology_create(config, &topology, &wrong_field, error, sizeof(error)), 0);
}

static unsigned int degree(unsigned int node)
{
	unsigned int cables = 0;

	for (unsigned int i = 0; i < topology.cable_count; i++)
		cables += (topology.cables[i].a == node) + (topology.cables[i].b == node);
	return cables;
}

static unsigned int count_role(enum vl_topology_role role)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < topology.node_count; i++)
		count += topology.nodes[i].role == role;
	return count;
}

/* All nodes of a role have so many cables. */
static void check_degrees(enum vl_topology_role role, unsigned int nodes, unsigned int cables)
{
	CU_ASSERT_EQUAL(count_role(role), nodes);
	for (unsigned int i = 0; i < topology.node_count; i++) {
		if (topology.nodes[i].role == role)
			CU_ASSERT_EQUAL(degree(i), cables);
	}
}

/* Hops between two nodes by any way; UINT32_MAX: none. By relaxation, unlike any search. */
static unsigned int distance(unsigned int from, unsigned int to)
{
	unsigned int *hops = malloc(topology.node_count * sizeof(*hops)), found;
	bool changed = true;

	for (unsigned int i = 0; i < topology.node_count; i++)
		hops[i] = i == from ? 0 : 1000000;
	while (changed) {
		changed = false;
		for (unsigned int i = 0; i < topology.cable_count; i++) {
			unsigned int *a = &hops[topology.cables[i].a];
			unsigned int *b = &hops[topology.cables[i].b];

			changed = changed || *a + 1 < *b || *b + 1 < *a;
			if (*a + 1 < *b)
				*b = *a + 1;
			if (*b + 1 < *a)
				*a = *b + 1;
		}
	}
	found = hops[to];
	free(hops);
	return found == 1000000 ? UINT32_MAX : found;
}

static const char *name_of(unsigned int node)
{
	static char name[VL_TOPOLOGY_NAME];

	vl_topology_node_name(&topology.nodes[node], name);
	return name;
}

static void test_pair_and_star(void)
{
	make(&(struct vl_topology_config){.kind = VL_TOPOLOGY_PAIR});
	CU_ASSERT_EQUAL(topology.node_count, 2);
	CU_ASSERT_EQUAL(topology.cable_count, 1);
	CU_ASSERT_EQUAL(distance(0, 1), 1);
	CU_ASSERT_STRING_EQUAL(name_of(1), "host2");
	vl_topology_release(&topology);

	make(&(struct vl_topology_config){.kind = VL_TOPOLOGY_STAR, .endpoints = 5});
	check_degrees(VL_ROLE_HOST, 5, 1);
	check_degrees(VL_ROLE_SWITCH, 1, 5);
	CU_ASSERT_EQUAL(distance(0, 4), 2);
	CU_ASSERT_STRING_EQUAL(name_of(5), "switch");
	vl_topology_release(&topology);
}

static void test_chains(void)
{
	make(&(struct vl_topology_config){.kind = VL_TOPOLOGY_DUMBBELL, .endpoints = 7});
	CU_ASSERT_EQUAL(topology.endpoint_count, 7);
	CU_ASSERT_STRING_EQUAL(name_of(7), "left");
	CU_ASSERT_STRING_EQUAL(name_of(8), "right");
	CU_ASSERT_EQUAL(degree(7), 5);
	CU_ASSERT_EQUAL(degree(8), 4);
	CU_ASSERT_EQUAL(distance(0, 6), 3);
	CU_ASSERT_EQUAL_FATAL(topology.group_count, 2);
	CU_ASSERT_EQUAL(topology.groups[0].count + topology.groups[1].count, 7);
	CU_ASSERT_EQUAL(topology.groups[1].first, topology.groups[0].count);
	vl_topology_release(&topology);

	make(&(struct vl_topology_config){
		.kind = VL_TOPOLOGY_PARKING_LOT, .endpoints = 4, .switches = 4});
	check_degrees(VL_ROLE_HOST, 4, 1);
	CU_ASSERT_EQUAL(topology.cable_count, 7);
	CU_ASSERT_EQUAL(distance(0, 3), 5);
	vl_topology_release(&topology);

	make(&(struct vl_topology_config){
		.kind = VL_TOPOLOGY_RING, .endpoints = 12, .switches = 6});
	check_degrees(VL_ROLE_HOST, 12, 1);
	check_degrees(VL_ROLE_SWITCH, 6, 4);
	CU_ASSERT_EQUAL(distance(0, 6), 2 + 3);
	CU_ASSERT_EQUAL(distance(0, 11), 2 + 1);
	vl_topology_release(&topology);
}

static void test_leaf_spine(void)
{
	make(&(struct vl_topology_config){
		.kind = VL_TOPOLOGY_LEAF_SPINE, .endpoints = 1024, .leaves = 32, .spines = 8});
	check_degrees(VL_ROLE_HOST, 1024, 1);
	check_degrees(VL_ROLE_LEAF, 32, 32 + 8);
	check_degrees(VL_ROLE_SPINE, 8, 32);
	CU_ASSERT_EQUAL(topology.cable_count, 1024 + 256);
	CU_ASSERT_EQUAL(distance(0, 31), 2);
	CU_ASSERT_EQUAL(distance(0, 32), 4);
	CU_ASSERT_EQUAL(topology.group_count, 32);
	CU_ASSERT_EQUAL(topology.groups[31].first, 31 * 32);
	CU_ASSERT_STRING_EQUAL(name_of(1024), "leaf1");
	CU_ASSERT_STRING_EQUAL(name_of(1063), "spine8");
	vl_topology_release(&topology);

	/* One spine is still spine1. */
	make(&(struct vl_topology_config){
		.kind = VL_TOPOLOGY_LEAF_SPINE, .endpoints = 3, .leaves = 2, .spines = 1});
	CU_ASSERT_STRING_EQUAL(name_of(5), "spine1");
	vl_topology_release(&topology);
}

/* Al-Fares et al.: k pods, (k/2)^2 cores, k^3/4 hosts; (k/2)^2 shortest ways between pods. */
static void test_fat_tree(void)
{
	for (unsigned int k = 2; k <= 16; k += 2) {
		unsigned int half = k / 2, edges = k * half, cores = half * half;

		make(&(struct vl_topology_config){.kind = VL_TOPOLOGY_FAT_TREE, .radix = k});
		check_degrees(VL_ROLE_HOST, k * half * half, 1);
		check_degrees(VL_ROLE_EDGE, edges, k);
		check_degrees(VL_ROLE_AGGREGATION, edges, k);
		check_degrees(VL_ROLE_CORE, cores, k);
		CU_ASSERT_EQUAL(distance(0, topology.endpoint_count - 1), 6);
		if (half > 1) {
			CU_ASSERT_EQUAL(distance(0, 1), 2);
			CU_ASSERT_EQUAL(distance(0, half), 4);
		}
		vl_topology_release(&topology);
	}
	/* Half as many hosts: edges have half as many. */
	make(&(struct vl_topology_config){
		.kind = VL_TOPOLOGY_FAT_TREE, .radix = 8, .endpoints = 64});
	check_degrees(VL_ROLE_EDGE, 32, 2 + 4);
	vl_topology_release(&topology);
}

static void test_rail(void)
{
	make(&(struct vl_topology_config){
		.kind = VL_TOPOLOGY_RAIL, .endpoints = 32, .rails = 8, .spines = 4});
	check_degrees(VL_ROLE_HOST, 32, 1);
	check_degrees(VL_ROLE_LEAF, 8, 4 + 4);
	check_degrees(VL_ROLE_SPINE, 4, 8);
	/* The same rail of two servers; two rails of one server. */
	CU_ASSERT_EQUAL(distance(3, 8 + 3), 2);
	CU_ASSERT_EQUAL(distance(3, 4), 4);
	CU_ASSERT_EQUAL_FATAL(topology.group_count, 4 + 8);
	CU_ASSERT_STRING_EQUAL(topology.groups[1].name, "server");
	CU_ASSERT_EQUAL(topology.groups[1].first, 8);
	CU_ASSERT_EQUAL(topology.groups[1].stride, 1);
	CU_ASSERT_STRING_EQUAL(topology.groups[4 + 5].name, "rail");
	CU_ASSERT_EQUAL(topology.groups[4 + 5].number, 6);
	CU_ASSERT_EQUAL(topology.groups[4 + 5].first, 5);
	CU_ASSERT_EQUAL(topology.groups[4 + 5].stride, 8);
	CU_ASSERT_EQUAL(topology.groups[4 + 5].count, 4);
	vl_topology_release(&topology);
}

/* Whatever the numbers: each endpoint has one cable, all are connected, racks hold each once and
 * differ by one at most, and no two nodes have one name. */
static void test_any(void)
{
	struct vl_topology_config config;
	unsigned int least, most, members, seen;

	for (unsigned int kind = VL_TOPOLOGY_STAR; kind < VL_TOPOLOGY_KINDS; kind++) {
		for (unsigned int endpoints = 2; endpoints <= 30; endpoints += 7) {
			config = (struct vl_topology_config){
				.kind = (enum vl_topology_kind)kind,
				.endpoints = kind == VL_TOPOLOGY_RAIL ? 3 * endpoints : endpoints,
				.switches = 5,
				.leaves = 3,
				.spines = 2,
				.radix = 6,
				.rails = 3,
			};
			make(&config);
			least = UINT32_MAX;
			most = members = 0;
			for (unsigned int i = 0; i < topology.endpoint_count; i++) {
				CU_ASSERT_EQUAL(degree(i), 1);
				CU_ASSERT_NOT_EQUAL(distance(0, i), UINT32_MAX);
			}
			for (unsigned int i = 0; i < topology.group_count; i++) {
				if (strcmp(topology.groups[i].name, "rack") &&
				    strcmp(topology.groups[i].name, "server"))
					continue;
				seen = topology.groups[i].count;
				CU_ASSERT_EQUAL(topology.groups[i].first, members);
				members += seen;
				least = seen < least ? seen : least;
				most = seen > most ? seen : most;
			}
			CU_ASSERT_EQUAL(members, topology.endpoint_count);
			CU_ASSERT_TRUE(most - least <= 1);
			for (unsigned int i = 1; i < topology.node_count; i++) {
				char name[VL_TOPOLOGY_NAME];

				strcpy(name, name_of(i));
				CU_ASSERT_STRING_NOT_EQUAL(name, name_of(i - 1));
			}
			vl_topology_release(&topology);
		}
	}
}

static void refuse(const struct vl_topology_config *config, const char *field, const char *text)
{
	wrong_field = NULL;
	CU_ASSERT_EQUAL(vl_topology_create(config, &topology, &wrong_field, error, sizeof(error)),
			-EINVAL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(wrong_field);
	CU_ASSERT_STRING_EQUAL(wrong_field, field);
	CU_ASSERT_STRING_EQUAL(error, text);
	CU_ASSERT_PTR_NULL(topology.nodes);
}

static void test_refusals(void)
{
	refuse(&(struct vl_topology_config){.kind = VL_TOPOLOGY_PAIR, .endpoints = 3}, "endpoints",
	       "a pair has 2; take it out");
	refuse(&(struct vl_topology_config){.kind = VL_TOPOLOGY_STAR, .endpoints = 1025},
	       "endpoints", "at most 1024 are allowed");
	refuse(&(struct vl_topology_config){.kind = VL_TOPOLOGY_STAR, .endpoints = 1}, "endpoints",
	       "at least 2 are needed");
	refuse(&(struct vl_topology_config){.kind = VL_TOPOLOGY_RING, .switches = 2}, "switches",
	       "a ring has at least 3");
	refuse(&(struct vl_topology_config){.kind = VL_TOPOLOGY_PARKING_LOT, .switches = 1},
	       "switches", "a parking lot has at least 2");
	refuse(&(struct vl_topology_config){.kind = VL_TOPOLOGY_FAT_TREE, .radix = 5}, "radix",
	       "5 ports make no fat tree here; choose an even number from 2 to 28");
	refuse(&(struct vl_topology_config){.kind = VL_TOPOLOGY_FAT_TREE,
					    .radix = 4,
					    .endpoints = 17},
	       "endpoints", "a fat tree of 4-port switches has room for 16; choose a larger radix");
	refuse(&(struct vl_topology_config){.kind = VL_TOPOLOGY_RAIL, .rails = 8, .endpoints = 20},
	       "endpoints", "20 do not make whole servers of 8 rails; choose a multiple of 8");
	refuse(&(struct vl_topology_config){.kind = VL_TOPOLOGY_LEAF_SPINE, .leaves = UINT32_MAX},
	       "leaves", "at most 256 are allowed");
	refuse(&(struct vl_topology_config){.kind = VL_TOPOLOGY_LEAF_SPINE, .spines = 257},
	       "spines", "at most 256 are allowed");
	refuse(&(struct vl_topology_config){.kind = VL_TOPOLOGY_KINDS}, "kind",
	       "there is no such topology");
	refuse(&(struct vl_topology_config){.kind = VL_TOPOLOGY_RAIL, .rails = UINT32_MAX}, "rails",
	       "at most 256 are allowed");
}

static void test_uses(void)
{
	CU_ASSERT_TRUE(vl_topology_uses(VL_TOPOLOGY_RAIL, "spines"));
	CU_ASSERT_FALSE(vl_topology_uses(VL_TOPOLOGY_RAIL, "leaves"));
	CU_ASSERT_FALSE(vl_topology_uses(VL_TOPOLOGY_PAIR, "uplink"));
	CU_ASSERT_TRUE(vl_topology_uses(VL_TOPOLOGY_FAT_TREE, "core_link"));
	CU_ASSERT_TRUE(vl_topology_uses(VL_TOPOLOGY_PAIR, "endpoints"));
	CU_ASSERT_STRING_EQUAL(vl_topology_kind_name(VL_TOPOLOGY_PARKING_LOT), "parking_lot");
}

static const struct test tests[] = {
	{"pair_and_star", test_pair_and_star},
	{"chains", test_chains},
	{"leaf_spine", test_leaf_spine},
	{"fat_tree", test_fat_tree},
	{"rail", test_rail},
	{"any", test_any},
	{"refusals", test_refusals},
	{"uses", test_uses},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("fabric_topology", tests, argc, argv);
}
