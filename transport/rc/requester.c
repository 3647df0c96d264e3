/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Reliable connection, requester: turns send requests into packets. IBTA 9.7.1 to 9.7.3, 9.7.7. */

#include "transport/credit.h"
#include "transport/outgoing.h"
#include "transport/pace.h"
#include "transport/rc/rc.h"

#include <string.h>

bool vl_rc_has_request(const struct vl_qp *qp)
{
	const struct vl_send_queue *queue = &qp->requester.queue;

	return queue->next != queue->tail && (qp->state == IBV_QPS_RTS || qp->state == IBV_QPS_SQD);
}

/* Whether a packet that asked for an answer is not acknowledged. A READ may span half of the PSN
 * space, where a signed distance says the opposite. */
static bool is_answer_due(const struct vl_requester *requester)
{
	uint32_t asked = (requester->ack_request_psn - requester->unacked_psn) & VL_PSN_MASK;

	return asked && asked <= ((requester->unsent_psn - requester->unacked_psn) & VL_PSN_MASK);
}

void vl_rc_restart_ack_timer(struct vl_qp *qp, uint64_t now)
{
	struct vl_requester *requester = &qp->requester;
	uint64_t timeout = vl_ack_timeout_ns(qp->timeout);

	/* It runs for packets that asked for an answer (9.7.6.1.3): a slow flow that has not asked
	 * yet is not late. */
	if (!timeout || requester->is_waiting_rnr || !is_answer_due(requester)) {
		requester->ack_deadline = 0;
		return;
	}
	requester->ack_deadline = now + timeout;
	if (!vl_timer_is_armed(&qp->ack_timer))
		vl_timer_arm(&qp->device->wheel, &qp->ack_timer, requester->ack_deadline);
}

void vl_rc_fail_request(struct vl_qp *qp, enum ibv_wc_status status)
{
	vl_send_complete(qp, status);
	vl_qp_fail(qp, VL_NO_EVENT);
}

void vl_rc_rewind(struct vl_qp *qp, uint32_t psn)
{
	struct vl_requester *requester = &qp->requester;
	struct vl_send_queue *queue = &requester->queue;
	uint32_t index = queue->head;

	requester->outstanding_reads = 0;
	for (; index != queue->next; index++) {
		const struct vl_send *send = vl_send_at(queue, index);

		if (((psn - send->first_psn) & VL_PSN_MASK) < send->packet_count)
			break;
		if (send->is_read_or_atomic)
			requester->outstanding_reads++;
	}
	queue->next = index;
	requester->send_psn = psn;
	requester->cursor = (struct vl_sge_cursor){0};
	requester->is_probing = false;
	requester->packets_since_ack_request = 0;
	requester->ack_request_psn = psn;
	requester->ack_deadline = 0;
	if (vl_rc_has_request(qp))
		vl_engine_ready(qp);
}

void vl_rc_ack_timeout(struct vl_qp *qp, uint64_t now)
{
	struct vl_requester *requester = &qp->requester;

	VL_COUNT(qp, local_ack_timeout_err);
	if (qp->cc->algorithm->on_timeout)
		qp->cc->algorithm->on_timeout(&qp->cc_state, qp->cc, now);
	if (!requester->retries_left) {
		vl_rc_fail_request(qp, IBV_WC_RETRY_EXC_ERR);
		return;
	}
	requester->retries_left--;
	vl_rc_rewind(qp, requester->unacked_psn);
}

/* Packets that may be in flight. */
static uint32_t window(const struct vl_qp *qp)
{
	uint32_t most = qp->device->config.max_unacked_packets;
	uint32_t allowed;

	if (!qp->cc->algorithm->window)
		return most;
	allowed = qp->cc->algorithm->window(&qp->cc_state, qp->cc);
	return allowed < most ? allowed : most;
}

static uint32_t in_flight(const struct vl_qp *qp)
{
	return (qp->requester.send_psn - qp->requester.unacked_psn) & VL_PSN_MASK;
}

