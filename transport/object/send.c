/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Send requests: posting and completing. */

#include "transport/object/internal.h"
#include "transport/psn.h"

#include <errno.h>
#include <string.h>

#define ATOMIC_LENGTH 8
#define SEND_FLAGS    (IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE)

#define ON_RC 1u
#define ON_UC 2u
#define ON_UD 4u

/* The send operations: where they may be posted, and how they behave. */
struct operation {
	uint8_t services;
	bool carries_data;   /* the elements go out, so they may be inline */
	bool is_eight_bytes; /* ATOMIC, ATOMIC WRITE */
	bool is_answered;    /* by its own response, which takes a responder resource */
	bool is_local;       /* takes no PSN */
	bool consumes_credit;
	uint8_t completion; /* enum ibv_wc_opcode */
};

static const struct operation operations[] = {
	[IBV_WR_SEND] = {ON_RC | ON_UC | ON_UD, .carries_data = true, .consumes_credit = true,
			 .completion = IBV_WC_SEND},
	[IBV_WR_SEND_WITH_IMM] = {ON_RC | ON_UC | ON_UD, .carries_data = true,
				  .consumes_credit = true, .completion = IBV_WC_SEND},
	[IBV_WR_SEND_WITH_INV] = {ON_RC, .carries_data = true, .consumes_credit = true,
				  .completion = IBV_WC_SEND},
	[IBV_WR_RDMA_WRITE] = {ON_RC | ON_UC, .carries_data = true,
			       .completion = IBV_WC_RDMA_WRITE},
	[IBV_WR_RDMA_WRITE_WITH_IMM] = {ON_RC | ON_UC, .carries_data = true,
					.consumes_credit = true, .completion = IBV_WC_RDMA_WRITE},
	[IBV_WR_RDMA_READ] = {ON_RC, .is_answered = true, .completion = IBV_WC_RDMA_READ},
	[IBV_WR_ATOMIC_CMP_AND_SWP] = {ON_RC, .is_eight_bytes = true, .is_answered = true,
				       .completion = IBV_WC_COMP_SWAP},
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = {ON_RC, .is_eight_bytes = true, .is_answered = true,
					 .completion = IBV_WC_FETCH_ADD},
	[IBV_WR_ATOMIC_WRITE] = {ON_RC, .carries_data = true, .is_eight_bytes = true,
				 .is_answered = true, .completion = IBV_WC_ATOMIC_WRITE},
	[VL_WR_FLUSH] = {ON_RC, .is_answered = true, .completion = VL_WC_FLUSH},
	[IBV_WR_LOCAL_INV] = {ON_RC, .is_local = true, .completion = IBV_WC_LOCAL_INV},
	[IBV_WR_BIND_MW] = {ON_RC, .is_local = true, .completion = IBV_WC_BIND_MW},
};

static const struct operation *find_operation(unsigned int opcode)
{
	if (opcode >= sizeof(operations) / sizeof(operations[0]) || !operations[opcode].services)
		return NULL;
	return &operations[opcode];
}

static unsigned int service_of(const struct vl_qp *qp)
{
	return qp->type == IBV_QPT_RC ? ON_RC : qp->type == IBV_QPT_UC ? ON_UC : ON_UD;
}

/* ---- Posting ------------------------------------------------------------------------------- */

static int check_room(const struct vl_qp *qp)
{
	const struct vl_send_queue *queue = &qp->requester.queue;

	if (qp->state < IBV_QPS_RTS)
		return -EINVAL;
	return queue->tail - queue->head >= queue->limit ? -ENOMEM : 0;
}

static int check_length(const struct vl_qp *qp, const struct operation *operation,
			const struct ibv_send_wr *wr, uint64_t length)
{
	if (wr->send_flags & IBV_SEND_INLINE && length > qp->requester.queue.max_inline)
		return -EINVAL;
	if (operation->is_eight_bytes)
		return length == ATOMIC_LENGTH ? 0 : -EINVAL;
	return length <= (qp->type == IBV_QPT_UD ? qp->path_mtu : VL_MAX_MESSAGE) ? 0 : -EINVAL;
}

static int check_address_handle(const struct vl_qp *qp, const struct ibv_send_wr *wr)
{
	const struct vl_ah *ah = (const struct vl_ah *)wr->wr.ud.ah;

	return ah && ah->pd == qp->pd && !(wr->wr.ud.remote_qpn >> 24) ? 0 : -EINVAL;
}

