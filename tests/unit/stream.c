/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Frames of open-loop streams: each is parsed, its ICRC computed anew over all of it, and its place
 * in its flow's sequence checked; real queue pairs take them. */

#include "tests/support/endpoint.h"
#include "tests/support/stream_rig.h"
#include "tests/support/suite.h"
#include "transport/wire/icrc.h"
#include "transport/wire/opcode.h"
#include "transport/wire/parse.h"

#include <stdio.h>

/* ---- What frames look like ------------------------------------------------------------------- */

struct expected_flow {
	uint32_t psn, offset, message;
	uint64_t messages;
};

static void check_roce_frame(const struct vl_stream_config *config,
			     const struct vl_stream_slot *slot, struct expected_flow *flow)
{
	const struct vl_stream_roce *roce = &config->roce;
	uint32_t length = config->sizes[flow->message].bytes;
	bool first = !flow->offset, last = length - flow->offset <= roce->path_mtu;
	uint32_t payload = last ? length - flow->offset : roce->path_mtu;
	struct vl_packet packet;
	uint32_t flags;

	CU_ASSERT_EQUAL_FATAL(
		vl_parse(&packet, VL_LINK_ETHERNET, slot->data, slot->length, slot->length),
		VL_PARSE_ok);
	CU_ASSERT_TRUE(vl_icrc_is_right(&packet));
	flags = packet.info->flags;
	CU_ASSERT_EQUAL(packet.payload_length, payload);
	for (uint32_t i = 0; i < payload; i++) {
		if (packet.payload[i] != pattern[i % 8]) {
			CU_FAIL("the payload is not the pattern");
			break;
		}
	}
	CU_ASSERT_EQUAL(packet.destination_qpn, 0x200 + slot->flow * roce->remote_qpn_step);
	CU_ASSERT_EQUAL(packet.udp_source_port, 0xc000 + slot->flow % 2);
	CU_ASSERT_EQUAL(packet.psn, flow->psn);
	CU_ASSERT_EQUAL(!!(flags & VL_OPCODE_FIRST), first);
	CU_ASSERT_EQUAL(!!(flags & VL_OPCODE_LAST), last);
	CU_ASSERT_EQUAL(packet.ack_request, last && roce->service == IBV_QPT_RC);
	CU_ASSERT_EQUAL(packet.vlan_present, config->path.vlan_present);
	CU_ASSERT_EQUAL(packet.priority, slot->priority);
	CU_ASSERT_EQUAL(packet.traffic_class, config->path.traffic_class);
	if (flags & VL_OPCODE_RETH) {
		CU_ASSERT_TRUE(first);
		CU_ASSERT_EQUAL(packet.remote_address,
				roce->remote_address + slot->flow * roce->address_step);
		CU_ASSERT_EQUAL(packet.rkey, roce->rkey);
		CU_ASSERT_EQUAL(packet.dma_length, length);
	}
	if (flags & VL_OPCODE_DETH) {
		CU_ASSERT_EQUAL(packet.qkey, roce->qkey);
		CU_ASSERT_EQUAL(packet.source_qpn, LOCAL_QPN + slot->flow);
	}
	if (flags & VL_OPCODE_IMMDT)
		CU_ASSERT_EQUAL(packet.immediate, roce->immediate);
	flow->psn = (flow->psn + 1) & 0xffffff;
	flow->offset += payload;
	if (last) {
		flow->offset = 0;
		flow->message = (flow->message + 1) % config->size_count;
		flow->messages++;
	}
}

static void check_sequence(struct vl_stream_config *config, uint32_t frames)
{
	struct expected_flow flows[3] = {0};
	struct vl_stream_slot slots[BUFFERS];
	uint32_t count = 0;

	config->flow_count = 3;
	for (uint32_t i = 0; i < 3; i++)
		flows[i].psn = (0xfffffe + 3 * i) & 0xffffff;
	stream_test_open(config, 0);
	while (count < frames) {
		uint32_t made = stream_test_make(0, slots, BUFFERS);

		CU_ASSERT_EQUAL_FATAL(made, BUFFERS);
		for (uint32_t i = 0; i < made; i++, count++) {
			/* One frame of each flow in turn. */
			CU_ASSERT_EQUAL_FATAL(slots[i].flow, count % 3);
			check_roce_frame(config, &slots[i], &flows[slots[i].flow]);
		}
	}
	CU_ASSERT_EQUAL(vl_stream_counters(stream)->frames_tx, count);
	for (uint32_t i = 0; i < 3; i++) {
		struct vl_stream_flow_report report = vl_stream_flow_report(stream, i, 0);

		CU_ASSERT_EQUAL(report.message_tx, flows[i].messages);
		CU_ASSERT_EQUAL(report.next_psn, flows[i].psn);
		CU_ASSERT_EQUAL(report.local_qpn, LOCAL_QPN + i);
	}
	stream_test_close();
}

