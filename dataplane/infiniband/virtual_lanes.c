/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/infiniband/subnet_manager.h"

#include <stdio.h>
#include <string.h>

void vl_subnet_lanes_default(struct vl_subnet_lanes *lanes, uint8_t data_lanes)
{
	memset(lanes, 0, sizeof(*lanes));
	lanes->data_lanes = data_lanes;
	for (unsigned int sl = 0; sl < VL_INFINIBAND_SERVICE_LEVELS; sl++)
		lanes->sl_to_vl[sl] = (uint8_t)(sl % data_lanes);
	vl_arbiter_default(&lanes->arbitration, data_lanes);
}

const char *vl_subnet_lanes_error(const struct vl_subnet_lanes *lanes, char *message)
{
	if (!lanes->data_lanes || lanes->data_lanes > VL_INFINIBAND_DATA_LANES) {
		snprintf(message, VL_SUBNET_MESSAGE_SIZE, "there are %u data lanes, not 1 to %u",
			 lanes->data_lanes, VL_INFINIBAND_DATA_LANES);
		return message;
	}
	for (unsigned int sl = 0; sl < VL_INFINIBAND_SERVICE_LEVELS; sl++) {
		if (lanes->sl_to_vl[sl] < lanes->data_lanes)
			continue;
		snprintf(message, VL_SUBNET_MESSAGE_SIZE,
			 "SL %u is mapped on VL %u, but the data lanes are 0 to %u", sl,
			 lanes->sl_to_vl[sl], lanes->data_lanes - 1u);
		return message;
	}
	return vl_arbiter_config_error(&lanes->arbitration, lanes->data_lanes);
}
