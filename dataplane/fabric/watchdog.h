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

#endif
