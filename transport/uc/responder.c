/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Unreliable connection, responder: a packet passes a chain of checks; one that fails ends the
 * message that it belongs to, silently but for a counter, and the next First or Only packet
 * starts anew. A receive request that a broken message had taken serves the next. IBTA 9.8.2.
 */

#include "transport/object/object.h"
#include "transport/psn.h"
#include "transport/wire/opcode.h"

#include <errno.h>
#include <string.h>

/* Checks give the reason to drop, or this. */
#define PASS VL_DROP_COUNT

/* Any PSN may start a message; inside one there is no gap. */
static enum vl_drop check_psn(struct vl_qp *qp, const struct vl_packet *packet)
{
	struct vl_responder *responder = &qp->responder;
	int32_t distance = vl_psn_distance(packet->psn, responder->expected_psn);

	responder->expected_psn = vl_psn_add(packet->psn, 1);
	if (!distance)
		return PASS;
	if (distance > 0)
		VL_COUNT(qp, frame_sequence_error);
	else
		VL_COUNT(qp, duplicate_request);
	return packet->info->flags & VL_OPCODE_FIRST ? PASS : VL_DROP_message;
}

static enum vl_drop check_operation(const struct vl_qp *qp, const struct vl_packet *packet)
{
	const struct vl_responder *responder = &qp->responder;
	uint32_t kinds = VL_OPCODE_SEND | VL_OPCODE_WRITE, kind = packet->info->flags & kinds;

	if (!kind)
		return VL_DROP_opcode;
	if (packet->info->flags & VL_OPCODE_FIRST)
		return PASS;
	if (!responder->in_message || (vl_opcode_table[responder->operation].flags & kinds) != kind)
		return VL_DROP_message;
	return PASS;
}

static enum vl_drop check_length(const struct vl_qp *qp, const struct vl_packet *packet)
{
	uint32_t flags = packet->info->flags, length = packet->payload_length;
	bool first = flags & VL_OPCODE_FIRST, last = flags & VL_OPCODE_LAST;
	uint32_t remaining;

	if (last ? length > qp->path_mtu || (!first && !length) : length != qp->path_mtu)
		return VL_DROP_length;
	if (!(flags & VL_OPCODE_WRITE))
		return PASS;
	remaining = first ? packet->dma_length : qp->responder.write_remaining;
	if (remaining > VL_MAX_MESSAGE || (last ? length != remaining : length >= remaining))
		return VL_DROP_length;
	return PASS;
}

static enum vl_drop check_access(const struct vl_qp *qp, const struct vl_packet *packet)
{
	if (!(packet->info->flags & VL_OPCODE_WRITE))
		return PASS;
	if (!(qp->access & IBV_ACCESS_REMOTE_WRITE))
		return VL_DROP_access;
	/* The whole range at the start, so that no part of a bad message is written. */
	if (packet->info->flags & VL_OPCODE_RETH &&
	    !vl_mr_translate(qp, packet->rkey, packet->remote_address, packet->dma_length,
			     IBV_ACCESS_REMOTE_WRITE))
		return VL_DROP_access;
	return PASS;
}

/* SEND takes its receive request at the start, WRITE with immediate at the end. */
static enum vl_drop check_receive(struct vl_qp *qp, const struct vl_packet *packet)
{
	struct vl_responder *responder = &qp->responder;
	uint32_t flags = packet->info->flags;
	bool is_send = flags & VL_OPCODE_SEND, first = flags & VL_OPCODE_FIRST;

	if (!(is_send ? first : flags & VL_OPCODE_IMMDT))
		first = false;
	else if (!vl_receive_take(qp))
		return VL_DROP_no_receive;
	if (!is_send)
		return PASS;
	if (first) {
		responder->cursor = (struct vl_sge_cursor){0};
		responder->message_length = 0;
	}
	if ((uint64_t)responder->message_length + packet->payload_length >
	    (responder->receive->length < VL_MAX_MESSAGE ? responder->receive->length
							 : VL_MAX_MESSAGE))
		return VL_DROP_length;
	return PASS;
}

