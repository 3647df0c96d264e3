/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The ways into ERR and SQE, and the end of draining. */

#include "transport/object/internal.h"

void vl_qp_fail(struct vl_qp *qp, enum ibv_event_type event)
{
	if (qp->state == IBV_QPS_RESET || qp->state == IBV_QPS_ERR)
		return;
	qp->state = IBV_QPS_ERR;
	vl_engine_forget(qp);
	vl_flush_sends(qp);
	vl_flush_receives(qp);
	if (event != VL_NO_EVENT)
		vl_raise_event(qp->device, event, qp);
	/* IBTA 11.6.3.4: the QP takes nothing more from the SRQ. */
	if (qp->srq)
		vl_raise_event(qp->device, IBV_EVENT_QP_LAST_WQE_REACHED, qp);
}

void vl_qp_fail_send_queue(struct vl_qp *qp)
{
	if (qp->state != IBV_QPS_RTS && qp->state != IBV_QPS_SQD)
		return;
	qp->state = IBV_QPS_SQE;
	qp->requester.is_draining = false;
	vl_engine_forget(qp);
	vl_flush_sends(qp);
}

void vl_qp_drained(struct vl_qp *qp)
{
	if (qp->state != IBV_QPS_SQD || qp->requester.drained_reported)
		return;
	qp->requester.drained_reported = true;
	if (qp->sqd_notify)
		vl_raise_event(qp->device, IBV_EVENT_SQ_DRAINED, qp);
}
