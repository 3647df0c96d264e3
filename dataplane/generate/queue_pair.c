/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/generate/queue_pair.h"

#define DEFAULT_HOP_LIMIT 64

void vl_queue_pair_local_address(const struct vl_device *device, uint8_t sgid_index,
				 struct vl_queue_pair_address *address)
{
	struct ibv_port_attr port;

	vl_query_gid(device, 1, sgid_index, &address->gid);
	vl_query_port(device, 1, &port);
	address->lid = port.lid;
}

static int modify_to_init(struct vl_qp *qp, const struct vl_queue_pair_config *config, uint64_t now)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qkey = VL_TRAFFIC_QKEY,
		.qp_access_flags =
			IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	};
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

	if (config->transport == IBV_QPT_UC)
		attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	mask |= config->transport == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
	return vl_modify_qp(qp, &attr, mask, now);
}

struct vl_qp *vl_queue_pair_create(const struct vl_queue_pair_config *config,
				   const struct vl_queue_pair_room *room, uint64_t now, int *error)
{
	struct vl_qp_init_attr attr = {
		.send_cq = room->send_cq,
		.recv_cq = room->recv_cq,
		.qp_type = config->transport,
		.context = room->context,
		.qpn = room->qpn,
		.cap = {.max_send_wr = room->send_depth ? room->send_depth : 1,
			.max_recv_wr = room->receive_depth ? room->receive_depth : 1,
			.max_send_sge = 1,
			.max_recv_sge = 1},
	};
	struct vl_qp *qp = vl_create_qp(room->pd, &attr, error);
	int status;

	if (!qp)
		return NULL;
	status = modify_to_init(qp, config, now);
	if (!status && config->udp_source_port)
		status = vl_set_udp_source_port(qp, config->udp_source_port);
	if (!status && config->cc)
		status = vl_set_cc(qp, config->cc);
	if (!status)
		return qp;
	vl_destroy_qp(qp);
	if (error)
		*error = status;
	return NULL;
}

static struct ibv_ah_attr peer_path(const struct vl_queue_pair_config *config,
				    const struct vl_queue_pair_address *peer)
{
	return (struct ibv_ah_attr){
		.grh = {.dgid = peer->gid,
			.sgid_index = config->sgid_index,
			.hop_limit = config->hop_limit ? config->hop_limit : DEFAULT_HOP_LIMIT,
			.traffic_class = config->traffic_class},
		.dlid = peer->lid,
		.sl = config->priority,
		.is_global = !config->without_grh,
		.port_num = 1,
	};
}

static int modify_to_rtr(struct vl_qp *qp, const struct vl_queue_pair_config *config,
			 const struct vl_queue_pair_address *peer,
			 const struct ibv_device_attr *limits, uint64_t now)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR};
	int mask = IBV_QP_STATE;

	if (config->transport != IBV_QPT_UD) {
		attr.path_mtu = config->path_mtu;
		attr.dest_qp_num = peer->qpn;
		attr.rq_psn = peer->psn;
		attr.ah_attr = peer_path(config, peer);
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	}
	if (config->transport == IBV_QPT_RC) {
		attr.max_dest_rd_atomic = config->max_dest_rd_atomic
						  ? config->max_dest_rd_atomic
						  : (uint8_t)limits->max_qp_rd_atom;
		attr.min_rnr_timer = config->min_rnr_timer;
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	}
	return vl_modify_qp(qp, &attr, mask, now);
}

static int modify_to_rts(struct vl_qp *qp, const struct vl_queue_pair_config *config, uint32_t psn,
			 const struct ibv_device_attr *limits, uint64_t now)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS, .sq_psn = psn};
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (config->transport == IBV_QPT_RC) {
		attr.timeout = config->timeout;
		attr.retry_cnt = config->retry_count;
		attr.rnr_retry = config->rnr_retry;
		attr.max_rd_atomic = config->max_rd_atomic ? config->max_rd_atomic
							   : (uint8_t)limits->max_qp_init_rd_atom;
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	}
	return vl_modify_qp(qp, &attr, mask, now);
}

int vl_queue_pair_connect(struct vl_qp *qp, struct vl_pd *pd, struct vl_device *device,
			  const struct vl_queue_pair_config *config, uint32_t psn,
			  const struct vl_queue_pair_address *peer, struct ibv_ah **ah,
			  uint64_t now)
{
	struct ibv_ah_attr path = peer_path(config, peer);
	struct ibv_device_attr limits;
	int status = 0;

	if (config->transport == IBV_QPT_UD && !*ah) {
		*ah = vl_create_ah(pd, &path, &status);
		if (!*ah)
			return status;
	}
	vl_query_device(device, &limits);
	if (vl_qp_state(qp) == IBV_QPS_INIT)
		status = modify_to_rtr(qp, config, peer, &limits, now);
	return status ? status : modify_to_rts(qp, config, psn, &limits, now);
}
