/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Reliable connection: chosen packets are lost or doubled, and the rules of IBTA 9.7.5 and 9.7.6
 * bring everything through once. */

#include "tests/support/pair.h"
#include "tests/support/suite.h"
#include "transport/wire/opcode.h"

#include <string.h>

#define TARGET     131072
#define TIMEOUT_NS (UINT64_C(4096) << 10) /* the pair's default exponent */

/* Drops the n-th packets (from 0) of one side that have an opcode; the list ends with -1. */
struct drops {
	unsigned int from;
	int opcode;
	int numbers[8];
	int seen;
};

static bool drop_listed(struct pair *pair, unsigned int from, const struct vl_packet *packet,
			uint8_t *frame, uint32_t length)
{
	struct drops *drops = pair->hook_data;

	(void)frame;
	(void)length;
	if (from != drops->from || (drops->opcode >= 0 && packet->opcode != drops->opcode))
		return true;
	for (int i = 0; drops->numbers[i] >= 0; i++) {
		if (drops->numbers[i] == drops->seen) {
			drops->seen++;
			return false;
		}
	}
	drops->seen++;
	return true;
}

static struct pair *open_lossy(const struct pair_options *options, struct drops *drops)
{
	struct pair *pair = pair_open(options);

	pair->hook = drop_listed;
	pair->hook_data = drops;
	for (uint32_t i = 0; i < 65536; i++)
		pair->memory[0][i] = (uint8_t)(i * 13 + 5);
	return pair;
}

