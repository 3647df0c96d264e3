/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Reliable connection, responder: a request packet passes a chain of small stages, each of which
 * lets it through or ends it. IBTA 9.7.4, 9.7.5.
 */

#include "transport/credit.h"
#include "transport/outgoing.h"
#include "transport/rc/rc.h"

#include <string.h>

/* ---- Answers -------------------------------------------------------------------------------- */

uint8_t vl_rc_advertise_credits(struct vl_qp *qp)
{
	uint8_t code = VL_CREDIT_UNLIMITED;

	if (!qp->srq && !qp->device->config.unlimited_credits)
		code = vl_credit_encode(vl_receive_available(qp));
	qp->responder.advertised_credits = code;
	return code;
}

void vl_rc_receives_posted(struct vl_qp *qp)
{
	if (qp->responder.advertised_credits || qp->responder.is_refusing ||
	    (qp->state != IBV_QPS_RTR && qp->state != IBV_QPS_RTS && qp->state != IBV_QPS_SQD))
		return;
	qp->responder.ack_pending = true;
	vl_engine_urgent(qp);
}

static void acknowledge(struct vl_qp *qp)
{
	qp->responder.ack_pending = true;
	vl_engine_urgent(qp);
}

bool vl_rc_return_becn(struct vl_qp *qp)
{
	if (qp->responder.is_refusing || vl_rc_has_response(qp))
		return false;
	qp->responder.becn_pending = true;
	acknowledge(qp);
	return true;
}

static void answer_nak(struct vl_qp *qp, uint32_t psn, uint8_t syndrome)
{
	qp->responder.nak_pending = true;
	qp->responder.nak_psn = psn;
	qp->responder.nak_syndrome = syndrome;
	vl_engine_urgent(qp);
}

void vl_rc_refuse(struct vl_qp *qp, uint32_t psn, uint8_t syndrome, enum ibv_event_type event)
{
	qp->responder.is_refusing = true;
	qp->responder.failure = (int32_t)event;
	answer_nak(qp, psn, syndrome);
}

enum vl_send_result vl_rc_urgent(struct vl_qp *qp, struct vl_outgoing *outgoing, uint64_t now)
{
	struct vl_responder *responder = &qp->responder;
	struct vl_outgoing_bth bth = {.opcode = VL_OP_ACKNOWLEDGE,
				      .destination_qpn = qp->remote_qpn};
	bool is_nak = responder->nak_pending;
	uint8_t syndrome, *at;

	(void)now;
	if (!responder->ack_pending && !is_nak)
		return VL_SEND_NOTHING;
	/* Answers leave in the order of their PSNs: READ responses that are due come first. */
	if (vl_rc_has_response(qp)) {
		vl_engine_ready(qp);
		return VL_SEND_NOTHING;
	}
	syndrome = is_nak ? responder->nak_syndrome : vl_rc_advertise_credits(qp);
	bth.psn = is_nak ? responder->nak_psn : vl_psn_add(responder->expected_psn, VL_PSN_MASK);
	bth.becn = responder->becn_pending;
	responder->becn_pending = false;
	/* A NAK acknowledges everything before it. */
	responder->ack_pending = false;
	responder->nak_pending = false;
	at = vl_outgoing_begin(qp, &qp->path, &bth, 0, outgoing);
	vl_aeth_write(at, syndrome, responder->msn);
	if (bth.becn)
		VL_COUNT(qp, becn_tx);
	if (!is_nak)
		VL_COUNT(qp, ack_tx);
	else if (VL_SYNDROME_TYPE(syndrome) == VL_SYNDROME_RNR)
		VL_COUNT(qp, rnr_nak_tx);
	else
		VL_COUNT(qp, nak_tx);
	if (responder->is_refusing)
		vl_qp_fail(qp, (enum ibv_event_type)responder->failure);
	return VL_SEND_PACKET;
}

/* ---- Stages --------------------------------------------------------------------------------- */

enum verdict {
	VERDICT_PASS,
	VERDICT_DONE, /* ended: dropped, or answered by the stage itself */
	VERDICT_INVALID_REQUEST,
	VERDICT_REMOTE_ACCESS,
	VERDICT_REMOTE_OPERATIONAL,
	VERDICT_NOT_READY,
};

