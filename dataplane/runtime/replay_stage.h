/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * The stage that sends prepared frames, each at its time, out of a port. The control thread writes
 * them, ahead, into a ring of mbufs; the worker does nothing but look at the clock and hand them
 * over. What left late is counted by what made it so.
 */
#ifndef VERBLINE_RUNTIME_REPLAY_STAGE_H
#define VERBLINE_RUNTIME_REPLAY_STAGE_H

#include "dataplane/histogram.h"
#include "dataplane/port/port.h"
#include "dataplane/worker.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Frames that are ready at a time. */
#define VL_REPLAY_DEPTH 4096u

struct vl_replay_stage_config {
	struct vl_port *port;
	uint32_t frame_length; /* room in each buffer: the longest frame */
	uint64_t tolerance;    /* ns after its time that a frame is not late yet */
	bool is_timed;         /* false: every frame is due at once, and none is late */
};

struct vl_replay_counters {
	uint64_t frames, bytes; /* sent */
	uint64_t first, last;   /* ns; when */
	uint64_t late_reader;   /* frames late as the control thread had not prepared them */
	uint64_t late_port;     /* as the port took none */
	uint64_t late_machine;  /* as the worker was kept from running, or had too much to do */
	uint64_t starved;       /* rounds that found the ring empty before the end */
	uint64_t refused;       /* bursts that the port did not take whole */
	uint64_t received;      /* frames that came in; they are let go */
};

struct vl_replay_stage {
	struct vl_replay_stage_config config;
	struct rte_mempool *mempool;
	struct rte_ring *ring;

	/* The worker's */
	struct vl_replay_counters counters;
	uint16_t head, count; /* of pending: from head to count */
	bool was_refused;     /* what is pending, by the port */
	struct rte_mbuf *pending[VL_PORT_BURST];
	uint64_t start;               /* ns; times count from here; 0: not begun */
	struct vl_histogram lateness; /* ns after its time, of every frame sent */

	/* The control thread's */
	struct rte_mbuf *room;

	atomic_bool is_fed;  /* nothing more will come */
	atomic_bool is_over; /* all has been sent */
};

uint32_t vl_replay_stage_megabytes(uint32_t frame_length);
/* The stage is large: it belongs in memory of its own. 0 or a negative errno value. */
int vl_replay_stage_init(struct vl_replay_stage *stage, const struct vl_replay_stage_config *config,
			 struct vl_error *error);
/* The worker must not run any more. Frees the frames that were prepared and not sent, and says how
 * many these were. Fine on zeros. */
uint64_t vl_replay_stage_drop_unsent(struct vl_replay_stage *stage);
/* After that, and when the port is closed, which may hold buffers of frames that it has sent. Fine
 * on zeros. */
void vl_replay_stage_release(struct vl_replay_stage *stage);
struct vl_stage vl_replay_stage(struct vl_replay_stage *stage);

/* Control thread: frame_length bytes to write the next frame into; NULL: none is free, come again
 * later. The same until it is put. */
uint8_t *vl_replay_stage_room(struct vl_replay_stage *stage);
/* That frame has length bytes and is due at that time, ns after the start; never before the last
 * one. There is room in the ring for every frame for which there was room. */
void vl_replay_stage_put(struct vl_replay_stage *stage, uint32_t length, uint64_t due);
/* That was all. */
void vl_replay_stage_finish(struct vl_replay_stage *stage);
bool vl_replay_stage_is_over(struct vl_replay_stage *stage);
/* Times count from time, ns of the workers' clock. By vl_worker_call, or before it starts; frames
 * that are put before are ready in time. */
void vl_replay_stage_begin(struct vl_replay_stage *stage, uint64_t time);

#endif
