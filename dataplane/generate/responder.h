/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * The other end of traffic: queue pairs that take what comes, and answer READs and atomics from
 * memory. Functions of the time; one thread; adding allocates, running does not.
 */
#ifndef VERBLINE_GENERATE_RESPONDER_H
#define VERBLINE_GENERATE_RESPONDER_H

#include "dataplane/generate/memory.h"
#include "dataplane/generate/queue_pair.h"
#include "dataplane/generate/stamp.h"

#include <stdbool.h>
#include <stdint.h>

struct vl_responder_set;

struct vl_responder_set_config {
	uint32_t largest_message; /* bytes */
	void *memory;             /* as vl_traffic_memory_open */
};

struct vl_responder_set *vl_responder_set_create(struct vl_device *device,
						 const struct vl_responder_set_config *config,
						 int *error);
/* Queue pairs go with it. NULL is fine. */
void vl_responder_set_destroy(struct vl_responder_set *set);
/* Destroys up to so many queue pairs, the newest first; returns how many are left. The set is not
 * polled any more. */
uint32_t vl_responder_set_shrink(struct vl_responder_set *set, uint32_t most);
/* Posts again the receives that were used up. */
void vl_responder_set_poll(struct vl_responder_set *set);

/* Creates a queue pair in INIT with so many receives posted (0: for WRITE and READ only) and stores
 * its number in the set, from 0, in *index. 0 or a negative errno value. */
int vl_responder_set_add(struct vl_responder_set *set, const struct vl_queue_pair_config *config,
			 uint32_t receive_depth, uint32_t receive_size, uint32_t psn, uint64_t now,
			 uint32_t *index);
/* What arrives with a time stamp is recorded in *one_way, which outlives the set; offset: ns that
 * this side's clock is ahead of the requester's. */
void vl_responder_set_time(struct vl_responder_set *set, uint32_t index, struct vl_one_way *one_way,
			   int64_t offset);
/* What the requester is to be told. */
void vl_responder_set_local(const struct vl_responder_set *set, uint32_t index,
			    struct vl_queue_pair_address *address);
/* -EAGAIN: call again later. */
int vl_responder_set_connect(struct vl_responder_set *set, uint32_t index,
			     const struct vl_queue_pair_address *peer, uint64_t now);
uint32_t vl_responder_set_count(const struct vl_responder_set *set);
struct vl_qp *vl_responder_set_qp(const struct vl_responder_set *set, uint32_t index);
const struct vl_traffic_memory *vl_responder_set_memory(const struct vl_responder_set *set);

#endif
