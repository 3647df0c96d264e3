/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/fabric/late_frames.h"

#include <stdbool.h>

static bool is_before(const struct vl_frame *a, const struct vl_frame *b)
{
	return a->time != b->time ? a->time < b->time : (int32_t)(a->sequence - b->sequence) < 0;
}

/* Of two heaps one. */
static struct vl_frame *meld(struct vl_frame *a, struct vl_frame *b)
{
	struct vl_frame *parent = is_before(b, a) ? b : a;
	struct vl_frame *child = parent == a ? b : a;

	child->next = parent->child;
	if (child->next)
		child->next->previous = child;
	child->previous = parent;
	parent->child = child;
	return parent;
}

/* Of a node's children one heap, NULL for none: in pairs from the left, then these together from
 * the right. */
static struct vl_frame *meld_children(struct vl_frame *child)
{
	struct vl_frame *pairs = NULL, *heap = NULL;

	while (child) {
		struct vl_frame *second = child->next;
		struct vl_frame *rest = second ? second->next : NULL;
		struct vl_frame *pair = second ? meld(child, second) : child;

		pair->next = pairs;
		pairs = pair;
		child = rest;
	}
	while (pairs) {
		struct vl_frame *rest = pairs->next;

		heap = heap ? meld(heap, pairs) : pairs;
		pairs = rest;
	}
	return heap;
}

void vl_late_frames_add(struct vl_late_frames *late, struct vl_frame *frame)
{
	frame->child = NULL;
	frame->sequence = late->sequence++;
	late->first = late->first ? meld(late->first, frame) : frame;
}

void vl_late_frames_remove(struct vl_late_frames *late, struct vl_frame *frame)
{
	struct vl_frame *heap = meld_children(frame->child);

	if (frame == late->first) {
		late->first = heap;
		return;
	}
	/* What comes before the leftmost child is the parent. */
	if (frame->previous->child == frame)
		frame->previous->child = frame->next;
	else
		frame->previous->next = frame->next;
	if (frame->next)
		frame->next->previous = frame->previous;
	if (heap)
		late->first = meld(late->first, heap);
}
