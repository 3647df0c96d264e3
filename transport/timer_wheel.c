/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * A time is a number of eleven digits in base 64. A timer lies on the level of the highest digit
 * in which it differs from the wheel's now, in the slot of that digit (level 0 if it differs in
 * none), and this holds at every moment: now never enters a slot above level 0 without spreading
 * the slot's timers over the levels below. Hence
 * - every timer of a lower level is earlier than every timer of a higher one, and on one level
 *   the lower slot is earlier, so two bit searches find the earliest;
 * - timers of the same time always share a list, and lists are only appended to and spread in
 *   order, so they leave in the order in which they were armed.
 */

#include "transport/timer_wheel.h"

#include <string.h>

#define DIGIT_BITS 6
#define DIGIT_MASK (VL_WHEEL_SLOTS - 1)

/* vl_timer_wheel_next looks at this many timers of a slot before it settles for the slot's begin.
 */
#define NEXT_SCAN 8

static unsigned int level_of(uint64_t expires, uint64_t now)
{
	uint64_t difference = expires ^ now;

	/* 43 / 256 divides by 6 exactly enough for 0..63. */
	return difference ? (unsigned int)(63 - __builtin_clzll(difference)) * 43 >> 8 : 0;
}

static void place(struct vl_timer_wheel *wheel, struct vl_timer *timer)
{
	unsigned int level = level_of(timer->expires, wheel->now);
	unsigned int slot = timer->expires >> (level * DIGIT_BITS) & DIGIT_MASK;
	struct vl_timer **newest = &wheel->slots[level][slot];

	timer->slot = (uint16_t)(level << DIGIT_BITS | slot);
	if (wheel->occupied[level] >> slot & 1) {
		timer->previous = *newest;
		timer->next = (*newest)->next;
		timer->next->previous = timer;
		(*newest)->next = timer;
	} else {
		timer->next = timer;
		timer->previous = timer;
		wheel->occupied[level] |= UINT64_C(1) << slot;
		wheel->levels |= 1u << level;
	}
	*newest = timer;
}

static void empty_slot(struct vl_timer_wheel *wheel, unsigned int level, unsigned int slot)
{
	wheel->occupied[level] &= ~(UINT64_C(1) << slot);
	if (!wheel->occupied[level])
		wheel->levels &= ~(1u << level);
}

static void remove_timer(struct vl_timer_wheel *wheel, struct vl_timer *timer)
{
	unsigned int level = timer->slot >> DIGIT_BITS, slot = timer->slot & DIGIT_MASK;

	if (timer->next == timer) {
		empty_slot(wheel, level, slot);
	} else {
		timer->next->previous = timer->previous;
		timer->previous->next = timer->next;
		if (wheel->slots[level][slot] == timer)
			wheel->slots[level][slot] = timer->previous;
	}
	timer->next = NULL;
	timer->previous = NULL;
}

/* The first time that belongs to a slot. */
static uint64_t slot_begin(const struct vl_timer_wheel *wheel, unsigned int level,
			   unsigned int slot)
{
	unsigned int shift = level * DIGIT_BITS;
	uint64_t digits_above = level < VL_WHEEL_LEVELS - 1
					? wheel->now >> shift >> DIGIT_BITS << DIGIT_BITS << shift
					: 0;

	return digits_above | (uint64_t)slot << shift;
}

/* Moves now into the slot, as far as nothing is passed by, and the slot's timers down. */
static void spread(struct vl_timer_wheel *wheel, unsigned int level, unsigned int slot,
		   uint64_t now)
{
	struct vl_timer *newest = wheel->slots[level][slot], *timer = newest, *next = newest->next;

	do {
		timer = timer->next;
		if (timer->expires < now)
			now = timer->expires;
	} while (timer != newest);
	wheel->now = now;
	empty_slot(wheel, level, slot);
	do {
		timer = next;
		next = timer->next;
		place(wheel, timer);
	} while (timer != newest);
}

void vl_timer_wheel_init(struct vl_timer_wheel *wheel, uint64_t now)
{
	memset(wheel, 0, sizeof(*wheel));
	wheel->now = now;
}

void vl_timer_arm(struct vl_timer_wheel *wheel, struct vl_timer *timer, uint64_t expires)
{
	if (timer->next)
		remove_timer(wheel, timer);
	timer->expires = expires > wheel->now ? expires : wheel->now;
	place(wheel, timer);
}

void vl_timer_cancel(struct vl_timer_wheel *wheel, struct vl_timer *timer)
{
	if (timer->next)
		remove_timer(wheel, timer);
}

struct vl_timer *vl_timer_wheel_expire(struct vl_timer_wheel *wheel, uint64_t now)
{
	while (wheel->levels) {
		unsigned int level = (unsigned int)__builtin_ctz(wheel->levels);
		unsigned int slot = (unsigned int)__builtin_ctzll(wheel->occupied[level]);
		uint64_t begin = slot_begin(wheel, level, slot);

		if (begin > now)
			break;
		if (level == 0) {
			struct vl_timer *oldest = wheel->slots[0][slot]->next;

			wheel->now = begin;
			remove_timer(wheel, oldest);
			return oldest;
		}
		spread(wheel, level, slot, now);
	}
	if (now > wheel->now)
		wheel->now = now;
	return NULL;
}

uint64_t vl_timer_wheel_next(const struct vl_timer_wheel *wheel)
{
	const struct vl_timer *newest, *timer;
	uint64_t earliest = UINT64_MAX;
	unsigned int level, slot;

	if (!wheel->levels)
		return UINT64_MAX;
	level = (unsigned int)__builtin_ctz(wheel->levels);
	slot = (unsigned int)__builtin_ctzll(wheel->occupied[level]);
	if (level == 0)
		return slot_begin(wheel, level, slot);
	newest = timer = wheel->slots[level][slot];
	for (unsigned int i = 0; i < NEXT_SCAN; i++) {
		if (timer->expires < earliest)
			earliest = timer->expires;
		timer = timer->next;
		if (timer == newest)
			return earliest;
	}
	return slot_begin(wheel, level, slot);
}
