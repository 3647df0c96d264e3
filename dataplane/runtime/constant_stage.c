/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/runtime/constant_stage.h"

#include "dataplane/constant_payload.h"
#include "dataplane/runtime/endpoint_stage.h"

#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_mempool.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define CACHE_SIZE   64u
#define PRIVATE_SIZE RTE_ALIGN_CEIL(sizeof(struct vl_frame), RTE_MBUF_PRIV_ALIGN)
#define ROOM                                                                                       \
	RTE_ALIGN_CEIL(VL_CONSTANT_HEADROOM + VL_CONSTANT_MOST + VL_CONSTANT_TAILROOM,             \
		       RTE_CACHE_LINE_SIZE)

struct vl_constant_stage {
	struct vl_frame_pool pool; /* must be first */
	struct rte_mempool *mempool;
	struct vl_endpoint *endpoint; /* NULL: detached */
	struct vl_constant_payload payload;
};

static struct vl_frame *get_frame(struct vl_frame_pool *pool)
{
	struct vl_constant_stage *constant = (struct vl_constant_stage *)pool;
	struct rte_mbuf *mbuf = rte_mbuf_raw_alloc(constant->mempool);
	struct vl_frame *frame;

	if (unlikely(!mbuf))
		return NULL;
	mbuf->ol_flags = 0;
	/* The tail is as the last frame left it; nobody else uses that field. */
	frame = rte_mbuf_to_priv(mbuf);
	frame->data = mbuf->buf_addr;
	frame->pool = pool;
	frame->owner = mbuf;
	return frame;
}

static void put_frame(struct vl_frame_pool *pool, struct vl_frame *frame)
{
	(void)pool;
	rte_pktmbuf_free(frame->owner);
}

static void fill_buffer(struct rte_mempool *mempool, void *context, void *object,
			unsigned int number)
{
	const struct vl_constant_payload *payload = context;
	struct rte_mbuf *mbuf = object;
	struct vl_frame *frame = rte_mbuf_to_priv(mbuf);

	(void)mempool;
	(void)number;
	memcpy((uint8_t *)mbuf->buf_addr + VL_CONSTANT_HEADROOM, payload->bytes,
	       sizeof(payload->bytes));
	frame->tail = VL_CONSTANT_CLEAN;
}

static int make_pool(struct vl_constant_stage *constant, uint32_t count, struct vl_error *error)
{
	static unsigned int made;
	char name[RTE_MEMPOOL_NAMESIZE];

	snprintf(name, sizeof(name), "constant%u", made++);
	constant->mempool = rte_pktmbuf_pool_create(name, count, RTE_MIN(CACHE_SIZE, count / 4),
						    PRIVATE_SIZE, ROOM, SOCKET_ID_ANY);
	if (!constant->mempool)
		return vl_error_set(error, -rte_errno,
				    "constant payload: no room for %u buffers: give DPDK more "
				    "memory (%s)",
				    count, rte_strerror(rte_errno));
	rte_mempool_obj_iter(constant->mempool, fill_buffer, &constant->payload);
	return 0;
}

struct vl_constant_stage *vl_constant_stage_open(struct vl_endpoint_stage *stage,
						 const void *memory, uint64_t length,
						 uint32_t period, uint32_t frame_count,
						 struct vl_error *error)
{
	struct vl_constant_stage *constant =
		rte_zmalloc(NULL, sizeof(*constant), RTE_CACHE_LINE_SIZE);

	if (!constant) {
		vl_error_set(error, -ENOMEM, "constant payload: no memory");
		return NULL;
	}
	constant->pool = (struct vl_frame_pool){.get = get_frame, .put = put_frame};
	if (vl_constant_payload_init(&constant->payload, memory, length, period)) {
		vl_error_set(error, -EINVAL,
			     "constant payload: the memory does not repeat every %u bytes, or that "
			     "is no power of two up to %u",
			     period, VL_CONSTANT_MOST);
		rte_free(constant);
		return NULL;
	}
	if (make_pool(constant, frame_count ? frame_count : VL_CONSTANT_STAGE_FRAMES, error)) {
		rte_free(constant);
		return NULL;
	}
	constant->endpoint = stage->endpoint;
	vl_endpoint_set_constant(stage->endpoint, &constant->payload, &constant->pool);
	return constant;
}

void vl_constant_stage_detach(struct vl_constant_stage *constant)
{
	if (constant && constant->endpoint)
		vl_endpoint_set_constant(constant->endpoint, NULL, NULL);
	if (constant)
		constant->endpoint = NULL;
}

void vl_constant_stage_close(struct vl_constant_stage *constant)
{
	if (!constant)
		return;
	rte_mempool_free(constant->mempool);
	rte_free(constant);
}

uint32_t vl_constant_stage_megabytes(uint32_t frame_count)
{
	uint64_t count = frame_count ? frame_count : VL_CONSTANT_STAGE_FRAMES;
	uint64_t each = sizeof(struct rte_mbuf) + PRIVATE_SIZE + ROOM + 2 * RTE_CACHE_LINE_SIZE +
			2 * sizeof(void *);

	return (uint32_t)((count * each) >> 20) + 2;
}
