/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Shared by engine_set_up.c, engine_connect.c, engine.c (which runs) and engine_progress.c (which
 * tells), and by nobody else. Whose thread writes what is said with each structure; the words that
 * several write are named shared_.
 */
#ifndef VERBLINE_WORKLOAD_ENGINE_PRIVATE_H
#define VERBLINE_WORKLOAD_ENGINE_PRIVATE_H

#include "dataplane/generate/memory.h"
#include "dataplane/workload/engine.h"
#include "dataplane/workload/timed_heap.h"

#define VL_NO_STEP UINT32_MAX
/* In waiting, of this round: it is due at a time, or has been started. */
#define VL_STEP_DUE     (UINT32_MAX - 1)
#define VL_STEP_STARTED UINT32_MAX

/* The thread's of the rank that the step belongs to. */
struct vl_step_state {
	uint32_t messages;          /* that it is cut into; never changes */
	uint32_t end;               /* of the workload's, that it goes through; never changes */
	uint32_t waiting;           /* for so many steps; or one of the above */
	uint32_t posted, completed; /* messages in this round */
	uint32_t next;              /* in its end's queue */
};

/* The thread's of the destination. */
struct vl_step_arrival {
	uint32_t messages; /* of the round that is arriving */
	uint32_t rounds;   /* that have arrived whole */
};

/* One queue pair as one rank has it. Its rank's thread. */
struct vl_lane_end {
	struct vl_qp *qp;
	uint32_t workload, end;
	uint32_t index; /* in its host's */
	uint32_t outstanding;
	uint32_t psn;
};

/* What one rank has towards another. Its rank's thread. */
struct vl_workload_end {
	uint32_t rank, peer;
	uint32_t next_lane;    /* round robin */
	uint32_t head, tail;   /* steps that are being posted; VL_NO_STEP */
	uint32_t begun_steps;  /* started and not complete */
	uint64_t sink_address; /* of the peer */
	uint32_t rkey;
	bool sends, takes; /* posts; gets what uses up receives */
	bool has_failed;
};

enum vl_rank_state {
	VL_RANK_AFTER, /* other workloads are to end */
	VL_RANK_TIMED, /* its start is due at a time */
	VL_RANK_RUNNING,
	VL_RANK_BARRIER, /* the others are to end the round */
	VL_RANK_ENDED,
};

/* Its endpoint's thread. */
struct vl_workload_rank {
	uint32_t workload, number, host;
	uint32_t index; /* in its host's */
	enum vl_rank_state state;
	uint32_t round;
	uint64_t begun;                          /* ns: the round */
	uint64_t first_begun;                    /* ns: the first; VL_WORKLOAD_NEVER */
	uint64_t remaining;                      /* steps of the round that are to end here */
	uint32_t first_own, own_count;           /* in the workload's own */
	uint32_t first_incoming, incoming_count; /* in the workload's incoming */
	uint64_t posted, completed, arrived, bytes_arrived, unexpected; /* messages; bytes */
	uint64_t ended_steps;                                           /* all rounds */
	uint64_t failed_steps;
};

struct vl_workload {
	struct vl_workload_config config; /* with copies of endpoints and after */
	uint32_t *endpoints, *after;
	struct vl_workload_rank *ranks;
	uint32_t *own, *incoming; /* steps by rank */
	/* Those that wait for a step: dependents[first_dependent[n]] .. [n + 1] */
	uint32_t *first_dependent, *dependents;
	struct vl_step_state *states;
	struct vl_step_arrival *arrivals;
	uint64_t *ready, *finished; /* ns, by round and step; the rank's, the destination's */
	struct vl_workload_end *ends;
	struct vl_lane_end *lanes; /* of end n: lanes[n * qps] ... */
	uint32_t end_count;
	uint32_t shared_ranks_left;  /* in this round, with a barrier; else in all */
	uint32_t shared_round;       /* with a barrier */
	uint64_t shared_round_begun; /* ns */
	uint64_t shared_ended_at;    /* ns */
	bool shared_has_ended;
	uint32_t shared_status; /* enum ibv_wc_status of the first failure */
};

/* An endpoint and its thread. */
struct vl_workload_host {
	struct vl_workload_engine *engine;
	struct vl_endpoint *endpoint;
	struct vl_application inner; /* that was there before */
	struct vl_traffic_memory memory;
	struct vl_cq *send_cq, *recv_cq;
	struct vl_workload_rank **ranks;
	uint32_t rank_count;
	uint32_t waiting; /* ranks in VL_RANK_AFTER or VL_RANK_BARRIER */
	struct vl_lane_end **lanes;
	uint32_t lane_count;
	struct vl_timed_heap heap;
};

struct vl_workload_engine {
	struct vl_workload_engine_config config;
	struct vl_workload_host *hosts;
	struct vl_workload *workloads;
	uint32_t count;
	uint32_t qp_count;
	bool is_connected;
	char error[256];
};

static inline struct vl_workload *vl_rank_workload(const struct vl_workload_host *host,
						   const struct vl_workload_rank *rank)
{
	return &host->engine->workloads[rank->workload];
}

/* Whether a step is noticed at its destination, apart from the end of its rank. */
static inline bool vl_step_is_pushed(const struct vl_step *step)
{
	return step->kind == VL_STEP_WRITE || step->kind == VL_STEP_SEND;
}

/* engine.c: what an endpoint runs. context: a struct vl_workload_host. */
void vl_workload_poll(void *context, struct vl_endpoint *endpoint, uint64_t now);
uint64_t vl_workload_next_deadline(void *context);
/* engine.c: posts a receive. */
void vl_workload_post_receive(struct vl_workload_host *host, const struct vl_workload *workload,
			      const struct vl_lane_end *lane);

#endif
