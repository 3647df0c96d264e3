/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Channel adapters and switches at work: what is lost on the line is not lost as credit, small
 * packets pass where large ones wait, management has its own lane, slow receivers. */

#include "dataplane/network_audit.h"
#include "tests/support/infiniband.h"
#include "tests/support/suite.h"
#include "transport/wire/headers.h"
#include "transport/wire/parse.h"
#include "transport/wire/vcrc.h"

#include <string.h>

#define MS UINT64_C(1000000)

static void build_pair(struct fabric *fabric)
{
	fabric_add_switch(fabric);
	fabric_add_host(fabric, 0);
	fabric_add_host(fabric, 0);
	fabric_manage(fabric, VL_SUBNET_MIN_HOP);
}

/* One packet in twenty is lost or damaged, for many times the credits that there are. */
static void test_loss(void)
{
	struct vl_flow_config flow = fabric_flow();
	const struct vl_infiniband_port *port;
	struct fabric fabric;

	fabric_init(&fabric);
	fabric.host.port.buffer = fabric.sw.port.buffer = 8192;
	fabric.link.impairments.loss = 0.05;
	fabric.link.impairments.corrupt = 0.02;
	build_pair(&fabric);
	flow.transport = IBV_QPT_UC;
	fabric_start(&fabric, 0, 1, &flow);
	vl_network_run_until(fabric.network, 5 * MS);
	CU_ASSERT_TRUE(fabric_rate(&fabric, 0, 5 * MS) > 1e9);
	port = fabric_host_port(&fabric, 1);
	CU_ASSERT_TRUE(port->counters.port_rcv_errors > 0);
	CU_ASSERT_EQUAL(port->counters.excessive_buffer_overrun_errors, 0);
	CU_ASSERT_EQUAL(vl_device_drops(vl_node_endpoint(fabric.hosts[1])->device)[VL_DROP_icrc],
			0);
	fabric_destroy(&fabric);
}

/* Lines as no InfiniBand has them: packets come twice, late or out of order, so that more come than
 * there are credits for. */
static void test_lines_that_break_credits(void)
{
	static const struct vl_impairments impairments[] = {
		{.duplicate = 0.05}, {.reorder = 0.05}, {.jitter = 5000}};
	struct vl_flow_config flow = fabric_flow();
	char text[256] = "";

	flow.depth = 16;
	for (unsigned int i = 0; i < 3; i++) {
		struct fabric fabric;
		uint64_t overruns = 0;

		fabric_init(&fabric);
		fabric_add_switch(&fabric);
		fabric.link.impairments = impairments[i];
		for (uint32_t host = 0; host < 5; host++)
			fabric_add_host(&fabric, 0);
		fabric_manage(&fabric, VL_SUBNET_MIN_HOP);
		for (uint32_t host = 1; host < 5; host++)
			fabric_start(&fabric, host, 0, &flow);
		vl_network_run_until(fabric.network, 3 * MS);
		for (uint32_t port = 0; port < 5; port++)
			overruns += vl_infiniband_switch_port(
					    vl_node_infiniband_switch(fabric.switches[0]), port)
					    ->counters.excessive_buffer_overrun_errors;
		CU_ASSERT(overruns > 0);
		CU_ASSERT(fabric_received(&fabric, 0) > 0);
		CU_ASSERT_TRUE(vl_network_audit(fabric.network, text, sizeof(text)));
		fabric_destroy(&fabric);
	}
}

/* A receive buffer emptied at 20 Gb/s holds the sender to that, and loses nothing. */
static void test_slow_drain(void)
{
	const struct vl_flow_config flow = fabric_flow();
	struct fabric fabric;

	fabric_init(&fabric);
	fabric.host.drain_rate = UINT64_C(20000000000);
	build_pair(&fabric);
	fabric_start(&fabric, 0, 1, &flow);
	vl_network_run_until(fabric.network, MS);
	CU_ASSERT_DOUBLE_EQUAL(fabric_rate(&fabric, 0, 5 * MS) / (20e9 * 4096 / 4162), 1, 0.01);
	CU_ASSERT_TRUE(vl_infiniband_port_watermark(fabric_host_port(&fabric, 1), 0) > 60000);
	CU_ASSERT_EQUAL(vl_device_counters(vl_node_endpoint(fabric.hosts[0])->device)
				->data_frames_retransmitted,
			0);
	fabric_destroy(&fabric);
}

/* ---- What may pass ---------------------------------------------------------------------- */

struct lane_watch {
	uint64_t acknowledgements; /* that left while a larger packet had no credits */
	const struct vl_infiniband_port *port;
};

static void watch(void *context, const struct vl_node *node, uint32_t port,
		  enum vl_direction direction, const struct vl_frame *frame, uint64_t now)
{
	struct lane_watch *lane = context;
	struct vl_packet packet;

