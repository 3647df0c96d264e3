/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Unreliable connection between two devices: what arrives, what is dropped and why. */

#include "tests/support/endpoint.h"
#include "tests/support/suite.h"
#include "transport/wire/parse.h"
#include "transport/wire/path.h"

#define MTU 1024

static struct endpoint one, two;
static struct vl_qp *qps[2];

static void setup(void)
{
	CU_ASSERT_TRUE_FATAL(endpoint_open(&one, 1));
	CU_ASSERT_TRUE_FATAL(endpoint_open(&two, 2));
	/* The second packet of the requester wraps. */
	CU_ASSERT_TRUE_FATAL(connect_pair(&one, &two, IBV_QPT_UC, 0xffffff, 5, qps));
	for (uint32_t i = 0; i < ARENA_SIZE; i++)
		one.arena[i] = (uint8_t)(i * 7 + i / 251);
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

static struct ibv_send_wr write_to(uint64_t wr_id, struct ibv_sge *sge, uint32_t offset)
{
	return (struct ibv_send_wr){
		.wr_id = wr_id,
		.sg_list = sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {.remote_addr = (uintptr_t)two.arena + offset, .rkey = two.mr->rkey},
	};
}

/* Carries what the requester has to send, without the packets whose bit is set in lost. */
static unsigned int carry(uint64_t lost)
{
	uint8_t frame[FRAME_CAPACITY];
	unsigned int count = 0;
	uint32_t length;

	while ((length = take_frame(&one, frame, 0))) {
		if (!(lost >> count++ & 1))
			deliver_frame(&two, frame, length, 0);
	}
	return count;
}

static void check_messages(void)
{
	static const uint32_t lengths[] = {0, 1, MTU - 1, MTU, MTU + 1, 3 * MTU, 5 * MTU + 3};
	struct ibv_wc wc;

	setup();
	for (unsigned int i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		uint32_t length = lengths[i], packets = length ? (length + MTU - 1) / MTU : 1;

		for (int immediate = 0; immediate < 2; immediate++) {
			struct ibv_sge sge = arena_sge(&one, 17, length);
			struct ibv_send_wr wr = {.wr_id = i,
						 .sg_list = &sge,
						 .num_sge = 1,
						 .opcode = immediate ? IBV_WR_SEND_WITH_IMM
								     : IBV_WR_SEND,
						 .send_flags = IBV_SEND_SIGNALED,
						 .imm_data = htobe32(0x01020304)};

			memset(two.arena, 0, 8192);
			CU_ASSERT_EQUAL(post_receive(qps[1], 50 + i, arena_sge(&two, 3, 8000)), 0);
			CU_ASSERT_EQUAL(post(qps[0], &wr), 0);
			CU_ASSERT_EQUAL(carry(0), packets);
			CU_ASSERT_EQUAL(vl_poll_cq(one.send_cq, 1, &wc), 1);
			CU_ASSERT_EQUAL(wc.status, IBV_WC_SUCCESS);
			CU_ASSERT_EQUAL(wc.opcode, IBV_WC_SEND);
			CU_ASSERT_EQUAL(vl_poll_cq(two.recv_cq, 1, &wc), 1);
			CU_ASSERT_EQUAL(wc.status, IBV_WC_SUCCESS);
			CU_ASSERT_EQUAL(wc.wr_id, 50 + i);
			CU_ASSERT_EQUAL(wc.opcode, IBV_WC_RECV);
			CU_ASSERT_EQUAL(wc.byte_len, length);
			CU_ASSERT_EQUAL(wc.wc_flags, immediate ? IBV_WC_WITH_IMM : 0);
			CU_ASSERT_TRUE(!immediate || wc.imm_data == htobe32(0x01020304));
			CU_ASSERT_EQUAL(memcmp(two.arena + 3, one.arena + 17, length), 0);
			CU_ASSERT_EQUAL(two.arena[3 + length], 0);

			/* The same as a WRITE. */
			wr = write_to(i, &sge, 20000);
			wr.imm_data = htobe32(7);
			if (immediate) {
				wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
				CU_ASSERT_EQUAL(post_receive(qps[1], 70, arena_sge(&two, 0, 0)), 0);
			}
			memset(two.arena + 20000, 0, 8192);
			CU_ASSERT_EQUAL(post(qps[0], &wr), 0);
			CU_ASSERT_EQUAL(carry(0), packets);
			CU_ASSERT_EQUAL(memcmp(two.arena + 20000, one.arena + 17, length), 0);
			CU_ASSERT_EQUAL(two.arena[20000 + length], 0);
			CU_ASSERT_EQUAL(vl_poll_cq(one.send_cq, 1, &wc), 1);
			CU_ASSERT_EQUAL(wc.opcode, IBV_WC_RDMA_WRITE);
			CU_ASSERT_EQUAL(vl_poll_cq(two.recv_cq, 1, &wc), immediate);
			if (immediate) {
				CU_ASSERT_EQUAL(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
				CU_ASSERT_EQUAL(wc.byte_len, length);
				CU_ASSERT_EQUAL(wc.imm_data, htobe32(7));
			}
		}
	}
	CU_ASSERT_EQUAL(vl_qp_counters(qps[1])->message_rx, 28);
	CU_ASSERT_EQUAL(vl_qp_counters(qps[0])->message_tx, 28);
	CU_ASSERT_EQUAL(vl_qp_counters(qps[0])->data_frames_tx,
			vl_qp_counters(qps[1])->data_frames_rx);
	CU_ASSERT_EQUAL(vl_qp_counters(qps[0])->data_bytes_tx,
			vl_qp_counters(qps[1])->data_bytes_rx);
	for (int i = 0; i < VL_DROP_COUNT; i++)
		CU_ASSERT_EQUAL(drops((enum vl_drop)i), 0);
	teardown();
}

/* Three messages of four packets; each subset of the twelve is lost once. */
static void check_losses(void)
{
	for (uint64_t lost = 0; lost < 1u << 12; lost++) {
		struct ibv_wc wc[4];
		int arrived = 0, expected = 0;

		if (lost % 64 == 0)
			setup();
		for (int i = 0; i < 3; i++) {
			post_receive(qps[1], 1, arena_sge(&two, (uint32_t)i * 4096, 4096));
			post_send(qps[0], (uint64_t)i, arena_sge(&one, (uint32_t)i * 4096, 4096));
			expected += !(lost >> 4 * i & 15);
		}
		CU_ASSERT_EQUAL(carry(lost), 12);
		/* The requester neither knows nor cares. */
		CU_ASSERT_EQUAL(vl_poll_cq(one.send_cq, 4, wc), 3);
		arrived = vl_poll_cq(two.recv_cq, 4, wc);
		CU_ASSERT_EQUAL(arrived, expected);
		for (int i = 0; i < arrived; i++) {
			CU_ASSERT_EQUAL(wc[i].status, IBV_WC_SUCCESS);
			CU_ASSERT_EQUAL(wc[i].byte_len, 4096);
		}
		/* Receives of broken messages went to the next ones: the queue is in order. */
		for (int i = 0, whole = 0; i < 3; i++) {
			if (!(lost >> 4 * i & 15))
				CU_ASSERT_EQUAL(memcmp(two.arena + 4096 * whole++,
						       one.arena + 4096 * i, 4096),
						0);
		}
		set_state(qps[1], IBV_QPS_ERR);
		CU_ASSERT_EQUAL(vl_poll_cq(two.recv_cq, 4, wc), 3 - expected);
		if (lost % 64 == 63) {
			teardown();
			continue;
		}
		vl_destroy_qp(qps[0]);
		vl_destroy_qp(qps[1]);
		CU_ASSERT_TRUE_FATAL(connect_pair(&one, &two, IBV_QPT_UC, 0xffffff, 5, qps));
	}
}

static void check_gap_is_counted(void)
{
	struct ibv_wc wc;

	setup();
	post_receive(qps[1], 1, arena_sge(&two, 0, 8192));
	post_send(qps[0], 1, arena_sge(&one, 0, 4 * MTU));
	carry(1 << 1);
	/* The second is missing: the third is ahead, and belongs with the fourth to nothing. */
	CU_ASSERT_EQUAL(vl_qp_counters(qps[1])->frame_sequence_error, 1);
	CU_ASSERT_EQUAL(drops(VL_DROP_message), 2);
	CU_ASSERT_EQUAL(vl_poll_cq(two.recv_cq, 1, &wc), 0);
	post_send(qps[0], 1, arena_sge(&one, 0, 10));
	carry(0);
	CU_ASSERT_EQUAL(vl_qp_counters(qps[1])->frame_sequence_error, 1);
	CU_ASSERT_EQUAL(vl_poll_cq(two.recv_cq, 1, &wc), 1);
	CU_ASSERT_EQUAL(wc.wr_id, 1);
	teardown();
}

static void check_refused_writes(void)
{
	struct ibv_mr *read_only;
	struct ibv_sge sge;
	struct ibv_send_wr wr;

	setup();
	read_only = vl_reg_mr(two.pd, two.arena, ARENA_SIZE, (uintptr_t)two.arena,
			      IBV_ACCESS_REMOTE_READ, NULL);
	sge = arena_sge(&one, 0, 3 * MTU);
	/* Beyond the end by one byte: no part of it is written. */
	wr = write_to(1, &sge, ARENA_SIZE - 3 * MTU + 1);
	CU_ASSERT_EQUAL(post(qps[0], &wr), 0);
	CU_ASSERT_EQUAL(carry(0), 3);
	CU_ASSERT_EQUAL(drops(VL_DROP_access), 1);
	CU_ASSERT_EQUAL(drops(VL_DROP_message), 2);
	wr = write_to(1, &sge, 0);
	wr.wr.rdma.rkey ^= 1;
	CU_ASSERT_EQUAL(post(qps[0], &wr), 0);
	carry(0);
	CU_ASSERT_EQUAL(drops(VL_DROP_access), 2);
	wr.wr.rdma.rkey = read_only->rkey;
	CU_ASSERT_EQUAL(post(qps[0], &wr), 0);
	carry(0);
	CU_ASSERT_EQUAL(drops(VL_DROP_access), 3);
	for (uint32_t i = 0; i < ARENA_SIZE; i++) {
		if (two.arena[i]) {
			CU_FAIL("written");
			break;
		}
	}
	/* The region goes in the middle. */
	wr = write_to(1, &sge, 0);
	CU_ASSERT_EQUAL(post(qps[0], &wr), 0);
	{
		uint8_t frame[FRAME_CAPACITY];
		uint32_t length = take_frame(&one, frame, 0);

		deliver_frame(&two, frame, length, 0);
		vl_dereg_mr(two.mr);
		carry(0);
	}
	CU_ASSERT_EQUAL(drops(VL_DROP_access), 4);
	CU_ASSERT_EQUAL(memcmp(two.arena, one.arena, MTU), 0);
	CU_ASSERT_EQUAL(two.arena[MTU], 0);
	/* Nothing of it ends the connection. */
	CU_ASSERT_EQUAL(vl_qp_state(qps[1]), IBV_QPS_RTS);
	teardown();
}

/* Packets that no requester of ours would make: lengths that disagree with each other. */
static void check_malformed(void)
{
	static const struct {
		uint32_t packet; /* of the three of a WRITE of 3 * MTU - 4 */
		int32_t change;  /* of its payload length */
		uint32_t dma_length;
		bool dropped;
	} cases[] = {
		{0, 0, 3 * MTU - 4, false}, {0, -4, 3 * MTU - 4, true}, {1, -4, 3 * MTU - 4, true},
		{2, -4, 3 * MTU - 4, true}, {2, 0, 3 * MTU, true},      {2, 0, 3 * MTU - 8, true},
		{1, 0, 2 * MTU, true},      {0, 0, MTU, true},          {0, 0, 0, true},
		{0, 0, 0x80000001, true},
	};

	setup();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ibv_sge sge = arena_sge(&one, 0, 3 * MTU - 4);
		struct ibv_send_wr wr = write_to(1, &sge, 0);
		uint64_t before = drops(VL_DROP_length);

		CU_ASSERT_EQUAL(post(qps[0], &wr), 0);
		for (uint32_t n = 0; n < 3; n++) {
			uint8_t frame[FRAME_CAPACITY];
			struct vl_packet packet;
			uint32_t length = take_frame(&one, frame, 0);

			CU_ASSERT_EQUAL_FATAL(
				vl_parse(&packet, VL_LINK_ETHERNET, frame, length, length),
				VL_PARSE_ok);
			if (n == 0)
				packet.dma_length = cases[i].dma_length;
			if (n == cases[i].packet)
				packet.payload_length += (uint32_t)cases[i].change;
			vl_receive(two.device, &packet, 0);
		}
		CU_ASSERT_EQUAL(drops(VL_DROP_length) - before, cases[i].dropped);
	}
	CU_ASSERT_EQUAL(vl_qp_counters(qps[1])->message_rx, 1);
	teardown();
}

static void check_permission_of_the_qp(void)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS, .qp_access_flags = 0};
	struct ibv_sge sge;
	struct ibv_send_wr wr;

	setup();
	CU_ASSERT_EQUAL(vl_modify_qp(qps[1], &attr, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS, 0), 0);
	sge = arena_sge(&one, 0, 10);
	wr = write_to(1, &sge, 0);
	CU_ASSERT_EQUAL(post(qps[0], &wr), 0);
	carry(0);
	CU_ASSERT_EQUAL(drops(VL_DROP_access), 1);
	teardown();
}

