/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Reliable connection, requester's receiving side: matches ACKs, NAKs and responses to the
 * requests that wait for them. IBTA 9.7.5, 9.7.6.
 */

#include "transport/credit.h"
#include "transport/rc/rc.h"
#include "transport/wire/headers.h"

#include <string.h>

/* Whether psn was sent and is not acknowledged yet. */
static bool is_outstanding(const struct vl_requester *requester, uint32_t psn)
{
	return ((psn - requester->unacked_psn) & VL_PSN_MASK) <
	       ((requester->unsent_psn - requester->unacked_psn) & VL_PSN_MASK);
}

static void made_progress(struct vl_qp *qp, uint64_t now)
{
	struct vl_requester *requester = &qp->requester;

	requester->retries_left = qp->retry_count;
	requester->rnr_retries_left = qp->rnr_retry;
	requester->has_rewound = false;
	requester->is_probing = false;
	vl_rc_restart_ack_timer(qp, now);
}

/* Everything before psn is acknowledged: moves the window, and the sending position if the
 * acknowledgement overtook it during a retransmission. */
static void move_unacked(struct vl_qp *qp, uint32_t psn)
{
	struct vl_requester *requester = &qp->requester;
	struct vl_send_queue *queue = &requester->queue;

	requester->unacked_psn = psn;
	if (vl_psn_distance(requester->send_psn, psn) >= 0)
		return;
	requester->send_psn = psn;
	requester->cursor = (struct vl_sge_cursor){0};
	while (queue->next != queue->tail) {
		const struct vl_send *send = vl_send_at(queue, queue->next);

		if (!send->packet_count ||
		    ((psn - send->first_psn) & VL_PSN_MASK) < send->packet_count)
			break;
		queue->next++;
	}
}

static void complete_oldest(struct vl_qp *qp)
{
	struct vl_requester *requester = &qp->requester;
	struct vl_send_queue *queue = &requester->queue;
	const struct vl_send *send = vl_send_at(queue, queue->head);

	if (send->is_read_or_atomic && queue->head != queue->next && requester->outstanding_reads)
		requester->outstanding_reads--;
	requester->sink = (struct vl_sge_cursor){0};
	if (queue->next == queue->head) {
		queue->next++;
		requester->cursor = (struct vl_sge_cursor){0};
	}
	vl_send_complete(qp, IBV_WC_SUCCESS);
}

/* A response is missing: the responder's later packets imply it (IBTA 9.7.5.2.5). One retry for
 * each loss, or the responses in flight would each ask for another. */
static void rewind_for_lost_response(struct vl_qp *qp)
{
	struct vl_requester *requester = &qp->requester;

	if (requester->has_rewound)
		return;
	VL_COUNT(qp, implied_nak_seq_err);
	if (!requester->retries_left) {
		vl_rc_fail_request(qp, IBV_WC_RETRY_EXC_ERR);
		return;
	}
	requester->retries_left--;
	requester->has_rewound = true;
	vl_rc_rewind(qp, requester->unacked_psn);
}

/*
 * The peer has everything before psn. Completes SENDs and WRITEs up to there. False: a READ or
 * ATOMIC in between has not been answered; the acknowledgement stops before it.
 */
static bool acknowledge_before(struct vl_qp *qp, uint32_t psn, uint64_t now)
{
	struct vl_requester *requester = &qp->requester;
	struct vl_send_queue *queue = &requester->queue;

	if (psn == requester->unacked_psn)
		return true;
	while (queue->head != queue->tail) {
		const struct vl_send *send = vl_send_at(queue, queue->head);
		uint32_t end = vl_psn_add(send->first_psn, send->packet_count);

		if (!send->packet_count)
			break;
		/* psn lies beyond unacked_psn, or the loop would have ended. */
		if (send->is_read_or_atomic)
			return false;
		if (vl_psn_distance(psn, end) < 0) {
			/* Its first packet was taken, so it has its receive request. */
			if (send->consumes_credit &&
			    vl_psn_distance(send->ssn, requester->limit_ssn) > 0)
				requester->limit_ssn = send->ssn;
			move_unacked(qp, psn);
			made_progress(qp, now);
			return true;
		}
		move_unacked(qp, end);
		complete_oldest(qp);
		made_progress(qp, now);
		if (psn == end)
			return true;
	}
	return true;
}

static void update_credits(struct vl_qp *qp, const struct vl_packet *packet)
{
	struct vl_requester *requester = &qp->requester;
	uint8_t code = VL_SYNDROME_VALUE(packet->syndrome);
	uint32_t limit;

	/* Once granted, unlimited credit stays; assumed, it lasts until the first grant. */
	if (requester->unlimited_credits && requester->has_credits)
		return;
	requester->has_credits = true;
	requester->unlimited_credits = false;
	if (code == VL_CREDIT_UNLIMITED) {
		requester->unlimited_credits = true;
	} else {
		limit = vl_psn_add(packet->msn, vl_credit_decode(code));
		if (vl_psn_distance(limit, requester->limit_ssn) <= 0)
			return;
		requester->limit_ssn = limit;
	}
	requester->is_probing = false;
}

