/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * A round of a host's worker: take what its queues have, keep what is its own and hand over the
 * rest; take what the others handed over; let the endpoints act and send; send for those that have
 * no queue.
 */

#include "dataplane/port/receive_offload.h"
#include "dataplane/runtime/host_private.h"

#include <rte_mbuf.h>
#include <rte_memcpy.h>
#include <rte_prefetch.h>

#include <string.h>

/* ---- Handing over ----------------------------------------------------------------------- */

static void flush_batch(struct host_worker *worker, uint32_t to)
{
	struct host_batch *batch = &worker->batches[to];
	struct rte_ring *ring = worker->host->workers[to].received[worker->number];
	uint16_t count = batch->count;
	uint16_t taken =
		(uint16_t)rte_ring_sp_enqueue_burst(ring, (void *const *)batch->mbufs, count, NULL);

	batch->count = 0;
	worker->handed_over += taken;
	if (taken == count)
		return;
	worker->hand_over_dropped += count - taken;
	rte_pktmbuf_free_bulk(batch->mbufs + taken, count - taken);
}

static void hand_over(struct host_worker *worker, uint32_t to, struct rte_mbuf *mbuf, uint16_t port)
{
	struct host_batch *batch = &worker->batches[to];

	mbuf->port = port;
	batch->mbufs[batch->count++] = mbuf;
	if (batch->count == VL_PORT_BURST)
		flush_batch(worker, to);
}

static void flush_batches(struct host_worker *worker)
{
	for (uint32_t i = 0; i < worker->host->config.worker_count; i++) {
		if (worker->batches[i].count)
			flush_batch(worker, i);
	}
}

static struct rte_mbuf *copy_of(struct host_worker *worker, const struct rte_mbuf *mbuf)
{
	struct rte_mbuf *copy = rte_pktmbuf_alloc(worker->mempool);

	if (!copy)
		return NULL;
	if (mbuf->data_len > rte_pktmbuf_tailroom(copy)) {
		rte_pktmbuf_free(copy);
		return NULL;
	}
	rte_memcpy(rte_pktmbuf_mtod(copy, uint8_t *), rte_pktmbuf_mtod(mbuf, const uint8_t *),
		   mbuf->data_len);
	copy->data_len = mbuf->data_len;
	copy->pkt_len = mbuf->data_len;
	copy->ol_flags = mbuf->ol_flags & vl_receive_time_flag;
	rte_mbuf_dynfield_copy(copy, mbuf);
	return copy;
}

static void hand_to_all(struct host_worker *worker, const struct rte_mbuf *mbuf, uint16_t port)
{
	for (uint32_t i = 0; i < worker->host->config.worker_count; i++) {
		struct rte_mbuf *copy;

		if (i == worker->number)
			continue;
		copy = copy_of(worker, mbuf);
		if (copy)
			hand_over(worker, i, copy, port);
		else
			worker->hand_over_dropped++;
	}
}

/* ---- In --------------------------------------------------------------------------------- */

/* Keeps the worker's own at the front of mbufs. Returns how many these are. */
static uint16_t keep_own(struct host_worker *worker, uint16_t port, struct rte_mbuf **mbufs,
			 uint16_t count)
{
	uint32_t workers = worker->host->config.worker_count;
	uint16_t own = 0;

	for (uint16_t i = 0; i < count; i++)
		rte_prefetch0(rte_pktmbuf_mtod(mbufs[i], const void *));
	for (uint16_t i = 0; i < count; i++) {
		uint32_t to = vl_steer(rte_pktmbuf_mtod(mbufs[i], const uint8_t *),
				       mbufs[i]->data_len, workers, worker->number);

		if (to == VL_STEER_ALL)
			hand_to_all(worker, mbufs[i], port);
		if (to == worker->number || to == VL_STEER_ALL)
			mbufs[own++] = mbufs[i];
		else
			hand_over(worker, to, mbufs[i], port);
	}
	return own;
}

/* The thread may have been off the CPU since the round began: what has come may be younger than
 * the round's time, and waits that the packets ask for would end too early. */
static void keep_time(uint64_t *now)
{
	uint64_t time = vl_worker_now();

	if (time > *now)
		*now = time;
}

