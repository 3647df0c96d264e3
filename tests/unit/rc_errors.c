/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Reliable connection: what must be refused is refused with the right NAK, ends with the right
 * status on both sides, and touches no memory. */

#include "tests/support/pair.h"
#include "tests/support/suite.h"
#include "transport/wire/opcode.h"

#include <string.h>

#define TARGET 131072

static const unsigned int all_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				       IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

static int post_remote(struct pair *pair, enum ibv_wr_opcode opcode, uint32_t length,
		       uint64_t remote, uint32_t rkey)
{
	struct ibv_sge sge = {(uintptr_t)pair->memory[0], length, pair->mr[0]->lkey};
	struct ibv_send_wr wr = {
		.opcode = opcode, .sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED};
	const struct ibv_send_wr *bad;

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
		wr.wr.atomic.remote_addr = remote;
		wr.wr.atomic.rkey = rkey;
	} else {
		wr.wr.rdma.remote_addr = remote;
		wr.wr.rdma.rkey = rkey;
	}
	return vl_post_send(pair->qp[0], &wr, &bad, pair->now);
}

/* Runs one request that must be refused; checks both ends and that memory kept its bytes. */
static void expect_refusal(struct pair *pair, uint8_t syndrome, enum ibv_wc_status status)
{
	uint8_t *before = pair->memory[1] + TARGET;
	uint8_t canary[512];
	const struct pair_record *nak;

	memset(before, 0xa5, sizeof(canary));
	memset(canary, 0xa5, sizeof(canary));
	memset(pair->memory[0], 0x11, 65536);
	pair_run(pair, 1000000);
	CU_ASSERT_EQUAL(pair_poll_send(pair, 0).status, status);
	nak = pair_find(pair, 1, VL_OP_ACKNOWLEDGE, pair_count(pair, 1, VL_OP_ACKNOWLEDGE) - 1);
	CU_ASSERT_PTR_NOT_NULL_FATAL(nak);
	CU_ASSERT_EQUAL(nak->packet.syndrome, syndrome);
	CU_ASSERT_EQUAL(vl_qp_state(pair->qp[0]), IBV_QPS_ERR);
	CU_ASSERT_EQUAL(vl_qp_state(pair->qp[1]), IBV_QPS_ERR);
	CU_ASSERT_EQUAL(memcmp(before, canary, sizeof(canary)), 0);
	pair_close(pair);
}

static void wrong_keys(void)
{
	static const enum ibv_wr_opcode opcodes[] = {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
						     IBV_WR_ATOMIC_FETCH_AND_ADD,
						     IBV_WR_ATOMIC_CMP_AND_SWP};

	for (unsigned int i = 0; i < 4; i++) {
		struct pair *pair = pair_open(NULL);

		CU_ASSERT_EQUAL(post_remote(pair, opcodes[i], 8,
					    (uintptr_t)pair->memory[1] + TARGET,
					    pair->mr[1]->rkey ^ 1),
				0);
		expect_refusal(pair, 0x62, IBV_WC_REM_ACCESS_ERR);
		pair = pair_open(NULL);
		post_remote(pair, opcodes[i], 8, (uintptr_t)pair->memory[1] + TARGET,
			    pair->mr[1]->rkey ^ 0x100);
		expect_refusal(pair, 0x62, IBV_WC_REM_ACCESS_ERR);
	}
}

static void out_of_bounds(void)
{
	static const int64_t offsets[] = {-1, -8, PAIR_MEMORY - 7, PAIR_MEMORY, INT64_MAX / 2};

	for (unsigned int i = 0; i < 5; i++) {
		struct pair *pair = pair_open(NULL);

		post_remote(pair, IBV_WR_RDMA_WRITE, 8,
			    (uintptr_t)pair->memory[1] + (uint64_t)offsets[i], pair->mr[1]->rkey);
		expect_refusal(pair, 0x62, IBV_WC_REM_ACCESS_ERR);
	}
	/* Address and length that wrap around. */
	struct pair *pair = pair_open(NULL);

	post_remote(pair, IBV_WR_RDMA_READ, 4096, UINT64_MAX - 100, pair->mr[1]->rkey);
	expect_refusal(pair, 0x62, IBV_WC_REM_ACCESS_ERR);
}

