/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * The packet parser with arbitrary bytes: what it says is there must lie inside the frame, and what
 * is done with a parsed packet (ICRC, marking) must hold too. Byte 0 of the input chooses the link
 * type, byte 1 how much longer than the input the packet was on the wire; the frame follows.
 */
#include "transport/wire/headers.h"
#include "transport/wire/icrc.h"
#include "transport/wire/opcode.h"
#include "transport/wire/parse.h"
#include "transport/wire/path.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

/* Whether length bytes from at on lie inside the frame. */
static bool is_inside(const struct vl_packet *packet, uint32_t frame_length, const uint8_t *at,
		      uint32_t length)
{
	uintptr_t begin = (uintptr_t)packet->frame, where = (uintptr_t)at;

	return where >= begin && where - begin <= frame_length &&
	       frame_length - (where - begin) >= length;
}

static void check_packet(const struct vl_packet *packet, enum vl_parse_result result,
			 uint32_t length)
{
	if (packet->network)
		require(is_inside(packet, length, packet->network, 8));
	if (packet->vcrc)
		require(is_inside(packet, length, packet->vcrc, VL_VCRC_LENGTH));
	if (!packet->bth) {
		require(!packet->icrc && !packet->info && result != VL_PARSE_ok);
		return;
	}
	require(packet->network && packet->info == &vl_opcode_table[packet->opcode]);
	require(is_inside(packet, length, packet->bth, sizeof(struct vl_bth)));
	require(is_inside(packet, length, packet->payload, 0));
	require(result != VL_PARSE_captured_short || !packet->icrc);
	if (!packet->icrc)
		return;
	require(is_inside(packet, length, packet->icrc, VL_ICRC_LENGTH));
	require(packet->bth + packet->transport_length == packet->icrc + VL_ICRC_LENGTH);
	if (result == VL_PARSE_ok)
		require(packet->payload + packet->payload_length + packet->pad_count ==
			packet->icrc);
	else
		require(packet->payload <= packet->icrc);
}

/* Marking changes neither what the packet is nor whether its ICRC is right. */
static void check_mark(const uint8_t *frame, uint32_t length)
{
	uint8_t *copy = malloc(length ? length : 1);
	struct vl_packet before, after;
	enum vl_parse_result result;

	if (!copy)
		return;
	memcpy(copy, frame, length);
	result = vl_parse(&before, VL_LINK_ETHERNET, frame, length, length);
	if (vl_frame_mark_ce(copy, length) && result == VL_PARSE_ok) {
		require(vl_parse(&after, VL_LINK_ETHERNET, copy, length, length) == result);
		require(vl_packet_ecn(&after) == VL_ECN_CE);
		require(vl_icrc_is_right(&before) == vl_icrc_is_right(&after));
	}
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct vl_packet packet;
	enum vl_parse_result result;
	uint32_t length;

	if (size < 2)
		return 0;
	length = (uint32_t)size - 2;
	result = vl_parse(&packet, (enum vl_link_type)(data[0] % 3), data + 2, length,
			  length + data[1]);
	require((unsigned int)result < VL_PARSE_RESULT_COUNT);
	check_packet(&packet, result, length);
	if (packet.icrc)
		(void)vl_icrc_is_right(&packet);
	check_mark(data + 2, length);
	return 0;
}
