/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The transport over InfiniBand: end-to-end credits and receivers that post slowly, who gets BECN,
 * whose packets are taken, service levels. */

#include "dataplane/generate/queue_pair.h"
#include "tests/support/infiniband.h"
#include "tests/support/suite.h"
#include "transport/wire/headers.h"
#include "transport/wire/vcrc.h"

#include <string.h>

#define MS UINT64_C(1000000)

/* ---- Slow receivers --------------------------------------------------------------------- */

#define MESSAGES     200u
#define MESSAGE_SIZE 2048u
#define DEPTH        256u
#define POST_PERIOD  UINT64_C(5000)
#define FIRST_POSTED 4u

/* One side: its verbs, and what it has done. */
struct side {
	struct vl_endpoint *endpoint;
	struct vl_pd *pd;
	struct vl_cq *cq;
	struct ibv_mr *mr;
	struct vl_qp *qp;
	uint8_t memory[MESSAGE_SIZE];
	uint32_t posted, completed, failed;
	uint64_t next_post;
};

static void post_receive(struct side *side)
{
	struct ibv_sge sge = {(uintptr_t)side->memory, MESSAGE_SIZE, side->mr->lkey};
	const struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;

	CU_ASSERT_EQUAL_FATAL(vl_post_recv(side->qp, &wr, &bad), 0);
	side->posted++;
}

static void poll_cq(struct side *side)
{
	struct ibv_wc wc;

	while (vl_poll_cq(side->cq, 1, &wc) == 1) {
		side->completed += wc.status == IBV_WC_SUCCESS;
		side->failed += wc.status != IBV_WC_SUCCESS;
	}
}

static void poll_receiver(void *context, struct vl_endpoint *endpoint, uint64_t now)
{
	struct side *side = context;

	(void)endpoint;
	poll_cq(side);
	for (; side->next_post <= now && side->posted < MESSAGES; side->next_post += POST_PERIOD)
		post_receive(side);
}

static uint64_t receiver_deadline(void *context)
{
	const struct side *side = context;

	return side->posted < MESSAGES ? side->next_post : UINT64_MAX;
}

static void poll_sender(void *context, struct vl_endpoint *endpoint, uint64_t now)
{
	(void)endpoint;
	(void)now;
	poll_cq(context);
}

static const struct vl_queue_pair_config pair_config = {
	.transport = IBV_QPT_RC,
	.path_mtu = IBV_MTU_1024,
	.timeout = 14,
	.retry_count = 7,
	.rnr_retry = 7,
	.min_rnr_timer = 1, /* 10 us */
};

