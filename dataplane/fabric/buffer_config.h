/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * How a switch's packet memory is divided. Every frame is charged twice: to the priority group of
 * its ingress port, which decides about PFC, and to its egress queue. Each of them has memory of
 * its own (reserved) and, beyond that, takes from what its pool shares, up to a threshold that is
 * fixed or follows what is free: alpha times the free shared memory (Choudhury and Hahne, Dynamic
 * Queue Length Thresholds, 1998). A lossless group that has used up both has sent XOFF, and what
 * still arrives goes into its headroom.
 *
 * Names and meanings follow SONiC's BUFFER_POOL and BUFFER_PROFILE (SAI buffer pools and profiles).
 * All sizes are in bytes; in a switch of cells a frame takes whole cells of them.
 */
#ifndef VERBLINE_FABRIC_BUFFER_CONFIG_H
#define VERBLINE_FABRIC_BUFFER_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#define VL_BUFFER_POOLS     8
#define VL_BUFFER_SIZE_MAX  (UINT64_C(1) << 34)
#define VL_BUFFER_CELL_MIN  32u
#define VL_BUFFER_CELL_MAX  4096u
#define VL_BUFFER_ALPHA_MIN (1.0 / 1024)
#define VL_BUFFER_ALPHA_MAX 1024.0

/* A pool that both groups and queues name is counted for each by itself (SONiC: type both). */
struct vl_buffer_pool_config {
	uint64_t size; /* 1..VL_BUFFER_SIZE_MAX */
	/* Headroom for all groups of the pool together (SONiC: the pool's xoff); each takes up to
	 * its own headroom of it. 0: each group's headroom is its own. */
	uint64_t shared_headroom;
	/* False: what groups and queues have reserved, and headroom, come out of size. True: they
	 * lie beside it, size is what is shared. */
	bool is_shared_only;
};

enum vl_buffer_threshold_kind {
	VL_THRESHOLD_POOL,    /* all that the pool shares */
	VL_THRESHOLD_STATIC,  /* bytes (SONiC: static_th) */
	VL_THRESHOLD_DYNAMIC, /* alpha * (free shared memory of the pool) (SONiC: 2^dynamic_th) */
};

/* Most that a group or a queue has of the pool's shared memory. */
struct vl_buffer_threshold {
	enum vl_buffer_threshold_kind kind;
	uint64_t bytes; /* static: may be 0 */
	double alpha;   /* dynamic: VL_BUFFER_ALPHA_MIN..VL_BUFFER_ALPHA_MAX */
};

/* An ingress priority group of a port. */
struct vl_buffer_group_config {
	uint8_t pool;      /* index of the pool */
	uint64_t reserved; /* without headroom */
	struct vl_buffer_threshold threshold;
	/* XOFF is sent when the group has used reserved and threshold; without PFC of any priority
	 * for the group it just fills its headroom. */
	bool lossless;
	uint64_t headroom; /* SONiC: xoff */
	/* XON is sent when the headroom is empty and the rest is no more than the larger of xon and
	 * (reserved + threshold - xon_offset); xon_offset 0: than xon. */
	uint64_t xon, xon_offset;
};

/* An egress queue of a port. */
struct vl_buffer_queue_config {
	uint8_t pool;
	uint64_t reserved;
	struct vl_buffer_threshold threshold;
};

static inline struct vl_buffer_threshold vl_threshold_static(uint64_t bytes)
{
	return (struct vl_buffer_threshold){.kind = VL_THRESHOLD_STATIC, .bytes = bytes};
}

static inline struct vl_buffer_threshold vl_threshold_dynamic(double alpha)
{
	return (struct vl_buffer_threshold){.kind = VL_THRESHOLD_DYNAMIC, .alpha = alpha};
}

#endif
