/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What the algorithms share. */
#ifndef VERBLINE_CC_RATE_H
#define VERBLINE_CC_RATE_H

#include <stdint.h>

#define VL_CC_MEGABIT UINT64_C(1000000)

/* An algorithm's view of the words of struct vl_cc_state. */
#define VL_CC_VIEW __attribute__((may_alias))

/* Picoseconds per byte << 16 at 1 bit/s, and the most that is ever asked for, 7.45 kb/s: the time
 * of a packet of up to 2^17 bytes, and what is carried over, is then below 2^64. */
#define VL_CC_BIT_SECOND     (UINT64_C(8000000000000) << 16)
#define VL_CC_MOST_BYTE_TIME (UINT64_C(1) << 46)

/* Picoseconds per byte << 16 at a rate in bit/s, to the nearest; at least 1, so that a limit never
 * reads as none. */
static inline uint64_t vl_cc_byte_time(uint64_t rate)
{
	uint64_t time = (VL_CC_BIT_SECOND + rate / 2) / rate;

	return time ? time : 1;
}

#endif
