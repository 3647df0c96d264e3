/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Real RC traffic between two workers: everything arrives, intact and in order, and what one side
 * counts is what the other does. */

#include "tests/vdev/live_pair.h"
#include "tests/vdev/support.h"
#include "transport/random.h"

#include <rte_mempool.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MEMORY_SIZE (1u << 20)
#define QUEUE_DEPTH 64

/* SENDs of random lengths from one side into numbered receive buffers of the other. */
struct sender {
	struct live_side *side;
	struct vl_random random;
	uint32_t posted, completed, total;
	uint32_t failures;
	atomic_bool done;
};

struct receiver {
	struct live_side *side;
	struct vl_random random; /* draws the lengths that the sender draws */
	uint32_t received, total;
	uint32_t failures;
	atomic_bool done;
};

#define SLOT_SIZE (MEMORY_SIZE / QUEUE_DEPTH)

static uint32_t draw_length(struct vl_random *random)
{
	return (uint32_t)vl_random_below(random, SLOT_SIZE + 1);
}

static void post_send(struct sender *sender, uint64_t now)
{
	uint32_t slot = sender->posted % QUEUE_DEPTH;
	uint8_t *data = sender->side->memory + slot * SLOT_SIZE;
	uint32_t length = draw_length(&sender->random);
	struct ibv_sge sge = {(uintptr_t)data, length, sender->side->mr->lkey};
	struct ibv_send_wr wr = {.wr_id = sender->posted,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND,
				 .send_flags = IBV_SEND_SIGNALED},
			   *bad;

	for (uint32_t i = 0; i < length; i++)
		data[i] = (uint8_t)(sender->posted * 31 + i);
	if (vl_post_send(sender->side->qp, &wr, (const struct ibv_send_wr **)&bad, now))
		sender->failures++;
	sender->posted++;
}

static void run_sender(void *context, struct vl_endpoint *endpoint, uint64_t now)
{
	struct sender *sender = context;
	struct ibv_wc wc;

	(void)endpoint;
	while (vl_poll_cq(sender->side->cq, 1, &wc) == 1) {
		sender->failures += wc.status != IBV_WC_SUCCESS || wc.wr_id != sender->completed;
		sender->completed++;
	}
	while (sender->posted < sender->total && sender->posted - sender->completed < QUEUE_DEPTH)
		post_send(sender, now);
	if (sender->completed == sender->total || sender->failures)
		atomic_store(&sender->done, true);
}

static void post_receive(struct receiver *receiver, uint32_t number)
{
	struct live_side *side = receiver->side;
	struct ibv_sge sge = {(uintptr_t)side->memory + number % QUEUE_DEPTH * SLOT_SIZE, SLOT_SIZE,
			      side->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = number, .sg_list = &sge, .num_sge = 1};
	const struct ibv_recv_wr *bad;

	if (vl_post_recv(side->qp, &wr, &bad))
		receiver->failures++;
}

static void check_message(struct receiver *receiver, const struct ibv_wc *wc)
{
	uint32_t number = receiver->received, length = draw_length(&receiver->random);
	const uint8_t *data = receiver->side->memory + number % QUEUE_DEPTH * SLOT_SIZE;

	if (wc->status != IBV_WC_SUCCESS || wc->wr_id != number || wc->byte_len != length) {
		receiver->failures++;
		return;
	}
	for (uint32_t i = 0; i < length; i++) {
		if (data[i] != (uint8_t)(number * 31 + i)) {
			receiver->failures++;
			return;
		}
	}
}

static void run_receiver(void *context, struct vl_endpoint *endpoint, uint64_t now)
{
	struct receiver *receiver = context;
	struct ibv_wc wc;

	(void)endpoint;
	(void)now;
	while (vl_poll_cq(receiver->side->cq, 1, &wc) == 1) {
		check_message(receiver, &wc);
		receiver->received++;
		post_receive(receiver, receiver->received + QUEUE_DEPTH - 1);
	}
	if (receiver->received == receiver->total || receiver->failures)
		atomic_store(&receiver->done, true);
}

struct traffic {
	struct live_pair pair;
	struct sender sender;
	struct receiver receiver;
	uint8_t *memory[2];
};

