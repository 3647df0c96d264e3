/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Memory that an endpoint's queue pairs send from and that never changes, live: a pool of buffers
 * that hold it already (dataplane/constant_payload.h). Whoever gets such a frame inside this
 * process (a ring) may read it and not alter it.
 */
#ifndef VERBLINE_RUNTIME_CONSTANT_STAGE_H
#define VERBLINE_RUNTIME_CONSTANT_STAGE_H

#include "dataplane/runtime/error.h"

#include <stdint.h>

struct vl_constant_stage;
struct vl_endpoint_stage;

/* A port with few descriptors is best served by few buffers, as they stay in the cache. */
#define VL_CONSTANT_STAGE_FRAMES 2048u

/* Joins it with the endpoint of the stage, whose worker must not run. frame_count 0:
 * VL_CONSTANT_STAGE_FRAMES. NULL: *error says why: no memory, or memory that does not repeat with
 * the period, a power of two up to 4096. */
struct vl_constant_stage *vl_constant_stage_open(struct vl_endpoint_stage *stage,
						 const void *memory, uint64_t length,
						 uint32_t period, uint32_t frame_count,
						 struct vl_error *error);
/* From now on packets are copied. */
void vl_constant_stage_detach(struct vl_constant_stage *constant);
/* Detached, and the port must have given back what was sent. NULL is allowed. */
void vl_constant_stage_close(struct vl_constant_stage *constant);
uint32_t vl_constant_stage_megabytes(uint32_t frame_count);

#endif