void vl_rc_check_drained(struct vl_qp *qp)
{
	const struct vl_requester *requester = &qp->requester;
	const struct vl_send_queue *queue = &requester->queue;

	if (qp->state != IBV_QPS_SQD || requester->drained_reported ||
	    requester->unacked_psn != requester->unsent_psn || queue->head != queue->next)
		return;
	/* Not in the middle of a message. */
	if (queue->next == queue->tail || !vl_send_at(queue, queue->next)->packet_count ||
	    vl_send_at(queue, queue->next)->first_psn == requester->send_psn)
		vl_qp_drained(qp);
}

/* ---- Acknowledge packets -------------------------------------------------------------------- */

static void receive_ack(struct vl_qp *qp, const struct vl_packet *packet, uint64_t now)
{
	struct vl_requester *requester = &qp->requester;
	uint32_t before = requester->unacked_psn;

	VL_COUNT(qp, ack_rx);
	/* The last acknowledged PSN again: an unsolicited ACK that brings credits (9.7.7.2.5). */
	if (packet->psn == vl_psn_add(before, VL_PSN_MASK)) {
		update_credits(qp, packet);
		return;
	}
	if (!is_outstanding(requester, packet->psn)) {
		qp->device->drops[VL_DROP_stale_response]++;
		return;
	}
	update_credits(qp, packet);
	if (!acknowledge_before(qp, vl_psn_add(packet->psn, 1), now))
		rewind_for_lost_response(qp);
	if (qp->cc->algorithm->on_ack && qp->state != IBV_QPS_ERR)
		qp->cc->algorithm->on_ack(&qp->cc_state, qp->cc,
					  (requester->unacked_psn - before) & VL_PSN_MASK, now);
}

static void receive_rnr_nak(struct vl_qp *qp, const struct vl_packet *packet, uint64_t now)
{
	struct vl_requester *requester = &qp->requester;

	VL_COUNT(qp, rnr_nak_rx);
	if (!is_outstanding(requester, packet->psn) ||
	    (requester->is_waiting_rnr && packet->psn == requester->wait_psn)) {
		qp->device->drops[VL_DROP_stale_response]++;
		return;
	}
	if (!acknowledge_before(qp, packet->psn, now)) {
		rewind_for_lost_response(qp);
		return;
	}
	if (!requester->rnr_retries_left) {
		vl_rc_fail_request(qp, IBV_WC_RNR_RETRY_EXC_ERR);
		return;
	}
	/* 7 is without end. */
	if (qp->rnr_retry != 7)
		requester->rnr_retries_left--;
	requester->is_waiting_rnr = true;
	requester->wait_psn = packet->psn;
	requester->wait_until = now + vl_rnr_timer_ns(VL_SYNDROME_VALUE(packet->syndrome));
	vl_rc_rewind(qp, packet->psn);
}

static void receive_nak(struct vl_qp *qp, const struct vl_packet *packet, uint64_t now)
{
	struct vl_requester *requester = &qp->requester;
	enum ibv_wc_status status;

	VL_COUNT(qp, nak_rx);
	switch (packet->syndrome) {
	case VL_NAK_SEQUENCE:
		status = IBV_WC_SUCCESS;
		break;
	case VL_NAK_INVALID_REQUEST:
		status = IBV_WC_REM_INV_REQ_ERR;
		break;
	case VL_NAK_REMOTE_ACCESS:
		status = IBV_WC_REM_ACCESS_ERR;
		break;
	case VL_NAK_REMOTE_OPERATIONAL:
		status = IBV_WC_REM_OP_ERR;
		break;
	default:
		qp->device->drops[VL_DROP_malformed_response]++;
		return;
	}
	if (!is_outstanding(requester, packet->psn)) {
		qp->device->drops[VL_DROP_stale_response]++;
		return;
	}
	if (qp->cc->algorithm->on_nak)
		qp->cc->algorithm->on_nak(&qp->cc_state, qp->cc, now);
	if (!acknowledge_before(qp, packet->psn, now)) {
		rewind_for_lost_response(qp);
		return;
	}
	if (status != IBV_WC_SUCCESS) {
		vl_rc_fail_request(qp, status);
		return;
	}
	if (!requester->retries_left) {
		vl_rc_fail_request(qp, IBV_WC_RETRY_EXC_ERR);
		return;
	}
	requester->retries_left--;
	vl_rc_rewind(qp, packet->psn);
}

/* ---- READ responses and atomic acknowledgements ---- */