/* 0 with the length of the message, or -EINVAL. */
static int check_request(const struct vl_qp *qp, const struct ibv_send_wr *wr, uint32_t *length)
{
	const struct operation *operation = find_operation(wr->opcode);
	uint64_t sum = 0;

	*length = 0;
	/* struct ibv_send_wr cannot say what a FLUSH needs. */
	if (!operation || !(operation->services & service_of(qp)) || wr->opcode == VL_WR_FLUSH)
		return -EINVAL;
	if (wr->send_flags & ~(unsigned int)SEND_FLAGS)
		return -EINVAL;
	if (operation->is_local)
		return wr->opcode == IBV_WR_BIND_MW && !wr->bind_mw.mw ? -EINVAL : 0;
	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > qp->requester.queue.max_sge ||
	    (wr->num_sge && !wr->sg_list))
		return -EINVAL;
	if (wr->send_flags & IBV_SEND_INLINE && !operation->carries_data)
		return -EINVAL;
	if (operation->is_answered && !qp->max_rd_atomic)
		return -EINVAL;
	for (int i = 0; i < wr->num_sge; i++)
		sum += wr->sg_list[i].length;
	if (check_length(qp, operation, wr, sum))
		return -EINVAL;
	*length = (uint32_t)sum;
	return qp->type == IBV_QPT_UD ? check_address_handle(qp, wr) : 0;
}

static void copy_data(struct vl_send *send, const struct ibv_send_wr *wr)
{
	uint8_t *data = (uint8_t *)send->sges;

	if (!send->is_inline) {
		send->sge_count = (uint8_t)wr->num_sge;
		for (int i = 0; i < wr->num_sge; i++)
			send->sges[i] = wr->sg_list[i];
		return;
	}
	for (int i = 0; i < wr->num_sge; i++) {
		memcpy(data, (const void *)(uintptr_t)wr->sg_list[i].addr, wr->sg_list[i].length);
		data += wr->sg_list[i].length;
	}
}

static void copy_operands(struct vl_qp *qp, struct vl_send *send, const struct ibv_send_wr *wr)
{
	if (qp->type == IBV_QPT_UD) {
		send->ah = (struct vl_ah *)wr->wr.ud.ah;
		send->ah->use_count++;
		vl_ud_choose_priority(qp, send);
		send->remote_qpn = wr->wr.ud.remote_qpn;
		send->rkey = wr->wr.ud.remote_qkey;
		return;
	}
	switch (wr->opcode) {
	case IBV_WR_BIND_MW:
		send->mw = wr->bind_mw.mw;
		send->rkey = wr->bind_mw.rkey;
		send->bind = wr->bind_mw.bind_info;
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		send->remote_address = wr->wr.atomic.remote_addr;
		send->rkey = wr->wr.atomic.rkey;
		send->compare_add = wr->wr.atomic.compare_add;
		send->swap = wr->wr.atomic.swap;
		break;
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_RDMA_READ:
	case IBV_WR_ATOMIC_WRITE:
		send->remote_address = wr->wr.rdma.remote_addr;
		send->rkey = wr->wr.rdma.rkey;
		break;
	default:
		break;
	}
}

/* A cleared request at the tail. */
static struct vl_send *begin(struct vl_qp *qp, uint64_t wr_id, unsigned int opcode,
			     unsigned int send_flags)
{
	struct vl_send *send = vl_send_at(&qp->requester.queue, qp->requester.queue.tail);

	memset(send, 0, sizeof(*send));
	send->wr_id = wr_id;
	send->opcode = (uint8_t)opcode;
	send->send_flags = (uint8_t)send_flags;
	if (qp->sq_sig_all)
		send->send_flags |= IBV_SEND_SIGNALED;
	return send;
}

static void finish(struct vl_qp *qp, struct vl_send *send)
{
	vl_requester_posted(qp, send);
	qp->requester.queue.tail++;
}

/* What a QP does with new requests depends on its state. SQD keeps them, the services see to
 * that. */
static void start(struct vl_qp *qp)
{
	if (qp->state == IBV_QPS_RTS || qp->state == IBV_QPS_SQD)
		vl_engine_ready(qp);
	else if (qp->state == IBV_QPS_ERR || qp->state == IBV_QPS_SQE)
		vl_flush_sends(qp);
}

int vl_post_send(struct vl_qp *qp, const struct ibv_send_wr *wr, const struct ibv_send_wr **bad_wr,
		 uint64_t now)
{
	int result = 0;

	if (now > qp->device->now)
		qp->device->now = now;
	for (; wr; wr = wr->next) {
		struct vl_send *send;
		uint32_t length;

		result = check_room(qp);
		if (!result)
			result = check_request(qp, wr, &length);
		if (result) {
			*bad_wr = wr;
			break;
		}
		send = begin(qp, wr->wr_id, wr->opcode, wr->send_flags);
		send->length = length;
		send->is_inline = wr->send_flags & IBV_SEND_INLINE;
		send->immediate = wr->imm_data; /* or the key to invalidate: one union in both */
		copy_operands(qp, send, wr);
		if (!operations[wr->opcode].is_local)
			copy_data(send, wr);
		finish(qp, send);
	}
	start(qp);
	return result;
}