static void open_side(struct side *side, struct vl_node *node)
{
	struct vl_queue_pair_room room = {.send_depth = DEPTH, .receive_depth = DEPTH};

	*side = (struct side){.endpoint = vl_node_endpoint(node)};
	side->pd = vl_alloc_pd(side->endpoint->device, NULL);
	side->cq = vl_create_cq(side->endpoint->device, 2 * DEPTH, NULL, NULL);
	side->mr = vl_reg_mr(side->pd, side->memory, MESSAGE_SIZE, (uintptr_t)side->memory,
			     IBV_ACCESS_LOCAL_WRITE, NULL);
	room.pd = side->pd;
	room.send_cq = room.recv_cq = side->cq;
	side->qp = vl_queue_pair_create(&pair_config, &room, 0, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(side->qp);
}

static void connect_side(struct side *side, const struct side *peer)
{
	struct vl_queue_pair_address address = {.qpn = vl_qp_number(peer->qp), .psn = 1000};

	vl_queue_pair_local_address(peer->endpoint->device, 0, &address);
	CU_ASSERT_EQUAL_FATAL(vl_queue_pair_connect(side->qp, side->pd, side->endpoint->device,
						    &pair_config, 1000, &address, NULL, 0),
			      0);
}

static void send_all(struct side *side)
{
	struct ibv_sge sge = {(uintptr_t)side->memory, MESSAGE_SIZE, side->mr->lkey};
	const struct ibv_send_wr wr = {.sg_list = &sge,
				       .num_sge = 1,
				       .opcode = IBV_WR_SEND,
				       .send_flags = IBV_SEND_SIGNALED};
	const struct ibv_send_wr *bad;

	for (uint32_t i = 0; i < MESSAGES; i++)
		CU_ASSERT_EQUAL_FATAL(vl_post_send(side->qp, &wr, &bad, 0), 0);
}

/* How many receiver-not-ready NAKs were sent until all messages were there. */
static uint64_t slow_receiver(bool unlimited)
{
	struct side sender, receiver;
	struct fabric fabric;
	uint64_t naks;

	fabric_init(&fabric);
	fabric.host.endpoint.device.unlimited_credits = unlimited;
	fabric.host.port.buffer = 16384;
	fabric_add_switch(&fabric);
	fabric_add_host(&fabric, 0);
	fabric_add_host(&fabric, 0);
	fabric_manage(&fabric, VL_SUBNET_MIN_HOP);
	open_side(&sender, fabric.hosts[0]);
	open_side(&receiver, fabric.hosts[1]);
	connect_side(&sender, &receiver);
	connect_side(&receiver, &sender);
	vl_endpoint_set_application(sender.endpoint,
				    &(struct vl_application){poll_sender, NULL, &sender});
	vl_endpoint_set_application(
		receiver.endpoint,
		&(struct vl_application){poll_receiver, receiver_deadline, &receiver});
	for (uint32_t i = 0; i < FIRST_POSTED; i++)
		post_receive(&receiver);
	receiver.next_post = POST_PERIOD;
	send_all(&sender);
	vl_network_run_until(fabric.network, MESSAGES * POST_PERIOD / 2);
	/* As fast as receives are posted, whatever the line could carry. */
	CU_ASSERT_TRUE(receiver.completed <= receiver.posted);
	CU_ASSERT_TRUE(receiver.completed >= receiver.posted - 4);
	vl_network_run_until(fabric.network, 3 * MESSAGES * POST_PERIOD);
	CU_ASSERT_EQUAL(receiver.completed, MESSAGES);
	CU_ASSERT_EQUAL(sender.completed, MESSAGES);
	CU_ASSERT_EQUAL(sender.failed + receiver.failed, 0);
	naks = vl_qp_counters(receiver.qp)->rnr_nak_tx;
	CU_ASSERT_EQUAL(vl_qp_counters(sender.qp)->rnr_nak_rx, naks);
	CU_ASSERT_EQUAL(vl_qp_counters(sender.qp)->local_ack_timeout_err, 0);
	fabric_destroy(&fabric);
	return naks;
}

static void test_limited_credits(void)
{
	uint64_t naks = slow_receiver(false);

	/* A requester without credits may try one packet of the next message (IBTA 9.7.7.2), which
	 * is refused while there is nothing to receive it: once for each receive at most. */
	CU_ASSERT_TRUE(naks <= MESSAGES);
}

static void test_unlimited_credits(void)
{
	CU_ASSERT_TRUE(slow_receiver(true) > MESSAGES / 4);
}

/* ---- FECN and BECN ---------------------------------------------------------------------- */

struct notified {
	struct vl_counters sender, receiver;
	uint32_t ccti;
};

/* A flow between two hosts on a line that sets FECN on all that carries data. */
static struct notified mark_everything(enum ibv_qp_type transport, enum vl_flow_verb verb,
				       bool without_grh)
{
	struct vl_cc_parameters cc = {.algorithm = &vl_cc_infiniband};
	struct vl_flow_config flow = fabric_flow();
	struct notified notified;
	struct fabric fabric;

	vl_infiniband_cc_defaults(&cc.infiniband);
	fabric_init(&fabric);
	fabric.host.endpoint.device.cc = &cc;
	fabric.link.impairments.mark = 1;
	fabric_add_loose_host(&fabric);
	fabric_add_loose_host(&fabric);
	fabric_join_hosts(&fabric, 0, 1);
	fabric_manage(&fabric, VL_SUBNET_MIN_HOP);
	flow.transport = transport;
	flow.verb = verb;
	flow.size = transport == IBV_QPT_UD ? 4096 : 32768;
	flow.without_grh = without_grh;
	fabric_start(&fabric, 0, 1, &flow);
	vl_network_run_until(fabric.network, MS);
	notified.sender = *vl_device_counters(vl_node_endpoint(fabric.hosts[0])->device);
	notified.receiver = *vl_device_counters(vl_node_endpoint(fabric.hosts[1])->device);
	notified.ccti = vl_query_cc(verb == VL_FLOW_READ ? vl_flow_responder_qp(fabric.flows[0], 0)
							 : vl_flow_requester_qp(fabric.flows[0], 0),
				    MS)
				.ccti;
	fabric_destroy(&fabric);
	return notified;
}

static void check_reliable(bool without_grh)
{
	struct notified n = mark_everything(IBV_QPT_RC, VL_FLOW_WRITE, without_grh);

	CU_ASSERT_EQUAL(n.receiver.fecn_rx, n.receiver.data_frames_rx);
	CU_ASSERT_TRUE(n.receiver.becn_tx > 0);
	CU_ASSERT_TRUE(n.sender.becn_rx > 0 && n.sender.becn_rx <= n.receiver.becn_tx);
	CU_ASSERT_EQUAL(n.receiver.cnp_tx + n.sender.cnp_rx, 0);
	CU_ASSERT_TRUE(n.ccti > 50);
	/* No message was hurt by it. */
	CU_ASSERT_EQUAL(n.sender.data_frames_retransmitted, 0);
	CU_ASSERT_TRUE(n.sender.message_tx > 10);
}

static void test_becn_in_acknowledgements(void)
{
	check_reliable(false);
	check_reliable(true);
}

static void test_notifications(void)
{
	static const struct {
		enum ibv_qp_type transport;
		enum vl_flow_verb verb;
		bool without_grh;
	} cases[] = {{IBV_QPT_UC, VL_FLOW_WRITE, false},
		     {IBV_QPT_UC, VL_FLOW_WRITE, true},
		     {IBV_QPT_UD, VL_FLOW_SEND, false},
		     {IBV_QPT_UD, VL_FLOW_SEND, true}};

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct notified n =
			mark_everything(cases[i].transport, cases[i].verb, cases[i].without_grh);

		CU_ASSERT_TRUE(n.receiver.fecn_rx > 0);
		CU_ASSERT_TRUE(n.receiver.cnp_tx > 0);
		CU_ASSERT_TRUE(n.sender.cnp_rx > 0 && n.sender.cnp_rx <= n.receiver.cnp_tx);
		CU_ASSERT_EQUAL(n.receiver.becn_tx, 0);
		CU_ASSERT_TRUE(n.ccti > 50);
	}
}

