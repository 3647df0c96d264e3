/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* REP and RTU, both ways. IBTA 12.6.8, 12.6.9. */

#include "transport/cm/connection_private.h"

#include <errno.h>
#include <string.h>

/* Exponent; 15: 134 ms, as Linux soft-RoCE says. */
#define TARGET_ACK_DELAY 15

static int copy_private_data(struct vl_cm_message *message, const void *private_data,
			     uint8_t length)
{
	if (length > vl_cm_private_data_room(message->attribute_id))
		return -EMSGSIZE;
	if (length)
		memcpy(message->private_data, private_data, length);
	message->private_data_length = length;
	return 0;
}

/* ---- Passive -------------------------------------------------------------------------------- */

int vl_cm_send_rep(struct vl_cm_connection *connection, const struct vl_cm_accept_param *param,
		   uint64_t now)
{
	const struct vl_cm_conn_param *conn = &param->conn;
	struct vl_cm_message message = {
		.attribute_id = VL_CM_REP,
		.transaction_id = connection->transaction_id,
		.rep = {.local_comm_id = connection->local_comm_id,
			.remote_comm_id = connection->remote_comm_id,
			.local_qpn = conn->qpn,
			.starting_psn = connection->remote_psn,
			.responder_resources = conn->responder_resources,
			.initiator_depth = conn->initiator_depth,
			.target_ack_delay = TARGET_ACK_DELAY,
			.end_to_end_flow_control = conn->flow_control,
			.rnr_retry_count = conn->rnr_retry_count,
			.srq = conn->srq,
			.local_ca_guid = connection->cm->ca_guid},
	};
	int result = copy_private_data(&message, param->private_data, param->private_data_length);

	if (result)
		return result;
	connection->local_qpn = conn->qpn;
	connection->responder_resources = conn->responder_resources;
	connection->initiator_depth = conn->initiator_depth;
	result = vl_cm_send(connection, &message, now);
	if (result)
		return result;
	connection->accepted_time = now;
	vl_cm_set_state(connection, VL_CM_STATE_REP_SENT);
	vl_cm_await_answer(connection, connection->retries_left, now);
	return 0;
}

void vl_cm_establish_passive(struct vl_cm_connection *connection,
			     const struct vl_cm_message *message, uint64_t now)
{
	struct vl_cm_event event = {.type = VL_CM_EVENT_ESTABLISHED};

	vl_timer_cancel(&connection->cm->wheel, &connection->timer);
	vl_list_remove(&connection->waiting);
	vl_cm_set_state(connection, VL_CM_STATE_ESTABLISHED);
	if (message) {
		event.private_data = message->private_data;
		event.private_data_length = (uint8_t)message->private_data_length;
	}
	vl_cm_raise(connection, &event, now);
}

void vl_cm_receive_rtu(struct vl_cm_connection *connection, const struct vl_cm_message *message,
		       uint64_t now)
{
	if (connection->state == VL_CM_STATE_REP_SENT)
		vl_cm_establish_passive(connection, message, now);
	else if (connection->state == VL_CM_STATE_ESTABLISHED)
		connection->cm->counters.duplicates_rx++;
	else
		connection->cm->counters.unexpected_rx++;
}

/* ---- Active --------------------------------------------------------------------------------- */

static uint8_t lesser(uint8_t a, uint8_t b)
{
	return a < b ? a : b;
}

/* The peer's repeated REP: what it was answered with goes out again. */
static void receive_duplicate(struct vl_cm_connection *connection, uint64_t now)
{
	connection->cm->counters.duplicates_rx++;
	if (connection->state == VL_CM_STATE_ESTABLISHED)
		vl_cm_send_kept(connection, now);
	else if (connection->state == VL_CM_STATE_REP_RECEIVED &&
		 connection->patience == VL_CM_PATIENCE_ASKED)
		vl_cm_send_mra(connection, connection->cm->config.service_timeout, now);
}

