/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Shared by generator.c, which runs groups, and group.c, which sets them up, and by nobody else. */
#ifndef VERBLINE_GENERATE_GENERATOR_PRIVATE_H
#define VERBLINE_GENERATE_GENERATOR_PRIVATE_H

#include "dataplane/generate/generator.h"
#include "transport/list.h"
#include "transport/timer_wheel.h"

enum vl_generate_timer {
	VL_GENERATE_TIMER_START, /* a sender's: it begins */
	VL_GENERATE_TIMER_PACE,  /* a sender's: its next message is due */
	VL_GENERATE_TIMER_GROUP, /* a group's: its next message is due */
	VL_GENERATE_TIMER_END,   /* a group's: nothing is posted from now on */
};

struct vl_generate_outstanding {
	uint64_t time; /* ns: due or posted */
	uint32_t size; /* bytes */
};

/* The requester's side of one queue pair. */
struct vl_generate_sender {
	struct vl_qp *qp;
	struct vl_generate_group *group;
	struct vl_timer timer;
	struct vl_link
		ready; /* in the group, with a rate of the group's: has begun, and has room */
	struct vl_schedule schedule;                 /* with a rate of its own */
	struct vl_generate_outstanding *outstanding; /* by sequence & mask */
	struct vl_mix_cursor cursor;
	struct vl_generate_progress progress;
	struct ibv_ah *ah; /* UD */
	uint64_t remote_address;
	uint32_t remote_rkey, remote_qpn, remote_qkey;
	uint32_t psn;
	uint32_t index; /* in work requests' identifiers */
	bool is_connected;
	bool was_blocked; /* something was due, and there was no room */
};

struct vl_generate_group {
	struct vl_generate_group_config config;
	struct vl_generator *generator;
	struct vl_generate_group *next;
	struct vl_mix mix;
	struct vl_schedule_plan plan;
	struct vl_generate_sender *senders;
	struct vl_generate_outstanding *outstanding;
	struct vl_link ready;
	struct vl_timer pace_timer, end_timer;
	struct vl_schedule schedule; /* with a rate of all together */
	uint64_t stop, measure_from; /* ns */
	struct vl_generate_totals totals;
	uint64_t unfinished; /* senders */
	uint32_t depth_mask;
	bool is_started;
	bool was_blocked; /* something was due, and nobody had room */
};

struct vl_generator {
	struct vl_device *device;
	struct vl_traffic_memory memory;
	struct vl_cq *send_cq, *recv_cq;
	uint32_t send_entries, recv_entries; /* that may be outstanding */
	struct vl_generate_group *groups, **last_group;
	struct vl_generate_sender **senders; /* by the index in a work request's identifier */
	uint32_t sender_count;
	uint32_t unfinished; /* senders that were started */
	struct vl_timer_wheel wheel;
};

static inline bool vl_generate_is_paced_together(const struct vl_generate_group *group)
{
	return group->config.schedule.rate && group->config.scope == VL_RATE_OF_GROUP;
}

/* generator.c: takes a sender out; fine if it is out already. */
void vl_generate_finish(struct vl_generate_sender *sender);
/* generator.c: posts a receive. */
void vl_generate_post_receive(const struct vl_generate_sender *sender);
/* group.c: also what a failed creation left. */
void vl_generate_group_destroy(struct vl_generate_group *group);

#endif
