/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The scenario's PFC storms, in virtual time. */
#ifndef VERBLINE_APPS_LAB_STORM_H
#define VERBLINE_APPS_LAB_STORM_H

#include "apps/lab_fabric.h"
#include "dataplane/network.h"

struct vl_lab_storms;

/* Once the nodes are there and connected; nodes are as the scenario numbers them. *storms is NULL
 * where there are none. -ENOMEM. */
int vl_lab_storms_create(const struct vl_scenario *scenario, struct vl_network *network,
			 struct vl_node **nodes, struct vl_lab_storms **storms);
/* After the last run. NULL is fine. */
void vl_lab_storms_destroy(struct vl_lab_storms *storms);

#endif
