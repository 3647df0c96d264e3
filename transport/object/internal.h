/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What the files of object/ share among themselves. */
#ifndef VERBLINE_OBJECT_INTERNAL_H
#define VERBLINE_OBJECT_INTERNAL_H

#include "transport/object/object.h"

/* What ibv_qp_attr.qp_access_flags may say. */
#define VL_QP_ACCESS_MASK                                                                          \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC | VL_ACCESS_FLUSH_GLOBAL | VL_ACCESS_FLUSH_PERSISTENT)

#define VL_GSI_QPN  1
#define VL_GSI_QKEY 0x80010000u
/* IBTA 9.6.1.3: 0xffffff is the multicast QPN. */
#define VL_LAST_QPN 0xfffffeu

static inline void *vl_allocate(const struct vl_device *device, size_t size)
{
	const struct vl_allocator *allocator = &device->config.allocator;

	return allocator->allocate(allocator->context, size);
}

static inline void vl_release(const struct vl_device *device, void *memory, size_t size)
{
	const struct vl_allocator *allocator = &device->config.allocator;

	if (memory)
		allocator->release(allocator->context, memory, size);
}

/* A constructor's way out. */
static inline void *vl_refuse(int *error, int code)
{
	if (error)
		*error = code;
	return NULL;
}

/* The smallest power of two that is not less; 0 for 0. count <= 2^31. */
static inline uint32_t vl_round_up_to_power(uint32_t count)
{
	return count <= 1 ? count : UINT32_C(1) << (32 - __builtin_clz(count - 1));
}

/* Link and network headers for an address. lqpn and rqpn give the UDP source port if the flow
 * label does not; a fixed port (not 0) goes before both. mac NULL: resolved. -EINVAL: the
 * attributes do not fit the device; else what events.resolve says. */
int vl_path_from_attr(struct vl_device *device, const struct ibv_ah_attr *attr,
		      const uint8_t mac[6], uint16_t fixed_port, uint32_t local_qpn,
		      uint32_t remote_qpn, struct vl_path *path, uint8_t *priority);

/* Receive queues, of QPs and SRQs. */
static inline uint32_t vl_receive_stride(uint32_t max_sge)
{
	return (uint32_t)(sizeof(struct vl_receive) + max_sge * sizeof(struct ibv_sge));
}

/* Appends one request: 0, -ENOMEM (full), -EINVAL (number of elements). */
int vl_receive_queue_post(struct vl_receive_queue *queue, const struct ibv_recv_wr *wr);

/* Type 2 windows do not outlive the QP that they are bound on. */
void vl_mr_unbind_windows(struct vl_qp *qp);

/* Completes everything in the queue with IBV_WC_WR_FLUSH_ERR, oldest first. Posting to a QP in
 * ERR or SQE comes here too; a post from inside a flush's callback is flushed by the outer one. */
void vl_flush_sends(struct vl_qp *qp);
void vl_flush_receives(struct vl_qp *qp);
/* Forgets what is in the queues, without completions. */
void vl_drop_work_requests(struct vl_qp *qp);

#endif
