/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Messages of 2^31 bytes, the most that IBTA 9.3.1.1 allows. Their memory is a small region named
 * again and again, and a large one that is read and never written, so that little is in use. */

#include "tests/support/pair.h"
#include "tests/support/suite.h"
#include "transport/wire/opcode.h"

#include <errno.h>
#include <sys/mman.h>

#define PIECES 32
#define PIECE  (VL_MAX_MESSAGE / PIECES)

struct large {
	uint8_t *memory;
	struct ibv_mr *mr;
	struct ibv_sge sges[PIECES];
};

/* The same 64 MiB, 32 times. */
static void repeat_piece(struct large *large, struct pair *pair, unsigned int side)
{
	int error;

	large->memory =
		mmap(NULL, PIECE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CU_ASSERT_PTR_NOT_EQUAL_FATAL(large->memory, MAP_FAILED);
	large->mr =
		vl_reg_mr(pair->pd[side], large->memory, PIECE, 0, IBV_ACCESS_LOCAL_WRITE, &error);
	CU_ASSERT_PTR_NOT_NULL_FATAL(large->mr);
	for (unsigned int i = 0; i < PIECES; i++)
		large->sges[i] = (struct ibv_sge){0, PIECE, large->mr->lkey};
}

/* Paced, or a whole READ would be on the wire at once. */
static const struct vl_cc_parameters paced = {.algorithm = &vl_cc_fixed,
					      .fixed_rate = UINT64_C(100000000000)};

static struct pair *open_pair(void)
{
	return pair_open(&(struct pair_options){.path_mtu = IBV_MTU_4096,
						.max_sge = PIECES,
						.psn = {0xfff000, 0},
						.cc = &paced,
						.timeout = 20});
}

static void a_send_of_the_largest_size(void)
{
	struct pair *pair = open_pair();
	struct large source, sink;
	struct ibv_send_wr send = {
		.num_sge = PIECES, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
	struct ibv_recv_wr receive = {.num_sge = PIECES};
	const struct ibv_send_wr *bad_send;
	const struct ibv_recv_wr *bad_receive;
	struct ibv_wc wc;

	repeat_piece(&source, pair, 0);
	repeat_piece(&sink, pair, 1);
	source.memory[PIECE - 1] = 0x77;
	send.sg_list = source.sges;
	receive.sg_list = sink.sges;
	CU_ASSERT_EQUAL(vl_post_recv(pair->qp[1], &receive, &bad_receive), 0);
	CU_ASSERT_EQUAL(vl_post_send(pair->qp[0], &send, &bad_send, pair->now), 0);
	pair_run(pair, UINT64_C(2000000000));
	CU_ASSERT_EQUAL(pair_poll_send(pair, 0).status, IBV_WC_SUCCESS);
	wc = pair_poll_recv(pair, 1);
	CU_ASSERT_EQUAL(wc.status, IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(wc.byte_len, VL_MAX_MESSAGE);
	CU_ASSERT_EQUAL(sink.memory[PIECE - 1], 0x77);
	CU_ASSERT_EQUAL(vl_qp_counters(pair->qp[0])->data_frames_tx, VL_MAX_MESSAGE / 4096);
	CU_ASSERT_EQUAL(vl_qp_counters(pair->qp[0])->data_frames_retransmitted, 0);

	/* One byte more is no message. */
	struct ibv_sge more[2] = {{0, PIECE, source.mr->lkey}, {0, VL_MAX_MESSAGE - PIECE + 1, 0}};

	send.sg_list = more;
	send.num_sge = 2;
	CU_ASSERT_EQUAL(vl_post_send(pair->qp[0], &send, &bad_send, pair->now), -EINVAL);
	pair_close(pair);
	munmap(source.memory, PIECE);
	munmap(sink.memory, PIECE);
}

/* The trace holds the first packets only. */
static bool note_write(struct pair *pair, unsigned int from, const struct vl_packet *packet,
		       uint8_t *frame, uint32_t length)
{
	(void)from;
	(void)frame;
	(void)length;
	if (packet->opcode == VL_OP_WRITE_ONLY)
		*(uint32_t *)pair->hook_data = packet->psn;
	return true;
}

static void a_read_of_the_largest_size(void)
{
	uint32_t psn_of_write = 0;
	struct pair *pair = open_pair();
	struct large sink;
	uint8_t *source = mmap(NULL, VL_MAX_MESSAGE, PROT_READ,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int error;
	struct ibv_mr *mr = vl_reg_mr(pair->pd[1], source, VL_MAX_MESSAGE, 0x1000,
				      IBV_ACCESS_REMOTE_READ, &error);
	struct ibv_send_wr read = {
		.num_sge = PIECES, .opcode = IBV_WR_RDMA_READ, .send_flags = IBV_SEND_SIGNALED};
	const struct ibv_send_wr *bad;

	CU_ASSERT_PTR_NOT_NULL_FATAL(mr);
	pair->hook = note_write;
	pair->hook_data = &psn_of_write;
	repeat_piece(&sink, pair, 0);
	sink.memory[1] = 0x55;
	read.sg_list = sink.sges;
	read.wr.rdma.remote_addr = 0x1000;
	read.wr.rdma.rkey = mr->rkey;
	CU_ASSERT_EQUAL(vl_post_send(pair->qp[0], &read, &bad, pair->now), 0);
	CU_ASSERT_EQUAL(pair_post(pair, 0, IBV_WR_RDMA_WRITE, 0, 8, 0, IBV_SEND_SIGNALED), 0);
	pair_run(pair, UINT64_C(2000000000));
	CU_ASSERT_EQUAL(pair_poll_send(pair, 0).status, IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(pair_poll_send(pair, 0).status, IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(sink.memory[1], 0);
	CU_ASSERT_EQUAL(vl_qp_counters(pair->qp[1])->data_frames_tx, VL_MAX_MESSAGE / 4096);
	/* The WRITE's PSN follows the last response's. */
	CU_ASSERT_EQUAL(psn_of_write, (0xfff000 + VL_MAX_MESSAGE / 4096) & 0xffffff);
	pair_close(pair);
	munmap(sink.memory, PIECE);
	munmap(source, VL_MAX_MESSAGE);
}

static bool drop_first_read(struct pair *pair, unsigned int from, const struct vl_packet *packet,
			    uint8_t *frame, uint32_t length)
{
	(void)frame;
	(void)length;
	return from != 0 || packet->opcode != VL_OP_READ_REQUEST || ++*(int *)pair->hook_data > 1;
}

/* 2^23 PSNs, half of the space: the answer's distance from the request has no sign. */
static void a_lost_read_of_half_the_psn_space_is_repeated(void)
{
	const struct vl_cc_parameters slow = {.algorithm = &vl_cc_fixed,
					      .fixed_rate = UINT64_C(1000000000)};
	int requests = 0;
	struct pair *pair = pair_open(&(struct pair_options){
		.path_mtu = IBV_MTU_256, .max_sge = PIECES, .cc = &slow, .timeout = 10});
	struct large sink;
	uint8_t *source = mmap(NULL, VL_MAX_MESSAGE, PROT_READ,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int error;
	struct ibv_mr *mr = vl_reg_mr(pair->pd[1], source, VL_MAX_MESSAGE, 0x1000,
				      IBV_ACCESS_REMOTE_READ, &error);
	struct ibv_send_wr read = {.num_sge = PIECES, .opcode = IBV_WR_RDMA_READ};
	const struct ibv_send_wr *bad;

	CU_ASSERT_PTR_NOT_NULL_FATAL(mr);
	pair->hook = drop_first_read;
	pair->hook_data = &requests;
	repeat_piece(&sink, pair, 0);
	read.sg_list = sink.sges;
	read.wr.rdma.remote_addr = 0x1000;
	read.wr.rdma.rkey = mr->rkey;
	CU_ASSERT_EQUAL(vl_post_send(pair->qp[0], &read, &bad, pair->now), 0);
	/* Some responses are enough. */
	pair_run(pair, UINT64_C(5000000));
	CU_ASSERT_EQUAL(requests, 2);
	CU_ASSERT(vl_qp_counters(pair->qp[0])->data_frames_rx > 0);
	pair_close(pair);
	munmap(sink.memory, PIECE);
	munmap(source, VL_MAX_MESSAGE);
}

static const struct test tests[] = {
	{"a_lost_read_of_half_the_psn_space_is_repeated",
	 a_lost_read_of_half_the_psn_space_is_repeated},
	{"a_send_of_the_largest_size", a_send_of_the_largest_size},
	{"a_read_of_the_largest_size", a_read_of_the_largest_size},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("rc_limits", tests, argc, argv);
}
