/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * DCQCN end to end against the fluid model (Zhu et al., CoNEXT 2016, theorem 1): N long flows of
 * the paper's parameters through one 40 Gb/s switch port that marks at dequeue settle at the mean
 * queue of the model's fixed point, at equal shares, without loss or pause, with the line in use.
 */

#include <stdio.h>

#include "dataplane/flow.h"
#include "dataplane/network.h"
#include "tests/support/hosts.h"
#include "tests/support/suite.h"

#define RATE       UINT64_C(40000000000)
#define MOST_FLOWS 8u
#define SETTLED    UINT64_C(150000000) /* ns */
#define END        UINT64_C(400000000)

struct measurement {
	double mean_queue, use, fairness; /* bytes, of the line, Jain's index */
	uint64_t retransmitted, dropped, marked, cnps;
};

struct dumbbell {
	struct vl_network *network;
	struct vl_node *sw;
	struct vl_endpoint *receiver;
	struct vl_traffic *traffic[1 + MOST_FLOWS]; /* the receiver's, then the senders' */
	struct vl_flow *flows[MOST_FLOWS];
	unsigned int count;
};

static struct vl_switch_config switch_config(void)
{
	struct vl_switch_config config;

	vl_switch_config_defaults(&config, 1 + MOST_FLOWS, 12000000);
	config.port.queues[6].scheduler.type = VL_SCHEDULING_STRICT;
	memcpy(config.mac, (uint8_t[6]){2, 1}, 6);
	config.seed = 1;
	config.port.queues[HOST_DATA_PRIORITY].red =
		vl_red_marking(VL_RED_AT_DEQUEUE, 5000, 200000, 0.01);
	return config;
}

static struct vl_endpoint *add_host(struct dumbbell *dumbbell, unsigned int number)
{
	const struct vl_link_config link = {.rate = RATE, .propagation = 500};
	struct vl_endpoint_config config = host_config((uint16_t)(1 + number), RATE);
	const struct vl_traffic_config memory = {.largest_message = 1 << 20};
	struct vl_node *node = vl_network_add_endpoint(dumbbell->network, &config);

	CU_ASSERT_PTR_NOT_NULL_FATAL(node);
	CU_ASSERT_EQUAL_FATAL(
		vl_network_connect(dumbbell->network, node, 0, dumbbell->sw, number, &link, NULL),
		0);
	dumbbell->traffic[number] = vl_traffic_create(vl_node_endpoint(node), &memory, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(dumbbell->traffic[number]);
	return vl_node_endpoint(node);
}

static void build(struct dumbbell *dumbbell, unsigned int count, const struct vl_cc_parameters *cc)
{
	const struct vl_switch_config config = switch_config();
	struct vl_flow_config flow = {
		.transport = IBV_QPT_RC,
		.verb = VL_FLOW_WRITE,
		.size = 1 << 20,
		.qps = 1,
		.depth = 8,
		.path_mtu = IBV_MTU_1024,
		.priority = HOST_DATA_PRIORITY,
		.dscp = 26,
		.timeout = 14,
		.retry_count = 7,
		.rnr_retry = 7,
		.cc = cc,
	};

	*dumbbell = (struct dumbbell){.count = count, .network = vl_network_create(NULL)};
	CU_ASSERT_PTR_NOT_NULL_FATAL(dumbbell->network);
	dumbbell->sw = vl_network_add_switch(dumbbell->network, "switch", &config);
	CU_ASSERT_PTR_NOT_NULL_FATAL(dumbbell->sw);
	dumbbell->receiver = add_host(dumbbell, 0);
	for (unsigned int i = 0; i < count; i++)
		add_host(dumbbell, 1 + i);
	CU_ASSERT_EQUAL_FATAL(vl_network_route(dumbbell->network), 0);
	for (unsigned int i = 0; i < count; i++) {
		flow.seed = i;
		dumbbell->flows[i] = vl_flow_create(dumbbell->traffic[1 + i], dumbbell->traffic[0],
						    &flow, 0, NULL);
		CU_ASSERT_PTR_NOT_NULL_FATAL(dumbbell->flows[i]);
	}
}

static struct measurement measure(struct dumbbell *dumbbell)
{
	struct vl_switch_port *port = &vl_node_switch(dumbbell->sw)->ports[0];
	const struct vl_frame_queue *queue = &port->queues[HOST_DATA_PRIORITY];
	const struct vl_switch_queue_counters *counters = &port->queue_counters[HOST_DATA_PRIORITY];
	const struct vl_counters *device = vl_device_counters(dumbbell->receiver->device);
	uint64_t before[MOST_FLOWS], line_bytes;
	double sum = 0, squares = 0;
	unsigned __int128 area;
	struct measurement m;

