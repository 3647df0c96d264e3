/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * The owner of the virtual clock: runs events in order of time, and events of the same time in
 * the order in which they were scheduled. Single-threaded and deterministic. Events live in
 * their owners, who keep their memory until the executor runs no more; an event is pending at most
 * once.
 */
#ifndef VERBLINE_DATAPLANE_EXECUTOR_H
#define VERBLINE_DATAPLANE_EXECUTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VL_EVENT_IDLE UINT32_MAX

/*
 * What an event is about to touch is fetched into the cache while the events before it run, as a
 * large fabric's state does not fit there. It takes steps: in step 0 nothing of the event may be
 * read, in each later one what the step before has fetched.
 */
#define VL_EVENT_PREFETCH_STEPS 6u

struct vl_event {
	/* Called with the clock at the event's time; may schedule and cancel any event. */
	void (*run)(struct vl_event *event, uint64_t now);
	/* A hint, for an event that may meanwhile have been moved or cancelled; NULL: none. */
	void (*prefetch)(const struct vl_event *event, unsigned int step);
	struct vl_event *next, *previous; /* the executor's: of those at the same time */
	uint64_t time;                    /* ns, while pending */
	uint32_t position;                /* the executor's; VL_EVENT_IDLE while not pending */
};

static inline void vl_event_init(struct vl_event *event,
				 void (*run)(struct vl_event *event, uint64_t now))
{
	event->run = run;
	event->prefetch = NULL;
	event->position = VL_EVENT_IDLE;
}

static inline bool vl_event_is_pending(const struct vl_event *event)
{
	return event->position != VL_EVENT_IDLE;
}

struct vl_executor;

/* The clock starts at 0 ns. NULL: no memory. */
struct vl_executor *vl_executor_create(void);
/* Pending events are forgotten, not run. */
void vl_executor_destroy(struct vl_executor *executor);
uint64_t vl_executor_now(const struct vl_executor *executor);
/* Number of events run so far. */
uint64_t vl_executor_event_count(const struct vl_executor *executor);

/* An owner reserves room for its events when it is set up, so that scheduling never allocates.
 * -ENOMEM. */
int vl_executor_reserve(struct vl_executor *executor, uint32_t events);
/* Makes the event pending at time (a time in the past is now), or moves it there if it is
 * pending already. At most as many events may be pending as were reserved. */
void vl_executor_schedule(struct vl_executor *executor, struct vl_event *event, uint64_t time);
void vl_executor_cancel(struct vl_executor *executor, struct vl_event *event);
/* Time of the next event; UINT64_MAX: none. */
uint64_t vl_executor_next(const struct vl_executor *executor);

/* Runs all events with time <= until; then the clock stands at until (or where
 * vl_executor_stop was called). Returns false if it was stopped. */
bool vl_executor_run_until(struct vl_executor *executor, uint64_t until);
/* Runs until no event is pending or it is stopped; the clock stands at the last event. */
bool vl_executor_run(struct vl_executor *executor);
/* From inside an event: returns to the caller of run after this event. */
void vl_executor_stop(struct vl_executor *executor);

#endif
