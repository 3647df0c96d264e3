/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/flow.h"

#include "dataplane/flow_private.h"
#include "transport/random.h"

#include <errno.h>
#include <stdlib.h>

/* 12: 0.64 ms, IBTA table 45. */
#define MIN_RNR_TIMER 12

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
	if (vl_flow_verb_is_atomic(config->verb) && config->size != VL_FLOW_ATOMIC_SIZE)
		return "the size of an atomic is 8 B";
	if (config->path_mtu < IBV_MTU_256 || config->path_mtu > IBV_MTU_4096)
		return "the path MTU must be 256, 512, 1024, 2048 or 4096";
	if (config->stop && config->stop <= config->start)
		return "it stops before it starts";
	return verb_error(config);
}

/* ---- Set-up -------------------------------------------------------------------------------- */

static struct vl_generate_group_config group_config(const struct vl_flow_config *config,
						    uint64_t start)
{
	const struct vl_queue_pair_config qp = {
		.transport = config->transport,
		.path_mtu = config->path_mtu,
		.traffic_class = (uint8_t)(config->dscp << 2 | VL_ECN_ECT0),
		.priority = config->priority,
		.without_grh = config->without_grh,
		.timeout = config->timeout,
		.retry_count = config->retry_count,
		.rnr_retry = config->rnr_retry,
		.min_rnr_timer = MIN_RNR_TIMER,
		.cc = config->cc,
	};
	/* What is over before anything is measured has no times. */
	bool is_measured = !config->stop || config->measure_from < config->stop;

	return (struct vl_generate_group_config){
		.qp = qp,
		.qps = config->qps,
		.depth = config->depth,
		.mix = {.count = 1, .entries = {{config->verb, config->size, config->size, 1}}},
		.schedule = {.rate = config->rate,
			     .counts = VL_RATE_OF_PAYLOAD,
			     .framing = {.path_mtu = config->path_mtu}},
		.aligned = true,
		.messages = config->messages,
		.duration = config->stop > start ? config->stop - start : 0,
		.warm_up = is_measured && config->measure_from > start
				   ? config->measure_from - start
				   : 0,
		.seed = config->seed,
		.completion_times = is_measured ? config->completion_times : NULL,
	};
}

static int connect_pair(struct vl_flow *flow, uint32_t n, const struct vl_queue_pair_config *qp,
			struct vl_random *random, uint64_t now)
{
	const struct vl_flow_config *config = &flow->config;
	uint32_t receives = vl_flow_verb_takes_receive(config->verb) ? 2 * config->depth : 0;
	uint32_t size = config->verb == VL_FLOW_WRITE_IMM ? 0 : config->size;
	struct vl_queue_pair_address requester, responder;
	uint32_t index;
	int status = vl_responder_set_add(flow->responder->responders, qp, receives, size,
					  (uint32_t)vl_random_next(random), now, &index);

	if (status)
		return status;
	if (!n)
		flow->first_responder = index;
	vl_generate_group_local(flow->group, n, &requester);
	vl_responder_set_local(flow->responder->responders, index, &responder);
	if (config->verb == VL_FLOW_READ)
		responder.address = vl_traffic_source_address();
	status = vl_responder_set_connect(flow->responder->responders, index, &requester, now);
	return status ? status : vl_generate_group_connect(flow->group, n, &responder, now);
}

struct vl_flow *vl_flow_create(struct vl_traffic *requester, struct vl_traffic *responder,
			       const struct vl_flow_config *config, uint64_t now, int *error)
{
	uint64_t start = config->start > now ? config->start : now;
	struct vl_generate_group_config group = group_config(config, start);
	struct vl_random random = {config->seed};
	struct vl_flow *flow = NULL;
	int status = -EINVAL;

	if (vl_flow_config_error(config) || config->size > responder->largest_message)
		goto fail;
	flow = calloc(1, sizeof(*flow));
	status = flow ? 0 : -ENOMEM;
	if (status)
		goto fail;
	flow->config = *config;
	flow->requester = requester;
	flow->responder = responder;
	flow->group = vl_generator_add_group(requester->generator, &group, now, &status);
	for (uint32_t n = 0; !status && n < config->qps; n++)
		status = connect_pair(flow, n, &group.qp, &random, now);
	if (status)
		goto fail;
	vl_generate_group_start(flow->group, start);
	flow->next = requester->flows;
	requester->flows = flow;
	return flow;
fail:
	free(flow);
	if (error)
		*error = status;
	return NULL;
}

/* ---- Reading ------------------------------------------------------------------------------- */

const struct vl_flow_config *vl_flow_configuration(const struct vl_flow *flow)
{
	return &flow->config;
}

const struct vl_generate_progress *vl_flow_progress(const struct vl_flow *flow, uint32_t n)
{
	return vl_generate_group_progress(flow->group, n);
}

struct vl_qp *vl_flow_requester_qp(const struct vl_flow *flow, uint32_t n)
{
	return vl_generate_group_qp(flow->group, n);
}

struct vl_qp *vl_flow_responder_qp(const struct vl_flow *flow, uint32_t n)
{
	return vl_responder_set_qp(flow->responder->responders, flow->first_responder + n);
}

uint64_t vl_flow_received_bytes(const struct vl_flow *flow, uint32_t n)
{
	struct vl_qp *qp = vl_flow_verb_takes_in(flow->config.verb) ? vl_flow_requester_qp(flow, n)
								    : vl_flow_responder_qp(flow, n);

	return vl_qp_counters(qp)->data_bytes_rx;
}
