/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What the device of fuzz_device.c receives, and what it sends. */

#include "tests/fuzz/device.h"
#include "transport/wire/icrc.h"
#include "transport/wire/opcode.h"
#include "transport/wire/parse.h"

#include <stdlib.h>
#include <string.h>

static uint32_t expected_psn(const struct vl_qp *qp, bool is_response)
{
	return is_response ? qp->requester.unacked_psn : qp->responder.expected_psn;
}

static void fill_extensions(struct fuzz *fuzz, struct vl_packet *packet)
{
	struct input *input = &fuzz->input;
	uint32_t flags = packet->info->flags;

	if (flags & (VL_OPCODE_RETH | VL_OPCODE_ATOMICETH)) {
		packet->remote_address = take_address(input);
		packet->rkey = take_key(input, fuzz);
	}
	if (flags & VL_OPCODE_RETH)
		packet->dma_length = take_length(input);
	if (flags & VL_OPCODE_ATOMICETH) {
		packet->swap_or_add = take32(input);
		packet->compare = take8(input) ? 0xa5a5a5a5a5a5a5a5 : take32(input);
	}
	if (flags & VL_OPCODE_AETH) {
		uint8_t syndrome = take8(input);

		packet->syndrome = syndrome >= 224 ? take8(input)
						   : (syndrome & 3) << 5 | (syndrome >> 2 & 0x1f);
		packet->msn = (uint32_t)take_distance(input) & 0xffffff;
	}
	if (flags & VL_OPCODE_ATOMICACKETH)
		packet->original = take32(input);
	if (flags & VL_OPCODE_IMMDT)
		packet->immediate = take32(input);
	if (flags & VL_OPCODE_IETH)
		packet->invalidate_rkey = take_key(input, fuzz);
	if (flags & VL_OPCODE_DETH) {
		packet->qkey = take8(input) < 200
				       ? fuzz->qps[QP_GSI]->qpn == packet->destination_qpn
						 ? GSI_QKEY
						 : QKEY
				       : take32(input);
		packet->source_qpn = take8(input);
	}
	if (flags & VL_OPCODE_FETH) {
		packet->placement = take8(input) & 15;
		packet->selectivity = take8(input) & 3;
	}
}

/* The payload is of exact size, so that a sanitizer sees the first byte read beyond. */
void receive_packet(struct fuzz *fuzz)
{
	static const uint8_t network[40]; /* IPv4 header, of which nothing but the bytes counts */
	static const uint8_t services[QPS] = {VL_SERVICE_RC, VL_SERVICE_RC, VL_SERVICE_UC,
					      VL_SERVICE_UD, VL_SERVICE_UD};
	struct input *input = &fuzz->input;
	unsigned int qp = take8(input) % QPS;
	uint8_t choice = take8(input), unusual = take8(input);
	uint8_t *payload;
	struct vl_packet packet = {
		.opcode = choice >= 250 ? take8(input) : (uint8_t)(services[qp] | (choice & 0x1f)),
		.network = network,
		.encapsulation = VL_ENCAPSULATION_ROCEV2_IPV4,
		.source_mac = {2, 0, 0, 0, 0, 2},
		.destination_mac = {2, 0, 0, 0, 0, 1},
		.grh_present = true,
		.source_gid = gid_of(unusual == 255 ? 3 : 2),
		.destination_gid = gid_of(unusual == 254 ? 9 : 1),
		.destination_qpn =
			unusual == 253 ? take32(input) & 0xffffff : vl_qp_number(fuzz->qps[qp]),
		.pkey = unusual == 252 ? 0x1234 : 0xffff,
		.traffic_class = unusual & 3,
		.becn = unusual & 4,
		.ack_request = unusual & 8,
		.solicited = unusual & 16,
		.transport_version = unusual == 251,
	};

	packet.info = &vl_opcode_table[packet.opcode];
	if (!packet.info->flags)
		return;
	packet.psn = (expected_psn(fuzz->qps[qp], packet.info->flags & VL_OPCODE_RESPONSE) +
		      (uint32_t)take_distance(input)) &
		     0xffffff;
	fill_extensions(fuzz, &packet);
	if (packet.info->flags & VL_OPCODE_PAYLOAD) {
		choice = take8(input);
		packet.payload_length = choice >= 192   ? 256
					: choice >= 180 ? (uint32_t)take8(input) << 4 | take8(input)
							: choice;
	}
	packet.pad_count = -packet.payload_length & 3;
	payload = malloc(packet.payload_length + 1);
	require(payload != NULL);
	memset(payload, take8(input), packet.payload_length);
	packet.payload = payload;
	vl_receive(fuzz->device, &packet, fuzz->now);
	free(payload);
}

void receive_bytes(struct fuzz *fuzz)
{
	size_t length = (size_t)take8(&fuzz->input) * 2;
	uint8_t *frame = malloc(length + 1);

	require(frame != NULL);
	for (size_t i = 0; i < length; i++)
		frame[i] = take8(&fuzz->input);
	vl_receive_frame(fuzz->device, VL_LINK_ETHERNET, frame, (uint32_t)length, fuzz->now);
	free(frame);
}

/* What is sent is whole, right, and of memory that may be read. */
static void check_frame(struct fuzz *fuzz, const struct vl_outgoing *outgoing)
{
	uint8_t *frame = malloc(outgoing->frame_length);
	struct vl_packet packet;

	require(frame &&
		vl_serialize(outgoing, frame, outgoing->frame_length) == outgoing->frame_length);
	require(vl_parse(&packet, VL_LINK_ETHERNET, frame, outgoing->frame_length,
			 outgoing->frame_length) == VL_PARSE_ok);
	require(vl_icrc_is_right(&packet));
	require(packet.payload_length == outgoing->payload_length);
	require(packet.payload_length <= 4096);
	for (uint32_t i = 0; i < outgoing->span_count; i++) {
		const struct vl_span *span = &outgoing->spans[i];
		uint64_t at = (uint64_t)(span->data - fuzz->arena);
		bool is_inside = span->data >= fuzz->arena && at < ARENA;

		/* Else it is inline. */
		if (is_inside)
			require(at / REGION % 2 && at / REGION == (at + span->length - 1) / REGION);
	}
	free(frame);
}

void transmit(struct fuzz *fuzz)
{
	uint8_t headers[VL_MAX_HEADER_LENGTH];
	struct vl_outgoing outgoing = {.headers = headers};
	unsigned int most = 1 + take8(&fuzz->input) % 64;

	while (most && vl_transmit(fuzz->device, fuzz->now, &outgoing)) {
		check_frame(fuzz, &outgoing);
		most--;
	}
	/* With nothing to send now there is nothing to be called for now. */
	if (most)
		require(vl_next_deadline(fuzz->device) > fuzz->now);
}
