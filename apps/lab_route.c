/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/lab_route.h"

#include "apps/lab_infiniband.h"

#include <errno.h>
#include <stdio.h>

static int route_switch(const struct vl_lab_fabric *fabric, const struct vl_subnet *subnet,
			unsigned int node)
{
	const uint16_t *table = vl_subnet_forwarding_table(subnet, node);
	int status = 0;

	for (unsigned int i = 0; !status && i < fabric->scenario->endpoint_count; i++)
		status = vl_switch_add_route(fabric->nodes[node].sw, fabric->nodes[i].endpoint->mac,
					     table[vl_subnet_lid(subnet, i, 0)]);
	return status;
}

int vl_lab_route_up_down(const struct vl_lab_fabric *fabric, char *error, size_t error_size)
{
	const struct vl_scenario *scenario = fabric->scenario;
	struct vl_subnet *subnet =
		vl_lab_make_subnet(scenario, VL_SUBNET_UP_DOWN, error, error_size);
	int status = subnet ? 0 : -EINVAL;

	for (unsigned int i = scenario->endpoint_count; !status && i < scenario->node_count; i++) {
		status = route_switch(fabric, subnet, i);
		if (status)
			snprintf(error, error_size, "no memory for routes of %s",
				 scenario->nodes[i].name);
	}
	vl_subnet_destroy(subnet);
	return status;
}
