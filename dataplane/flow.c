/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/flow.h"

#include "dataplane/flow_private.h"
#include "transport/random.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ATOMIC_LENGTH 8u
/* A UD receive begins with the GRH, IBTA 11.4.1.2. */
#define GRH_AREA 40u
/* 12: 0.64 ms, IBTA table 45. */
#define MIN_RNR_TIMER 12

void vl_flow_destroy(struct vl_flow *flow)
{
	for (uint32_t i = 0; flow->senders && i < flow->config.qps; i++) {
		if (flow->senders[i].qp)
			vl_destroy_qp(flow->senders[i].qp);
		if (flow->senders[i].ah)
			vl_destroy_ah(flow->senders[i].ah);
	}
	free(flow->start_times);
	free(flow->senders);
	free(flow);
}

static const char *verb_error(const struct vl_flow_config *config)
{
	if (config->transport == IBV_QPT_UD && config->verb <= VL_FLOW_SEND_IMM &&
	    config->size > 128u << config->path_mtu)
		return "a UD message is at most one path MTU";
	return vl_flow_verb_error(config->transport, config->verb);
}

const char *vl_flow_config_error(const struct vl_flow_config *config)
{
	if (!config->qps || config->qps > VL_FLOW_MAX_QPS)
		return "qps must be 1 to 65536";
	if (!config->depth || config->depth > VL_FLOW_MAX_DEPTH)
		return "depth must be 1 to 16384";
	if (!config->size || config->size > VL_MAX_MESSAGE)
		return "size must be 1 B to 2 GiB";
	if (config->verb >= VL_FLOW_COMPARE_SWAP && config->size != ATOMIC_LENGTH)
		return "the size of an atomic is 8 B";
	if (config->path_mtu < IBV_MTU_256 || config->path_mtu > IBV_MTU_4096)
		return "the path MTU must be 256, 512, 1024, 2048 or 4096";
	if (config->stop && config->stop <= config->start)
		return "it stops before it starts";
	return verb_error(config);
}

/* Makes room in a CQ for what may be outstanding. */
static int grow_cq(struct vl_cq *cq, uint32_t *entries, uint64_t more)
{
	uint64_t wanted = *entries + more;
	int status;

	if (wanted > INT32_MAX)
		return -ENOMEM;
	status = vl_resize_cq(cq, (uint32_t)wanted);
	if (!status)
		*entries = (uint32_t)wanted;
	return status;
}

static bool takes_receives(const struct vl_flow_config *config)
{
	return config->verb == VL_FLOW_SEND || config->verb == VL_FLOW_SEND_IMM ||
	       config->verb == VL_FLOW_WRITE_IMM;
}

static uint32_t receive_depth(const struct vl_flow_config *config)
{
	return takes_receives(config) ? 2 * config->depth : 0;
}

static uint32_t receive_length(const struct vl_flow_config *config)
{
	if (config->verb == VL_FLOW_WRITE_IMM)
		return 0;
	return config->size + (config->transport == IBV_QPT_UD ? GRH_AREA : 0);
}

static struct vl_qp *create_qp(struct vl_traffic *traffic, const struct vl_flow_config *config,
			       bool is_requester, int *error)
{
	struct vl_qp_init_attr attr = {
		.send_cq = traffic->send_cq,
		.recv_cq = traffic->recv_cq,
		.qp_type = config->transport,
		.cap = {.max_send_wr = is_requester ? config->depth : 1,
			.max_recv_wr = is_requester ? 1 : receive_depth(config),
			.max_send_sge = 1,
			.max_recv_sge = 1},
	};

	if (!attr.cap.max_recv_wr)
		attr.cap.max_recv_wr = 1;
	return vl_create_qp(traffic->pd, &attr, error);
}

static void peer_address(struct ibv_ah_attr *ah, const struct vl_flow_config *config,
			 const struct vl_traffic *peer)
{
	*ah = (struct ibv_ah_attr){
		.grh = {.hop_limit = 64,
			.traffic_class = (uint8_t)(config->dscp << 2 | VL_ECN_ECT0)},
		.sl = config->priority,
		.is_global = 1,
		.port_num = 1,
	};
	vl_query_gid(peer->endpoint->device, 1, 0, &ah->grh.dgid);
}