static bool is_resource_operation(const struct vl_packet *packet)
{
	enum vl_operation operation = vl_opcode_operation(packet->opcode);

	return operation == VL_OP_READ_REQUEST || operation == VL_OP_COMPARE_SWAP ||
	       operation == VL_OP_FETCH_ADD || operation == VL_OP_FLUSH ||
	       operation == VL_OP_ATOMIC_WRITE;
}

/* 9.7.5.1.4: repeated requests change nothing, and are answered as before. */
static enum verdict repeat(struct vl_qp *qp, const struct vl_packet *packet)
{
	VL_COUNT(qp, duplicate_request);
	if (!is_resource_operation(packet))
		acknowledge(qp);
	else if (!vl_rc_resource_repeat(qp, packet))
		qp->device->drops[VL_DROP_duplicate]++;
	return VERDICT_DONE;
}

static enum verdict check_psn(struct vl_qp *qp, const struct vl_packet *packet)
{
	struct vl_responder *responder = &qp->responder;
	int32_t distance = vl_psn_distance(packet->psn, responder->expected_psn);

	if (!distance) {
		responder->sequence_nak_sent = false;
		responder->rnr_nak_sent = false;
		responder->nak_pending = false;
		return VERDICT_PASS;
	}
	if (distance < 0)
		return repeat(qp, packet);
	VL_COUNT(qp, frame_sequence_error);
	qp->device->drops[VL_DROP_sequence]++;
	/* One NAK for a gap, then silence until it is filled. What follows a packet that was
	 * refused for want of a receive request is no gap. */
	if (!responder->sequence_nak_sent && !responder->rnr_nak_sent) {
		responder->sequence_nak_sent = true;
		answer_nak(qp, responder->expected_psn, VL_NAK_SEQUENCE);
	}
	return VERDICT_DONE;
}

static enum verdict check_operation_sequence(struct vl_qp *qp, const struct vl_packet *packet)
{
	uint32_t flags = packet->info->flags;
	uint32_t kind = flags & (VL_OPCODE_SEND | VL_OPCODE_WRITE);
	bool is_start = (flags & VL_OPCODE_FIRST) || is_resource_operation(packet);

	if (qp->responder.in_message) {
		uint32_t open = vl_opcode_table[qp->responder.operation].flags &
				(VL_OPCODE_SEND | VL_OPCODE_WRITE);

		return !is_start && kind == open ? VERDICT_PASS : VERDICT_INVALID_REQUEST;
	}
	return is_start ? VERDICT_PASS : VERDICT_INVALID_REQUEST;
}

static enum verdict check_operation_valid(struct vl_qp *qp, const struct vl_packet *packet)
{
	uint32_t flags = packet->info->flags;
	unsigned int needed = 0;

	if (flags & VL_OPCODE_IS_FLUSH) {
		if (packet->placement & VL_PLACEMENT_GLOBAL)
			needed |= VL_ACCESS_FLUSH_GLOBAL;
		if (packet->placement & VL_PLACEMENT_PERSISTENT)
			needed |= VL_ACCESS_FLUSH_PERSISTENT;
		if (!needed ||
		    packet->placement & ~(VL_PLACEMENT_GLOBAL | VL_PLACEMENT_PERSISTENT) ||
		    packet->selectivity > VL_SELECTIVITY_MR)
			return VERDICT_INVALID_REQUEST;
	} else if (flags & VL_OPCODE_ATOMIC) {
		needed = IBV_ACCESS_REMOTE_ATOMIC;
	} else if (flags & VL_OPCODE_READ) {
		needed = IBV_ACCESS_REMOTE_READ;
	} else if (flags & (VL_OPCODE_WRITE | VL_OPCODE_IS_ATOMIC_WRITE)) {
		needed = IBV_ACCESS_REMOTE_WRITE;
	}
	return (qp->access & needed) == needed ? VERDICT_PASS : VERDICT_INVALID_REQUEST;
}

static enum verdict check_resource(struct vl_qp *qp, const struct vl_packet *packet)
{
	struct vl_responder *responder = &qp->responder;
	uint32_t flags = packet->info->flags;

