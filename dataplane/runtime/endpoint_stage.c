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

/* The headers, and the payload of a short packet. */
static void prefetch_for_writing(struct rte_mbuf *mbuf)
{
	uint8_t *data = rte_pktmbuf_mtod(mbuf, uint8_t *);

	rte_prefetch0_write(data);
	rte_prefetch0_write(data + RTE_CACHE_LINE_SIZE);
	rte_prefetch0_write(data + 2 * RTE_CACHE_LINE_SIZE);
}

/* There is one at a time: it becomes an mbuf again before the next is taken. */
static struct vl_frame *get_frame(struct vl_frame_pool *pool)
{
	struct vl_endpoint_stage *stage =
		(struct vl_endpoint_stage *)((char *)pool -
					     offsetof(struct vl_endpoint_stage, transmit_pool));
	struct rte_mbuf *mbuf = stage->ahead;

	if (!mbuf)
		mbuf = rte_pktmbuf_alloc(stage->pool.mempool);
	stage->ahead = rte_pktmbuf_alloc(stage->pool.mempool);
	if (stage->ahead)
		prefetch_for_writing(stage->ahead);
	if (unlikely(!mbuf)) {
		stage->pool.exhausted++;
		return NULL;
	}
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
	stage->transmit_pool = (struct vl_frame_pool){.get = get_frame, .put = put_frame};
}

void vl_endpoint_stage_release(struct vl_endpoint_stage *stage)
{
	rte_pktmbuf_free_bulk(stage->pending, stage->pending_count);
	stage->pending_count = 0;
	vl_endpoint_release_spare(stage->endpoint);
	rte_pktmbuf_free(stage->ahead);
	stage->ahead = NULL;
}

struct vl_stage vl_endpoint_stage(struct vl_endpoint_stage *stage)
{
	return (struct vl_stage){.run = run_stage, .context = stage};
}
