/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * InfiniBand in real time, with a link that leaves by a port: two halves, a worker each, that know
 * each other only by what comes out of a ring.
 */

#include "dataplane/flow.h"
#include "dataplane/infiniband/carrier.h"
#include "dataplane/infiniband/subnet_program.h"
#include "dataplane/port/port.h"
#include "dataplane/runtime/live_network.h"
#include "tests/support/hosts.h"
#include "tests/vdev/support.h"

#include <rte_mbuf.h>

#include <string.h>
#include <unistd.h>

#define RATE    UINT64_C(500000000)
#define MESSAGE 16384u
#define BUFFER  16384u
#define SECOND  UINT64_C(1000000000)

enum member {
	HOST_A,
	HOST_B,
	SWITCH_A,
	SWITCH_B,
	MEMBERS,
};

/* Each half: an adapter, its switch, and the link that leads from there to the other half. */
struct halves {
	struct vl_live_network *network;
	struct vl_live_node *nodes[MEMBERS];
	struct vl_port *ends[2];
	struct vl_subnet *subnet;
	struct vl_traffic *traffic[2];
	struct vl_flow *flows[2];
	struct vl_cc_parameters cc;
};

static struct vl_error problem;

static struct vl_live_node *add_adapter(struct halves *halves, unsigned int side)
{
	struct vl_channel_adapter_config config = {
		.endpoint = host_config((uint16_t)side, RATE),
		.port = {.buffer = BUFFER},
		.default_sl_to_vl = true,
	};

	config.endpoint.name = side ? "b" : "a";
	return vl_live_network_add_channel_adapter(halves->network, side, &config, &problem);
}

static struct vl_live_node *add_switch(struct halves *halves, unsigned int side)
{
	const struct vl_infiniband_switch_config config = {
		.ports = 2, .port = {.buffer = BUFFER}, .default_sl_to_vl = true};

	return vl_live_network_add_infiniband_switch(
		halves->network, side, side ? "switch-b" : "switch-a", &config, &problem);
}

static void manage(struct halves *halves)
{
	static const struct vl_subnet_node nodes[MEMBERS] = {
		{"a", false, 1}, {"b", false, 1}, {"switch-a", true, 2}, {"switch-b", true, 2}};
	static const struct vl_subnet_cable cables[] = {
		{HOST_A, 0, SWITCH_A, 0}, {HOST_B, 0, SWITCH_B, 0}, {SWITCH_A, 1, SWITCH_B, 1}};
	const struct vl_subnet_config config = {
		.nodes = nodes, .node_count = MEMBERS, .cables = cables, .cable_count = 3};
	char message[VL_SUBNET_MESSAGE_SIZE];

	halves->subnet = vl_subnet_create(&config, message);
	CU_ASSERT_PTR_NOT_NULL_FATAL(halves->subnet);
	for (uint32_t i = 0; i < MEMBERS; i++) {
		struct vl_channel_adapter *adapter = vl_live_node_channel_adapter(halves->nodes[i]);
		int status = adapter ? vl_subnet_program_channel_adapter(halves->subnet, i, adapter)
				     : vl_subnet_program_switch(
					       halves->subnet, i,
					       vl_live_node_infiniband_switch(halves->nodes[i]));

		CU_ASSERT_EQUAL_FATAL(status, 0);
	}
}

