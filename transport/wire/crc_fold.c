/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "transport/wire/crc_fold.h"

#ifdef __x86_64__
#include "transport/wire/cpu.h"

#include <wmmintrin.h>

#define CARRY_LESS __attribute__((target("pclmul")))

static inline __m128i load(const uint8_t *data)
{
	return _mm_loadu_si128((const __m128i *)data);
}

/* block moved forward by the distance of the constants, and next added to it. */
CARRY_LESS static inline __m128i fold(__m128i block, __m128i constants, __m128i next)
{
	__m128i low = _mm_clmulepi64_si128(block, constants, 0x00);
	__m128i high = _mm_clmulepi64_si128(block, constants, 0x11);

	return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

CARRY_LESS static size_t fold_all(const struct vl_crc_fold *constants, uint32_t initial,
				  const uint8_t *data, size_t length, uint8_t rest[16])
{
	const __m128i over_512 = load((const uint8_t *)constants->over_512);
	const __m128i over_128 = load((const uint8_t *)constants->over_128);
	__m128i a = _mm_xor_si128(load(data), _mm_cvtsi32_si128((int)initial));
	__m128i b = load(data + 16), c = load(data + 32), d = load(data + 48);
	size_t at = 64;

	for (; length - at >= 64; at += 64) {
		a = fold(a, over_512, load(data + at));
		b = fold(b, over_512, load(data + at + 16));
		c = fold(c, over_512, load(data + at + 32));
		d = fold(d, over_512, load(data + at + 48));
	}
	a = fold(fold(fold(a, over_128, b), over_128, c), over_128, d);
	for (; length - at >= 16; at += 16)
		a = fold(a, over_128, load(data + at));
	_mm_storeu_si128((__m128i *)rest, a);
	return at;
}

size_t vl_crc_fold(const struct vl_crc_fold *constants, uint32_t initial, const uint8_t *data,
		   size_t length, uint8_t rest[16])
{
	if (length < VL_CRC_FOLD_MINIMUM || !vl_cpu_has(VL_CPU_CARRY_LESS_MULTIPLY))
		return 0;
	return fold_all(constants, initial, data, length, rest);
}
#else
size_t vl_crc_fold(const struct vl_crc_fold *constants, uint32_t initial, const uint8_t *data,
		   size_t length, uint8_t rest[16])
{
	(void)constants;
	(void)initial;
	(void)data;
	(void)length;
	(void)rest;
	return 0;
}
#endif
