/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* REQ, both ways, and MRA. IBTA 12.6.5, 12.6.6. */

#include "transport/cm/connection_private.h"
#include "transport/psn.h"
#include "transport/wire/gid.h"

#include <errno.h>
#include <string.h>

#define PERMISSIVE_LID       0xffff
#define FIRST_SOURCE_PORT    32768u
#define SOURCE_PORTS         28232u /* up to 60999, as Linux chooses them */
#define MAX_RESPONSE_TIME    UINT64_C(10000000000)
#define PKEY_INDEX_NOT_THERE UINT16_MAX

/* ---- Private data --------------------------------------------------------------------------- */

static bool has_ip_header(uint64_t service_id)
{
	enum vl_rdma_port_space space;
	uint16_t port;

	return vl_rdma_service_id_decode(service_id, &space, &port);
}

int vl_cm_write_private_data(const struct vl_cm_connection *connection,
			     const struct vl_cm_connect_param *param, struct vl_cm_message *message)
{
	struct vl_rdma_ip ip = {
		.ip_version = vl_gid_is_ipv4(&param->destination) ? 4 : 6,
		.source_port = param->source_port,
		.destination = param->destination,
	};
	uint32_t offset = has_ip_header(param->service_id) ? VL_RDMA_IP_LENGTH : 0;

	if (offset + param->private_data_length > vl_cm_private_data_room(message->attribute_id))
		return -EMSGSIZE;
	if (offset) {
		if (!ip.source_port)
			ip.source_port =
				(uint16_t)(FIRST_SOURCE_PORT +
					   vl_random_below(&connection->cm->random, SOURCE_PORTS));
		vl_query_gid(connection->cm->device, 1, connection->sgid_index, &ip.source);
		if (vl_rdma_ip_encode(message->private_data, &ip))
			return -EINVAL; /* IPv4 and IPv6 mixed */
	}
	if (param->private_data_length)
		memcpy(message->private_data + offset, param->private_data,
		       param->private_data_length);
	message->private_data_length = (uint16_t)(offset + param->private_data_length);
	return 0;
}

bool vl_cm_read_private_data(struct vl_cm_connection *connection,
			     const struct vl_cm_message *message, struct vl_cm_event *event)
{
	uint32_t offset = has_ip_header(connection->service_id) ? VL_RDMA_IP_LENGTH : 0;
	struct vl_rdma_ip ip;

	if (offset) {
		if (vl_rdma_ip_decode(&ip, message->private_data, message->private_data_length))
			return false;
		connection->remote_port = ip.source_port;
	}
	event->private_data = message->private_data + offset;
	event->private_data_length = (uint8_t)(message->private_data_length - offset);
	return true;
}

/* ---- Out ------------------------------------------------------------------------------------ */

static void describe_path(const struct vl_cm_connection *connection, struct vl_cm_path *path)
{
	*path = (struct vl_cm_path){
		.local_lid = PERMISSIVE_LID,
		.remote_lid = PERMISSIVE_LID,
		.remote_gid = connection->remote_gid,
		.flow_label = connection->flow_label,
		.traffic_class = connection->traffic_class,
		.hop_limit = connection->hop_limit,
		.service_level = connection->service_level,
		.ack_timeout = connection->ack_timeout,
	};
	vl_query_gid(connection->cm->device, 1, connection->sgid_index, &path->local_gid);
}

int vl_cm_send_req(struct vl_cm_connection *connection, const struct vl_cm_connect_param *param,
		   uint64_t now)
{
	struct vl_cm *cm = connection->cm;
	struct vl_cm_message message = {
		.attribute_id = VL_CM_REQ,
		.transaction_id = connection->transaction_id,
		.req = {.local_comm_id = connection->local_comm_id,
			.service_id = param->service_id,
			.local_ca_guid = cm->ca_guid,
			.local_qpn = param->conn.qpn,
			.responder_resources = param->conn.responder_resources,
			.initiator_depth = param->conn.initiator_depth,
			.remote_cm_response_timeout = cm->config.response_timeout,
			.transport_service_type = param->qp_type == IBV_QPT_UC ? VL_CM_TRANSPORT_UC
									       : VL_CM_TRANSPORT_RC,
			.end_to_end_flow_control = param->conn.flow_control,
			.starting_psn = connection->remote_psn,
			.local_cm_response_timeout = cm->config.response_timeout,
			.retry_count = param->conn.retry_count,
			.path_mtu = connection->path_mtu,
			.rnr_retry_count = param->conn.rnr_retry_count,
			.max_cm_retries = cm->config.max_retries,
			.srq = param->conn.srq},
	};
	int result;

	vl_query_pkey(cm->device, 1, param->pkey_index, &message.req.pkey);
	describe_path(connection, &message.req.primary);
	result = vl_cm_write_private_data(connection, param, &message);
	return result ? result : vl_cm_send(connection, &message, now);
}