	vl_network_run_until(dumbbell->network, SETTLED);
	area = vl_frame_queue_area(queue, SETTLED);
	line_bytes = counters->tx_bytes + counters->tx_frames * VL_ETHERNET_OVERHEAD;
	for (unsigned int i = 0; i < dumbbell->count; i++)
		before[i] = vl_flow_received_bytes(dumbbell->flows[i], 0);
	vl_network_run_until(dumbbell->network, END);
	m.mean_queue = (double)(vl_frame_queue_area(queue, END) - area) / (END - SETTLED);
	line_bytes = counters->tx_bytes + counters->tx_frames * VL_ETHERNET_OVERHEAD - line_bytes;
	m.use = (double)line_bytes * 8e9 / (double)RATE / (END - SETTLED);
	for (unsigned int i = 0; i < dumbbell->count; i++) {
		double bytes = (double)(vl_flow_received_bytes(dumbbell->flows[i], 0) - before[i]);

		sum += bytes;
		squares += bytes * bytes;
	}
	m.fairness = sum * sum / (dumbbell->count * squares);
	m.retransmitted = device->frame_sequence_error;
	m.dropped = counters->drop_queue_full + counters->drop_buffer_full + counters->drop_red;
	m.marked = counters->ecn_marked;
	m.cnps = device->cnp_tx;
	return m;
}

static void check(unsigned int count, double fixed_point)
{
	struct vl_cc_parameters cc = {.algorithm = &vl_cc_dcqcn};
	struct dumbbell dumbbell;
	struct measurement m;

	CU_ASSERT_EQUAL_FATAL(vl_dcqcn_profile(&cc.dcqcn, "paper"), 0);
	build(&dumbbell, count, &cc);
	m = measure(&dumbbell);
	printf("\n    %u flows: mean queue %.1f KB (fluid model %.1f), line used %.4f, Jain %.4f, "
	       "%llu marks, %llu CNPs ",
	       count, m.mean_queue * 1e-3, fixed_point * 1e-3, m.use, m.fairness,
	       (unsigned long long)m.marked, (unsigned long long)m.cnps);
	CU_ASSERT_DOUBLE_EQUAL(m.mean_queue, fixed_point, 0.25 * fixed_point);
	CU_ASSERT_TRUE(m.use > 0.97);
	CU_ASSERT_TRUE(m.fairness > 0.99);
	CU_ASSERT_EQUAL(m.dropped, 0);
	CU_ASSERT_EQUAL(m.retransmitted, 0);
	for (unsigned int i = 0; i <= count; i++)
		vl_traffic_destroy(dumbbell.traffic[i]);
	vl_network_destroy(dumbbell.network);
}

/* The fixed points are the exact roots of the theorem's equation for packets of 1000 bytes. */
static void test_two_flows(void)
{
	check(2, 20.2e3);
}

static void test_four_flows(void)
{
	check(4, 41.8e3);
}

static void test_eight_flows(void)
{
	check(8, 93.8e3);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"two_flows", test_two_flows},
		{"four_flows", test_four_flows},
		{"eight_flows", test_eight_flows},
	};

	return RUN_SUITE("dcqcn_queue", tests, argc, argv);
}