	(void)node;
	(void)port;
	(void)now;
	if (direction != VL_DIRECTION_TRANSMITTED || frame->kind != VL_FRAME_INFINIBAND)
		return;
	CU_ASSERT_EQUAL_FATAL(
		vl_parse(&packet, VL_LINK_INFINIBAND, frame->data, frame->length, frame->length),
		VL_PARSE_ok);
	if (packet.opcode == 0x11 && (lane->port->stalled & 1))
		lane->acknowledgements++;
}

/* Both hosts send on the one lane, with hardly more credits than a packet takes: acknowledgements
 * go while the next request waits for its own. */
static void test_acknowledgements_pass(void)
{
	struct vl_flow_config flow = fabric_flow();
	struct lane_watch lane = {0};
	struct fabric fabric;

	fabric_init(&fabric);
	fabric.host.port.buffer = fabric.sw.port.buffer = 70 * 64;
	build_pair(&fabric);
	lane.port = fabric_host_port(&fabric, 0);
	CU_ASSERT_EQUAL_FATAL(
		vl_network_tap(fabric.network, fabric.hosts[0], 0, &(struct vl_tap){watch, &lane}),
		0);
	flow.size = 4096;
	flow.depth = 32;
	fabric_start(&fabric, 0, 1, &flow);
	fabric_start(&fabric, 1, 0, &flow);
	vl_network_run_until(fabric.network, 2 * MS);
	CU_ASSERT_TRUE(lane.acknowledgements > 100);
	CU_ASSERT_TRUE(fabric_rate(&fabric, 0, MS) > 10e9);
	CU_ASSERT_TRUE(fabric_rate(&fabric, 1, MS) > 10e9);
	for (uint32_t i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(vl_device_counters(vl_node_endpoint(fabric.hosts[i])->device)
					->data_frames_retransmitted,
				0);
	fabric_destroy(&fabric);
}

/* ---- Management ------------------------------------------------------------------------- */

struct received {
	unsigned int count;
	uint8_t lane;
	uint16_t vcrc_is_right;
	uint64_t time;
};

static void take_management(void *context, const struct vl_frame *frame, uint64_t now)
{
	struct received *received = context;
	uint32_t length = frame->length - VL_VCRC_LENGTH;
	uint16_t vcrc = vl_vcrc(frame->data, length);

	received->count++;
	received->lane = frame->data[0] >> 4;
	received->vcrc_is_right +=
		frame->data[length] == (uint8_t)vcrc && frame->data[length + 1] == vcrc >> 8;
	received->time = now;
}

static struct vl_frame *management_packet(struct fabric *fabric, uint16_t lid)
{
	struct vl_frame *frame = vl_frame_get(vl_network_frame_pool(fabric->network));

	memset(frame->data, 0, 288);
	frame->data[1] = VL_LNH_IBA_LOCAL;
	vl_store_be16(frame->data + 2, lid);
	vl_store_be16(frame->data + 4, 288 / 4);
	frame->length = 288;
	return frame;
}

/* Lane 15 needs no credits, and goes before what fills the others. */
static void test_management(void)
{
	const struct vl_flow_config flow = fabric_flow();
	struct received received = {0};
	struct vl_channel_adapter *adapter;
	struct fabric fabric;
	struct vl_frame *frame;
	uint16_t lid;

	fabric_init(&fabric);
	fabric.host.drain_rate = UINT64_C(1000000000);
	fabric.host.port.buffer = 8192;
	build_pair(&fabric);
	fabric_start(&fabric, 0, 1, &flow);
	vl_network_run_until(fabric.network, MS);
	adapter = vl_node_channel_adapter(fabric.hosts[1]);
	lid = vl_channel_adapter_lid(adapter);
	vl_channel_adapter_set_management(
		adapter, &(struct vl_channel_adapter_management){take_management, &received});
	adapter = vl_node_channel_adapter(fabric.hosts[0]);
	for (unsigned int i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(vl_channel_adapter_send_management(
					adapter, management_packet(&fabric, lid), MS),
				0);
	frame = management_packet(&fabric, lid);
	frame->length = 4;
	CU_ASSERT_EQUAL(vl_channel_adapter_send_management(adapter, frame, MS), -22);
	vl_frame_free(frame);
	vl_network_run_until(fabric.network, MS + 2000);
	CU_ASSERT_EQUAL(received.count, 3);
	CU_ASSERT_EQUAL(received.lane, 15);
	CU_ASSERT_EQUAL(received.vcrc_is_right, 3);
	CU_ASSERT_EQUAL(vl_infiniband_switch_port(vl_node_infiniband_switch(fabric.switches[0]), 0)
				->lane_counters[15]
				.rcv_pkts,
			3);
	fabric_destroy(&fabric);
}

/* More of them than there is room for, to somebody who takes none: each that is dropped is counted.
 */
static void test_management_dropped(void)
{
	const struct vl_infiniband_port *port;
	struct vl_channel_adapter *adapter;
	struct fabric fabric;
	char text[200] = "";
	uint64_t came;
	uint16_t lid;

	fabric_init(&fabric);
	fabric.sw.management_buffer = 2 * 290;
	fabric_add_switch(&fabric);
	for (unsigned int i = 0; i < 3; i++)
		fabric_add_host(&fabric, 0);
	fabric_manage(&fabric, VL_SUBNET_MIN_HOP);
	vl_network_run_until(fabric.network, MS);
	lid = vl_channel_adapter_lid(vl_node_channel_adapter(fabric.hosts[2]));
	for (unsigned int host = 0; host < 2; host++) {
		adapter = vl_node_channel_adapter(fabric.hosts[host]);
		for (unsigned int i = 0; i < 20; i++)
			CU_ASSERT_EQUAL(vl_channel_adapter_send_management(
						adapter, management_packet(&fabric, lid), MS),
					0);
		vl_network_wake(fabric.network, fabric.hosts[host]);
	}
	vl_network_run_until(fabric.network, 2 * MS);
	came = vl_channel_adapter_port(vl_node_channel_adapter(fabric.hosts[2]))
		       ->counters.vl15_dropped;
	for (unsigned int i = 0; i < 2; i++) {
		port = vl_infiniband_switch_port(vl_node_infiniband_switch(fabric.switches[0]), i);
		CU_ASSERT_TRUE(port->counters.vl15_dropped > 0);
		came += port->counters.vl15_dropped;
	}
	CU_ASSERT_EQUAL(came, 40);
	CU_ASSERT_TRUE(vl_network_audit(fabric.network, text, sizeof(text)));
	CU_ASSERT_STRING_EQUAL(text, "");
	fabric_destroy(&fabric);
}

/* ---- Errors ----------------------------------------------------------------------------- */

static void test_refusals(void)
{
	const uint8_t wrong[16] = {0, 1};
	struct vl_endpoint_config ethernet = {.rate = UINT64_C(100000000000)};
	struct vl_infiniband_switch *sw;
	struct vl_node *endpoint;
	struct fabric fabric;

	fabric_init(&fabric);
	build_pair(&fabric);
	sw = vl_node_infiniband_switch(fabric.switches[0]);
	CU_ASSERT_EQUAL(vl_infiniband_switch_set_route(sw, 0, 1), -22);
	CU_ASSERT_EQUAL(vl_infiniband_switch_set_route(sw, 0xc000, 1), -22);
	CU_ASSERT_EQUAL(vl_infiniband_switch_set_route(sw, 1, 8), -22);
	CU_ASSERT_EQUAL(vl_infiniband_switch_set_route(sw, 0xbfff, 7), 0);
	CU_ASSERT_EQUAL(vl_infiniband_switch_route(sw, 0xbfff), 7);
	CU_ASSERT_EQUAL(vl_infiniband_switch_set_route(sw, 0xbfff, VL_INFINIBAND_SWITCH_NO_PORT),
			0);
	CU_ASSERT_EQUAL(vl_infiniband_switch_route(sw, 0xbfff), VL_INFINIBAND_SWITCH_NO_PORT);
	CU_ASSERT_EQUAL(vl_infiniband_switch_set_sl_to_vl(sw, 0, 1, wrong), -22);
	CU_ASSERT_EQUAL(
		vl_channel_adapter_set_lid(vl_node_channel_adapter(fabric.hosts[0]), 0xc000), -22);
	ethernet.device.gid_count = 1;
	ethernet.device.gids[0].encapsulation = VL_ENCAPSULATION_ROCEV1;
	endpoint = vl_network_add_endpoint(fabric.network, &ethernet);
	CU_ASSERT_PTR_NOT_NULL_FATAL(endpoint);
	CU_ASSERT_EQUAL(vl_network_connect(fabric.network, endpoint, 0, fabric.switches[0], 5,
					   &fabric.link, NULL),
			-22);
	fabric.sw.port.buffer = 100;
	CU_ASSERT_PTR_NULL(vl_network_add_infiniband_switch(fabric.network, "small", &fabric.sw));
	fabric_destroy(&fabric);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"loss and damage", test_loss},
		{"lines that break the count of credits", test_lines_that_break_credits},
		{"a receive buffer emptied slowly", test_slow_drain},
		{"acknowledgements pass requests without credits", test_acknowledgements_pass},
		{"management", test_management},
		{"management_dropped", test_management_dropped},
		{"what is refused", test_refusals},
	};

	return RUN_SUITE("InfiniBand network", tests, argc, argv);
}