static void build(struct halves *halves, double loss)
{
	const struct vl_live_network_config config = {
		.worker_count = 2, .frame_count = 2048, .ring_size = 256};
	const struct vl_link_config cable = {.rate = RATE, .propagation = 1000};
	struct vl_link_config wire = cable;

	wire.impairments.loss = loss;
	memset(halves, 0, sizeof(*halves));
	halves->network = vl_live_network_create(&config, &problem);
	CU_ASSERT_PTR_NOT_NULL_FATAL(halves->network);
	CU_ASSERT_EQUAL_FATAL(vl_ring_link_open("ib", 1, 256, halves->ends, &problem), 0);
	for (unsigned int side = 0; side < 2; side++) {
		struct vl_live_node *host = add_adapter(halves, side);
		struct vl_live_node *sw = add_switch(halves, side);

		CU_ASSERT_PTR_NOT_NULL_FATAL(host);
		CU_ASSERT_PTR_NOT_NULL_FATAL(sw);
		halves->nodes[HOST_A + side] = host;
		halves->nodes[SWITCH_A + side] = sw;
		CU_ASSERT_EQUAL_FATAL(vl_live_network_connect(halves->network, host, 0, sw, 0,
							      &cable, NULL, &problem),
				      0);
		CU_ASSERT_EQUAL_FATAL(vl_live_network_carry(halves->network, sw, 1, &wire,
							    halves->ends[side], 5, &problem),
				      0);
		CU_ASSERT_PTR_NOT_NULL(vl_live_network_carrier(sw, 1));
		CU_ASSERT_PTR_NULL(vl_live_network_carrier(sw, 0));
	}
	manage(halves);
}

/* From each adapter to the other. */
static void add_flows(struct halves *halves, uint64_t messages, uint8_t timeout)
{
	const struct vl_traffic_config traffic = {.largest_message = MESSAGE};
	int error = 0;

	halves->cc.algorithm = &vl_cc_none;
	for (unsigned int side = 0; side < 2; side++) {
		halves->traffic[side] = vl_traffic_create(
			vl_live_node_endpoint(halves->nodes[HOST_A + side]), &traffic, &error);
		CU_ASSERT_PTR_NOT_NULL_FATAL(halves->traffic[side]);
	}
	for (unsigned int side = 0; side < 2; side++) {
		const struct vl_flow_config flow = {
			.transport = IBV_QPT_RC,
			.verb = VL_FLOW_WRITE,
			.size = MESSAGE,
			.messages = messages,
			.qps = 2,
			.depth = 4,
			.path_mtu = IBV_MTU_2048,
			.timeout = timeout,
			.retry_count = 7,
			.rnr_retry = 7,
			.seed = side,
			.cc = &halves->cc,
		};

		halves->flows[side] = vl_flow_create(halves->traffic[side],
						     halves->traffic[1 - side], &flow, 0, &error);
		CU_ASSERT_PTR_NOT_NULL_FATAL(halves->flows[side]);
	}
}

static void destroy(struct halves *halves)
{
	vl_live_network_stop(halves->network);
	for (unsigned int side = 0; side < 2; side++) {
		if (halves->traffic[side])
			vl_traffic_destroy(halves->traffic[side]);
	}
	vl_live_network_stop(halves->network);
	vl_port_close(halves->ends[0]);
	vl_port_close(halves->ends[1]);
	vl_live_network_destroy(halves->network);
	vl_subnet_destroy(halves->subnet);
}

struct look {
	struct halves *halves;
	unsigned int side;
	bool finished;
};

static void look_at_side(void *context, uint64_t now)
{
	struct look *look = context;

	(void)now;
	look->finished &= vl_traffic_is_finished(look->halves->traffic[look->side]);
}

static bool run_to_the_end(struct halves *halves)
{
	struct look look = {.halves = halves};

	CU_ASSERT_EQUAL_FATAL(vl_live_network_start(halves->network, &problem), 0);
	for (unsigned int i = 0; i < 4000 && !look.finished; i++) {
		usleep(5000);
		look.finished = true;
		for (look.side = 0; look.side < 2; look.side++)
			vl_live_network_call(halves->network, look.side, look_at_side, &look);
	}
	/* The last acknowledgements, and the flow control that gives back their room. */
	usleep(50000);
	vl_live_network_stop(halves->network);
	return look.finished;
}

static const struct vl_infiniband_port *wire_port(const struct halves *halves, unsigned int side)
{
	return vl_infiniband_switch_port(
		vl_live_node_infiniband_switch(halves->nodes[SWITCH_A + side]), 1);
}

