/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * A device's clock, told in the workers' time. The control side reads both clocks together, at the
 * start and every second or so, and derives rate and offset; workers convert, each with a copy of
 * its own that it renews without ever waiting. Neither rate nor origin of the device's clock need
 * be known, and it may be disciplined or set anew while it runs.
 */
#ifndef VERBLINE_PORT_DEVICE_CLOCK_H
#define VERBLINE_PORT_DEVICE_CLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define VL_DEVICE_CLOCK_SHIFT 40
/* A time that lies further off than these, from when its burst was taken, is no time. */
#define VL_DEVICE_CLOCK_OLDEST UINT64_C(1000000000)
#define VL_DEVICE_CLOCK_AHEAD  UINT64_C(1000000)

/* The two clocks read at one time. */
struct vl_clock_reading {
	uint64_t ticks;
	uint64_t time;  /* ns, the workers' */
	uint64_t error; /* ns, of time: half of what the reading took */
};

struct vl_clock_rate {
	uint64_t ticks, time; /* at one moment */
	uint64_t multiplier;  /* ns per tick << VL_DEVICE_CLOCK_SHIFT */
};

struct vl_device_clock {
	/* The control side's: readings some seconds apart, from which the rate follows. */
	struct vl_clock_reading older, newer;
	/* Odd while the rest is written. */
	atomic_uint version;
	_Atomic uint64_t ticks, time, multiplier;
};

/* A queue's view. One worker at a time. */
struct vl_clock_view {
	unsigned int version;
	struct vl_clock_rate rate;
	uint64_t last; /* time given last */
};

/* The second reading is some ms after the first. False: the clock does not run, or not at a rate
 * from 1 kHz to 100 GHz. */
bool vl_device_clock_init(struct vl_device_clock *clock, const struct vl_clock_reading *first,
			  const struct vl_clock_reading *second);
/* ns: by how much a reading shows times to be wrong that are told from those before it. */
uint64_t vl_device_clock_deviation(const struct vl_device_clock *clock,
				   const struct vl_clock_reading *reading);
/* A later reading, on one thread. A clock that was set anew keeps its rate. */
void vl_device_clock_correct(struct vl_device_clock *clock, const struct vl_clock_reading *reading);

/* What has been corrected meanwhile. For each burst. */
void vl_clock_view_renew(struct vl_clock_view *view, const struct vl_device_clock *clock);
/* False: not to be believed. Else the time, ns, of the device's time stamp: not after now, and not
 * before the time given last. */
bool vl_clock_view_time(struct vl_clock_view *view, uint64_t ticks, uint64_t now, uint64_t *time);

#endif
