/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * A hierarchical timing wheel (Varghese and Lauck 1987) with a resolution of 1 ns: arming and
 * cancelling cost a constant number of steps, and expiry is in exact order of time, ties in order
 * of arming. Eleven levels of 64 slots span all 64 bits of the time, so there is no horizon and
 * no instant at which the wheel wraps. Timers live in their owners; a timer that is all zero is
 * not armed.
 */
#ifndef VERBLINE_TIMER_WHEEL_H
#define VERBLINE_TIMER_WHEEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vl_timer {
	struct vl_timer *next, *previous; /* next is NULL while not armed */
	uint64_t expires;                 /* ns; as armed, or the wheel's now if that was later */
	uint16_t slot;                    /* level << 6 | slot */
	uint8_t kind;                     /* the owner's: what the timer is for */
};

#define VL_WHEEL_LEVELS 11
#define VL_WHEEL_SLOTS  64

struct vl_timer_wheel {
	uint64_t now;                       /* all timers before this have been handed out */
	uint32_t levels;                    /* bit n: level n is not empty */
	uint64_t occupied[VL_WHEEL_LEVELS]; /* bit n: slot n is not empty */
	/* The newest timer of a circular list, whose next is the oldest; stale if not occupied. */
	struct vl_timer *slots[VL_WHEEL_LEVELS][VL_WHEEL_SLOTS];
};

void vl_timer_wheel_init(struct vl_timer_wheel *wheel, uint64_t now);
/* A time in the past expires at the wheel's now. An armed timer is moved, and counts as armed
 * last among those of the same time. */
void vl_timer_arm(struct vl_timer_wheel *wheel, struct vl_timer *timer, uint64_t expires);
/* Nothing happens to a timer that is not armed. */
void vl_timer_cancel(struct vl_timer_wheel *wheel, struct vl_timer *timer);
static inline bool vl_timer_is_armed(const struct vl_timer *timer)
{
	return timer->next != NULL;
}
/* Advances to now and takes out one timer that is due, earliest first; NULL: none. Between calls
 * the wheel's now is the time of the timer handed out, so that whatever is armed by its owner
 * takes its place in the order. A now in the wheel's past changes nothing. */
struct vl_timer *vl_timer_wheel_expire(struct vl_timer_wheel *wheel, uint64_t now);
/* A time at which vl_timer_wheel_expire should be called next: never later than the earliest
 * timer, and earlier only when more than a few timers share a slot of a higher level; UINT64_MAX
 * without timers. */
uint64_t vl_timer_wheel_next(const struct vl_timer_wheel *wheel);

#endif