/* Who answers a READ sends the data, and is told. */
static void test_read_responses(void)
{
	struct notified n = mark_everything(IBV_QPT_RC, VL_FLOW_READ, false);

	CU_ASSERT_TRUE(n.sender.fecn_rx > 0);
	CU_ASSERT_TRUE(n.sender.cnp_tx > 0);
	CU_ASSERT_TRUE(n.receiver.cnp_rx > 0);
	CU_ASSERT_TRUE(n.ccti > 50);
	CU_ASSERT_TRUE(n.sender.message_tx > 10);
}

/* ---- Addresses -------------------------------------------------------------------------- */

/* Puts one into a byte of the LRH; the ICRC of packets with a GRH does not cover it. */
static enum vl_link_action spoil(void *context, const struct vl_frame *frame, uint64_t ordinal)
{
	static const uint8_t change[] = {1};
	uint32_t offset = *(const uint32_t *)context, vcrc = frame->length - VL_VCRC_LENGTH;

	(void)ordinal;
	if (frame->kind != VL_FRAME_INFINIBAND)
		return VL_LINK_PASS;
	frame->data[offset] ^= 1;
	vl_vcrc_mend(frame->data + vcrc, vl_vcrc_change(change, 1, vcrc - offset - 1));
	return VL_LINK_PASS;
}

