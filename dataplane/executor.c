/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Events of the next few microseconds stand in lists, one for each nanosecond; those that are
 * farther off in a heap, from which they move to the lists as the clock comes near. A list holds
 * its events in the order in which they were scheduled, as what comes from the heap was scheduled
 * before anything could be added to the list itself.
 */

#include "dataplane/executor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Nanoseconds that have a list of their own: beyond the time of a frame on a link and its
 * propagation within a building. A power of two, at most 64 * 64. */
#define NEAR    4096u
#define WORDS   (NEAR / 64)
#define IS_NEAR (UINT32_MAX - 1) /* an event's position while it is in a list */
#define NO_LIST UINT32_MAX
/* A heap of four children a node: half as deep as a binary one, and siblings share cache lines. */
#define CHILDREN 4u
/* How many events the first step of prefetching is ahead of the running one, and the steps are
 * apart. */
#define AHEAD 14u
#define APART 2u
#define RING  16u
/* Events of networks so small that what they touch stays in the caches: fetching ahead would only
 * cost. */
#define CACHED 4096u

struct list {
	struct vl_event *head, *tail;
};

struct entry {
	uint64_t time;
	uint64_t sequence;
	struct vl_event *event;
};

struct vl_executor {
	struct list lists[NEAR];
	uint64_t occupied[WORDS]; /* bit n of word w: list 64 w + n is not empty */
	uint64_t occupied_words;
	struct entry *heap;
	uint32_t count, capacity, reserved; /* of the heap */
	bool stopped;
	uint64_t now;
	uint64_t sequence;
	uint64_t event_count;
	/* Prefetching: the event up to which it has come (NULL: start anew), and the last ones. */
	struct vl_event *ahead;
	struct vl_event *fetched[RING];
	uint32_t fetched_count, run_count; /* of these, run: at most as many */
};

/* ---- The heap ---------------------------------------------------------------------------- */

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

/* ---- The lists --------------------------------------------------------------------------- */

static void append(struct vl_executor *executor, struct vl_event *event)
{
	uint32_t number = (uint32_t)(event->time % NEAR);
	struct list *list = &executor->lists[number];

	event->position = IS_NEAR;
	event->next = NULL;
	event->previous = list->tail;
	if (list->head) {
		list->tail->next = event;
	} else {
		list->head = event;
		executor->occupied[number / 64] |= UINT64_C(1) << number % 64;
		executor->occupied_words |= UINT64_C(1) << number / 64;
	}
	list->tail = event;
}

static void unlink_near(struct vl_executor *executor, struct vl_event *event)
{
	uint32_t number = (uint32_t)(event->time % NEAR);
	struct list *list = &executor->lists[number];

	if (executor->ahead == event)
		executor->ahead = NULL;
	if (event->previous)
		event->previous->next = event->next;
	else
		list->head = event->next;
	if (event->next)
		event->next->previous = event->previous;
	else
		list->tail = event->previous;
	if (!list->head) {
		executor->occupied[number / 64] &= ~(UINT64_C(1) << number % 64);
		if (!executor->occupied[number / 64])
			executor->occupied_words &= ~(UINT64_C(1) << number / 64);
	}
}

/* The first list that is not empty, from that of time on, and round; NO_LIST: none. */
static uint32_t find_list(const struct vl_executor *executor, uint64_t time)
{
	uint32_t number = (uint32_t)(time % NEAR), word = number / 64;
	uint64_t bits = executor->occupied[word] & UINT64_MAX << number % 64;
	uint64_t words;

	if (bits)
		return word * 64 + (uint32_t)__builtin_ctzll(bits);
	if (!executor->occupied_words)
		return NO_LIST;
	words = word < 63 ? executor->occupied_words & UINT64_MAX << (word + 1) : 0;
	if (!words)
		words = executor->occupied_words;
	word = (uint32_t)__builtin_ctzll(words);
	return word * 64 + (uint32_t)__builtin_ctzll(executor->occupied[word]);
}

static void set_now(struct vl_executor *executor, uint64_t now)
{
	executor->now = now;
	while (executor->count && executor->heap[0].time - now < NEAR) {
		struct vl_event *event = executor->heap[0].event;

		fill(executor, 0);
		append(executor, event);
	}
}

