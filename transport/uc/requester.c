/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Unreliable connection, requester: packets go out in order and nothing comes back. IBTA 9.8.1. */

#include "transport/object/object.h"
#include "transport/outgoing.h"
#include "transport/pace.h"
#include "transport/psn.h"

static uint8_t opcode_of(const struct vl_send *send, bool first, bool last)
{
	bool is_write =
		send->opcode == IBV_WR_RDMA_WRITE || send->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
	bool has_immediate =
		send->opcode == IBV_WR_SEND_WITH_IMM || send->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;

	if (first && last)
		return (is_write ? VL_OP_WRITE_ONLY : VL_OP_SEND_ONLY) + has_immediate;
	if (first)
		return is_write ? VL_OP_WRITE_FIRST : VL_OP_SEND_FIRST;
	if (last)
		return (is_write ? VL_OP_WRITE_LAST : VL_OP_SEND_LAST) + has_immediate;
	return is_write ? VL_OP_WRITE_MIDDLE : VL_OP_SEND_MIDDLE;
}

static void packet_was_sent(struct vl_qp *qp, const struct vl_outgoing *outgoing, bool last,
			    uint64_t now)
{
	struct vl_requester *requester = &qp->requester;

	VL_COUNT(qp, data_frames_tx);
	VL_COUNT_ADD(qp, data_bytes_tx, outgoing->payload_length);
	requester->send_psn = vl_psn_add(requester->send_psn, 1);
	requester->unsent_psn = requester->unacked_psn = requester->send_psn;
	if (last) {
		requester->queue.next++;
		requester->cursor = (struct vl_sge_cursor){0};
	}
	vl_pace_charge(qp, outgoing->frame_length, now);
}

static enum vl_send_result send_packet(struct vl_qp *qp, const struct vl_send *send,
				       struct vl_outgoing *outgoing, uint64_t now)
{
	struct vl_requester *requester = &qp->requester;
	struct vl_outgoing_bth bth = {.psn = requester->send_psn,
				      .destination_qpn = qp->remote_qpn};
	uint32_t offset = ((requester->send_psn - send->first_psn) & VL_PSN_MASK)
			  << qp->path_mtu_shift;
	uint32_t payload = send->length - offset, flags;
	bool first = !offset, last = payload <= qp->path_mtu;
	uint8_t *at;

	if (!last)
		payload = qp->path_mtu;
	if (vl_gather(qp, send, &requester->cursor, offset, payload, outgoing)) {
		vl_send_complete(qp, IBV_WC_LOC_PROT_ERR);
		vl_qp_fail_send_queue(qp);
		return VL_SEND_NOTHING;
	}
	bth.opcode = VL_SERVICE_UC | opcode_of(send, first, last);
	flags = vl_opcode_table[bth.opcode].flags;
	bth.solicited = flags & VL_OPCODE_RECEIVE && send->send_flags & IBV_SEND_SOLICITED;
	at = vl_outgoing_begin(qp, &qp->path, &bth, payload, outgoing);
	if (flags & VL_OPCODE_RETH)
		at += vl_reth_write(at, send->remote_address, send->rkey, send->length);
	if (flags & VL_OPCODE_IMMDT)
		vl_immdt_write(at, send->immediate);
	packet_was_sent(qp, outgoing, last, now);
	return VL_SEND_PACKET;
}

enum vl_send_result vl_uc_send(struct vl_qp *qp, struct vl_outgoing *outgoing, uint64_t now)
{
	const struct vl_requester *requester = &qp->requester;
	const struct vl_send_queue *queue = &requester->queue;
	const struct vl_send *send;

	vl_send_complete_handed_out(qp);
	if ((qp->state != IBV_QPS_RTS && qp->state != IBV_QPS_SQD) || queue->next == queue->tail)
		return VL_SEND_NOTHING;
	send = vl_send_at(queue, queue->next);
	/* SQD: a message that has begun is finished, no other begins. */
	if (qp->state == IBV_QPS_SQD && requester->send_psn == send->first_psn)
		return VL_SEND_NOTHING;
	if (!vl_pace_allows(qp, now))
		return VL_SEND_LATER;
	return send_packet(qp, send, outgoing, now);
}
