/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Fetching into the cache what the engine is about to touch. */

#include "transport/object/object.h"

#define CACHE_LINE 64u

static inline void fetch(const void *address, size_t length)
{
	for (size_t offset = 0; offset < length; offset += CACHE_LINE)
		__builtin_prefetch((const char *)address + offset);
}

void vl_prefetch_device(const struct vl_device *device)
{
	__builtin_prefetch(&device->config.mac);
	fetch(&device->qps, sizeof(device->qps));
	fetch(&device->mrs, sizeof(device->mrs));
	fetch(&device->counters, sizeof(device->counters));
	fetch(&device->notifications,
	      (size_t)((const char *)&device->wheel.slots - (const char *)&device->notifications));
}

static void fetch_mrs(const struct vl_device *device)
{
	for (unsigned int i = 0; i < VL_TABLE_RECENT; i++) {
		if (device->mrs.recent[i].value)
			fetch(device->mrs.recent[i].value, sizeof(struct vl_mr));
	}
}

void vl_prefetch_receive(const struct vl_device *device, uint32_t destination_qpn)
{
	uint32_t i = destination_qpn % VL_TABLE_RECENT;

	if (device->qps.recent[i].number != destination_qpn || !device->qps.recent[i].value)
		return;
	fetch(device->qps.recent[i].value, sizeof(struct vl_qp));
	fetch_mrs(device);
}

void vl_prefetch_transmit(const struct vl_device *device)
{
	uint16_t mask = device->ready_mask & (uint16_t)~device->paused_mask;
	const struct vl_qp *qp;

	if (!mask)
		return;
	qp = VL_CONTAINER(device->ready[__builtin_ctz(mask)].next, struct vl_qp, ready_link);
	fetch(qp, sizeof(*qp));
	fetch_mrs(device);
}
