/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Starting a packet: link and network headers and the BTH, with everything that follows from the
 * opcode and the payload's length. */
#ifndef VERBLINE_OUTGOING_H
#define VERBLINE_OUTGOING_H

#include "transport/object/object.h"
#include "transport/wire/headers.h"
#include "transport/wire/opcode.h"

struct vl_outgoing_bth {
	uint8_t opcode;
	bool solicited;
	bool ack_request;
	bool becn;
	uint32_t psn;
	uint32_t destination_qpn;
};

/* Writes the headers up to the BTH and returns where the extension headers go. Their length is the
 * opcode's; spans are the caller's to fill, with payload_length bytes in all. */
static inline uint8_t *vl_outgoing_begin(struct vl_qp *qp, const struct vl_path *path,
					 const struct vl_outgoing_bth *bth, uint32_t payload_length,
					 struct vl_outgoing *outgoing)
{
	uint32_t extension = vl_opcode_table[bth->opcode].extension_length;
	uint8_t pad = vl_pad_count(payload_length);
	uint32_t transport_length = sizeof(struct vl_bth) + extension + payload_length + pad;
	uint32_t bth_offset = vl_path_write(path, outgoing->headers, transport_length);
	enum vl_encapsulation encapsulation = (enum vl_encapsulation)path->encapsulation;

	vl_bth_write(outgoing->headers + bth_offset, bth->opcode, bth->solicited,
		     !qp->device->config.mig_req_clear, pad, qp->pkey, bth->destination_qpn,
		     bth->ack_request, bth->psn, bth->becn);
	outgoing->header_length = (uint16_t)(bth_offset + sizeof(struct vl_bth) + extension);
	outgoing->network_offset = path->network_offset;
	outgoing->encapsulation = encapsulation;
	outgoing->pad_count = pad;
	outgoing->payload_length = payload_length;
	outgoing->frame_length =
		bth_offset + transport_length + 4 + (vl_is_infiniband(encapsulation) ? 2 : 0);
	outgoing->opcode = bth->opcode;
	outgoing->priority = qp->priority;
	outgoing->is_retransmission = false;
	outgoing->qp = qp;
	return outgoing->headers + bth_offset + sizeof(struct vl_bth);
}

static inline void vl_outgoing_add_span(struct vl_outgoing *outgoing, const uint8_t *data,
					uint32_t length)
{
	if (!length)
		return;
	outgoing->spans[outgoing->span_count].data = data;
	outgoing->spans[outgoing->span_count++].length = length;
}

#endif