/* ---- In ------------------------------------------------------------------------------------- */

struct vl_cm_listener *vl_cm_find_listener(struct vl_cm *cm, uint64_t service_id, bool is_datagram)
{
	for (uint32_t i = 0; i < cm->config.max_listeners; i++) {
		struct vl_cm_listener *listener = &cm->listeners[i];

		if (listener->in_use && listener->param.service_id == service_id &&
		    (listener->param.qp_type == IBV_QPT_UD) == is_datagram)
			return listener;
	}
	return NULL;
}

/* IBTA 12.9.8.3.1 and what Linux does: what the request was answered with goes out again. */
static void receive_duplicate(struct vl_cm_connection *connection, uint64_t now)
{
	connection->cm->counters.duplicates_rx++;
	if (connection->state == VL_CM_STATE_REP_SENT)
		vl_cm_send_kept(connection, now);
	else if (connection->state == VL_CM_STATE_REQ_RECEIVED &&
		 connection->patience == VL_CM_PATIENCE_ASKED)
		vl_cm_send_mra(connection, connection->cm->config.service_timeout, now);
}

static bool is_duplicate(const struct vl_cm_connection *connection,
			 const struct vl_cm_message *message)
{
	const struct vl_cm_req *req = &message->req;

	return connection->state != VL_CM_STATE_TIMEWAIT &&
	       connection->transaction_id == message->transaction_id &&
	       connection->remote_ca_guid == req->local_ca_guid &&
	       connection->remote_qpn == req->local_qpn &&
	       connection->local_psn == req->starting_psn;
}

/* The peer's QP cannot be that of two connections: the old one is gone, IBTA 12.9.8.3, and is ended
 * as if the peer were still there: by a DREQ. */
static void refuse_stale(struct vl_cm_connection *old, const struct vl_cm_datagram *datagram,
			 const struct vl_cm_message *message, uint64_t now)
{
	struct vl_cm *cm = old->cm;

	cm->counters.stale++;
	vl_cm_answer_rej(cm, datagram, message, VL_CM_REJECT_STALE_CONNECTION, NULL, 0, now);
	if (old->state == VL_CM_STATE_ESTABLISHED)
		vl_cm_send_dreq(old, now);
}

static uint16_t find_pkey(const struct vl_cm *cm, uint16_t pkey)
{
	uint16_t ours;

	for (uint16_t i = 0; !vl_query_pkey(cm->device, 1, i, &ours); i++) {
		if (!((ours ^ pkey) & 0x7fff) && ((ours | pkey) & 0x8000))
			return i;
	}
	return PKEY_INDEX_NOT_THERE;
}

