/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * What a few 32-bit words add to the CRC-32 of a message in which they are zero: CRCs are linear,
 * so a message of which all but some words is constant needs its CRC computed once, and a
 * carry-less multiply for each such word.
 */
#ifndef VERBLINE_WIRE_CRC32_WORDS_H
#define VERBLINE_WIRE_CRC32_WORDS_H

#include "transport/wire/icrc.h"

#include <stddef.h>
#include <stdint.h>

/* words: as they lie in the message, loaded as little-endian numbers; multipliers: of
 * vl_crc32_shift for the number of bytes from each word's first to the message's end. Exclusive-or
 * the result into the CRC. */
uint32_t vl_crc32_words(const uint32_t *words, const uint32_t *multipliers, size_t count);
uint32_t vl_crc32_words_portable(const uint32_t *words, const uint32_t *multipliers, size_t count);

#ifdef __x86_64__
#include <wmmintrin.h>

/* Sums the products first, so that all are reduced at once. For callers that are built for
 * pclmul themselves and know that the processor has it. */
__attribute__((target("pclmul"), always_inline)) static inline uint32_t vl_crc32_words_carry_less(
	const uint32_t *words, const uint32_t *multipliers, size_t count)
{
	/* floor(x^64 / P) and P, reflected, 33 bits each. */
	const __m128i barrett = _mm_set_epi64x(0x1db710641, 0x1f7011641);
	const __m128i low = _mm_set_epi64x(0, 0xffffffff);
	__m128i product = _mm_setzero_si128(), quotient;

	for (size_t i = 0; i < count; i++) {
		__m128i word = _mm_cvtsi32_si128((int)words[i]);
		__m128i multiplier = _mm_cvtsi32_si128((int)multipliers[i]);

		product = _mm_xor_si128(product, _mm_clmulepi64_si128(word, multiplier, 0x00));
	}
	/* The product of two reflected 32-bit polynomials has 63 bits: the shift makes it a
	 * reflected 64-bit one. */
	product = _mm_slli_epi64(product, 1);
	quotient = _mm_clmulepi64_si128(_mm_and_si128(product, low), barrett, 0x00);
	quotient = _mm_clmulepi64_si128(_mm_and_si128(quotient, low), barrett, 0x10);
	return (uint32_t)((uint64_t)_mm_cvtsi128_si64(_mm_xor_si128(product, quotient)) >> 32);
}
#endif

#endif