static uint64_t drops_of_spoilt(uint32_t offset, enum vl_drop drop)
{
	const struct vl_flow_config flow = fabric_flow();
	const struct vl_device *device;
	struct fabric fabric;
	uint64_t drops;

	fabric_init(&fabric);
	fabric.link.impairments.decide = spoil;
	fabric.link.impairments.decide_context = &offset;
	fabric_add_loose_host(&fabric);
	fabric_add_loose_host(&fabric);
	fabric_join_hosts(&fabric, 0, 1);
	fabric_manage(&fabric, VL_SUBNET_MIN_HOP);
	fabric_start(&fabric, 0, 1, &flow);
	vl_network_run_until(fabric.network, MS / 10);
	device = vl_node_endpoint(fabric.hosts[1])->device;
	drops = vl_device_drops(device)[drop];
	CU_ASSERT_EQUAL(vl_device_counters(device)->data_frames_rx, 0);
	CU_ASSERT_EQUAL(fabric_host_port(&fabric, 1)->counters.port_rcv_errors, 0);
	fabric_destroy(&fabric);
	return drops;
}

static void test_wrong_lids(void)
{
	const uint32_t destination = offsetof(struct vl_lrh, destination_lid) + 1;
	const uint32_t source = offsetof(struct vl_lrh, source_lid) + 1;

	CU_ASSERT_TRUE(drops_of_spoilt(destination, VL_DROP_not_for_us) > 0);
	CU_ASSERT_TRUE(drops_of_spoilt(source, VL_DROP_source) > 0);
}

/* ---- Service levels --------------------------------------------------------------------- */

/* Sixteen levels on fifteen lanes: all get through, and the lanes get like shares of the line. */
static void test_service_levels(void)
{
	struct vl_flow_config flow = fabric_flow();
	const struct vl_infiniband_port *port;
	struct fabric fabric;
	uint64_t least = UINT64_MAX, most = 0;

	fabric_init(&fabric);
	fabric.host.port.virtual_lanes = 15;
	fabric_add_loose_host(&fabric);
	fabric_add_loose_host(&fabric);
	fabric_join_hosts(&fabric, 0, 1);
	fabric_manage(&fabric, VL_SUBNET_MIN_HOP);
	for (uint8_t level = 0; level < 16; level++) {
		flow.priority = level;
		fabric_start(&fabric, 0, 1, &flow);
	}
	vl_network_run_until(fabric.network, 5 * MS);
	port = fabric_host_port(&fabric, 1);
	for (uint8_t lane = 0; lane < 15; lane++) {
		uint64_t packets = port->lane_counters[lane].rcv_pkts;

		least = packets < least ? packets : least;
		most = packets > most ? packets : most;
	}
	CU_ASSERT_TRUE(least > 0.95 * most);
	/* Levels 0 and 15 share lane 0. */
	CU_ASSERT_DOUBLE_EQUAL(
		(double)fabric_received(&fabric, 0) / (double)fabric_received(&fabric, 15), 1, 0.1);
	CU_ASSERT_DOUBLE_EQUAL(
		(double)fabric_received(&fabric, 9) / (double)fabric_received(&fabric, 15), 2, 0.2);
	fabric_destroy(&fabric);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"a receiver that posts slowly, limited credits", test_limited_credits},
		{"a receiver that posts slowly, unlimited credits", test_unlimited_credits},
		{"BECN in acknowledgements", test_becn_in_acknowledgements},
		{"notifications of unreliable services", test_notifications},
		{"notifications of READ responses", test_read_responses},
		{"packets with wrong LIDs", test_wrong_lids},
		{"service levels", test_service_levels},
	};

	return RUN_SUITE("InfiniBand transport", tests, argc, argv);
}