static void a_long_write_that_ends_outside_is_refused_at_its_start(void)
{
	struct pair *pair = pair_open(NULL);

	post_remote(pair, IBV_WR_RDMA_WRITE, 65536,
		    (uintptr_t)pair->memory[1] + PAIR_MEMORY - 65535, pair->mr[1]->rkey);
	memset(pair->memory[0], 0x11, 65536);
	pair_run(pair, 1000000);
	CU_ASSERT_EQUAL(pair_poll_send(pair, 0).status, IBV_WC_REM_ACCESS_ERR);
	for (uint32_t i = PAIR_MEMORY - 65535; i < PAIR_MEMORY; i++) {
		if (pair->memory[1][i]) {
			CU_FAIL("memory was written");
			break;
		}
	}
	CU_ASSERT_EQUAL(pair->event_count[1], 1);
	CU_ASSERT_EQUAL(pair->events[1][0], IBV_EVENT_QP_ACCESS_ERR);
	pair_close(pair);
}

static void operations_that_the_qp_does_not_allow(void)
{
	static const struct {
		enum ibv_wr_opcode opcode;
		unsigned int lacks;
	} cases[] = {
		{IBV_WR_RDMA_WRITE, IBV_ACCESS_REMOTE_WRITE},
		{IBV_WR_RDMA_READ, IBV_ACCESS_REMOTE_READ},
		{IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_ACCESS_REMOTE_ATOMIC},
	};

	for (unsigned int i = 0; i < 3; i++) {
		struct pair *pair =
			pair_open(&(struct pair_options){.access = all_access & ~cases[i].lacks});

		post_remote(pair, cases[i].opcode, 8, (uintptr_t)pair->memory[1] + TARGET,
			    pair->mr[1]->rkey);
		expect_refusal(pair, 0x61, IBV_WC_REM_INV_REQ_ERR);
	}
}

static void operations_that_the_region_does_not_allow(void)
{
	static const enum ibv_wr_opcode opcodes[] = {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
						     IBV_WR_ATOMIC_FETCH_AND_ADD};
	static uint8_t other[4096];

	for (unsigned int i = 0; i < 3; i++) {
		struct pair *pair = pair_open(NULL);
		int error;
		struct ibv_mr *mr = vl_reg_mr(pair->pd[1], other, sizeof(other), 0x10000,
					      IBV_ACCESS_LOCAL_WRITE, &error);

		post_remote(pair, opcodes[i], 8, 0x10000, mr->rkey);
		expect_refusal(pair, 0x62, IBV_WC_REM_ACCESS_ERR);
	}
}

static void a_region_of_another_domain(void)
{
	static uint8_t other[4096];
	struct pair *pair = pair_open(NULL);
	int error;
	struct vl_pd *pd = vl_alloc_pd(pair->device[1], &error);
	struct ibv_mr *mr = vl_reg_mr(pd, other, sizeof(other), 0x10000, all_access, &error);

	post_remote(pair, IBV_WR_RDMA_WRITE, 8, 0x10000, mr->rkey);
	expect_refusal(pair, 0x62, IBV_WC_REM_ACCESS_ERR);
}

static void misaligned_atomics(void)
{
	struct pair *pair = pair_open(NULL);

	post_remote(pair, IBV_WR_ATOMIC_FETCH_AND_ADD, 8, (uintptr_t)pair->memory[1] + TARGET + 4,
		    pair->mr[1]->rkey);
	expect_refusal(pair, 0x61, IBV_WC_REM_INV_REQ_ERR);
}

static void a_send_longer_than_the_receive(void)
{
	struct pair *pair = pair_open(NULL);

	pair_post_recv(pair, 1, 0, 1500);
	pair_post_recv(pair, 1, 0, 1500);
	pair_post(pair, 0, IBV_WR_SEND, 0, 1501, 0, IBV_SEND_SIGNALED);
	pair_run(pair, 1000000);
	CU_ASSERT_EQUAL(pair_poll_recv(pair, 1).status, IBV_WC_LOC_LEN_ERR);
	CU_ASSERT_EQUAL(pair_poll_recv(pair, 1).status, IBV_WC_WR_FLUSH_ERR);
	CU_ASSERT_EQUAL(pair_poll_send(pair, 0).status, IBV_WC_REM_INV_REQ_ERR);
	pair_close(pair);
}

