/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Unreliable datagram, requester: one packet a message, each along its own address. IBTA 9.8.3. */

#include "transport/object/object.h"
#include "transport/outgoing.h"
#include "transport/pace.h"
#include "transport/psn.h"

/* A Q_Key with this bit is a privileged one: the QP's own is sent, IBTA 10.2.5. */
#define QKEY_IS_PRIVILEGED (UINT32_C(1) << 31)

void vl_ud_choose_priority(struct vl_qp *qp, const struct vl_send *next)
{
	const struct vl_send_queue *queue = &qp->requester.queue;

	if (vl_send_at(queue, queue->next) != next || qp->priority == next->ah->priority)
		return;
	vl_engine_forget(qp); /* its place in the lists is of the old priority */
	qp->priority = next->ah->priority;
}

static enum vl_send_result send_packet(struct vl_qp *qp, const struct vl_send *send,
				       struct vl_outgoing *outgoing, uint64_t now)
{
	struct vl_requester *requester = &qp->requester;
	struct vl_path path = send->ah->path;
	struct vl_outgoing_bth bth = {
		.opcode =
			VL_SERVICE_UD | (send->opcode == IBV_WR_SEND_WITH_IMM ? VL_OP_SEND_ONLY_IMM
									      : VL_OP_SEND_ONLY),
		.solicited = send->send_flags & IBV_SEND_SOLICITED,
		.psn = requester->send_psn,
		.destination_qpn = send->remote_qpn,
	};
	uint8_t *at;

	if (vl_gather(qp, send, &requester->cursor, 0, send->length, outgoing)) {
		vl_send_complete(qp, IBV_WC_LOC_PROT_ERR);
		vl_qp_fail_send_queue(qp);
		return VL_SEND_NOTHING;
	}
	if (qp->udp_source_port && (path.encapsulation == VL_ENCAPSULATION_ROCEV2_IPV4 ||
				    path.encapsulation == VL_ENCAPSULATION_ROCEV2_IPV6))
		vl_path_set_udp_source_port(&path, qp->udp_source_port);
	at = vl_outgoing_begin(qp, &path, &bth, send->length, outgoing);
	at += vl_deth_write(at, send->rkey & QKEY_IS_PRIVILEGED ? qp->qkey : send->rkey, qp->qpn);
	if (send->opcode == IBV_WR_SEND_WITH_IMM)
		vl_immdt_write(at, send->immediate);
	VL_COUNT(qp, data_frames_tx);
	VL_COUNT_ADD(qp, data_bytes_tx, send->length);
	requester->send_psn = vl_psn_add(requester->send_psn, 1);
	requester->unsent_psn = requester->unacked_psn = requester->send_psn;
	requester->cursor = (struct vl_sge_cursor){0};
	requester->queue.next++;
	vl_pace_charge(qp, outgoing->frame_length, now);
	return VL_SEND_PACKET;
}

enum vl_send_result vl_ud_send(struct vl_qp *qp, struct vl_outgoing *outgoing, uint64_t now)
{
	const struct vl_send_queue *queue = &qp->requester.queue;
	enum vl_send_result result;

	vl_send_complete_handed_out(qp);
	if (qp->state != IBV_QPS_RTS || queue->next == queue->tail)
		return VL_SEND_NOTHING;
	if (!vl_pace_allows(qp, now))
		return VL_SEND_LATER;
	result = send_packet(qp, vl_send_at(queue, queue->next), outgoing, now);
	if (result == VL_SEND_PACKET && queue->next != queue->tail)
		vl_ud_choose_priority(qp, vl_send_at(queue, queue->next));
	return result;
}
