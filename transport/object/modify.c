/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * The state machine of queue pairs, IBTA 10.3.1 and tables 95 to 97 of 11.2.5.2: which transition
 * needs, and which may carry, which attributes. Everything is checked, and the address resolved,
 * before anything changes.
 */

#include "transport/object/internal.h"
#include "transport/psn.h"

#include <errno.h>

#define STATES (IBV_QPS_ERR + 1)

enum kind { KIND_RC, KIND_UC, KIND_UD, KIND_GSI, KIND_COUNT };

struct transition {
	bool is_allowed;
	int required[KIND_COUNT], optional[KIND_COUNT];
};

#define RTR_RC                                                                                     \
	(IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |                           \
	 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RTR_UC (IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define RTS_RC                                                                                     \
	(IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |                    \
	 IBV_QP_MAX_QP_RD_ATOMIC)
/* What a QP that is running may change. */
#define RUNNING_RC                                                                                 \
	(IBV_QP_CUR_STATE | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER |         \
	 IBV_QP_PATH_MIG_STATE)
#define RUNNING_UC                                                                                 \
	(IBV_QP_CUR_STATE | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PATH_MIG_STATE)
#define RUNNING_UD     (IBV_QP_CUR_STATE | IBV_QP_QKEY)
#define CONNECTED_INIT (IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)
#define DATAGRAM_INIT  (IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY)
#define GSI_INIT       (IBV_QP_PKEY_INDEX | IBV_QP_QKEY)

#define ALLOWED                                                                                    \
	{                                                                                          \
		.is_allowed = true                                                                 \
	}

static const struct transition transitions[STATES][STATES] = {
	[IBV_QPS_RESET] =
		{
			[IBV_QPS_RESET] = ALLOWED,
			[IBV_QPS_INIT] = {true,
					  {CONNECTED_INIT, CONNECTED_INIT, DATAGRAM_INIT, GSI_INIT},
					  {0}},
		},
	[IBV_QPS_INIT] =
		{
			[IBV_QPS_RESET] = ALLOWED,
			[IBV_QPS_ERR] = ALLOWED,
			[IBV_QPS_INIT] = {true,
					  {0},
					  {CONNECTED_INIT, CONNECTED_INIT, DATAGRAM_INIT,
					   GSI_INIT}},
			[IBV_QPS_RTR] = {true,
					 {RTR_RC, RTR_UC, 0, 0},
					 {IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX,
					  IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX,
					  IBV_QP_PKEY_INDEX | IBV_QP_QKEY,
					  IBV_QP_PKEY_INDEX | IBV_QP_QKEY}},
		},
	[IBV_QPS_RTR] =
		{
			[IBV_QPS_RESET] = ALLOWED,
			[IBV_QPS_ERR] = ALLOWED,
			[IBV_QPS_RTS] = {true,
					 {RTS_RC, IBV_QP_SQ_PSN, IBV_QP_SQ_PSN, IBV_QP_SQ_PSN},
					 {RUNNING_RC, RUNNING_UC, RUNNING_UD, RUNNING_UD}},
		},
	[IBV_QPS_RTS] =
		{
			[IBV_QPS_RESET] = ALLOWED,
			[IBV_QPS_ERR] = ALLOWED,
			[IBV_QPS_RTS] = {true,
					 {0},
					 {RUNNING_RC, RUNNING_UC, RUNNING_UD, RUNNING_UD}},
			[IBV_QPS_SQD] = {true,
					 {0},
					 {IBV_QP_EN_SQD_ASYNC_NOTIFY, IBV_QP_EN_SQD_ASYNC_NOTIFY,
					  IBV_QP_EN_SQD_ASYNC_NOTIFY, IBV_QP_EN_SQD_ASYNC_NOTIFY}},
		},
	[IBV_QPS_SQD] =
		{
			[IBV_QPS_RESET] = ALLOWED,
			[IBV_QPS_ERR] = ALLOWED,
			[IBV_QPS_RTS] = {true,
					 {0},
					 {RUNNING_RC, RUNNING_UC, RUNNING_UD, RUNNING_UD}},
			[IBV_QPS_SQD] = {true,
					 {0},
					 {IBV_QP_PORT | IBV_QP_AV |
						  IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
						  IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC |
						  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_ALT_PATH |
						  IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX |
						  IBV_QP_MIN_RNR_TIMER | IBV_QP_PATH_MIG_STATE,
					  IBV_QP_AV | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS |
						  IBV_QP_PKEY_INDEX | IBV_QP_PATH_MIG_STATE,
					  IBV_QP_PKEY_INDEX | IBV_QP_QKEY,
					  IBV_QP_PKEY_INDEX | IBV_QP_QKEY}},
		},
	[IBV_QPS_SQE] =
		{
			[IBV_QPS_RESET] = ALLOWED,
			[IBV_QPS_ERR] = ALLOWED,
			/* An RC QP is never in SQE. */
			[IBV_QPS_RTS] = {true,
					 {0},
					 {0, IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS, RUNNING_UD,
					  RUNNING_UD}},
		},
	[IBV_QPS_ERR] =
		{
			[IBV_QPS_RESET] = ALLOWED,
			[IBV_QPS_ERR] = ALLOWED,
		},
};

static enum kind kind_of(const struct vl_qp *qp)
{
	if (qp->type == IBV_QPT_UD)
		return qp->is_gsi ? KIND_GSI : KIND_UD;
	return qp->type == IBV_QPT_UC ? KIND_UC : KIND_RC;
}

static int check_transition(const struct vl_qp *qp, enum ibv_qp_state to, int mask)
{
	const struct transition *transition;
	enum kind kind = kind_of(qp);
	int required, allowed;

	if ((unsigned int)to >= STATES)
		return -EINVAL;
	transition = &transitions[qp->state][to];
	required = transition->required[kind];
	allowed = required | transition->optional[kind] | IBV_QP_STATE;
	if (!transition->is_allowed || (mask & required) != required || mask & ~allowed)
		return -EINVAL;
	/* No device here migrates paths. */
	return mask & IBV_QP_ALT_PATH ? -EINVAL : 0;
}

/* CUR_STATE says what the caller believes; IBTA allows it for the states that a QP enters by
 * itself or leaves under load. */
static int check_current_state(const struct vl_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	if (!(mask & IBV_QP_CUR_STATE))
		return 0;
	if (attr->cur_qp_state < IBV_QPS_RTR || attr->cur_qp_state > IBV_QPS_SQE)
		return -EINVAL;
	return (uint8_t)attr->cur_qp_state == qp->state ? 0 : -EINVAL;
}

static int check_values(const struct vl_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	const struct vl_device_config *config = &qp->device->config;

	if (mask & IBV_QP_PORT && attr->port_num != 1)
		return -EINVAL;
	if (mask & IBV_QP_PKEY_INDEX && attr->pkey_index >= config->pkey_count)
		return -EINVAL;
	if (mask & IBV_QP_ACCESS_FLAGS && attr->qp_access_flags & ~(unsigned int)VL_QP_ACCESS_MASK)
		return -EINVAL;
	if (mask & IBV_QP_QKEY && qp->is_gsi && attr->qkey != VL_GSI_QKEY)
		return -EINVAL;
	if (mask & IBV_QP_PATH_MTU &&
	    (attr->path_mtu < IBV_MTU_256 || attr->path_mtu > config->active_mtu))
		return -EINVAL;
	if (mask & IBV_QP_DEST_QPN && attr->dest_qp_num > VL_PSN_MASK)
		return -EINVAL;
	if (mask & IBV_QP_PATH_MIG_STATE && attr->path_mig_state != IBV_MIG_MIGRATED)
		return -EINVAL;
	if (mask & IBV_QP_MAX_QP_RD_ATOMIC && attr->max_rd_atomic > config->max_qp_rd_atom)
		return -EINVAL;
	if (mask & IBV_QP_MAX_DEST_RD_ATOMIC && attr->max_dest_rd_atomic > config->max_qp_rd_atom)
		return -EINVAL;
	if ((mask & IBV_QP_MIN_RNR_TIMER && attr->min_rnr_timer > 31) ||
	    (mask & IBV_QP_TIMEOUT && attr->timeout > 31) ||
	    (mask & IBV_QP_RETRY_CNT && attr->retry_cnt > 7) ||
	    (mask & IBV_QP_RNR_RETRY && attr->rnr_retry > 7))
		return -EINVAL;
	return 0;
}

static void set_path_mtu(struct vl_qp *qp, enum ibv_mtu mtu)
{
	qp->path_mtu_shift = (uint8_t)(7 + mtu);
	qp->path_mtu = (uint16_t)(1u << qp->path_mtu_shift);
}

static void apply_address(struct vl_qp *qp, const struct ibv_ah_attr *attr,
			  const struct vl_path *path, uint8_t priority)
{
	bool moves = qp->state == IBV_QPS_SQD && priority != qp->priority;

	if (moves)
		vl_engine_forget(qp);
	qp->path = *path;
	qp->priority = priority;
	*qp->ah_attr = *attr;
	qp->remote_gid = attr->grh.dgid;
	qp->gid_index = attr->grh.sgid_index;
	/* A draining QP still answers; each finds nothing to do if there is nothing. */
	if (moves) {
		vl_engine_urgent(qp);
		vl_engine_ready(qp);
	}
}

static void apply_values(struct vl_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	if (mask & IBV_QP_PKEY_INDEX) {
		qp->pkey_index = (uint8_t)attr->pkey_index;
		qp->pkey = qp->device->config.pkeys[attr->pkey_index];
	}
	if (mask & IBV_QP_ACCESS_FLAGS)
		qp->access = attr->qp_access_flags;
	if (mask & IBV_QP_QKEY)
		qp->qkey = attr->qkey;
	if (mask & IBV_QP_PATH_MTU)
		set_path_mtu(qp, attr->path_mtu);
	if (mask & IBV_QP_DEST_QPN)
		qp->remote_qpn = attr->dest_qp_num;
	if (mask & IBV_QP_RQ_PSN)
		qp->responder.expected_psn = attr->rq_psn & VL_PSN_MASK;
	if (mask & IBV_QP_MIN_RNR_TIMER)
		qp->min_rnr_timer = attr->min_rnr_timer;
	if (mask & IBV_QP_MAX_DEST_RD_ATOMIC) {
		qp->max_dest_rd_atomic = attr->max_dest_rd_atomic;
		qp->responder.resource_count = attr->max_dest_rd_atomic;
	}
	if (mask & IBV_QP_MAX_QP_RD_ATOMIC)
		qp->max_rd_atomic = attr->max_rd_atomic;
	if (mask & IBV_QP_TIMEOUT)
		qp->timeout = attr->timeout;
	if (mask & IBV_QP_RETRY_CNT)
		qp->retry_count = qp->requester.retries_left = attr->retry_cnt;
	if (mask & IBV_QP_RNR_RETRY)
		qp->rnr_retry = qp->requester.rnr_retries_left = attr->rnr_retry;
}

static void start_requester(struct vl_qp *qp, uint32_t sq_psn, uint64_t now)
{
	struct vl_requester *requester = &qp->requester;

	requester->post_psn = requester->send_psn = requester->unsent_psn = requester->unacked_psn =
		requester->ack_request_psn = sq_psn & VL_PSN_MASK;
	requester->unlimited_credits = qp->device->config.assume_unlimited_credits;
	if (qp->cc->algorithm->init)
		qp->cc->algorithm->init(&qp->cc_state, qp->cc, qp->device->config.link_rate, now);
}

/* Nothing is under way: the oldest request has not been begun. */
static bool is_drained(const struct vl_qp *qp)
{
	const struct vl_requester *requester = &qp->requester;
	const struct vl_send_queue *queue = &requester->queue;

	return queue->head == queue->tail ||
	       vl_send_at(queue, queue->head)->first_psn == requester->unsent_psn;
}

static void start_draining(struct vl_qp *qp, bool notify)
{
	qp->state = IBV_QPS_SQD;
	qp->sqd_notify = notify;
	qp->requester.is_draining = true;
	qp->requester.drained_reported = false;
	if (is_drained(qp))
		vl_qp_drained(qp);
}

/* Attributes are in place; what else the new state brings. */
static void enter(struct vl_qp *qp, enum ibv_qp_state to, const struct ibv_qp_attr *attr, int mask,
		  uint64_t now)
{
	enum ibv_qp_state from = (enum ibv_qp_state)qp->state;

	if (to == from)
		return;
	switch (to) {
	case IBV_QPS_INIT:
		if (qp->type == IBV_QPT_UD)
			set_path_mtu(qp, qp->device->config.active_mtu);
		break;
	case IBV_QPS_RTS:
		if (from == IBV_QPS_RTR)
			start_requester(qp, attr->sq_psn, now);
		qp->requester.is_draining = qp->requester.drained_reported = false;
		break;
	case IBV_QPS_SQD:
		start_draining(qp, mask & IBV_QP_EN_SQD_ASYNC_NOTIFY && attr->en_sqd_async_notify);
		return;
	default:
		break;
	}
	qp->state = (uint8_t)to;
	if (from == IBV_QPS_SQD)
		vl_engine_ready(qp);
}

int vl_modify_qp(struct vl_qp *qp, const struct ibv_qp_attr *attr, int mask, uint64_t now)
{
	enum ibv_qp_state to = mask & IBV_QP_STATE ? attr->qp_state : (enum ibv_qp_state)qp->state;
	struct vl_path path;
	uint8_t priority;
	int result;

	result = check_transition(qp, to, mask);
	if (!result)
		result = check_current_state(qp, attr, mask);
	if (!result)
		result = check_values(qp, attr, mask);
	/* IBTA 10.3.1.5: a draining queue keeps what it drains with. */
	if (!result && qp->state == IBV_QPS_SQD && to == IBV_QPS_SQD && mask & ~IBV_QP_STATE &&
	    !qp->requester.drained_reported)
		result = -EBUSY;
	if (!result && mask & IBV_QP_AV)
		result = vl_path_from_attr(
			qp->device, &attr->ah_attr, NULL, qp->udp_source_port, qp->qpn,
			mask & IBV_QP_DEST_QPN ? attr->dest_qp_num : qp->remote_qpn, &path,
			&priority);
	if (result)
		return result;

	if (now > qp->device->now)
		qp->device->now = now;
	if (mask & IBV_QP_AV)
		apply_address(qp, &attr->ah_attr, &path, priority);
	apply_values(qp, attr, mask);
	if (to == IBV_QPS_RESET)
		vl_qp_reset(qp);
	else if (to == IBV_QPS_ERR)
		vl_qp_fail(qp, VL_NO_EVENT);
	else
		enter(qp, to, attr, mask, now);
	return 0;
}