static void open_traffic(struct traffic *traffic, const struct live_pair_config *shape,
			 uint32_t messages)
{
	struct live_pair_config config = *shape;
	struct vl_error error = {.text = ""};

	memset(traffic, 0, sizeof(*traffic));
	for (unsigned int i = 0; i < 2; i++) {
		traffic->memory[i] = calloc(1, MEMORY_SIZE);
		config.memory[i] = traffic->memory[i];
	}
	config.memory_size = MEMORY_SIZE;
	config.queue_depth = QUEUE_DEPTH;
	if (live_pair_open(&traffic->pair, &config, &error)) {
		printf("    %s\n", error.text);
		CU_FAIL_FATAL("no pair");
	}
	traffic->sender =
		(struct sender){.side = &traffic->pair.sides[0], .random = {42}, .total = messages};
	traffic->receiver = (struct receiver){
		.side = &traffic->pair.sides[1], .random = {42}, .total = messages};
	vl_endpoint_set_application(
		traffic->pair.sides[0].endpoint,
		&(struct vl_application){.poll = run_sender, .context = &traffic->sender});
	vl_endpoint_set_application(
		traffic->pair.sides[1].endpoint,
		&(struct vl_application){.poll = run_receiver, .context = &traffic->receiver});
	for (uint32_t i = 0; i < QUEUE_DEPTH; i++)
		post_receive(&traffic->receiver, i);
}

static void run_traffic(struct traffic *traffic)
{
	struct vl_error error;

	CU_ASSERT_EQUAL_FATAL(live_pair_start(&traffic->pair, &error), 0);
	for (unsigned int i = 0; i < 60000; i++) {
		if (atomic_load(&traffic->sender.done) && atomic_load(&traffic->receiver.done))
			break;
		usleep(1000);
	}
	live_pair_stop(&traffic->pair);
	CU_ASSERT_EQUAL(traffic->sender.failures, 0);
	CU_ASSERT_EQUAL(traffic->receiver.failures, 0);
	CU_ASSERT_EQUAL(traffic->sender.completed, traffic->sender.total);
	CU_ASSERT_EQUAL(traffic->receiver.received, traffic->receiver.total);
}

static void close_traffic(struct traffic *traffic)
{
	live_pair_close(&traffic->pair);
	for (unsigned int i = 0; i < 2; i++)
		free(traffic->memory[i]);
}

/* Frames that a side has made and the other has not taken; they are freed. */
static uint64_t take_frames_under_way(struct traffic *traffic, unsigned int from)
{
	struct live_side *sides = traffic->pair.sides;
	struct rte_mbuf *mbufs[VL_PORT_BURST];
	uint64_t count = sides[from].stage.pending_count;
	uint16_t burst;

	vl_endpoint_stage_release(&sides[from].stage);
	while ((burst = vl_port_receive(sides[!from].port, 0, mbufs, VL_PORT_BURST))) {
		count += burst;
		rte_pktmbuf_free_bulk(mbufs, burst);
	}
	return count;
}

