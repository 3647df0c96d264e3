/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "transport/credit.h"

static const uint16_t credits[31] = {
	0,    1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
	48,   64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
	2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768,
};

/* Units of 10 us. */
static const uint16_t rnr_timers[32] = {
	65535, 1,    2,    3,    4,    6,     8,     12,    16,    24,    32,
	48,    64,   96,   128,  192,  256,   384,   512,   768,   1024,  1536,
	2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
};

uint8_t vl_credit_encode(uint32_t count)
{
	uint8_t low = 0, high = 30;

	while (low < high) {
		uint8_t middle = (uint8_t)((low + high + 1) / 2);

		if (credits[middle] <= count)
			low = middle;
		else
			high = (uint8_t)(middle - 1);
	}
	return low;
}

uint32_t vl_credit_decode(uint8_t code)
{
	return code < 31 ? credits[code] : 0;
}

uint64_t vl_rnr_timer_ns(uint8_t code)
{
	code &= 31;
	/* Code 0 is 655.36 ms, one unit more than fits. */
	return code ? (uint64_t)rnr_timers[code] * 10000 : UINT64_C(655360000);
}
