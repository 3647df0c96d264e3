/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/control/channel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RECEIVES 2u

struct vl_control_channel {
	struct vl_pd *pd;
	struct ibv_mr *mr;
	struct vl_cq *send_cq, *recv_cq;
	struct vl_qp *qp;
	bool is_sending, is_broken;
	/* An answer may come before the acknowledgement of what it answers, and be answered itself;
	 * one message more than that cannot be. */
	uint32_t waiting_length; /* of the message that waits; 0: none does */
	char outgoing[VL_CONTROL_MAX_MESSAGE];
	char waiting[VL_CONTROL_MAX_MESSAGE];
	char incoming[RECEIVES][VL_CONTROL_MAX_MESSAGE];
};

const struct vl_cm_conn_param vl_control_conn_param = {.retry_count = 7, .rnr_retry_count = 7};

static void post_receive(struct vl_control_channel *channel, uint32_t slot)
{
	struct ibv_sge sge = {(uintptr_t)channel->incoming[slot], VL_CONTROL_MAX_MESSAGE,
			      channel->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = slot, .sg_list = &sge, .num_sge = 1};
	const struct ibv_recv_wr *bad;

	if (vl_post_recv(channel->qp, &wr, &bad))
		channel->is_broken = true;
}

static int create_objects(struct vl_control_channel *channel, struct vl_device *device)
{
	struct vl_qp_init_attr attr = {.qp_type = IBV_QPT_RC,
				       .cap = {.max_send_wr = 1,
					       .max_recv_wr = RECEIVES,
					       .max_send_sge = 1,
					       .max_recv_sge = 1}};
	int status = 0;

	channel->pd = vl_alloc_pd(device, &status);
	if (channel->pd)
		channel->mr = vl_reg_mr(channel->pd, channel, sizeof(*channel), (uintptr_t)channel,
					IBV_ACCESS_LOCAL_WRITE, &status);
	if (channel->mr)
		channel->send_cq = vl_create_cq(device, 1, NULL, &status);
	if (channel->send_cq)
		channel->recv_cq = vl_create_cq(device, RECEIVES, NULL, &status);
	if (!channel->recv_cq)
		return status;
	attr.send_cq = channel->send_cq;
	attr.recv_cq = channel->recv_cq;
	channel->qp = vl_create_qp(channel->pd, &attr, &status);
	return status;
}

struct vl_control_channel *vl_control_channel_open(struct vl_device *device, uint64_t now,
						   int *error)
{
	struct vl_control_channel *channel = calloc(1, sizeof(*channel));
	const struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = 1};
	int status = channel ? create_objects(channel, device) : -ENOMEM;

	if (!status)
		status = vl_modify_qp(
			channel->qp, &init,
			IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, now);
	if (!status) {
		for (uint32_t slot = 0; slot < RECEIVES; slot++)
			post_receive(channel, slot);
		return channel;
	}
	vl_control_channel_close(channel);
	*error = status;
	return NULL;
}

void vl_control_channel_close(struct vl_control_channel *channel)
{
	if (!channel)
		return;
	if (channel->qp)
		vl_destroy_qp(channel->qp);
	if (channel->recv_cq)
		vl_destroy_cq(channel->recv_cq);
	if (channel->send_cq)
		vl_destroy_cq(channel->send_cq);
	if (channel->mr)
		vl_dereg_mr(channel->mr);
	if (channel->pd)
		vl_dealloc_pd(channel->pd);
	free(channel);
}

struct vl_qp *vl_control_channel_qp(const struct vl_control_channel *channel)
{
	return channel->qp;
}

int vl_control_channel_connect(struct vl_control_channel *channel,
			       const struct vl_cm_connection *connection, uint64_t now)
{
	static const enum ibv_qp_state states[] = {IBV_QPS_RTR, IBV_QPS_RTS};
	struct ibv_qp_attr attr;
	int status = 0, mask;

	for (unsigned int i = 0; !status && i < 2; i++) {
		if (vl_qp_state(channel->qp) >= states[i])
			continue;
		status = vl_cm_init_qp_attr(connection, states[i], &attr, &mask);
		if (!status)
			status = vl_modify_qp(channel->qp, &attr, mask, now);
	}
	return status;
}

void vl_control_channel_stop(struct vl_control_channel *channel, uint64_t now)
{
	const struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

	channel->is_broken = true;
	(void)vl_modify_qp(channel->qp, &attr, IBV_QP_STATE, now);
}

static int post(struct vl_control_channel *channel, uint64_t now)
{
	struct ibv_sge sge = {(uintptr_t)channel->outgoing, channel->waiting_length,
			      channel->mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND,
				 .send_flags = IBV_SEND_SIGNALED};
	const struct ibv_send_wr *bad;

	memcpy(channel->outgoing, channel->waiting, channel->waiting_length);
	channel->waiting_length = 0;
	channel->is_sending = true;
	return vl_post_send(channel->qp, &wr, &bad, now);
}

static void poll_sent(struct vl_control_channel *channel, uint64_t now)
{
	struct ibv_wc wc;

	while (vl_poll_cq(channel->send_cq, 1, &wc) > 0) {
		channel->is_sending = false;
		if (wc.status != IBV_WC_SUCCESS)
			channel->is_broken = true;
	}
	if (channel->waiting_length && !channel->is_sending && post(channel, now))
		channel->is_broken = true;
}

int vl_control_channel_send(struct vl_control_channel *channel,
			    const struct vl_control_message *message, uint64_t now)
{
	int length;

	poll_sent(channel, now);
	if (channel->waiting_length)
		return -EBUSY;
	length = vl_control_encode(message, channel->waiting, sizeof(channel->waiting));
	if (length < 0)
		return length;
	channel->waiting_length = (uint32_t)length;
	return channel->is_sending ? 0 : post(channel, now);
}

int vl_control_channel_receive(struct vl_control_channel *channel,
			       struct vl_control_message *message, char *error, size_t error_size,
			       uint64_t now)
{
	struct ibv_wc wc;
	int status;

	poll_sent(channel, now);
	if (vl_poll_cq(channel->recv_cq, 1, &wc) <= 0)
		return channel->is_broken ? -EIO : 0;
	if (wc.status != IBV_WC_SUCCESS) {
		channel->is_broken = true;
		return -EIO;
	}
	status = vl_control_decode(channel->incoming[wc.wr_id], wc.byte_len, message, error,
				   error_size);
	post_receive(channel, (uint32_t)wc.wr_id);
	return status ? status : 1;
}