static void a_gap_is_answered_once_and_filled_by_go_back_n(void)
{
	struct drops drops = {0, -1, {2, -1}, 0};
	struct pair *pair = open_lossy(&(struct pair_options){.psn = {0xfffffe, 0}}, &drops);
	const struct pair_record *nak;

	pair_post(pair, 0, IBV_WR_RDMA_WRITE, 0, 8 * 1024, TARGET, IBV_SEND_SIGNALED);
	pair_run(pair, TIMEOUT_NS / 2);
	CU_ASSERT_EQUAL(pair_poll_send(pair, 0).status, IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(vl_qp_counters(pair->qp[1])->nak_tx, 1);
	nak = pair_find(pair, 1, VL_OP_ACKNOWLEDGE, 0);
	CU_ASSERT_EQUAL(nak->packet.syndrome, 0x60);
	CU_ASSERT_EQUAL(nak->packet.psn, 0); /* 0xfffffe + 2 */
	CU_ASSERT_EQUAL(vl_qp_counters(pair->qp[1])->frame_sequence_error, 5);
	CU_ASSERT_EQUAL(vl_qp_counters(pair->qp[0])->data_frames_retransmitted, 6);
	CU_ASSERT_EQUAL(pair_find(pair, 0, -1, 8)->packet.psn, 0);
	CU_ASSERT_TRUE(pair_find(pair, 0, -1, 8)->is_retransmission);
	CU_ASSERT_EQUAL(memcmp(pair->memory[0], pair->memory[1] + TARGET, 8192), 0);
	pair_close(pair);
}

static void a_lost_tail_waits_for_the_timeout(void)
{
	struct drops drops = {0, -1, {3, -1}, 0};
	struct pair *pair = open_lossy(NULL, &drops);
	uint64_t sent, again;

	pair_post(pair, 0, IBV_WR_RDMA_WRITE, 0, 4096, TARGET, IBV_SEND_SIGNALED);
	pair_run(pair, 5 * TIMEOUT_NS);
	CU_ASSERT_EQUAL(pair_poll_send(pair, 0).status, IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(vl_qp_counters(pair->qp[0])->local_ack_timeout_err, 1);
	sent = pair_find(pair, 0, VL_OP_WRITE_LAST, 0)->time;
	again = pair_find(pair, 0, -1, 4)->time;
	/* IBTA 9.7.6.1.3: between the timeout and four times that. */
	CU_ASSERT_TRUE(again - sent >= TIMEOUT_NS && again - sent <= 4 * TIMEOUT_NS);
	pair_close(pair);
}

static void a_lost_ack_delivers_nothing_twice(void)
{
	struct drops drops = {1, VL_OP_ACKNOWLEDGE, {0, -1}, 0};
	struct pair *pair = open_lossy(NULL, &drops);

	for (int i = 0; i < 3; i++)
		pair_post_recv(pair, 1, TARGET + (uint32_t)i * 64, 64);
	pair_post(pair, 0, IBV_WR_SEND, 0, 64, 0, IBV_SEND_SIGNALED);
	pair_run(pair, 5 * TIMEOUT_NS);
	CU_ASSERT_EQUAL(pair_poll_send(pair, 0).status, IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(pair_poll_recv(pair, 1).status, IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(pair_poll_recv(pair, 1).status, PAIR_NO_COMPLETION);
	CU_ASSERT_EQUAL(vl_qp_counters(pair->qp[1])->duplicate_request, 1);
	CU_ASSERT_EQUAL(pair_find(pair, 1, VL_OP_ACKNOWLEDGE, 1)->packet.psn,
			pair_find(pair, 0, VL_OP_SEND_ONLY, 0)->packet.psn);
	pair_close(pair);
}

static void a_later_ack_serves_for_a_lost_one(void)
{
	struct drops drops = {1, VL_OP_ACKNOWLEDGE, {0, -1}, 0};
	struct pair *pair = open_lossy(NULL, &drops);

	pair_post(pair, 0, IBV_WR_RDMA_WRITE, 0, 64, TARGET, IBV_SEND_SIGNALED);
	pair_run(pair, 10000);
	pair_post(pair, 0, IBV_WR_RDMA_WRITE, 0, 64, TARGET, IBV_SEND_SIGNALED);
	pair_run(pair, 10000);
	CU_ASSERT_EQUAL(pair_poll_send(pair, 0).status, IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(pair_poll_send(pair, 0).status, IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(vl_qp_counters(pair->qp[0])->data_frames_retransmitted, 0);
	pair_close(pair);
}

static void a_lost_read_response_is_asked_for_from_there(void)
{
	struct drops drops = {1, VL_OP_READ_RESPONSE_MIDDLE, {1, -1}, 0};
	struct pair *pair = open_lossy(&(struct pair_options){.psn = {0xfffffd, 0}}, &drops);
	const struct pair_record *again;

	memcpy(pair->memory[1] + TARGET, pair->memory[0], 65536);
	memset(pair->memory[0], 0, 65536);
	pair_post(pair, 0, IBV_WR_RDMA_READ, 0, 6000, TARGET, IBV_SEND_SIGNALED);
	pair_post(pair, 0, IBV_WR_RDMA_READ, 8000, 3000, TARGET, IBV_SEND_SIGNALED);
	pair_run(pair, TIMEOUT_NS / 2);
	CU_ASSERT_EQUAL(pair_poll_send(pair, 0).status, IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(pair_poll_send(pair, 0).status, IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(memcmp(pair->memory[0], pair->memory[1] + TARGET, 6000), 0);
	CU_ASSERT_EQUAL(memcmp(pair->memory[0] + 8000, pair->memory[1] + TARGET, 3000), 0);
	CU_ASSERT_EQUAL(vl_qp_counters(pair->qp[0])->implied_nak_seq_err, 1);
	again = pair_find(pair, 0, VL_OP_READ_REQUEST, 2);
	CU_ASSERT_PTR_NOT_NULL_FATAL(again);
	CU_ASSERT_EQUAL(again->packet.psn, 0xffffff);
	CU_ASSERT_EQUAL(again->packet.dma_length, 6000 - 2048);
	CU_ASSERT_EQUAL(again->packet.remote_address,
			pair_find(pair, 0, VL_OP_READ_REQUEST, 0)->packet.remote_address + 2048);
	/* Its first response packet carries the PSN that was asked for. */
	CU_ASSERT_EQUAL(pair_find(pair, 1, VL_OP_READ_RESPONSE_FIRST, 2)->packet.psn, 0xffffff);
	pair_close(pair);
}

static void a_lost_read_request_is_implied_by_what_follows(void)
{
	struct drops drops = {0, VL_OP_READ_REQUEST, {0, -1}, 0};
	struct pair *pair = open_lossy(NULL, &drops);

	pair_post(pair, 0, IBV_WR_RDMA_READ, 0, 64, TARGET, IBV_SEND_SIGNALED);
	pair_post(pair, 0, IBV_WR_RDMA_WRITE, 0, 64, TARGET, IBV_SEND_SIGNALED);
	pair_run(pair, TIMEOUT_NS / 2);
	CU_ASSERT_EQUAL(pair_poll_send(pair, 0).opcode, IBV_WC_RDMA_READ);
	CU_ASSERT_EQUAL(pair_poll_send(pair, 0).opcode, IBV_WC_RDMA_WRITE);
	pair_close(pair);
}

static void an_atomic_is_executed_once(void)
{
	struct drops drops = {1, VL_OP_ATOMIC_ACKNOWLEDGE, {0, 2, -1}, 0};
	struct pair *pair = open_lossy(NULL, &drops);
	uint64_t value = 100, result;

	memcpy(pair->memory[1] + TARGET, &value, 8);
	for (uint32_t i = 0; i < 3; i++)
		pair_post(pair, 0, IBV_WR_ATOMIC_FETCH_AND_ADD, i * 8, 8, TARGET,
			  IBV_SEND_SIGNALED);
	pair_run(pair, 10 * TIMEOUT_NS);
	for (uint32_t i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL(pair_poll_send(pair, 0).status, IBV_WC_SUCCESS);
		memcpy(&result, pair->memory[0] + i * 8, 8);
		CU_ASSERT_EQUAL(result, 100 + 5 * i);
	}
	memcpy(&value, pair->memory[1] + TARGET, 8);
	CU_ASSERT_EQUAL(value, 115);
	CU_ASSERT_TRUE(vl_qp_counters(pair->qp[1])->duplicate_request >= 2);
	pair_close(pair);
}

static void retries_come_to_an_end(void)
{
	struct drops drops = {0, VL_OP_WRITE_ONLY, {0, 1, 2, 3, 4, 5, -1}, 0};
	struct pair *pair = open_lossy(&(struct pair_options){.retry_count = 2}, &drops);
	struct ibv_wc wc;

	pair_post(pair, 0, IBV_WR_RDMA_WRITE, 0, 64, TARGET, 0);
	pair_post(pair, 0, IBV_WR_RDMA_WRITE, 64, 64, TARGET, 0);
	pair_run(pair, 20 * TIMEOUT_NS);
	/* An unsignalled request completes too when it fails. */
	wc = pair_poll_send(pair, 0);
	CU_ASSERT_EQUAL(wc.status, IBV_WC_RETRY_EXC_ERR);
	CU_ASSERT_EQUAL(wc.wr_id, 0);
	wc = pair_poll_send(pair, 0);
	CU_ASSERT_EQUAL(wc.status, IBV_WC_WR_FLUSH_ERR);
	CU_ASSERT_EQUAL(wc.wr_id, 64);
	CU_ASSERT_EQUAL(vl_qp_state(pair->qp[0]), IBV_QPS_ERR);
	CU_ASSERT_EQUAL(vl_qp_counters(pair->qp[0])->local_ack_timeout_err, 3);
	CU_ASSERT_EQUAL(vl_qp_counters(pair->qp[0])->message_fail, 2);
	pair_close(pair);
}

static void progress_reloads_the_retries(void)
{
	/* Each of the four packets is lost twice, and two retries are granted. */
	struct drops drops = {0, VL_OP_WRITE_ONLY, {0, 1, 3, 4, 6, 7, -1}, 0};
	struct pair *pair = open_lossy(&(struct pair_options){.retry_count = 2}, &drops);

	for (int i = 0; i < 3; i++) {
		pair_post(pair, 0, IBV_WR_RDMA_WRITE, 0, 64, TARGET, IBV_SEND_SIGNALED);
		pair_run(pair, 10 * TIMEOUT_NS);
		CU_ASSERT_EQUAL(pair_poll_send(pair, 0).status, IBV_WC_SUCCESS);
	}
	pair_close(pair);
}

static void a_receiver_not_ready_is_waited_for(void)
{
	struct pair *pair = pair_open(&(struct pair_options){.min_rnr_timer = 14});
	const struct pair_record *nak;

	pair_post(pair, 0, IBV_WR_SEND, 0, 64, 0, IBV_SEND_SIGNALED);
	pair_run(pair, 100000);
	nak = pair_find(pair, 1, VL_OP_ACKNOWLEDGE, 0);
	CU_ASSERT_EQUAL(nak->packet.syndrome, 0x20 | 14);
	CU_ASSERT_EQUAL(nak->packet.psn, pair_find(pair, 0, -1, 0)->packet.psn);
	pair_post_recv(pair, 1, TARGET, 64);
	pair_run(pair, 5000000);
	CU_ASSERT_EQUAL(pair_poll_send(pair, 0).status, IBV_WC_SUCCESS);
	CU_ASSERT_EQUAL(pair_count(pair, 0, -1), 2);
	/* Code 14 is 1.28 ms. */
	CU_ASSERT_TRUE(pair_find(pair, 0, -1, 1)->time >= nak->time + PAIR_DELAY + 1280000);
	CU_ASSERT_TRUE(pair_find(pair, 0, -1, 1)->time < nak->time + PAIR_DELAY + 1290000);
	pair_close(pair);
}

/* The first was refused, and came through as a copy that was under way; then the second is refused,
 * before the wait for the first is over. */
static void each_refusal_has_its_own_wait(void)
{
	struct pair *pair =
		pair_open(&(struct pair_options){.min_rnr_timer = 14, .unlimited_credits = true});
	struct vl_packet response;
	uint64_t refused;

	pair_post_recv(pair, 1, TARGET, 64);
	pair_post(pair, 0, IBV_WR_SEND, 0, 64, 0, IBV_SEND_SIGNALED);
	pair_run(pair, 10000);
	CU_ASSERT_EQUAL(pair_poll_send(pair, 0).status, IBV_WC_SUCCESS);
	pair_post(pair, 0, IBV_WR_SEND, 0, 64, 0, IBV_SEND_SIGNALED);
	pair_post(pair, 0, IBV_WR_SEND, 64, 64, 0, IBV_SEND_SIGNALED);
	pair_run(pair, 600000);
	response = pair_find(pair, 1, VL_OP_ACKNOWLEDGE, 1)->packet;
	CU_ASSERT_EQUAL(response.syndrome, 0x20 | 14);
	response.syndrome = 0x1f;
	response.msn = 2;
	vl_receive(pair->device[0], &response, pair->now);
	CU_ASSERT_EQUAL(pair_poll_send(pair, 0).status, IBV_WC_SUCCESS);
	response.syndrome = 0x20 | 14;
	response.psn++;
	refused = pair->now;
	vl_receive(pair->device[0], &response, pair->now);
	pair_run(pair, 1500000);
	CU_ASSERT_TRUE_FATAL(pair_count(pair, 0, -1) > 3);
	CU_ASSERT_EQUAL(pair_find(pair, 0, -1, 3)->packet.psn, response.psn);
	CU_ASSERT_TRUE(pair_find(pair, 0, -1, 3)->time >= refused + 1280000);
	pair_close(pair);
}

static void rnr_retries_come_to_an_end(void)
{
	struct pair *pair = pair_open(&(struct pair_options){.rnr_retry = 3});

	pair_post(pair, 0, IBV_WR_SEND, 0, 64, 0, IBV_SEND_SIGNALED);
	pair_run(pair, 10000000);
	CU_ASSERT_EQUAL(pair_poll_send(pair, 0).status, IBV_WC_RNR_RETRY_EXC_ERR);
	CU_ASSERT_EQUAL(vl_qp_counters(pair->qp[0])->rnr_nak_rx, 4);
	pair_close(pair);
	pair = pair_open(&(struct pair_options){.no_rnr_retry = true});
	pair_post(pair, 0, IBV_WR_SEND, 0, 64, 0, IBV_SEND_SIGNALED);
	pair_run(pair, 10000000);
	CU_ASSERT_EQUAL(pair_poll_send(pair, 0).status, IBV_WC_RNR_RETRY_EXC_ERR);
	CU_ASSERT_EQUAL(vl_qp_counters(pair->qp[0])->rnr_nak_rx, 1);
	pair_close(pair);
}

static void rnr_retry_seven_never_ends(void)
{
	struct pair *pair = pair_open(NULL);

	pair_post(pair, 0, IBV_WR_SEND, 0, 64, 0, IBV_SEND_SIGNALED);
	pair_run(pair, 10000000);
	CU_ASSERT_TRUE(vl_qp_counters(pair->qp[0])->rnr_nak_rx > 100);
	CU_ASSERT_EQUAL(vl_qp_state(pair->qp[0]), IBV_QPS_RTS);
	pair_post_recv(pair, 1, TARGET, 64);
	pair_run(pair, 100000);
	CU_ASSERT_EQUAL(pair_poll_send(pair, 0).status, IBV_WC_SUCCESS);
	pair_close(pair);
}

static void nothing_after_a_refused_send_is_a_gap(void)
{
	struct pair *pair = pair_open(&(struct pair_options){.unlimited_credits = true});

	/* Learns that credits are unlimited, so that several go beyond the receives posted. */
	pair_post_recv(pair, 1, TARGET, 64);
	pair_post(pair, 0, IBV_WR_SEND, 0, 64, 0, IBV_SEND_SIGNALED);
	pair_run(pair, 10000);
	for (int i = 0; i < 4; i++)
		pair_post(pair, 0, IBV_WR_SEND, 0, 64, 0, IBV_SEND_SIGNALED);
	pair_run(pair, 5000);
	CU_ASSERT_EQUAL(vl_qp_counters(pair->qp[1])->rnr_nak_tx, 1);
	CU_ASSERT_EQUAL(vl_qp_counters(pair->qp[1])->nak_tx, 0);
	for (uint32_t i = 0; i < 4; i++)
		pair_post_recv(pair, 1, TARGET + i * 64, 64);
	pair_run(pair, 1000000);
	for (int i = 0; i < 5; i++)
		CU_ASSERT_EQUAL(pair_poll_send(pair, 0).status, IBV_WC_SUCCESS);
	pair_close(pair);
}

static void answers_to_nothing_are_dropped(void)
{
	struct pair *pair = pair_open(NULL);
	struct vl_packet forged;

	pair_post(pair, 0, IBV_WR_RDMA_WRITE, 0, 64, TARGET, IBV_SEND_SIGNALED);
	pair_run(pair, 10000);
	CU_ASSERT_EQUAL(pair_poll_send(pair, 0).status, IBV_WC_SUCCESS);
	forged = pair_find(pair, 1, VL_OP_ACKNOWLEDGE, 0)->packet;
	forged.psn += 1; /* an ACK beyond what was sent */
	vl_receive(pair->device[0], &forged, pair->now);
	forged.psn += 1000;
	vl_receive(pair->device[0], &forged, pair->now);
	forged.psn -= 2000; /* long ago */
	forged.psn &= 0xffffff;
	vl_receive(pair->device[0], &forged, pair->now);
	CU_ASSERT_EQUAL(vl_device_drops(pair->device[0])[VL_DROP_stale_response], 3);
	CU_ASSERT_EQUAL(vl_qp_state(pair->qp[0]), IBV_QPS_RTS);
	/* From another address than the peer's. */
	forged.source_gid.raw[15] ^= 4;
	vl_receive(pair->device[0], &forged, pair->now);
	CU_ASSERT_EQUAL(vl_device_drops(pair->device[0])[VL_DROP_source], 1);
	pair_post(pair, 0, IBV_WR_RDMA_WRITE, 0, 64, TARGET, IBV_SEND_SIGNALED);
	pair_run(pair, 10000);
	CU_ASSERT_EQUAL(pair_poll_send(pair, 0).status, IBV_WC_SUCCESS);
	pair_close(pair);
}

static const struct test tests[] = {
	{"a_gap_is_answered_once_and_filled_by_go_back_n",
	 a_gap_is_answered_once_and_filled_by_go_back_n},
	{"a_lost_tail_waits_for_the_timeout", a_lost_tail_waits_for_the_timeout},
	{"a_lost_ack_delivers_nothing_twice", a_lost_ack_delivers_nothing_twice},
	{"a_later_ack_serves_for_a_lost_one", a_later_ack_serves_for_a_lost_one},
	{"a_lost_read_response_is_asked_for_from_there",
	 a_lost_read_response_is_asked_for_from_there},
	{"a_lost_read_request_is_implied_by_what_follows",
	 a_lost_read_request_is_implied_by_what_follows},
	{"an_atomic_is_executed_once", an_atomic_is_executed_once},
	{"retries_come_to_an_end", retries_come_to_an_end},
	{"progress_reloads_the_retries", progress_reloads_the_retries},
	{"a_receiver_not_ready_is_waited_for", a_receiver_not_ready_is_waited_for},
	{"each_refusal_has_its_own_wait", each_refusal_has_its_own_wait},
	{"rnr_retries_come_to_an_end", rnr_retries_come_to_an_end},
	{"rnr_retry_seven_never_ends", rnr_retry_seven_never_ends},
	{"nothing_after_a_refused_send_is_a_gap", nothing_after_a_refused_send_is_a_gap},
	{"answers_to_nothing_are_dropped", answers_to_nothing_are_dropped},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("rc_recovery", tests, argc, argv);
}