static bool answers(const struct vl_send *send, const struct vl_packet *packet)
{
	enum vl_operation operation = vl_opcode_operation(packet->opcode);

	switch ((unsigned int)send->opcode) {
	case IBV_WR_RDMA_READ:
		return (packet->info->flags & VL_OPCODE_READ) != 0;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return operation == VL_OP_ATOMIC_ACKNOWLEDGE;
	case VL_WR_FLUSH:
	case IBV_WR_ATOMIC_WRITE:
		return operation == VL_OP_READ_RESPONSE_ONLY;
	default:
		return false;
	}
}

/* Whether the packet has the length and position that its PSN calls for. */
static bool is_well_formed(const struct vl_qp *qp, const struct vl_send *send,
			   const struct vl_packet *packet, uint32_t offset)
{
	uint32_t remaining = send->length - offset;
	bool last = remaining <= qp->path_mtu;

	if (send->opcode != IBV_WR_RDMA_READ)
		return packet->payload_length == 0;
	return packet->payload_length == (last ? remaining : qp->path_mtu) &&
	       last == ((packet->info->flags & VL_OPCODE_LAST) != 0);
}

/* Host order, as the verbs deliver atomic results. */
static int deliver(struct vl_qp *qp, const struct vl_send *send, const struct vl_packet *packet,
		   uint32_t offset)
{
	struct vl_requester *requester = &qp->requester;

	if (vl_opcode_operation(packet->opcode) == VL_OP_ATOMIC_ACKNOWLEDGE)
		return vl_scatter(qp->pd, send->sges, send->sge_count, &requester->sink, 0,
				  (const uint8_t *)&packet->original, sizeof(packet->original));
	if (!packet->payload_length)
		return 0;
	return vl_scatter(qp->pd, send->sges, send->sge_count, &requester->sink, offset,
			  packet->payload, packet->payload_length);
}

static void receive_data(struct vl_qp *qp, const struct vl_packet *packet, uint64_t now)
{
	struct vl_requester *requester = &qp->requester;
	struct vl_send_queue *queue = &requester->queue;
	const struct vl_send *send;
	uint32_t offset, psn = packet->psn;

	if (!is_outstanding(requester, psn)) {
		qp->device->drops[VL_DROP_stale_response]++;
		return;
	}
	if (!acknowledge_before(qp, psn, now)) {
		rewind_for_lost_response(qp);
		return;
	}
	if (queue->head == queue->tail)
		return;
	send = vl_send_at(queue, queue->head);
	if (psn != requester->unacked_psn) {
		rewind_for_lost_response(qp);
		return;
	}
	offset = ((psn - send->first_psn) & VL_PSN_MASK) << qp->path_mtu_shift;
	if (!answers(send, packet) || !is_well_formed(qp, send, packet, offset)) {
		vl_rc_fail_request(qp, IBV_WC_BAD_RESP_ERR);
		return;
	}
	if (deliver(qp, send, packet, offset)) {
		vl_rc_fail_request(qp, IBV_WC_LOC_PROT_ERR);
		return;
	}
	VL_COUNT(qp, data_frames_rx);
	VL_COUNT_ADD(qp, data_bytes_rx, packet->payload_length);
	move_unacked(qp, vl_psn_add(psn, 1));
	if (vl_psn_add(psn, 1) == vl_psn_add(send->first_psn, send->packet_count))
		complete_oldest(qp);
	made_progress(qp, now);
	if (qp->cc->algorithm->on_ack)
		qp->cc->algorithm->on_ack(&qp->cc_state, qp->cc, 1, now);
}

void vl_rc_receive_response(struct vl_qp *qp, const struct vl_packet *packet, uint64_t now)
{
	bool has_syndrome = (packet->info->flags & VL_OPCODE_AETH) != 0;

	if (qp->state != IBV_QPS_RTS && qp->state != IBV_QPS_SQD) {
		qp->device->drops[VL_DROP_qp_state]++;
		return;
	}
	if (has_syndrome && VL_SYNDROME_IS_RESERVED(packet->syndrome)) {
		qp->device->drops[VL_DROP_malformed_response]++;
		return;
	}
	if (vl_opcode_operation(packet->opcode) != VL_OP_ACKNOWLEDGE) {
		if (has_syndrome && VL_SYNDROME_TYPE(packet->syndrome) != VL_SYNDROME_ACK) {
			qp->device->drops[VL_DROP_malformed_response]++;
			return;
		}
		if (has_syndrome && is_outstanding(&qp->requester, packet->psn))
			update_credits(qp, packet);
		receive_data(qp, packet, now);
	} else if (VL_SYNDROME_TYPE(packet->syndrome) == VL_SYNDROME_ACK) {
		receive_ack(qp, packet, now);
	} else if (VL_SYNDROME_TYPE(packet->syndrome) == VL_SYNDROME_RNR) {
		receive_rnr_nak(qp, packet, now);
	} else {
		receive_nak(qp, packet, now);
	}
	if (qp->state == IBV_QPS_ERR)
		return;
	vl_rc_check_drained(qp);
	if (vl_rc_has_request(qp))
		vl_engine_ready(qp);
}