/* A local key that does not hold is the owner's mistake: the request completes with it, and the
 * QP fails, as it could never take another message there. */
static void fail_receive(struct vl_qp *qp)
{
	const struct ibv_wc wc = {.status = IBV_WC_LOC_PROT_ERR, .opcode = IBV_WC_RECV};

	vl_receive_complete(qp, &wc, true);
	vl_qp_fail(qp, VL_NO_EVENT);
}

static enum vl_drop execute_send(struct vl_qp *qp, const struct vl_packet *packet)
{
	struct vl_responder *responder = &qp->responder;
	int result = vl_scatter(vl_receive_pd(qp), responder->receive->sges,
				responder->receive->sge_count, &responder->cursor,
				responder->message_length, packet->payload, packet->payload_length);

	if (result == -EFAULT) {
		fail_receive(qp);
		return VL_DROP_access;
	}
	if (result)
		return VL_DROP_length;
	responder->message_length += packet->payload_length;
	return PASS;
}

static enum vl_drop execute_write(struct vl_qp *qp, const struct vl_packet *packet)
{
	struct vl_responder *responder = &qp->responder;
	uint8_t *memory;

	if (packet->info->flags & VL_OPCODE_FIRST) {
		responder->write_address = packet->remote_address;
		responder->write_rkey = packet->rkey;
		responder->write_remaining = responder->write_length = packet->dma_length;
	}
	/* Each packet anew: the region may have gone since the first. */
	memory = vl_mr_translate(qp, responder->write_rkey, responder->write_address,
				 packet->payload_length, IBV_ACCESS_REMOTE_WRITE);
	if (!memory)
		return VL_DROP_access;
	memcpy(memory, packet->payload, packet->payload_length);
	responder->write_address += packet->payload_length;
	responder->write_remaining -= packet->payload_length;
	return PASS;
}

static enum vl_drop check_and_execute(struct vl_qp *qp, const struct vl_packet *packet)
{
	enum vl_drop drop = check_psn(qp, packet);

	if (drop == PASS)
		drop = check_operation(qp, packet);
	if (drop == PASS)
		drop = check_length(qp, packet);
	if (drop == PASS)
		drop = check_access(qp, packet);
	if (drop == PASS)
		drop = check_receive(qp, packet);
	if (drop != PASS)
		return drop;
	return packet->info->flags & VL_OPCODE_SEND ? execute_send(qp, packet)
						    : execute_write(qp, packet);
}

static void complete(struct vl_qp *qp, const struct vl_packet *packet)
{
	const struct vl_responder *responder = &qp->responder;
	bool is_write = packet->info->flags & VL_OPCODE_WRITE;
	struct ibv_wc wc = {
		.status = IBV_WC_SUCCESS,
		.opcode = is_write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV,
		.byte_len = is_write ? responder->write_length : responder->message_length,
		.src_qp = qp->remote_qpn,
	};

	VL_COUNT(qp, message_rx);
	if (!(packet->info->flags & VL_OPCODE_RECEIVE))
		return;
	if (packet->info->flags & VL_OPCODE_IMMDT) {
		wc.wc_flags = IBV_WC_WITH_IMM;
		wc.imm_data = packet->immediate;
	}
	vl_receive_complete(qp, &wc, packet->solicited);
}

void vl_uc_receive(struct vl_qp *qp, const struct vl_packet *packet, uint64_t now)
{
	enum vl_drop drop = check_and_execute(qp, packet);

	(void)now;
	if (drop != PASS) {
		qp->responder.in_message = false;
		qp->device->drops[drop]++;
		return;
	}
	VL_COUNT(qp, data_frames_rx);
	VL_COUNT_ADD(qp, data_bytes_rx, packet->payload_length);
	qp->responder.operation = packet->opcode;
	qp->responder.in_message = !(packet->info->flags & VL_OPCODE_LAST);
	if (!qp->responder.in_message)
		complete(qp, packet);
}
