/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * The stage that pauses the peers of a number of ports, all on one worker, and keeps account of the
 * pauses that they ask for. It knows when its own loop was kept from running (the machine gave the
 * CPU to something else), so that a gap can be told from a fault.
 */
#ifndef VERBLINE_RUNTIME_PFC_STAGE_H
#define VERBLINE_RUNTIME_PFC_STAGE_H

#include "dataplane/histogram.h"
#include "dataplane/pfc_storm.h"
#include "dataplane/port/port.h"
#include "dataplane/worker.h"

#include <stdint.h>

#define VL_PFC_STAGE_MAX_PORTS 16

struct vl_pfc_stage_port {
	struct vl_port *port;
	struct rte_mempool *mempool; /* of the frames sent */
	struct vl_pfc_storm storm;
	struct vl_pfc_receiver received; /* what the peer asks for; nothing heeds it here */
	uint64_t pfc_rx;                 /* frames: PFC and PAUSE */
	uint64_t other_rx;               /* frames of any other kind */
	uint64_t tx_refused;             /* times that the port did not take a frame */
	uint64_t no_mbuf;                /* times that the mempool had none */
};

struct vl_pfc_stage {
	uint32_t port_count;
	uint32_t next_received;   /* port that is asked for frames in the next round */
	uint64_t last_look;       /* ns, at the clock; 0: none yet */
	uint64_t longest_round;   /* ns; a round that takes longer was kept from running */
	uint64_t kept_time;       /* ns, over all such rounds */
	struct vl_histogram kept; /* ns: such rounds */
	struct vl_pfc_stage_port ports[VL_PFC_STAGE_MAX_PORTS];
};

/* The stage is large: it belongs in memory of its own. Ports and their storms are the caller's to
 * fill in before the worker starts. */
void vl_pfc_stage_init(struct vl_pfc_stage *stage);
/* Once the storms are made: how long a round counts as kept follows from what is left between their
 * planned intervals and their longest gaps. */
void vl_pfc_stage_prepare(struct vl_pfc_stage *stage);
struct vl_stage vl_pfc_stage(struct vl_pfc_stage *stage);
/* No storm has anything left to send. By vl_worker_call, or with the worker stopped. */
bool vl_pfc_stage_is_over(const struct vl_pfc_stage *stage);
void vl_pfc_stage_stop(struct vl_pfc_stage *stage, uint64_t now);

#endif