/* The reason to refuse, or 0; *info then says what would do. */
static uint16_t check(struct vl_cm *cm, const struct vl_cm_datagram *datagram,
		      const struct vl_cm_req *req, union ibv_gid *info, uint8_t *info_length)
{
	struct ibv_port_attr port;
	union ibv_gid ours;

	vl_query_port(cm->device, 1, &port);
	vl_query_gid(cm->device, 1, datagram->sgid_index, &ours);
	*info_length = 0;
	if (req->transport_service_type != VL_CM_TRANSPORT_RC &&
	    req->transport_service_type != VL_CM_TRANSPORT_UC)
		return VL_CM_REJECT_INVALID_TRANSPORT_TYPE;
	if (memcmp(&req->primary.remote_gid, &ours, sizeof(ours))) {
		*info = ours;
		*info_length = sizeof(ours);
		return VL_CM_REJECT_INVALID_GID;
	}
	/* Packets of the connection must not be led elsewhere than the answer. */
	if (memcmp(&req->primary.local_gid, &datagram->source, sizeof(ours)))
		return VL_CM_REJECT_UNSUPPORTED;
	if (req->path_mtu < IBV_MTU_256 || req->path_mtu > port.active_mtu) {
		info->raw[0] = (uint8_t)port.active_mtu;
		*info_length = 1;
		return VL_CM_REJECT_INVALID_MTU;
	}
	if (req->primary.service_level > 7)
		return VL_CM_REJECT_INVALID_SL;
	if (!req->local_qpn)
		return VL_CM_REJECT_UNSUPPORTED;
	return find_pkey(cm, req->pkey) == PKEY_INDEX_NOT_THERE ? VL_CM_REJECT_UNSUPPORTED : 0;
}

static uint8_t at_most(int limit, uint8_t value)
{
	return value < limit ? value : (uint8_t)limit;
}

static void fill(struct vl_cm_connection *connection, const struct vl_cm_datagram *datagram,
		 const struct vl_cm_message *message)
{
	const struct vl_cm_req *req = &message->req;
	struct vl_cm *cm = connection->cm;
	struct ibv_device_attr limits;

	vl_query_device(cm->device, &limits);
	connection->qp_type =
		req->transport_service_type == VL_CM_TRANSPORT_UC ? IBV_QPT_UC : IBV_QPT_RC;
	connection->remote_comm_id = req->local_comm_id;
	connection->remote_ca_guid = req->local_ca_guid;
	connection->transaction_id = message->transaction_id;
	connection->service_id = req->service_id;
	connection->remote_qpn = req->local_qpn;
	connection->local_psn = req->starting_psn;
	connection->remote_psn = (uint32_t)vl_random_next(&cm->random) & VL_PSN_MASK;
	connection->remote_gid = datagram->source;
	memcpy(connection->remote_mac, datagram->mac, sizeof(connection->remote_mac));
	connection->has_mac = true;
	connection->pkey_index = find_pkey(cm, req->pkey);
	connection->sgid_index = datagram->sgid_index;
	connection->path_mtu = req->path_mtu;
	connection->traffic_class = req->primary.traffic_class;
	connection->service_level = req->primary.service_level;
	connection->hop_limit =
		req->primary.hop_limit > 1 ? req->primary.hop_limit : VL_CM_DEFAULT_HOP_LIMIT;
	/* 0 would be none: a peer that vanishes would be waited for for ever. */
	connection->ack_timeout =
		req->primary.ack_timeout ? req->primary.ack_timeout : VL_CM_DEFAULT_ACK_TIMEOUT;
	connection->flow_label = req->primary.flow_label;
	connection->responder_resources = at_most(limits.max_qp_rd_atom, req->initiator_depth);
	connection->initiator_depth = at_most(limits.max_qp_init_rd_atom, req->responder_resources);
	connection->retry_count = req->retry_count;
	connection->rnr_retry_count = req->rnr_retry_count;
	connection->flow_control = req->end_to_end_flow_control;
	connection->response_time =
		vl_cm_timeout(req->local_cm_response_timeout, MAX_RESPONSE_TIME);
	connection->promised_time =
		vl_cm_timeout(req->remote_cm_response_timeout, MAX_RESPONSE_TIME);
	connection->retries_left = req->max_cm_retries;
}

