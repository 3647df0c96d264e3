/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* A scenario's storms: endpoints that pause their switch although they need not. Over InfiniBand
 * there are none. */
#ifndef VERBLINE_APPS_LAB_STORM_H
#define VERBLINE_APPS_LAB_STORM_H

#include "apps/lab_fabric.h"
#include "dataplane/network.h"

#include <stdbool.h>
#include <stdint.h>

/* One endpoint's. */
struct vl_lab_storm {
	const struct vl_scenario_storm *config;
	struct vl_endpoint *endpoint;
	unsigned int node;
	uint8_t priorities;
	bool is_pausing;
	uint64_t began; /* ns; the pause */
};

struct vl_lab_storms;

/* Of a fabric that has its endpoints. NULL without an error: there are none. -ENOMEM. */
int vl_lab_storms_create(const struct vl_lab_fabric *fabric, struct vl_lab_storms **storms);
void vl_lab_storms_destroy(struct vl_lab_storms *storms);            /* NULL is fine */
unsigned int vl_lab_storm_count(const struct vl_lab_storms *storms); /* NULL is fine */
struct vl_lab_storm *vl_lab_storm(struct vl_lab_storms *storms, unsigned int number);

/* First at config->start: a pause begins, or ends. Returns when the next does; UINT64_MAX: none. */
uint64_t vl_lab_storm_turn(struct vl_lab_storm *storm, uint64_t now);
/* Virtual time: on the network's executor. storms may be NULL, and must outlive the network.
 * -ENOMEM. */
int vl_lab_storms_schedule(struct vl_lab_storms *storms, struct vl_network *network,
			   struct vl_node **nodes);

#endif
