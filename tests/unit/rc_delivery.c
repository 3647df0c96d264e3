/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Reliable connection on a wire that loses nothing: what is sent, what arrives, what completes. */

#include "tests/support/pair.h"
#include "tests/support/suite.h"
#include "transport/wire/opcode.h"

#include <string.h>

#define TARGET 131072 /* offset in the peer's memory */

static void fill(struct pair *pair, unsigned int side, uint32_t offset, uint32_t length)
{
	for (uint32_t i = 0; i < length; i++)
		pair->memory[side][offset + i] = (uint8_t)(i * 7 + length + 1);
}

static void expect_send(struct pair *pair, enum ibv_wc_opcode opcode)
{
	struct ibv_wc wc = pair_poll_send(pair, 0);

	CU_ASSERT_EQUAL(wc.status, IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(wc.opcode, opcode);
	CU_ASSERT_EQUAL(wc.qp_num, vl_qp_number(pair->qp[0]));
}

static const uint32_t sizes[] = {0, 1, 3, 1023, 1024, 1025, 3072, 5000, 65536};

static void every_size_of_send_write_and_read(void)
{
	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct pair *pair = pair_open(&(struct pair_options){.psn = {0xfffff0, 0x123456}});
		uint32_t size = sizes[i];
		struct ibv_wc wc;

		fill(pair, 0, 0, size);
		CU_ASSERT_EQUAL(pair_post_recv(pair, 1, TARGET, 70000), 0);
		CU_ASSERT_EQUAL(pair_post(pair, 0, IBV_WR_SEND, 0, size, 0, IBV_SEND_SIGNALED), 0);
		pair_run(pair, 1000000);
		expect_send(pair, IBV_WC_SEND);
		wc = pair_poll_recv(pair, 1);
		CU_ASSERT_EQUAL(wc.status, IBV_WC_SUCCESS);
		CU_ASSERT_EQUAL(wc.opcode, IBV_WC_RECV);
		CU_ASSERT_EQUAL(wc.byte_len, size);
		CU_ASSERT_EQUAL(memcmp(pair->memory[1] + TARGET, pair->memory[0], size), 0);
		CU_ASSERT_EQUAL(pair->memory[1][TARGET + size], 0);

		memset(pair->memory[1], 0, PAIR_MEMORY);
		CU_ASSERT_EQUAL(
			pair_post(pair, 0, IBV_WR_RDMA_WRITE, 0, size, TARGET, IBV_SEND_SIGNALED),
			0);
		pair_run(pair, 1000000);
		expect_send(pair, IBV_WC_RDMA_WRITE);
		CU_ASSERT_EQUAL(memcmp(pair->memory[1] + TARGET, pair->memory[0], size), 0);
		CU_ASSERT_EQUAL(pair->memory[1][TARGET + size], 0);

		fill(pair, 1, TARGET, size);
		CU_ASSERT_EQUAL(pair_post(pair, 0, IBV_WR_RDMA_READ, 70000, size, TARGET,
					  IBV_SEND_SIGNALED),
				0);
		pair_run(pair, 1000000);
		expect_send(pair, IBV_WC_RDMA_READ);
		CU_ASSERT_EQUAL(memcmp(pair->memory[1] + TARGET, pair->memory[0] + 70000, size), 0);
		CU_ASSERT_EQUAL(pair->memory[0][70000 + size], 0);
		CU_ASSERT_EQUAL(vl_qp_counters(pair->qp[0])->data_frames_retransmitted, 0);
		pair_close(pair);
	}
}

