/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * The stateful generator: groups of queue pairs on one endpoint that post a mix of messages, as
 * fast as it goes or at a rate, from a start to an end. Whom they talk to is told from outside:
 *
 *	generator = vl_generator_create(...)
 *	group = vl_generator_add_group(generator, &config, ...)       queue pairs in INIT
 *	vl_generate_group_local(group, n, &address)                  to be told to the peer
 *	vl_generate_group_connect(group, n, &peer, now)              queue pair n to RTS
 *	vl_generate_group_start(group, start)                        posts from then on
 *	vl_generator_poll, vl_generator_next_deadline                as an application does
 *
 * Functions of the time; one thread. Adding and connecting allocate, running does not: a message
 * costs no allocation, division or lock. Every error of a work request ends its queue pair's part
 * and is kept in its progress.
 */
#ifndef VERBLINE_GENERATE_GENERATOR_H
#define VERBLINE_GENERATE_GENERATOR_H

#include "dataplane/endpoint.h"
#include "dataplane/generate/memory.h"
#include "dataplane/generate/mix.h"
#include "dataplane/generate/queue_pair.h"
#include "dataplane/generate/schedule.h"
#include "dataplane/histogram.h"

#include <stdbool.h>
#include <stdint.h>

#define VL_GENERATE_MAX_DEPTH 16384u
#define VL_GENERATE_MAX_QPS   65536u

struct vl_generator;
struct vl_generate_group;

/* Whom a rate is asked of. */
enum vl_rate_scope {
	VL_RATE_OF_QP,    /* of each queue pair; one that is held up does not concern the others */
	VL_RATE_OF_GROUP, /* of all together: whoever has room sends what is due, in turn */
};

struct vl_generate_group_config {
	struct vl_queue_pair_config qp;
	uint32_t qps;   /* 1 to VL_GENERATE_MAX_QPS */
	uint32_t depth; /* outstanding messages of a queue pair, 1 to VL_GENERATE_MAX_DEPTH */
	uint32_t first; /* number of the first queue pair, where a group is spread over several
			   generators: seeds, PSNs and UDP source ports follow it */
	uint32_t qpn;   /* of the first queue pair, the others follow; 0: the device chooses */
	bool stamps;    /* immediate data are time stamps (stamp.h) once the warm-up is over, not
			   the messages' numbers */
	uint32_t psn;   /* of the first packet of each; only with psn_is_set, else by the seed */
	bool psn_is_set;
	uint16_t udp_source_ports; /* that queue pairs are spread over, from qp.udp_source_port on;
				      0: 1 */
	struct vl_mix_config mix;
	/* rate 0: as fast as it goes. burst counts for both. */
	struct vl_schedule_config schedule;
	enum vl_rate_scope scope;
	bool aligned; /* queue pairs with a rate of their own send at the same time; else
			 spread over the time between two messages */
	/* Receives that each queue pair keeps posted for what the peer sends of its own, and their
	 * size in bytes; usually none. */
	uint32_t receive_depth, receive_size;
	uint64_t messages; /* of each queue pair; 0: no end */
	uint64_t start;    /* ns after the group's start */
	uint64_t stagger;  /* ns; each further queue pair (by its number) starts so much later */
	uint64_t duration; /* ns from the start; 0: no end */
	uint64_t warm_up;  /* ns from the start: what completes before is not in the times */
	uint64_t seed;
	/* Written by the generator's thread, must outlive it; NULL: not kept.
	 * completion_times: ns from when a message was due (with a rate) or posted (without) to its
	 * completion. pacing_errors: ns from when a message was due to when it was posted, where it
	 * did not have to wait for room. */
	struct vl_histogram *completion_times, *pacing_errors;
};

struct vl_generate_progress {
	uint64_t posted, completed; /* messages; completed: with success */
	uint64_t bytes;             /* payload of completed messages */
	uint64_t start;             /* ns: when it was to begin, its stagger included */
	uint64_t last_completion;   /* ns */
	enum ibv_wc_status status;  /* of the first that failed, else IBV_WC_SUCCESS */
	bool finished;              /* all messages are completed, or it failed */
};

struct vl_generator_config {
	uint32_t largest_message; /* bytes */
	void *memory;             /* as vl_traffic_memory_open */
};

struct vl_generator *vl_generator_create(struct vl_device *device,
					 const struct vl_generator_config *config, int *error);
/* Groups and their queue pairs go with it. NULL is fine. */
void vl_generator_destroy(struct vl_generator *generator);
void vl_generator_poll(struct vl_generator *generator, uint64_t now);
uint64_t vl_generator_next_deadline(const struct vl_generator *generator);
/* Whether every queue pair that was started has finished. */
bool vl_generator_is_finished(const struct vl_generator *generator);
const struct vl_traffic_memory *vl_generator_memory(const struct vl_generator *generator);

/* What is wrong, as text for people; NULL: nothing. */
const char *vl_generate_group_config_error(const struct vl_generate_group_config *config);
/* Creates the queue pairs. NULL with -EINVAL (see above, or a message larger than the memory),
 * -ENOMEM, or what the verbs returned. */
struct vl_generate_group *vl_generator_add_group(struct vl_generator *generator,
						 const struct vl_generate_group_config *config,
						 uint64_t now, int *error);
const struct vl_generate_group_config *vl_generate_group_configuration(
	const struct vl_generate_group *group);
/* What the peer of queue pair n (from 0) is to be told. */
void vl_generate_group_local(const struct vl_generate_group *group, uint32_t n,
			     struct vl_queue_pair_address *address);
/* -EAGAIN: call again later; -EINVAL: the peer's memory is too small for the mix. */
int vl_generate_group_connect(struct vl_generate_group *group, uint32_t n,
			      const struct vl_queue_pair_address *peer, uint64_t now);
/* Connected by other means (a connection manager): where requests go. The queue pair is in RTS. */
int vl_generate_group_set_connected(struct vl_generate_group *group, uint32_t n,
				    const struct vl_queue_pair_address *peer);
/* Begins at start (ns); those not connected stay out, as failed. */
void vl_generate_group_start(struct vl_generate_group *group, uint64_t start);
/* Posts no more; what is outstanding completes. */
void vl_generate_group_stop(struct vl_generate_group *group, uint64_t now);
struct vl_qp *vl_generate_group_qp(const struct vl_generate_group *group, uint32_t n);
const struct vl_generate_progress *vl_generate_group_progress(const struct vl_generate_group *group,
							      uint32_t n);

/* Of a group on this generator, all queue pairs added. */
struct vl_generate_totals {
	uint64_t posted, completed, bytes; /* as in vl_generate_progress */
	uint64_t cost; /* of what was posted, as its rate counts: bytes or messages; 0: no rate */
	uint64_t held_back; /* messages that were due and waited for a queue pair with room */
	uint64_t put_off; /* ns that schedules were put off as they could not be kept, all added */
	uint64_t last_completion; /* ns */
	uint32_t failed;          /* queue pairs */
	uint32_t active;          /* queue pairs that have not finished */
};
struct vl_generate_totals vl_generate_group_totals(const struct vl_generate_group *group);

#endif
