/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Flow-control packets, credits at both ends, and a port's packets of credits. */

#include "dataplane/infiniband/port.h"
#include "tests/support/suite.h"
#include "transport/random.h"
#include "transport/wire/headers.h"
#include "transport/wire/vcrc.h"

#include <string.h>

/* ---- The packet ------------------------------------------------------------------------- */

static void test_sample(void)
{
	static const uint8_t sample[] = {0x01, 0x23, 0x14, 0x56, 0xa7, 0xa8};
	const struct vl_flow_control_packet packet = {VL_FLOW_CONTROL_NORMAL, 1, 0x123, 0x456};
	struct vl_flow_control_packet parsed;
	uint8_t bytes[6];

	vl_flow_control_write(bytes, &packet);
	CU_ASSERT_EQUAL(memcmp(bytes, sample, sizeof(sample)), 0);
	CU_ASSERT_EQUAL(vl_flow_control_parse(sample, 6, &parsed), VL_FLOW_CONTROL_OK);
	CU_ASSERT_EQUAL(parsed.operation, VL_FLOW_CONTROL_NORMAL);
	CU_ASSERT_EQUAL(parsed.virtual_lane, 1);
	CU_ASSERT_EQUAL(parsed.total_sent, 0x123);
	CU_ASSERT_EQUAL(parsed.limit, 0x456);
}

