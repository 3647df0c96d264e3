/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "tests/support/hosts.h"

#include <string.h>

union ibv_gid host_gid(uint16_t number)
{
	union ibv_gid gid = {{0}};

	gid.raw[10] = gid.raw[11] = 0xff;
	gid.raw[12] = 10;
	gid.raw[14] = (uint8_t)(number >> 8);
	gid.raw[15] = (uint8_t)number;
	return gid;
}

static int resolve(void *context, const union ibv_gid *destination, uint8_t mac[6])
{
	(void)context;
	memset(mac, 0, 6);
	mac[0] = 2;
	mac[4] = destination->raw[14];
	mac[5] = destination->raw[15];
	return 0;
}

struct vl_endpoint_config host_config(uint16_t number, uint64_t rate)
{
	struct vl_endpoint_config config = {.rate = rate};
	union ibv_gid gid = host_gid(number);

	config.device.seed = number;
	config.device.events.resolve = resolve;
	resolve(NULL, &gid, config.device.mac);
	config.device.gid_count = 1;
	config.device.gids[0].gid = gid;
	config.device.gids[0].encapsulation = VL_ENCAPSULATION_ROCEV2_IPV4;
	return config;
}

static int to_init(struct vl_qp *qp, const struct host_path *path, uint64_t now)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = path->access,
	};

	return vl_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
			    now);
}

static int to_rtr(struct vl_qp *qp, enum ibv_qp_type type, const struct host_path *path,
		  uint64_t now)
{
	int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = path->mtu ? path->mtu : IBV_MTU_4096,
		.dest_qp_num = path->remote_qpn,
		.rq_psn = path->receive_psn,
		.max_dest_rd_atomic = path->rd_atomic,
		.min_rnr_timer = path->min_rnr_timer,
		.ah_attr =
			{
				.is_global = 1,
				.port_num = 1,
				.sl = HOST_DATA_PRIORITY,
				.grh =
					{
						.dgid = host_gid(path->remote_host),
						.hop_limit = 64,
						.traffic_class = HOST_DATA_CLASS,
					},
			},
	};

	if (type == IBV_QPT_RC)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	return vl_modify_qp(qp, &attr, mask, now);
}

static int to_rts(struct vl_qp *qp, enum ibv_qp_type type, const struct host_path *path,
		  uint64_t now)
{
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = path->send_psn,
		.timeout = path->timeout,
		.retry_cnt = path->retry_count,
		.rnr_retry = path->rnr_retry,
		.max_rd_atomic = path->rd_atomic,
	};

	if (type == IBV_QPT_RC)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	return vl_modify_qp(qp, &attr, mask, now);
}

int host_connect(struct vl_qp *qp, enum ibv_qp_type type, const struct host_path *path,
		 uint64_t now)
{
	int error = to_init(qp, path, now);

	if (!error)
		error = to_rtr(qp, type, path, now);
	if (!error)
		error = to_rts(qp, type, path, now);
	return error;
}