/* What stops the request at queue.next from sending its next packet now. */
static bool must_wait(struct vl_qp *qp, const struct vl_send *send, bool is_first)
{
	struct vl_requester *requester = &qp->requester;
	bool is_repeated = vl_psn_distance(requester->send_psn, requester->unsent_psn) < 0;

	if (in_flight(qp) >= window(qp))
		return true;
	/* SQD: messages that have begun are finished, no other begins (IBTA 10.3.1.5). */
	if (is_first && !is_repeated && qp->state == IBV_QPS_SQD)
		return true;
	if (is_first && (send->send_flags & IBV_SEND_FENCE) && requester->outstanding_reads)
		return true;
	if (send->is_read_or_atomic) {
		if (requester->outstanding_reads >= qp->max_rd_atomic)
			return true;
		/* Half of the PSN space must stay ahead of the peer. */
		if (send->packet_count > UINT32_C(1) << 22 && in_flight(qp))
			return true;
	}
	/* One packet of a limited request may go beyond the credits, to learn of new ones. */
	requester->is_waiting_credit = send->consumes_credit && !requester->unlimited_credits &&
				       vl_psn_distance(send->ssn, requester->limit_ssn) > 0;
	return requester->is_waiting_credit && requester->is_probing;
}

/* LOCAL_INV and BIND_MW take effect when everything before them is done. */
static enum vl_send_result run_local(struct vl_qp *qp, struct vl_send *send)
{
	struct vl_send_queue *queue = &qp->requester.queue;
	int error;

	if (queue->head != queue->next || qp->state == IBV_QPS_SQD)
		return VL_SEND_NOTHING;
	if (send->opcode == IBV_WR_LOCAL_INV)
		error = vl_mr_invalidate(qp, send->invalidate_rkey, false);
	else
		error = vl_mr_bind_window(qp, send->mw, send->rkey, &send->bind);
	if (error) {
		vl_rc_fail_request(qp, send->opcode == IBV_WR_LOCAL_INV ? IBV_WC_LOC_QP_OP_ERR
									: IBV_WC_MW_BIND_ERR);
		return VL_SEND_NOTHING;
	}
	queue->next++;
	vl_send_complete(qp, IBV_WC_SUCCESS);
	return VL_SEND_AGAIN;
}

static enum vl_operation operation_of(const struct vl_send *send, bool first, bool last)
{
	static const uint8_t sends[3][4] = {
		/* middle, first, last, only */
		{VL_OP_SEND_MIDDLE, VL_OP_SEND_FIRST, VL_OP_SEND_LAST, VL_OP_SEND_ONLY},
		{VL_OP_SEND_MIDDLE, VL_OP_SEND_FIRST, VL_OP_SEND_LAST_IMM, VL_OP_SEND_ONLY_IMM},
		{VL_OP_SEND_MIDDLE, VL_OP_SEND_FIRST, VL_OP_SEND_LAST_INVALIDATE,
		 VL_OP_SEND_ONLY_INVALIDATE},
	};
	static const uint8_t writes[2][4] = {
		{VL_OP_WRITE_MIDDLE, VL_OP_WRITE_FIRST, VL_OP_WRITE_LAST, VL_OP_WRITE_ONLY},
		{VL_OP_WRITE_MIDDLE, VL_OP_WRITE_FIRST, VL_OP_WRITE_LAST_IMM, VL_OP_WRITE_ONLY_IMM},
	};
	unsigned int position = (first ? 1u : 0u) | (last ? 2u : 0u);

	switch ((unsigned int)send->opcode) {
	case IBV_WR_SEND:
		return sends[0][position];
	case IBV_WR_SEND_WITH_IMM:
		return sends[1][position];
	case IBV_WR_SEND_WITH_INV:
		return sends[2][position];
	case IBV_WR_RDMA_WRITE:
		return writes[0][position];
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return writes[1][position];
	case IBV_WR_RDMA_READ:
		return VL_OP_READ_REQUEST;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return VL_OP_COMPARE_SWAP;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return VL_OP_FETCH_ADD;
	case VL_WR_FLUSH:
		return VL_OP_FLUSH;
	default:
		return VL_OP_ATOMIC_WRITE;
	}
}

