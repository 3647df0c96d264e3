/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What the InfiniBand nodes of a scenario are made of, and what their subnet manager finds. */
#ifndef VERBLINE_APPS_LAB_INFINIBAND_H
#define VERBLINE_APPS_LAB_INFINIBAND_H

#include <stddef.h>

#include "apps/scenario/scenario.h"
#include "dataplane/infiniband/subnet_program.h"

/* For who makes the nodes. The configurations point into the scenario. */
void vl_lab_channel_adapter_config(const struct vl_scenario *scenario, unsigned int node,
				   struct vl_channel_adapter_config *config);
void vl_lab_infiniband_switch_config(const struct vl_scenario *scenario, unsigned int node,
				     struct vl_infiniband_switch_config *config);

/* The subnet's nodes have the scenario's numbers. NULL: error says why. */
struct vl_subnet *vl_lab_make_subnet(const struct vl_scenario *scenario, char *error,
				     size_t error_size);
/* Before flows are connected. One of the two is NULL. 0, or a negative errno value with a message.
 */
int vl_lab_program(const struct vl_scenario *scenario, const struct vl_subnet *subnet,
		   unsigned int node, struct vl_channel_adapter *adapter,
		   struct vl_infiniband_switch *sw, char *error, size_t error_size);

#endif