static void check_every_kind_of_frame(void)
{
	static const struct vl_stream_size sizes[] = {{0, 1},    {1, 1},    {2, 1},    {3, 1},
						      {4, 1},    {1023, 1}, {1024, 1}, {1025, 1},
						      {2048, 1}, {3077, 1}, {64, 1},   {10000, 1}};
	static const struct {
		enum ibv_qp_type service;
		enum ibv_wr_opcode verb;
	} kinds[] = {
		{IBV_QPT_RC, IBV_WR_RDMA_WRITE}, {IBV_QPT_RC, IBV_WR_RDMA_WRITE_WITH_IMM},
		{IBV_QPT_RC, IBV_WR_SEND},       {IBV_QPT_RC, IBV_WR_SEND_WITH_IMM},
		{IBV_QPT_UC, IBV_WR_RDMA_WRITE}, {IBV_QPT_UC, IBV_WR_SEND},
		{IBV_QPT_UD, IBV_WR_SEND},       {IBV_QPT_UD, IBV_WR_SEND_WITH_IMM},
	};

	for (unsigned int i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		for (unsigned int form = 0; form < 4; form++) {
			bool ud = kinds[i].service == IBV_QPT_UD;
			struct vl_stream_config config = stream_test_config(
				kinds[i].service, kinds[i].verb, sizes, ud ? 7 : 12);

			config.path = stream_test_path(form & 1, form & 2);
			check_sequence(&config, 400);
		}
	}
}

static void check_every_length(void)
{
	static struct vl_stream_size sizes[4097];
	struct vl_stream_config config =
		stream_test_config(IBV_QPT_RC, IBV_WR_RDMA_WRITE, sizes,
				   vl_stream_size_range(0, 4096, 1, sizes, 4097));

	config.roce.path_mtu = 4096;
	check_sequence(&config, 3 * 4097);
}

static void check_addresses_within_region(void)
{
	static const struct vl_stream_size sizes[] = {{1000, 1}, {3000, 1}, {500, 1}};
	struct vl_stream_config config =
		stream_test_config(IBV_QPT_UC, IBV_WR_RDMA_WRITE, sizes, 3);
	static const uint64_t starts[] = {0, 1000, 4000, 0, 1000, 4000, 0};
	struct vl_stream_slot slot[1];
	unsigned int messages = 0;

	config.roce.region_length = 4999;
	stream_test_open(&config, 0);
	while (messages < 7) {
		struct vl_packet packet;

		CU_ASSERT_EQUAL_FATAL(stream_test_make(0, slot, 1), 1);
		vl_parse(&packet, VL_LINK_ETHERNET, slot->data, slot->length, slot->length);
		if (packet.info->flags & VL_OPCODE_RETH) {
			CU_ASSERT_EQUAL(packet.remote_address, 0xfffffff0 + starts[messages]);
			messages++;
		}
	}
	stream_test_close();
}

/* ---- Real queue pairs ------------------------------------------------------------------------ */

static struct endpoint two;

static struct vl_qp *open_receiver(enum ibv_qp_type type)
{
	struct ibv_qp_attr attr = qp_attr(1, LOCAL_QPN, 0xfffffe, 5);
	struct vl_qp *qp;

	CU_ASSERT_TRUE_FATAL(endpoint_open(&two, 2));
	qp = make_qp(&two, type);
	CU_ASSERT_PTR_NOT_NULL_FATAL(qp);
	CU_ASSERT_EQUAL_FATAL(bring_up(qp, type, &attr, IBV_QPS_RTS), 0);
	return qp;
}

