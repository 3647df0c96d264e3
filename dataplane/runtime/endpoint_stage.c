/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/runtime/endpoint_stage.h"

#include "dataplane/port/receive_offload.h"
#include "dataplane/runtime/stream_stage.h"

#include <rte_mbuf.h>
#include <rte_prefetch.h>
#include <rte_ring.h>

#include <string.h>

/* Packets ahead whose first bytes are fetched; the hardware follows with the rest. */
#define PREFETCH_DISTANCE 3

static void prefetch_descriptor(struct rte_mbuf *mbuf)
{
	rte_prefetch0(mbuf);
}

static void prefetch_data(const struct rte_mbuf *mbuf)
{
	const uint8_t *data = rte_pktmbuf_mtod(mbuf, const uint8_t *);

	rte_prefetch0(data);
	rte_prefetch0(data + RTE_CACHE_LINE_SIZE);
	rte_prefetch0(data + 2 * RTE_CACHE_LINE_SIZE);
}

static void fill_frame(struct vl_frame *frame, struct rte_mbuf *mbuf, struct vl_frame_pool *pool)
{
	*frame = (struct vl_frame){
		.data = rte_pktmbuf_mtod(mbuf, uint8_t *),
		.pool = pool,
		.owner = mbuf,
		.length = mbuf->data_len,
		.capacity = (uint32_t)mbuf->buf_len - mbuf->data_off,
	};
}

/* In one buffer: its own, or one of those that are sent from, which hold the MTU. False: it fits
 * into none. */
static bool join(struct vl_endpoint_stage *stage, struct rte_mbuf **mbuf)
{
	struct rte_mbuf *copy;

	if (!rte_pktmbuf_linearize(*mbuf))
		return true;
	copy = rte_pktmbuf_copy(*mbuf, stage->pool.mempool, 0, UINT32_MAX);
	if (!copy)
		return false;
	if (copy->nb_segs > 1) {
		rte_pktmbuf_free(copy);
		return false;
	}
	rte_pktmbuf_free(*mbuf);
	*mbuf = copy;
	return true;
}

void vl_endpoint_stage_take(struct vl_endpoint_stage *stage, struct rte_mbuf **mbufs,
			    uint16_t count, uint64_t now)
{
	for (uint16_t i = 0; i < count; i++)
		prefetch_descriptor(mbufs[i]);
	for (uint16_t i = 0; i < count && i < PREFETCH_DISTANCE; i++)
		prefetch_data(mbufs[i]);
	for (uint16_t i = 0; i < count; i++) {
		struct vl_frame frame;

		if (i + PREFETCH_DISTANCE < count)
			prefetch_data(mbufs[i + PREFETCH_DISTANCE]);
		if (unlikely(mbufs[i]->nb_segs > 1) && !join(stage, &mbufs[i])) {
			stage->counters.rx_segmented++;
			continue;
		}
		fill_frame(&frame, mbufs[i], &stage->pool.pool);
		vl_endpoint_receive_arrived(stage->endpoint, &frame, vl_receive_time(mbufs[i], now),
					    now);
	}
	rte_pktmbuf_free_bulk(mbufs, count);
}

static uint32_t flush(struct vl_endpoint_stage *stage)
{
	uint16_t count = stage->pending_count, sent;

	if (!count)
		return 0;
	if (likely(!stage->transmit_ring))
		sent = vl_port_transmit(stage->port, stage->queue, stage->pending, count);
	else
		sent = (uint16_t)rte_ring_sp_enqueue_burst(
			stage->transmit_ring, (void *const *)stage->pending, count, NULL);
	stage->pending_count = count - sent;
	if (sent == count)
		return sent;
	stage->counters.tx_refused++;
	memmove(stage->pending, stage->pending + sent, (count - sent) * sizeof(stage->pending[0]));
	return sent;
}

/* rte_prefetch0_write is a fetch for reading unless the compiler may assume the instruction, which
 * every x86-64 processor takes, if only as a no-op. */
static inline void fetch_exclusive(const void *address)
{
#ifdef __x86_64__
	asm volatile("prefetchw %0" : : "m"(*(const char *)address));
#else
	rte_prefetch0_write(address);
#endif
}

/* What is written of a frame: its descriptor, the headers, and the payload if it is short. Where
 * they lie is computed: to look into the descriptor would be to wait for it. */
static void prefetch_for_writing(const struct vl_endpoint_stage *stage, struct rte_mbuf *mbuf)
{
	char *data = (char *)mbuf + stage->data_offset;

	fetch_exclusive(mbuf);
	fetch_exclusive(data);
	fetch_exclusive(data + RTE_CACHE_LINE_SIZE);
	fetch_exclusive(data + 2 * RTE_CACHE_LINE_SIZE);
}

/* rte_pktmbuf_reset without the descriptor's second line, which has nothing that a raw buffer of
 * one segment without offloads needs, and would have to come from the core that had it last. */
