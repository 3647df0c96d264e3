/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/port/device_clock.h"

/* The rate is taken over one to two of these: long against the error of a reading, short against
 * what a rate holds. */
#define BASELINE UINT64_C(8000000000)
/* Further off than this from where it should be, a clock was set, and not drifting. */
#define SET_ANEW UINT64_C(1000000)

#define SLOWEST UINT64_C(1000000) /* ns of a tick */
#define FASTEST 100u              /* ticks of a ns */

static uint64_t multiplier_between(const struct vl_clock_reading *from,
				   const struct vl_clock_reading *to)
{
	uint64_t ticks = to->ticks - from->ticks, time = to->time - from->time;

	if (!ticks || ticks > INT64_MAX || time > INT64_MAX || time / SLOWEST > ticks ||
	    ticks / FASTEST > time)
		return 0;
	return (uint64_t)(((unsigned __int128)time << VL_DEVICE_CLOCK_SHIFT) / ticks);
}

/* ticks may lie before the rate's own moment: what was received before a correction. */
static int64_t time_of(const struct vl_clock_rate *rate, uint64_t ticks)
{
	__int128 since = (__int128)(int64_t)(ticks - rate->ticks) * (__int128)rate->multiplier;

	return (int64_t)(rate->time + (uint64_t)(since >> VL_DEVICE_CLOCK_SHIFT));
}

static void publish(struct vl_device_clock *clock, const struct vl_clock_reading *reading,
		    uint64_t multiplier)
{
	unsigned int version = atomic_load_explicit(&clock->version, memory_order_relaxed);

	atomic_store_explicit(&clock->version, version + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&clock->ticks, reading->ticks, memory_order_relaxed);
	atomic_store_explicit(&clock->time, reading->time, memory_order_relaxed);
	atomic_store_explicit(&clock->multiplier, multiplier, memory_order_relaxed);
	atomic_store_explicit(&clock->version, version + 2, memory_order_release);
}

bool vl_device_clock_init(struct vl_device_clock *clock, const struct vl_clock_reading *first,
			  const struct vl_clock_reading *second)
{
	uint64_t multiplier = multiplier_between(first, second);

	if (!multiplier)
		return false;
	clock->older = clock->newer = *first;
	atomic_init(&clock->version, 0);
	publish(clock, second, multiplier);
	return true;
}

uint64_t vl_device_clock_deviation(const struct vl_device_clock *clock,
				   const struct vl_clock_reading *reading)
{
	const struct vl_clock_rate rate = {
		.ticks = atomic_load_explicit(&clock->ticks, memory_order_relaxed),
		.time = atomic_load_explicit(&clock->time, memory_order_relaxed),
		.multiplier = atomic_load_explicit(&clock->multiplier, memory_order_relaxed),
	};
	int64_t off = (int64_t)((uint64_t)time_of(&rate, reading->ticks) - reading->time);

	return off < 0 ? -(uint64_t)off : (uint64_t)off;
}

void vl_device_clock_correct(struct vl_device_clock *clock, const struct vl_clock_reading *reading)
{
	uint64_t old = atomic_load_explicit(&clock->multiplier, memory_order_relaxed);
	uint64_t multiplier = multiplier_between(&clock->older, reading);

	if (!multiplier || vl_device_clock_deviation(clock, reading) > SET_ANEW) {
		clock->older = clock->newer = *reading;
		multiplier = old;
	} else if (reading->time - clock->newer.time > BASELINE) {
		clock->older = clock->newer;
		clock->newer = *reading;
	}
	publish(clock, reading, multiplier);
}

void vl_clock_view_renew(struct vl_clock_view *view, const struct vl_device_clock *clock)
{
	unsigned int version = atomic_load_explicit(&clock->version, memory_order_acquire);
	struct vl_clock_rate rate;

	if (version == view->version || version & 1)
		return;
	rate.ticks = atomic_load_explicit(&clock->ticks, memory_order_relaxed);
	rate.time = atomic_load_explicit(&clock->time, memory_order_relaxed);
	rate.multiplier = atomic_load_explicit(&clock->multiplier, memory_order_relaxed);
	atomic_thread_fence(memory_order_acquire);
	/* Written meanwhile: what we have is good until the next burst. */
	if (atomic_load_explicit(&clock->version, memory_order_relaxed) != version)
		return;
	view->rate = rate;
	view->version = version;
}

bool vl_clock_view_time(struct vl_clock_view *view, uint64_t ticks, uint64_t now, uint64_t *time)
{
	int64_t found = time_of(&view->rate, ticks);
	int64_t age = (int64_t)(now - (uint64_t)found);

	if (!view->rate.multiplier || age > (int64_t)VL_DEVICE_CLOCK_OLDEST ||
	    age < -(int64_t)VL_DEVICE_CLOCK_AHEAD || found < 0)
		return false;
	*time = age < 0 ? now : (uint64_t)found;
	if (*time < view->last)
		*time = view->last;
	view->last = *time;
	return true;
}
