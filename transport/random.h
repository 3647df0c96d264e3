/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* SplitMix64 (Steele, Lea, Flood 2014): seeded, the same everywhere, good enough for impairments,
 * marking and identifiers; not for secrets. */
#ifndef VERBLINE_RANDOM_H
#define VERBLINE_RANDOM_H

#include <stdint.h>

struct vl_random {
	uint64_t state;
};

static inline uint64_t vl_random_next(struct vl_random *random)
{
	uint64_t z = (random->state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* Uniform in [0, bound); bound > 0. */
static inline uint64_t vl_random_below(struct vl_random *random, uint64_t bound)
{
	return (uint64_t)(((unsigned __int128)vl_random_next(random) * bound) >> 64);
}

/* Uniform in [0, 1). */
static inline double vl_random_unit(struct vl_random *random)
{
	return (double)(vl_random_next(random) >> 11) * 0x1.0p-53;
}

#endif
