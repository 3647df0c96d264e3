/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Arithmetic modulo 2^24 of PSNs and MSNs. IBTA 9.7.1: half of the space is ahead, half behind. */
#ifndef VERBLINE_PSN_H
#define VERBLINE_PSN_H

#include <stdint.h>

#define VL_PSN_MASK UINT32_C(0xffffff)

static inline uint32_t vl_psn_add(uint32_t psn, uint32_t count)
{
	return (psn + count) & VL_PSN_MASK;
}

/* a - b as a signed distance, -2^23 .. 2^23 - 1. */
static inline int32_t vl_psn_distance(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

#endif