	if (is_resource_operation(packet)) {
		const struct vl_responder_resource *slot;

		if (!responder->resource_count)
			return VERDICT_INVALID_REQUEST;
		/* The slot that would be reused must have been answered. A repeated answer that
		 * is still due is not wanted any more: a requester that sends another request
		 * than the limit allows beside it has the first answer. */
		if ((uint16_t)(responder->resource_tail - responder->resource_head) <
		    responder->resource_count)
			return VERDICT_PASS;
		slot = vl_rc_resource_at(qp, responder->resource_head);
		return slot->is_pending && !slot->is_repeat ? VERDICT_INVALID_REQUEST
							    : VERDICT_PASS;
	}
	/* SEND takes its receive request at the start, WRITE with immediate at the end. */
	if (((flags & VL_OPCODE_SEND) && (flags & VL_OPCODE_FIRST)) ||
	    ((flags & VL_OPCODE_WRITE) && (flags & VL_OPCODE_IMMDT))) {
		responder->receive = vl_receive_take(qp);
		responder->cursor = (struct vl_sge_cursor){0};
		if (!responder->receive)
			return VERDICT_NOT_READY;
	}
	return VERDICT_PASS;
}

/* 9.7.4.1.6 and 9.7.4.1.7. */
static enum verdict check_length(struct vl_qp *qp, const struct vl_packet *packet)
{
	struct vl_responder *responder = &qp->responder;
	uint32_t flags = packet->info->flags, length = packet->payload_length;
	bool first = flags & VL_OPCODE_FIRST, last = flags & VL_OPCODE_LAST;

	if (flags & (VL_OPCODE_ATOMIC | VL_OPCODE_IS_ATOMIC_WRITE)) {
		if (packet->remote_address & 7)
			return VERDICT_INVALID_REQUEST;
		if ((flags & VL_OPCODE_IS_ATOMIC_WRITE) && (length != 8 || packet->dma_length != 8))
			return VERDICT_INVALID_REQUEST;
		return VERDICT_PASS;
	}
	if (is_resource_operation(packet))
		return packet->dma_length <= VL_MAX_MESSAGE ? VERDICT_PASS
							    : VERDICT_INVALID_REQUEST;
	if (last ? length > qp->path_mtu || (!first && !length) : length != qp->path_mtu)
		return VERDICT_INVALID_REQUEST;
	if (flags & VL_OPCODE_WRITE) {
		uint32_t expected = first ? packet->dma_length : responder->write_remaining;

		if (expected > VL_MAX_MESSAGE || (last ? length != expected : length >= expected))
			return VERDICT_INVALID_REQUEST;
		return VERDICT_PASS;
	}
	if ((uint64_t)(first ? 0 : responder->message_length) + length >
	    (responder->receive->length < VL_MAX_MESSAGE ? responder->receive->length
							 : VL_MAX_MESSAGE)) {
		struct ibv_wc wc = {.status = IBV_WC_LOC_LEN_ERR, .opcode = IBV_WC_RECV};

		vl_receive_complete(qp, &wc, true);
		return VERDICT_INVALID_REQUEST;
	}
	return VERDICT_PASS;
}

static enum verdict check_rkey(struct vl_qp *qp, const struct vl_packet *packet)
{
	uint32_t flags = packet->info->flags;
	uint64_t length = packet->dma_length;
	unsigned int access;

	if (!(flags & (VL_OPCODE_RETH | VL_OPCODE_ATOMICETH)))
		return VERDICT_PASS;
	if (flags & VL_OPCODE_IS_FLUSH) {
		access = (packet->placement & VL_PLACEMENT_GLOBAL ? VL_ACCESS_FLUSH_GLOBAL : 0) |
			 (packet->placement & VL_PLACEMENT_PERSISTENT ? VL_ACCESS_FLUSH_PERSISTENT
								      : 0);
		/* The whole region: any address in it serves. */
		if (packet->selectivity == VL_SELECTIVITY_MR)
			return vl_mr_translate(qp, packet->rkey, packet->remote_address, 1, access)
				       ? VERDICT_PASS
				       : VERDICT_REMOTE_ACCESS;
	} else if (flags & VL_OPCODE_ATOMIC) {
		access = IBV_ACCESS_REMOTE_ATOMIC;
		length = 8;
	} else if (flags & VL_OPCODE_READ) {
		access = IBV_ACCESS_REMOTE_READ;
	} else {
		access = IBV_ACCESS_REMOTE_WRITE;
	}
	return vl_mr_translate(qp, packet->rkey, packet->remote_address, length, access)
		       ? VERDICT_PASS
		       : VERDICT_REMOTE_ACCESS;
}