static void write_extensions(const struct vl_send *send, uint32_t flags, uint32_t offset,
			     uint8_t *at)
{
	if (flags & VL_OPCODE_FETH)
		at += vl_feth_write(at, send->placement, send->selectivity);
	if (flags & VL_OPCODE_RETH)
		at += vl_reth_write(at, send->remote_address + offset, send->rkey,
				    send->length - offset);
	if (flags & VL_OPCODE_ATOMICETH) {
		bool swap = send->opcode == IBV_WR_ATOMIC_CMP_AND_SWP;

		at += vl_atomic_eth_write(at, send->remote_address, send->rkey,
					  swap ? send->swap : send->compare_add,
					  swap ? send->compare_add : 0);
	}
	if (flags & VL_OPCODE_IMMDT)
		at += vl_immdt_write(at, send->immediate);
	if (flags & VL_OPCODE_IETH)
		vl_ieth_write(at, send->invalidate_rkey);
}

/* Asked for at the end of a message that somebody waits for, in time to keep the window open, and
 * when nothing would follow, or what follows waits for it. */
static bool wants_ack(struct vl_qp *qp, const struct vl_send *send, bool last)
{
	struct vl_requester *requester = &qp->requester;
	const struct vl_send_queue *queue = &requester->queue;

	if (requester->is_waiting_credit || in_flight(qp) + 1 >= window(qp) ||
	    requester->packets_since_ack_request == UINT16_MAX ||
	    ++requester->packets_since_ack_request >= qp->device->config.ack_request_interval ||
	    (last && ((send->send_flags & IBV_SEND_SIGNALED) || queue->next + 1 == queue->tail ||
		      !vl_send_at(queue, queue->next + 1)->packet_count))) {
		requester->packets_since_ack_request = 0;
		return true;
	}
	return false;
}

static void packet_was_sent(struct vl_qp *qp, const struct vl_send *send,
			    struct vl_outgoing *outgoing, uint32_t psn_count, bool last,
			    bool ack_request, uint64_t now)
{
	struct vl_requester *requester = &qp->requester;

	VL_COUNT(qp, data_frames_tx);
	VL_COUNT_ADD(qp, data_bytes_tx, outgoing->payload_length);
	if (vl_psn_distance(requester->send_psn, requester->unsent_psn) < 0) {
		outgoing->is_retransmission = true;
		VL_COUNT(qp, data_frames_retransmitted);
	}
	requester->send_psn = vl_psn_add(requester->send_psn, psn_count);
	if (!outgoing->is_retransmission ||
	    vl_psn_distance(requester->send_psn, requester->unsent_psn) > 0)
		requester->unsent_psn = requester->send_psn;
	if (requester->is_waiting_credit)
		requester->is_probing = true;
	if (last) {
		if (send->is_read_or_atomic)
			requester->outstanding_reads++;
		requester->queue.next++;
		requester->cursor = (struct vl_sge_cursor){0};
	}
	if (ack_request || send->is_read_or_atomic) {
		requester->ack_request_psn = requester->send_psn;
		if (!requester->ack_deadline)
			vl_rc_restart_ack_timer(qp, now);
	}
	vl_pace_charge(qp, outgoing->frame_length, now);
}

enum vl_send_result vl_rc_send_request(struct vl_qp *qp, struct vl_outgoing *outgoing, uint64_t now)
{
	struct vl_requester *requester = &qp->requester;
	struct vl_send *send = vl_send_at(&requester->queue, requester->queue.next);
	struct vl_outgoing_bth bth = {.psn = requester->send_psn,
				      .destination_qpn = qp->remote_qpn};
	uint32_t offset, payload = 0, flags;
	bool first, last;
	uint8_t *extensions;