static void check_nothing_lost(struct traffic *traffic)
{
	struct live_side *sides = traffic->pair.sides;

	for (unsigned int i = 0; i < 2; i++) {
		const struct vl_endpoint_counters *sent = &sides[i].endpoint->counters;
		const struct vl_endpoint_counters *received = &sides[!i].endpoint->counters;
		const uint64_t *drops = vl_device_drops(sides[i].endpoint->device);

		CU_ASSERT_EQUAL(sent->tx_frames,
				received->rx_frames + take_frames_under_way(traffic, i));
		for (unsigned int reason = 0; reason < VL_DROP_COUNT; reason++)
			CU_ASSERT_EQUAL(drops[reason], 0);
		CU_ASSERT_EQUAL(sides[i].stage.counters.rx_segmented, 0);
	}
	for (unsigned int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(rte_mempool_in_use_count(sides[i].mempool), 0);
}

static void test_messages_arrive(void)
{
	const struct live_pair_config config = {.mempool_size = 2047, .ring_size = 256};
	const struct vl_counters *sent, *received;
	struct vl_worker_counters worker;
	struct traffic traffic;

	open_traffic(&traffic, &config, 5000);
	run_traffic(&traffic);
	sent = vl_qp_counters(traffic.pair.sides[0].qp);
	received = vl_qp_counters(traffic.pair.sides[1].qp);
	CU_ASSERT_EQUAL(sent->message_tx, 5000);
	CU_ASSERT_EQUAL(received->message_rx, 5000);
	CU_ASSERT_EQUAL(sent->data_frames_tx, received->data_frames_rx);
	CU_ASSERT_EQUAL(sent->data_bytes_tx, received->data_bytes_rx);
	CU_ASSERT_EQUAL(sent->data_frames_retransmitted, 0);
	CU_ASSERT(received->ack_tx >= sent->ack_rx && sent->ack_rx > 0);
	CU_ASSERT_EQUAL(sent->nak_rx + sent->rnr_nak_rx + sent->local_ack_timeout_err, 0);
	/* Each frame is moved once by the worker that sends it and once by the one that takes it.
	 */
	worker = vl_worker_counters(traffic.pair.sides[1].worker);
	CU_ASSERT_EQUAL(worker.frames, traffic.pair.sides[1].endpoint->counters.rx_frames +
					       traffic.pair.sides[1].endpoint->counters.tx_frames -
					       traffic.pair.sides[1].stage.pending_count);
	check_nothing_lost(&traffic);
	CU_ASSERT_EQUAL(traffic.pair.sides[0].stage.pool.exhausted, 0);
	close_traffic(&traffic);
}

/* A ring of four frames: the sender waits, and nothing is lost, although no timeout helps. */
static void test_backpressure(void)
{
	const struct live_pair_config config = {.mempool_size = 511, .ring_size = 4};
	struct traffic traffic;

	open_traffic(&traffic, &config, 2000);
	run_traffic(&traffic);
	CU_ASSERT(traffic.pair.sides[0].stage.counters.tx_refused > 0);
	CU_ASSERT_EQUAL(vl_qp_counters(traffic.pair.sides[0].qp)->data_frames_retransmitted, 0);
	check_nothing_lost(&traffic);
	close_traffic(&traffic);
}

/* Fewer buffers than the ring and a burst could take. */
static void test_exhaustion(void)
{
	const struct live_pair_config config = {.mempool_size = 15, .ring_size = 256};
	struct traffic traffic;

	open_traffic(&traffic, &config, 2000);
	run_traffic(&traffic);
	CU_ASSERT(traffic.pair.sides[0].stage.pool.exhausted > 0);
	check_nothing_lost(&traffic);
	close_traffic(&traffic);
}

static void test_stop_and_go_on(void)
{
	const struct live_pair_config config = {.mempool_size = 1023, .ring_size = 64};
	struct traffic traffic;
	struct vl_error error;

	open_traffic(&traffic, &config, 3000);
	for (unsigned int i = 0; i < 5; i++) {
		CU_ASSERT_EQUAL(live_pair_start(&traffic.pair, &error), 0);
		usleep(1000);
		live_pair_stop(&traffic.pair);
	}
	run_traffic(&traffic);
	check_nothing_lost(&traffic);
	close_traffic(&traffic);
}

/* Closing in the midst of things leaves nothing behind: the next pair takes the same names. */
static void test_close_in_the_midst(void)
{
	const struct live_pair_config config = {.mempool_size = 1023, .ring_size = 64};
	struct traffic traffic;
	struct vl_error error;

	for (unsigned int i = 0; i < 3; i++) {
		open_traffic(&traffic, &config, UINT32_MAX);
		CU_ASSERT_EQUAL(live_pair_start(&traffic.pair, &error), 0);
		usleep(5000);
		CU_ASSERT_EQUAL(traffic.sender.failures + traffic.receiver.failures, 0);
		close_traffic(&traffic);
	}
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"messages_arrive", test_messages_arrive},
		{"backpressure", test_backpressure},
		{"exhaustion", test_exhaustion},
		{"stop_and_go_on", test_stop_and_go_on},
		{"close_in_the_midst", test_close_in_the_midst},
	};
	int result = test_start_eal(2);

	if (result)
		return result;
	result = RUN_SUITE("vdev/traffic", tests, argc, argv);
	vl_eal_stop();
	return result;
}
