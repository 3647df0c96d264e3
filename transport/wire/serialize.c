/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "transport/verbline.h"
#include "transport/wire/headers.h"
#include "transport/wire/icrc.h"
#include "transport/wire/vcrc.h"

#include <string.h>

static uint8_t *copy_payload(uint8_t *at, const struct vl_outgoing *outgoing)
{
	for (uint32_t i = 0; i < outgoing->span_count; i++) {
		memcpy(at, outgoing->spans[i].data, outgoing->spans[i].length);
		at += outgoing->spans[i].length;
	}
	memset(at, 0, outgoing->pad_count);
	return at + outgoing->pad_count;
}

/* Bytes under the ICRC, up to which a packet is put together twice. */
#define SHORT_PACKET 256u

/*
 * A short packet is put together in memory that is at hand, and copied out: the frame may lie in
 * lines that another core had last, and reading back what was just written there would wait for
 * them. Returns where the ICRC goes.
 */
static uint8_t *write_short(const struct vl_outgoing *outgoing, uint8_t *frame, uint32_t *icrc)
{
	uint32_t masked_length = outgoing->header_length - outgoing->network_offset;
	uint8_t packet[SHORT_PACKET];
	uint8_t *payload = packet + masked_length;
	uint32_t length;

	memcpy(packet, outgoing->headers + outgoing->network_offset, masked_length);
	*icrc = vl_icrc_mask(outgoing->encapsulation, packet);
	length = (uint32_t)(copy_payload(payload, outgoing) - payload);
	*icrc = vl_crc32(*icrc, packet, masked_length + length);
	if (frame != outgoing->headers)
		memcpy(frame, outgoing->headers, outgoing->header_length);
	memcpy(frame + outgoing->header_length, payload, length);
	return frame + outgoing->header_length + length;
}

/*
 * The copy is made whole, then read once while it is in the first-level cache. Its mutable
 * fields are masked for that time, so that one call of the CRC covers headers and payload.
 */
static uint8_t *write_long(const struct vl_outgoing *outgoing, uint8_t *frame, uint32_t *icrc)
{
	uint32_t header_length = outgoing->header_length;
	uint32_t masked_length = header_length - outgoing->network_offset;
	uint8_t *network = frame + outgoing->network_offset;
	const uint8_t *unmasked = outgoing->headers + outgoing->network_offset;
	uint8_t kept[VL_MAX_HEADER_LENGTH];
	uint8_t *at = frame + header_length;

	if (frame == outgoing->headers) {
		memcpy(kept, unmasked, masked_length);
		unmasked = kept;
	} else {
		memcpy(frame, outgoing->headers, header_length);
	}
	*icrc = vl_icrc_mask(outgoing->encapsulation, network);
	at = copy_payload(at, outgoing);
	*icrc = vl_crc32(*icrc, network, (size_t)(at - network));
	memcpy(network, unmasked, masked_length);
	return at;
}

uint32_t vl_serialize(const struct vl_outgoing *outgoing, uint8_t *frame, uint32_t capacity)
{
	uint32_t covered = outgoing->header_length - outgoing->network_offset +
			   outgoing->payload_length + outgoing->pad_count;
	uint32_t icrc;
	uint8_t *at;

	if (capacity < outgoing->frame_length)
		return 0;
	if (covered <= SHORT_PACKET)
		at = write_short(outgoing, frame, &icrc);
	else
		at = write_long(outgoing, frame, &icrc);
	icrc = htole32(icrc);
	memcpy(at, &icrc, sizeof(icrc));
	at += sizeof(icrc);
	if (vl_is_infiniband(outgoing->encapsulation)) {
		uint16_t vcrc = htole16(vl_vcrc(frame, (size_t)(at - frame)));

		memcpy(at, &vcrc, sizeof(vcrc));
		at += sizeof(vcrc);
	}
	return (uint32_t)(at - frame);
}
