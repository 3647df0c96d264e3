/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/flow_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define COMPLETION_BATCH 16
/* Content of messages repeats after this; longer memory is left untouched (zero). */
#define PATTERN_LENGTH 65536u

static void finish(struct vl_flow_sender *sender)
{
	if (sender->progress.finished)
		return;
	sender->progress.finished = true;
	sender->flow->requester->unfinished--;
	vl_timer_cancel(&sender->flow->requester->wheel, &sender->timer);
}

static void fail(struct vl_flow_sender *sender, enum ibv_wc_status status)
{
	if (sender->progress.status == IBV_WC_SUCCESS)
		sender->progress.status = status;
	finish(sender);
}

static void fill_request(const struct vl_flow_sender *sender, struct ibv_send_wr *wr,
			 struct ibv_sge *sge)
{
	static const enum ibv_wr_opcode opcodes[] = {
		[VL_FLOW_SEND] = IBV_WR_SEND,
		[VL_FLOW_SEND_IMM] = IBV_WR_SEND_WITH_IMM,
		[VL_FLOW_WRITE] = IBV_WR_RDMA_WRITE,
		[VL_FLOW_WRITE_IMM] = IBV_WR_RDMA_WRITE_WITH_IMM,
		[VL_FLOW_READ] = IBV_WR_RDMA_READ,
		[VL_FLOW_COMPARE_SWAP] = IBV_WR_ATOMIC_CMP_AND_SWP,
		[VL_FLOW_FETCH_ADD] = IBV_WR_ATOMIC_FETCH_AND_ADD,
	};
	const struct vl_flow *flow = sender->flow;
	const struct vl_traffic *traffic = flow->requester;
	bool takes_in = flow->config.verb >= VL_FLOW_READ;

	*sge = (struct ibv_sge){takes_in ? vl_flow_sink_address(traffic) : vl_flow_source_address(),
				flow->config.size, traffic->mr->lkey};
	wr->sg_list = sge;
	wr->num_sge = 1;
	wr->opcode = opcodes[flow->config.verb];
	wr->send_flags = IBV_SEND_SIGNALED;
	wr->imm_data = (__be32)sender->progress.posted;
	if (flow->config.transport == IBV_QPT_UD) {
		wr->wr.ud.ah = sender->ah;
		wr->wr.ud.remote_qpn = sender->remote_qpn;
		wr->wr.ud.remote_qkey = VL_FLOW_UD_QKEY;
	} else if (flow->config.verb >= VL_FLOW_COMPARE_SWAP) {
		wr->wr.atomic.remote_addr = flow->remote_address;
		wr->wr.atomic.rkey = flow->remote_rkey;
		wr->wr.atomic.compare_add = 1;
	} else {
		wr->wr.rdma.remote_addr = flow->remote_address;
		wr->wr.rdma.rkey = flow->remote_rkey;
	}
}

/* Whether there is another message and it may be posted once it is due. */
static bool may_post(const struct vl_flow_sender *sender, uint64_t now)
{
	const struct vl_flow_config *config = &sender->flow->config;
	const struct vl_flow_progress *progress = &sender->progress;

	return !progress->finished && (!config->messages || progress->posted < config->messages) &&
	       (!config->stop || now < config->stop) &&
	       progress->posted - progress->completed < config->depth;
}

/* Whether nothing is outstanding and nothing more will be posted. */
static bool is_over(const struct vl_flow_sender *sender, uint64_t now)
{
	const struct vl_flow_config *config = &sender->flow->config;
	const struct vl_flow_progress *progress = &sender->progress;

	if (progress->posted != progress->completed)
		return false;
	return (config->messages && progress->posted == config->messages) ||
	       (config->stop && (now >= config->stop || sender->next_time >= config->stop));
}

/* Posts what is due, and comes back for what is not yet. */
static void post_due(struct vl_flow_sender *sender, uint64_t now)
{
	struct vl_flow *flow = sender->flow;
	struct ibv_send_wr wr = {0};
	const struct ibv_send_wr *bad;
	struct ibv_sge sge;
	uint64_t fraction;

	while (may_post(sender, now) && sender->next_time <= now) {
		fill_request(sender, &wr, &sge);
		wr.wr_id = (uint64_t)sender->index << 32 | (uint32_t)sender->progress.posted;
		if (vl_post_send(sender->qp, &wr, &bad, now)) {
			fail(sender, IBV_WC_GENERAL_ERR);
			return;
		}
		sender->start_times[sender->progress.posted & flow->depth_mask] =
			flow->config.rate ? sender->next_time : now;
		sender->progress.posted++;
		fraction = sender->next_fraction + flow->interval_fraction;
		sender->next_fraction = fraction & UINT32_MAX;
		sender->next_time += flow->interval + (fraction >> 32);
	}
	if (is_over(sender, now))
		finish(sender);
	else if (sender->next_time > now && may_post(sender, now))
		vl_timer_arm(&flow->requester->wheel, &sender->timer, sender->next_time);
}

