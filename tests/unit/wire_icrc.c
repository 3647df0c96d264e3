/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "tests/support/suite.h"
#include "tests/unit/wire_vectors.h"
#include "transport/wire/headers.h"
#include "transport/wire/icrc.h"
#include "transport/wire/vcrc.h"

#include <stdlib.h>
#include <string.h>

static void test_vectors(void)
{
	struct vectors vectors = vectors_load();

	for (unsigned int i = 0; i < vectors.count; i++) {
		const struct vector *vector = &vectors.list[i];
		struct vl_packet packet;
		uint32_t wire;

		vector_parse(vector, vector->frame, &packet);
		wire = vector->icrc[0] | vector->icrc[1] << 8 | vector->icrc[2] << 16 |
		       (uint32_t)vector->icrc[3] << 24;
		CU_ASSERT_EQUAL(vl_icrc_found(&packet), wire);
		CU_ASSERT_EQUAL(vl_icrc_compute(&packet), wire);
		CU_ASSERT(vl_icrc_is_right(&packet));
	}
	vectors_release(&vectors);
}

/* IBTA 7.8.1, A16.4.4, A17.3.3: what the CRC does not see. Returns the mask of the bits of
 * frame[offset] that may change. */
static uint8_t uncovered_bits(const struct vl_packet *packet, uint32_t offset)
{
	const uint8_t *at = packet->frame + offset;
	uint32_t in_network = (uint32_t)(at - packet->network);

	if (at < packet->network || at >= packet->icrc + 4)
		return 0xff;
	if (at == packet->bth + 4)
		return 0xff;
	switch (packet->encapsulation) {
	case VL_ENCAPSULATION_ROCEV2_IPV4:
		if (in_network == 1 || in_network == 8 || in_network == 10 || in_network == 11)
			return 0xff;
		break;
	case VL_ENCAPSULATION_IB_LOCAL:
		return in_network == 0 ? 0xf0 : 0;
	default:
		if (in_network == 0)
			return 0x0f;
		if (in_network < 4 || in_network == 7)
			return 0xff;
		break;
	}
	/* The UDP checksum: the two bytes before the BTH. */
	if (packet->encapsulation <= VL_ENCAPSULATION_ROCEV2_IPV6 &&
	    (at == packet->bth - 1 || at == packet->bth - 2))
		return 0xff;
	return 0;
}

/* Changes one bit of the frame, but lets the parsed packet stand: the ICRC alone must tell. */
static void check_bit(const struct vl_packet *packet, uint8_t *frame, uint32_t offset, uint8_t bit)
{
	bool covered = !(uncovered_bits(packet, offset) & bit);

	/* The header length of IPv4 says where the BTH is; the parser looks after it. */
	if (packet->encapsulation == VL_ENCAPSULATION_ROCEV2_IPV4 &&
	    frame + offset == packet->network && bit < 0x10)
		return;
	frame[offset] ^= bit;
	CU_ASSERT_EQUAL(vl_icrc_is_right(packet), !covered);
	frame[offset] ^= bit;
}

static void test_every_bit(void)
{
	struct vectors vectors = vectors_load();

	for (unsigned int i = 0; i < vectors.count; i++) {
		uint8_t *frame = vector_copy(&vectors.list[i]);
		struct vl_packet packet;

		vector_parse(&vectors.list[i], frame, &packet);
		for (uint32_t offset = 0; offset < vectors.list[i].length; offset++) {
			for (uint8_t bit = 1; bit; bit = (uint8_t)(bit << 1))
				check_bit(&packet, frame, offset, bit);
		}
		free(frame);
	}
	vectors_release(&vectors);
}

/* What an implementation that reads the rule wrongly would send must not pass. */
static void test_wrong_kinds(void)
{
	struct vectors vectors = vectors_load();

	for (unsigned int i = 0; i < vectors.count; i++) {
		uint8_t *frame = vector_copy(&vectors.list[i]);
		struct vl_packet packet;
		uint8_t *icrc;
		uint32_t right, wrong[4];

		vector_parse(&vectors.list[i], frame, &packet);
		icrc = frame + (packet.icrc - frame);
		right = vl_icrc_compute(&packet);
		/* No dummy LRH, nothing masked; only the transport; the order of bytes; no
		 * final complement. */
		wrong[0] = vl_crc32(0, packet.network, (size_t)(icrc - packet.network));
		wrong[1] = vl_crc32(0, packet.bth, (size_t)(icrc - packet.bth));
		wrong[2] = __builtin_bswap32(right);
		wrong[3] = ~right;
		for (unsigned int k = 0; k < 4; k++) {
			memcpy(icrc, &wrong[k], 4);
			CU_ASSERT_FALSE(vl_icrc_is_right(&packet));
		}
		free(frame);
	}
	vectors_release(&vectors);
}

/* The CRC over the masked packet and its ICRC is a constant, as a receiver that reads all in
 * one pass relies on. */
