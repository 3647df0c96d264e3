/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Reliable connection, responder resources: READs, ATOMICs, FLUSHes and ATOMIC WRITEs that were
 * executed and are answered in order, and answered again for duplicates (IBTA 9.7.5.1.4). The
 * newest max_dest_rd_atomic of them are kept.
 */

#include "transport/outgoing.h"
#include "transport/pace.h"
#include "transport/rc/rc.h"

struct vl_responder_resource *vl_rc_resource_add(struct vl_qp *qp, const struct vl_packet *packet)
{
	struct vl_responder *responder = &qp->responder;
	struct vl_responder_resource *resource;
	uint16_t kept = (uint16_t)(responder->resource_tail - responder->resource_head);

	if (kept >= responder->resource_count) {
		responder->resource_head++;
		if ((int16_t)(responder->resource_next - responder->resource_head) < 0)
			responder->resource_next = responder->resource_head;
	}
	resource = vl_rc_resource_at(qp, responder->resource_tail);
	*resource = (struct vl_responder_resource){
		.address = packet->remote_address,
		.rkey = packet->rkey,
		.length = packet->dma_length,
		.first_psn = packet->psn,
		.send_psn = packet->psn,
		.packet_count = 1,
		.operation = (uint8_t)vl_opcode_operation(packet->opcode),
		.is_pending = true,
	};
	if (resource->operation == VL_OP_READ_REQUEST && packet->dma_length)
		resource->packet_count =
			(packet->dma_length + qp->path_mtu - 1) >> qp->path_mtu_shift;
	responder->resource_tail++;
	return resource;
}

static bool repeats(const struct vl_qp *qp, const struct vl_responder_resource *resource,
		    const struct vl_packet *packet)
{
	uint32_t offset;

	if (resource->operation != (uint8_t)vl_opcode_operation(packet->opcode))
		return false;
	if (resource->operation != VL_OP_READ_REQUEST)
		return resource->first_psn == packet->psn;
	/* A READ may be repeated from any of its packets on, and must end where it ended. */
	offset = ((packet->psn - resource->first_psn) & VL_PSN_MASK);
	if (offset >= resource->packet_count)
		return false;
	offset <<= qp->path_mtu_shift;
	return packet->rkey == resource->rkey &&
	       packet->remote_address == resource->address + offset &&
	       packet->dma_length == resource->length - offset;
}

bool vl_rc_resource_repeat(struct vl_qp *qp, const struct vl_packet *packet)
{
	struct vl_responder *responder = &qp->responder;

	if (!responder->resource_count)
		return false;
	for (uint16_t index = responder->resource_tail; index != responder->resource_head;) {
		struct vl_responder_resource *resource = vl_rc_resource_at(qp, --index);

		if (!repeats(qp, resource, packet))
			continue;
		if (resource->operation == VL_OP_READ_REQUEST) {
			uint32_t skipped = (packet->psn - resource->first_psn) & VL_PSN_MASK;

			/* The requester has what came before: it will not be asked for again. */
			resource->address = packet->remote_address;
			resource->length = packet->dma_length;
			resource->first_psn = packet->psn;
			resource->packet_count -= skipped;
		}
		resource->send_psn = resource->first_psn;
		resource->is_pending = true;
		resource->is_repeat = true;
		if ((int16_t)(index - responder->resource_next) < 0)
			responder->resource_next = index;
		vl_engine_ready(qp);
		return true;
	}
	return false;
}

bool vl_rc_has_response(struct vl_qp *qp)
{
	struct vl_responder *responder = &qp->responder;

	while (responder->resource_next != responder->resource_tail) {
		if (vl_rc_resource_at(qp, responder->resource_next)->is_pending)
			return true;
		responder->resource_next++;
	}
	return false;
}

static enum vl_operation read_operation(const struct vl_responder_resource *resource, bool last)
{
	if (resource->send_psn == resource->first_psn)
		return last ? VL_OP_READ_RESPONSE_ONLY : VL_OP_READ_RESPONSE_FIRST;
	return last ? VL_OP_READ_RESPONSE_LAST : VL_OP_READ_RESPONSE_MIDDLE;
}

/* The response packets are sent; what had to wait for them may follow. */
static void resource_is_answered(struct vl_qp *qp, struct vl_responder_resource *resource)
{
	resource->is_pending = false;
	if (!vl_rc_has_response(qp) && (qp->responder.ack_pending || qp->responder.nak_pending))
		vl_engine_urgent(qp);
}

enum vl_send_result vl_rc_send_response(struct vl_qp *qp, struct vl_outgoing *outgoing,
					uint64_t now)
{
	struct vl_responder_resource *resource = vl_rc_resource_at(qp, qp->responder.resource_next);
	struct vl_outgoing_bth bth = {.psn = resource->send_psn, .destination_qpn = qp->remote_qpn};
	uint32_t payload = 0, flags;
	bool last = true;
	uint8_t *at;

	if (resource->operation == VL_OP_READ_REQUEST) {
		uint32_t offset = ((resource->send_psn - resource->first_psn) & VL_PSN_MASK)
				  << qp->path_mtu_shift;
		const uint8_t *data;

		payload = resource->length - offset;
		last = payload <= qp->path_mtu;
		if (!last)
			payload = qp->path_mtu;
		data = vl_mr_translate(qp, resource->rkey, resource->address + offset, payload,
				       IBV_ACCESS_REMOTE_READ);
		if (!data) {
			/* The region has gone since the request was accepted. */
			for (uint16_t i = qp->responder.resource_next;
			     i != qp->responder.resource_tail; i++)
				vl_rc_resource_at(qp, i)->is_pending = false;
			vl_rc_refuse(qp, resource->send_psn, VL_NAK_REMOTE_ACCESS,
				     IBV_EVENT_QP_ACCESS_ERR);
			return VL_SEND_NOTHING;
		}
		vl_outgoing_add_span(outgoing, data, payload);
		bth.opcode = (uint8_t)read_operation(resource, last);
	} else if (resource->operation == VL_OP_COMPARE_SWAP ||
		   resource->operation == VL_OP_FETCH_ADD) {
		bth.opcode = VL_OP_ATOMIC_ACKNOWLEDGE;
	} else {
		bth.opcode = VL_OP_READ_RESPONSE_ONLY;
	}
	flags = vl_opcode_table[bth.opcode].flags;
	at = vl_outgoing_begin(qp, &qp->path, &bth, payload, outgoing);
	if (flags & VL_OPCODE_AETH)
		at += vl_aeth_write(at, vl_rc_advertise_credits(qp), resource->msn);
	if (flags & VL_OPCODE_ATOMICACKETH)
		vl_atomic_ack_write(at, resource->original);
	VL_COUNT(qp, data_frames_tx);
	VL_COUNT_ADD(qp, data_bytes_tx, payload);
	if (resource->is_repeat) {
		outgoing->is_retransmission = true;
		VL_COUNT(qp, data_frames_retransmitted);
	}
	resource->send_psn = vl_psn_add(resource->send_psn, 1);
	if (last)
		resource_is_answered(qp, resource);
	vl_pace_charge(qp, outgoing->frame_length, now);
	return VL_SEND_PACKET;
}