static void check_write_is_taken(enum ibv_qp_type type)
{
	static const struct vl_stream_size sizes[] = {{5000, 1}};
	struct vl_qp *qp = open_receiver(type);
	struct vl_stream_config config = stream_test_config(type, IBV_WR_RDMA_WRITE, sizes, 1);
	uint8_t bytes[FRAME_CAPACITY];
	struct vl_frame frame = {.data = bytes, .capacity = sizeof(bytes)};
	unsigned int acks = 0;

	config.roce.remote_qpn = vl_qp_number(qp);
	config.roce.remote_address = (uintptr_t)two.arena + 3;
	config.roce.rkey = two.mr->rkey;
	config.roce.region_length = 50000;
	config.message_limit = 10;
	stream_test_open(&config, 0);
	while (vl_stream_group_transmit(group, 0, &frame)) {
		struct vl_packet packet;
		uint32_t length;

		deliver_frame(&two, frame.data, frame.length, 0);
		while ((length = take_frame(&two, bytes, 0))) {
			vl_parse(&packet, VL_LINK_ETHERNET, bytes, length, length);
			CU_ASSERT_TRUE(vl_stream_group_receive(group, &packet, 0));
			acks++;
		}
	}
	CU_ASSERT_TRUE(vl_stream_is_done(stream, 0));
	CU_ASSERT_EQUAL(vl_stream_counters(stream)->frames_tx, 50);
	CU_ASSERT_EQUAL(vl_stream_counters(stream)->message_tx, 10);
	CU_ASSERT_EQUAL(vl_stream_counters(stream)->ack_rx, acks);
	CU_ASSERT_EQUAL(acks, type == IBV_QPT_RC ? 10 : 0);
	CU_ASSERT_EQUAL(vl_qp_counters(qp)->data_bytes_rx, 50000);
	for (uint32_t i = 0; i < 50000; i++) {
		if (two.arena[3 + i] != pattern[i % 5000 % 1024 % 8]) {
			CU_FAIL("the memory is not what was sent");
			break;
		}
	}
	stream_test_close();
	endpoint_close(&two);
}

static void check_writes_are_taken(void)
{
	check_write_is_taken(IBV_QPT_RC);
	check_write_is_taken(IBV_QPT_UC);
}

/* A port that takes shorter frames than the stream makes: none leaves, and each is counted. */
static void check_too_long_is_counted(void)
{
	static const struct vl_stream_size sizes[] = {{1000, 1}};
	struct vl_stream_config config =
		stream_test_config(IBV_QPT_RC, IBV_WR_RDMA_WRITE, sizes, 1);
	uint8_t bytes[100];
	struct vl_frame frame = {.data = bytes, .capacity = sizeof(bytes)};

	stream_test_open(&config, 0);
	CU_ASSERT_FALSE(vl_stream_group_transmit(group, 0, &frame));
	CU_ASSERT_TRUE(vl_stream_counters(stream)->frames_tx > 0);
	CU_ASSERT_EQUAL(vl_stream_counters(stream)->too_long_tx,
			vl_stream_counters(stream)->frames_tx);
	stream_test_close();
}

/* A SEND without a receive posted is answered with an RNR NAK, and what follows not at all. */
static void check_naks_are_counted(void)
{
	static const struct vl_stream_size sizes[] = {{100, 1}};
	struct vl_qp *qp = open_receiver(IBV_QPT_RC);
	struct vl_stream_config config = stream_test_config(IBV_QPT_RC, IBV_WR_SEND, sizes, 1);
	uint8_t bytes[FRAME_CAPACITY];
	struct vl_frame frame = {.data = bytes, .capacity = sizeof(bytes)};
	struct vl_packet packet;
	uint32_t length;

	config.roce.remote_qpn = vl_qp_number(qp);
	stream_test_open(&config, 0);
	for (int i = 0; i < 3; i++) {
		CU_ASSERT_TRUE_FATAL(vl_stream_group_transmit(group, 0, &frame));
		if (i)
			continue;
		deliver_frame(&two, frame.data, frame.length, 0);
		length = take_frame(&two, bytes, 0);
		vl_parse(&packet, VL_LINK_ETHERNET, bytes, length, length);
		CU_ASSERT_TRUE(vl_stream_group_receive(group, &packet, 0));
	}
	CU_ASSERT_EQUAL(vl_stream_counters(stream)->rnr_nak_rx, 1);
	packet.destination_qpn = LOCAL_QPN + 1;
	CU_ASSERT_FALSE(vl_stream_group_receive(group, &packet, 0));
	stream_test_close();
	endpoint_close(&two);
}

