/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Exact times of bits on a line without a division per frame: bits at a rate take a whole number
 * of nanoseconds and a remainder, in units of 1 ns / rate, that the next frame continues from. So
 * any sequence of frames takes the time of the sum of its bits, whatever the rate.
 */
#ifndef VERBLINE_FABRIC_RATE_H
#define VERBLINE_FABRIC_RATE_H

#include <stdint.h>

/* 1 Mb/s to 4 Tb/s. */
#define VL_RATE_MIN UINT64_C(1000000)
#define VL_RATE_MAX UINT64_C(4000000000000)

struct vl_rate {
	uint64_t bits_per_second;
	uint64_t reciprocal; /* floor(2^64 / bits_per_second) */
};

static inline struct vl_rate vl_rate_make(uint64_t bits_per_second)
{
	return (struct vl_rate){bits_per_second,
				(uint64_t)(((unsigned __int128)1 << 64) / bits_per_second)};
}

/* Whole nanoseconds that bits take after what *remainder (< bits_per_second) holds over, and the
 * new remainder. bits <= 2^33. */
static inline uint64_t vl_rate_time(struct vl_rate rate, uint64_t bits, uint64_t *remainder)
{
	uint64_t scaled = bits * UINT64_C(1000000000) + *remainder;
	/* The reciprocal is rounded down, so the quotient is right or one too small. */
	uint64_t quotient = (uint64_t)(((unsigned __int128)scaled * rate.reciprocal) >> 64);
	uint64_t rest = scaled - quotient * rate.bits_per_second;

	if (rest >= rate.bits_per_second) {
		rest -= rate.bits_per_second;
		quotient++;
	}
	*remainder = rest;
	return quotient;
}

/* Nanoseconds that bits take, rounded up. */
static inline uint64_t vl_rate_time_up(struct vl_rate rate, uint64_t bits)
{
	uint64_t remainder = 0;
	uint64_t time = vl_rate_time(rate, bits, &remainder);

	return time + (remainder != 0);
}

#endif