static void packets_of_a_send(void)
{
	struct pair *pair = pair_open(&(struct pair_options){.psn = {0xffffff, 1}});
	const struct pair_record *record;

	pair_post_recv(pair, 1, 0, 4096);
	pair_post(pair, 0, IBV_WR_SEND_WITH_IMM, 0, 2050, 0,
		  IBV_SEND_SIGNALED | IBV_SEND_SOLICITED);
	pair_run(pair, 1000000);
	/* The first packet probes for credit: it alone asks before the last. */
	record = pair_find(pair, 0, -1, 0);
	CU_ASSERT_EQUAL(record->packet.opcode, VL_OP_SEND_FIRST);
	CU_ASSERT_EQUAL(record->packet.psn, 0xffffff);
	CU_ASSERT_TRUE(record->packet.ack_request);
	CU_ASSERT_FALSE(record->packet.solicited);
	CU_ASSERT_EQUAL(record->packet.payload_length, 1024);
	CU_ASSERT_EQUAL(record->packet.pkey, 0xffff);
	CU_ASSERT_EQUAL(record->packet.destination_qpn, vl_qp_number(pair->qp[1]));
	CU_ASSERT_TRUE(record->packet.mig_req);
	record = pair_find(pair, 0, -1, 1);
	CU_ASSERT_EQUAL(record->packet.opcode, VL_OP_SEND_MIDDLE);
	CU_ASSERT_EQUAL(record->packet.psn, 0);
	CU_ASSERT_FALSE(record->packet.ack_request);
	record = pair_find(pair, 0, -1, 2);
	CU_ASSERT_EQUAL(record->packet.opcode, VL_OP_SEND_LAST_IMM);
	CU_ASSERT_EQUAL(record->packet.psn, 1);
	CU_ASSERT_TRUE(record->packet.ack_request);
	CU_ASSERT_TRUE(record->packet.solicited);
	CU_ASSERT_EQUAL(record->packet.payload_length, 2);
	CU_ASSERT_EQUAL(record->packet.pad_count, 2);
	CU_ASSERT_EQUAL(record->packet.immediate, 0x78563412);
	CU_ASSERT_PTR_NULL(pair_find(pair, 0, -1, 3));
	record = pair_find(pair, 1, VL_OP_ACKNOWLEDGE, 1);
	CU_ASSERT_EQUAL(record->packet.psn, 1);
	CU_ASSERT_EQUAL(record->packet.msn, 1);
	CU_ASSERT_EQUAL(record->packet.syndrome, 0); /* ACK, no credits left */
	CU_ASSERT_EQUAL(pair_poll_recv(pair, 1).imm_data, 0x78563412);
	pair_close(pair);
}