static int modify_to_init(struct vl_qp *qp, const struct vl_flow_config *config, uint64_t now)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qkey = VL_FLOW_UD_QKEY,
		.qp_access_flags =
			IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	};
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

	if (config->transport == IBV_QPT_UC)
		attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	mask |= config->transport == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
	return vl_modify_qp(qp, &attr, mask, now);
}

struct connection {
	const struct vl_traffic *peer;
	uint32_t remote_qpn, sq_psn, rq_psn;
};

static int modify_to_rts(struct vl_qp *qp, const struct vl_flow_config *config,
			 const struct connection *connection, uint64_t now)
{
	struct ibv_device_attr limits;
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR};
	int mask = IBV_QP_STATE, status;

	vl_query_device(connection->peer->endpoint->device, &limits);
	if (config->transport != IBV_QPT_UD) {
		attr.path_mtu = config->path_mtu;
		attr.dest_qp_num = connection->remote_qpn;
		attr.rq_psn = connection->rq_psn;
		peer_address(&attr.ah_attr, config, connection->peer);
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	}
	if (config->transport == IBV_QPT_RC) {
		attr.max_dest_rd_atomic = (uint8_t)limits.max_qp_rd_atom;
		attr.min_rnr_timer = MIN_RNR_TIMER;
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	}
	status = vl_modify_qp(qp, &attr, mask, now);
	if (status)
		return status;
	attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS, .sq_psn = connection->sq_psn};
	mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
	if (config->transport == IBV_QPT_RC) {
		attr.timeout = config->timeout;
		attr.retry_cnt = config->retry_count;
		attr.rnr_retry = config->rnr_retry;
		attr.max_rd_atomic = (uint8_t)limits.max_qp_init_rd_atom;
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	}
	return vl_modify_qp(qp, &attr, mask, now);
}

/* Creates queue pair n of the flow at both ends and takes both to RTS. */
static int connect_qp(struct vl_flow *flow, uint32_t n, struct vl_random *random, uint64_t now)
{
	const struct vl_flow_config *config = &flow->config;
	struct vl_flow_sender *sender = &flow->senders[n];
	struct vl_flow_receiver *receiver = &flow->responder->receivers[flow->first_receiver + n];
	struct connection forward = {.peer = flow->responder,
				     .sq_psn = (uint32_t)vl_random_below(random, 1 << 24),
				     .rq_psn = (uint32_t)vl_random_below(random, 1 << 24)};
	struct connection backward = {
		.peer = flow->requester, .sq_psn = forward.rq_psn, .rq_psn = forward.sq_psn};
	struct ibv_ah_attr ah;
	int status = 0;

	sender->qp = create_qp(flow->requester, config, true, &status);
	if (!sender->qp)
		return status;
	receiver->qp = create_qp(flow->responder, config, false, &status);
	if (!receiver->qp)
		return status;
	receiver->length = receive_length(config);
	forward.remote_qpn = vl_qp_number(receiver->qp);
	backward.remote_qpn = vl_qp_number(sender->qp);
	sender->remote_qpn = forward.remote_qpn;
	if (config->transport == IBV_QPT_UD) {
		peer_address(&ah, config, flow->responder);
		sender->ah = vl_create_ah(flow->requester->pd, &ah, &status);
		if (!sender->ah)
			return status;
	}
	status = modify_to_init(sender->qp, config, now);
	if (!status)
		status = modify_to_init(receiver->qp, config, now);
	if (!status && config->cc)
		status = vl_set_cc(sender->qp, config->cc);
	if (!status && config->cc)
		status = vl_set_cc(receiver->qp, config->cc);
	if (!status)
		status = modify_to_rts(receiver->qp, config, &backward, now);
	return status ? status : modify_to_rts(sender->qp, config, &forward, now);
}

static int make_room(struct vl_flow *flow)
{
	struct vl_traffic *requester = flow->requester, *responder = flow->responder;
	const struct vl_flow_config *config = &flow->config;
	uint64_t qps = config->qps;
	void *grown;
	int status;

	grown = realloc(requester->senders, (requester->sender_count + qps) * sizeof(void *));
	if (!grown)
		return -ENOMEM;
	requester->senders = grown;
	grown = realloc(responder->receivers,
			(responder->receiver_count + qps) * sizeof(*responder->receivers));
	if (!grown)
		return -ENOMEM;
	responder->receivers = grown;
	memset(&responder->receivers[responder->receiver_count], 0,
	       qps * sizeof(*responder->receivers));
	status = grow_cq(requester->send_cq, &requester->send_entries, qps * config->depth);
	if (status || !takes_receives(config))
		return status;
	return grow_cq(responder->recv_cq, &responder->recv_entries, qps * receive_depth(config));
}

