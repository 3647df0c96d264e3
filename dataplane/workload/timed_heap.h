/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What is due at times, in a binary heap of fixed capacity: by time, then rank, then step. */
#ifndef VERBLINE_WORKLOAD_TIMED_HEAP_H
#define VERBLINE_WORKLOAD_TIMED_HEAP_H

#include <stdbool.h>
#include <stdint.h>

struct vl_timed {
	uint64_t time; /* ns */
	uint32_t rank, step;
};

struct vl_timed_heap {
	struct vl_timed *entries; /* the owner's, enough for all that may be due at a time */
	uint32_t count;
};

static inline bool vl_timed_is_before(const struct vl_timed *a, const struct vl_timed *b)
{
	if (a->time != b->time)
		return a->time < b->time;
	return a->rank != b->rank ? a->rank < b->rank : a->step < b->step;
}

static inline void vl_timed_push(struct vl_timed_heap *heap, struct vl_timed timed)
{
	uint32_t place = heap->count++;

	while (place && vl_timed_is_before(&timed, &heap->entries[(place - 1) / 2])) {
		heap->entries[place] = heap->entries[(place - 1) / 2];
		place = (place - 1) / 2;
	}
	heap->entries[place] = timed;
}

/* UINT64_MAX: nothing. */
static inline uint64_t vl_timed_next(const struct vl_timed_heap *heap)
{
	return heap->count ? heap->entries[0].time : UINT64_MAX;
}

/* The heap is not empty. */
static inline struct vl_timed vl_timed_pop(struct vl_timed_heap *heap)
{
	struct vl_timed first = heap->entries[0], last = heap->entries[--heap->count];
	uint32_t place = 0, child;

	while ((child = 2 * place + 1) < heap->count) {
		if (child + 1 < heap->count &&
		    vl_timed_is_before(&heap->entries[child + 1], &heap->entries[child]))
			child++;
		if (!vl_timed_is_before(&heap->entries[child], &last))
			break;
		heap->entries[place] = heap->entries[child];
		place = child;
	}
	heap->entries[place] = last;
	return first;
}

#endif