static void immediate_with_write(void)
{
	struct pair *pair = pair_open(NULL);
	struct ibv_wc wc;

	pair_post_recv(pair, 1, 0, 0);
	fill(pair, 0, 0, 3000);
	pair_post(pair, 0, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 3000, TARGET, IBV_SEND_SIGNALED);
	pair_run(pair, 1000000);
	expect_send(pair, IBV_WC_RDMA_WRITE);
	wc = pair_poll_recv(pair, 1);
	CU_ASSERT_EQUAL(wc.status, IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	CU_ASSERT_EQUAL(wc.byte_len, 3000);
	CU_ASSERT_TRUE(wc.wc_flags & IBV_WC_WITH_IMM);
	CU_ASSERT_EQUAL(wc.imm_data, 0x78563412);
	CU_ASSERT_EQUAL(memcmp(pair->memory[1] + TARGET, pair->memory[0], 3000), 0);
	pair_close(pair);
}

/* Of the packet that completes a receive: the last of its message, whenever it is polled. */
static void check_arrivals(enum ibv_qp_type type)
{
	const struct pair_options options = {.type = type};
	struct pair *pair = pair_open(&options);
	uint64_t arrivals[4] = {0}, last[2] = {0};
	const uint32_t lengths[2] = {3000, 10};
	struct ibv_wc wc[4];

	pair->port_time = 700;
	for (unsigned int i = 0; i < 2; i++)
		pair_post_recv(pair, 1, i * 4096, 4096);
	for (unsigned int i = 0; i < 2; i++) {
		pair_post(pair, 0, IBV_WR_SEND, 0, lengths[i], 0, IBV_SEND_SIGNALED);
		pair_run(pair, 10000);
	}
	for (uint32_t i = 0, message = 0; i < pair->trace_count; i++) {
		const struct pair_record *record = &pair->trace[i];

		if (record->from || record->packet.payload_length == 1024)
			continue;
		CU_ASSERT_FATAL(message < 2);
		last[message++] = record->time + PAIR_DELAY - pair->port_time;
	}
	CU_ASSERT_EQUAL(vl_poll_cq_arrivals(pair->recv_cq[1], 0, wc, arrivals), 0);
	CU_ASSERT_EQUAL(vl_poll_cq_arrivals(pair->recv_cq[1], -1, wc, arrivals), -EINVAL);
	CU_ASSERT_EQUAL(vl_poll_cq_arrivals(pair->recv_cq[1], 1, wc, arrivals), 1);
	CU_ASSERT_EQUAL(arrivals[1], 0);
	CU_ASSERT_EQUAL(vl_poll_cq_arrivals(pair->recv_cq[1], 3, wc + 1, arrivals + 1), 1);
	CU_ASSERT_EQUAL(arrivals[2], 0);
	for (unsigned int i = 0; i < 2; i++) {
		CU_ASSERT_EQUAL(wc[i].status, IBV_WC_SUCCESS);
		CU_ASSERT_TRUE(last[i] > 0);
		CU_ASSERT_EQUAL(arrivals[i], last[i]);
	}
	CU_ASSERT_EQUAL(vl_poll_cq_arrivals(pair->recv_cq[1], 3, wc, arrivals), 0);
	pair_close(pair);
}

static void arrivals_of_receives(void)
{
	check_arrivals(IBV_QPT_RC);
	check_arrivals(IBV_QPT_UC);
}

static void atomics_return_what_was_there(void)
{
	struct pair *pair = pair_open(NULL);
	uint64_t *target = (uint64_t *)(void *)(pair->memory[1] + TARGET);
	uint64_t *result = (uint64_t *)(void *)pair->memory[0];

	*target = 5;
	pair_post(pair, 0, IBV_WR_ATOMIC_CMP_AND_SWP, 0, 8, TARGET, IBV_SEND_SIGNALED);
	pair_post(pair, 0, IBV_WR_ATOMIC_CMP_AND_SWP, 8, 8, TARGET, IBV_SEND_SIGNALED);
	pair_post(pair, 0, IBV_WR_ATOMIC_FETCH_AND_ADD, 16, 8, TARGET, IBV_SEND_SIGNALED);
	pair_run(pair, 1000000);
	expect_send(pair, IBV_WC_COMP_SWAP);
	expect_send(pair, IBV_WC_COMP_SWAP);
	expect_send(pair, IBV_WC_FETCH_ADD);
	CU_ASSERT_EQUAL(result[0], 5);
	CU_ASSERT_EQUAL(result[1], 77); /* no match: not swapped */
	CU_ASSERT_EQUAL(result[2], 77);
	CU_ASSERT_EQUAL(*target, 82);
	pair_close(pair);
}

static void flush_and_atomic_write(void)
{
	struct pair *pair = pair_open(NULL);

	memcpy(pair->memory[0], "12345678", 8);
	pair_post(pair, 0, IBV_WR_ATOMIC_WRITE, 0, 8, TARGET, IBV_SEND_SIGNALED);
	pair_post(pair, 0, VL_WR_FLUSH, 0, 4096, TARGET, IBV_SEND_SIGNALED);
	pair_run(pair, 1000000);
	expect_send(pair, IBV_WC_ATOMIC_WRITE);
	expect_send(pair, VL_WC_FLUSH);
	CU_ASSERT_EQUAL(memcmp(pair->memory[1] + TARGET, "12345678", 8), 0);
	CU_ASSERT_EQUAL(pair_count(pair, 1, VL_OP_READ_RESPONSE_ONLY), 2);
	CU_ASSERT_EQUAL(pair_find(pair, 0, VL_OP_FLUSH, 0)->packet.dma_length, 4096);
	CU_ASSERT_EQUAL(pair_find(pair, 0, VL_OP_FLUSH, 0)->packet.placement, VL_PLACEMENT_GLOBAL);
	pair_close(pair);
}

static void psns_of_reads(void)
{
	struct pair *pair = pair_open(&(struct pair_options){.psn = {0xfffffe, 7}});
	const struct pair_record *record;

	pair_post(pair, 0, IBV_WR_RDMA_READ, 0, 4096, TARGET, IBV_SEND_SIGNALED);
	pair_post(pair, 0, IBV_WR_RDMA_READ, 4096, 0, TARGET, IBV_SEND_SIGNALED);
	pair_post(pair, 0, IBV_WR_RDMA_WRITE, 0, 10, TARGET, IBV_SEND_SIGNALED);
	pair_run(pair, 1000000);
	CU_ASSERT_EQUAL(pair_find(pair, 0, VL_OP_READ_REQUEST, 0)->packet.psn, 0xfffffe);
	CU_ASSERT_EQUAL(pair_find(pair, 0, VL_OP_READ_REQUEST, 1)->packet.psn, 2);
	CU_ASSERT_EQUAL(pair_find(pair, 0, VL_OP_WRITE_ONLY, 0)->packet.psn, 3);
	record = pair_find(pair, 1, VL_OP_READ_RESPONSE_FIRST, 0);
	CU_ASSERT_EQUAL(record->packet.psn, 0xfffffe);
	CU_ASSERT_EQUAL(record->packet.msn, 1);
	CU_ASSERT_EQUAL(pair_count(pair, 1, VL_OP_READ_RESPONSE_MIDDLE), 2);
	CU_ASSERT_EQUAL(pair_find(pair, 1, VL_OP_READ_RESPONSE_LAST, 0)->packet.psn, 1);
	CU_ASSERT_EQUAL(pair_find(pair, 1, VL_OP_READ_RESPONSE_ONLY, 0)->packet.psn, 2);
	/* The ACK of the WRITE leaves after the responses before it. */
	CU_ASSERT_EQUAL(pair_find(pair, 1, VL_OP_ACKNOWLEDGE, 0)->packet.psn, 3);
	CU_ASSERT_EQUAL(pair_find(pair, 1, VL_OP_ACKNOWLEDGE, 0)->packet.msn, 3);
	CU_ASSERT_PTR_EQUAL(pair_find(pair, 1, -1, 5), pair_find(pair, 1, VL_OP_ACKNOWLEDGE, 0));
	for (int i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(pair_poll_send(pair, 0).status, IBV_WC_SUCCESS);
	pair_close(pair);
}

static void reads_outstanding_stay_within_the_limit(void)
{
	struct pair *pair = pair_open(&(struct pair_options){.max_rd_atomic = 2});
	uint32_t outstanding = 0, most = 0;

	for (uint32_t i = 0; i < 10; i++)
		pair_post(pair, 0, IBV_WR_RDMA_READ, i * 64, 64, TARGET, IBV_SEND_SIGNALED);
	pair_run(pair, 1000000);
	for (uint32_t i = 0; i < pair->trace_count; i++) {
		if (pair->trace[i].packet.opcode == VL_OP_READ_REQUEST)
			outstanding++;
		else if (pair->trace[i].packet.opcode == VL_OP_READ_RESPONSE_ONLY)
			outstanding--;
		if (outstanding > most)
			most = outstanding;
	}
	CU_ASSERT_EQUAL(most, 2);
	for (int i = 0; i < 10; i++)
		CU_ASSERT_EQUAL(pair_poll_send(pair, 0).status, IBV_WC_SUCCESS);
	pair_close(pair);
}

static void fence_waits_for_reads(void)
{
	struct pair *pair = pair_open(NULL);
	uint64_t answered, sent;

	pair_post(pair, 0, IBV_WR_RDMA_READ, 0, 4096, TARGET, IBV_SEND_SIGNALED);
	pair_post(pair, 0, IBV_WR_RDMA_WRITE, 0, 8, TARGET, IBV_SEND_SIGNALED | IBV_SEND_FENCE);
	pair_run(pair, 1000000);
	answered = pair_find(pair, 1, VL_OP_READ_RESPONSE_LAST, 0)->time + PAIR_DELAY;
	sent = pair_find(pair, 0, VL_OP_WRITE_ONLY, 0)->time;
	CU_ASSERT_TRUE(sent >= answered);
	pair_close(pair);
}

static void unsignalled_requests_complete_in_silence(void)
{
	struct pair *pair = pair_open(NULL);

	for (int i = 0; i < 3; i++)
		pair_post(pair, 0, IBV_WR_RDMA_WRITE, 0, 8, TARGET, 0);
	pair_run(pair, 1000000);
	CU_ASSERT_EQUAL(pair_poll_send(pair, 0).status, PAIR_NO_COMPLETION);
	CU_ASSERT_EQUAL(vl_qp_counters(pair->qp[0])->message_tx, 3);
	/* The last of the queue asked, the others need not. */
	CU_ASSERT_FALSE(pair_find(pair, 0, VL_OP_WRITE_ONLY, 0)->packet.ack_request);
	CU_ASSERT_TRUE(pair_find(pair, 0, VL_OP_WRITE_ONLY, 2)->packet.ack_request);
	pair_close(pair);
}

static void one_ack_for_what_arrives_together(void)
{
	struct pair *pair = pair_open(NULL);

	for (int i = 0; i < 10; i++)
		pair_post(pair, 0, IBV_WR_RDMA_WRITE, 0, 8, TARGET, IBV_SEND_SIGNALED);
	pair_run(pair, 1000000);
	CU_ASSERT_EQUAL(pair_count(pair, 1, VL_OP_ACKNOWLEDGE), 1);
	CU_ASSERT_EQUAL(pair_find(pair, 1, VL_OP_ACKNOWLEDGE, 0)->packet.msn, 10);
	for (int i = 0; i < 10; i++)
		CU_ASSERT_EQUAL(pair_poll_send(pair, 0).status, IBV_WC_SUCCESS);
	pair_close(pair);
}

static void credits_hold_the_sender_back(void)
{
	struct pair *pair = pair_open(&(struct pair_options){.min_rnr_timer = 12});

	for (int i = 0; i < 2; i++)
		pair_post_recv(pair, 1, 0, 64);
	for (int i = 0; i < 6; i++)
		pair_post(pair, 0, IBV_WR_SEND, 0, 64, 0, IBV_SEND_SIGNALED);
	pair_run(pair, 100000);
	/* Two were taken; the third went as the probe and was refused; nothing else is sent. */
	CU_ASSERT_EQUAL(pair_count(pair, 0, VL_OP_SEND_ONLY), 3);
	CU_ASSERT_EQUAL(vl_qp_counters(pair->qp[1])->rnr_nak_tx, 1);
	for (int i = 0; i < 4; i++)
		pair_post_recv(pair, 1, 0, 64);
	pair_run(pair, 10000000);
	for (int i = 0; i < 6; i++)
		CU_ASSERT_EQUAL(pair_poll_send(pair, 0).status, IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(vl_qp_counters(pair->qp[1])->rnr_nak_tx, 1);
	pair_close(pair);
}

static void receives_posted_renew_credits_unasked(void)
{
	struct pair *pair = pair_open(NULL);
	uint32_t acks;

	pair_post_recv(pair, 1, 0, 64);
	pair_post(pair, 0, IBV_WR_SEND, 0, 64, 0, IBV_SEND_SIGNALED);
	pair_run(pair, 100000);
	CU_ASSERT_EQUAL(pair_find(pair, 1, VL_OP_ACKNOWLEDGE, 0)->packet.syndrome, 0);
	acks = pair_count(pair, 1, VL_OP_ACKNOWLEDGE);
	for (int i = 0; i < 8; i++)
		pair_post_recv(pair, 1, 0, 64);
	pair_run(pair, 100000);
	CU_ASSERT_EQUAL(pair_count(pair, 1, VL_OP_ACKNOWLEDGE), acks + 1);
	CU_ASSERT_EQUAL(pair_find(pair, 1, VL_OP_ACKNOWLEDGE, acks)->packet.syndrome, 6); /* 8 */
	for (int i = 0; i < 8; i++)
		pair_post(pair, 0, IBV_WR_SEND, 0, 64, 0, IBV_SEND_SIGNALED);
	pair_run(pair, PAIR_DELAY / 2);
	CU_ASSERT_EQUAL(pair_count(pair, 0, VL_OP_SEND_ONLY), 9); /* all at once, no probe */
	pair_close(pair);
}

static void unlimited_credits_are_code_31(void)
{
	struct pair *pair = pair_open(&(struct pair_options){.unlimited_credits = true});

	pair_post_recv(pair, 1, 0, 64);
	pair_post(pair, 0, IBV_WR_SEND, 0, 64, 0, IBV_SEND_SIGNALED);
	pair_run(pair, 100000);
	CU_ASSERT_EQUAL(pair_find(pair, 1, VL_OP_ACKNOWLEDGE, 0)->packet.syndrome, 0x1f);
	pair_close(pair);
	pair = pair_open(&(struct pair_options){.use_srq = true});
	pair_post_recv(pair, 1, 0, 64);
	pair_post(pair, 0, IBV_WR_SEND, 0, 64, 0, IBV_SEND_SIGNALED);
	pair_run(pair, 100000);
	CU_ASSERT_EQUAL(pair_find(pair, 1, VL_OP_ACKNOWLEDGE, 0)->packet.syndrome, 0x1f);
	CU_ASSERT_EQUAL(pair_poll_recv(pair, 1).status, IBV_WC_SUCCESS);
	pair_close(pair);
}

static void draining_finishes_what_has_begun(void)
{
	struct pair *pair = pair_open(NULL);
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1};

	pair_post(pair, 0, IBV_WR_RDMA_WRITE, 0, 8192, TARGET, IBV_SEND_SIGNALED);
	pair_run(pair, 100);
	CU_ASSERT_EQUAL(vl_modify_qp(pair->qp[0], &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY,
				     pair->now),
			0);
	CU_ASSERT_EQUAL(pair->event_count[0], 0);
	pair_post(pair, 0, IBV_WR_RDMA_WRITE, 0, 8, TARGET, IBV_SEND_SIGNALED);
	pair_run(pair, 100000);
	CU_ASSERT_EQUAL(pair_poll_send(pair, 0).status, IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(pair_poll_send(pair, 0).status, PAIR_NO_COMPLETION);
	CU_ASSERT_EQUAL(pair->event_count[0], 1);
	CU_ASSERT_EQUAL(pair->events[0][0], IBV_EVENT_SQ_DRAINED);
	CU_ASSERT_EQUAL(pair_count(pair, 0, VL_OP_WRITE_ONLY), 0);
	attr.qp_state = IBV_QPS_RTS;
	CU_ASSERT_EQUAL(vl_modify_qp(pair->qp[0], &attr, IBV_QP_STATE, pair->now), 0);
	pair_run(pair, 100000);
	CU_ASSERT_EQUAL(pair_poll_send(pair, 0).status, IBV_WC_SUCCESS);
	pair_close(pair);
}

static void windows_and_invalidation(void)
{
	struct pair *pair = pair_open(NULL);
	int error;
	struct ibv_mw *mw = vl_alloc_mw(pair->pd[1], IBV_MW_TYPE_2, &error);
	struct ibv_send_wr wr = {.opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED};
	const struct ibv_send_wr *bad;
	struct ibv_wc wc;
	uint32_t rkey;

	CU_ASSERT_PTR_NOT_NULL_FATAL(mw);
	rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = rkey;
	wr.bind_mw.bind_info.mr = pair->mr[1];
	wr.bind_mw.bind_info.addr = (uintptr_t)pair->memory[1] + TARGET;
	wr.bind_mw.bind_info.length = 4096;
	wr.bind_mw.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_WRITE;
	CU_ASSERT_EQUAL(vl_post_send(pair->qp[1], &wr, &bad, pair->now), 0);
	pair_run(pair, 100000);
	wc = pair_poll_send(pair, 1);
	CU_ASSERT_EQUAL(wc.status, IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(wc.opcode, IBV_WC_BIND_MW);

	/* Through the window, then close it with the message that says so. */
	struct ibv_sge sge = {(uintptr_t)pair->memory[0], 100, pair->mr[0]->lkey};
	struct ibv_send_wr write = {.opcode = IBV_WR_RDMA_WRITE,
				    .sg_list = &sge,
				    .num_sge = 1,
				    .send_flags = IBV_SEND_SIGNALED,
				    .wr.rdma = {(uintptr_t)pair->memory[1] + TARGET, rkey}};
	struct ibv_send_wr send = {.opcode = IBV_WR_SEND_WITH_INV,
				   .send_flags = IBV_SEND_SIGNALED,
				   .invalidate_rkey = rkey};

	fill(pair, 0, 0, 100);
	pair_post_recv(pair, 1, 0, 64);
	CU_ASSERT_EQUAL(vl_post_send(pair->qp[0], &write, &bad, pair->now), 0);
	CU_ASSERT_EQUAL(vl_post_send(pair->qp[0], &send, &bad, pair->now), 0);
	pair_run(pair, 1000000);
	CU_ASSERT_EQUAL(pair_poll_send(pair, 0).status, IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(pair_poll_send(pair, 0).status, IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(memcmp(pair->memory[1] + TARGET, pair->memory[0], 100), 0);
	wc = pair_poll_recv(pair, 1);
	CU_ASSERT_TRUE(wc.wc_flags & IBV_WC_WITH_INV);
	CU_ASSERT_EQUAL(wc.invalidated_rkey, rkey);
	CU_ASSERT_EQUAL(vl_post_send(pair->qp[0], &write, &bad, pair->now), 0);
	pair_run(pair, 1000000);
	CU_ASSERT_EQUAL(pair_poll_send(pair, 0).status, IBV_WC_REM_ACCESS_ERR);
	pair_close(pair);
}

static void over_ipv6(void)
{
	struct pair *pair = pair_open(&(struct pair_options){.ipv6 = true, .traffic_class = 0x6a});

	fill(pair, 0, 0, 3000);
	pair_post(pair, 0, IBV_WR_RDMA_WRITE, 0, 3000, TARGET, IBV_SEND_SIGNALED);
	pair_run(pair, 1000000);
	expect_send(pair, IBV_WC_RDMA_WRITE);
	CU_ASSERT_EQUAL(memcmp(pair->memory[1] + TARGET, pair->memory[0], 3000), 0);
	CU_ASSERT_EQUAL(pair->trace[0].packet.encapsulation, VL_ENCAPSULATION_ROCEV2_IPV6);
	CU_ASSERT_EQUAL(vl_packet_dscp(&pair->trace[0].packet), 26);
	CU_ASSERT_EQUAL(vl_packet_ecn(&pair->trace[0].packet), VL_ECN_ECT0);
	pair_close(pair);
}

static bool mark_all(struct pair *pair, unsigned int from, const struct vl_packet *packet,
		     uint8_t *frame, uint32_t length)
{
	(void)pair;
	(void)packet;
	(void)length;
	/* ECN bits of the IPv4 TOS, and the checksum that follows from them. */
	if (from == 0) {
		uint32_t sum = (uint32_t)(frame[24] << 8 | frame[25]);
		uint8_t before = frame[15];

		frame[15] |= 3;
		sum = sum ^ 0xffff;
		sum += (uint32_t)(frame[15] - before);
		sum = (sum & 0xffff) + (sum >> 16);
		sum ^= 0xffff;
		frame[24] = (uint8_t)(sum >> 8);
		frame[25] = (uint8_t)sum;
	}
	return true;
}

static void marks_bring_notifications(void)
{
	struct vl_cc_parameters cc = {.algorithm = &vl_cc_dcqcn, .initial_rate = 50000000000};
	struct pair *pair;
	const struct pair_record *cnp;

	vl_dcqcn_profile(&cc.dcqcn, "paper");
	pair = pair_open(&(struct pair_options){.traffic_class = 0x6a, .cc = &cc});
	pair->hook = mark_all;
	for (int i = 0; i < 8; i++)
		pair_post(pair, 0, IBV_WR_RDMA_WRITE, 0, 131072, TARGET, IBV_SEND_SIGNALED);
	pair_run(pair, 1000000000);
	cnp = pair_find(pair, 1, VL_OPCODE_CNP, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(cnp);
	CU_ASSERT_EQUAL(cnp->packet.psn, 0);
	CU_ASSERT_TRUE(cnp->packet.becn);
	CU_ASSERT_FALSE(cnp->packet.fecn);
	CU_ASSERT_FALSE(cnp->packet.ack_request);
	CU_ASSERT_EQUAL(cnp->packet.destination_qpn, vl_qp_number(pair->qp[0]));
	CU_ASSERT_EQUAL(vl_packet_dscp(&cnp->packet), 48);
	CU_ASSERT_EQUAL(cnp->packet.transport_length, 12 + 16 + 4);
	/* At most one in 50 us, however many marks. */
	CU_ASSERT_TRUE(pair_count(pair, 1, VL_OPCODE_CNP) >= 2);
	CU_ASSERT_TRUE(pair_find(pair, 1, VL_OPCODE_CNP, 1)->time - cnp->time >= 50000);
	CU_ASSERT_EQUAL(vl_qp_counters(pair->qp[0])->cnp_rx, pair_count(pair, 1, VL_OPCODE_CNP));
	CU_ASSERT_EQUAL(vl_qp_counters(pair->qp[1])->ecn_ce_rx,
			vl_qp_counters(pair->qp[0])->data_frames_tx);
	CU_ASSERT_TRUE(vl_query_cc(pair->qp[0], pair->now).rate_cuts >= 2);
	for (int i = 0; i < 8; i++)
		CU_ASSERT_EQUAL(pair_poll_send(pair, 0).status, IBV_WC_SUCCESS);
	pair_close(pair);
}

static void a_fixed_rate_is_kept(void)
{
	struct vl_cc_parameters cc = {.algorithm = &vl_cc_fixed, .fixed_rate = 10000000000};
	struct pair *pair = pair_open(&(struct pair_options){.cc = &cc});
	const struct pair_record *first, *last;
	double rate;

	pair_post(pair, 0, IBV_WR_RDMA_WRITE, 0, 131072, 0, IBV_SEND_SIGNALED);
	pair_run(pair, 10000000);
	CU_ASSERT_EQUAL(pair_poll_send(pair, 0).status, IBV_WC_SUCCESS);
	first = pair_find(pair, 0, VL_OP_WRITE_FIRST, 0);
	last = pair_find(pair, 0, VL_OP_WRITE_LAST, 0);
	/* 127 packets of 1024 + 58 headers and ICRC + 24 on the wire, the first with a RETH. */
	rate = 8.0 *
	       (126 * (1024 + 14 + 20 + 8 + 12 + 4 + 24) + 1024 + 14 + 20 + 8 + 12 + 16 + 4 + 24) /
	       (double)(last->time - first->time);
	CU_ASSERT_DOUBLE_EQUAL(rate, 10.0, 0.01);
	pair_close(pair);
}

/* ---- Requests that wait for others, which nobody waits for ---------------------------------- */

static void a_local_request_follows_one_that_is_not_signaled(void)
{
	struct pair *pair = pair_open(&(struct pair_options){0});
	struct ibv_sge sge = {0, 64, pair->mr[0]->lkey};
	struct ibv_mr *mr;
	struct ibv_send_wr invalidate = {
		.wr_id = 7, .opcode = IBV_WR_LOCAL_INV, .send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr write = {
		.next = &invalidate, .opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1};
	const struct ibv_send_wr *bad;
	struct ibv_wc wc;
	int error;

	sge.addr = (uintptr_t)pair->mr[0]->addr;
	mr = vl_reg_mr(pair->pd[0], pair->memory[0], 64, 0,
		       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND, &error);
	CU_ASSERT_PTR_NOT_NULL_FATAL(mr);
	invalidate.invalidate_rkey = mr->rkey;
	write.wr.rdma.remote_addr = (uintptr_t)pair->mr[1]->addr;
	write.wr.rdma.rkey = pair->mr[1]->rkey;
	CU_ASSERT_EQUAL(vl_post_send(pair->qp[0], &write, &bad, pair->now), 0);
	pair_run(pair, 100000000);
	wc = pair_poll_send(pair, 0);
	CU_ASSERT_EQUAL(wc.status, IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(wc.wr_id, 7);
	CU_ASSERT_EQUAL(vl_qp_counters(pair->qp[0])->data_frames_retransmitted, 0);
	pair_close(pair);
}

/* SQD comes when the answer can no longer be asked for but by repeating. */
static void requests_that_are_not_signaled_drain(void)
{
	struct pair *pair = pair_open(
		&(struct pair_options){.cc = &(struct vl_cc_parameters){.algorithm = &vl_cc_fixed,
									.fixed_rate = 100000000}});
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1};

	CU_ASSERT_EQUAL(pair_post(pair, 0, IBV_WR_RDMA_WRITE, 0, 1024, 0, 0), 0);
	CU_ASSERT_EQUAL(pair_post(pair, 0, IBV_WR_RDMA_WRITE, 0, 1024, 0, 0), 0);
	pair_run(pair, 10000);
	CU_ASSERT_EQUAL(pair_count(pair, 0, -1), 1);
	CU_ASSERT_EQUAL(vl_modify_qp(pair->qp[0], &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY,
				     pair->now),
			0);
	CU_ASSERT_EQUAL(pair->event_count[0], 0);
	pair_run(pair, 100000000);
	CU_ASSERT_EQUAL_FATAL(pair->event_count[0], 1);
	CU_ASSERT_EQUAL(pair->events[0][0], IBV_EVENT_SQ_DRAINED);
	pair_close(pair);
}

static const struct test tests[] = {
	{"a_local_request_follows_one_that_is_not_signaled",
	 a_local_request_follows_one_that_is_not_signaled},
	{"requests_that_are_not_signaled_drain", requests_that_are_not_signaled_drain},
	{"every_size_of_send_write_and_read", every_size_of_send_write_and_read},
	{"packets_of_a_send", packets_of_a_send},
	{"immediate_with_write", immediate_with_write},
	{"arrivals_of_receives", arrivals_of_receives},
	{"atomics_return_what_was_there", atomics_return_what_was_there},
	{"flush_and_atomic_write", flush_and_atomic_write},
	{"psns_of_reads", psns_of_reads},
	{"reads_outstanding_stay_within_the_limit", reads_outstanding_stay_within_the_limit},
	{"fence_waits_for_reads", fence_waits_for_reads},
	{"unsignalled_requests_complete_in_silence", unsignalled_requests_complete_in_silence},
	{"one_ack_for_what_arrives_together", one_ack_for_what_arrives_together},
	{"credits_hold_the_sender_back", credits_hold_the_sender_back},
	{"receives_posted_renew_credits_unasked", receives_posted_renew_credits_unasked},
	{"unlimited_credits_are_code_31", unlimited_credits_are_code_31},
	{"draining_finishes_what_has_begun", draining_finishes_what_has_begun},
	{"windows_and_invalidation", windows_and_invalidation},
	{"over_ipv6", over_ipv6},
	{"marks_bring_notifications", marks_bring_notifications},
	{"a_fixed_rate_is_kept", a_fixed_rate_is_kept},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("rc_delivery", tests, argc, argv);
}
