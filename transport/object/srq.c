/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Shared receive queues. */

#include "transport/object/internal.h"

#include <errno.h>

static size_t ring_bytes(const struct vl_receive_queue *queue)
{
	return (size_t)queue->size * queue->stride;
}

struct vl_srq *vl_create_srq(struct vl_pd *pd, const struct ibv_srq_attr *attr, int *error)
{
	struct vl_device *device = pd->device;
	struct vl_receive_queue *queue;
	struct vl_srq *srq;

	if (!attr->max_wr || attr->max_wr > device->config.max_qp_wr || attr->max_sge > VL_MAX_SGE)
		return vl_refuse(error, -EINVAL);
	if (device->srq_count >= device->config.max_srq)
		return vl_refuse(error, -ENOMEM);
	srq = vl_allocate(device, sizeof(*srq));
	if (!srq)
		return vl_refuse(error, -ENOMEM);
	queue = &srq->queue;
	queue->limit = attr->max_wr;
	queue->max_sge = attr->max_sge;
	queue->size = vl_round_up_to_power(attr->max_wr);
	queue->stride = vl_receive_stride(attr->max_sge);
	queue->ring = vl_allocate(device, ring_bytes(queue));
	if (!queue->ring) {
		vl_release(device, srq, sizeof(*srq));
		return vl_refuse(error, -ENOMEM);
	}
	srq->pd = pd;
	vl_list_append(&pd->srqs, &srq->link);
	pd->use_count++;
	device->srq_count++;
	return srq;
}

int vl_modify_srq(struct vl_srq *srq, const struct ibv_srq_attr *attr, int mask)
{
	if (mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT))
		return -EINVAL;
	/* Memory is taken by constructors only. */
	if (mask & IBV_SRQ_MAX_WR)
		return -EOPNOTSUPP;
	if (mask & IBV_SRQ_LIMIT) {
		if (attr->srq_limit > srq->queue.limit)
			return -EINVAL;
		srq->limit = attr->srq_limit;
	}
	return 0;
}

void vl_query_srq(const struct vl_srq *srq, struct ibv_srq_attr *attr)
{
	attr->max_wr = srq->queue.limit;
	attr->max_sge = srq->queue.max_sge;
	attr->srq_limit = srq->limit;
}

int vl_destroy_srq(struct vl_srq *srq)
{
	struct vl_device *device = srq->pd->device;

	if (srq->use_count)
		return -EBUSY;
	vl_list_remove(&srq->link);
	srq->pd->use_count--;
	device->srq_count--;
	vl_release(device, srq->queue.ring, ring_bytes(&srq->queue));
	vl_release(device, srq, sizeof(*srq));
	return 0;
}

int vl_post_srq_recv(struct vl_srq *srq, const struct ibv_recv_wr *wr,
		     const struct ibv_recv_wr **bad_wr)
{
	for (; wr; wr = wr->next) {
		int result = vl_receive_queue_post(&srq->queue, wr);

		if (result) {
			*bad_wr = wr;
			return result;
		}
	}
	return 0;
}