static void execute_resource(struct vl_qp *qp, const struct vl_packet *packet)
{
	struct vl_responder *responder = &qp->responder;
	struct vl_responder_resource *resource = vl_rc_resource_add(qp, packet);
	uint8_t *memory;
	uint64_t value;

	responder->msn = vl_psn_add(responder->msn, 1);
	resource->msn = responder->msn;
	/* Atomic with respect to other requests through this device (IBV_ATOMIC_HCA). */
	switch (vl_opcode_operation(packet->opcode)) {
	case VL_OP_COMPARE_SWAP:
	case VL_OP_FETCH_ADD:
		memory = vl_mr_translate(qp, packet->rkey, packet->remote_address, 8,
					 IBV_ACCESS_REMOTE_ATOMIC);
		memcpy(&value, memory, sizeof(value));
		resource->original = value;
		if (vl_opcode_operation(packet->opcode) == VL_OP_FETCH_ADD)
			value += packet->swap_or_add;
		else if (value == packet->compare)
			value = packet->swap_or_add;
		memcpy(memory, &value, sizeof(value));
		break;
	case VL_OP_ATOMIC_WRITE:
		memory = vl_mr_translate(qp, packet->rkey, packet->remote_address, 8,
					 IBV_ACCESS_REMOTE_WRITE);
		memcpy(memory, packet->payload, 8);
		break;
	default:
		/* READ is executed as its responses are sent. FLUSH has nothing to wait for:
		 * what was written is in memory, and there is no volatile cache before it. */
		break;
	}
	responder->expected_psn = vl_psn_add(responder->expected_psn, resource->packet_count);
	vl_engine_ready(qp);
}

static enum verdict execute_write(struct vl_qp *qp, const struct vl_packet *packet)
{
	struct vl_responder *responder = &qp->responder;
	uint8_t *memory;

	if (packet->info->flags & VL_OPCODE_FIRST) {
		responder->write_address = packet->remote_address;
		responder->write_rkey = packet->rkey;
		responder->write_remaining = packet->dma_length;
		responder->write_length = packet->dma_length;
	}
	if (!packet->payload_length)
		return VERDICT_PASS;
	/* Each packet anew: the region may have gone since the first. */
	memory = vl_mr_translate(qp, responder->write_rkey, responder->write_address,
				 packet->payload_length, IBV_ACCESS_REMOTE_WRITE);
	if (!memory)
		return VERDICT_REMOTE_ACCESS;
	memcpy(memory, packet->payload, packet->payload_length);
	responder->write_address += packet->payload_length;
	responder->write_remaining -= packet->payload_length;
	return VERDICT_PASS;
}

static enum verdict execute_send(struct vl_qp *qp, const struct vl_packet *packet)
{
	struct vl_responder *responder = &qp->responder;

	if (packet->info->flags & VL_OPCODE_FIRST)
		responder->message_length = 0;
	if (vl_scatter(vl_receive_pd(qp), responder->receive->sges, responder->receive->sge_count,
		       &responder->cursor, responder->message_length, packet->payload,
		       packet->payload_length)) {
		struct ibv_wc wc = {.status = IBV_WC_LOC_PROT_ERR, .opcode = IBV_WC_RECV};

		vl_receive_complete(qp, &wc, true);
		return VERDICT_REMOTE_OPERATIONAL;
	}
	responder->message_length += packet->payload_length;
	return VERDICT_PASS;
}

static void count_accepted(struct vl_qp *qp, const struct vl_packet *packet)
{
	VL_COUNT(qp, data_frames_rx);
	VL_COUNT_ADD(qp, data_bytes_rx, packet->payload_length);
}

static enum verdict execute(struct vl_qp *qp, const struct vl_packet *packet)
{
	enum verdict verdict = VERDICT_PASS;

	if (is_resource_operation(packet)) {
		execute_resource(qp, packet);
		count_accepted(qp, packet);
		VL_COUNT(qp, message_rx);
		return VERDICT_DONE;
	}
	if (packet->info->flags & VL_OPCODE_SEND)
		verdict = execute_send(qp, packet);
	else
		verdict = execute_write(qp, packet);
	if (verdict != VERDICT_PASS)
		return verdict;
	count_accepted(qp, packet);
	qp->responder.expected_psn = vl_psn_add(qp->responder.expected_psn, 1);
	qp->responder.in_message = !(packet->info->flags & VL_OPCODE_LAST);
	qp->responder.operation = packet->opcode;
	return VERDICT_PASS;
}

