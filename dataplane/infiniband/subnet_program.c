/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/infiniband/subnet_program.h"

#include <errno.h>

static int program_ports(const struct vl_subnet_lanes *lanes, struct vl_infiniband_switch *sw)
{
	uint32_t ports = vl_infiniband_switch_port_count(sw);
	int status = 0;

	for (uint32_t out = 0; !status && out < ports; out++) {
		status = vl_infiniband_switch_set_arbitration(sw, out, &lanes->arbitration);
		for (uint32_t in = 0; !status && in < ports; in++)
			status = vl_infiniband_switch_set_sl_to_vl(sw, in, out, lanes->sl_to_vl);
	}
	return status;
}

int vl_subnet_program_switch(const struct vl_subnet *subnet, uint32_t node,
			     struct vl_infiniband_switch *sw)
{
	const uint16_t *table = vl_subnet_forwarding_table(subnet, node);
	const struct vl_subnet_lanes *lanes = vl_subnet_lanes(subnet);
	int status = 0;

	if (!table || vl_infiniband_switch_virtual_lanes(sw) != lanes->data_lanes)
		return -EINVAL;
	for (uint32_t lid = 1; !status && lid < vl_subnet_lid_limit(subnet); lid++) {
		if (table[lid] != VL_SUBNET_NO_PORT)
			status = vl_infiniband_switch_set_route(sw, (uint16_t)lid, table[lid]);
	}
	return status ? status : program_ports(lanes, sw);
}

int vl_subnet_program_channel_adapter(const struct vl_subnet *subnet, uint32_t node,
				      struct vl_channel_adapter *adapter)
{
	const struct vl_subnet_lanes *lanes = vl_subnet_lanes(subnet);
	int status;

	if (vl_channel_adapter_virtual_lanes(adapter) != lanes->data_lanes)
		return -EINVAL;
	status = vl_channel_adapter_set_lid(adapter, vl_subnet_lid(subnet, node, 0));
	if (!status)
		status = vl_channel_adapter_set_sl_to_vl(adapter, lanes->sl_to_vl);
	if (!status)
		status = vl_channel_adapter_set_arbitration(adapter, &lanes->arbitration);
	return status;
}
