/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Random early detection on the instantaneous queue length, as switches do it for DCQCN (Zhu et
 * al., SIGCOMM 2015, equation 1): probability 0 up to Kmin, rising linearly to Pmax at Kmax, and
 * 1 above. Kmin = Kmax is step marking. The length is that of the other frames in the queue: those
 * found at enqueue, or those left behind at dequeue.
 */
#ifndef VERBLINE_FABRIC_RED_H
#define VERBLINE_FABRIC_RED_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/random.h"

enum vl_red_point {
	VL_RED_OFF,
	VL_RED_AT_ENQUEUE,
	VL_RED_AT_DEQUEUE,
};

struct vl_red_config {
	enum vl_red_point point;
	uint64_t kmin, kmax; /* bytes, kmin <= kmax */
	double pmax;         /* 0..1 */
};

struct vl_red {
	struct vl_red_config config;
	double slope; /* probability per byte above kmin */
};

/* -EINVAL: kmin > kmax, or pmax outside 0..1. */
int vl_red_init(struct vl_red *red, const struct vl_red_config *config);

static inline double vl_red_probability(const struct vl_red *red, uint64_t bytes)
{
	if (bytes <= red->config.kmin)
		return 0;
	if (bytes > red->config.kmax)
		return 1;
	return bytes == red->config.kmax ? red->config.pmax
					 : red->slope * (double)(bytes - red->config.kmin);
}

/* Whether to mark. Draws a random number only between Kmin and Kmax. */
static inline bool vl_red_decide(const struct vl_red *red, struct vl_random *random, uint64_t bytes)
{
	if (bytes <= red->config.kmin)
		return false;
	if (bytes > red->config.kmax)
		return true;
	return vl_random_unit(random) < vl_red_probability(red, bytes);
}

enum vl_red_verdict {
	VL_RED_PASS,
	VL_RED_MARKED,
	VL_RED_DROP, /* was to be marked but is not ECN-capable (RFC 3168) */
};

/* Decides and, where it can, marks the frame CE. */
enum vl_red_verdict vl_red_apply(const struct vl_red *red, struct vl_random *random, uint64_t bytes,
				 uint8_t *frame, uint32_t length);

#endif
