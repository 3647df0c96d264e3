/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * A hierarchical timing wheel (Varghese and Lauck 1987) with a resolution of 1 ns: arming and
 * cancelling cost a constant number of steps, and expiry is in order of time, ties in order of
 * arming. Seven levels of 256 slots reach beyond two years. Timers live in their owners.
 */
#ifndef VERBLINE_TIMER_WHEEL_H
#define VERBLINE_TIMER_WHEEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vl_timer {
	struct vl_timer *next, *previous; /* next is NULL while not armed */
	uint64_t expires;                 /* ns */
	uint16_t slot;
	uint8_t kind; /* the owner's: what the timer is for */
};

#define VL_WHEEL_LEVELS 7
#define VL_WHEEL_SLOTS  256

struct vl_timer_wheel {
	uint64_t now; /* all timers before this have been handed out */
	uint64_t occupied[VL_WHEEL_LEVELS][VL_WHEEL_SLOTS / 64];
	struct vl_timer *slots[VL_WHEEL_LEVELS][VL_WHEEL_SLOTS]; /* tail of a circular list */
};

void vl_timer_wheel_init(struct vl_timer_wheel *wheel, uint64_t now);
/* A time in the past expires at the wheel's now. An armed timer is moved. Times further than the
 * wheel reaches are held at its horizon, and come out too early there: 2^56 ns. */
void vl_timer_arm(struct vl_timer_wheel *wheel, struct vl_timer *timer, uint64_t expires);
void vl_timer_cancel(struct vl_timer_wheel *wheel, struct vl_timer *timer);
static inline bool vl_timer_is_armed(const struct vl_timer *timer)
{
	return timer->next != NULL;
}
/* Advances to now and takes out one timer that is due, earliest first; NULL: none. */
struct vl_timer *vl_timer_wheel_expire(struct vl_timer_wheel *wheel, uint64_t now);
/* A time at which vl_timer_wheel_expire should be called next: never later than the earliest
 * timer, possibly earlier; UINT64_MAX without timers. */
uint64_t vl_timer_wheel_next(const struct vl_timer_wheel *wheel);

#endif
