/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "transport/wire/cpu.h"
#include "transport/wire/crc_fold.h"
#include "transport/wire/crc_table.h"
#include "transport/wire/icrc.h"

#include <endian.h>
#include <string.h>

#ifdef VERBLINE_ISAL
#include <isa-l/crc.h>
#endif

/* Row k holds the register after a byte and k zero bytes, so that the sixteen look-ups of a
 * step do not wait for each other. */
static const uint32_t table[16][256] = {
	VL_CRC_TABLE(0x77073096, 0xee0e612c, 0x076dc419, 0x0edb8832, 0x1db71064, 0x3b6e20c8,
		     0x76dc4190, 0xedb88320),
	VL_CRC_TABLE(0x191b3141, 0x32366282, 0x646cc504, 0xc8d98a08, 0x4ac21251, 0x958424a2,
		     0xf0794f05, 0x3b83984b),
	VL_CRC_TABLE(0x01c26a37, 0x0384d46e, 0x0709a8dc, 0x0e1351b8, 0x1c26a370, 0x384d46e0,
		     0x709a8dc0, 0xe1351b80),
	VL_CRC_TABLE(0xb8bc6765, 0xaa09c88b, 0x8f629757, 0xc5b428ef, 0x5019579f, 0xa032af3e,
		     0x9b14583d, 0xed59b63b),
	VL_CRC_TABLE(0x3d6029b0, 0x7ac05360, 0xf580a6c0, 0x30704bc1, 0x60e09782, 0xc1c12f04,
		     0x58f35849, 0xb1e6b092),
	VL_CRC_TABLE(0xcb5cd3a5, 0x4dc8a10b, 0x9b914216, 0xec53826d, 0x03d6029b, 0x07ac0536,
		     0x0f580a6c, 0x1eb014d8),
	VL_CRC_TABLE(0xa6770bb4, 0x979f1129, 0xf44f2413, 0x33ef4e67, 0x67de9cce, 0xcfbd399c,
		     0x440b7579, 0x8816eaf2),
	VL_CRC_TABLE(0xccaa009e, 0x4225077d, 0x844a0efa, 0xd3e51bb5, 0x7cbb312b, 0xf9766256,
		     0x299dc2ed, 0x533b85da),
	VL_CRC_TABLE(0x177b1443, 0x2ef62886, 0x5dec510c, 0xbbd8a218, 0xacc04271, 0x82f182a3,
		     0xde920307, 0x6655004f),
	VL_CRC_TABLE(0xefc26b3e, 0x04f5d03d, 0x09eba07a, 0x13d740f4, 0x27ae81e8, 0x4f5d03d0,
		     0x9eba07a0, 0xe6050901),
	VL_CRC_TABLE(0xc18edfc0, 0x586cb9c1, 0xb0d97382, 0xbac3e145, 0xaef6c4cb, 0x869c8fd7,
		     0xd64819ef, 0x77e1359f),
	VL_CRC_TABLE(0x9ba54c6f, 0xec3b9e9f, 0x03063b7f, 0x060c76fe, 0x0c18edfc, 0x1831dbf8,
		     0x3063b7f0, 0x60c76fe0),
	VL_CRC_TABLE(0xdd96d985, 0x605cb54b, 0xc0b96a96, 0x5a03d36d, 0xb407a6da, 0xb37e4bf5,
		     0xbd8d91ab, 0xa06a2517),
	VL_CRC_TABLE(0x9d0fe176, 0xe16ec4ad, 0x19ac8f1b, 0x33591e36, 0x66b23c6c, 0xcd6478d8,
		     0x41b9f7f1, 0x8373efe2),
	VL_CRC_TABLE(0xb9fbdbe8, 0xa886b191, 0x8a7c6563, 0xcf89cc87, 0x44629f4f, 0x88c53e9e,
		     0xcafb7b7d, 0x4e87f0bb),
	VL_CRC_TABLE(0xae689191, 0x87a02563, 0xd4314c87, 0x73139f4f, 0xe6273e9e, 0x173f7b7d,
		     0x2e7ef6fa, 0x5cfdedf4),
};

/* Four bytes, the first of which is followed by "after" + 3 bytes of the step. */
static inline uint32_t four_bytes(uint32_t word, unsigned int after)
{
	return table[after + 3][word & 0xff] ^ table[after + 2][word >> 8 & 0xff] ^
	       table[after + 1][word >> 16 & 0xff] ^ table[after][word >> 24];
}

uint32_t vl_crc32_portable(uint32_t crc, const void *data, size_t length)
{
	const uint8_t *at = data;

	crc = ~crc;
	for (; length >= 16; length -= 16, at += 16) {
		uint32_t words[4];

		memcpy(words, at, sizeof(words));
		crc = four_bytes(crc ^ le32toh(words[0]), 12) ^ four_bytes(le32toh(words[1]), 8) ^
		      four_bytes(le32toh(words[2]), 4) ^ four_bytes(le32toh(words[3]), 0);
	}
	for (; length; length--)
		crc = crc >> 8 ^ table[0][(crc ^ *at++) & 0xff];
	return ~crc;
}

uint32_t vl_crc32_folded(uint32_t crc, const void *data, size_t length)
{
	static const struct vl_crc_fold constants = {
		.over_512 = {0x653d982200000000, 0xcad38e8f00000000},
		.over_128 = {0x65673b4600000000, 0x9ba54c6f00000000},
	};
	uint8_t rest[16];
	size_t folded = vl_crc_fold(&constants, ~crc, data, length, rest);

	if (folded)
		crc = vl_crc32_portable(~UINT32_C(0), rest, sizeof(rest));
	return vl_crc32_portable(crc, (const uint8_t *)data + folded, length - folded);
}

#ifdef VERBLINE_ISAL
/* The library leaves the upper halves of the vector registers in use, after which every SSE
 * instruction of ours would wait for them: over a hundred nanoseconds a packet. */
static inline void leave_wide_registers(void)
{
#ifdef __x86_64__
	if (vl_cpu_has(VL_CPU_WIDE_REGISTERS))
		__asm__ volatile("vzeroupper"
				 :
				 :
				 : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",
				   "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
				   "xmm15", "memory");
#endif
}

uint32_t vl_crc32(uint32_t crc, const void *data, size_t length)
{
	crc = crc32_gzip_refl(crc, data, length);
	leave_wide_registers();
	return crc;
}

const char *vl_crc32_implementation(void)
{
	return "ISA-L";
}
#else
uint32_t vl_crc32(uint32_t crc, const void *data, size_t length)
{
	return vl_crc32_folded(crc, data, length);
}

const char *vl_crc32_implementation(void)
{
	return vl_cpu_has(VL_CPU_CARRY_LESS_MULTIPLY) ? "carry-less multiply" : "portable";
}
#endif