static void check_receive_trouble(void)
{
	struct ibv_wc wc;
	struct ibv_sge sge;
	struct ibv_send_wr wr;

	setup();
	/* None posted. */
	post_send(qps[0], 1, arena_sge(&one, 0, 2 * MTU));
	carry(0);
	CU_ASSERT_EQUAL(drops(VL_DROP_no_receive), 1);
	CU_ASSERT_EQUAL(drops(VL_DROP_message), 1);
	sge = arena_sge(&one, 0, 10);
	wr = write_to(2, &sge, 0);
	wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	CU_ASSERT_EQUAL(post(qps[0], &wr), 0);
	carry(0);
	CU_ASSERT_EQUAL(drops(VL_DROP_no_receive), 2);
	/* Too small: the message is dropped, the request serves the next. */
	post_receive(qps[1], 9, arena_sge(&two, 0, 2 * MTU - 1));
	post_send(qps[0], 1, arena_sge(&one, 0, 2 * MTU));
	carry(0);
	CU_ASSERT_EQUAL(drops(VL_DROP_length), 1);
	CU_ASSERT_EQUAL(vl_poll_cq(two.recv_cq, 1, &wc), 0);
	post_send(qps[0], 1, arena_sge(&one, 0, 2 * MTU - 1));
	carry(0);
	CU_ASSERT_EQUAL(vl_poll_cq(two.recv_cq, 1, &wc), 1);
	CU_ASSERT_EQUAL(wc.wr_id, 9);
	CU_ASSERT_EQUAL(wc.byte_len, 2 * MTU - 1);
	/* A local key that does not hold is an error of the receiver. */
	sge = arena_sge(&two, 0, 100);
	sge.lkey ^= 1;
	post_receive(qps[1], 10, sge);
	post_receive(qps[1], 11, arena_sge(&two, 0, 100));
	post_send(qps[0], 1, arena_sge(&one, 0, 10));
	carry(0);
	CU_ASSERT_EQUAL(vl_poll_cq(two.recv_cq, 1, &wc), 1);
	CU_ASSERT_EQUAL(wc.wr_id, 10);
	CU_ASSERT_EQUAL(wc.status, IBV_WC_LOC_PROT_ERR);
	CU_ASSERT_EQUAL(vl_poll_cq(two.recv_cq, 1, &wc), 1);
	CU_ASSERT_EQUAL(wc.status, IBV_WC_WR_FLUSH_ERR);
	CU_ASSERT_EQUAL(vl_qp_state(qps[1]), IBV_QPS_ERR);
	teardown();
}

