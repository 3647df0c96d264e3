/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Service ID resolution, both ways. IBTA 12.11. */

#include "transport/cm/connection_private.h"

#include <errno.h>
#include <string.h>

/* ---- Active --------------------------------------------------------------------------------- */

int vl_cm_send_sidr_req(struct vl_cm_connection *connection,
			const struct vl_cm_connect_param *param, uint64_t now)
{
	struct vl_cm_message message = {
		.attribute_id = VL_CM_SIDR_REQ,
		.transaction_id = connection->transaction_id,
		.sidr_req = {.request_id = connection->local_comm_id,
			     .service_id = param->service_id},
	};
	int result;

	vl_query_pkey(connection->cm->device, 1, param->pkey_index, &message.sidr_req.pkey);
	result = vl_cm_write_private_data(connection, param, &message);
	return result ? result : vl_cm_send(connection, &message, now);
}

void vl_cm_receive_sidr_rep(struct vl_cm *cm, const struct vl_cm_datagram *datagram,
			    const struct vl_cm_message *message, uint64_t now)
{
	const struct vl_cm_sidr_rep *rep = &message->sidr_rep;
	struct vl_cm_connection *connection = vl_cm_find_local(cm, rep->request_id);
	struct vl_cm_event event = {
		.type = VL_CM_EVENT_ESTABLISHED,
		.private_data = message->private_data,
		.private_data_length = (uint8_t)message->private_data_length,
		.info = rep->info,
		.info_length = rep->info_length,
	};

	if (!connection || connection->qp_type != IBV_QPT_UD ||
	    connection->state != VL_CM_STATE_REQ_SENT || !connection->is_active) {
		cm->counters.unexpected_rx++;
		return;
	}
	if (memcmp(&connection->remote_gid, &datagram->source, sizeof(datagram->source))) {
		cm->counters.wrong_peer++;
		return;
	}
	if (rep->status != VL_CM_SIDR_VALID) {
		cm->counters.rejects_rx++;
		vl_cm_end_rejected(connection, rep->status, message, now);
		return;
	}
	if (event.info_length > VL_CM_INFO_LENGTH)
		event.info_length = VL_CM_INFO_LENGTH;
	memcpy(connection->remote_mac, datagram->mac, sizeof(connection->remote_mac));
	connection->remote_qpn = rep->qpn;
	event.param.ud.qpn = rep->qpn;
	event.param.ud.qkey = rep->qkey;
	vl_cm_fill_ah_attr(connection, &event.param.ud.ah_attr);
	cm->counters.established++;
	vl_cm_end(connection, &event, now);
}

/* ---- Passive -------------------------------------------------------------------------------- */

static void make_rep(struct vl_cm_message *answer, const struct vl_cm_message *message,
		     uint8_t status)
{
	*answer = (struct vl_cm_message){
		.attribute_id = VL_CM_SIDR_REP,
		.transaction_id = message->transaction_id,
		.sidr_rep = {.request_id = message->sidr_req.request_id,
			     .status = status,
			     .service_id = message->sidr_req.service_id},
	};
}

static void refuse(struct vl_cm *cm, const struct vl_cm_datagram *datagram,
		   const struct vl_cm_message *message, uint8_t status, uint64_t now)
{
	struct vl_cm_message answer;

	make_rep(&answer, message, status);
	cm->counters.rejects_tx++;
	vl_cm_answer(cm, datagram, &answer, now);
}

int vl_cm_send_sidr_rep(struct vl_cm_connection *connection, uint8_t status, uint32_t qpn,
			uint32_t qkey, const void *info, uint8_t info_length,
			const void *private_data, uint8_t private_data_length, uint64_t now)
{
	struct vl_cm_message message = {
		.attribute_id = VL_CM_SIDR_REP,
		.transaction_id = connection->transaction_id,
		.private_data_length = private_data_length,
		.sidr_rep = {.request_id = connection->remote_comm_id,
			     .status = status,
			     .info_length = info_length,
			     .qpn = qpn,
			     .service_id = connection->service_id,
			     .qkey = qkey},
	};
	int result;

	if (info_length > VL_CM_INFO_LENGTH ||
	    private_data_length > vl_cm_private_data_room(VL_CM_SIDR_REP))
		return -EMSGSIZE;
	if (info_length)
		memcpy(message.sidr_rep.info, info, info_length);
	if (private_data_length)
		memcpy(message.private_data, private_data, private_data_length);
	result = vl_cm_send(connection, &message, now);
	if (result)
		return result;
	connection->has_owner = false;
	vl_cm_set_state(connection, VL_CM_STATE_SIDR_ANSWERED);
	vl_cm_arm(connection, now + connection->cm->config.sidr_hold);
	return 0;
}

static void open_request(struct vl_cm *cm, struct vl_cm_listener *listener,
			 const struct vl_cm_datagram *datagram, const struct vl_cm_message *message,
			 uint64_t now)
{
	struct vl_cm_connection *connection = vl_cm_allocate(cm);
	struct vl_cm_event event = {0};

	if (!connection) {
		cm->counters.no_resources++;
		refuse(cm, datagram, message, VL_CM_SIDR_NO_QP, now);
		return;
	}
	connection->qp_type = IBV_QPT_UD;
	connection->remote_comm_id = message->sidr_req.request_id;
	connection->transaction_id = message->transaction_id;
	connection->service_id = message->sidr_req.service_id;
	connection->remote_gid = datagram->source;
	memcpy(connection->remote_mac, datagram->mac, sizeof(connection->remote_mac));
	connection->has_mac = true;
	connection->sgid_index = datagram->sgid_index;
	connection->service_level = datagram->priority & 7;
	connection->hop_limit = VL_CM_DEFAULT_HOP_LIMIT;
	if (!vl_cm_enter_half_open(connection, now)) {
		cm->counters.half_open_dropped++;
		vl_cm_free(connection);
		return;
	}
	if (!vl_cm_read_private_data(connection, message, &event)) {
		vl_cm_free(connection);
		refuse(cm, datagram, message, VL_CM_SIDR_REJECT, now);
		return;
	}
	vl_cm_hand_to_listener(connection, listener, &event, now);
}

void vl_cm_receive_sidr_req(struct vl_cm *cm, const struct vl_cm_datagram *datagram,
			    const struct vl_cm_message *message, uint64_t now)
{
	const struct vl_cm_sidr_req *req = &message->sidr_req;
	struct vl_cm_connection *old =
		vl_cm_find_remote(cm, req->request_id, &datagram->source, true);
	struct vl_cm_listener *listener;

	if (old && old->transaction_id == message->transaction_id) {
		cm->counters.duplicates_rx++;
		if (old->state == VL_CM_STATE_SIDR_ANSWERED)
			vl_cm_send_kept(old, now);
		return;
	}
	listener = vl_cm_find_listener(cm, req->service_id, true);
	if (!listener) {
		cm->counters.no_service++;
		refuse(cm, datagram, message, VL_CM_SIDR_UNSUPPORTED, now);
		return;
	}
	open_request(cm, listener, datagram, message, now);
}
