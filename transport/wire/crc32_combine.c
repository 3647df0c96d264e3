/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "transport/wire/icrc.h"

#include "transport/wire/cpu.h"

#ifdef __x86_64__
#include <wmmintrin.h>
#endif

#define POLYNOMIAL UINT32_C(0xedb88320)

/* a * b modulo the polynomial; bit 31 is the coefficient of x^0. */
static uint32_t multiply(uint32_t a, uint32_t b)
{
	uint32_t product = 0;

	for (int i = 0; i < 32; i++) {
		product ^= b & -(a >> 31);
		a <<= 1;
		b = b >> 1 ^ (POLYNOMIAL & -(b & 1));
	}
	return product;
}

struct vl_crc32_shift vl_crc32_shift(uint64_t length_of_second)
{
	uint32_t result = UINT32_C(1) << 31;      /* x^0 */
	uint32_t power = UINT32_C(1) << (31 - 8); /* x^8, one byte */

	for (; length_of_second; length_of_second >>= 1) {
		if (length_of_second & 1)
			result = multiply(result, power);
		power = multiply(power, power);
	}
	return (struct vl_crc32_shift){result};
}

uint32_t vl_crc32_combine_portable(uint32_t first, uint32_t second, struct vl_crc32_shift shift)
{
	return multiply(first, shift.multiplier) ^ second;
}

#ifdef __x86_64__
/* The product of two reflected 32-bit polynomials has 63 bits: the shift makes it a reflected
 * 64-bit one. Barrett reduction with floor(x^64 / P) and P, reflected, 33 bits each. */
__attribute__((target("pclmul"))) static uint32_t multiply_carry_less(uint32_t a, uint32_t b)
{
	const __m128i barrett = _mm_set_epi64x(0x1db710641, 0x1f7011641);
	const __m128i low = _mm_set_epi64x(0, 0xffffffff);
	__m128i product, quotient;

	product = _mm_clmulepi64_si128(_mm_cvtsi32_si128((int)a), _mm_cvtsi32_si128((int)b), 0x00);
	product = _mm_slli_epi64(product, 1);
	quotient = _mm_clmulepi64_si128(_mm_and_si128(product, low), barrett, 0x00);
	quotient = _mm_clmulepi64_si128(_mm_and_si128(quotient, low), barrett, 0x10);
	return (uint32_t)((uint64_t)_mm_cvtsi128_si64(_mm_xor_si128(product, quotient)) >> 32);
}

uint32_t vl_crc32_combine(uint32_t first, uint32_t second, struct vl_crc32_shift shift)
{
	if (vl_cpu_has(VL_CPU_CARRY_LESS_MULTIPLY))
		return multiply_carry_less(first, shift.multiplier) ^ second;
	return vl_crc32_combine_portable(first, second, shift);
}
#else
uint32_t vl_crc32_combine(uint32_t first, uint32_t second, struct vl_crc32_shift shift)
{
	return vl_crc32_combine_portable(first, second, shift);
}
#endif
