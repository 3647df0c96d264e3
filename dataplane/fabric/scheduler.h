/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Which of a port's queues sends next: strict ones first, the highest first; then the others by
 * weighted round robin of frames or of bytes (deficit round robin, Shreedhar and Varghese 1995;
 * the bandwidth shares of IEEE 802.1Q enhanced transmission selection are its weights). Queues and
 * the port may be shaped.
 */
#ifndef VERBLINE_FABRIC_SCHEDULER_H
#define VERBLINE_FABRIC_SCHEDULER_H

#include <stdint.h>

#define VL_SCHEDULER_WEIGHT_MAX 255u

enum vl_scheduling {
	VL_SCHEDULING_DWRR, /* bytes in the ratio of the weights (ETS) */
	VL_SCHEDULING_WRR,  /* weight frames in turn */
	VL_SCHEDULING_STRICT,
};

/* A token bucket, counted in bytes of frames with FCS, without preamble and gap. */
struct vl_shaper_config {
	uint64_t rate;  /* bit/s, VL_RATE_MIN..VL_RATE_MAX; 0: not shaped */
	uint64_t burst; /* bytes that may leave at once after a rest, up to 2^30; the frame that
			   uses up the last of them still leaves */
};

struct vl_scheduler_queue_config {
	enum vl_scheduling type;
	uint32_t weight; /* 1..VL_SCHEDULER_WEIGHT_MAX; 0: 1. ETS: percent */
	struct vl_shaper_config shaper;
};

#endif