/* ---- Stateless ------------------------------------------------------------------------------- */

static uint32_t sum_of(uint32_t sum, const uint8_t *bytes, uint32_t length)
{
	for (uint32_t i = 0; i < length; i++)
		sum += (uint32_t)bytes[i] << (i & 1 ? 0 : 8);
	return sum;
}

static uint16_t folded(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum >> 16) + (sum & 0xffff);
	return (uint16_t)sum;
}

static void check_stateless(enum vl_stream_kind kind, bool ipv6)
{
	struct vl_stream_config config = {
		.kind = kind,
		.path = stream_test_path(ipv6, false),
		.source_port_count = 3,
		.flow_count = 3,
		.destination_port = 9,
		.sizes = vl_stream_imix,
		.size_count = 3,
		.seed = 1,
	};
	struct vl_stream_slot slots[BUFFERS];
	struct vl_stream_size adapted[3] = {{74, 7}, {590, 4}, {1514, 1}};
	uint32_t lengths[3] = {0}, protocol = kind == VL_STREAM_TCP ? 6 : 17;

	if (ipv6)
		config.sizes = adapted;
	stream_test_open(&config, 0);
	for (int round = 0; round < 12 * 3; round++) {
		CU_ASSERT_EQUAL_FATAL(stream_test_make(0, slots, BUFFERS), BUFFERS);
		for (uint32_t i = 0; i < BUFFERS; i++) {
			const uint8_t *ip = slots[i].data + 14, *transport = ip + (ipv6 ? 40 : 20);
			uint32_t length = slots[i].length - (ipv6 ? 54 : 34);
			uint32_t pseudo = ipv6 ? sum_of(protocol + length, ip + 8, 32)
					       : sum_of(protocol + length, ip + 12, 8);

			CU_ASSERT_EQUAL(folded(sum_of(pseudo, transport, length)), 0xffff);
			if (!ipv6)
				CU_ASSERT_EQUAL(folded(sum_of(0, ip, 20)), 0xffff);
			CU_ASSERT_EQUAL(ip[ipv6 ? 6 : 9], protocol);
			CU_ASSERT_EQUAL(folded(sum_of(0, transport, 2)), 0xc000 + slots[i].flow);
			CU_ASSERT_EQUAL(transport[3], 9);
			lengths[slots[i].length == config.sizes[0].bytes   ? 0
				: slots[i].length == config.sizes[1].bytes ? 1
									   : 2]++;
		}
	}
	/* 180 frames, 60 of each flow: five whole cycles. */
	CU_ASSERT_EQUAL(lengths[0], 105);
	CU_ASSERT_EQUAL(lengths[1], 60);
	CU_ASSERT_EQUAL(lengths[2], 15);
	stream_test_close();
}

static void check_stateless_frames(void)
{
	check_stateless(VL_STREAM_UDP, false);
	check_stateless(VL_STREAM_UDP, true);
	check_stateless(VL_STREAM_TCP, false);
	check_stateless(VL_STREAM_TCP, true);
}

static void check_raw_frames(void)
{
	static uint8_t raw[1000];
	static const struct vl_stream_size sizes[] = {{1000, 1}, {1500, 1}};
	struct vl_stream_config config = {.kind = VL_STREAM_RAW, .raw = raw};
	struct vl_stream_slot slots[2];

	for (uint32_t i = 0; i < sizeof(raw); i++)
		raw[i] = (uint8_t)(i * 31 + 7);
	for (config.raw_length = 14; config.raw_length <= sizeof(raw); config.raw_length += 58) {
		stream_test_open(&config, 0);
		CU_ASSERT_EQUAL(stream_test_make(0, slots, 2), 2);
		CU_ASSERT_EQUAL(slots[0].length, config.raw_length);
		CU_ASSERT_EQUAL(memcmp(slots[1].data, raw, config.raw_length), 0);
		stream_test_close();
	}
	config.raw_length = sizeof(raw);
	config.sizes = sizes;
	config.size_count = 2;
	config.sizes_in_order = true;
	config.pattern = pattern;
	config.pattern_length = 8;
	stream_test_open(&config, 0);
	CU_ASSERT_EQUAL(stream_test_make(0, slots, 2), 2);
	CU_ASSERT_EQUAL(slots[0].length, 1000);
	CU_ASSERT_EQUAL(slots[1].length, 1500);
	CU_ASSERT_EQUAL(memcmp(slots[1].data, raw, 1000), 0);
	CU_ASSERT_EQUAL(memcmp(slots[1].data + 1000, pattern, 8), 0);
	stream_test_close();
}