static void test_refused_packets(void)
{
	const struct vl_flow_control_packet init = {VL_FLOW_CONTROL_INIT, 14, 0xfff, 0x001};
	const struct vl_flow_control_packet reserved = {2, 0, 0, 0}, management = {0, 15, 0, 0};
	struct vl_flow_control_packet parsed;
	uint8_t bytes[8] = {0};

	vl_flow_control_write(bytes, &init);
	CU_ASSERT_EQUAL(vl_flow_control_parse(bytes, 6, &parsed), VL_FLOW_CONTROL_OK);
	CU_ASSERT_EQUAL(parsed.operation, VL_FLOW_CONTROL_INIT);
	CU_ASSERT_EQUAL(parsed.virtual_lane, 14);
	CU_ASSERT_EQUAL(parsed.total_sent, 0xfff);
	CU_ASSERT_EQUAL(parsed.limit, 0x001);
	for (unsigned int bit = 0; bit < 48; bit++) {
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		CU_ASSERT_EQUAL(vl_flow_control_parse(bytes, 6, &parsed), VL_FLOW_CONTROL_BAD_CRC);
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	CU_ASSERT_EQUAL(vl_flow_control_parse(bytes, 5, &parsed), VL_FLOW_CONTROL_BAD_LENGTH);
	CU_ASSERT_EQUAL(vl_flow_control_parse(bytes, 8, &parsed), VL_FLOW_CONTROL_BAD_LENGTH);
	vl_flow_control_write(bytes, &reserved);
	CU_ASSERT_EQUAL(vl_flow_control_parse(bytes, 6, &parsed), VL_FLOW_CONTROL_RESERVED);
	vl_flow_control_write(bytes, &management);
	CU_ASSERT_EQUAL(vl_flow_control_parse(bytes, 6, &parsed), VL_FLOW_CONTROL_RESERVED);
}

/* ---- Credits ---------------------------------------------------------------------------- */

static void test_blocks(void)
{
	CU_ASSERT_EQUAL(vl_flow_control_blocks(1), 1);
	CU_ASSERT_EQUAL(vl_flow_control_blocks(64), 1);
	CU_ASSERT_EQUAL(vl_flow_control_blocks(65), 2);
	CU_ASSERT_EQUAL(vl_flow_control_blocks(4122), 65); /* a packet of 4096 bytes, no GRH */
	CU_ASSERT_EQUAL(vl_flow_control_blocks(4162), 66);
}

static void test_sender(void)
{
	struct vl_credit_sender sender = {0};

	CU_ASSERT_FALSE(vl_credit_sender_allows(&sender, 0));
	CU_ASSERT_EQUAL(vl_credit_sender_credits(&sender), 0);
	vl_credit_sender_update(&sender, 10);
	CU_ASSERT_TRUE(vl_credit_sender_allows(&sender, 10));
	CU_ASSERT_FALSE(vl_credit_sender_allows(&sender, 11));
	vl_credit_sender_sent(&sender, 10);
	CU_ASSERT_FALSE(vl_credit_sender_allows(&sender, 1));
	CU_ASSERT_EQUAL(vl_credit_sender_credits(&sender), 0);
	/* Across the end of the 12 bits. */
	sender.total_sent = 4090;
	vl_credit_sender_update(&sender, 4);
	CU_ASSERT_EQUAL(vl_credit_sender_credits(&sender), 10);
	CU_ASSERT_TRUE(vl_credit_sender_allows(&sender, 10));
	CU_ASSERT_FALSE(vl_credit_sender_allows(&sender, 11));
	vl_credit_sender_sent(&sender, 10);
	CU_ASSERT_EQUAL(sender.total_sent, 4);
	/* The most that can be granted. */
	vl_credit_sender_update(&sender, 4 + 2047);
	CU_ASSERT_TRUE(vl_credit_sender_allows(&sender, 2047));
	CU_ASSERT_FALSE(vl_credit_sender_allows(&sender, 2048));
}

static void test_receiver(void)
{
	struct vl_credit_receiver receiver = {.capacity = 100, .received = 4050};

	CU_ASSERT_EQUAL(vl_credit_receiver_limit(&receiver), (4050 + 100) % 4096);
	receiver.advertised = vl_credit_receiver_limit(&receiver);
	CU_ASSERT_TRUE(vl_credit_receiver_take(&receiver, 60));
	CU_ASSERT_EQUAL(receiver.received, (4050 + 60) % 4096);
	/* What is under way was granted: nothing to say yet. */
	CU_ASSERT_EQUAL(vl_credit_receiver_unsaid(&receiver), 0);
	CU_ASSERT_FALSE(vl_credit_receiver_take(&receiver, 41));
	CU_ASSERT_EQUAL(receiver.occupied, 60);
	vl_credit_receiver_resynchronize(&receiver, (4050 + 60) % 4096);
	vl_credit_receiver_release(&receiver, 60);
	CU_ASSERT_EQUAL(vl_credit_receiver_unsaid(&receiver), 60);
	CU_ASSERT_EQUAL(receiver.watermark, 60);
	/* 30 blocks were lost on the line: their room is granted again. */
	vl_credit_receiver_resynchronize(&receiver, (4050 + 90) % 4096);
	CU_ASSERT_EQUAL(vl_credit_receiver_limit(&receiver), (4050 + 190) % 4096);
	receiver.capacity = 5000;
	CU_ASSERT_EQUAL(vl_credit_receiver_limit(&receiver), (4050 + 90 + 2047) % 4096);
}

/* ---- The port --------------------------------------------------------------------------- */

static void init_port(struct vl_infiniband_port *port, uint8_t lanes, uint32_t buffer)
{
	const struct vl_infiniband_port_config config = {.virtual_lanes = lanes, .buffer = buffer};

	CU_ASSERT_PTR_NULL_FATAL(vl_infiniband_port_config_error(&config));
	vl_infiniband_port_init(port, &config);
}

static struct vl_frame frame_in(uint8_t *memory, uint32_t capacity)
{
	return (struct vl_frame){.data = memory, .capacity = capacity};
}

/* A packet of words * 4 bytes and its VCRC. */
static void make_packet(struct vl_frame *frame, uint8_t lane, uint16_t words)
{
	uint16_t vcrc;

	memset(frame->data, 0x5a, words * 4u);
	frame->data[0] = (uint8_t)(lane << 4);
	frame->data[1] = VL_LNH_IBA_LOCAL;
	vl_store_be16(frame->data + 4, words);
	vcrc = vl_vcrc(frame->data, words * 4u);
	frame->data[words * 4u] = (uint8_t)vcrc;
	frame->data[words * 4u + 1] = (uint8_t)(vcrc >> 8);
	frame->length = words * 4u + 2;
	frame->kind = VL_FRAME_INFINIBAND;
}

/* Hands what is due from one port to the other. */
static unsigned int exchange(struct vl_infiniband_port *from, struct vl_infiniband_port *to,
			     uint64_t now)
{
	uint8_t memory[8];
	struct vl_frame frame = frame_in(memory, sizeof(memory));
	unsigned int count = 0;

	while (vl_infiniband_port_write_link(from, &frame, now)) {
		CU_ASSERT_EQUAL(frame.kind, VL_FRAME_INFINIBAND_LINK);
		CU_ASSERT_EQUAL(frame.length, 6);
		vl_infiniband_port_receive_link(to, &frame, now);
		count++;
	}
	return count;
}

static void test_initialization(void)
{
	struct vl_flow_control_packet packet;
	struct vl_infiniband_port a, b;
	uint8_t memory[8];
	struct vl_frame frame = frame_in(memory, sizeof(memory));

	init_port(&a, 3, 8192);
	init_port(&b, 3, 4224);
	vl_infiniband_port_set_head(&a, 1, 4122, 0);
	CU_ASSERT_EQUAL(vl_infiniband_port_choose(&a, 0), VL_ARBITER_NONE);
	for (uint8_t lane = 0; lane < 3; lane++) {
		CU_ASSERT_TRUE_FATAL(vl_infiniband_port_write_link(&b, &frame, 0));
		vl_flow_control_parse(memory, 6, &packet);
		CU_ASSERT_EQUAL(packet.operation, VL_FLOW_CONTROL_INIT);
		CU_ASSERT_EQUAL(packet.virtual_lane, lane);
		CU_ASSERT_EQUAL(packet.limit, 66);
		vl_infiniband_port_receive_link(&a, &frame, 0);
	}
	CU_ASSERT_FALSE(vl_infiniband_port_write_link(&b, &frame, 0));
	CU_ASSERT_EQUAL(vl_infiniband_port_choose(&a, 0), 1);
	CU_ASSERT_EQUAL(exchange(&a, &b, 0), 3);
	/* Next time both have heard from each other. */
	CU_ASSERT_TRUE_FATAL(vl_infiniband_port_write_link(&b, &frame, b.next_period));
	vl_flow_control_parse(memory, 6, &packet);
	CU_ASSERT_EQUAL(packet.operation, VL_FLOW_CONTROL_NORMAL);
}

/* 65,536 symbol times: four lanes at 25 Gb/s each send a byte in 0.32 ns. */
static void test_period(void)
{
	struct vl_infiniband_port a, b;

	init_port(&a, 2, 0);
	init_port(&b, 2, 0);
	vl_infiniband_port_set_rate(&a, UINT64_C(100000000000));
	CU_ASSERT_EQUAL(a.period, 20971);
	vl_infiniband_port_set_rate(&a, UINT64_C(8000000000)); /* SDR: 4 ns */
	CU_ASSERT_EQUAL(a.period, 262144);
	CU_ASSERT_EQUAL(exchange(&a, &b, 1000), 2);
	CU_ASSERT_EQUAL(exchange(&a, &b, 1000 + 262143), 0);
	CU_ASSERT_EQUAL(exchange(&a, &b, 1000 + 262144), 2);
}

static void test_packets(void)
{
	uint8_t memory[4224];
	struct vl_frame frame = frame_in(memory, sizeof(memory));
	struct vl_infiniband_port a, b;

	init_port(&a, 2, 8192);
	init_port(&b, 2, 8192); /* 128 blocks, updates from 2 on */
	exchange(&a, &b, 0);
	exchange(&b, &a, 0);
	make_packet(&frame, 0, 1030);
	vl_infiniband_port_set_head(&a, 1, frame.length, 10);
	CU_ASSERT_EQUAL(vl_infiniband_port_choose(&a, 10), 1);
	vl_infiniband_port_sent(&a, 1, &frame, 10);
	CU_ASSERT_EQUAL(memory[0] >> 4, 1);
	b.check_vcrc = true;
	CU_ASSERT_TRUE(vl_infiniband_port_accept(&b, &frame));
	CU_ASSERT_EQUAL(frame.virtual_lane, 1);
	CU_ASSERT_EQUAL(b.receivers[1].occupied, 65);
	/* 63 blocks are left: the next one of the kind stalls, until the first is out. */
	vl_infiniband_port_set_head(&a, 1, 4122, 20);
	CU_ASSERT_EQUAL(vl_infiniband_port_choose(&a, 30), VL_ARBITER_NONE);
	CU_ASSERT_TRUE(vl_infiniband_port_release(&b, 1, frame.length));
	CU_ASSERT_EQUAL(exchange(&b, &a, 50), 1);
	CU_ASSERT_EQUAL(vl_infiniband_port_choose(&a, 60), 1);
	CU_ASSERT_EQUAL(vl_infiniband_port_credit_stall(&a, 1, 100), 30);
	CU_ASSERT_EQUAL(vl_infiniband_port_xmit_wait(&a, 100), 30);
	CU_ASSERT_EQUAL(a.counters.port_xmit_data, 1030);
	CU_ASSERT_EQUAL(b.counters.port_rcv_data, 1030);
	CU_ASSERT_EQUAL(b.lane_counters[1].rcv_pkts, 1);
}

static void test_refused_data(void)
{
	uint8_t memory[4224];
	struct vl_frame frame = frame_in(memory, sizeof(memory));
	struct vl_infiniband_port port;

	init_port(&port, 2, 4224);
	make_packet(&frame, 2, 20); /* no such lane */
	CU_ASSERT_FALSE(vl_infiniband_port_accept(&port, &frame));
	CU_ASSERT_EQUAL(port.counters.excessive_buffer_overrun_errors, 1);
	make_packet(&frame, 0, 1030);
	CU_ASSERT_TRUE(vl_infiniband_port_accept(&port, &frame));
	CU_ASSERT_FALSE(vl_infiniband_port_accept(&port, &frame)); /* beyond the credits */
	CU_ASSERT_EQUAL(port.counters.excessive_buffer_overrun_errors, 2);
	make_packet(&frame, 1, 20);
	frame.length -= 2;
	CU_ASSERT_FALSE(vl_infiniband_port_accept(&port, &frame));
	make_packet(&frame, 1, 20);
	frame.length = 9;
	CU_ASSERT_FALSE(vl_infiniband_port_accept(&port, &frame));
	make_packet(&frame, 1, 20);
	frame.data[30] ^= 1;
	CU_ASSERT_TRUE(vl_infiniband_port_accept(&port, &frame));
	port.check_vcrc = true;
	CU_ASSERT_FALSE(vl_infiniband_port_accept(&port, &frame));
	CU_ASSERT_EQUAL(port.counters.port_rcv_errors, 3);
	CU_ASSERT_EQUAL(port.counters.port_rcv_pkts, 2);
}

static void test_config_errors(void)
{
	struct vl_infiniband_port_config config = {0};

	CU_ASSERT_PTR_NULL(vl_infiniband_port_config_error(&config));
	config.virtual_lanes = 16;
	CU_ASSERT_PTR_NOT_NULL(vl_infiniband_port_config_error(&config));
	config = (struct vl_infiniband_port_config){.lanes = 2};
	CU_ASSERT_PTR_NOT_NULL(vl_infiniband_port_config_error(&config));
	config = (struct vl_infiniband_port_config){.buffer = 4223};
	CU_ASSERT_PTR_NOT_NULL(vl_infiniband_port_config_error(&config));
	config = (struct vl_infiniband_port_config){.buffer = 131008};
	CU_ASSERT_PTR_NULL(vl_infiniband_port_config_error(&config));
	config = (struct vl_infiniband_port_config){.buffer = 131009};
	CU_ASSERT_PTR_NOT_NULL(vl_infiniband_port_config_error(&config));
}

/* ---- VCRC ------------------------------------------------------------------------------- */

/* A VCRC mended by the change of any bytes is that of the changed packet, computed anew. */
static void test_changed_crc(void)
{
	struct vl_random random = {1};
	uint8_t packet[4160], change[8];

	for (unsigned int round = 0; round < 2000; round++) {
		size_t length = 8 + vl_random_below(&random, sizeof(packet) - 8 + 1);
		size_t at = vl_random_below(&random, length - 7);
		size_t changed = 1 + vl_random_below(&random, 8);
		uint16_t before, expected;

		for (size_t i = 0; i < length; i++)
			packet[i] = (uint8_t)vl_random_next(&random);
		if (at + changed > length)
			changed = length - at;
		before = vl_vcrc(packet, length);
		for (size_t i = 0; i < changed; i++) {
			change[i] = (uint8_t)vl_random_next(&random);
			packet[at + i] ^= change[i];
		}
		expected = vl_vcrc(packet, length);
		CU_ASSERT_EQUAL(before ^ vl_vcrc_change(change, changed, length - at - changed),
				expected);
	}
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"the sample packet", test_sample},
		{"packets that are refused", test_refused_packets},
		{"blocks", test_blocks},
		{"the sender's end", test_sender},
		{"the receiver's end", test_receiver},
		{"initialization of a link", test_initialization},
		{"the period", test_period},
		{"packets and their credits", test_packets},
		{"packets that are thrown away", test_refused_data},
		{"configurations", test_config_errors},
		{"VCRC of a changed packet", test_changed_crc},
	};

	return RUN_SUITE("InfiniBand flow control", tests, argc, argv);
}