/* A bad key in the second of four requests: SQE, with a way back. */
static void check_send_queue_error(void)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS};
	struct ibv_sge bad;
	struct ibv_wc wc[8];

	setup();
	for (int i = 0; i < 4; i++)
		post_receive(qps[1], 20, arena_sge(&two, 0, 8192));
	bad = arena_sge(&one, 0, 2 * MTU);
	bad.lkey ^= 1;
	post_send(qps[0], 0, arena_sge(&one, 0, 2 * MTU));
	post_send(qps[0], 1, bad);
	post_send(qps[0], 2, arena_sge(&one, 0, 8));
	CU_ASSERT_EQUAL(carry(0), 2);
	CU_ASSERT_EQUAL(vl_qp_state(qps[0]), IBV_QPS_SQE);
	post_send(qps[0], 3, arena_sge(&one, 0, 8));
	CU_ASSERT_EQUAL(vl_poll_cq(one.send_cq, 8, wc), 4);
	CU_ASSERT_EQUAL(wc[0].status, IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(wc[1].status, IBV_WC_LOC_PROT_ERR);
	CU_ASSERT_EQUAL(wc[2].status, IBV_WC_WR_FLUSH_ERR);
	CU_ASSERT_EQUAL(wc[3].status, IBV_WC_WR_FLUSH_ERR);
	for (uint64_t i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(wc[i].wr_id, i);
	CU_ASSERT_EQUAL(vl_poll_cq(two.recv_cq, 8, wc), 1);
	/* It still receives. */
	post_receive(qps[0], 30, arena_sge(&one, 40000, 100));
	post_send(qps[1], 31, arena_sge(&two, 0, 8));
	exchange(&one, &two, 0);
	CU_ASSERT_EQUAL(vl_poll_cq(one.recv_cq, 8, wc), 1);

	CU_ASSERT_EQUAL(vl_modify_qp(qps[0], &attr, IBV_QP_STATE, 0), 0);
	post_send(qps[0], 4, arena_sge(&one, 100, 3 * MTU));
	CU_ASSERT_EQUAL(carry(0), 3);
	CU_ASSERT_EQUAL(vl_poll_cq(one.send_cq, 8, wc), 1);
	CU_ASSERT_EQUAL(wc[0].status, IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(vl_poll_cq(two.recv_cq, 8, wc), 1);
	CU_ASSERT_EQUAL(memcmp(two.arena, one.arena + 100, 3 * MTU), 0);
	teardown();
}

/* A request completes when its data has been read: not while the last packet is being copied. */
static void check_completion_waits_for_the_data(void)
{
	struct vl_outgoing outgoing;
	uint8_t headers[VL_MAX_HEADER_LENGTH];
	struct ibv_wc wc;

	setup();
	post_send(qps[0], 1, arena_sge(&one, 0, 100));
	outgoing = (struct vl_outgoing){.headers = headers};
	CU_ASSERT_TRUE(vl_transmit(one.device, 0, &outgoing));
	CU_ASSERT_PTR_EQUAL(outgoing.spans[0].data, one.arena);
	CU_ASSERT_EQUAL(vl_poll_cq(one.send_cq, 1, &wc), 0);
	CU_ASSERT_EQUAL(vl_next_deadline(one.device), 0);
	CU_ASSERT_FALSE(vl_transmit(one.device, 0, &outgoing));
	CU_ASSERT_EQUAL(vl_poll_cq(one.send_cq, 1, &wc), 1);
	CU_ASSERT_EQUAL(vl_next_deadline(one.device), VL_NO_DEADLINE);
	/* The same in ERR: what went out is no failure. */
	post_send(qps[0], 2, arena_sge(&one, 0, 100));
	post_send(qps[0], 3, arena_sge(&one, 0, 100));
	CU_ASSERT_TRUE(vl_transmit(one.device, 0, &outgoing));
	set_state(qps[0], IBV_QPS_ERR);
	CU_ASSERT_EQUAL(vl_poll_cq(one.send_cq, 1, &wc), 1);
	CU_ASSERT_EQUAL(wc.status, IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(vl_poll_cq(one.send_cq, 1, &wc), 1);
	CU_ASSERT_EQUAL(wc.status, IBV_WC_WR_FLUSH_ERR);
	teardown();
}

static void check_draining(void)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1};
	uint8_t frame[FRAME_CAPACITY];
	struct ibv_wc wc[4];

	setup();
	post_send(qps[0], 1, arena_sge(&one, 0, 3 * MTU));
	post_send(qps[0], 2, arena_sge(&one, 0, 3 * MTU));
	CU_ASSERT_TRUE(take_frame(&one, frame, 0) > 0);
	CU_ASSERT_EQUAL(vl_modify_qp(qps[0], &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY, 0),
			0);
	CU_ASSERT_EQUAL(one.event_count, 0);
	CU_ASSERT_EQUAL(carry(0), 2);
	CU_ASSERT_EQUAL(count_events(&one, IBV_EVENT_SQ_DRAINED), 1);
	CU_ASSERT_EQUAL(vl_poll_cq(one.send_cq, 4, wc), 1);
	CU_ASSERT_EQUAL(set_state(qps[0], IBV_QPS_RTS), 0);
	CU_ASSERT_EQUAL(carry(0), 3);
	CU_ASSERT_EQUAL(vl_poll_cq(one.send_cq, 4, wc), 1);
	teardown();
}

/* CE on a data packet brings the peer a CNP; communication is established by the first packet. */
static void check_congestion_and_establishment(void)
{
	struct ibv_qp_attr attr;
	uint8_t frame[FRAME_CAPACITY];
	uint32_t length;

	CU_ASSERT_TRUE_FATAL(endpoint_open(&one, 1));
	CU_ASSERT_TRUE_FATAL(endpoint_open(&two, 2));
	qps[0] = make_qp(&one, IBV_QPT_UC);
	qps[1] = make_qp(&two, IBV_QPT_UC);
	attr = qp_attr(2, vl_qp_number(qps[1]), 1, 2);
	CU_ASSERT_EQUAL(bring_up(qps[0], IBV_QPT_UC, &attr, IBV_QPS_RTS), 0);
	attr = qp_attr(1, vl_qp_number(qps[0]), 2, 1);
	CU_ASSERT_EQUAL(bring_up(qps[1], IBV_QPT_UC, &attr, IBV_QPS_RTR), 0);
	for (int i = 0; i < 2; i++) {
		struct ibv_sge sge = arena_sge(&one, 0, 10);
		struct ibv_send_wr wr = write_to(1, &sge, 0);

		CU_ASSERT_EQUAL(post(qps[0], &wr), 0);
		length = take_frame(&one, frame, 1000);
		CU_ASSERT_TRUE(vl_frame_mark_ce(frame, length));
		deliver_frame(&two, frame, length, 1000);
	}
	CU_ASSERT_EQUAL(count_events(&two, IBV_EVENT_COMM_EST), 1);
	CU_ASSERT_EQUAL(vl_qp_counters(qps[1])->ecn_ce_rx, 2);
	/* One CNP for both: they came within the least time between CNPs. */
	length = take_frame(&two, frame, 1000);
	CU_ASSERT_EQUAL(length, 74);
	CU_ASSERT_EQUAL(frame[42], 0x81);
	deliver_frame(&one, frame, length, 1000);
	CU_ASSERT_EQUAL(take_frame(&two, frame, 1000), 0);
	CU_ASSERT_EQUAL(vl_qp_counters(qps[0])->cnp_rx, 1);
	CU_ASSERT_EQUAL(vl_qp_counters(qps[1])->cnp_tx, 1);
	teardown();
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"messages", check_messages},
		{"losses", check_losses},
		{"gap_is_counted", check_gap_is_counted},
		{"refused_writes", check_refused_writes},
		{"malformed", check_malformed},
		{"permission_of_the_qp", check_permission_of_the_qp},
		{"receive_trouble", check_receive_trouble},
		{"send_queue_error", check_send_queue_error},
		{"completion_waits_for_the_data", check_completion_waits_for_the_data},
		{"draining", check_draining},
		{"congestion_and_establishment", check_congestion_and_establishment},
	};

	return RUN_SUITE("uc", tests, argc, argv);
}
