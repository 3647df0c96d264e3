/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "tests/support/subnet_graph.h"

#include <CUnit/CUnit.h>
#include <stdio.h>

struct graph graph;
char graph_message[VL_SUBNET_MESSAGE_SIZE];

uint32_t graph_add_node(bool is_switch, const char *prefix, uint32_t number)
{
	uint32_t node = graph.node_count++;

	snprintf(graph.names[node], sizeof(graph.names[node]), "%s%u", prefix, number);
	graph.nodes[node] =
		(struct vl_subnet_node){.name = graph.names[node], .is_switch = is_switch};
	return node;
}

void graph_join(uint32_t a, uint32_t b)
{
	struct vl_subnet_cable *cable = &graph.cables[graph.cable_count++];

	cable->a = a;
	cable->port_a = graph.nodes[a].ports++;
	cable->b = b;
	cable->port_b = graph.nodes[b].ports++;
}

struct vl_subnet *graph_try_subnet(enum vl_subnet_routing routing, const uint32_t *roots,
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

	graph_message[0] = 0;
	return vl_subnet_create(&config, graph_message);
}

struct vl_subnet *graph_make_subnet(enum vl_subnet_routing routing)
{
	struct vl_subnet *subnet = graph_try_subnet(routing, NULL, 0);

	if (!subnet)
		printf("    %s\n", graph_message);
	CU_ASSERT_PTR_NOT_NULL_FATAL(subnet);
	return subnet;
}

void graph_make_ring(uint32_t switches, uint32_t adapters)
{
	graph.node_count = graph.cable_count = 0;
	for (uint32_t i = 0; i < switches; i++)
		graph_add_node(true, "sw", i + 1);
	for (uint32_t i = 0; i < switches; i++)
		graph_join(i, (i + 1) % switches);
	for (uint32_t i = 0; i < switches * adapters; i++)
		graph_join(graph_add_node(false, "host", i + 1), i / adapters);
}

void graph_make_fat_tree(uint32_t k)
{
	uint32_t half = k / 2, cores, pod;

	graph.node_count = graph.cable_count = 0;
	for (uint32_t i = 0; i < k * half * half; i++)
		graph_add_node(false, "host", i + 1);
	cores = graph.node_count;
	for (uint32_t i = 0; i < half * half; i++)
		graph_add_node(true, "core", i + 1);
	for (uint32_t p = 0; p < k; p++) {
		pod = graph.node_count;
		for (uint32_t i = 0; i < half; i++)
			graph_add_node(true, "edge", p * half + i + 1);
		for (uint32_t i = 0; i < half; i++)
			graph_add_node(true, "spine", p * half + i + 1);
		for (uint32_t edge = 0; edge < half; edge++) {
			for (uint32_t i = 0; i < half; i++)
				graph_join((p * half + edge) * half + i, pod + edge);
			for (uint32_t i = 0; i < half; i++)
				graph_join(pod + edge, pod + half + i);
		}
		for (uint32_t spine = 0; spine < half; spine++) {
			for (uint32_t i = 0; i < half; i++)
				graph_join(pod + half + spine, cores + spine * half + i);
		}
	}
}
