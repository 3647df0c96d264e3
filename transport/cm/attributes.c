/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What a connection says of the QP that is to use it. */

#include "transport/cm/connection_private.h"

#include <errno.h>
#include <string.h>

/* 12: 0.64 ms, IBTA table 45. */
#define MIN_RNR_TIMER 12

void vl_cm_fill_ah_attr(const struct vl_cm_connection *connection, struct ibv_ah_attr *attr)
{
	*attr = (struct ibv_ah_attr){
		.grh = {.dgid = connection->remote_gid,
			.sgid_index = connection->sgid_index,
			.flow_label = connection->flow_label,
			.traffic_class = connection->traffic_class,
			.hop_limit = connection->hop_limit},
		.sl = connection->service_level,
		.is_global = 1,
		.port_num = 1,
	};
}

static void to_init(const struct vl_cm_connection *connection, struct ibv_qp_attr *attr, int *mask)
{
	attr->port_num = 1;
	attr->pkey_index = connection->pkey_index;
	attr->qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	if (connection->qp_type == IBV_QPT_RC)
		attr->qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	*mask = IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS;
}

static void to_rtr(const struct vl_cm_connection *connection, struct ibv_qp_attr *attr, int *mask)
{
	vl_cm_fill_ah_attr(connection, &attr->ah_attr);
	attr->path_mtu = (enum ibv_mtu)connection->path_mtu;
	attr->dest_qp_num = connection->remote_qpn;
	attr->rq_psn = connection->remote_psn;
	*mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (connection->qp_type != IBV_QPT_RC)
		return;
	attr->max_dest_rd_atomic = connection->responder_resources;
	attr->min_rnr_timer = MIN_RNR_TIMER;
	*mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
}

static void to_rts(const struct vl_cm_connection *connection, struct ibv_qp_attr *attr, int *mask)
{
	attr->sq_psn = connection->local_psn;
	*mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
	if (connection->qp_type != IBV_QPT_RC)
		return;
	attr->timeout = connection->ack_timeout;
	attr->retry_cnt = connection->retry_count;
	attr->rnr_retry = connection->rnr_retry_count;
	attr->max_rd_atomic = connection->initiator_depth;
	*mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
}

int vl_cm_init_qp_attr(const struct vl_cm_connection *connection, enum ibv_qp_state state,
		       struct ibv_qp_attr *attr, int *mask)
{
	if (connection->qp_type == IBV_QPT_UD)
		return -EINVAL;
	if (state != IBV_QPS_INIT && (connection->state == VL_CM_STATE_RESOLVING ||
				      connection->state == VL_CM_STATE_REQ_SENT))
		return -EINVAL;
	memset(attr, 0, sizeof(*attr));
	attr->qp_state = state;
	switch (state) {
	case IBV_QPS_INIT:
		to_init(connection, attr, mask);
		return 0;
	case IBV_QPS_RTR:
		to_rtr(connection, attr, mask);
		return 0;
	case IBV_QPS_RTS:
		to_rts(connection, attr, mask);
		return 0;
	default:
		return -EINVAL;
	}
}

void vl_cm_query(const struct vl_cm_connection *connection, struct vl_cm_info *info)
{
	*info = (struct vl_cm_info){
		.state = (enum vl_cm_state)connection->state,
		.qp_type = (enum ibv_qp_type)connection->qp_type,
		.is_active = connection->is_active,
		.service_id = connection->service_id,
		.local_comm_id = connection->local_comm_id,
		.remote_comm_id = connection->remote_comm_id,
		.local_qpn = connection->local_qpn,
		.remote_qpn = connection->remote_qpn,
		.local_psn = connection->local_psn,
		.remote_psn = connection->remote_psn,
		.remote_gid = connection->remote_gid,
		.remote_port = connection->remote_port,
		.path_mtu = (enum ibv_mtu)connection->path_mtu,
	};
	memcpy(info->remote_mac, connection->remote_mac, sizeof(info->remote_mac));
	vl_query_gid(connection->cm->device, 1, connection->sgid_index, &info->local_gid);
}

void *vl_cm_context(const struct vl_cm_connection *connection)
{
	return connection->context;
}

void vl_cm_set_context(struct vl_cm_connection *connection, void *context)
{
	connection->context = context;
}

const char *vl_cm_event_name(enum vl_cm_event_type type)
{
	switch (type) {
	case VL_CM_EVENT_CONNECT_REQUEST:
		return "CONNECT_REQUEST";
	case VL_CM_EVENT_CONNECT_RESPONSE:
		return "CONNECT_RESPONSE";
	case VL_CM_EVENT_ESTABLISHED:
		return "ESTABLISHED";
	case VL_CM_EVENT_REJECTED:
		return "REJECTED";
	case VL_CM_EVENT_UNREACHABLE:
		return "UNREACHABLE";
	case VL_CM_EVENT_DISCONNECTED:
		return "DISCONNECTED";
	case VL_CM_EVENT_TIMEWAIT_EXIT:
		return "TIMEWAIT_EXIT";
	}
	return "unknown";
}

const char *vl_cm_state_name(enum vl_cm_state state)
{
	static const char *const names[] = {
		[VL_CM_STATE_RESOLVING] = "RESOLVING",
		[VL_CM_STATE_REQ_SENT] = "REQ_SENT",
		[VL_CM_STATE_REQ_RECEIVED] = "REQ_RECEIVED",
		[VL_CM_STATE_REP_SENT] = "REP_SENT",
		[VL_CM_STATE_REP_RECEIVED] = "REP_RECEIVED",
		[VL_CM_STATE_ESTABLISHED] = "ESTABLISHED",
		[VL_CM_STATE_DREQ_SENT] = "DREQ_SENT",
		[VL_CM_STATE_TIMEWAIT] = "TIMEWAIT",
		[VL_CM_STATE_SIDR_ANSWERED] = "SIDR_ANSWERED",
	};

	return (uint32_t)state < sizeof(names) / sizeof(names[0]) ? names[state] : "unknown";
}
