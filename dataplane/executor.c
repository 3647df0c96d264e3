/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/executor.h"

#include <errno.h>
#include <stdlib.h>

/* A heap of four children a node: half as deep as a binary one, and siblings share cache lines. */
#define CHILDREN 4u

struct entry {
	uint64_t time;
	uint64_t sequence;
	struct vl_event *event;
};

struct vl_executor {
	struct entry *heap;
	uint32_t count, capacity, reserved;
	bool root_is_vacant; /* the event that is running left it; its key still bounds all others
			      */
	bool stopped;
	uint64_t now;
	uint64_t sequence;
	uint64_t event_count;
};

static inline bool is_before(const struct entry *a, const struct entry *b)
{
	return a->time != b->time ? a->time < b->time : a->sequence < b->sequence;
}

static inline void place(struct vl_executor *executor, uint32_t position, struct entry entry)
{
	executor->heap[position] = entry;
	entry.event->position = position;
}

static void sift_up(struct vl_executor *executor, uint32_t position, struct entry entry)
{
	while (position > 0) {
		uint32_t parent = (position - 1) / CHILDREN;

		if (!is_before(&entry, &executor->heap[parent]))
			break;
		place(executor, position, executor->heap[parent]);
		position = parent;
	}
	place(executor, position, entry);
}

static void sift_down(struct vl_executor *executor, uint32_t position, struct entry entry)
{
	for (;;) {
		uint32_t first = position * CHILDREN + 1;
		uint32_t last = first + CHILDREN;
		uint32_t least = first;

		if (first >= executor->count)
			break;
		if (last > executor->count)
			last = executor->count;
		for (uint32_t child = first + 1; child < last; child++) {
			if (is_before(&executor->heap[child], &executor->heap[least]))
				least = child;
		}
		if (!is_before(&executor->heap[least], &entry))
			break;
		place(executor, position, executor->heap[least]);
		position = least;
	}
	place(executor, position, entry);
}

/* Fills a position that has become free with the last entry. */
static void fill(struct vl_executor *executor, uint32_t position)
{
	struct entry last = executor->heap[--executor->count];

	if (position == executor->count)
		return;
	if (position > 0 && is_before(&last, &executor->heap[(position - 1) / CHILDREN]))
		sift_up(executor, position, last);
	else
		sift_down(executor, position, last);
}

struct vl_executor *vl_executor_create(void)
{
	return calloc(1, sizeof(struct vl_executor));
}

void vl_executor_destroy(struct vl_executor *executor)
{
	if (!executor)
		return;
	free(executor->heap);
	free(executor);
}

uint64_t vl_executor_now(const struct vl_executor *executor)
{
	return executor->now;
}

uint64_t vl_executor_event_count(const struct vl_executor *executor)
{
	return executor->event_count;
}

int vl_executor_reserve(struct vl_executor *executor, uint32_t events)
{
	/* One more, as the running event's place may be filled late. */
	size_t needed = (size_t)executor->reserved + events;
	struct entry *heap;

	if (needed + 1 > executor->capacity) {
		size_t capacity = 2 * needed + 16;

		if (capacity > VL_EVENT_IDLE)
			return -ENOMEM;
		heap = realloc(executor->heap, capacity * sizeof(*heap));
		if (!heap)
			return -ENOMEM;
		executor->heap = heap;
		executor->capacity = (uint32_t)capacity;
	}
	executor->reserved = (uint32_t)needed;
	return 0;
}

void vl_executor_schedule(struct vl_executor *executor, struct vl_event *event, uint64_t time)
{
	struct entry entry = {
		.time = time > executor->now ? time : executor->now,
		.sequence = executor->sequence++,
		.event = event,
	};

	if (vl_event_is_pending(event)) {
		uint32_t position = event->position;

		if (is_before(&entry, &executor->heap[position]))
			sift_up(executor, position, entry);
		else
			sift_down(executor, position, entry);
	} else if (executor->root_is_vacant) {
		executor->root_is_vacant = false;
		sift_down(executor, 0, entry);
	} else {
		sift_up(executor, executor->count++, entry);
	}
}

void vl_executor_cancel(struct vl_executor *executor, struct vl_event *event)
{
	uint32_t position = event->position;

	if (position == VL_EVENT_IDLE)
		return;
	event->position = VL_EVENT_IDLE;
	fill(executor, position);
}

uint64_t vl_executor_next(const struct vl_executor *executor)
{
	uint64_t next = UINT64_MAX;

	if (!executor->root_is_vacant)
		return executor->count ? executor->heap[0].time : UINT64_MAX;
	for (uint32_t child = 1; child <= CHILDREN && child < executor->count; child++) {
		if (executor->heap[child].time < next)
			next = executor->heap[child].time;
	}
	return next;
}

bool vl_executor_run_until(struct vl_executor *executor, uint64_t until)
{
	executor->stopped = false;
	while (executor->count && executor->heap[0].time <= until) {
		struct vl_event *event = executor->heap[0].event;

		executor->now = executor->heap[0].time;
		executor->event_count++;
		executor->root_is_vacant = true;
		event->position = VL_EVENT_IDLE;
		event->run(event, executor->now);
		if (executor->root_is_vacant) {
			executor->root_is_vacant = false;
			fill(executor, 0);
		}
		if (executor->stopped)
			return false;
	}
	if (until != UINT64_MAX)
		executor->now = until;
	return true;
}

bool vl_executor_run(struct vl_executor *executor)
{
	return vl_executor_run_until(executor, UINT64_MAX);
}

void vl_executor_stop(struct vl_executor *executor)
{
	executor->stopped = true;
}
