/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/runtime/mempool.h"

#include "dataplane/runtime/compat.h"

#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mempool.h>

#include <errno.h>
#include <string.h>

#define PRIVATE_SIZE RTE_ALIGN_CEIL(sizeof(struct vl_frame), RTE_MBUF_PRIV_ALIGN)
#define CACHE_SIZE   256
/* DPDK wants a buffer to hold a whole slot of a packet socket, which is a frame and some more. */
#define SLACK      32
#define FIFO_COUNT 1024u
#define PAGE       4096u

static uint16_t data_room(uint32_t frame_length)
{
	return (uint16_t)RTE_ALIGN_CEIL(RTE_PKTMBUF_HEADROOM + frame_length + SLACK,
					RTE_CACHE_LINE_SIZE);
}

/* A cache holds up to 1.5 times its size, and a pool must have more than that. */
static uint32_t cache_size(uint32_t count)
{
	return RTE_MIN((uint32_t)CACHE_SIZE, count / 4);
}

/*
 * The default handler gives out the buffer that has lain longest, so all of the pool passes through
 * the cache. While that fits it costs least; a larger pool gives out the buffer that came back
 * last, if DPDK has its lock-free stack.
 */
static struct rte_mempool *create_pool(const char *name, uint32_t count, uint16_t room)
{
	struct rte_mempool *pool = NULL;

	if (count > FIFO_COUNT)
		pool = rte_pktmbuf_pool_create_by_ops(name, count, cache_size(count), PRIVATE_SIZE,
						      room, SOCKET_ID_ANY, "lf_stack");
	if (!pool)
		pool = rte_pktmbuf_pool_create(name, count, cache_size(count), PRIVATE_SIZE, room,
					       SOCKET_ID_ANY);
	return pool;
}

struct rte_mempool *vl_mempool_create(const char *name, uint32_t count, struct vl_error *error)
{
	return vl_mempool_create_jumbo(name, count, VL_MAX_FRAME_LENGTH, error);
}

struct rte_mempool *vl_mempool_create_jumbo(const char *name, uint32_t count, uint32_t frame_length,
					    struct vl_error *error)
{
	struct rte_mempool *pool;

	if (!count || count > VL_MAX_MEMPOOL_SIZE) {
		vl_error_set(error, -EINVAL, "mempool %s: %u buffers, must be 1 to %u", name, count,
			     VL_MAX_MEMPOOL_SIZE);
		return NULL;
	}
	if (frame_length < VL_MAX_FRAME_LENGTH || frame_length > VL_MAX_JUMBO_LENGTH) {
		vl_error_set(error, -EINVAL, "mempool %s: buffers of %u bytes, must be %u to %u",
			     name, frame_length, VL_MAX_FRAME_LENGTH, VL_MAX_JUMBO_LENGTH);
		return NULL;
	}
	pool = create_pool(name, count, data_room(frame_length));
	if (!pool) {
		vl_error_set(error, -rte_errno,
			     "mempool %s: no room for %u buffers (%u MB): give more memory (%s)",
			     name, count, vl_mempool_jumbo_megabytes(count, frame_length),
			     rte_strerror(rte_errno));
	}
	return pool;
}

/* DPDK pads objects, to spread them over the channels of the memory. */
uint32_t vl_mempool_page_room(void)
{
	uint32_t room = PAGE;
	uint32_t around = (uint32_t)(sizeof(struct rte_mbuf) + PRIVATE_SIZE + RTE_PKTMBUF_HEADROOM);

	while (rte_mempool_calc_obj_size(around + room, 0, NULL) > PAGE)
		room -= RTE_CACHE_LINE_SIZE;
	return room;
}

struct rte_mempool *vl_mempool_create_page(const char *name, uint32_t count, struct vl_error *error)
{
	uint16_t room = (uint16_t)(vl_mempool_page_room() + RTE_PKTMBUF_HEADROOM);
	struct rte_mempool *pool = create_pool(name, count, room);

	if (!pool)
		vl_error_set(error, -rte_errno,
			     "mempool %s: no room for %u buffers: give more memory (%s)", name,
			     count, rte_strerror(rte_errno));
	return pool;
}

uint32_t vl_mempool_megabytes(uint32_t count)
{
	return vl_mempool_jumbo_megabytes(count, VL_MAX_FRAME_LENGTH);
}

uint32_t vl_mempool_jumbo_megabytes(uint32_t count, uint32_t frame_length)
{
	uint64_t each = sizeof(struct rte_mbuf) + PRIVATE_SIZE + data_room(frame_length) +
			2 * RTE_CACHE_LINE_SIZE + 2 * sizeof(void *);

	return (uint32_t)((count * each + (1u << 20) - 1) >> 20) + 1;
}

static struct vl_frame *get_frame(struct vl_frame_pool *pool)
{
	struct vl_mbuf_frame_pool *mbufs = (struct vl_mbuf_frame_pool *)pool;
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(mbufs->mempool);
	struct vl_frame *frame;

	if (unlikely(!mbuf)) {
		mbufs->exhausted++;
		return NULL;
	}
	frame = vl_frame_of_received(mbuf, mbufs);
	frame->time = 0;
	frame->source_qpn = 0;
	frame->ingress_port = 0;
	frame->priority = 0;
	frame->kind = VL_FRAME_ETHERNET;
	return frame;
}

static void put_frame(struct vl_frame_pool *pool, struct vl_frame *frame)
{
	(void)pool;
	rte_pktmbuf_free(frame->owner);
}

void vl_mbuf_frame_pool_init(struct vl_mbuf_frame_pool *pool, struct rte_mempool *mempool)
{
	*pool = (struct vl_mbuf_frame_pool){
		.pool = {.get = get_frame, .put = put_frame},
		.mempool = mempool,
	};
}