static uint32_t take_from_port(struct host_worker *worker, uint16_t port, uint64_t *now)
{
	struct vl_endpoint_stage *stage = &worker->stages[port];
	struct rte_mbuf *mbufs[VL_PORT_BURST];
	uint16_t count = vl_port_receive(stage->port, stage->queue, mbufs, VL_PORT_BURST);
	uint16_t own = count;

	if (!count)
		return 0;
	keep_time(now);
	if (worker->host->config.worker_count > 1)
		own = keep_own(worker, port, mbufs, count);
	vl_endpoint_stage_take(stage, mbufs, own, *now);
	worker->has_news[port] |= own != 0;
	return count;
}

/* What lies in a ring may be of several ports; what is of one port and follows on each other is
 * taken in one go. */
static uint32_t take_from_worker(struct host_worker *worker, struct rte_ring *ring, uint64_t *now)
{
	struct rte_mbuf *mbufs[VL_PORT_BURST];
	uint16_t count =
		(uint16_t)rte_ring_sc_dequeue_burst(ring, (void **)mbufs, VL_PORT_BURST, NULL);
	uint16_t first = 0;

	if (count)
		keep_time(now);
	while (first < count) {
		uint16_t port = mbufs[first]->port, next = first + 1;

		while (next < count && mbufs[next]->port == port)
			next++;
		vl_endpoint_stage_take(&worker->stages[port], mbufs + first, next - first, *now);
		worker->has_news[port] = true;
		first = next;
	}
	return count;
}

/* ---- Sending for others ----------------------------------------------------------------- */

static void flush_relay(struct host_worker *worker, uint16_t port)
{
	struct host_relay *relay = &worker->relay[port];
	struct vl_endpoint_stage *stage = &worker->stages[port];
	uint16_t sent;

	if (!relay->count)
		return;
	sent = vl_port_transmit(stage->port, stage->queue, relay->mbufs, relay->count);
	relay->count -= sent;
	if (!relay->count)
		return;
	stage->counters.tx_refused++;
	memmove(relay->mbufs, relay->mbufs + sent, relay->count * sizeof(relay->mbufs[0]));
}

/* No more is taken out of the rings than there is room for: a port that takes no frames holds back
 * those who send to it, and nobody else. */
static uint32_t relay_frames(struct host_worker *worker, uint16_t port)
{
	struct host_relay *relay = &worker->relay[port];
	uint32_t workers = worker->host->config.worker_count;
	uint32_t moved = 0;

	for (uint32_t i = 0; i < workers; i++) {
		uint32_t from =
			relay->next + i < workers ? relay->next + i : relay->next + i - workers;
		uint16_t count;

		if (!relay->rings[from])
			continue;
		if (relay->count == VL_PORT_BURST)
			flush_relay(worker, port);
		count = (uint16_t)rte_ring_sc_dequeue_burst(relay->rings[from],
							    (void **)(relay->mbufs + relay->count),
							    VL_PORT_BURST - relay->count, NULL);
		relay->count += count;
		moved += count;
	}
	relay->next = relay->next + 1 < workers ? relay->next + 1 : 0;
	flush_relay(worker, port);
	return moved;
}

/* ---- The round -------------------------------------------------------------------------- */

static uint32_t run_worker(void *context, uint64_t now)
{
	struct host_worker *worker = context;
	const struct vl_host_config *config = &worker->host->config;
	uint32_t moved = 0;

	for (uint16_t port = 0; port < config->port_count; port++) {
		worker->has_news[port] = false;
		if (worker->has_queue[port])
			moved += take_from_port(worker, port, &now);
	}
	if (config->worker_count > 1) {
		flush_batches(worker);
		for (uint32_t from = 0; from < config->worker_count; from++) {
			if (from != worker->number)
				moved += take_from_worker(worker, worker->received[from], &now);
		}
	}
	for (uint16_t port = 0; port < config->port_count; port++)
		moved += vl_endpoint_stage_send(&worker->stages[port], worker->has_news[port], now);
	for (uint16_t port = 0; worker->relays && port < config->port_count; port++)
		moved += relay_frames(worker, port);
	return moved;
}

struct vl_stage vl_host_worker_stage(struct host_worker *worker)
{
	return (struct vl_stage){.run = run_worker, .context = worker};
}
