/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Nanoseconds from the time stamp counter, by a multiplication and a shift.
 *
 * The conversion is exact to less than a nanosecond over 50 years and never decreases when the
 * counter does not. What the clock's rate is worth is what the counter's frequency is worth: EAL
 * takes it from the CPU or the hypervisor where they tell it, and else measures it against
 * CLOCK_MONOTONIC_RAW over 100 ms, good to some 10 ppm. Counters of different cores agree
 * on CPUs with an invariant TSC; a worker also never takes a time before its last one.
 */
#ifndef VERBLINE_RUNTIME_TSC_CLOCK_H
#define VERBLINE_RUNTIME_TSC_CLOCK_H

#include <errno.h>
#include <stdint.h>

#define VL_TSC_CLOCK_SHIFT 56
/* Slower counters do not fit the multiplier. */
#define VL_TSC_CLOCK_MIN_HZ UINT64_C(4000000)

struct vl_tsc_clock {
	uint64_t origin;     /* counter at time 0 */
	uint64_t multiplier; /* nanoseconds per tick << VL_TSC_CLOCK_SHIFT */
};

/* -ERANGE: hz is too low. */
static inline int vl_tsc_clock_init(struct vl_tsc_clock *clock, uint64_t hz, uint64_t origin)
{
	if (hz < VL_TSC_CLOCK_MIN_HZ)
		return -ERANGE;
	clock->origin = origin;
	clock->multiplier =
		(uint64_t)(((unsigned __int128)UINT64_C(1000000000) << VL_TSC_CLOCK_SHIFT) / hz);
	return 0;
}

/* A counter value before the origin gives 0. */
static inline uint64_t vl_tsc_clock_ns(const struct vl_tsc_clock *clock, uint64_t counter)
{
	uint64_t ticks = counter > clock->origin ? counter - clock->origin : 0;

	return (uint64_t)(((unsigned __int128)ticks * clock->multiplier) >> VL_TSC_CLOCK_SHIFT);
}

#endif
