/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/capture/ring.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define CACHE_LINE 64
#define MIN_SIZE   (UINT64_C(1) << 16)
#define MAX_SIZE   (UINT64_C(1) << 32)
/* Records begin at multiples of it, so there is always room for a header before the end. */
#define ALIGNMENT 32u

/* The frame's bytes follow, then the comment with its zero. */
struct header {
	uint64_t time;
	uint32_t size; /* with all that belongs to it */
	uint32_t length, wire_length;
	uint16_t interface;
	uint16_t comment_length; /* 0: none */
	uint8_t direction;
	bool is_filler; /* the rest of the memory is left out */
	uint8_t reserved[6];
};

_Static_assert(sizeof(struct header) == ALIGNMENT, "a header fits wherever a record may begin");

struct vl_capture_ring {
	uint8_t *memory;
	uint64_t size;                              /* a power of two */
	_Alignas(CACHE_LINE) _Atomic uint64_t head; /* the consumer's; both run freely */
	uint64_t seen_tail;                         /* what the consumer knows of tail */
	_Alignas(CACHE_LINE) _Atomic uint64_t tail; /* the producer's */
	uint64_t seen_head;                         /* what the producer knows of head */
	_Atomic uint64_t dropped;
};

struct vl_capture_ring *vl_capture_ring_create(uint64_t size)
{
	struct vl_capture_ring *ring = aligned_alloc(CACHE_LINE, sizeof(*ring));
	uint64_t rounded = MIN_SIZE;

	if (!ring)
		return NULL;
	memset(ring, 0, sizeof(*ring));
	while (rounded < size && rounded < MAX_SIZE)
		rounded *= 2;
	ring->size = rounded;
	ring->memory = aligned_alloc(CACHE_LINE, rounded);
	if (!ring->memory) {
		free(ring);
		return NULL;
	}
	/* The data path is not to fault pages in. */
	memset(ring->memory, 0, rounded);
	return ring;
}

void vl_capture_ring_destroy(struct vl_capture_ring *ring)
{
	if (!ring)
		return;
	free(ring->memory);
	free(ring);
}

/* ---- Producer --------------------------------------------------------------------------- */

/* Where a record of this size goes, or NULL: no room. *tail: moved to where it begins. */
static struct header *reserve(struct vl_capture_ring *ring, uint32_t size, uint64_t *tail)
{
	uint64_t position = *tail & (ring->size - 1);
	uint64_t filler = ring->size - position < size ? ring->size - position : 0;

	if (ring->size - (*tail - ring->seen_head) < filler + size) {
		ring->seen_head = atomic_load_explicit(&ring->head, memory_order_acquire);
		if (ring->size - (*tail - ring->seen_head) < filler + size)
			return NULL;
	}
	if (filler) {
		struct header *header = (struct header *)(ring->memory + position);

		header->is_filler = true;
		header->size = (uint32_t)filler;
		*tail += filler;
		position = 0;
	}
	return (struct header *)(ring->memory + position);
}

bool vl_capture_ring_put(struct vl_capture_ring *ring, const struct vl_capture_ring_record *record)
{
	size_t comment = record->comment ? strnlen(record->comment, VL_CAPTURE_RING_COMMENT) : 0;
	uint64_t size = sizeof(struct header) + record->length + (comment ? comment + 1 : 0);
	uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
	struct header *header = NULL;
	uint8_t *at;

	size = (size + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
	if (size <= ring->size / 2)
		header = reserve(ring, (uint32_t)size, &tail);
	if (!header) {
		atomic_store_explicit(&ring->dropped,
				      atomic_load_explicit(&ring->dropped, memory_order_relaxed) +
					      1,
				      memory_order_relaxed);
		return false;
	}
	*header = (struct header){
		.time = record->time,
		.size = (uint32_t)size,
		.length = record->length,
		.wire_length = record->wire_length,
		.interface = record->interface,
		.comment_length = (uint16_t)comment,
		.direction = (uint8_t)record->direction,
	};
	at = (uint8_t *)(header + 1);
	memcpy(at, record->frame, record->length);
	if (comment) {
		memcpy(at + record->length, record->comment, comment);
		at[record->length + comment] = '\0';
	}
	atomic_store_explicit(&ring->tail, tail + size, memory_order_release);
	return true;
}

/* ---- Consumer --------------------------------------------------------------------------- */

static const struct header *oldest(struct vl_capture_ring *ring)
{
	uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);

	for (;;) {
		const struct header *header =
			(const struct header *)(ring->memory + (head & (ring->size - 1)));

		if (head == ring->seen_tail) {
			ring->seen_tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
			if (head == ring->seen_tail)
				return NULL;
		}
		if (!header->is_filler)
			return header;
		head += header->size;
		atomic_store_explicit(&ring->head, head, memory_order_release);
	}
}

bool vl_capture_ring_peek(struct vl_capture_ring *ring, struct vl_capture_ring_record *record)
{
	const struct header *header = oldest(ring);
	const uint8_t *at = (const uint8_t *)(header + 1);

	if (!header)
		return false;
	*record = (struct vl_capture_ring_record){
		.time = header->time,
		.frame = at,
		.length = header->length,
		.wire_length = header->wire_length,
		.interface = header->interface,
		.direction = (enum vl_direction)header->direction,
		.comment = header->comment_length ? (const char *)at + header->length : NULL,
	};
	return true;
}

void vl_capture_ring_take(struct vl_capture_ring *ring)
{
	const struct header *header = oldest(ring);

	if (header)
		atomic_store_explicit(&ring->head,
				      atomic_load_explicit(&ring->head, memory_order_relaxed) +
					      header->size,
				      memory_order_release);
}

uint64_t vl_capture_ring_dropped(const struct vl_capture_ring *ring)
{
	return atomic_load_explicit(&ring->dropped, memory_order_relaxed);
}
