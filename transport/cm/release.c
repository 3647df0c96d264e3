/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* DREQ and DREP, both ways; and LAP, which is declined. IBTA 12.6.10, 12.6.11, 12.8. */

#include "transport/cm/connection_private.h"

#include <string.h>

void vl_cm_send_dreq(struct vl_cm_connection *connection, uint64_t now)
{
	struct vl_cm *cm = connection->cm;
	const struct vl_cm_message message = {
		.attribute_id = VL_CM_DREQ,
		.transaction_id = connection->transaction_id,
		.dreq = {.local_comm_id = connection->local_comm_id,
			 .remote_comm_id = connection->remote_comm_id,
			 .remote_qpn_eecn = connection->remote_qpn},
	};

	vl_list_remove(&connection->waiting);
	vl_cm_set_state(connection, VL_CM_STATE_DREQ_SENT);
	connection->is_notified = false;
	vl_cm_send(connection, &message, now);
	vl_cm_await_answer(connection, cm->config.max_retries, now);
}

static void make_drep(struct vl_cm_message *answer, const struct vl_cm_message *message)
{
	*answer = (struct vl_cm_message){
		.attribute_id = VL_CM_DREP,
		.transaction_id = message->transaction_id,
		.drep = {.local_comm_id = message->dreq.remote_comm_id,
			 .remote_comm_id = message->dreq.local_comm_id},
	};
}

static bool is_of(const struct vl_cm_connection *connection, const struct vl_cm_dreq *dreq)
{
	/* A peer may release what it has accepted before its REP came here. */
	bool is_peer = connection->state == VL_CM_STATE_REQ_SENT ||
		       connection->remote_comm_id == dreq->local_comm_id;

	return connection->qp_type != IBV_QPT_UD && is_peer &&
	       connection->local_qpn == dreq->remote_qpn_eecn;
}

void vl_cm_receive_dreq(struct vl_cm *cm, const struct vl_cm_datagram *datagram,
			const struct vl_cm_message *message, uint64_t now)
{
	struct vl_cm_connection *connection = vl_cm_find_local(cm, message->dreq.remote_comm_id);
	struct vl_cm_message answer;

	make_drep(&answer, message);
	if (!connection || !is_of(connection, &message->dreq)) {
		/* The peer holds what we have forgotten: it may let it go. */
		cm->counters.unknown_rx++;
		vl_cm_answer(cm, datagram, &answer, now);
		return;
	}
	if (memcmp(&connection->remote_gid, &datagram->source, sizeof(datagram->source))) {
		cm->counters.wrong_peer++;
		return;
	}
	switch (connection->state) {
	case VL_CM_STATE_REQ_SENT:
		vl_cm_answer(cm, datagram, &answer, now);
		vl_cm_end_rejected(connection, VL_CM_REJECT_CONSUMER, message, now);
		break;
	case VL_CM_STATE_TIMEWAIT:
		cm->counters.duplicates_rx++;
		vl_cm_answer(cm, datagram, &answer, now);
		break;
	case VL_CM_STATE_REP_SENT:
	case VL_CM_STATE_REP_RECEIVED:
	case VL_CM_STATE_ESTABLISHED:
	case VL_CM_STATE_DREQ_SENT:
		vl_cm_answer(cm, datagram, &answer, now);
		vl_cm_enter_time_wait(connection, now);
		vl_cm_tell_disconnected(connection, message, now);
		break;
	default:
		cm->counters.unexpected_rx++;
		break;
	}
}

void vl_cm_receive_drep(struct vl_cm_connection *connection, const struct vl_cm_message *message,
			uint64_t now)
{
	if (connection->state != VL_CM_STATE_DREQ_SENT) {
		connection->cm->counters.unexpected_rx++;
		return;
	}
	vl_cm_enter_time_wait(connection, now);
	vl_cm_tell_disconnected(connection, message, now);
}

void vl_cm_receive_lap(struct vl_cm *cm, const struct vl_cm_datagram *datagram,
		       const struct vl_cm_message *message, uint64_t now)
{
	const struct vl_cm_lap *lap = &message->lap;
	const struct vl_cm_connection *connection = vl_cm_find_local(cm, lap->remote_comm_id);
	struct vl_cm_message answer = {
		.attribute_id = VL_CM_APR,
		.transaction_id = message->transaction_id,
		.apr = {.local_comm_id = lap->remote_comm_id,
			.remote_comm_id = lap->local_comm_id,
			.status = VL_CM_APR_UNSUPPORTED},
	};

	if (!connection || connection->state != VL_CM_STATE_ESTABLISHED ||
	    connection->remote_comm_id != lap->local_comm_id) {
		cm->counters.unknown_rx++;
		answer.apr.status = VL_CM_APR_INVALID_COMM_ID;
	}
	vl_cm_answer(cm, datagram, &answer, now);
}
