/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/generate/responder.h"

#include <errno.h>
#include <stdlib.h>

#define COMPLETION_BATCH 16
#define FIRST_CAPACITY   16u

struct responder {
	struct vl_qp *qp;
	struct ibv_ah *ah;
	struct vl_queue_pair_config config;
	uint32_t psn;
	uint32_t receive_size;
	struct vl_one_way *one_way; /* NULL: not asked for */
	int64_t clock_offset;       /* ns that our clock is ahead */
};

struct vl_responder_set {
	struct vl_device *device;
	struct vl_traffic_memory memory;
	struct vl_cq *send_cq, *recv_cq;
	uint32_t receives;     /* that may be outstanding */
	uint32_t recv_entries; /* of recv_cq, at least receives */
	struct responder *responders;
	uint32_t count, capacity;
};

struct vl_responder_set *vl_responder_set_create(struct vl_device *device,
						 const struct vl_responder_set_config *config,
						 int *error)
{
	struct vl_responder_set *set = calloc(1, sizeof(*set));
	int status = set ? 0 : -ENOMEM;

	if (!status) {
		set->device = device;
		status = vl_traffic_memory_open(&set->memory, device, config->largest_message,
						config->memory);
	}
	if (!status)
		set->send_cq = vl_create_cq(device, 1, NULL, &status);
	if (!status)
		set->recv_cq = vl_create_cq(device, 1, NULL, &status);
	if (!status)
		return set;
	vl_responder_set_destroy(set);
	if (error)
		*error = status;
	return NULL;
}

static void destroy_responder(struct responder *responder)
{
	if (responder->qp)
		vl_destroy_qp(responder->qp);
	if (responder->ah)
		vl_destroy_ah(responder->ah);
}

uint32_t vl_responder_set_shrink(struct vl_responder_set *set, uint32_t most)
{
	while (set->count && most--)
		destroy_responder(&set->responders[--set->count]);
	return set->count;
}

void vl_responder_set_destroy(struct vl_responder_set *set)
{
	if (!set)
		return;
	vl_responder_set_shrink(set, UINT32_MAX);
	if (set->recv_cq)
		vl_destroy_cq(set->recv_cq);
	if (set->send_cq)
		vl_destroy_cq(set->send_cq);
	vl_traffic_memory_close(&set->memory);
	free(set->responders);
	free(set);
}

static void post_receive(struct vl_responder_set *set, uint32_t index)
{
	const struct responder *responder = &set->responders[index];
	struct ibv_sge sge = {vl_traffic_sink_address(&set->memory), responder->receive_size,
			      set->memory.mr->lkey};
	struct ibv_recv_wr wr = {
		.wr_id = index, .sg_list = &sge, .num_sge = responder->receive_size != 0};
	const struct ibv_recv_wr *bad;

	/* Refused only in the error state, where the requester's completions tell. */
	(void)vl_post_recv(responder->qp, &wr, &bad);
}

static void note_arrival(const struct responder *responder, const struct ibv_wc *wc,
			 uint64_t arrival)
{
	if (responder->one_way && wc->wc_flags & IBV_WC_WITH_IMM)
		vl_one_way_record(responder->one_way, wc->imm_data, responder->clock_offset,
				  arrival);
}

void vl_responder_set_poll(struct vl_responder_set *set)
{
	struct ibv_wc wc[COMPLETION_BATCH];
	uint64_t arrivals[COMPLETION_BATCH];
	int count;

	while ((count = vl_poll_cq_arrivals(set->recv_cq, COMPLETION_BATCH, wc, arrivals)) > 0) {
		for (int i = 0; i < count; i++) {
			if (wc[i].status != IBV_WC_SUCCESS)
				continue;
			note_arrival(&set->responders[wc[i].wr_id], &wc[i], arrivals[i]);
			post_receive(set, (uint32_t)wc[i].wr_id);
		}
	}
}

