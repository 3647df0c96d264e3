/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/frame.h"

#include "dataplane/huge_pages.h"

#include <stdbool.h>
#include <stdlib.h>

#define CACHE_LINE   64u
#define FIRST_SLAB   32u
#define LARGEST_SLAB 1024u

/* The next slab's address lies in the first cache line of each. */
struct slab {
	struct slab *next;
};

static uint32_t round_up(uint32_t length)
{
	return (length + CACHE_LINE - 1) & ~(CACHE_LINE - 1);
}

static bool grow(struct vl_memory_frame_pool *pool)
{
	size_t stride = round_up(sizeof(struct vl_frame)) + pool->capacity;
	uint32_t count = pool->total < FIRST_SLAB ? FIRST_SLAB : pool->total;
	struct slab *slab;
	size_t alignment;
	uint8_t *memory;

	if (count > LARGEST_SLAB)
		count = LARGEST_SLAB;
	if (count > pool->limit - pool->total)
		count = pool->limit - pool->total;
	if (!count)
		return false;
	alignment = count * stride < VL_HUGE_PAGE ? CACHE_LINE : VL_HUGE_PAGE;
	slab = aligned_alloc(alignment,
			     (CACHE_LINE + count * stride + alignment - 1) & ~(alignment - 1));
	if (!slab)
		return false;
	if (alignment == VL_HUGE_PAGE)
		vl_huge_pages_advise(slab, CACHE_LINE + count * stride);
	slab->next = pool->slabs;
	pool->slabs = slab;
	memory = (uint8_t *)slab + CACHE_LINE;
	for (uint32_t i = count; i-- > 0;) {
		struct vl_frame *frame = (struct vl_frame *)(memory + i * stride);

		*frame = (struct vl_frame){
			.data = (uint8_t *)frame + round_up(sizeof(struct vl_frame)),
			.next = pool->free,
			.pool = &pool->pool,
			.capacity = pool->capacity,
		};
		pool->free = frame;
	}
	pool->total += count;
	return true;
}

static struct vl_frame *get(struct vl_frame_pool *base)
{
	struct vl_memory_frame_pool *pool = (struct vl_memory_frame_pool *)base;
	struct vl_frame *frame;

	if (!pool->free && !grow(pool)) {
		pool->failures++;
		return NULL;
	}
	frame = pool->free;
	pool->free = frame->next;
	pool->in_use++;
	frame->length = 0;
	frame->kind = VL_FRAME_ETHERNET;
	return frame;
}

static void put(struct vl_frame_pool *base, struct vl_frame *frame)
{
	struct vl_memory_frame_pool *pool = (struct vl_memory_frame_pool *)base;

	frame->next = pool->free;
	pool->free = frame;
	pool->in_use--;
}

void vl_memory_frame_pool_init(struct vl_memory_frame_pool *pool, uint32_t capacity, uint32_t limit)
{
	*pool = (struct vl_memory_frame_pool){
		.pool = {.get = get, .put = put},
		.capacity = round_up(capacity ? capacity : VL_FRAME_DEFAULT_CAPACITY),
		.limit = limit ? limit : UINT32_MAX,
	};
}

void vl_memory_frame_pool_release(struct vl_memory_frame_pool *pool)
{
	struct slab *slab = pool->slabs;

	while (slab) {
		struct slab *next = slab->next;

		free(slab);
		slab = next;
	}
	pool->slabs = NULL;
	pool->free = NULL;
	pool->total = 0;
	pool->in_use = 0;
}