/* ---- Wrong configurations -------------------------------------------------------------------- */

static void refuse(const struct vl_stream_config *config, const char *field)
{
	struct vl_stream_group *groups = vl_stream_group_create();
	struct vl_error error = {.text = ""};

	CU_ASSERT_PTR_NULL(vl_stream_group_add(groups, config, 0, &error));
	if (!strstr(error.text, field))
		fprintf(stderr, "%s: %s\n", field, error.text);
	CU_ASSERT_PTR_NOT_NULL(strstr(error.text, field));
	vl_stream_group_destroy(groups);
}

static void check_refusals(void)
{
	static const struct vl_stream_size sizes[] = {{100, 1}}, none[] = {{100, 0}},
					   large[] = {{2000, 1}}, many[] = {{100, 20000}};
	const struct vl_stream_config good = stream_test_config(IBV_QPT_UD, IBV_WR_SEND, sizes, 1);
	struct vl_stream_config config;

#define REFUSE(field, change)                                                                      \
	do {                                                                                       \
		config = good;                                                                     \
		change;                                                                            \
		refuse(&config, field);                                                            \
	} while (0)
	REFUSE("verb", config.roce.verb = IBV_WR_RDMA_WRITE);
	REFUSE("service", config.roce.service = IBV_QPT_RAW_PACKET);
	REFUSE("path_mtu", config.roce.path_mtu = 1000);
	REFUSE("sizes", config.size_count = 0);
	REFUSE("sizes", config.sizes = none);
	REFUSE("sizes", config.sizes = large);
	REFUSE("sizes", config.sizes = many);
	REFUSE("flow_count", config.flow_count = VL_STREAM_MAX_FLOWS + 1);
	REFUSE("local_qpn", config.roce.local_qpn = 0xffffff);
	REFUSE("remote_qpn", config.flow_count = 3; config.roce.remote_qpn_step = 0xff0000);
	REFUSE("ack_request_packets", config.roce.ack_request_packets = 0x10000);
	REFUSE("source_port_count", config.source_port_count = 0x4001);
	REFUSE("path", config.path.source_gid = ipv6_gid(1));
	REFUSE("path", config.path.encapsulation = VL_ENCAPSULATION_IB_LOCAL);
	REFUSE("priority", config.path.priority = 8);
	REFUSE("burst", config.burst = 1001);
	REFUSE("bits_per_second", config.bits_per_second = 10);
	REFUSE("frames_per_second", config.frames_per_second = -1);
	REFUSE("one of them", config.bits_per_second = 1000000; config.frames_per_second = 5);
	REFUSE("messages_per_second", config.kind = VL_STREAM_UDP; config.messages_per_second = 5);
	REFUSE("raw", config.kind = VL_STREAM_RAW);
	REFUSE("pattern_length", config.pattern_length = 0);
#undef REFUSE
	stream_test_open(&good, 0);
	CU_ASSERT_PTR_NULL(vl_stream_group_add(group, &good, 0, NULL));
	stream_test_close();
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"every kind of frame is right, in the order of its flow",
		 check_every_kind_of_frame},
		{"every length of a message gives right frames", check_every_length},
		{"addresses walk through the region", check_addresses_within_region},
		{"queue pairs take WRITEs, and their ACKs are counted", check_writes_are_taken},
		{"frames that are too long for the port are counted", check_too_long_is_counted},
		{"NAKs are counted, and only for the stream's own QPNs", check_naks_are_counted},
		{"UDP and TCP frames have right checksums and proportions", check_stateless_frames},
		{"raw frames are what was given", check_raw_frames},
		{"wrong configurations are refused by name", check_refusals},
	};

	return RUN_SUITE("stream", tests, argc, argv);
}
