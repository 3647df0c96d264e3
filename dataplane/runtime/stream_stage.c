/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/runtime/stream_stage.h"

#include "dataplane/runtime/endpoint_stage.h"
#include "dataplane/stream/stream.h"

#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_mempool.h>
#include <rte_ring.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A small cache, so that the few lines of each buffer that are written stay near the core. */
#define CACHE_SIZE 64u
/* Bursts that a round sends at most, so that the endpoint gets its turn. */
#define ROUND_BURSTS 2u
#define PRIVATE_SIZE RTE_ALIGN_CEIL(sizeof(struct vl_frame), RTE_MBUF_PRIV_ALIGN)

/* One stream's buffers, and a few in hand. */
struct stream_pool {
	struct rte_mempool *mempool;
	uint32_t count;
	struct rte_mbuf *mbufs[VL_PORT_BURST];
};

struct vl_stream_stage {
	struct vl_endpoint_stage *stage;
	struct vl_stream_group *group;
	uint16_t pending_first, pending_count; /* made, and not yet taken by the port */
	struct rte_mbuf *pending[VL_PORT_BURST];
	struct stream_pool pools[VL_STREAM_GROUP_SIZE];
};

/* Where the frame's last user wrote its end is kept in a field that only receivers fill, and these
 * buffers receive nothing. */
static uint32_t *tail_of(struct rte_mbuf *mbuf)
{
	return &mbuf->hash.usr;
}

/* ---- Set-up ---------------------------------------------------------------------------------- */

struct filling {
	const uint8_t *payload;
	uint32_t length;
};

static void fill_buffer(struct rte_mempool *mempool, void *context, void *object,
			unsigned int number)
{
	const struct filling *filling = context;
	struct rte_mbuf *mbuf = object;

	(void)mempool;
	(void)number;
	memcpy((uint8_t *)mbuf->buf_addr + VL_STREAM_HEADROOM, filling->payload, filling->length);
	*tail_of(mbuf) = VL_STREAM_CLEAN;
}

static int open_pool(struct stream_pool *pool, const struct vl_stream *stream, uint32_t count,
		     struct vl_error *error)
{
	static unsigned int made;
	struct filling filling;
	char name[RTE_MEMPOOL_NAMESIZE];
	uint32_t room;

	filling.payload = vl_stream_payload(stream, &filling.length);
	room = RTE_ALIGN_CEIL(VL_STREAM_HEADROOM + filling.length, RTE_CACHE_LINE_SIZE);
	snprintf(name, sizeof(name), "stream%u", made++);
	pool->mempool = rte_pktmbuf_pool_create(name, count, RTE_MIN(CACHE_SIZE, count / 4),
						PRIVATE_SIZE, (uint16_t)room, SOCKET_ID_ANY);
	if (!pool->mempool)
		return vl_error_set(error, -rte_errno,
				    "stream %s: no room for %u buffers of %u bytes: give DPDK more "
				    "memory (%s)",
				    vl_stream_name(stream), count, room, rte_strerror(rte_errno));
	rte_mempool_obj_iter(pool->mempool, fill_buffer, &filling);
	return 0;
}

struct vl_stream_stage *vl_stream_stage_open(struct vl_endpoint_stage *stage,
					     struct vl_stream_group *group, uint32_t frame_count,
					     struct vl_error *error)
{
	struct vl_stream_stage *streams = rte_zmalloc(NULL, sizeof(*streams), RTE_CACHE_LINE_SIZE);
	uint32_t count = frame_count ? frame_count : VL_STREAM_STAGE_FRAMES;

	if (!streams) {
		vl_error_set(error, -ENOMEM, "streams: no memory");
		return NULL;
	}
	streams->stage = stage;
	streams->group = group;
	for (uint32_t i = 0; i < vl_stream_group_count(group); i++) {
		struct vl_stream *stream = vl_stream_group_at(group, i);

		if (open_pool(&streams->pools[i], stream, count, error)) {
			vl_stream_stage_close(streams);
			return NULL;
		}
		vl_stream_set_context(stream, &streams->pools[i]);
	}
	vl_endpoint_set_streams(stage->endpoint, group);
	stage->streams = streams;
	return streams;
}

void vl_stream_stage_close(struct vl_stream_stage *streams)
{
	if (!streams)
		return;
	if (streams->stage->streams == streams) {
		streams->stage->streams = NULL;
		vl_endpoint_set_streams(streams->stage->endpoint, NULL);
	}
	rte_pktmbuf_free_bulk(streams->pending + streams->pending_first, streams->pending_count);
	for (uint32_t i = 0; i < VL_STREAM_GROUP_SIZE; i++) {
		rte_pktmbuf_free_bulk(streams->pools[i].mbufs, streams->pools[i].count);
		rte_mempool_free(streams->pools[i].mempool);
	}
	rte_free(streams);
}

