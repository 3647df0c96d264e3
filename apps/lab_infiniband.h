/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What the InfiniBand nodes of a scenario are made of, and what their subnet manager finds. */
#ifndef VERBLINE_APPS_LAB_INFINIBAND_H
#define VERBLINE_APPS_LAB_INFINIBAND_H

#include "apps/lab_fabric.h"
#include "apps/report/results.h"
#include "dataplane/infiniband/subnet_program.h"

#include <stddef.h>

/* For who makes the nodes. The configurations point into the scenario. */
void vl_lab_channel_adapter_config(const struct vl_scenario *scenario, unsigned int node,
				   struct vl_channel_adapter_config *config);
void vl_lab_infiniband_switch_config(const struct vl_scenario *scenario, unsigned int node,
				     struct vl_infiniband_switch_config *config);

/* The subnet of a scenario's nodes and cables, numbered as there; of Ethernet's, too, as routes are
 * found alike. NULL: a message says why. */
struct vl_subnet *vl_lab_make_subnet(const struct vl_scenario *scenario,
				     enum vl_subnet_routing routing, char *error,
				     size_t error_size);

/* All of the subnet manager's work on a fabric, and what it says of deadlock (results); before
 * flows are connected, as their paths name LIDs. 0, or a negative errno value with a message. */
int vl_lab_manage_subnet(const struct vl_lab_fabric *fabric, struct vl_results *results,
			 char *error, size_t error_size);

#endif
