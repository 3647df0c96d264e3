// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the verbline authors

/* The server's side of perftest, against a client made of recorded messages. */

#include "apps/endpoint/perftest.h"
#include "tests/support/pair.h"
#include "tests/support/suite.h"

#include <endian.h>
#include <string.h>

#define REPLY_OFFSET 65536 /* of the client's memory: where it receives */

static const union ibv_gid gid = {.raw = {[10] = 0xff, 0xff, 10, 77, 0, 50}};

/* As ib_write_bw 6.06 sent it: one outstanding READ, QPN 0x12, a PSN, an rkey, an address, a GID,
 * no SRQ, GID index 1. */
static const uint8_t recorded_destination[56] = {
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x12, 0x00, 0xec,
	0x73, 0x9e, 0x00, 0x00, 0x03, 0xe4, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x55, 0xa4,
	0x4d, 0x02, 0xb0, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0xff, 0xff, 0x0a, 0x4d, 0x00, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01,
};

struct conversation {
	struct pair *pair;
	struct vl_perftest_target *target;
	struct vl_perftest *perftest;
};

static struct conversation open_conversation(void)
{
	struct pair_options options = {.depth = VL_PERFTEST_DEPTH};
	struct conversation conversation = {.pair = pair_open(&options)};
	int error = 0;

	conversation.target = vl_perftest_target_open(conversation.pair->pd[1], &error);
	CU_ASSERT_PTR_NOT_NULL_FATAL(conversation.target);
	conversation.perftest = vl_perftest_open(conversation.target, &gid, &error);
	CU_ASSERT_PTR_NOT_NULL_FATAL(conversation.perftest);
	CU_ASSERT_EQUAL(vl_perftest_prepare(conversation.perftest, conversation.pair->qp[1]), 0);
	return conversation;
}

static void close_conversation(struct conversation *conversation)
{
	vl_destroy_qp(conversation->pair->qp[1]);
	vl_perftest_close(conversation->perftest);
	vl_perftest_target_close(conversation->target);
	pair_close(conversation->pair);
}

/* Sends a message; returns the length of the reply, -1 without one. False in *ok: the server has
 * given up. */
static int say(struct conversation *conversation, const void *message, uint32_t length, bool *ok)
{
	struct pair *pair = conversation->pair;
	struct ibv_wc wc;
	int reply = -1;

	*ok = true;
	if (message)
		memcpy(pair->memory[0], message, length);
	memset(pair->memory[0] + REPLY_OFFSET, 0, 64);
	/* Full where nothing has been answered: one receive is enough. */
	pair_post_recv(pair, 0, REPLY_OFFSET, 1024);
	CU_ASSERT_EQUAL(pair_post(pair, 0, IBV_WR_SEND, 0, length, 0, IBV_SEND_SIGNALED), 0);
	for (int i = 0; i < 4; i++) {
		pair_run(pair, 1000000);
		while ((wc = pair_poll_send(pair, 1)).status != PAIR_NO_COMPLETION)
			*ok &= vl_perftest_complete(conversation->perftest, &wc, pair->now);
		while ((wc = pair_poll_recv(pair, 1)).status != PAIR_NO_COMPLETION)
			*ok &= vl_perftest_complete(conversation->perftest, &wc, pair->now);
		while ((wc = pair_poll_send(pair, 0)).status != PAIR_NO_COMPLETION)
			CU_ASSERT_EQUAL(wc.status, IBV_WC_SUCCESS);
		while ((wc = pair_poll_recv(pair, 0)).status != PAIR_NO_COMPLETION)
			reply = (int)wc.byte_len;
	}
	return reply;
}

static void check_parameters(void)
{
	struct conversation conversation = open_conversation();
	struct pair *pair = conversation.pair;
	uint8_t *reply = pair->memory[0] + REPLY_OFFSET;
	struct ibv_sge sge = {(uintptr_t)pair->memory[0], 100000, pair->mr[0]->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_RDMA_WRITE,
				 .send_flags = IBV_SEND_SIGNALED};
	const struct ibv_send_wr *bad;
	uint8_t no_qp[56] = {0};
	uint64_t address;
	uint32_t rkey;
	bool ok;

	CU_ASSERT_EQUAL(say(&conversation, "6.06\0\0\0\0\0\0\0\0\0\0\0", 16, &ok), 16);
	CU_ASSERT_STRING_EQUAL((const char *)reply, "6.06");
	CU_ASSERT_EQUAL(say(&conversation, "\0\0\x10", 4, &ok), 4);
	CU_ASSERT_EQUAL(memcmp(reply, "\0\0\x10", 4), 0);
	CU_ASSERT_EQUAL(say(&conversation, no_qp, sizeof(no_qp), &ok), 56);
	CU_ASSERT_EQUAL(memcmp(reply, no_qp, sizeof(no_qp)), 0);

	CU_ASSERT_EQUAL(say(&conversation, recorded_destination, 56, &ok), 56);
	CU_ASSERT_EQUAL(memcmp(reply, recorded_destination, 16), 0);
	CU_ASSERT_EQUAL(memcmp(reply + 32, gid.raw, 16), 0);
	memcpy(&rkey, reply + 16, 4);
	memcpy(&address, reply + 24, 8);
	wr.wr.rdma.rkey = be32toh(rkey);
	wr.wr.rdma.remote_addr = be64toh(address);
	CU_ASSERT_EQUAL(vl_post_send(pair->qp[0], &wr, &bad, pair->now), 0);
	wr.opcode = IBV_WR_RDMA_READ;
	CU_ASSERT_EQUAL(vl_post_send(pair->qp[0], &wr, &bad, pair->now), 0);
	pair_run(pair, 10000000);
	CU_ASSERT_EQUAL(pair_poll_send(pair, 0).status, IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(pair_poll_send(pair, 0).status, IBV_WC_SUCCESS);
	CU_ASSERT_TRUE(ok);
	close_conversation(&conversation);
}

/* More messages than receives, none of which is answered. */
static void check_data(void)
{
	struct conversation conversation = open_conversation();
	bool ok, all_ok = true;

	for (unsigned int i = 0; i < VL_PERFTEST_DEPTH + 8 && all_ok; i++) {
		CU_ASSERT_EQUAL(say(&conversation, NULL, i % 3 ? 56 : 10000, &ok), -1);
		all_ok = ok;
	}
	CU_ASSERT_TRUE(all_ok);
	close_conversation(&conversation);
}

static void check_hostile(void)
{
	struct conversation conversation = open_conversation();
	bool ok;

	CU_ASSERT_EQUAL(say(&conversation, "6.06\0\0\0\0\0\0\0\0\0\0\0", 16, &ok), 16);
	/* Parameters that do not fit in the place for them are not sent back. */
	CU_ASSERT_EQUAL(say(&conversation, NULL, 1000, &ok), -1);
	CU_ASSERT_FALSE(ok);
	close_conversation(&conversation);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"parameters", check_parameters},
		{"data", check_data},
		{"hostile", check_hostile},
	};

	return RUN_SUITE("perftest", tests, argc, argv);
}
