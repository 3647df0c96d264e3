/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "transport/wire/cpu.h"
#include "transport/wire/crc32_words.h"

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

uint32_t vl_crc32_words_portable(const uint32_t *words, const uint32_t *multipliers, size_t count)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum ^= multiply(words[i], multipliers[i]);
	return sum;
}

#ifdef __x86_64__
__attribute__((target("pclmul"))) static uint32_t words_carry_less(const uint32_t *words,
								   const uint32_t *multipliers,
								   size_t count)
{
	return vl_crc32_words_carry_less(words, multipliers, count);
}

uint32_t vl_crc32_words(const uint32_t *words, const uint32_t *multipliers, size_t count)
{
	if (vl_cpu_has(VL_CPU_CARRY_LESS_MULTIPLY))
		return words_carry_less(words, multipliers, count);
	return vl_crc32_words_portable(words, multipliers, count);
}
#else
uint32_t vl_crc32_words(const uint32_t *words, const uint32_t *multipliers, size_t count)
{
	return vl_crc32_words_portable(words, multipliers, count);
}
#endif

uint32_t vl_crc32_combine(uint32_t first, uint32_t second, struct vl_crc32_shift shift)
{
	return vl_crc32_words(&first, &shift.multiplier, 1) ^ second;
}