static int grow_cq(struct vl_responder_set *set, uint64_t receives)
{
	uint64_t entries = set->recv_entries;
	int status;

	if (receives > INT32_MAX)
		return -ENOMEM;
	while (entries < receives)
		entries = entries ? 2 * entries : 64;
	if (entries == set->recv_entries)
		return 0;
	status = vl_resize_cq(set->recv_cq, (uint32_t)entries);
	/* The next power of two may be beyond the device's limit where the need is not. */
	if (status) {
		entries = receives;
		status = vl_resize_cq(set->recv_cq, (uint32_t)entries);
	}
	if (!status)
		set->recv_entries = (uint32_t)entries;
	return status;
}

static int make_room(struct vl_responder_set *set, uint32_t receive_depth)
{
	uint32_t capacity = set->capacity ? 2 * set->capacity : FIRST_CAPACITY;
	int status = grow_cq(set, (uint64_t)set->receives + receive_depth);
	void *grown;

	if (status || set->count < set->capacity)
		return status;
	grown = realloc(set->responders, capacity * sizeof(*set->responders));
	if (!grown)
		return -ENOMEM;
	set->responders = grown;
	set->capacity = capacity;
	return 0;
}

int vl_responder_set_add(struct vl_responder_set *set, const struct vl_queue_pair_config *config,
			 uint32_t receive_depth, uint32_t receive_size, uint32_t psn, uint64_t now,
			 uint32_t *index)
{
	struct vl_queue_pair_room room = {.pd = set->memory.pd,
					  .send_cq = set->send_cq,
					  .recv_cq = set->recv_cq,
					  .receive_depth = receive_depth};
	uint32_t header = config->transport == IBV_QPT_UD ? VL_TRAFFIC_GRH_AREA : 0;
	struct responder *responder;
	int status;

	if (receive_size > set->memory.largest_message)
		return -EINVAL;
	status = make_room(set, receive_depth);
	if (status)
		return status;
	responder = &set->responders[set->count];
	*responder = (struct responder){.config = *config,
					.psn = psn & 0xffffff,
					.receive_size = receive_size ? receive_size + header : 0};
	responder->qp = vl_queue_pair_create(config, &room, now, &status);
	if (!responder->qp)
		return status;
	set->receives += receive_depth;
	*index = set->count++;
	for (uint32_t i = 0; i < receive_depth; i++)
		post_receive(set, *index);
	return 0;
}

void vl_responder_set_time(struct vl_responder_set *set, uint32_t index, struct vl_one_way *one_way,
			   int64_t offset)
{
	set->responders[index].one_way = one_way;
	set->responders[index].clock_offset = offset;
}

void vl_responder_set_local(const struct vl_responder_set *set, uint32_t index,
			    struct vl_queue_pair_address *address)
{
	const struct responder *responder = &set->responders[index];

	*address = (struct vl_queue_pair_address){
		.qpn = vl_qp_number(responder->qp),
		.psn = responder->psn,
		.qkey = VL_TRAFFIC_QKEY,
		.address = vl_traffic_sink_address(&set->memory),
		.length = vl_traffic_memory_size(set->memory.largest_message) / 2,
		.rkey = set->memory.mr->rkey};
	vl_queue_pair_local_address(set->device, responder->config.sgid_index, address);
}

int vl_responder_set_connect(struct vl_responder_set *set, uint32_t index,
			     const struct vl_queue_pair_address *peer, uint64_t now)
{
	struct responder *responder = &set->responders[index];

	return vl_queue_pair_connect(responder->qp, set->memory.pd, set->device, &responder->config,
				     responder->psn, peer, &responder->ah, now);
}

uint32_t vl_responder_set_count(const struct vl_responder_set *set)
{
	return set->count;
}

struct vl_qp *vl_responder_set_qp(const struct vl_responder_set *set, uint32_t index)
{
	return set->responders[index].qp;
}

const struct vl_traffic_memory *vl_responder_set_memory(const struct vl_responder_set *set)
{
	return &set->memory;
}