static void set_interval(struct vl_flow *flow)
{
	unsigned __int128 interval;

	if (!flow->config.rate)
		return;
	interval = ((unsigned __int128)flow->config.size * 8 * UINT64_C(1000000000) << 32) /
		   flow->config.rate;
	flow->interval = (uint64_t)(interval >> 32);
	flow->interval_fraction = (uint32_t)interval;
}

static void start_sender(struct vl_flow *flow, uint32_t n, uint64_t now)
{
	struct vl_traffic *traffic = flow->requester;
	struct vl_flow_sender *sender = &flow->senders[n];

	sender->flow = flow;
	sender->index = traffic->sender_count;
	sender->start_times = flow->start_times + (size_t)n * (flow->depth_mask + 1);
	sender->next_time = flow->config.start > now ? flow->config.start : now;
	traffic->senders[traffic->sender_count++] = sender;
	traffic->unfinished++;
	vl_timer_arm(&traffic->wheel, &sender->timer, sender->next_time);
}

struct vl_flow *vl_flow_create(struct vl_traffic *requester, struct vl_traffic *responder,
			       const struct vl_flow_config *config, uint64_t now, int *error)
{
	struct vl_random random = {config->seed};
	struct vl_flow *flow = NULL;
	uint32_t slots = 1;
	int status = -EINVAL;

	if (vl_flow_config_error(config) || config->size > requester->largest_message ||
	    config->size > responder->largest_message)
		goto fail;
	while (slots < config->depth)
		slots *= 2;
	status = -ENOMEM;
	flow = calloc(1, sizeof(*flow));
	if (!flow)
		goto fail;
	*flow = (struct vl_flow){.config = *config,
				 .requester = requester,
				 .responder = responder,
				 .remote_address = config->verb == VL_FLOW_READ
							   ? vl_flow_source_address()
							   : vl_flow_sink_address(responder),
				 .remote_rkey = responder->mr->rkey,
				 .first_receiver = responder->receiver_count,
				 .depth_mask = slots - 1};
	set_interval(flow);
	flow->senders = calloc(config->qps, sizeof(*flow->senders));
	flow->start_times = calloc((size_t)config->qps * slots, sizeof(*flow->start_times));
	if (!flow->senders || !flow->start_times)
		goto fail;
	status = make_room(flow);
	if (status)
		goto fail;
	responder->receiver_count += config->qps;
	for (uint32_t n = 0; n < config->qps; n++) {
		status = connect_qp(flow, n, &random, now);
		if (status)
			goto fail;
		for (uint32_t i = 0; i < receive_depth(config); i++)
			vl_traffic_post_receive(responder, flow->first_receiver + n);
	}
	for (uint32_t n = 0; n < config->qps; n++)
		start_sender(flow, n, now);
	flow->next = requester->flows;
	requester->flows = flow;
	return flow;
fail:
	if (flow)
		vl_flow_destroy(flow);
	if (error)
		*error = status;
	return NULL;
}

/* ---- Reading ------------------------------------------------------------------------------- */

const struct vl_flow_config *vl_flow_configuration(const struct vl_flow *flow)
{
	return &flow->config;
}

const struct vl_flow_progress *vl_flow_progress(const struct vl_flow *flow, uint32_t n)
{
	return &flow->senders[n].progress;
}

struct vl_qp *vl_flow_requester_qp(const struct vl_flow *flow, uint32_t n)
{
	return flow->senders[n].qp;
}

struct vl_qp *vl_flow_responder_qp(const struct vl_flow *flow, uint32_t n)
{
	return flow->responder->receivers[flow->first_receiver + n].qp;
}

uint64_t vl_flow_received_bytes(const struct vl_flow *flow, uint32_t n)
{
	struct vl_qp *qp = flow->config.verb >= VL_FLOW_READ ? vl_flow_requester_qp(flow, n)
							     : vl_flow_responder_qp(flow, n);

	return vl_qp_counters(qp)->data_bytes_rx;
}