/* The receive side's completion of a message that ended. */
static void complete_receive(struct vl_qp *qp, const struct vl_packet *packet)
{
	struct vl_responder *responder = &qp->responder;
	uint32_t flags = packet->info->flags;
	bool is_write = flags & VL_OPCODE_WRITE;
	struct ibv_wc wc = {
		.status = IBV_WC_SUCCESS,
		.opcode = is_write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV,
		.byte_len = is_write ? responder->write_length : responder->message_length,
		.src_qp = qp->remote_qpn,
	};

	if (flags & VL_OPCODE_IMMDT) {
		wc.wc_flags |= IBV_WC_WITH_IMM;
		wc.imm_data = packet->immediate;
	}
	if (flags & VL_OPCODE_IETH) {
		wc.wc_flags |= IBV_WC_WITH_INV;
		wc.invalidated_rkey = packet->invalidate_rkey;
		/* Class J, 9.9.3: the requester is acknowledged, the error shows here alone. */
		if (vl_mr_invalidate(qp, packet->invalidate_rkey, true)) {
			wc.status = IBV_WC_REM_INV_REQ_ERR;
			responder->is_refusing = true;
			responder->failure = (int32_t)VL_NO_EVENT;
			acknowledge(qp);
		}
	}
	vl_receive_complete(qp, &wc, packet->solicited);
}

static enum verdict complete(struct vl_qp *qp, const struct vl_packet *packet)
{
	struct vl_responder *responder = &qp->responder;

	if (packet->info->flags & VL_OPCODE_LAST) {
		responder->msn = vl_psn_add(responder->msn, 1);
		VL_COUNT(qp, message_rx);
		if (packet->info->flags & VL_OPCODE_RECEIVE)
			complete_receive(qp, packet);
	}
	if (packet->ack_request)
		acknowledge(qp);
	return VERDICT_DONE;
}

static void refuse(struct vl_qp *qp, uint8_t syndrome, enum ibv_event_type event,
		   enum ibv_wc_status status)
{
	/* A receive request that the message had taken ends with the message. */
	if (qp->responder.receive) {
		struct ibv_wc wc = {.status = status, .opcode = IBV_WC_RECV};

		vl_receive_complete(qp, &wc, true);
	}
	vl_rc_refuse(qp, qp->responder.expected_psn, syndrome, event);
}

void vl_rc_receive_request(struct vl_qp *qp, const struct vl_packet *packet, uint64_t now)
{
	static enum verdict (*const stages[])(struct vl_qp *, const struct vl_packet *) = {
		check_psn,
		check_operation_sequence,
		check_operation_valid,
		check_resource,
		check_length,
		check_rkey,
		execute,
		complete,
	};
	enum verdict verdict = VERDICT_PASS;

	(void)now;
	if (qp->responder.is_refusing) {
		qp->device->drops[VL_DROP_refused]++;
		return;
	}
	for (unsigned int i = 0; verdict == VERDICT_PASS; i++)
		verdict = stages[i](qp, packet);
	switch (verdict) {
	case VERDICT_INVALID_REQUEST:
		refuse(qp, VL_NAK_INVALID_REQUEST, IBV_EVENT_QP_REQ_ERR, IBV_WC_REM_INV_REQ_ERR);
		break;
	case VERDICT_REMOTE_ACCESS:
		refuse(qp, VL_NAK_REMOTE_ACCESS, IBV_EVENT_QP_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR);
		break;
	case VERDICT_REMOTE_OPERATIONAL:
		refuse(qp, VL_NAK_REMOTE_OPERATIONAL, IBV_EVENT_QP_FATAL, IBV_WC_LOC_QP_OP_ERR);
		break;
	case VERDICT_NOT_READY:
		qp->responder.rnr_nak_sent = true;
		answer_nak(qp, packet->psn,
			   (uint8_t)(VL_SYNDROME_RNR << 5 | (qp->min_rnr_timer & 0x1f)));
		break;
	default:
		break;
	}
}

void vl_rc_receive(struct vl_qp *qp, const struct vl_packet *packet, uint64_t now)
{
	if (packet->info->flags & VL_OPCODE_RESPONSE)
		vl_rc_receive_response(qp, packet, now);
	else if (packet->info->flags & VL_OPCODE_REQUEST)
		vl_rc_receive_request(qp, packet, now);
	else
		qp->device->drops[VL_DROP_opcode]++;
}
