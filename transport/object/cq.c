/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Completion queues. */

#include "transport/object/internal.h"

#include <errno.h>

/* Rings have a power of two of entries, so the queue may hold more than was asked for. */
static struct vl_completion *make_ring(struct vl_device *device, uint32_t cqe, uint32_t *size)
{
	*size = vl_round_up_to_power(cqe);
	return vl_allocate(device, *size * sizeof(struct vl_completion));
}

static struct vl_completion *entry_at(const struct vl_cq *cq, uint32_t index)
{
	return &cq->ring[index & (cq->size - 1)];
}

struct vl_cq *vl_create_cq(struct vl_device *device, uint32_t cqe, void *context, int *error)
{
	struct vl_cq *cq;

	if (!cqe || cqe > device->config.max_cqe)
		return vl_refuse(error, -EINVAL);
	if (device->cq_count >= device->config.max_cq)
		return vl_refuse(error, -ENOMEM);
	cq = vl_allocate(device, sizeof(*cq));
	if (!cq)
		return vl_refuse(error, -ENOMEM);
	cq->ring = make_ring(device, cqe, &cq->size);
	if (!cq->ring) {
		vl_release(device, cq, sizeof(*cq));
		return vl_refuse(error, -ENOMEM);
	}
	cq->device = device;
	cq->context = context;
	vl_list_append(&device->cqs, &cq->link);
	device->cq_count++;
	return cq;
}

int vl_resize_cq(struct vl_cq *cq, uint32_t cqe)
{
	struct vl_device *device = cq->device;
	struct vl_completion *ring;
	uint32_t size, queued = cq->tail - cq->head;

	if (!cqe || cqe > device->config.max_cqe || cqe < queued)
		return -EINVAL;
	ring = make_ring(device, cqe, &size);
	if (!ring)
		return -ENOMEM;
	for (uint32_t i = 0; i < queued; i++)
		ring[i] = *entry_at(cq, cq->head + i);
	vl_release(device, cq->ring, cq->size * sizeof(struct vl_completion));
	cq->ring = ring;
	cq->size = size;
	cq->head = 0;
	cq->tail = queued;
	return 0;
}

int vl_destroy_cq(struct vl_cq *cq)
{
	struct vl_device *device = cq->device;

	if (cq->use_count)
		return -EBUSY;
	vl_list_remove(&cq->link);
	device->cq_count--;
	vl_release(device, cq->ring, cq->size * sizeof(struct vl_completion));
	vl_release(device, cq, sizeof(*cq));
	return 0;
}

void *vl_cq_context(const struct vl_cq *cq)
{
	return cq->context;
}

int vl_poll_cq(struct vl_cq *cq, int count, struct ibv_wc *wc)
{
	int polled = 0;

	if (count < 0)
		return -EINVAL;
	while (polled < count && cq->head != cq->tail)
		wc[polled++] = entry_at(cq, cq->head++)->wc;
	return !polled && count && cq->overflowed ? -EIO : polled;
}

int vl_poll_cq_arrivals(struct vl_cq *cq, int count, struct ibv_wc *wc, uint64_t *arrivals)
{
	for (int i = 0; i < count && cq->head + (uint32_t)i != cq->tail; i++)
		arrivals[i] = entry_at(cq, cq->head + (uint32_t)i)->arrival;
	return vl_poll_cq(cq, count, wc);
}

void vl_req_notify_cq(struct vl_cq *cq, bool solicited_only)
{
	/* The stronger of two requests holds, IBTA 11.4.2.2. */
	if (solicited_only)
		cq->armed_solicited = true;
	else
		cq->armed = true;
}

/* IBTA 10.10.2.2: the CQ's error takes the QPs that report to it along. Rare, so it may walk
 * through all of them. */
static void fail(struct vl_cq *cq)
{
	struct vl_device *device = cq->device;

	cq->overflowed = true;
	vl_raise_event(device, IBV_EVENT_CQ_ERR, cq);
	for (struct vl_link *i = device->pds.next; i != &device->pds; i = i->next) {
		struct vl_pd *pd = VL_CONTAINER(i, struct vl_pd, link);

		for (struct vl_link *j = pd->qps.next; j != &pd->qps; j = j->next) {
			struct vl_qp *qp = VL_CONTAINER(j, struct vl_qp, link);

			if (qp->send_cq == cq || qp->recv_cq == cq)
				vl_qp_fail(qp, IBV_EVENT_QP_FATAL);
		}
	}
}

void vl_cq_add(struct vl_cq *cq, const struct ibv_wc *wc, bool solicited)
{
	const struct vl_device_events *events = &cq->device->config.events;

	if (cq->overflowed)
		return;
	if (cq->tail - cq->head == cq->size) {
		fail(cq);
		return;
	}
	*entry_at(cq, cq->tail++) = (struct vl_completion){*wc, cq->device->arrival};
	if (cq->armed || (cq->armed_solicited && (solicited || wc->status != IBV_WC_SUCCESS))) {
		cq->armed = cq->armed_solicited = false;
		if (events->completion)
			events->completion(events->context, cq);
	}
}

void vl_cq_purge(struct vl_cq *cq, uint32_t qpn)
{
	uint32_t kept = cq->head;

	for (uint32_t i = cq->head; i != cq->tail; i++) {
		const struct vl_completion *entry = entry_at(cq, i);

		if (entry->wc.qp_num != qpn)
			*entry_at(cq, kept++) = *entry;
	}
	cq->tail = kept;
}
