/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Frames that arrive before others that were put on the link earlier, or that may yet do so: a
 * pairing heap (Fredman, Sedgewick, Sleator and Tarjan 1986) by time, and within the same time in
 * the order in which they were added. Adding takes constant time, the rest logarithmic time,
 * amortised. The nodes are the frames: next, previous, child and sequence are the heap's.
 */
#ifndef VERBLINE_FABRIC_LATE_FRAMES_H
#define VERBLINE_FABRIC_LATE_FRAMES_H

#include "dataplane/frame.h"

#include <stdint.h>

/* All 0: empty. Holds fewer than 2^31 frames. */
struct vl_late_frames {
	struct vl_frame *first; /* to arrive; NULL: none */
	uint32_t sequence;      /* of the next one */
};

/* frame->time must not change while it is here. */
void vl_late_frames_add(struct vl_late_frames *late, struct vl_frame *frame);
/* One that is here. */
void vl_late_frames_remove(struct vl_late_frames *late, struct vl_frame *frame);

#endif
