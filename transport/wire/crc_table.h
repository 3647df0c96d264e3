/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Tables of a reflected CRC, written down by their basis. A CRC is linear, so the entry of a byte
 * is the exclusive or of the entries of its bits: b0 is that of 0x01, b7 that of 0x80.
 */
#ifndef VERBLINE_WIRE_CRC_TABLE_H
#define VERBLINE_WIRE_CRC_TABLE_H

#define VL_CRC_BIT(byte, bit, basis) ((byte) >> (bit)&1 ? (basis) : 0)
#define VL_CRC_ENTRY(byte, b0, b1, b2, b3, b4, b5, b6, b7)                                         \
	(VL_CRC_BIT(byte, 0, b0) ^ VL_CRC_BIT(byte, 1, b1) ^ VL_CRC_BIT(byte, 2, b2) ^             \
	 VL_CRC_BIT(byte, 3, b3) ^ VL_CRC_BIT(byte, 4, b4) ^ VL_CRC_BIT(byte, 5, b5) ^             \
	 VL_CRC_BIT(byte, 6, b6) ^ VL_CRC_BIT(byte, 7, b7))
#define VL_CRC_ENTRIES_4(byte, ...)                                                                \
	VL_CRC_ENTRY((byte) + 0, __VA_ARGS__), VL_CRC_ENTRY((byte) + 1, __VA_ARGS__),              \
		VL_CRC_ENTRY((byte) + 2, __VA_ARGS__), VL_CRC_ENTRY((byte) + 3, __VA_ARGS__)
#define VL_CRC_ENTRIES_16(byte, ...)                                                               \
	VL_CRC_ENTRIES_4((byte) + 0, __VA_ARGS__), VL_CRC_ENTRIES_4((byte) + 4, __VA_ARGS__),      \
		VL_CRC_ENTRIES_4((byte) + 8, __VA_ARGS__),                                         \
		VL_CRC_ENTRIES_4((byte) + 12, __VA_ARGS__)
#define VL_CRC_ENTRIES_64(byte, ...)                                                               \
	VL_CRC_ENTRIES_16((byte) + 0, __VA_ARGS__), VL_CRC_ENTRIES_16((byte) + 16, __VA_ARGS__),   \
		VL_CRC_ENTRIES_16((byte) + 32, __VA_ARGS__),                                       \
		VL_CRC_ENTRIES_16((byte) + 48, __VA_ARGS__)
/* The 256 entries, as an initializer. */
#define VL_CRC_TABLE(...)                                                                          \
	{                                                                                          \
		VL_CRC_ENTRIES_64(0, __VA_ARGS__), VL_CRC_ENTRIES_64(64, __VA_ARGS__),             \
			VL_CRC_ENTRIES_64(128, __VA_ARGS__), VL_CRC_ENTRIES_64(192, __VA_ARGS__)   \
	}

#endif