int vl_post_flush(struct vl_qp *qp, uint64_t wr_id, unsigned int send_flags, uint32_t rkey,
		  uint64_t remote_addr, uint32_t length, uint8_t placement, uint8_t selectivity,
		  uint64_t now)
{
	struct vl_send *send;
	int result = check_room(qp);

	if (result)
		return result;
	if (qp->type != IBV_QPT_RC || !qp->max_rd_atomic || length > VL_MAX_MESSAGE ||
	    send_flags & ~(unsigned int)(IBV_SEND_FENCE | IBV_SEND_SIGNALED) || !placement ||
	    placement & ~(VL_PLACEMENT_GLOBAL | VL_PLACEMENT_PERSISTENT) ||
	    selectivity > VL_SELECTIVITY_MR)
		return -EINVAL;
	if (now > qp->device->now)
		qp->device->now = now;
	send = begin(qp, wr_id, VL_WR_FLUSH, send_flags);
	send->rkey = rkey;
	send->remote_address = remote_addr;
	send->length = length;
	send->placement = placement;
	send->selectivity = selectivity;
	finish(qp, send);
	start(qp);
	return 0;
}

void vl_requester_posted(struct vl_qp *qp, struct vl_send *send)
{
	struct vl_requester *requester = &qp->requester;
	const struct operation *operation = &operations[send->opcode];

	send->is_read_or_atomic = operation->is_answered;
	send->consumes_credit = operation->consumes_credit;
	send->first_psn = requester->post_psn;
	if (operation->is_local) {
		send->packet_count = 0;
	} else if (operation->is_eight_bytes || send->opcode == VL_WR_FLUSH || !send->length) {
		send->packet_count = 1;
	} else {
		send->packet_count = (send->length + qp->path_mtu - 1) >> qp->path_mtu_shift;
	}
	if (!operation->is_local)
		requester->post_ssn = vl_psn_add(requester->post_ssn, 1);
	send->ssn = requester->post_ssn;
	requester->post_psn = vl_psn_add(requester->post_psn, send->packet_count);
}

/* ---- Completing ---------------------------------------------------------------------------- */

static uint32_t completed_length(const struct vl_send *send)
{
	switch (send->opcode) {
	case IBV_WR_RDMA_READ:
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return send->length;
	default:
		return 0;
	}
}

void vl_send_complete(struct vl_qp *qp, enum ibv_wc_status status)
{
	struct vl_send_queue *queue = &qp->requester.queue;
	const struct vl_send *send;
	struct ibv_wc wc = {.status = status, .qp_num = qp->qpn};
	bool is_reported;

	if (queue->head == queue->tail)
		return;
	send = vl_send_at(queue, queue->head);
	wc.wr_id = send->wr_id;
	wc.opcode = operations[send->opcode].completion;
	wc.byte_len = status == IBV_WC_SUCCESS ? completed_length(send) : 0;
	is_reported = send->send_flags & IBV_SEND_SIGNALED || status != IBV_WC_SUCCESS;
	if (qp->type == IBV_QPT_UD)
		send->ah->use_count--;
	/* The slot is free before the owner hears of it, and may post. */
	if (queue->next == queue->head)
		queue->next++;
	queue->head++;
	if (status == IBV_WC_SUCCESS)
		VL_COUNT(qp, message_tx);
	else
		VL_COUNT(qp, message_fail);
	if (is_reported)
		vl_cq_add(qp->send_cq, &wc, false);
}

void vl_send_complete_handed_out(struct vl_qp *qp)
{
	struct vl_requester *requester = &qp->requester;
	struct vl_send_queue *queue = &requester->queue;

	while (queue->head != queue->next)
		vl_send_complete(qp, IBV_WC_SUCCESS);
	if (queue->next == queue->tail ||
	    vl_send_at(queue, queue->next)->first_psn == requester->send_psn)
		vl_qp_drained(qp);
}

void vl_flush_sends(struct vl_qp *qp)
{
	struct vl_requester *requester = &qp->requester;
	struct vl_send_queue *queue = &requester->queue;

	if (qp->is_flushing_sends)
		return;
	qp->is_flushing_sends = true;
	if (qp->type != IBV_QPT_RC)
		vl_send_complete_handed_out(qp);
	while (queue->head != queue->tail)
		vl_send_complete(qp, IBV_WC_WR_FLUSH_ERR);
	requester->cursor = (struct vl_sge_cursor){0};
	requester->send_psn = requester->unsent_psn = requester->unacked_psn = requester->post_psn;
	qp->is_flushing_sends = false;
}

void vl_drop_work_requests(struct vl_qp *qp)
{
	struct vl_send_queue *sends = &qp->requester.queue;
	struct vl_receive_queue *receives = &qp->responder.queue;

	for (; qp->type == IBV_QPT_UD && sends->head != sends->tail; sends->head++)
		vl_send_at(sends, sends->head)->ah->use_count--;
	sends->head = sends->next = sends->tail = 0;
	receives->head = receives->tail = 0;
	qp->responder.receive = NULL;
}