static void reset(struct rte_mbuf *mbuf)
{
	mbuf->ol_flags &= RTE_MBUF_F_EXTERNAL;
	mbuf->packet_type = 0;
	mbuf->data_len = 0;
	mbuf->vlan_tci = 0;
	mbuf->port = RTE_MBUF_PORT_INVALID;
	rte_pktmbuf_reset_headroom(mbuf);
}

/* Half of them at a time, before the other half, which is on its way already. They keep the pool's
 * order: the memory's own fetching ahead follows ascending addresses from buffer to buffer. */
static void refill(struct vl_endpoint_stage *stage)
{
	struct rte_mbuf *mbufs[VL_ENDPOINT_STAGE_AHEAD / 2];
	unsigned int count = RTE_DIM(mbufs);

	if (rte_mempool_get_bulk(stage->pool.mempool, (void **)mbufs, count)) {
		if (stage->ahead_count || rte_mempool_get(stage->pool.mempool, (void **)mbufs))
			return;
		count = 1;
	}
	memmove(stage->ahead + count, stage->ahead, stage->ahead_count * sizeof(stage->ahead[0]));
	for (unsigned int i = 0; i < count; i++) {
		stage->ahead[count - 1 - i] = mbufs[i];
		prefetch_for_writing(stage, mbufs[i]);
	}
	stage->ahead_count = (uint16_t)(stage->ahead_count + count);
}

/* There is one at a time: it becomes an mbuf again before the next is taken. */
static struct vl_frame *get_frame(struct vl_frame_pool *pool)
{
	struct vl_endpoint_stage *stage =
		(struct vl_endpoint_stage *)((char *)pool -
					     offsetof(struct vl_endpoint_stage, transmit_pool));
	struct rte_mbuf *mbuf;

	if (stage->ahead_count <= VL_ENDPOINT_STAGE_AHEAD / 2)
		refill(stage);
	if (unlikely(!stage->ahead_count)) {
		stage->pool.exhausted++;
		return NULL;
	}
	mbuf = stage->ahead[--stage->ahead_count];
	reset(mbuf);
	fill_frame(&stage->frame, mbuf, pool);
	return &stage->frame;
}

static void put_frame(struct vl_frame_pool *pool, struct vl_frame *frame)
{
	(void)pool;
	rte_pktmbuf_free(frame->owner);
}

static void make_burst(struct vl_endpoint_stage *stage, uint64_t now)
{
	while (stage->pending_count < VL_PORT_BURST) {
		struct vl_frame *frame =
			vl_endpoint_next_frame(stage->endpoint, &stage->transmit_pool, now);

		if (!frame)
			return;
		stage->pending[stage->pending_count++] = vl_mbuf_of_frame(frame);
	}
}

uint32_t vl_endpoint_stage_send(struct vl_endpoint_stage *stage, bool received, uint64_t now)
{
	uint32_t sent;

	vl_endpoint_poll(stage->endpoint, now);
	if (received || stage->pending_count || vl_endpoint_next_deadline(stage->endpoint) <= now)
		make_burst(stage, now);
	sent = flush(stage);
	if (stage->streams && !stage->pending_count)
		sent += vl_stream_stage_send(stage->streams, now);
	return sent;
}

static uint32_t run_stage(void *context, uint64_t now)
{
	struct vl_endpoint_stage *stage = context;
	struct rte_mbuf *mbufs[VL_PORT_BURST];
	uint16_t count = vl_port_receive(stage->port, stage->queue, mbufs, VL_PORT_BURST);

	vl_endpoint_stage_take(stage, mbufs, count, now);
	return count + vl_endpoint_stage_send(stage, count, now);
}

void vl_endpoint_stage_init(struct vl_endpoint_stage *stage, struct vl_endpoint *endpoint,
			    struct vl_port *port, struct rte_mempool *mempool)
{
	memset(stage, 0, sizeof(*stage));
	stage->endpoint = endpoint;
	stage->port = port;
	vl_mbuf_frame_pool_init(&stage->pool, mempool);
	stage->data_offset = (uint32_t)sizeof(struct rte_mbuf) + rte_pktmbuf_priv_size(mempool) +
			     RTE_PKTMBUF_HEADROOM;
	stage->transmit_pool = (struct vl_frame_pool){.get = get_frame, .put = put_frame};
}

void vl_endpoint_stage_release(struct vl_endpoint_stage *stage)
{
	rte_pktmbuf_free_bulk(stage->pending, stage->pending_count);
	stage->pending_count = 0;
	vl_endpoint_release_spare(stage->endpoint);
	rte_mempool_put_bulk(stage->pool.mempool, (void *const *)stage->ahead, stage->ahead_count);
	stage->ahead_count = 0;
}

struct vl_stage vl_endpoint_stage(struct vl_endpoint_stage *stage)
{
	return (struct vl_stage){.run = run_stage, .context = stage};
}
