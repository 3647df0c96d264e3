/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/fabric/queue.h"

void vl_frame_queue_init(struct vl_frame_queue *queue, uint64_t limit, uint64_t now)
{
	*queue = (struct vl_frame_queue){
		.limit = limit ? limit : UINT64_MAX,
		.changed = now,
	};
}

void vl_frame_queue_clear(struct vl_frame_queue *queue, uint64_t now)
{
	struct vl_frame *frame;

	while ((frame = vl_frame_queue_pop(queue, now)))
		vl_frame_free(frame);
}

unsigned __int128 vl_frame_queue_area(const struct vl_frame_queue *queue, uint64_t now)
{
	return queue->area + (unsigned __int128)queue->bytes * (now - queue->changed);
}
