/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/scenario/switch.h"

#include "apps/scenario/field.h"

static const char *const ecn_points[] = {"dequeue", "enqueue", NULL};

static const struct vl_field ecn_fields[] = {
	QUANTITY_FIELD("kmin", struct vl_scenario_ecn, kmin, SIZE, 0, UINT64_C(1) << 30,
		       "no packet is marked up to this queue length [100KB]"),
	QUANTITY_FIELD("kmax", struct vl_scenario_ecn, kmax, SIZE, 0, UINT64_C(1) << 30,
		       "every packet is marked above this queue length [400KB]"),
	FRACTION_FIELD("pmax", struct vl_scenario_ecn, pmax,
		       "the probability of marking at kmax [20%]"),
	CHOICE_FIELD("at", struct vl_scenario_ecn, point, ecn_points,
		     "when the queue is looked at: dequeue or enqueue [dequeue]"),
};
static const struct vl_scenario_ecn ecn_defaults = {
	.kmin = 100000, .kmax = 400000, .pmax = 0.2, .point = VL_SCENARIO_ECN_DEQUEUE};
static const struct vl_schema ecn_schema = {ecn_fields, COUNT(ecn_fields),
					    sizeof(struct vl_scenario_ecn), &ecn_defaults};

static const struct vl_field pfc_fields[] = {
	QUANTITY_FIELD("xoff", struct vl_scenario_pfc, xoff, SIZE, 1, UINT64_C(1) << 32,
		       "pause the sender when so much of it is in the buffer [500KB]"),
	QUANTITY_FIELD("xon", struct vl_scenario_pfc, xon, SIZE, 0, UINT64_C(1) << 32,
		       "let it go on at so much [450KB]"),
	QUANTITY_FIELD("headroom", struct vl_scenario_pfc, headroom, SIZE, 0, UINT64_C(1) << 32,
		       "room for what still comes after a pause [100KB]"),
};
static const struct vl_scenario_pfc pfc_defaults = {
	.xoff = 500000, .xon = 450000, .headroom = 100000};
static const struct vl_schema pfc_schema = {pfc_fields, COUNT(pfc_fields),
					    sizeof(struct vl_scenario_pfc), &pfc_defaults};

static const struct vl_field switch_fields[] = {
	NAME_FIELD("name", struct vl_scenario_switch, name, "what links call it", false),
	TEXT_FIELD("preset", struct vl_scenario_switch, preset,
		   "a named configuration to start from"),
	TEXT_FIELD("config_db", struct vl_scenario_switch, config_db,
		   "a SONiC CONFIG_DB.json to take the configuration from"),
	QUANTITY_FIELD("buffer", struct vl_scenario_switch, buffer, SIZE, 10000, UINT64_C(1) << 33,
		       "shared by all ports [16MB]"),
	QUANTITY_FIELD("queue_limit", struct vl_scenario_switch, queue_limit, SIZE, 5000,
		       UINT64_C(1) << 33, "longest queue of one port and priority [the buffer]"),
	MAPPING_FIELD("ecn", struct vl_scenario_switch, ecn, &ecn_schema,
		      "marking at every port, for the data's priorities [off]"),
	MAPPING_FIELD("pfc", struct vl_scenario_switch, pfc, &pfc_schema,
		      "lossless by pauses, for the data's priorities [off]"),
};
static const struct vl_scenario_switch switch_defaults = {.buffer = 16000000};
const struct vl_schema vl_scenario_switch_schema = {
	switch_fields, COUNT(switch_fields), sizeof(struct vl_scenario_switch), &switch_defaults};
