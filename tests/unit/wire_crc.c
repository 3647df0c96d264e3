/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "tests/support/suite.h"
#include "transport/random.h"
#include "transport/wire/icrc.h"
#include "transport/wire/vcrc.h"

#include <stdlib.h>
#include <string.h>

static struct vl_random source = {.state = 20260101};

/* The definition, bit by bit. */
static uint32_t crc32_bitwise(uint32_t crc, const uint8_t *data, size_t length)
{
	crc = ~crc;
	for (size_t i = 0; i < length; i++) {
		crc ^= data[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
	}
	return ~crc;
}

static uint16_t crc16_bitwise(const uint8_t *data, size_t length)
{
	uint16_t crc = 0xffff;

	for (size_t i = 0; i < length; i++) {
		crc ^= data[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0xd008 : crc >> 1;
	}
	return (uint16_t)~crc;
}

static void fill(uint8_t *data, size_t length)
{
	for (size_t i = 0; i < length; i++)
		data[i] = (uint8_t)vl_random_next(&source);
}

/* The check value of CRC-32 in the catalogues, and that of nothing. */
static void test_known_values(void)
{
	CU_ASSERT_EQUAL(vl_crc32(0, "123456789", 9), 0xcbf43926);
	CU_ASSERT_EQUAL(vl_crc32_folded(0, "123456789", 9), 0xcbf43926);
	CU_ASSERT_EQUAL(vl_crc32_portable(0, "123456789", 9), 0xcbf43926);
	CU_ASSERT_EQUAL(vl_crc32(0, "", 0), 0);
	CU_ASSERT_EQUAL(vl_crc32_portable(0, "", 0), 0);
	CU_ASSERT_EQUAL(vl_crc32(0x12345678, "", 0), 0x12345678);
	/* The register after eight bytes of ones. */
	CU_ASSERT_EQUAL(~vl_crc32(0, "\xff\xff\xff\xff\xff\xff\xff\xff", 8), 0xdebb20e3);
}

/* Each length at each alignment, in an allocation of its own length. */
static void test_lengths_and_alignments(void)
{
	for (unsigned int alignment = 0; alignment < 16; alignment++) {
		for (size_t length = 0; length <= 300; length++) {
			uint8_t *memory = malloc(alignment + length + 1);
			uint8_t *data = memory + alignment + 1;
			uint32_t seed = (uint32_t)vl_random_next(&source), expected;

			fill(data, length);
			expected = crc32_bitwise(seed, data, length);
			CU_ASSERT_EQUAL(vl_crc32(seed, data, length), expected);
			CU_ASSERT_EQUAL(vl_crc32_portable(seed, data, length), expected);
			CU_ASSERT_EQUAL(vl_crc32_folded(seed, data, length), expected);
			expected = crc16_bitwise(data, length);
			CU_ASSERT_EQUAL(vl_vcrc(data, length), expected);
			CU_ASSERT_EQUAL(vl_vcrc_portable(data, length), expected);
			free(memory);
		}
	}
}

static void test_random_lengths_and_splits(void)
{
	enum { LARGEST = 10000 };
	uint8_t *data = malloc(LARGEST);

	for (unsigned int i = 0; i < 300; i++) {
		size_t length = vl_random_below(&source, LARGEST + 1);
		size_t split = vl_random_below(&source, length + 1);
		uint32_t expected, portable, folded, library;

		fill(data, length);
		expected = crc32_bitwise(0, data, length);
		portable = vl_crc32_portable(0, data, split);
		folded = vl_crc32_folded(0, data, split);
		library = vl_crc32(0, data, split);
		CU_ASSERT_EQUAL(vl_crc32_portable(portable, data + split, length - split),
				expected);
		CU_ASSERT_EQUAL(vl_crc32_folded(folded, data + split, length - split), expected);
		CU_ASSERT_EQUAL(vl_crc32(library, data + split, length - split), expected);
		CU_ASSERT_EQUAL(vl_crc32(0, data, length), expected);
		expected = crc16_bitwise(data, length);
		CU_ASSERT_EQUAL(vl_vcrc(data, length), expected);
		CU_ASSERT_EQUAL(vl_vcrc_portable(data, length), expected);
	}
	free(data);
}

static void test_combine(void)
{
	enum { LARGEST = 5000 };
	uint8_t *data = malloc(LARGEST);

	for (unsigned int i = 0; i < 2000; i++) {
		size_t length = vl_random_below(&source, LARGEST + 1);
		size_t split = vl_random_below(&source, length + 1);
		struct vl_crc32_shift shift = vl_crc32_shift(length - split);
		uint32_t first, second, expected;

		fill(data, length < 32 ? length : 32);
		data[vl_random_below(&source, LARGEST)] ^= 0x5a;
		expected = vl_crc32(0, data, length);
		first = vl_crc32(0, data, split);
		second = vl_crc32(0, data + split, length - split);
		CU_ASSERT_EQUAL(vl_crc32_combine(first, second, shift), expected);
		CU_ASSERT_EQUAL(vl_crc32_combine_portable(first, second, shift), expected);
	}
	free(data);
}

/* A shift by a sum of lengths is one shift after the other, up to the longest. */
static void test_combine_long(void)
{
	uint64_t length = 1;
	uint32_t crc = 0xdeadbeef;

	for (unsigned int i = 0; i < 63; i++, length *= 2) {
		struct vl_crc32_shift once = vl_crc32_shift(length);
		struct vl_crc32_shift twice = vl_crc32_shift(2 * length);
		uint32_t step = vl_crc32_combine(crc, 0, once);

		CU_ASSERT_EQUAL(vl_crc32_combine(step, 0, once), vl_crc32_combine(crc, 0, twice));
		crc = step ^ i;
	}
	CU_ASSERT_EQUAL(vl_crc32_combine(0x12345678, 0, vl_crc32_shift(0)), 0x12345678);
}

/* The link CRC of a flow control packet: its first four bytes. */
static void test_link_packet(void)
{
	static const uint8_t packet[6] = {0x01, 0x23, 0x14, 0x56, 0xa7, 0xa8};
	uint16_t crc = vl_vcrc(packet, 4);

	CU_ASSERT_EQUAL(crc & 0xff, packet[4]);
	CU_ASSERT_EQUAL(crc >> 8, packet[5]);
}

static const struct test tests[] = {
	{"known_values", test_known_values},
	{"lengths_and_alignments", test_lengths_and_alignments},
	{"random_lengths_and_splits", test_random_lengths_and_splits},
	{"combine", test_combine},
	{"combine_long", test_combine_long},
	{"link_packet", test_link_packet},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("wire_crc", tests, argc, argv);
}
