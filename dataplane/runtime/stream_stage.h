/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Streams on a live endpoint: buffers that hold a stream's payload once and for all, so that
 * of each frame only the headers and the ICRC are written. Whoever gets such a frame inside this
 * process (a ring) may read it and not alter it. While the endpoint has a filter or a tap, which
 * are to see each frame, or alter it, frames are copied and go the endpoint's way instead.
 */
#ifndef VERBLINE_RUNTIME_STREAM_STAGE_H
#define VERBLINE_RUNTIME_STREAM_STAGE_H

#include "dataplane/runtime/error.h"

#include <stdint.h>

struct vl_endpoint_stage;
struct vl_stream_group;
struct vl_stream_stage;

/* Buffers of each stream, unless asked otherwise: a device's descriptors and what is under way. */
#define VL_STREAM_STAGE_FRAMES 2048u

/* Gives the streams that are in the group now their buffers, and joins them with the endpoint of
 * the stage. frame_count: buffers of each stream; 0: VL_STREAM_STAGE_FRAMES. The worker must not
 * run. NULL: *error says why. */
struct vl_stream_stage *vl_stream_stage_open(struct vl_endpoint_stage *stage,
					     struct vl_stream_group *group, uint32_t frame_count,
					     struct vl_error *error);
/* The worker must not run, and the port must have given back what was sent. NULL is allowed. */
void vl_stream_stage_close(struct vl_stream_stage *streams);
/* Megabytes that EAL needs for stream_count streams of frames of up to frame_length bytes. */
uint32_t vl_stream_stage_megabytes(uint32_t stream_count, uint32_t frame_count,
				   uint32_t frame_length);

/* For the endpoint's stage: sends what is due, and returns how many frames the port took. */
uint32_t vl_stream_stage_send(struct vl_stream_stage *streams, uint64_t now);

#endif
