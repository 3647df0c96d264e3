/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/constant_payload.h"

#include "transport/wire/headers.h"
#include "transport/wire/icrc.h"

#include <errno.h>
#include <string.h>

/* Pad and ICRC. */
#define TAIL_LENGTH 8u

int vl_constant_payload_init(struct vl_constant_payload *constant, const void *memory,
			     uint64_t length, uint32_t period)
{
	static const uint8_t zeros[4];
	const uint8_t *bytes = memory;
	uint32_t crc = 0;

	if (!period || period > VL_CONSTANT_MOST || period & (period - 1) || length < period)
		return -EINVAL;
	if (memcmp(bytes, bytes + period, length - period))
		return -EINVAL;
	constant->memory = bytes;
	constant->length = length;
	constant->phase_mask = period - 1;
	for (uint32_t i = 0; i < sizeof(constant->bytes); i++)
		constant->bytes[i] = bytes[i & (period - 1)];
	for (uint32_t i = 0; i <= VL_CONSTANT_MOST; i++) {
		constant->crcs[i] = vl_crc32(crc, zeros, vl_pad_count(i));
		crc = vl_crc32(crc, constant->bytes + i, 1);
	}
	for (uint32_t i = 0; i <= VL_CONSTANT_MOST / 4; i++)
		constant->multipliers[i] = vl_crc32_shift(4 * (uint64_t)i).multiplier;
	return 0;
}

/* Puts the pattern back where the buffer's last frame ended, if this one ends elsewhere. */
static inline void mend_tail(const struct vl_constant_payload *constant, uint8_t *payload,
			     struct vl_frame *frame, uint32_t tail)
{
	if (frame->tail != tail && frame->tail != VL_CONSTANT_CLEAN)
		memcpy(payload + frame->tail, constant->bytes + frame->tail, TAIL_LENGTH);
	frame->tail = tail;
}

void vl_constant_payload_build(const struct vl_constant_payload *constant,
			       const struct vl_outgoing *outgoing, struct vl_frame *frame)
{
	uint8_t *payload = frame->data + VL_CONSTANT_HEADROOM;
	uint32_t length = outgoing->payload_length, icrc;
	uint32_t words = (length + outgoing->pad_count) / 4;
	struct vl_crc32_shift shift = {constant->multipliers[words]};

	frame->data = payload - outgoing->header_length;
	frame->length = outgoing->frame_length;
	memcpy(frame->data, outgoing->headers, outgoing->header_length);
	mend_tail(constant, payload, frame, length);
	icrc = vl_icrc_headers(outgoing->encapsulation,
			       outgoing->headers + outgoing->network_offset,
			       outgoing->header_length - outgoing->network_offset);
	icrc = htole32(vl_crc32_combine(icrc, constant->crcs[length], shift));
	memset(payload + length, 0, outgoing->pad_count);
	memcpy(payload + length + outgoing->pad_count, &icrc, sizeof(icrc));
}
