/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Receive requests: posting to a QP, and what the responders do with them. */

#include "transport/object/internal.h"

#include <errno.h>
#include <string.h>

int vl_receive_queue_post(struct vl_receive_queue *queue, const struct ibv_recv_wr *wr)
{
	struct vl_receive *receive;

	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > queue->max_sge ||
	    (wr->num_sge && !wr->sg_list))
		return -EINVAL;
	if (queue->tail - queue->head >= queue->limit)
		return -ENOMEM;
	receive = vl_receive_at(queue, queue->tail);
	receive->wr_id = wr->wr_id;
	receive->length = 0;
	receive->sge_count = (uint32_t)wr->num_sge;
	for (uint32_t i = 0; i < receive->sge_count; i++) {
		receive->sges[i] = wr->sg_list[i];
		receive->length += wr->sg_list[i].length;
	}
	queue->tail++;
	return 0;
}

int vl_post_recv(struct vl_qp *qp, const struct ibv_recv_wr *wr, const struct ibv_recv_wr **bad_wr)
{
	int result = 0;

	for (; wr; wr = wr->next) {
		result = qp->srq || qp->state == IBV_QPS_RESET
				 ? -EINVAL
				 : vl_receive_queue_post(&qp->responder.queue, wr);
		if (result) {
			*bad_wr = wr;
			break;
		}
	}
	if (qp->state == IBV_QPS_ERR)
		vl_flush_receives(qp);
	else if (qp->type == IBV_QPT_RC && qp->state >= IBV_QPS_RTR)
		vl_rc_receives_posted(qp);
	return result;
}

static struct vl_receive *take_shared(struct vl_srq *srq, struct vl_receive *room)
{
	struct vl_receive_queue *queue = &srq->queue;
	const struct vl_receive *oldest;

	if (queue->head == queue->tail)
		return NULL;
	oldest = vl_receive_at(queue, queue->head);
	memcpy(room, oldest, sizeof(*room) + oldest->sge_count * sizeof(struct ibv_sge));
	queue->head++;
	if (queue->tail - queue->head < srq->limit) {
		srq->limit = 0;
		vl_raise_event(srq->pd->device, IBV_EVENT_SRQ_LIMIT_REACHED, srq);
	}
	return room;
}

struct vl_receive *vl_receive_take(struct vl_qp *qp)
{
	struct vl_responder *responder = &qp->responder;
	struct vl_receive_queue *queue = &responder->queue;

	if (responder->receive)
		return responder->receive;
	if (qp->srq)
		responder->receive = take_shared(qp->srq, responder->held);
	else if (queue->head != queue->tail)
		responder->receive = vl_receive_at(queue, queue->head);
	return responder->receive;
}

uint32_t vl_receive_available(const struct vl_qp *qp)
{
	const struct vl_responder *responder = &qp->responder;

	if (qp->srq)
		return qp->srq->queue.tail - qp->srq->queue.head;
	return responder->queue.tail - responder->queue.head - (responder->receive ? 1 : 0);
}

void vl_receive_complete(struct vl_qp *qp, const struct ibv_wc *wc, bool solicited)
{
	struct vl_responder *responder = &qp->responder;
	struct ibv_wc completion = *wc;

	if (!responder->receive)
		return;
	completion.wr_id = responder->receive->wr_id;
	completion.qp_num = qp->qpn;
	responder->receive = NULL;
	if (!qp->srq)
		responder->queue.head++;
	/* A flushed receive is a message that nobody sent. */
	if (wc->status != IBV_WC_SUCCESS && wc->status != IBV_WC_WR_FLUSH_ERR)
		VL_COUNT(qp, message_fail);
	vl_cq_add(qp->recv_cq, &completion, solicited);
}

void vl_flush_receives(struct vl_qp *qp)
{
	const struct ibv_wc flushed = {.status = IBV_WC_WR_FLUSH_ERR, .opcode = IBV_WC_RECV};
	struct vl_responder *responder = &qp->responder;

	if (qp->is_flushing_receives)
		return;
	qp->is_flushing_receives = true;
	/* Of an SRQ's requests only the one that was taken is the QP's. */
	while (responder->receive || (!qp->srq && vl_receive_take(qp)))
		vl_receive_complete(qp, &flushed, false);
	qp->is_flushing_receives = false;
}
