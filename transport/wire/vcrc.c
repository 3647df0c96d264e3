/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "transport/wire/vcrc.h"

#include "transport/wire/crc_fold.h"
#include "transport/wire/crc_table.h"

/* Row k holds the register after a byte and k zero bytes. */
static const uint16_t table[8][256] = {
	VL_CRC_TABLE(0x1ba1, 0x3742, 0x6e84, 0xdd08, 0x1a01, 0x3402, 0x6804, 0xd008),
	VL_CRC_TABLE(0xffb0, 0x5f71, 0xbee2, 0xddd5, 0x1bbb, 0x3776, 0x6eec, 0xddd8),
	VL_CRC_TABLE(0xfef4, 0x5df9, 0xbbf2, 0xd7f5, 0x0ffb, 0x1ff6, 0x3fec, 0x7fd8),
	VL_CRC_TABLE(0xf875, 0x50fb, 0xa1f6, 0xe3fd, 0x67eb, 0xcfd6, 0x3fbd, 0x7f7a),
	VL_CRC_TABLE(0x33da, 0x67b4, 0xcf68, 0x3ec1, 0x7d82, 0xfb04, 0x5619, 0xac32),
	VL_CRC_TABLE(0x4874, 0x90e8, 0x81c1, 0xa393, 0xe737, 0x6e7f, 0xdcfe, 0x19ed),
	VL_CRC_TABLE(0x28cb, 0x5196, 0xa32c, 0xe649, 0x6c83, 0xd906, 0x121d, 0x243a),
	VL_CRC_TABLE(0x49cf, 0x939e, 0x872d, 0xae4b, 0xfc87, 0x591f, 0xb23e, 0xc46d),
};

/* Goes on from a register, without the final complement. */
static uint16_t update(uint16_t crc, const uint8_t *at, size_t length)
{
	for (; length >= 8; length -= 8, at += 8) {
		crc = table[7][(crc ^ at[0]) & 0xff] ^ table[6][(crc >> 8 ^ at[1]) & 0xff] ^
		      table[5][at[2]] ^ table[4][at[3]] ^ table[3][at[4]] ^ table[2][at[5]] ^
		      table[1][at[6]] ^ table[0][at[7]];
	}
	for (; length; length--)
		crc = crc >> 8 ^ table[0][(crc ^ *at++) & 0xff];
	return crc;
}

uint16_t vl_vcrc_portable(const void *data, size_t length)
{
	return (uint16_t)~update(0xffff, data, length);
}

uint16_t vl_vcrc(const void *data, size_t length)
{
	static const struct vl_crc_fold constants = {
		.over_512 = {0x58e0000000000000, 0xf2d0000000000000},
		.over_128 = {0x11d4000000000000, 0x64df000000000000},
	};
	uint8_t rest[16];
	size_t folded = vl_crc_fold(&constants, 0xffff, data, length, rest);
	uint16_t crc = folded ? update(0, rest, sizeof(rest)) : 0xffff;

	return (uint16_t)~update(crc, (const uint8_t *)data + folded, length - folded);
}
