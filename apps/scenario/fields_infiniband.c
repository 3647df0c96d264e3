/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/scenario/field.h"
#include "apps/scenario/infiniband.h"

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

static const struct vl_field cc_fields[] = {
	QUANTITY_FIELD("threshold", struct vl_scenario_infiniband_cc, threshold, COUNT, 0, 15,
		       "of switches: they mark while more than (16 - threshold) / 16 of a lane's "
		       "buffer waits; 0: never [12]"),
	QUANTITY_FIELD("marking_rate", struct vl_scenario_infiniband_cc, marking_rate, COUNT, 0,
		       65535, "packets passed over between two marked ones, on average [16]"),
	QUANTITY_FIELD("packet_size", struct vl_scenario_infiniband_cc, packet_size, SIZE, 0, 16320,
		       "shorter packets are not marked, steps of 64 B [512B]"),
	TRUTH_FIELD("victims_mark", struct vl_scenario_infiniband_cc, victims_mark,
		    "ports mark that wait for credits, too, as those to adapters may [false]"),
	{.name = "parameters",
	 .kind = VL_FIELD_NUMBERS,
	 .offset = offsetof(struct vl_scenario_infiniband_cc, parameters),
	 .help = "of channel adapters, by name: ccti_increase, ccti_timer, ccti_min, ccti_limit"},
};
/* vl_switch_congestion_defaults says why. */
#define CC_DEFAULTS                                                                                \
	{                                                                                          \
		.threshold = 12, .marking_rate = 16, .packet_size = 512                            \
	}
static const struct vl_scenario_infiniband_cc cc_defaults = CC_DEFAULTS;
static const struct vl_schema cc_schema = {cc_fields, COUNT(cc_fields),
					   sizeof(struct vl_scenario_infiniband_cc), &cc_defaults};

static const struct vl_field infiniband_fields[] = {
	QUANTITY_FIELD("virtual_lanes", struct vl_scenario_infiniband, virtual_lanes, COUNT, 1, 15,
		       "of data, VL0 and up [1]"),
	{.name = "sl_to_vl",
	 .kind = VL_FIELD_NUMBERS,
	 .offset = offsetof(struct vl_scenario_infiniband, sl_to_vl),
	 .help = "virtual lane of each service level, as {3: 1}; a flow's priority is its service "
		 "level [the service level modulo virtual_lanes]"},
	AUTOMATIC_FIELD("buffer", struct vl_scenario_infiniband, buffer, SIZE, 4224, 131008,
			"of each virtual lane at each port: the credits that it grants [auto: what "
			"the longest and fastest link needs to be filled, 64KiB at least]"),
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
	TEXTS_FIELD("roots", struct vl_scenario_infiniband, roots, 1, 64,
		    "switches that up_down takes for the top [the tops of a tree, or the middle]"),
	QUANTITY_FIELD("lifetime", struct vl_scenario_infiniband, lifetime, DURATION, 0,
		       3600 * SECOND,
		       "a packet that waits in a switch for longer is dropped; 0: "
		       "never [0]"),
	QUANTITY_FIELD("head_of_queue_lifetime", struct vl_scenario_infiniband,
		       head_of_queue_lifetime, DURATION, 0, 3600 * SECOND,
		       "a packet is dropped when nothing has left its lane of a switch's port for "
		       "longer; 0: never [0]"),
	QUANTITY_FIELD("drain_rate", struct vl_scenario_infiniband, drain_rate, RATE, 0,
		       UINT64_C(4000000000000),
		       "at which endpoints empty their receive buffers; 0: at once [0]"),
	MAPPING_FIELD("congestion_control", struct vl_scenario_infiniband, cc, &cc_schema,
		      "of fabric infiniband_congestion_control"),
};
static const struct vl_scenario_infiniband infiniband_defaults = {.virtual_lanes = 1,
								  .buffer = VL_AUTOMATIC,
								  .limit_of_high_priority = 255,
								  .cc = CC_DEFAULTS};
const struct vl_schema vl_scenario_infiniband_schema = {infiniband_fields, COUNT(infiniband_fields),
							sizeof(struct vl_scenario_infiniband),
							&infiniband_defaults};