/* Nothing is on its way or in a buffer: the sender has the whole of the other's buffer again. */
static void check_credits(const struct halves *halves)
{
	for (unsigned int side = 0; side < 2; side++) {
		const struct vl_infiniband_port *sender = wire_port(halves, side);
		const struct vl_infiniband_port *receiver = wire_port(halves, 1 - side);

		CU_ASSERT_EQUAL(receiver->receivers[0].occupied, 0);
		CU_ASSERT_EQUAL(vl_credit_sender_credits(&sender->senders[0]), BUFFER / 64);
		CU_ASSERT_EQUAL(receiver->receivers[0].received, sender->senders[0].total_sent);
		CU_ASSERT_EQUAL(receiver->counters.excessive_buffer_overrun_errors, 0);
	}
}

static uint64_t retransmitted(const struct halves *halves)
{
	uint64_t sum = 0;

	for (unsigned int side = 0; side < 2; side++)
		sum += vl_device_counters(
			       vl_live_node_endpoint(halves->nodes[HOST_A + side])->device)
			       ->data_frames_retransmitted;
	return sum;
}

static void test_a_link_that_leaves(void)
{
	struct halves halves;

	build(&halves, 0);
	add_flows(&halves, 100, 0);
	CU_ASSERT_TRUE(run_to_the_end(&halves));
	for (unsigned int side = 0; side < 2; side++) {
		const struct vl_live_node *sw = halves.nodes[SWITCH_A + side];
		const struct vl_carrier *end = vl_live_network_carrier(sw, 1);
		const struct vl_carrier *other =
			vl_live_network_carrier(halves.nodes[SWITCH_B - side], 1);

		CU_ASSERT_EQUAL(end->counters.rx_packets, other->counters.tx_packets);
		CU_ASSERT(end->counters.tx_packets >= 2u * 100 * MESSAGE / 2048);
		CU_ASSERT_EQUAL(end->counters.rx_lost + end->counters.rx_late +
					end->counters.rx_malformed,
				0);
		CU_ASSERT_EQUAL(wire_port(&halves, side)->counters.port_rcv_errors, 0);
		CU_ASSERT_EQUAL(vl_flow_received_bytes(halves.flows[side], 0), 100u * MESSAGE);
	}
	CU_ASSERT_EQUAL(retransmitted(&halves), 0);
	check_credits(&halves);
	destroy(&halves);
}

/* More blocks are lost than there are credits, many times over; without the counts that each
 * flow-control packet brings, nothing would go any more. */
static void test_loss_costs_no_credits(void)
{
	struct halves halves;
	uint64_t blocks = 0;

	build(&halves, 0.02);
	add_flows(&halves, 200, 13);
	CU_ASSERT_TRUE(run_to_the_end(&halves));
	for (unsigned int side = 0; side < 2; side++) {
		uint64_t lost = vl_live_network_link(halves.nodes[SWITCH_A + side], 1)
					->counters.dropped_loss;

		/* Most are of 2048 bytes and headers, 34 blocks; acknowledgements take one. */
		blocks += lost;
		CU_ASSERT_EQUAL(vl_flow_received_bytes(halves.flows[side], 0) >= 200u * MESSAGE,
				true);
	}
	CU_ASSERT(blocks * 34 > 4 * BUFFER / 64);
	CU_ASSERT(retransmitted(&halves) > 0);
	check_credits(&halves);
	destroy(&halves);
}

static volatile sig_atomic_t interrupted;

