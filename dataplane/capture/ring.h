/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Frames on their way from the thread that sees them to the one that writes them: one producer, one
 * consumer, memory of its own made at set-up. What finds no room is dropped and counted; nobody
 * waits.
 */
#ifndef VERBLINE_CAPTURE_RING_H
#define VERBLINE_CAPTURE_RING_H

#include "dataplane/frame.h"

#include <stdbool.h>
#include <stdint.h>

struct vl_capture_ring;

/* Longer comments are cut. */
#define VL_CAPTURE_RING_COMMENT 511u

struct vl_capture_ring_record {
	uint64_t time;
	const uint8_t *frame;
	uint32_t length, wire_length;
	uint16_t interface;
	enum vl_direction direction;
	const char *comment; /* NULL: none */
};

/* size: bytes, 2^16 to 2^32, rounded up to a power of two. NULL: no memory. */
struct vl_capture_ring *vl_capture_ring_create(uint64_t size);
void vl_capture_ring_destroy(struct vl_capture_ring *ring);

/* Producer. Copies the first length bytes of the frame and the comment. False: dropped. */
bool vl_capture_ring_put(struct vl_capture_ring *ring, const struct vl_capture_ring_record *record);
/* Consumer. The oldest record, which stays until it is taken. False: there is none. */
bool vl_capture_ring_peek(struct vl_capture_ring *ring, struct vl_capture_ring_record *record);
void vl_capture_ring_take(struct vl_capture_ring *ring);
/* Any thread; while the producer runs, about right. */
uint64_t vl_capture_ring_dropped(const struct vl_capture_ring *ring);

#endif
