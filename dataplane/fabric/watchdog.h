/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * The PFC watchdog as SONiC defines it: at each poll, a queue that has been paused without a break
 * for the detection time is in a storm. Until it is restored, the queue obeys no PFC; with the
 * action drop, what is in it, what is to go into it, and what comes in by the same port for the
 * same priority is dropped. A queue is restored at the first poll at which no pause for it has been
 * received for the restoration time.
 */
#ifndef VERBLINE_FABRIC_WATCHDOG_H
#define VERBLINE_FABRIC_WATCHDOG_H

#include <stdint.h>

enum vl_watchdog_action {
	VL_WATCHDOG_OFF,
	VL_WATCHDOG_DROP,
	VL_WATCHDOG_FORWARD,
};

struct vl_watchdog_config {
	enum vl_watchdog_action action;
	uint8_t priorities;        /* bit n: the queue of PFC priority n is watched */
	uint64_t detection_time;   /* ns, at least 1 */
	uint64_t restoration_time; /* ns, at least 1 */
	uint64_t poll_interval;    /* ns, at least 1; polls are at whole multiples of it */
};

/* The configuration, made ready. */
struct vl_watchdog_rule {
	struct vl_watchdog_config config;
	uint64_t reciprocal; /* of the poll interval: floor((2^64 - 1) / ns) */
};

#define VL_WATCHDOG_QUEUES 8

/* Of a port. Masks have a bit for each queue. */
struct vl_watchdog {
	uint8_t paused; /* watched and paused */
	uint8_t storm;
	uint64_t next_poll;                        /* ns; of what is paused or in a storm */
	uint64_t paused_since[VL_WATCHDOG_QUEUES]; /* ns, of those that are paused */
	uint64_t last_pause[VL_WATCHDOG_QUEUES];   /* ns, when one was received */
	uint64_t detected[VL_WATCHDOG_QUEUES];     /* storms */
	uint64_t restored[VL_WATCHDOG_QUEUES];
};

struct vl_watchdog_change {
	uint8_t detected, restored; /* queues */
};

/* NULL: the configuration is fine; else what is not, valid until the next call in this thread. */
const char *vl_watchdog_config_error(const struct vl_watchdog_config *config);

/* Of a configuration that is fine. */
void vl_watchdog_rule_init(struct vl_watchdog_rule *rule, const struct vl_watchdog_config *config);

/* A pause of watched queues was received. */
void vl_watchdog_see_pause(struct vl_watchdog *watchdog, uint8_t queues, uint64_t now);
/* Of the watched queues, those in paused are so now. */
void vl_watchdog_set_paused(struct vl_watchdog *watchdog, const struct vl_watchdog_rule *rule,
			    uint8_t paused, uint64_t now);
/* When vl_watchdog_poll is to be called next; UINT64_MAX: nothing to watch. */
static inline uint64_t vl_watchdog_next_poll(const struct vl_watchdog *watchdog)
{
	return watchdog->paused | watchdog->storm ? watchdog->next_poll : UINT64_MAX;
}
/* The poll that is due by now, if one is. */
struct vl_watchdog_change vl_watchdog_poll(struct vl_watchdog *watchdog,
					   const struct vl_watchdog_rule *rule, uint64_t now);

#endif
