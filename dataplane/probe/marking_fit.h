/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * The curve of random early detection that makes what was seen likeliest: probability 0 up to Kmin,
 * rising linearly to Pmax at Kmax, 1 above.
 */
#ifndef VERBLINE_PROBE_MARKING_FIT_H
#define VERBLINE_PROBE_MARKING_FIT_H

#include <stdbool.h>
#include <stdint.h>

/* Frames seen at a length of the queue. */
struct vl_marking_level {
	double bytes;
	uint64_t frames, marked;
};

struct vl_marking_curve {
	double kmin, kmax, pmax;                   /* bytes; 0..1 */
	double kmin_error, kmax_error, pmax_error; /* one standard deviation */
};

/* levels ascending, their distance step; at least one of them marked. False: no memory. */
bool vl_marking_fit(const struct vl_marking_level *levels, uint32_t count, double step,
		    struct vl_marking_curve *curve);

#endif
