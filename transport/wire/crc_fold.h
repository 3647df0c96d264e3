/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Folds data into sixteen bytes with the same remainder, by carry-less multiplication (Gopal et
 * al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction", Intel 2009).
 * For any reflected CRC of up to 32 bits.
 */
#ifndef VERBLINE_WIRE_CRC_FOLD_H
#define VERBLINE_WIRE_CRC_FOLD_H

#include <stddef.h>
#include <stdint.h>

/* Data shorter than this is not worth it. */
#define VL_CRC_FOLD_MINIMUM 64

/* Modulo the polynomial, reflected in 64 bits, so that bit 63 is the coefficient of x^0. */
struct vl_crc_fold {
	uint64_t over_512[2]; /* x^(512 + 63), x^(512 - 1) */
	uint64_t over_128[2]; /* x^(128 + 63), x^(128 - 1) */
};

/*
 * initial is the CRC's register, exclusive-ored into the first four bytes. Returns how many bytes
 * were folded, a multiple of sixteen: the CRC goes on with a register of zero over rest, then over
 * what follows. 0: the processor cannot, or length is below the minimum; rest is untouched.
 */
size_t vl_crc_fold(const struct vl_crc_fold *constants, uint32_t initial, const uint8_t *data,
		   size_t length, uint8_t rest[16]);

#endif