uint32_t vl_stream_stage_megabytes(uint32_t stream_count, uint32_t frame_count,
				   uint32_t frame_length)
{
	uint64_t count = frame_count ? frame_count : VL_STREAM_STAGE_FRAMES;
	uint64_t each = sizeof(struct rte_mbuf) + PRIVATE_SIZE + VL_STREAM_HEADROOM + frame_length +
			VL_STREAM_TAILROOM + 3 * RTE_CACHE_LINE_SIZE + 2 * sizeof(void *);

	return stream_count * ((uint32_t)((count * each) >> 20) + 2);
}

/* ---- The data path --------------------------------------------------------------------------- */

static bool flush(struct vl_stream_stage *streams, uint32_t *sent)
{
	struct vl_endpoint_stage *stage = streams->stage;
	struct rte_mbuf **mbufs = streams->pending + streams->pending_first;
	uint16_t count = streams->pending_count, taken;

	if (!count)
		return true;
	if (likely(!stage->transmit_ring))
		taken = vl_port_transmit(stage->port, stage->queue, mbufs, count);
	else
		taken = (uint16_t)rte_ring_sp_enqueue_burst(stage->transmit_ring,
							    (void *const *)mbufs, count, NULL);
	*sent += taken;
	streams->pending_first += taken;
	streams->pending_count -= taken;
	stage->counters.tx_refused += taken < count;
	return taken == count;
}

static bool refill(struct stream_pool *pool)
{
	uint32_t missing = VL_PORT_BURST - pool->count;

	if (!missing)
		return true;
	if (rte_mempool_get_bulk(pool->mempool, (void **)(pool->mbufs + pool->count), missing))
		return pool->count > 0;
	pool->count = VL_PORT_BURST;
	return true;
}

/* Buffers are used from the end of the hand. */
static uint32_t make_burst(struct vl_stream_stage *streams, struct vl_stream *stream, uint64_t now)
{
	struct stream_pool *pool = vl_stream_context(stream);
	struct vl_stream_slot slots[VL_PORT_BURST];
	struct vl_endpoint_counters *counters = &streams->stage->endpoint->counters;
	uint32_t made, first;

	if (unlikely(!refill(pool))) {
		streams->stage->pool.exhausted++;
		return 0;
	}
	for (uint32_t i = 0; i < pool->count; i++) {
		struct rte_mbuf *mbuf = pool->mbufs[pool->count - 1 - i];

		slots[i].payload = (uint8_t *)mbuf->buf_addr + VL_STREAM_HEADROOM;
		slots[i].tail = *tail_of(mbuf);
	}
	made = vl_stream_make(stream, now, slots, pool->count);
	first = pool->count - 1;
	for (uint32_t i = 0; i < made; i++) {
		struct rte_mbuf *mbuf = pool->mbufs[first - i];

		mbuf->data_off = (uint16_t)(slots[i].data - (uint8_t *)mbuf->buf_addr);
		mbuf->data_len = (uint16_t)slots[i].length;
		mbuf->pkt_len = slots[i].length;
		mbuf->ol_flags = 0;
		*tail_of(mbuf) = slots[i].tail;
		streams->pending[i] = mbuf;
		counters->tx_bytes += slots[i].length;
	}
	counters->tx_frames += made;
	pool->count -= made;
	streams->pending_first = 0;
	streams->pending_count = (uint16_t)made;
	return made;
}

uint32_t vl_stream_stage_send(struct vl_stream_stage *streams, uint64_t now)
{
	struct vl_endpoint *endpoint = streams->stage->endpoint;
	struct vl_stream *stream;
	uint32_t sent = 0;

	/* What is made goes out first, as frames of a flow keep their order. */
	if (!flush(streams, &sent))
		return sent;
	endpoint->sends_streams = endpoint->filter.transmit || endpoint->tap.see;
	if (unlikely(endpoint->sends_streams))
		return sent;
	for (unsigned int i = 0; i < ROUND_BURSTS; i++) {
		if (!flush(streams, &sent))
			return sent;
		stream = vl_stream_group_next(streams->group, now);
		if (!stream || !make_burst(streams, stream, now))
			return sent;
	}
	flush(streams, &sent);
	return sent;
}