static void open_request(struct vl_cm *cm, struct vl_cm_listener *listener,
			 const struct vl_cm_datagram *datagram, const struct vl_cm_message *message,
			 uint64_t now)
{
	struct vl_cm_connection *connection = vl_cm_allocate(cm);
	struct vl_cm_event event = {0};

	if (!connection) {
		cm->counters.no_resources++;
		vl_cm_answer_rej(cm, datagram, message, VL_CM_REJECT_NO_RESOURCES, NULL, 0, now);
		return;
	}
	fill(connection, datagram, message);
	if (!vl_cm_enter_half_open(connection, now)) {
		/* Without a word: the peer repeats its request. */
		cm->counters.half_open_dropped++;
		vl_cm_free(connection);
		return;
	}
	if (!vl_cm_read_private_data(connection, message, &event)) {
		vl_cm_free(connection);
		vl_cm_answer_rej(cm, datagram, message, VL_CM_REJECT_UNSUPPORTED, NULL, 0, now);
		return;
	}
	vl_cm_enter_by_qpn(connection);
	event.param.conn = (struct vl_cm_conn_param){
		.responder_resources = connection->responder_resources,
		.initiator_depth = connection->initiator_depth,
		.retry_count = connection->retry_count,
		.rnr_retry_count = connection->rnr_retry_count,
		.flow_control = connection->flow_control,
		.srq = message->req.srq,
		.qpn = connection->remote_qpn,
	};
	vl_cm_hand_to_listener(connection, listener, &event, now);
}

void vl_cm_receive_req(struct vl_cm *cm, const struct vl_cm_datagram *datagram,
		       const struct vl_cm_message *message, uint64_t now)
{
	const struct vl_cm_req *req = &message->req;
	struct vl_cm_connection *old =
		vl_cm_find_remote(cm, req->local_comm_id, &datagram->source, false);
	struct vl_cm_listener *listener;
	union ibv_gid info;
	uint8_t info_length;
	uint16_t reason;

	if (old && is_duplicate(old, message)) {
		receive_duplicate(old, now);
		return;
	}
	if (!old)
		old = vl_cm_find_qpn(cm, req->local_qpn, &datagram->source);
	if (old) {
		refuse_stale(old, datagram, message, now);
		return;
	}
	listener = vl_cm_find_listener(cm, req->service_id, false);
	if (!listener) {
		cm->counters.no_service++;
		vl_cm_answer_rej(cm, datagram, message, VL_CM_REJECT_INVALID_SERVICE_ID, NULL, 0,
				 now);
		return;
	}
	reason = check(cm, datagram, req, &info, &info_length);
	if (reason)
		vl_cm_answer_rej(cm, datagram, message, reason, &info, info_length, now);
	else
		open_request(cm, listener, datagram, message, now);
}

/* ---- MRA ------------------------------------------------------------------------------------ */

int vl_cm_send_mra(struct vl_cm_connection *connection, uint8_t service_timeout, uint64_t now)
{
	bool is_request = connection->state == VL_CM_STATE_REQ_RECEIVED;
	const struct vl_cm_message message = {
		.attribute_id = VL_CM_MRA,
		.transaction_id = connection->transaction_id,
		.mra = {.local_comm_id = connection->local_comm_id,
			.remote_comm_id = connection->remote_comm_id,
			.message_mraed = is_request ? VL_CM_ANSWERS_REQ : VL_CM_ANSWERS_REP,
			.service_timeout = service_timeout},
	};

	if ((!is_request && connection->state != VL_CM_STATE_REP_RECEIVED) ||
	    connection->qp_type == IBV_QPT_UD || service_timeout > 31 || connection->is_ending)
		return -EINVAL;
	connection->patience = VL_CM_PATIENCE_ASKED;
	vl_cm_send_once(connection, &message, now);
	vl_cm_arm(connection, connection->give_up_time);
	return 0;
}

void vl_cm_receive_mra(struct vl_cm_connection *connection, const struct vl_cm_message *message,
		       uint64_t now)
{
	const struct vl_cm_mra *mra = &message->mra;
	bool answers = (connection->state == VL_CM_STATE_REQ_SENT &&
			mra->message_mraed == VL_CM_ANSWERS_REQ) ||
		       (connection->state == VL_CM_STATE_REP_SENT &&
			mra->message_mraed == VL_CM_ANSWERS_REP);

	/* Each costs a repetition, so that no peer is waited for for ever. */
	if (!answers || connection->qp_type == IBV_QPT_UD || !connection->retries_left) {
		connection->cm->counters.unexpected_rx++;
		return;
	}
	connection->retries_left--;
	vl_cm_arm(connection, now + connection->response_time +
				      vl_cm_timeout(mra->service_timeout,
						    connection->cm->config.max_service_wait));
}