static void a_receive_into_memory_that_is_not_registered(void)
{
	struct pair *pair = pair_open(NULL);
	struct ibv_sge sge = {(uintptr_t)pair->memory[1], 64, pair->mr[1]->lkey ^ 0x100};
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1};
	const struct ibv_recv_wr *bad;

	CU_ASSERT_EQUAL(vl_post_recv(pair->qp[1], &wr, &bad), 0);
	pair_post(pair, 0, IBV_WR_SEND, 0, 64, 0, IBV_SEND_SIGNALED);
	pair_run(pair, 1000000);
	CU_ASSERT_EQUAL(pair_poll_recv(pair, 1).status, IBV_WC_LOC_PROT_ERR);
	CU_ASSERT_EQUAL(pair_poll_send(pair, 0).status, IBV_WC_REM_OP_ERR);
	pair_close(pair);
}

static void a_send_from_memory_that_is_not_registered(void)
{
	struct pair *pair = pair_open(NULL);
	struct ibv_sge sge = {(uintptr_t)pair->memory[0], 64, pair->mr[0]->lkey ^ 0x100};
	struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_WRITE,
				 .wr_id = 5,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .wr.rdma = {(uintptr_t)pair->memory[1], pair->mr[1]->rkey}};
	const struct ibv_send_wr *bad;
	struct ibv_wc wc;

	/* What was posted before it completes before it. */
	pair_post(pair, 0, IBV_WR_RDMA_WRITE, 0, 4096, TARGET, IBV_SEND_SIGNALED);
	CU_ASSERT_EQUAL(vl_post_send(pair->qp[0], &wr, &bad, pair->now), 0);
	pair_run(pair, 1000000);
	CU_ASSERT_EQUAL(pair_poll_send(pair, 0).status, IBV_WC_SUCCESS);
	wc = pair_poll_send(pair, 0);
	CU_ASSERT_EQUAL(wc.status, IBV_WC_LOC_PROT_ERR);
	CU_ASSERT_EQUAL(wc.wr_id, 5);
	CU_ASSERT_EQUAL(vl_qp_state(pair->qp[0]), IBV_QPS_ERR);
	pair_close(pair);
}

static void a_read_into_memory_that_is_not_writable(void)
{
	static uint8_t sink[4096];
	struct pair *pair = pair_open(NULL);
	int error;
	struct ibv_mr *mr = vl_reg_mr(pair->pd[0], sink, sizeof(sink), 0x20000, 0, &error);
	struct ibv_sge sge = {0x20000, 64, mr->lkey};
	struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_READ,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .wr.rdma = {(uintptr_t)pair->memory[1], pair->mr[1]->rkey}};
	const struct ibv_send_wr *bad;

	vl_post_send(pair->qp[0], &wr, &bad, pair->now);
	pair_run(pair, 1000000);
	CU_ASSERT_EQUAL(pair_poll_send(pair, 0).status, IBV_WC_LOC_PROT_ERR);
	pair_close(pair);
}

static void a_region_that_goes_while_it_is_read(void)
{
	struct pair *pair = pair_open(NULL);
	static uint8_t other[65536];
	int error;
	struct vl_cc_parameters cc = {.algorithm = &vl_cc_fixed, .fixed_rate = 1000000000};
	struct ibv_mr *mr;

	pair_close(pair);
	pair = pair_open(&(struct pair_options){.cc = &cc});
	mr = vl_reg_mr(pair->pd[1], other, sizeof(other), 0x10000, all_access, &error);
	post_remote(pair, IBV_WR_RDMA_READ, 65536, 0x10000, mr->rkey);
	pair_run(pair, 100000); /* about a fifth of it, at 1 Gb/s */
	CU_ASSERT_EQUAL(vl_dereg_mr(mr), 0);
	pair_run(pair, 1000000);
	CU_ASSERT_TRUE(pair_count(pair, 1, VL_OP_READ_RESPONSE_MIDDLE) > 2);
	CU_ASSERT_EQUAL(pair_poll_send(pair, 0).status, IBV_WC_REM_ACCESS_ERR);
	pair_close(pair);
}

