/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * A first-in first-out queue of frames with a limit in bytes. It knows its exact length at every
 * nanosecond: the mean over any interval follows from the area under the curve.
 */
#ifndef VERBLINE_FABRIC_QUEUE_H
#define VERBLINE_FABRIC_QUEUE_H

#include "dataplane/frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vl_frame_queue {
	struct vl_frame *head, *tail;
	uint64_t bytes;
	uint64_t limit;         /* bytes; a frame that would exceed it is refused */
	uint64_t watermark;     /* largest bytes since the last vl_frame_queue_reset_watermark */
	uint64_t changed;       /* ns, of the last change of bytes */
	unsigned __int128 area; /* bytes * ns up to changed */
	uint32_t frames;
};

/* limit 0: none. */
void vl_frame_queue_init(struct vl_frame_queue *queue, uint64_t limit, uint64_t now);
/* Gives all frames back to their pools. */
void vl_frame_queue_clear(struct vl_frame_queue *queue, uint64_t now);
/* Bytes times nanoseconds since the queue was made; differences of two readings over the time
 * between them are the exact mean length. */
unsigned __int128 vl_frame_queue_area(const struct vl_frame_queue *queue, uint64_t now);

static inline void vl_frame_queue_reset_watermark(struct vl_frame_queue *queue)
{
	queue->watermark = queue->bytes;
}

static inline bool vl_frame_queue_has_room(const struct vl_frame_queue *queue, uint32_t length)
{
	return queue->bytes + length <= queue->limit;
}

/* False: no room, the frame stays the caller's. Sets frame->time. */
static inline bool vl_frame_queue_push(struct vl_frame_queue *queue, struct vl_frame *frame,
				       uint64_t now)
{
	if (!vl_frame_queue_has_room(queue, frame->length))
		return false;
	frame->next = NULL;
	frame->time = now;
	if (queue->head)
		queue->tail->next = frame;
	else
		queue->head = frame;
	queue->tail = frame;
	queue->area += (unsigned __int128)queue->bytes * (now - queue->changed);
	queue->changed = now;
	queue->bytes += frame->length;
	queue->frames++;
	if (queue->bytes > queue->watermark)
		queue->watermark = queue->bytes;
	return true;
}

/* NULL: empty. frame->time is when it entered. */
static inline struct vl_frame *vl_frame_queue_pop(struct vl_frame_queue *queue, uint64_t now)
{
	struct vl_frame *frame = queue->head;

	if (!frame)
		return NULL;
	queue->head = frame->next;
	queue->area += (unsigned __int128)queue->bytes * (now - queue->changed);
	queue->changed = now;
	queue->bytes -= frame->length;
	queue->frames--;
	return frame;
}

#endif