static void complete(struct vl_traffic *traffic, const struct ibv_wc *wc, uint64_t now)
{
	struct vl_flow_sender *sender = traffic->senders[wc->wr_id >> 32];
	const struct vl_flow_config *config = &sender->flow->config;
	struct vl_flow_progress *progress = &sender->progress;

	if (wc->status != IBV_WC_SUCCESS) {
		fail(sender, wc->status);
		return;
	}
	if (config->completion_times && now >= config->measure_from)
		vl_histogram_record(
			config->completion_times,
			now - sender->start_times[progress->completed & sender->flow->depth_mask]);
	progress->completed++;
	progress->bytes += config->size;
	progress->last_completion = now;
	post_due(sender, now);
}

void vl_traffic_post_receive(struct vl_traffic *traffic, uint32_t index)
{
	const struct vl_flow_receiver *receiver = &traffic->receivers[index];
	struct ibv_sge sge = {vl_flow_sink_address(traffic), receiver->length, traffic->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = index, .sg_list = &sge, .num_sge = receiver->length != 0};
	const struct ibv_recv_wr *bad;

	/* Refused only in the error state, where the requester's completions tell. */
	(void)vl_post_recv(receiver->qp, &wr, &bad);
}

static void poll_traffic(void *context, struct vl_endpoint *endpoint, uint64_t now)
{
	struct vl_traffic *traffic = context;
	struct ibv_wc wc[COMPLETION_BATCH];
	struct vl_timer *timer;
	struct vl_flow_sender *sender;
	int count;

	(void)endpoint;
	while ((count = vl_poll_cq(traffic->recv_cq, COMPLETION_BATCH, wc)) > 0) {
		for (int i = 0; i < count; i++) {
			if (wc[i].status == IBV_WC_SUCCESS)
				vl_traffic_post_receive(traffic, (uint32_t)wc[i].wr_id);
		}
	}
	while ((count = vl_poll_cq(traffic->send_cq, COMPLETION_BATCH, wc)) > 0) {
		for (int i = 0; i < count; i++)
			complete(traffic, &wc[i], now);
	}
	while ((timer = vl_timer_wheel_expire(&traffic->wheel, now))) {
		sender = (struct vl_flow_sender *)((char *)timer -
						   offsetof(struct vl_flow_sender, timer));
		post_due(sender, now);
	}
}

static uint64_t next_deadline(void *context)
{
	struct vl_traffic *traffic = context;

	return vl_timer_wheel_next(&traffic->wheel);
}

/* ---- Life ---------------------------------------------------------------------------------- */

struct vl_traffic *vl_traffic_create(struct vl_endpoint *endpoint,
				     const struct vl_traffic_config *config, int *error)
{
	struct vl_traffic *traffic = calloc(1, sizeof(*traffic));
	uint64_t size = vl_traffic_memory_size(config->largest_message);
	int status = -ENOMEM;

	if (!traffic)
		goto fail;
	traffic->endpoint = endpoint;
	traffic->largest_message = config->largest_message;
	traffic->memory = config->memory;
	if (!traffic->memory) {
		traffic->own_memory = calloc(1, size);
		traffic->memory = traffic->own_memory;
	}
	if (!traffic->memory)
		goto fail;
	for (uint64_t i = 0; i < size / 2 && i < PATTERN_LENGTH; i++)
		traffic->memory[i] = (uint8_t)(i + (i >> 8));
	vl_timer_wheel_init(&traffic->wheel, 0);
	traffic->pd = vl_alloc_pd(endpoint->device, &status);
	if (!traffic->pd)
		goto fail;
	traffic->mr = vl_reg_mr(traffic->pd, traffic->memory, size, VL_FLOW_MEMORY_ADDRESS,
				IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
					IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
				&status);
	if (!traffic->mr)
		goto fail;
	traffic->send_cq = vl_create_cq(endpoint->device, 1, NULL, &status);
	if (!traffic->send_cq)
		goto fail;
	traffic->recv_cq = vl_create_cq(endpoint->device, 1, NULL, &status);
	if (!traffic->recv_cq)
		goto fail;
	vl_endpoint_set_application(endpoint,
				    &(struct vl_application){poll_traffic, next_deadline, traffic});
	return traffic;
fail:
	if (traffic)
		vl_traffic_destroy(traffic);
	if (error)
		*error = status;
	return NULL;
}

void vl_traffic_destroy(struct vl_traffic *traffic)
{
	struct vl_flow *flow;

	while ((flow = traffic->flows)) {
		traffic->flows = flow->next;
		vl_flow_destroy(flow);
	}
	for (uint32_t i = 0; i < traffic->receiver_count; i++) {
		if (traffic->receivers[i].qp)
			vl_destroy_qp(traffic->receivers[i].qp);
	}
	if (traffic->endpoint->application.context == traffic)
		vl_endpoint_set_application(traffic->endpoint, &(struct vl_application){0});
	if (traffic->recv_cq)
		vl_destroy_cq(traffic->recv_cq);
	if (traffic->send_cq)
		vl_destroy_cq(traffic->send_cq);
	if (traffic->mr)
		vl_dereg_mr(traffic->mr);
	if (traffic->pd)
		vl_dealloc_pd(traffic->pd);
	free(traffic->senders);
	free(traffic->receivers);
	free(traffic->own_memory);
	free(traffic);
}

bool vl_traffic_is_finished(const struct vl_traffic *traffic)
{
	return !traffic->unfinished;
}
