/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Unreliable datagrams and QP1 between two devices. */

#include "tests/support/endpoint.h"
#include "tests/support/suite.h"

#define GRH 40

static struct endpoint one, two;
static struct vl_qp *sender, *receiver;
static struct ibv_ah *ah;

static struct vl_qp *make_datagram(struct endpoint *endpoint, uint32_t qkey)
{
	struct ibv_qp_attr attr = qp_attr(0, 0, 0, 0x123456);
	struct vl_qp *qp = make_qp(endpoint, IBV_QPT_UD);

	attr.qkey = qkey;
	CU_ASSERT_EQUAL(bring_up(qp, IBV_QPT_UD, &attr, IBV_QPS_RTS), 0);
	return qp;
}

static void setup(void)
{
	struct ibv_qp_attr attr = qp_attr(2, 0, 0, 0);

	CU_ASSERT_TRUE_FATAL(endpoint_open(&one, 1));
	CU_ASSERT_TRUE_FATAL(endpoint_open(&two, 2));
	sender = make_datagram(&one, TEST_QKEY + 1);
	receiver = make_datagram(&two, TEST_QKEY);
	ah = vl_create_ah(one.pd, &attr.ah_attr, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(ah);
	for (uint32_t i = 0; i < ARENA_SIZE; i++)
		one.arena[i] = (uint8_t)(i * 13 + i / 253);
}

static void teardown(void)
{
	CU_ASSERT_EQUAL(endpoint_close(&one), 0);
	CU_ASSERT_EQUAL(endpoint_close(&two), 0);
}

static uint64_t drops(enum vl_drop reason)
{
	return vl_device_drops(two.device)[reason];
}

static int send_to(struct ibv_ah *address, uint32_t qkey, struct ibv_sge sge, bool immediate)
{
	struct ibv_send_wr wr = {
		.wr_id = 4,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = immediate ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.imm_data = htobe32(0xcafe),
		.wr.ud = {.ah = address, .remote_qpn = vl_qp_number(receiver), .remote_qkey = qkey},
	};

	return post(sender, &wr);
}

static void check_over_ipv4(void)
{
	static const uint32_t lengths[] = {0, 1, 4, 1000, 4096};
	uint8_t frame[FRAME_CAPACITY], nothing[20] = {0};
	struct ibv_wc wc;

	setup();
	for (unsigned int i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		uint32_t length = lengths[i], frame_length;

		memset(two.arena, 0xee, 8192);
		post_receive(receiver, i, arena_sge(&two, 0, GRH + length));
		CU_ASSERT_EQUAL(send_to(ah, TEST_QKEY, arena_sge(&one, 5, length), i & 1), 0);
		frame_length = take_frame(&one, frame, 0);
		CU_ASSERT_EQUAL(frame_length,
				14 + 20 + 8 + 12 + 8 + (i & 1 ? 4 : 0) + (length + 3) / 4 * 4 + 4);
		deliver_frame(&two, frame, frame_length, 0);
		CU_ASSERT_EQUAL(take_frame(&one, frame, 0), 0);
		CU_ASSERT_EQUAL(vl_poll_cq(one.send_cq, 1, &wc), 1);
		CU_ASSERT_EQUAL(wc.status, IBV_WC_SUCCESS);
		CU_ASSERT_EQUAL(vl_poll_cq(two.recv_cq, 1, &wc), 1);
		CU_ASSERT_EQUAL(wc.status, IBV_WC_SUCCESS);
		CU_ASSERT_EQUAL(wc.wr_id, i);
		CU_ASSERT_EQUAL(wc.byte_len, GRH + length);
		CU_ASSERT_EQUAL(wc.src_qp, vl_qp_number(sender));
		CU_ASSERT_EQUAL(wc.wc_flags, IBV_WC_GRH | (i & 1 ? IBV_WC_WITH_IMM : 0));
		CU_ASSERT_TRUE(!(i & 1) || wc.imm_data == htobe32(0xcafe));
		/* 20 bytes of nothing, the IPv4 header as it came, the message, and no more. */
		CU_ASSERT_EQUAL(memcmp(two.arena, nothing, 20), 0);
		CU_ASSERT_EQUAL(memcmp(two.arena + 20, frame + 14, 20), 0);
		CU_ASSERT_EQUAL(two.arena[20], 0x45);
		CU_ASSERT_EQUAL(memcmp(two.arena + GRH, one.arena + 5, length), 0);
		CU_ASSERT_EQUAL(two.arena[GRH + length], 0xee);
	}
	CU_ASSERT_EQUAL(vl_qp_counters(receiver)->message_rx, 5);
	CU_ASSERT_EQUAL(vl_qp_counters(sender)->message_tx, 5);
	teardown();
}

static void check_over_ipv6(void)
{
	struct ibv_qp_attr attr = qp_attr(2, 0, 0, 0);
	uint8_t frame[FRAME_CAPACITY];
	struct ibv_wc wc;
	struct ibv_ah *ipv6;
	uint32_t length;

	setup();
	attr.ah_attr.grh.dgid = ipv6_gid(2);
	attr.ah_attr.grh.sgid_index = 1;
	attr.ah_attr.grh.flow_label = 0x12345;
	ipv6 = vl_create_ah(one.pd, &attr.ah_attr, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(ipv6);
	post_receive(receiver, 1, arena_sge(&two, 0, 200));
	CU_ASSERT_EQUAL(send_to(ipv6, TEST_QKEY, arena_sge(&one, 0, 100), false), 0);
	length = take_frame(&one, frame, 0);
	CU_ASSERT_EQUAL(length, 14 + 40 + 8 + 12 + 8 + 100 + 4);
	deliver_frame(&two, frame, length, 0);
	CU_ASSERT_EQUAL(vl_poll_cq(two.recv_cq, 1, &wc), 1);
	CU_ASSERT_EQUAL(wc.byte_len, 140);
	CU_ASSERT_EQUAL(memcmp(two.arena, frame + 14, 40), 0);
	CU_ASSERT_EQUAL(memcmp(two.arena, "\x60\x21\x23\x45", 4), 0);
	CU_ASSERT_EQUAL(memcmp(two.arena + 40, one.arena, 100), 0);
	teardown();
}

/* Without a GRH on InfiniBand the area stays as it was. */
static void check_over_infiniband(void)
{
	struct vl_device_config config;
	struct endpoint *endpoints[2] = {&one, &two};
	struct ibv_ah_attr attr = {.dlid = 2, .sl = 3, .port_num = 1};
	uint8_t frame[FRAME_CAPACITY];
	struct ibv_wc wc;
	uint32_t length;

	for (uint8_t i = 0; i < 2; i++) {
		memset(endpoints[i], 0, sizeof(*endpoints[i]));
		config = endpoint_config(endpoints[i], i + 1);
		config.gid_count = 1;
		config.gids[0].encapsulation = VL_ENCAPSULATION_IB_LOCAL;
		CU_ASSERT_TRUE_FATAL(endpoint_open_with(endpoints[i], &config));
	}
	sender = make_datagram(&one, TEST_QKEY);
	receiver = make_datagram(&two, TEST_QKEY);
	ah = vl_create_ah(one.pd, &attr, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(ah);
	memset(two.arena, 0xee, 200);
	post_receive(receiver, 1, arena_sge(&two, 0, 200));
	CU_ASSERT_EQUAL(send_to(ah, TEST_QKEY, arena_sge(&one, 0, 100), false), 0);
	length = take_frame(&one, frame, 0);
	CU_ASSERT_EQUAL(length, 8 + 12 + 8 + 100 + 4 + 2);
	vl_receive_frame(two.device, VL_LINK_INFINIBAND, frame, length, 0);
	CU_ASSERT_EQUAL(vl_poll_cq(two.recv_cq, 1, &wc), 1);
	CU_ASSERT_EQUAL(wc.byte_len, 140);
	CU_ASSERT_EQUAL(wc.wc_flags, 0);
	CU_ASSERT_EQUAL(wc.slid, 1);
	CU_ASSERT_EQUAL(wc.sl, 3);
	CU_ASSERT_EQUAL(two.arena[39], 0xee);
	CU_ASSERT_EQUAL(memcmp(two.arena + 40, one.arena, 100), 0);
	teardown();
}

static void check_keys_and_drops(void)
{
	struct ibv_sge bad;
	struct ibv_wc wc[4];

	setup();
	CU_ASSERT_EQUAL(send_to(ah, TEST_QKEY, arena_sge(&one, 0, 10), false), 0);
	exchange(&one, &two, 0);
	CU_ASSERT_EQUAL(drops(VL_DROP_no_receive), 1);
	/* Too long for the request, which stays for the next. */
	post_receive(receiver, 7, arena_sge(&two, 0, GRH + 9));
	CU_ASSERT_EQUAL(send_to(ah, TEST_QKEY, arena_sge(&one, 0, 10), false), 0);
	exchange(&one, &two, 0);
	CU_ASSERT_EQUAL(drops(VL_DROP_length), 1);
	CU_ASSERT_EQUAL(send_to(ah, TEST_QKEY + 5, arena_sge(&one, 0, 9), false), 0);
	/* The high-order bit: the sender's own Q_Key instead, another than the receiver's. */
	CU_ASSERT_EQUAL(send_to(ah, TEST_QKEY | 1u << 31, arena_sge(&one, 0, 9), false), 0);
	exchange(&one, &two, 0);
	CU_ASSERT_EQUAL(drops(VL_DROP_qkey), 2);
	CU_ASSERT_EQUAL(vl_poll_cq(two.recv_cq, 4, wc), 0);
	{
		struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS, .qkey = TEST_QKEY + 1};

		CU_ASSERT_EQUAL(vl_modify_qp(receiver, &attr, IBV_QP_STATE | IBV_QP_QKEY, 0), 0);
	}
	CU_ASSERT_EQUAL(send_to(ah, 1u << 31, arena_sge(&one, 0, 9), false), 0);
	exchange(&one, &two, 0);
	CU_ASSERT_EQUAL(vl_poll_cq(two.recv_cq, 4, wc), 1);
	CU_ASSERT_EQUAL(wc[0].wr_id, 7);

	/* The receiver's own mistake. */
	bad = arena_sge(&two, 0, 100);
	bad.lkey ^= 1;
	post_receive(receiver, 8, bad);
	CU_ASSERT_EQUAL(send_to(ah, 1u << 31, arena_sge(&one, 0, 9), false), 0);
	exchange(&one, &two, 0);
	CU_ASSERT_EQUAL(vl_poll_cq(two.recv_cq, 4, wc), 1);
	CU_ASSERT_EQUAL(wc[0].status, IBV_WC_LOC_PROT_ERR);
	CU_ASSERT_EQUAL(vl_qp_state(receiver), IBV_QPS_ERR);
	/* The sender's. */
	bad = arena_sge(&one, 0, 10);
	bad.lkey ^= 1;
	CU_ASSERT_EQUAL(vl_poll_cq(one.send_cq, 4, wc), 4);
	CU_ASSERT_EQUAL(vl_poll_cq(one.send_cq, 4, wc), 2);
	CU_ASSERT_EQUAL(send_to(ah, TEST_QKEY, bad, false), 0);
	CU_ASSERT_EQUAL(send_to(ah, TEST_QKEY, arena_sge(&one, 0, 10), false), 0);
	CU_ASSERT_EQUAL(exchange(&one, &two, 0), 0);
	CU_ASSERT_EQUAL(vl_qp_state(sender), IBV_QPS_SQE);
	CU_ASSERT_EQUAL(vl_poll_cq(one.send_cq, 4, wc), 2);
	CU_ASSERT_EQUAL(wc[0].status, IBV_WC_LOC_PROT_ERR);
	CU_ASSERT_EQUAL(wc[1].status, IBV_WC_WR_FLUSH_ERR);
	CU_ASSERT_EQUAL(vl_destroy_ah(ah), 0);
	teardown();
}

static void check_general_services(void)
{
	struct ibv_qp_attr attr = {.qkey = 0x80010000};
	static const int masks[] = {
		[IBV_QPS_INIT] = IBV_QP_PKEY_INDEX | IBV_QP_QKEY,
		[IBV_QPS_RTR] = 0,
		[IBV_QPS_RTS] = IBV_QP_SQ_PSN,
	};
	struct endpoint *endpoints[2] = {&one, &two};
	struct vl_qp *gsi[2];
	uint8_t frame[FRAME_CAPACITY];
	uint32_t length;
	struct ibv_wc wc;

	setup();
	for (int i = 0; i < 2; i++) {
		struct vl_qp_init_attr init = qp_init(endpoints[i], IBV_QPT_UD);

		init.gsi = true;
		gsi[i] = vl_create_qp(endpoints[i]->pd, &init, NULL);
		for (enum ibv_qp_state to = IBV_QPS_INIT; to <= IBV_QPS_RTS; to++) {
			attr.qp_state = to;
			CU_ASSERT_EQUAL(vl_modify_qp(gsi[i], &attr, IBV_QP_STATE | masks[to], 0),
					0);
		}
	}
	sender = gsi[0];
	receiver = gsi[1];
	post_receive(receiver, 3, arena_sge(&two, 0, GRH + 256));
	CU_ASSERT_EQUAL(send_to(ah, 0x80010000, arena_sge(&one, 0, 256), false), 0);
	length = take_frame(&one, frame, 0);
	CU_ASSERT_EQUAL(length, 322);
	/* Destination QP 1; Q_Key 0x80010000, source QP 1. */
	CU_ASSERT_EQUAL(memcmp(frame + 42 + 5, "\0\0\x01", 3), 0);
	CU_ASSERT_EQUAL(memcmp(frame + 54, "\x80\x01\0\0\0\0\0\x01", 8), 0);
	deliver_frame(&two, frame, length, 0);
	CU_ASSERT_EQUAL(vl_poll_cq(two.recv_cq, 1, &wc), 1);
	CU_ASSERT_EQUAL(wc.src_qp, 1);
	CU_ASSERT_EQUAL(wc.byte_len, 296);
	CU_ASSERT_EQUAL(wc.pkey_index, 0);
	CU_ASSERT_EQUAL(memcmp(two.arena + GRH, one.arena, 256), 0);
	teardown();
}

/* Datagrams of one QP go at the priorities of their AHs, and each stops with its own. */
static void check_priorities(void)
{
	struct ibv_qp_attr attr = qp_attr(2, 0, 0, 0);
	struct vl_outgoing outgoing;
	uint8_t headers[VL_MAX_HEADER_LENGTH];
	struct ibv_ah *high;

	setup();
	attr.ah_attr.sl = 6;
	high = vl_create_ah(one.pd, &attr.ah_attr, NULL);
	CU_ASSERT_EQUAL(send_to(ah, 1, arena_sge(&one, 0, 10), false), 0);
	CU_ASSERT_EQUAL(send_to(high, 1, arena_sge(&one, 0, 10), false), 0);
	CU_ASSERT_EQUAL(send_to(ah, 1, arena_sge(&one, 0, 10), false), 0);
	outgoing = (struct vl_outgoing){.headers = headers};
	vl_set_paused_priorities(one.device, 1 << 6);
	CU_ASSERT_TRUE(vl_transmit(one.device, 0, &outgoing));
	CU_ASSERT_EQUAL(outgoing.priority, 0);
	CU_ASSERT_FALSE(vl_transmit(one.device, 0, &outgoing));
	vl_set_paused_priorities(one.device, 1 << 0);
	CU_ASSERT_TRUE(vl_transmit(one.device, 0, &outgoing));
	CU_ASSERT_EQUAL(outgoing.priority, 6);
	CU_ASSERT_FALSE(vl_transmit(one.device, 0, &outgoing));
	vl_set_paused_priorities(one.device, 0);
	CU_ASSERT_TRUE(vl_transmit(one.device, 0, &outgoing));
	CU_ASSERT_EQUAL(outgoing.priority, 0);
	CU_ASSERT_FALSE(vl_transmit(one.device, 0, &outgoing));
	/* From idle, too. */
	vl_set_paused_priorities(one.device, 1 << 0);
	CU_ASSERT_EQUAL(send_to(high, 1, arena_sge(&one, 0, 10), false), 0);
	CU_ASSERT_TRUE(vl_transmit(one.device, 0, &outgoing));
	CU_ASSERT_EQUAL(outgoing.priority, 6);
	/* While draining: the request that has gone out still completes. */
	{
		struct ibv_qp_attr drain = {.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1};

		CU_ASSERT_EQUAL(
			vl_modify_qp(sender, &drain, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY, 0),
			0);
		vl_set_paused_priorities(one.device, 0);
		CU_ASSERT_EQUAL(send_to(ah, 1, arena_sge(&one, 0, 10), false), 0);
		CU_ASSERT_FALSE(vl_transmit(one.device, 0, &outgoing));
		CU_ASSERT_EQUAL(count_events(&one, IBV_EVENT_SQ_DRAINED), 1);
	}
	teardown();
}

/* The UDP source port is the QP's if it has one; else the AH's, by chance of the device's seed. */
static void check_udp_source_port(void)
{
	uint8_t first[FRAME_CAPACITY], second[FRAME_CAPACITY];

	setup();
	CU_ASSERT_EQUAL(send_to(ah, 1, arena_sge(&one, 0, 4), false), 0);
	CU_ASSERT_TRUE(take_frame(&one, first, 0) > 0);
	CU_ASSERT_TRUE(first[34] >= 0xc0);
	CU_ASSERT_EQUAL(vl_set_udp_source_port(sender, 0xc777), 0);
	CU_ASSERT_EQUAL(send_to(ah, 1, arena_sge(&one, 0, 4), false), 0);
	CU_ASSERT_TRUE(take_frame(&one, second, 0) > 0);
	CU_ASSERT_EQUAL(second[34] << 8 | second[35], 0xc777);
	teardown();
	/* The same seed, the same bytes. */
	setup();
	CU_ASSERT_EQUAL(send_to(ah, 1, arena_sge(&one, 0, 4), false), 0);
	CU_ASSERT_TRUE(take_frame(&one, second, 0) > 0);
	CU_ASSERT_EQUAL(memcmp(first, second, 70), 0);
	teardown();
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"over_ipv4", check_over_ipv4},
		{"over_ipv6", check_over_ipv6},
		{"over_infiniband", check_over_infiniband},
		{"keys_and_drops", check_keys_and_drops},
		{"general_services", check_general_services},
		{"priorities", check_priorities},
		{"udp_source_port", check_udp_source_port},
	};

	return RUN_SUITE("ud", tests, argc, argv);
}