/* Both ends are in one process here, so each is heard by the other. */
static void test_meeting(void)
{
	struct halves halves;
	struct vl_port *alone[2];

	build(&halves, 0);
	CU_ASSERT_EQUAL(vl_live_network_meet(halves.network, 42, SECOND, &interrupted, &problem),
			0);
	destroy(&halves);

	memset(&halves, 0, sizeof(halves));
	halves.network = vl_live_network_create(
		&(struct vl_live_network_config){.worker_count = 1, .frame_count = 1024}, &problem);
	CU_ASSERT_PTR_NOT_NULL_FATAL(halves.network);
	CU_ASSERT_EQUAL_FATAL(vl_ring_link_open("alone", 1, 64, alone, &problem), 0);
	halves.nodes[SWITCH_A] = add_switch(&halves, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(halves.nodes[SWITCH_A]);
	CU_ASSERT_EQUAL(vl_live_network_carry(halves.network, halves.nodes[SWITCH_A], 1,
					      &(struct vl_link_config){.rate = RATE}, alone[0], 5,
					      &problem),
			0);
	CU_ASSERT_EQUAL(
		vl_live_network_meet(halves.network, 42, SECOND / 20, &interrupted, &problem),
		-ETIMEDOUT);
	CU_ASSERT_PTR_NOT_NULL(strstr(problem.text, "the link at port 1 of switch-a, by alone"));
	interrupted = 1;
	CU_ASSERT_EQUAL(vl_live_network_meet(halves.network, 42, SECOND, &interrupted, &problem),
			-EINTR);
	vl_live_network_stop(halves.network);
	vl_port_close(alone[0]);
	vl_port_close(alone[1]);
	vl_live_network_destroy(halves.network);
}

static uint16_t (*transmit_uncounted)(struct vl_port *port, uint16_t queue, struct rte_mbuf **mbufs,
				      uint16_t count);
static unsigned int hellos;

static uint16_t count_hellos(struct vl_port *port, uint16_t queue, struct rte_mbuf **mbufs,
			     uint16_t count)
{
	for (uint16_t i = 0; i < count; i++) {
		if (rte_pktmbuf_mtod(mbufs[i], const uint8_t *)[15] == VL_CARRIER_HELLO)
			__atomic_add_fetch(&hellos, 1, __ATOMIC_RELAXED);
	}
	return transmit_uncounted(port, queue, mbufs, count);
}

/* The last hellos of the meeting are answers, and come when both ends run. */
static void test_hellos_end(void)
{
	struct vl_port_operations counting;
	unsigned int before;
	struct halves halves;

	build(&halves, 0);
	CU_ASSERT_EQUAL(vl_live_network_meet(halves.network, 42, SECOND, &interrupted, &problem),
			0);
	counting = *halves.ends[0]->operations;
	transmit_uncounted = counting.transmit;
	counting.transmit = count_hellos;
	halves.ends[0]->operations = halves.ends[1]->operations = &counting;
	CU_ASSERT_EQUAL_FATAL(vl_live_network_start(halves.network, &problem), 0);
	usleep(50000);
	before = __atomic_load_n(&hellos, __ATOMIC_RELAXED);
	usleep(50000);
	CU_ASSERT_EQUAL(__atomic_load_n(&hellos, __ATOMIC_RELAXED), before);
	destroy(&halves);
}

/* To the port that a link leaves by: of no link, of another one, and of this one in two buffers. */
static void send_others(struct rte_mempool *mempool, struct vl_port *port)
{
	static const uint8_t mac[6] = {2};
	struct vl_carrier carrier;
	struct rte_mbuf *mbufs[3];

	CU_ASSERT_EQUAL_FATAL(rte_pktmbuf_alloc_bulk(mempool, mbufs, 3), 0);
	for (unsigned int i = 0; i < 3; i++) {
		uint8_t *bytes = (uint8_t *)rte_pktmbuf_append(mbufs[i], VL_CARRIER_LEAST_FRAME);

		memset(bytes, 0, VL_CARRIER_LEAST_FRAME);
		vl_carrier_init(&carrier, mac, mac, i == 2 ? 5 : 6, 1);
		if (i)
			vl_carrier_write(&carrier, bytes, VL_CARRIER_LINK_PACKET,
					 VL_FLOW_CONTROL_LENGTH);
	}
	mbufs[2]->next = rte_pktmbuf_alloc(mempool);
	CU_ASSERT_PTR_NOT_NULL_FATAL(mbufs[2]->next);
	mbufs[2]->nb_segs = 2;
	CU_ASSERT_EQUAL(vl_port_transmit(port, 0, mbufs, 3), 3);
}

static void test_frames_of_others(void)
{
	struct vl_live_counters counters;
	struct vl_live_network *network;
	struct vl_live_node *sw;
	struct vl_port *ends[2];
	struct halves halves = {0};

	network = vl_live_network_create(
		&(struct vl_live_network_config){.worker_count = 1, .frame_count = 1024}, &problem);
	CU_ASSERT_PTR_NOT_NULL_FATAL(network);
	halves.network = network;
	sw = add_switch(&halves, 0);
	CU_ASSERT_EQUAL_FATAL(vl_ring_link_open("others", 1, 64, ends, &problem), 0);
	CU_ASSERT_EQUAL_FATAL(vl_live_network_carry(network, sw, 1,
						    &(struct vl_link_config){.rate = RATE}, ends[0],
						    5, &problem),
			      0);
	send_others(vl_live_network_mempool(network, 0), ends[1]);
	CU_ASSERT_EQUAL_FATAL(vl_live_network_start(network, &problem), 0);
	usleep(20000);
	vl_live_network_stop(network);
	counters = vl_live_network_counters(network, 0);
	CU_ASSERT_EQUAL(counters.wire_foreign, 2);
	CU_ASSERT_EQUAL(counters.wire_unknown_link, 1);
	CU_ASSERT_EQUAL(vl_live_network_carrier(sw, 1)->counters.rx_link_packets, 0);
	vl_live_network_stop(network);
	vl_port_close(ends[0]);
	vl_port_close(ends[1]);
	vl_live_network_destroy(network);
}

static void test_refusals(void)
{
	const struct vl_link_config cable = {.rate = RATE};
	const struct vl_endpoint_config ethernet = host_config(7, RATE);
	struct vl_live_node *away, *other;
	struct halves halves;

	build(&halves, 0);
	CU_ASSERT_EQUAL(vl_live_network_carry(halves.network, halves.nodes[SWITCH_A], 1, &cable,
					      halves.ends[0], 6, &problem),
			-EBUSY);
	CU_ASSERT_EQUAL(vl_live_network_carry(halves.network, halves.nodes[SWITCH_A], 2, &cable,
					      halves.ends[0], 6, &problem),
			-EINVAL);
	other = vl_live_network_add_endpoint(halves.network, 0, &ethernet, &problem);
	CU_ASSERT_PTR_NOT_NULL_FATAL(other);
	CU_ASSERT_EQUAL(vl_live_network_carry(halves.network, other, 0, &cable, halves.ends[0], 6,
					      &problem),
			-ENOTSUP);
	away = vl_live_network_add_infiniband_switch(
		halves.network, VL_LIVE_ELSEWHERE, "away",
		&(struct vl_infiniband_switch_config){.ports = 2, .default_sl_to_vl = true},
		&problem);
	CU_ASSERT_PTR_NOT_NULL_FATAL(away);
	CU_ASSERT_EQUAL(
		vl_live_network_carry(halves.network, away, 0, &cable, halves.ends[0], 6, &problem),
		-EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(problem.text, "away is elsewhere"));
	CU_ASSERT_EQUAL(
		vl_live_network_connect(halves.network, away, 0, other, 0, &cable, NULL, &problem),
		-EINVAL);
	destroy(&halves);
}

static const struct test tests[] = {
	{"a_link_that_leaves", test_a_link_that_leaves},
	{"loss_costs_no_credits", test_loss_costs_no_credits},
	{"hellos_end", test_hellos_end},
	{"meeting", test_meeting},
	{"frames_of_others", test_frames_of_others},
	{"refusals", test_refusals},
};

int main(int argc, char **argv)
{
	int status = test_start_eal(2);

	if (status)
		return status;
	status = RUN_SUITE("live_infiniband", tests, argc, argv);
	vl_eal_stop();
	return status;
}
