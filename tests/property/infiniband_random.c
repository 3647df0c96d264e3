/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Random InfiniBand fabrics and traffic, by seed: no buffer ever holds more than it has, no packet
 * is dropped, every message arrives, and what leaves one end of a line comes in at the other.
 * Without arguments the suite; test-property-infiniband_random --cases N --seed S for a longer run.
 */

#include "tests/support/infiniband.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUITE_CASES 40u
#define MS          UINT64_C(1000000)
#define LONGEST     (2000 * MS)

static uint32_t below(struct vl_random *random, uint32_t bound)
{
	return (uint32_t)vl_random_below(random, bound);
}

static void choose_parameters(struct fabric *fabric, struct vl_random *random)
{
	static const uint64_t drains[] = {0, 0, UINT64_C(20000000000)};
	uint8_t lanes = (uint8_t)(1 + below(random, 4));

	fabric->host.port.virtual_lanes = lanes;
	fabric->sw.port.virtual_lanes = lanes;
	fabric->sw.ports = 16;
	fabric->host.port.buffer = 4224 + below(random, 60000);
	fabric->sw.port.buffer = 4224 + below(random, 60000);
	fabric->host.drain_rate = drains[below(random, 3)];
	if (below(random, 2)) {
		fabric->sw.congestion.threshold = (uint8_t)(1 + below(random, 15));
		fabric->sw.congestion.marking_rate = (uint16_t)below(random, 8);
		fabric->sw.congestion.victims_mark = below(random, 2);
	}
}

static void vary_link(struct fabric *fabric, struct vl_random *random)
{
	static const uint64_t rates[] = {10, 40, 100, 200};

	fabric->link.rate = rates[below(random, 4)] * UINT64_C(1000000000);
	fabric->link.propagation = below(random, 2000);
}

/* A tree of switches, some lines more, and hosts anywhere. */
static void build(struct fabric *fabric, struct vl_random *random)
{
	uint32_t switches = 1 + below(random, 6), hosts = 2 + below(random, 8);

	for (uint32_t i = 0; i < switches; i++) {
		fabric_add_switch(fabric);
		vary_link(fabric, random);
		if (i)
			fabric_join(fabric, i, below(random, i));
	}
	for (uint32_t i = 0; switches > 1 && i < below(random, 3); i++) {
		uint32_t a = below(random, switches), b = below(random, switches);

		if (a != b)
			fabric_join(fabric, a, b);
	}
	for (uint32_t i = 0; i < hosts; i++) {
		uint32_t sw = below(random, switches);

		vary_link(fabric, random);
		while (fabric->next_port[sw] == fabric->sw.ports)
			sw = (sw + 1) % switches;
		fabric_add_host(fabric, sw);
	}
	fabric_manage(fabric, VL_SUBNET_UP_DOWN);
}

static struct vl_flow_config random_flow(struct vl_random *random)
{
	static const enum vl_flow_verb verbs[] = {VL_FLOW_SEND, VL_FLOW_WRITE, VL_FLOW_WRITE_IMM,
						  VL_FLOW_READ};
	struct vl_flow_config flow = fabric_flow();

	flow.verb = verbs[below(random, 4)];
	flow.size = 1 + below(random, 1u << (4 + below(random, 14)));
	flow.depth = 1 + below(random, 8);
	flow.messages = 1 + below(random, 60);
	flow.path_mtu = IBV_MTU_256 + below(random, 5);
	flow.priority = (uint8_t)below(random, 16);
	flow.without_grh = below(random, 2);
	/* Nothing is lost: a timer would only tell that something takes long. */
	flow.timeout = 0;
	if (!below(random, 4)) {
		flow.transport = IBV_QPT_UD;
		flow.verb = VL_FLOW_SEND;
		flow.size = 1 + flow.size % (128u << flow.path_mtu);
	} else if (!below(random, 4)) {
		flow.transport = IBV_QPT_UC;
		flow.verb = VL_FLOW_WRITE;
	}
	return flow;
}

static void start(struct fabric *fabric, struct vl_random *random,
		  const struct vl_cc_parameters *cc)
{
	uint32_t flows = 1 + below(random, 24);

	for (uint32_t i = 0; i < flows; i++) {
		struct vl_flow_config flow = random_flow(random);
		uint32_t from = below(random, fabric->host_count);
		uint32_t to = below(random, fabric->host_count);

		flow.cc = cc;
		if (from != to)
			fabric_start(fabric, from, to, &flow);
	}
}

static bool is_finished(const struct fabric *fabric)
{
	for (uint32_t i = 0; i < fabric->host_count; i++) {
		if (!vl_traffic_is_finished(fabric->traffic[i]))
			return false;
	}
	return true;
}

