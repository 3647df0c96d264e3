/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Inside the switch: a port's configuration made ready for the data path, and what is worked out of
 * a switch's configuration. */
#ifndef VERBLINE_FABRIC_SWITCH_PROFILE_H
#define VERBLINE_FABRIC_SWITCH_PROFILE_H

#include "dataplane/fabric/switch.h"

/* Shared by the ports of one configuration. Masks of queues, groups and priorities by bit. */
struct vl_switch_profile {
	bool is_shaped; /* a queue or the port is */
	bool has_watchdog;
	uint8_t red_at_enqueue, red_at_dequeue;         /* queues */
	uint8_t watched;                                /* queues */
	uint8_t group_priorities[VL_SWITCH_PRIORITIES]; /* paused when the group asks for it */
	uint8_t queue_priorities[VL_SWITCH_PRIORITIES]; /* whose pauses stop the queue */
	uint8_t queue_groups[VL_SWITCH_PRIORITIES];     /* of the watched ones of them */
	struct vl_buffer_rule groups[VL_SWITCH_PRIORITIES], queues[VL_SWITCH_PRIORITIES];
	struct vl_scheduler scheduler;
	struct vl_classifier classifier;
	struct vl_red red[VL_SWITCH_PRIORITIES];
	struct vl_switch_pfc_config pfc;
	struct vl_watchdog_rule watchdog;
	const struct vl_switch_port_config *source; /* while the switch is made */
};

static inline const struct vl_switch_port_config *vl_switch_port_config(
	const struct vl_switch_config *config, uint32_t port)
{
	return config->by_port && config->by_port[port] ? config->by_port[port] : &config->port;
}

/* The pools, also where the configuration names none. */
void vl_switch_pools(const struct vl_switch_config *config,
		     struct vl_buffer_pool_config pools[VL_BUFFER_POOLS], unsigned int *count);
/* Bytes that the groups (with headroom of their own) and queues of all ports have reserved. */
void vl_switch_reserved(const struct vl_switch_config *config, uint64_t groups[VL_BUFFER_POOLS],
			uint64_t queues[VL_BUFFER_POOLS]);
void vl_switch_profile_init(struct vl_switch_profile *profile,
			    const struct vl_switch_port_config *config);

#endif