/* ---- Prefetching ------------------------------------------------------------------------- */

static void hint(const struct vl_event *event, unsigned int step)
{
	if (event && event->prefetch)
		event->prefetch(event, step);
}

/* Goes on by one event; false: there is none yet. */
static bool fetch_next(struct vl_executor *executor)
{
	struct vl_event *event = executor->ahead ? executor->ahead->next : NULL;
	uint64_t from = executor->ahead ? executor->ahead->time + 1 : executor->now;
	uint32_t number;

	if (!event) {
		number = from - executor->now < NEAR ? find_list(executor, from) : NO_LIST;
		if (number == NO_LIST)
			return false;
		event = executor->lists[number].head;
		/* Round: behind the clock's farthest list comes its nearest. */
		if (event->time < from)
			return false;
	}
	__builtin_prefetch(event);
	executor->ahead = event;
	executor->fetched[executor->fetched_count++ % RING] = event;
	return true;
}

static void prefetch(struct vl_executor *executor)
{
	/* One more than is run, until it is far enough ahead. */
	for (unsigned int i = 0; i < 2; i++) {
		if (executor->fetched_count - executor->run_count >= AHEAD || !fetch_next(executor))
			break;
		/* The event itself, which names its function, comes one earlier. */
		for (unsigned int step = 0; step < VL_EVENT_PREFETCH_STEPS; step++)
			hint(executor->fetched[(executor->fetched_count - 2 - step * APART) % RING],
			     step);
	}
}

/* The event will not run: nothing is to be fetched for it. */
static void forget(struct vl_executor *executor, const struct vl_event *event)
{
	for (unsigned int i = 0; i < RING; i++) {
		if (executor->fetched[i] == event)
			executor->fetched[i] = NULL;
	}
}

/* ---- The clock --------------------------------------------------------------------------- */

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
	size_t needed = (size_t)executor->reserved + events;
	struct entry *heap;

	if (needed > executor->capacity) {
		size_t capacity = 2 * needed + 16;

		if (capacity >= IS_NEAR)
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
	bool is_near = entry.time - executor->now < NEAR;
	uint32_t position = event->position;

	if (position == IS_NEAR) {
		unlink_near(executor, event);
	} else if (position != VL_EVENT_IDLE) {
		event->time = entry.time;
		if (is_near)
			fill(executor, position);
		else if (is_before(&entry, &executor->heap[position]))
			sift_up(executor, position, entry);
		else
			sift_down(executor, position, entry);
		if (!is_near)
			return;
	}
	event->time = entry.time;
	if (is_near)
		append(executor, event);
	else
		sift_up(executor, executor->count++, entry);
}

void vl_executor_cancel(struct vl_executor *executor, struct vl_event *event)
{
	uint32_t position = event->position;

	if (position == VL_EVENT_IDLE)
		return;
	event->position = VL_EVENT_IDLE;
	if (position != IS_NEAR) {
		fill(executor, position);
		return;
	}
	unlink_near(executor, event);
	forget(executor, event);
}

uint64_t vl_executor_next(const struct vl_executor *executor)
{
	uint32_t number = find_list(executor, executor->now);

	if (number != NO_LIST)
		return executor->lists[number].head->time;
	return executor->count ? executor->heap[0].time : UINT64_MAX;
}

bool vl_executor_run_until(struct vl_executor *executor, uint64_t until)
{
	uint64_t next;

	executor->stopped = false;
	while ((next = vl_executor_next(executor)) != UINT64_MAX && next <= until) {
		struct vl_event *event;

		if (next != executor->now)
			set_now(executor, next);
		event = executor->lists[next % NEAR].head;
		unlink_near(executor, event);
		event->position = VL_EVENT_IDLE;
		executor->event_count++;
		if (executor->run_count != executor->fetched_count)
			executor->run_count++;
		if (executor->reserved > CACHED)
			prefetch(executor);
		event->run(event, next);
		if (executor->stopped)
			return false;
	}
	if (until != UINT64_MAX && until > executor->now)
		set_now(executor, until);
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
