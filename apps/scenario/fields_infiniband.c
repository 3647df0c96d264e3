/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/scenario/infiniband.h"

#include "apps/scenario/field.h"

static const struct vl_field arbitration_fields[] = {
	QUANTITY_FIELD("virtual_lane", struct vl_scenario_arbitration, virtual_lane, COUNT, 0, 14,
		       "the lane that is served [0]"),
	QUANTITY_FIELD("weight", struct vl_scenario_arbitration, weight, COUNT, 0, 255,
		       "blocks of 64 B that it may send in its turn [64]"),
};
static const struct vl_scenario_arbitration arbitration_defaults = {.weight = 64};
static const struct vl_schema arbitration_schema = {arbitration_fields, COUNT(arbitration_fields),
						    sizeof(struct vl_scenario_arbitration),
						    &arbitration_defaults};

static const char *const routings[] = {
#define ROUTING_NAME(symbol, name, meaning) name,
	VL_SUBNET_ROUTINGS(ROUTING_NAME)
#undef ROUTING_NAME
		NULL};

static const struct vl_field infiniband_fields[] = {
	QUANTITY_FIELD("virtual_lanes", struct vl_scenario_infiniband, virtual_lanes, COUNT, 1, 15,
		       "of data, VL0 and up [1]"),
	{.name = "sl_to_vl",
	 .kind = VL_FIELD_NUMBERS,
	 .offset = offsetof(struct vl_scenario_infiniband, sl_to_vl),
	 .help = "virtual lane of each service level, as {3: 1}; a flow's priority is its service "
		 "level [the service level modulo virtual_lanes]"},
	QUANTITY_FIELD("buffer", struct vl_scenario_infiniband, buffer, SIZE, 4224, 131008,
		       "of each virtual lane at each port: the credits that it grants [64KiB]"),
	LIST_FIELD("high", struct vl_scenario_infiniband, high, &arbitration_schema, 0, 64,
		   "high-priority table of the VL arbitration [empty]"),
	LIST_FIELD("low", struct vl_scenario_infiniband, low, &arbitration_schema, 0, 64,
		   "low-priority table of the VL arbitration [each lane with weight 64]"),
	QUANTITY_FIELD("limit_of_high_priority", struct vl_scenario_infiniband,
		       limit_of_high_priority, COUNT, 0, 255,
		       "4 KiB units that the high table may send before the low one has a turn; "
		       "255: no limit [255]"),
	CHOICE_FIELD("routing", struct vl_scenario_infiniband, routing, routings,
		     "min_hop or up_down [min_hop]"),
	QUANTITY_FIELD("lifetime", struct vl_scenario_infiniband, lifetime, DURATION, 0,
		       3600 * SECOND,
		       "a packet that waits in a switch for longer is dropped; 0: "
		       "never [0]"),
};
static const struct vl_scenario_infiniband infiniband_defaults = {
	.virtual_lanes = 1, .buffer = 65536, .limit_of_high_priority = 255};
const struct vl_schema vl_scenario_infiniband_schema = {infiniband_fields, COUNT(infiniband_fields),
							sizeof(struct vl_scenario_infiniband),
							&infiniband_defaults};
