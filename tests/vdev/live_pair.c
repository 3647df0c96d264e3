/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "tests/vdev/live_pair.h"

#include <rte_mempool.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

static union ibv_gid gid_of(unsigned int side)
{
	return (union ibv_gid){
		.raw = {[10] = 0xff, 0xff, 10, 0, 0, (uint8_t)(side + 1)},
	};
}

static int open_endpoint(struct live_side *side, unsigned int number,
			 const struct live_pair_config *config)
{
	struct vl_endpoint_config endpoint = {
		.device =
			{
				.seed = number + 1,
				.mac = {2, 0, 0, 0, 0, (uint8_t)(number + 1)},
				.gid_count = 1,
				.gids = {{.gid = gid_of(number),
					  .encapsulation = VL_ENCAPSULATION_ROCEV2_IPV4}},
				.cc = config->cc,
			},
	};
	struct vl_qp_init_attr init = {
		.cap = {.max_send_wr = config->queue_depth,
			.max_recv_wr = config->queue_depth,
			.max_send_sge = 1,
			.max_recv_sge = 1,
			.max_inline_data = 64},
		.qp_type = IBV_QPT_RC,
	};
	int error = 0;

	side->endpoint = vl_endpoint_create(&endpoint, &error);
	if (!side->endpoint)
		return error;
	side->pd = vl_alloc_pd(side->endpoint->device, &error);
	side->cq = vl_create_cq(side->endpoint->device, 3 * config->queue_depth, NULL, &error);
	if (!side->pd || !side->cq)
		return error;
	side->memory = config->memory[number];
	side->mr = vl_reg_mr(
		side->pd, side->memory, config->memory_size, (uintptr_t)side->memory,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ, &error);
	init.send_cq = side->cq;
	init.recv_cq = side->cq;
	side->qp = vl_create_qp(side->pd, &init, &error);
	return side->mr && side->qp ? 0 : error;
}

static int connect(struct live_side *side, unsigned int number, const struct live_side *peer,
		   uint8_t timeout)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
		.path_mtu = IBV_MTU_4096,
		.dest_qp_num = vl_qp_number(peer->qp),
		.rq_psn = number ? 100 : 0xfffff0,
		.sq_psn = number ? 0xfffff0 : 100,
		.max_dest_rd_atomic = 16,
		.max_rd_atomic = 16,
		.min_rnr_timer = 1,
		.timeout = timeout,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = {.grh = {.dgid = gid_of(!number), .hop_limit = 64},
			    .is_global = 1,
			    .port_num = 1},
	};
	uint64_t now = vl_worker_now();
	int error;

	error = vl_modify_qp(side->qp, &attr,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
			     now);
	if (error)
		return error;
	attr.qp_state = IBV_QPS_RTR;
	error = vl_modify_qp(side->qp, &attr,
			     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				     IBV_QP_MIN_RNR_TIMER,
			     now);
	if (error)
		return error;
	attr.qp_state = IBV_QPS_RTS;
	return vl_modify_qp(side->qp, &attr,
			    IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				    IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC,
			    now);
}

static int open_side(struct live_side *side, unsigned int number,
		     const struct live_pair_config *config, struct vl_error *error)
{
	struct vl_stage stage;
	char name[16];
	int result;

	snprintf(name, sizeof(name), "side%u", number);
	side->mempool = vl_mempool_create(name, config->mempool_size, error);
	side->worker = side->mempool ? vl_worker_create(number, error) : NULL;
	if (!side->worker)
		return -1;
	result = open_endpoint(side, number, config);
	if (result) {
		vl_error_set(error, -1, "endpoint %u: %s", number, strerror(-result));
		return -1;
	}
	vl_endpoint_stage_init(&side->stage, side->endpoint, side->port, side->mempool);
	if (config->constant_period && !number) {
		side->constant = vl_constant_stage_open(
			&side->stage, config->memory[0], config->memory_size,
			config->constant_period, config->constant_frames, error);
		if (!side->constant)
			return -1;
	}
	stage = vl_endpoint_stage(&side->stage);
	return vl_worker_add_stage(side->worker, &stage);
}

int live_pair_open(struct live_pair *pair, const struct live_pair_config *config,
		   struct vl_error *error)
{
	struct vl_port *ends[2];

	memset(pair, 0, sizeof(*pair));
	if (vl_ring_link_open("pair", 1, config->ring_size, ends, error))
		return -1;
	for (unsigned int i = 0; i < 2; i++)
		pair->sides[i].port = ends[i];
	for (unsigned int i = 0; i < 2; i++) {
		if (open_side(&pair->sides[i], i, config, error))
			return -1;
	}
	for (unsigned int i = 0; i < 2; i++) {
		int result = connect(&pair->sides[i], i, &pair->sides[!i], config->timeout);

		if (result) {
			vl_error_set(error, -1, "queue pair %u: %s", i, strerror(-result));
			return -1;
		}
	}
	return 0;
}

int live_pair_start(struct live_pair *pair, struct vl_error *error)
{
	return vl_worker_start(pair->sides[0].worker, error) ||
			       vl_worker_start(pair->sides[1].worker, error)
		       ? -1
		       : 0;
}

void live_pair_stop(struct live_pair *pair)
{
	for (unsigned int i = 0; i < 2; i++) {
		if (pair->sides[i].worker)
			vl_worker_stop(pair->sides[i].worker);
	}
}

void live_pair_close(struct live_pair *pair)
{
	live_pair_stop(pair);
	for (unsigned int i = 0; i < 2; i++) {
		vl_worker_destroy(pair->sides[i].worker);
		vl_constant_stage_detach(pair->sides[i].constant);
		vl_endpoint_stage_release(&pair->sides[i].stage);
		vl_endpoint_destroy(pair->sides[i].endpoint);
		vl_port_close(pair->sides[i].port);
	}
	for (unsigned int i = 0; i < 2; i++) {
		vl_constant_stage_close(pair->sides[i].constant);
		rte_mempool_free(pair->sides[i].mempool);
	}
	memset(pair, 0, sizeof(*pair));
}
