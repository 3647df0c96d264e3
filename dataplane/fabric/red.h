/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Weighted random early detection on the length of a queue, as switches do it for DCQCN (Zhu et
 * al., SIGCOMM 2015, equation 1): probability 0 up to Kmin, rising linearly to Pmax at Kmax, and
 * 1 above; a curve for each colour. Kmin = Kmax is step marking. The length is that of the other
 * frames in the queue: those found at enqueue, or those left behind at dequeue; in a switch of
 * cells it counts whole cells.
 */
#ifndef VERBLINE_FABRIC_RED_H
#define VERBLINE_FABRIC_RED_H

#include "dataplane/fabric/classifier.h"
#include "transport/random.h"

#include <stdbool.h>
#include <stdint.h>

enum vl_red_point {
	VL_RED_OFF,
	VL_RED_AT_ENQUEUE,
	VL_RED_AT_DEQUEUE,
};

/* What becomes of a frame that the curve hits. */
enum vl_red_action {
	VL_RED_IGNORE,       /* nothing: the colour has no curve */
	VL_RED_MARK_OR_DROP, /* ECN-capable: marked; others: dropped (RFC 3168) */
	VL_RED_MARK_OR_PASS, /* ECN-capable: marked; others: let pass */
	VL_RED_DROP_ALL,     /* dropped, ECN-capable or not (WRED without ECN) */
};

struct vl_red_curve {
	enum vl_red_action action;
	uint64_t kmin, kmax; /* bytes, kmin <= kmax <= VL_RED_LENGTH_MAX */
	double pmax;         /* 0..1 */
};

#define VL_RED_LENGTH_MAX (UINT64_C(1) << 40)
#define VL_RED_WEIGHT_MAX 15

struct vl_red_config {
	enum vl_red_point point;
	/* 0: the length of the instant. n: its average, which each frame that comes to the point
	 * moves by 2^-n of the way to the length that it finds (Floyd and Jacobson 1993; in idle
	 * times it rests). */
	uint8_t weight;
	struct vl_red_curve curves[VL_COLOURS];
};

struct vl_red {
	struct vl_red_config config;
	double slope[VL_COLOURS]; /* probability per byte above kmin */
};

/* One curve for all colours, on the length of the instant; VL_RED_MARK_OR_DROP. */
struct vl_red_config vl_red_marking(enum vl_red_point point, uint64_t kmin, uint64_t kmax,
				    double pmax);

/* NULL: config is fine; else what is not, valid until the next call in this thread. */
const char *vl_red_config_error(const struct vl_red_config *config);
/* Of a configuration that is fine. */
void vl_red_init(struct vl_red *red, const struct vl_red_config *config);

static inline double vl_red_probability(const struct vl_red *red, enum vl_colour colour,
					uint64_t bytes)
{
	const struct vl_red_curve *curve = &red->config.curves[colour];

	if (curve->action == VL_RED_IGNORE || bytes <= curve->kmin)
		return 0;
	if (bytes > curve->kmax)
		return 1;
	return bytes == curve->kmax ? curve->pmax
				    : red->slope[colour] * (double)(bytes - curve->kmin);
}

/* Whether the curve hits. Draws a random number only between Kmin and Kmax. */
static inline bool vl_red_decide(const struct vl_red *red, enum vl_colour colour,
				 struct vl_random *random, uint64_t bytes)
{
	const struct vl_red_curve *curve = &red->config.curves[colour];

	if (bytes <= curve->kmin || curve->action == VL_RED_IGNORE)
		return false;
	if (bytes > curve->kmax)
		return true;
	return vl_random_unit(random) < vl_red_probability(red, colour, bytes);
}

/* The average of a queue's length, in bytes * 2^16. */
struct vl_red_average {
	uint64_t scaled;
};

/* Moves the average by a frame that finds bytes; returns it in bytes, rounded down. Also right for
 * weight 0. */
static inline uint64_t vl_red_average_add(struct vl_red_average *average, uint8_t weight,
					  uint64_t bytes)
{
	int64_t difference = (int64_t)(bytes << 16) - (int64_t)average->scaled;

	average->scaled = (uint64_t)((int64_t)average->scaled + (difference >> weight));
	return average->scaled >> 16;
}

enum vl_red_verdict {
	VL_RED_PASS,
	VL_RED_MARKED,
	VL_RED_DROP,
};

/* Decides and, where it can, marks the frame CE. */
enum vl_red_verdict vl_red_apply(const struct vl_red *red, enum vl_colour colour,
				 struct vl_random *random, uint64_t bytes, uint8_t *frame,
				 uint32_t length);

#endif
