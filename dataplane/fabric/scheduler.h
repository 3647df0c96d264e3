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

#include "dataplane/fabric/queue.h"
#include "dataplane/fabric/rate.h"

#include <stdbool.h>
#include <stdint.h>

#define VL_SCHEDULER_QUEUES     8
#define VL_SHAPER_BURST_MAX     (UINT64_C(1) << 30)
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

/* ---- Shaping --------------------------------------------------------------------------- */

/* A shaper's configuration, made ready. */
struct vl_shaper {
	struct vl_rate rate;
	uint64_t burst_time; /* ns that the burst takes at the rate, rounded down */
};

/* The bucket: full at time, in debt before time - burst_time. All 0: full. */
struct vl_shaper_state {
	uint64_t time, remainder; /* ns, and 1 ns / rate */
};

void vl_shaper_init(struct vl_shaper *shaper, const struct vl_shaper_config *config);

/* The earliest whole nanosecond at which a frame may leave. */
static inline uint64_t vl_shaper_open_at(const struct vl_shaper *shaper,
					 const struct vl_shaper_state *state)
{
	uint64_t full_at = state->time + (state->remainder != 0);

	return full_at > shaper->burst_time ? full_at - shaper->burst_time : 0;
}

/* A frame of that length (without FCS) leaves. */
void vl_shaper_charge(const struct vl_shaper *shaper, struct vl_shaper_state *state,
		      uint32_t length, uint64_t now);

/* ---- Scheduling ------------------------------------------------------------------------ */

/* The configuration of a port, made ready. */
struct vl_scheduler {
	uint8_t strict;    /* bit n: queue n */
	uint8_t by_frames; /* bit n: queue n's quantum is of frames, not bytes */
	uint8_t shaped;    /* bit n: queue n */
	bool is_port_shaped;
	int64_t quanta[VL_SCHEDULER_QUEUES];       /* of a turn, bytes or frames */
	uint64_t reciprocals[VL_SCHEDULER_QUEUES]; /* floor(2^32 / quantum) */
	struct vl_shaper shapers[VL_SCHEDULER_QUEUES], port_shaper;
};

/* Of a port. */
struct vl_scheduler_state {
	int64_t deficits[VL_SCHEDULER_QUEUES]; /* bytes or frames that the turn has left */
	uint8_t turn;                          /* the queue at turn */
	bool has_begun;                        /* it has got its quantum */
	struct vl_shaper_state shapers[VL_SCHEDULER_QUEUES], port_shaper;
};

/* NULL: the configuration is fine; else what is not, valid until the next call in this thread. */
const char *vl_scheduler_queue_config_error(const struct vl_scheduler_queue_config *config);
const char *vl_shaper_config_error(const struct vl_shaper_config *config);
/* queues: VL_SCHEDULER_QUEUES of them, stride bytes apart. */
void vl_scheduler_init(struct vl_scheduler *scheduler,
		       const struct vl_scheduler_queue_config *queues, uint32_t stride,
		       const struct vl_shaper_config *port);

/* Those of the candidates that shaping lets send now. */
uint8_t vl_scheduler_open(const struct vl_scheduler *scheduler,
			  const struct vl_scheduler_state *state, uint8_t candidates, uint64_t now);
/* When shaping lets the first of the candidates, not 0, send; may be in the past. */
uint64_t vl_scheduler_open_at(const struct vl_scheduler *scheduler,
			      const struct vl_scheduler_state *state, uint8_t candidates);

/* The queue of the candidates, not 0, whose head is to leave. occupied: all that are not empty, be
 * they candidates or not: they keep what is left of their turn. */
uint8_t vl_scheduler_round_robin(const struct vl_scheduler *scheduler,
				 struct vl_scheduler_state *state,
				 const struct vl_frame_queue queues[VL_SCHEDULER_QUEUES],
				 uint8_t candidates, uint8_t occupied);
static inline uint8_t vl_scheduler_choose(const struct vl_scheduler *scheduler,
					  struct vl_scheduler_state *state,
					  const struct vl_frame_queue queues[VL_SCHEDULER_QUEUES],
					  uint8_t candidates, uint8_t occupied)
{
	uint8_t strict = candidates & scheduler->strict;

	if (strict)
		return (uint8_t)(31 - __builtin_clz(strict));
	if (!(candidates & (candidates - 1)))
		return (uint8_t)__builtin_ctz(candidates);
	return vl_scheduler_round_robin(scheduler, state, queues, candidates, occupied);
}
/* A frame of the queue has left. */
void vl_scheduler_charge_shapers(const struct vl_scheduler *scheduler,
				 struct vl_scheduler_state *state, uint8_t queue, uint32_t length,
				 uint64_t now);

#endif