static void an_invalidate_of_a_wrong_key_shows_at_the_responder(void)
{
	struct pair *pair = pair_open(NULL);
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND_WITH_INV,
				 .send_flags = IBV_SEND_SIGNALED,
				 .invalidate_rkey = 0x12345678};
	const struct ibv_send_wr *bad;

	pair_post_recv(pair, 1, 0, 64);
	vl_post_send(pair->qp[0], &wr, &bad, pair->now);
	pair_run(pair, 1000000);
	CU_ASSERT_EQUAL(pair_poll_send(pair, 0).status, IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(pair_poll_recv(pair, 1).status, IBV_WC_REM_INV_REQ_ERR);
	CU_ASSERT_EQUAL(vl_qp_state(pair->qp[1]), IBV_QPS_ERR);
	pair_close(pair);
}

/* Changes the opcode of the n-th request and makes the ICRC right again by going around it. */
static void opcodes_out_of_order(void)
{
	static const struct {
		uint8_t first, then;
	} cases[] = {
		{VL_OP_SEND_FIRST, VL_OP_WRITE_MIDDLE}, {VL_OP_SEND_FIRST, VL_OP_SEND_ONLY},
		{VL_OP_SEND_FIRST, VL_OP_READ_REQUEST}, {VL_OP_WRITE_FIRST, VL_OP_SEND_LAST},
		{VL_OP_SEND_ONLY, VL_OP_SEND_MIDDLE},   {VL_OP_SEND_ONLY, VL_OP_WRITE_LAST},
	};

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pair *pair = pair_open(NULL);
		static uint8_t payload[1024];
		struct vl_packet packet = {
			.destination_mac = {2, 0, 0, 0, 0, 1},
			.pkey = 0xffff,
			.destination_qpn = vl_qp_number(pair->qp[1]),
			.payload = payload,
			.payload_length = sizeof(payload),
			.remote_address = (uintptr_t)pair->memory[1],
			.rkey = pair->mr[1]->rkey,
			.dma_length = 2048,
			.opcode = cases[i].first,
			.info = &vl_opcode_table[cases[i].first],
		};

		pair_post_recv(pair, 1, 0, 4096);
		pair_post_recv(pair, 1, 0, 4096);
		vl_receive(pair->device[1], &packet, pair->now);
		packet.psn = 1;
		packet.opcode = cases[i].then;
		packet.info = &vl_opcode_table[cases[i].then];
		vl_receive(pair->device[1], &packet, pair->now);
		pair_run(pair, 10000);
		CU_ASSERT_EQUAL(vl_qp_counters(pair->qp[1])->nak_tx, 1);
		CU_ASSERT_EQUAL(pair->trace[pair->trace_count - 1].packet.syndrome, 0x61);
		CU_ASSERT_EQUAL(pair->trace[pair->trace_count - 1].packet.psn, 1);
		CU_ASSERT_EQUAL(vl_qp_state(pair->qp[1]), IBV_QPS_ERR);
		pair_close(pair);
	}
}

static const struct test tests[] = {
	{"wrong_keys", wrong_keys},
	{"out_of_bounds", out_of_bounds},
	{"a_long_write_that_ends_outside_is_refused_at_its_start",
	 a_long_write_that_ends_outside_is_refused_at_its_start},
	{"operations_that_the_qp_does_not_allow", operations_that_the_qp_does_not_allow},
	{"operations_that_the_region_does_not_allow", operations_that_the_region_does_not_allow},
	{"a_region_of_another_domain", a_region_of_another_domain},
	{"misaligned_atomics", misaligned_atomics},
	{"a_send_longer_than_the_receive", a_send_longer_than_the_receive},
	{"a_receive_into_memory_that_is_not_registered",
	 a_receive_into_memory_that_is_not_registered},
	{"a_send_from_memory_that_is_not_registered", a_send_from_memory_that_is_not_registered},
	{"a_read_into_memory_that_is_not_writable", a_read_into_memory_that_is_not_writable},
	{"a_region_that_goes_while_it_is_read", a_region_that_goes_while_it_is_read},
	{"an_invalidate_of_a_wrong_key_shows_at_the_responder",
	 an_invalidate_of_a_wrong_key_shows_at_the_responder},
	{"opcodes_out_of_order", opcodes_out_of_order},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("rc_errors", tests, argc, argv);
}
