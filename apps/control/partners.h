/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * The queue pairs that a server makes for one client, and what all clients together may have. What
 * is asked of many queue pairs is done a few at a time, so that others get on meanwhile.
 */
#ifndef VERBLINE_CONTROL_PARTNERS_H
#define VERBLINE_CONTROL_PARTNERS_H

#include "apps/control/message.h"
#include "transport/random.h"
#include "transport/verbline.h"

#include <stdbool.h>
#include <stdint.h>

/* Queue pairs that are counted, or destroyed, in one go. */
#define VL_CONTROL_BATCH 256u

struct vl_control_partners;

/* What the clients of a server share. The first members are set by the owner. */
struct vl_control_budget {
	struct vl_device *device;
	uint32_t max_qps;
	uint64_t max_memory, largest_message; /* bytes */
	uint8_t min_rnr_timer;
	/* Notification point of those whose congestion control the client chooses; NULL: the
	 * client's choice. */
	const struct vl_cc_parameters *notification;
	uint64_t *qps_made; /* counts them */

	uint32_t qp_count;
	uint64_t memory;
	struct vl_random random; /* of PSNs */
	struct vl_control_partners *leaving;
};

/* Destroys a batch of queue pairs of those that leave. True: more are left. */
bool vl_control_budget_poll(struct vl_control_budget *budget);
/* Destroys all of them. */
void vl_control_budget_close(struct vl_control_budget *budget);

/* Room for the queue pairs that a client announces. NULL: it is refused, as *answer says. */
struct vl_control_partners *vl_control_partners_open(struct vl_control_budget *budget,
						     const struct vl_control_hello *hello,
						     struct vl_control_message *answer);
/* They go, with time; the client is done with them. NULL is fine. */
void vl_control_partners_leave(struct vl_control_partners *partners);
/* Whether nothing is left of any that leave. */
bool vl_control_budget_is_settled(const struct vl_control_budget *budget);
uint32_t vl_control_partners_count(const struct vl_control_partners *partners);
/* Posts again the receives that were used up. */
void vl_control_partners_poll(struct vl_control_partners *partners);

/* Makes those that are asked for, of an address of ours. False: refused, as *answer says. */
bool vl_control_partners_make(struct vl_control_partners *partners,
			      const struct vl_control_open *open, uint8_t sgid_index,
			      struct vl_control_message *answer, uint64_t now);
/* Connects those that were made last, as far as it can be done. True: *answer stands. */
bool vl_control_partners_connect(struct vl_control_partners *partners,
				 const struct vl_control_open *open, const union ibv_gid *peer,
				 struct vl_control_message *answer, uint64_t now);
/* Adds a batch up in *answer, from the first one on if it is not yet of type COUNTERS. True: it
 * stands. */
bool vl_control_partners_add_up(struct vl_control_partners *partners,
				struct vl_control_message *answer, uint64_t now);
/* A part of the times that were stamped. */
void vl_control_partners_tell_times(const struct vl_control_partners *partners,
				    const struct vl_control_times *times,
				    struct vl_control_message *answer);

#endif