static void test_residue(void)
{
	struct vectors vectors = vectors_load();

	for (unsigned int i = 0; i < vectors.count; i++) {
		struct vl_packet packet;
		uint32_t crc;

		vector_parse(&vectors.list[i], vectors.list[i].frame, &packet);
		crc = vl_crc32(vl_icrc_compute(&packet), packet.icrc, 4);
		CU_ASSERT_EQUAL(~crc, 0xdebb20e3);
	}
	vectors_release(&vectors);
}

/* The generator's way: headers alone, joined with the CRC of a payload that does not change. */
static void test_headers_and_payload_apart(void)
{
	struct vectors vectors = vectors_load();

	for (unsigned int i = 0; i < vectors.count; i++) {
		struct vl_packet packet;
		size_t rest;
		uint32_t headers, payload;

		vector_parse(&vectors.list[i], vectors.list[i].frame, &packet);
		rest = (size_t)(packet.icrc - packet.payload);
		headers = vl_icrc_headers(packet.encapsulation, packet.network,
					  (uint32_t)(packet.payload - packet.network));
		payload = vl_crc32(0, packet.payload, rest);
		CU_ASSERT_EQUAL(vl_icrc_found(&packet), vl_crc32(headers, packet.payload, rest));
		CU_ASSERT_EQUAL(vl_icrc_found(&packet),
				vl_crc32_combine(headers, payload, vl_crc32_shift(rest)));
	}
	vectors_release(&vectors);
}

/* A VLAN tag is not covered. */
static void test_vlan_twin(void)
{
	struct vectors vectors = vectors_load();
	const struct vector *untagged = vectors_find(&vectors, "d_rc_send_only_1B");
	const struct vector *twin = vectors_find(&vectors, "d_rc_send_only_vlan_pcp3");
	struct vl_packet packet;

	CU_ASSERT_EQUAL(vector_parse(twin, twin->frame, &packet), VL_PARSE_ok);
	CU_ASSERT_EQUAL(packet.priority, 3);
	CU_ASSERT_EQUAL(memcmp(untagged->icrc, packet.icrc, 4), 0);
	vectors_release(&vectors);
}

/* IPv4 options are covered, and shift what is masked behind them. */
static void test_ipv4_options(void)
{
	struct vectors vectors = vectors_load();
	const struct vector *vector = vectors_find(&vectors, "d_rc_write_only_imm");
	uint32_t length = vector->length + 8, icrc;
	uint8_t *frame = malloc(length), *pseudo = malloc(length);
	struct vl_packet packet;
	uint32_t sum = 0;

	memcpy(frame, vector->frame, 34);
	memset(frame + 34, 1, 8);
	memcpy(frame + 42, vector->frame + 34, vector->length - 34);
	frame[14] = 0x47;
	vl_store_be16(frame + 16, (uint16_t)(length - 14));
	vl_store_be16(frame + 24, 0);
	for (unsigned int i = 14; i < 42; i += 2)
		sum += vl_load_be16(frame + i);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	vl_store_be16(frame + 24, (uint16_t)~sum);
	CU_ASSERT_EQUAL_FATAL(vl_parse(&packet, VL_LINK_ETHERNET, frame, length, length),
			      VL_PARSE_ok);
	/* The pseudo packet, byte by byte. */
	memset(pseudo, 0xff, 8);
	memcpy(pseudo + 8, frame + 14, length - 14 - 4);
	pseudo[8 + 1] = pseudo[8 + 8] = pseudo[8 + 10] = pseudo[8 + 11] = 0xff;
	pseudo[8 + 28 + 6] = pseudo[8 + 28 + 7] = 0xff;
	pseudo[8 + 36 + 4] = 0xff;
	icrc = vl_crc32_portable(0, pseudo, 8 + length - 14 - 4);
	CU_ASSERT_EQUAL(vl_icrc_compute(&packet), icrc);
	free(frame);
	free(pseudo);
	vectors_release(&vectors);
}

/* IBTA 7.8.2: over LRH to ICRC, low byte first. */
static void test_vcrc(void)
{
	static const char *const names[] = {"iba_local_rc_write_only", "iba_global_rc_write_only"};
	static const uint8_t expected[2][2] = {{0x45, 0xfa}, {0x7c, 0x44}};
	struct vectors vectors = vectors_load();

	for (unsigned int i = 0; i < 2; i++) {
		const struct vector *vector = vectors_find(&vectors, names[i]);
		uint16_t crc = vl_vcrc(vector->frame, vector->length - 2);
		struct vl_packet packet;

		vector_parse(vector, vector->frame, &packet);
		CU_ASSERT_EQUAL(memcmp(packet.vcrc, expected[i], 2), 0);
		CU_ASSERT_EQUAL(crc & 0xff, expected[i][0]);
		CU_ASSERT_EQUAL(crc >> 8, expected[i][1]);
	}
	vectors_release(&vectors);
}

static const struct test tests[] = {
	{"vectors", test_vectors},
	{"every_bit", test_every_bit},
	{"wrong_kinds", test_wrong_kinds},
	{"residue", test_residue},
	{"headers_and_payload_apart", test_headers_and_payload_apart},
	{"vlan_twin", test_vlan_twin},
	{"ipv4_options", test_ipv4_options},
	{"vcrc", test_vcrc},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("wire_icrc", tests, argc, argv);
}