	if (!send->packet_count)
		return run_local(qp, send);
	if (send->is_read_or_atomic && !qp->max_rd_atomic) {
		if (requester->queue.head == requester->queue.next)
			vl_rc_fail_request(qp, IBV_WC_LOC_QP_OP_ERR);
		return VL_SEND_NOTHING;
	}
	offset = ((requester->send_psn - send->first_psn) & VL_PSN_MASK) << qp->path_mtu_shift;
	first = offset == 0 || send->opcode == IBV_WR_RDMA_READ;
	if (must_wait(qp, send, first))
		return VL_SEND_NOTHING;
	/* READ, ATOMIC and FLUSH carry no data out; ATOMIC WRITE carries its eight bytes. */
	if (send->is_read_or_atomic && send->opcode != IBV_WR_ATOMIC_WRITE) {
		last = true;
	} else {
		payload = send->length - offset;
		last = payload <= qp->path_mtu;
		if (!last)
			payload = qp->path_mtu;
		if (vl_gather(qp, send, &requester->cursor, offset, payload, outgoing)) {
			/* Completions keep their order: first everything before it. */
			if (requester->queue.head == requester->queue.next)
				vl_rc_fail_request(qp, IBV_WC_LOC_PROT_ERR);
			return VL_SEND_NOTHING;
		}
	}
	bth.opcode = (uint8_t)operation_of(send, first, last);
	flags = vl_opcode_table[bth.opcode].flags;
	bth.solicited = last && (flags & (VL_OPCODE_SEND | VL_OPCODE_IMMDT)) &&
			(send->send_flags & IBV_SEND_SOLICITED);
	bth.ack_request = wants_ack(qp, send, last);
	extensions = vl_outgoing_begin(qp, &qp->path, &bth, payload, outgoing);
	write_extensions(send, flags, offset, extensions);
	packet_was_sent(qp, send, outgoing,
			send->opcode == IBV_WR_RDMA_READ
				? send->packet_count - (offset >> qp->path_mtu_shift)
				: 1,
			last, bth.ack_request, now);
	return VL_SEND_PACKET;
}

/* The next request waits for what was sent without asking for an answer, which may never come: the
 * newest packet is repeated, and asks. It is of a SEND or WRITE, as all others are answered. */
static enum vl_send_result ask_for_answer(struct vl_qp *qp)
{
	struct vl_requester *requester = &qp->requester;

	if (!in_flight(qp) || is_answer_due(requester))
		return VL_SEND_NOTHING;
	vl_rc_rewind(qp, vl_psn_add(requester->send_psn, VL_PSN_MASK));
	requester->packets_since_ack_request = UINT16_MAX;
	return VL_SEND_AGAIN;
}

enum vl_send_result vl_rc_send(struct vl_qp *qp, struct vl_outgoing *outgoing, uint64_t now)
{
	struct vl_requester *requester = &qp->requester;
	bool response = vl_rc_has_response(qp);
	bool request = vl_rc_has_request(qp);
	enum vl_send_result result;

	if (requester->is_waiting_rnr && now >= requester->wait_until) {
		requester->is_waiting_rnr = false;
		vl_rc_restart_ack_timer(qp, now);
	}
	if (!response && !request)
		return VL_SEND_NOTHING;
	if (!vl_pace_allows(qp, now))
		return VL_SEND_LATER;
	if (response && (qp->response_turn || !request || requester->is_waiting_rnr)) {
		qp->response_turn = false;
		return vl_rc_send_response(qp, outgoing, now);
	}
	if (requester->is_waiting_rnr) {
		requester->wake_time = requester->wait_until;
		return VL_SEND_LATER;
	}
	qp->response_turn = true;
	result = vl_rc_send_request(qp, outgoing, now);
	if (result == VL_SEND_NOTHING && vl_rc_has_request(qp))
		result = ask_for_answer(qp);
	if (result == VL_SEND_NOTHING && response && qp->state != IBV_QPS_ERR)
		return vl_rc_send_response(qp, outgoing, now);
	return result;
}