static bool check_buffers(const struct vl_infiniband_port *port)
{
	for (uint8_t i = 0; i < port->virtual_lanes; i++) {
		if (vl_infiniband_port_watermark(port, i) > vl_infiniband_port_buffer(port, i) ||
		    port->receivers[i].occupied)
			return false;
	}
	return true;
}

static bool check_counters(const struct vl_infiniband_port *port)
{
	const struct vl_infiniband_port_counters *counters = &port->counters;

	return !counters->port_xmit_discards && !counters->port_rcv_errors &&
	       !counters->port_rcv_switch_relay_errors &&
	       !counters->excessive_buffer_overrun_errors && !counters->vl15_dropped &&
	       !counters->flow_control_errors && !counters->no_frame;
}

static const struct vl_infiniband_port *port_of(const struct vl_node *node, uint32_t port)
{
	return node && vl_node_channel_adapter(node)
		       ? vl_channel_adapter_port(vl_node_channel_adapter(node))
	       : node ? vl_infiniband_switch_port(vl_node_infiniband_switch(node), port)
		      : NULL;
}

/* Both ends of each line agree, on each lane. */
static bool check_lines(const struct vl_node *node)
{
	for (uint32_t i = 0; i < vl_node_port_count(node); i++) {
		const struct vl_infiniband_port *port = port_of(node, i), *peer;
		uint32_t number = 0;
		const struct vl_node *other = vl_node_peer(node, i, &number);

		peer = port_of(other, number);
		if (!peer)
			continue;
		if (!check_buffers(port) || !check_counters(port)) {
			printf("%s port %u: a buffer or a counter\n", vl_node_name(node), i);
			return false;
		}
		for (uint8_t lane = 0; lane < port->virtual_lanes; lane++) {
			if (port->lane_counters[lane].xmit_data !=
				    peer->lane_counters[lane].rcv_data ||
			    port->lane_counters[lane].xmit_pkts !=
				    peer->lane_counters[lane].rcv_pkts) {
				printf("%s port %u lane %u: the ends of the line disagree\n",
				       vl_node_name(node), i, lane);
				return false;
			}
		}
	}
	return true;
}

static bool check_flows(const struct fabric *fabric)
{
	for (uint32_t i = 0; i < fabric->flow_count; i++) {
		const struct vl_flow_config *config = vl_flow_configuration(fabric->flows[i]);
		const struct vl_generate_progress *progress = vl_flow_progress(fabric->flows[i], 0);

		if (progress->completed != config->messages || progress->status != IBV_WC_SUCCESS ||
		    fabric_received(fabric, i) != config->messages * config->size) {
			printf("flow %u: transport %d verb %d: %llu of %llu messages, %llu of %llu "
			       "bytes, status %d\n",
			       i, config->transport, config->verb,
			       (unsigned long long)progress->completed,
			       (unsigned long long)config->messages,
			       (unsigned long long)fabric_received(fabric, i),
			       (unsigned long long)(config->messages * config->size),
			       progress->status);
			return false;
		}
	}
	return true;
}

static bool run_case(uint64_t seed)
{
	struct vl_cc_parameters cc = {.algorithm = &vl_cc_infiniband};
	struct vl_random random = {seed};
	struct fabric fabric;
	bool is_right = true;

	vl_infiniband_cc_defaults(&cc.infiniband);
	fabric_init(&fabric);
	choose_parameters(&fabric, &random);
	build(&fabric, &random);
	start(&fabric, &random, below(&random, 2) ? &cc : NULL);
	while (!is_finished(&fabric) && vl_network_now(fabric.network) < LONGEST)
		vl_network_run_until(fabric.network, vl_network_now(fabric.network) + MS);
	/* Acknowledgements and what drains slowly. */
	vl_network_run_until(fabric.network, vl_network_now(fabric.network) + 5 * MS);
	if (!is_finished(&fabric) || !check_flows(&fabric))
		is_right = false;
	for (struct vl_node *node = NULL; (node = vl_network_next_node(fabric.network, node));) {
		if (!check_lines(node))
			is_right = false;
		if (vl_node_infiniband_switch(node) &&
		    vl_infiniband_switch_packets(vl_node_infiniband_switch(node)))
			is_right = false;
	}
	if (!is_right)
		printf("seed %llu\n", (unsigned long long)seed);
	fabric_destroy(&fabric);
	return is_right;
}

static uint64_t cases = SUITE_CASES, first_seed = 1;

static void test_random_fabrics(void)
{
	for (uint64_t i = 0; i < cases; i++)
		CU_ASSERT_TRUE(run_case(first_seed + i));
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"random fabrics and traffic", test_random_fabrics},
	};

	if (argc == 5 && !strcmp(argv[1], "--cases") && !strcmp(argv[3], "--seed")) {
		cases = strtoull(argv[2], NULL, 0);
		first_seed = strtoull(argv[4], NULL, 0);
		argc = 1;
	}
	return RUN_SUITE("InfiniBand random", tests, argc, argv);
}
