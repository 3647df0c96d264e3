/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Memory that queue pairs send from and that never changes: a pattern that repeats. Frames come
 * from buffers that hold the pattern already, and the ICRC is joined of the headers' CRC and one
 * made at set-up (CRCs are linear), so the payload is neither read nor written. The transport knows
 * nothing of this: it hands out spans of memory, and here they are looked at.
 */
#ifndef VERBLINE_DATAPLANE_CONSTANT_PAYLOAD_H
#define VERBLINE_DATAPLANE_CONSTANT_PAYLOAD_H

#include "dataplane/frame.h"
#include "transport/verbline.h"

#include <stdbool.h>
#include <stdint.h>

#define VL_CONSTANT_MOST     4096u /* bytes of payload: the largest path MTU */
#define VL_CONSTANT_HEADROOM 128u  /* bytes of a buffer before the payload */
/* And behind it: the end of a frame is mended in pieces of so many. */
#define VL_CONSTANT_TAILROOM 16u
#define VL_CONSTANT_CLEAN    UINT32_MAX

struct vl_constant_payload {
	const uint8_t *memory;
	uint64_t length;
	uint64_t phase_mask;
	/* Of the first n bytes and their pad; to be joined over so many words. */
	uint32_t crcs[VL_CONSTANT_MOST + 1];
	uint32_t multipliers[VL_CONSTANT_MOST / 4 + 1];
	/* What each buffer holds from VL_CONSTANT_HEADROOM on. */
	uint8_t bytes[VL_CONSTANT_MOST + VL_CONSTANT_TAILROOM];
};

/* The owner keeps the memory, and nobody writes to it, for as long as this is used. period: a power
 * of two, 1 to 4096. -EINVAL: the period is not, or the memory does not repeat with it. */
int vl_constant_payload_init(struct vl_constant_payload *constant, const void *memory,
			     uint64_t length, uint32_t period);

/* Whether the packet's payload is what the buffers hold: one span of the memory from the beginning
 * of a period on, over Ethernet. */
static inline bool vl_constant_payload_fits(const struct vl_constant_payload *constant,
					    const struct vl_outgoing *outgoing)
{
	uint64_t offset = (uint64_t)(outgoing->spans[0].data - constant->memory);

	return outgoing->span_count == 1 && offset < constant->length &&
	       outgoing->spans[0].length <= constant->length - offset &&
	       !(offset & constant->phase_mask) && outgoing->spans[0].length <= VL_CONSTANT_MOST &&
	       outgoing->encapsulation <= VL_ENCAPSULATION_ROCEV1;
}

/* Makes the frame of a packet that fits. frame->data is a buffer of VL_CONSTANT_HEADROOM bytes, the
 * pattern and VL_CONSTANT_TAILROOM, and is moved to where the frame begins; frame->tail is
 * VL_CONSTANT_CLEAN for a new buffer, and stays with it. */
void vl_constant_payload_build(const struct vl_constant_payload *constant,
			       const struct vl_outgoing *outgoing, struct vl_frame *frame);

#endif
