/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Pools of packet buffers. One segment holds the longest frame, and every buffer carries a struct
 * vl_frame in its private area, so that the fabric and the endpoints handle mbufs as frames.
 */
#ifndef VERBLINE_RUNTIME_MEMPOOL_H
#define VERBLINE_RUNTIME_MEMPOOL_H

#include "dataplane/frame.h"
#include "dataplane/runtime/error.h"

#include <rte_mbuf.h>

#include <stdint.h>

/* Path MTU 4096, the longest headers, pad, ICRC and VCRC. */
#define VL_MAX_FRAME_LENGTH (4096u + 128 + 3 + 4 + 2)
/* MTU 9600 with an Ethernet header and two VLAN tags. */
#define VL_MAX_JUMBO_LENGTH (9600u + 14 + 8)
#define VL_MAX_MEMPOOL_SIZE (1u << 22)

/* count: buffers that the pool has at least, 1 to VL_MAX_MEMPOOL_SIZE. Each worker keeps a cache of
 * its own. Freed by rte_mempool_free. NULL: *error says why. */
struct rte_mempool *vl_mempool_create(const char *name, uint32_t count, struct vl_error *error);
/* Megabytes that such a pool takes, to size EAL's memory before it starts. */
uint32_t vl_mempool_megabytes(uint32_t count);
/* The same for frames of up to frame_length bytes, at least VL_MAX_FRAME_LENGTH: jumbo frames that
 * are to be in one buffer. At most VL_MAX_JUMBO_LENGTH. */
struct rte_mempool *vl_mempool_create_jumbo(const char *name, uint32_t count, uint32_t frame_length,
					    struct vl_error *error);
uint32_t vl_mempool_jumbo_megabytes(uint32_t count, uint32_t frame_length);

/* The same with buffers of which each lies, with all that belongs to it, in less than a page of
 * 4096 bytes, as XDP sockets want them; and the bytes that the frame in one may have. */
struct rte_mempool *vl_mempool_create_page(const char *name, uint32_t count,
					   struct vl_error *error);
uint32_t vl_mempool_page_room(void);

/* One worker's view of a mempool as a pool of frames. */
struct vl_mbuf_frame_pool {
	struct vl_frame_pool pool; /* must be first */
	struct rte_mempool *mempool;
	uint64_t exhausted; /* gets that found none */
};

void vl_mbuf_frame_pool_init(struct vl_mbuf_frame_pool *pool, struct rte_mempool *mempool);

/* The frame of an mbuf that has come in from a port; its holder is who owns pool. */
static inline struct vl_frame *vl_frame_of_received(struct rte_mbuf *mbuf,
						    struct vl_mbuf_frame_pool *pool)
{
	struct vl_frame *frame = rte_mbuf_to_priv(mbuf);

	frame->data = rte_pktmbuf_mtod(mbuf, uint8_t *);
	frame->next = NULL;
	frame->pool = &pool->pool;
	frame->owner = mbuf;
	frame->length = mbuf->data_len;
	frame->capacity = (uint32_t)mbuf->buf_len - mbuf->data_off;
	return frame;
}

/* The mbuf of a frame, ready to be given to a port. */
static inline struct rte_mbuf *vl_mbuf_of_frame(struct vl_frame *frame)
{
	struct rte_mbuf *mbuf = frame->owner;

	mbuf->data_off = (uint16_t)(frame->data - (uint8_t *)mbuf->buf_addr);
	mbuf->data_len = (uint16_t)frame->length;
	mbuf->pkt_len = frame->length;
	return mbuf;
}

#endif