static void take(struct vl_cm_connection *connection, const struct vl_cm_datagram *datagram,
		 const struct vl_cm_message *message, uint64_t now)
{
	const struct vl_cm_rep *rep = &message->rep;
	struct vl_cm_event event = {
		.type = VL_CM_EVENT_CONNECT_RESPONSE,
		.private_data = message->private_data,
		.private_data_length = (uint8_t)message->private_data_length,
	};

	vl_list_remove(&connection->waiting);
	vl_cm_set_state(connection, VL_CM_STATE_REP_RECEIVED);
	connection->remote_comm_id = rep->local_comm_id;
	connection->remote_qpn = rep->local_qpn;
	connection->local_psn = rep->starting_psn;
	memcpy(connection->remote_mac, datagram->mac, sizeof(connection->remote_mac));
	connection->has_mac = true;
	connection->responder_resources =
		lesser(connection->responder_resources, rep->initiator_depth);
	connection->initiator_depth = lesser(connection->initiator_depth, rep->responder_resources);
	connection->rnr_retry_count = rep->rnr_retry_count;
	vl_cm_enter_by_qpn(connection);
	event.param.conn = (struct vl_cm_conn_param){
		.responder_resources = connection->responder_resources,
		.initiator_depth = connection->initiator_depth,
		.retry_count = connection->retry_count,
		.rnr_retry_count = rep->rnr_retry_count,
		.flow_control = rep->end_to_end_flow_control,
		.srq = rep->srq,
		.qpn = rep->local_qpn,
	};
	vl_cm_await_owner(connection, now);
	vl_cm_raise(connection, &event, now);
}

void vl_cm_receive_rep(struct vl_cm *cm, const struct vl_cm_datagram *datagram,
		       const struct vl_cm_message *message, uint64_t now)
{
	const struct vl_cm_rep *rep = &message->rep;
	struct vl_cm_connection *connection = vl_cm_find_local(cm, rep->remote_comm_id), *old;

	if (!connection || connection->qp_type == IBV_QPT_UD || !connection->is_active) {
		cm->counters.unknown_rx++;
		vl_cm_answer_rej(cm, datagram, message, VL_CM_REJECT_INVALID_COMM_ID, NULL, 0, now);
		return;
	}
	if (memcmp(&connection->remote_gid, &datagram->source, sizeof(datagram->source))) {
		cm->counters.wrong_peer++;
		return;
	}
	if (connection->state != VL_CM_STATE_REQ_SENT) {
		if (connection->remote_comm_id == rep->local_comm_id)
			receive_duplicate(connection, now);
		else
			cm->counters.unexpected_rx++;
		return;
	}
	old = vl_cm_find_qpn(cm, rep->local_qpn, &datagram->source);
	if (old || !rep->local_qpn) {
		cm->counters.stale++;
		vl_cm_answer_rej(cm, datagram, message, VL_CM_REJECT_STALE_CONNECTION, NULL, 0,
				 now);
		if (old && old->state == VL_CM_STATE_ESTABLISHED)
			vl_cm_send_dreq(old, now);
		vl_cm_end_rejected(connection, VL_CM_REJECT_STALE_CONNECTION, NULL, now);
		return;
	}
	take(connection, datagram, message, now);
}

int vl_cm_establish(struct vl_cm_connection *connection, const void *private_data,
		    uint8_t private_data_length, uint64_t now)
{
	struct vl_cm_message message = {
		.attribute_id = VL_CM_RTU,
		.transaction_id = connection->transaction_id,
		.rtu = {.local_comm_id = connection->local_comm_id,
			.remote_comm_id = connection->remote_comm_id},
	};
	int result;

	if (connection->state != VL_CM_STATE_REP_RECEIVED || connection->is_ending)
		return -EINVAL;
	result = copy_private_data(&message, private_data, private_data_length);
	if (!result)
		result = vl_cm_send(connection, &message, now);
	if (result)
		return result;
	vl_timer_cancel(&connection->cm->wheel, &connection->timer);
	vl_cm_set_state(connection, VL_CM_STATE_ESTABLISHED);
	return 0;
}
