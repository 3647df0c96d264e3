/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/scenario/field.h"
#include "apps/scenario/switch.h"
#include "dataplane/fabric/switch.h"

#define SIZE_MOST VL_BUFFER_SIZE_MAX

/* ---- Marking ------------------------------------------------------------------------------- */

static const char *const ecn_points[] = {"dequeue", "enqueue", NULL};
static const char *const non_ecn[] = {"drop", "pass", "drop_all", NULL};

static const struct vl_field ecn_fields[] = {
	AUTOMATIC_FIELD(
		"kmin", struct vl_scenario_ecn, kmin, SIZE, 0, UINT64_C(1) << 30,
		"no packet is marked up to this queue length [auto: 100KB at 100Gb/s, less or "
		"more with the port's rate; a quarter of kmax if that is given]"),
	AUTOMATIC_FIELD("kmax", struct vl_scenario_ecn, kmax, SIZE, 0, UINT64_C(1) << 30,
			"every packet is marked above this queue length [auto: four times kmin]"),
	FRACTION_FIELD("pmax", struct vl_scenario_ecn, pmax,
		       "the probability of marking at kmax [20%]"),
	CHOICE_FIELD("at", struct vl_scenario_ecn, point, ecn_points,
		     "when the queue is looked at: dequeue or enqueue [dequeue]"),
	CHOICE_FIELD("not_ect", struct vl_scenario_ecn, non_ecn, non_ecn,
		     "what happens to packets without ECN: drop, pass, or drop_all: those with ECN "
		     "are dropped too [drop]"),
	QUANTITY_FIELD("weight", struct vl_scenario_ecn, weight, COUNT, 0, VL_RED_WEIGHT_MAX,
		       "n: the queue's average is looked at, which each packet moves by 2^-n; 0: "
		       "the length of the instant [0]"),
};
static const struct vl_scenario_ecn ecn_defaults = {
	.kmin = VL_AUTOMATIC, .kmax = VL_AUTOMATIC, .pmax = 0.2, .point = VL_SCENARIO_ECN_DEQUEUE};
const struct vl_schema vl_scenario_ecn_schema = {ecn_fields, COUNT(ecn_fields),
						 sizeof(struct vl_scenario_ecn), &ecn_defaults};

/* ---- The short form of PFC ----------------------------------------------------------------- */

static const struct vl_field pfc_fields[] = {
	AUTOMATIC_FIELD("xoff", struct vl_scenario_pfc, xoff, SIZE, 1, UINT64_C(1) << 32,
			"pause the sender when so much of it is in the buffer [auto: 500KB at "
			"100Gb/s, less or more with the port's rate]"),
	AUTOMATIC_FIELD("xon", struct vl_scenario_pfc, xon, SIZE, 0, UINT64_C(1) << 32,
			"let it go on at so much [auto: nine tenths of xoff]"),
	RATIO_FIELD("alpha", struct vl_scenario_pfc, alpha,
		    "pause at so many times the free shared buffer, instead of at xoff [off]"),
	AUTOMATIC_FIELD("headroom", struct vl_scenario_pfc, headroom, SIZE, 0, UINT64_C(1) << 32,
			"room for what still comes after a pause [auto: the exact bound for the "
			"port's rate, delay and MTU]"),
	AUTOMATIC_FIELD("response_delay", struct vl_scenario_pfc, response_delay, DURATION, 0,
			SECOND / 1000,
			"that the switch, and endpoints at it, take to obey a pause [auto: the "
			"most that IEEE 802.3 allows at the link's rate]"),
	QUANTITY_FIELD("quanta", struct vl_scenario_pfc, quanta, COUNT, 1, 65535,
		       "of a pause, 512 bit times each [65535]"),
};
static const struct vl_scenario_pfc pfc_defaults = {.xoff = VL_AUTOMATIC,
						    .xon = VL_AUTOMATIC,
						    .headroom = VL_AUTOMATIC,
						    .response_delay = VL_AUTOMATIC,
						    .quanta = 65535};
const struct vl_schema vl_scenario_pfc_schema = {pfc_fields, COUNT(pfc_fields),
						 sizeof(struct vl_scenario_pfc), &pfc_defaults};

/* ---- Pools, groups, queues ----------------------------------------------------------------- */

static const struct vl_field pool_fields[] = {
	NAME_FIELD("name", struct vl_scenario_pool, name, "what groups and queues call it", true),
	{.name = "size",
	 .kind = VL_FIELD_QUANTITY,
	 .offset = offsetof(struct vl_scenario_pool, size),
	 .help = "of the pool",
	 .is_required = true,
	 .quantity = VL_QUANTITY_SIZE,
	 .least = 1,
	 .most = SIZE_MOST},
	QUANTITY_FIELD("shared_headroom", struct vl_scenario_pool, shared_headroom, SIZE, 0,
		       SIZE_MOST, "headroom of all its groups together [each has its own]"),
	TRUTH_FIELD("shared_only", struct vl_scenario_pool, is_shared_only,
		    "size is what is shared: reserved memory and headroom lie beside it [false]"),
};
static const struct vl_schema pool_schema = {pool_fields, COUNT(pool_fields),
					     sizeof(struct vl_scenario_pool), NULL};

static const struct vl_field group_fields[] = {
	QUANTITY_FIELD("group", struct vl_scenario_group, group, COUNT, 0, 7,
		       "which of the 8 priority groups of each port [0]"),
	NAME_FIELD("pool", struct vl_scenario_group, pool, "a pool [the first]", false),
	QUANTITY_FIELD("reserved", struct vl_scenario_group, reserved, SIZE, 0, SIZE_MOST,
		       "memory of its own [0]"),
	AUTOMATIC_FIELD("limit", struct vl_scenario_group, limit, SIZE, 0, SIZE_MOST,
			"of shared memory; lossless: XOFF [all that the pool shares]"),
	RATIO_FIELD("alpha", struct vl_scenario_group, alpha,
		    "limit as so many times the pool's free shared memory [off]"),
	TRUTH_FIELD("lossless", struct vl_scenario_group, is_lossless,
		    "it asks for PFC at its limit [false]"),
	AUTOMATIC_FIELD("headroom", struct vl_scenario_group, headroom, SIZE, 0, SIZE_MOST,
			"of a lossless group [auto: the exact bound for the port's rate, delay and "
			"MTU]"),
	AUTOMATIC_FIELD("xon", struct vl_scenario_group, xon, SIZE, 0, SIZE_MOST,
			"of a lossless group [auto: nine tenths of limit; 0 with alpha]"),
	QUANTITY_FIELD("xon_offset", struct vl_scenario_group, xon_offset, SIZE, 0, SIZE_MOST,
		       "XON at so much below the limit, if that is above xon [off]"),
};
static const struct vl_scenario_group group_defaults = {
	.limit = VL_AUTOMATIC, .headroom = VL_AUTOMATIC, .xon = VL_AUTOMATIC};
const struct vl_schema vl_scenario_group_schema = {
	group_fields, COUNT(group_fields), sizeof(struct vl_scenario_group), &group_defaults};

static const struct vl_field shaper_fields[] = {
	QUANTITY_FIELD("rate", struct vl_scenario_shaper, rate, RATE, 1000000,
		       UINT64_C(1600000000000), "most that leaves, frames with FCS [off]"),
	QUANTITY_FIELD("burst", struct vl_scenario_shaper, burst, SIZE, 0, UINT64_C(1) << 30,
		       "that may leave at once after a rest [16KiB]"),
};
static const struct vl_scenario_shaper shaper_defaults = {.burst = 16384};
static const struct vl_schema shaper_schema = {shaper_fields, COUNT(shaper_fields),
					       sizeof(struct vl_scenario_shaper), &shaper_defaults};

static const char *const schedulings[] = {"dwrr", "wrr", "strict", NULL};

static const struct vl_field queue_fields[] = {
	QUANTITY_FIELD("queue", struct vl_scenario_queue, queue, COUNT, 0, 7,
		       "which of the 8 queues of each port [0]"),
	NAME_FIELD("pool", struct vl_scenario_queue, pool, "a pool [the first]", false),
	QUANTITY_FIELD("reserved", struct vl_scenario_queue, reserved, SIZE, 0, SIZE_MOST,
		       "memory of its own [0]"),
	AUTOMATIC_FIELD("limit", struct vl_scenario_queue, limit, SIZE, 0, SIZE_MOST,
			"of shared memory [all that the pool shares]"),
	RATIO_FIELD("alpha", struct vl_scenario_queue, alpha,
		    "limit as so many times the pool's free shared memory [off]"),
	CHOICE_FIELD("scheduling", struct vl_scenario_queue, scheduling, schedulings,
		     "dwrr (bytes by weight, as ETS), wrr (frames by weight) or strict [dwrr; of "
		     "queue 6, which CNPs take, strict]"),
	QUANTITY_FIELD("weight", struct vl_scenario_queue, weight, COUNT, 1,
		       VL_SCHEDULER_WEIGHT_MAX, "of dwrr and wrr [1]"),
	MAPPING_FIELD("shaper", struct vl_scenario_queue, shaper, &shaper_schema,
		      "a limit on what leaves the queue [off]"),
	MAPPING_FIELD("ecn", struct vl_scenario_queue, ecn, &vl_scenario_ecn_schema,
		      "marking of green packets, and of others that have no curve [off]"),
	MAPPING_FIELD("ecn_yellow", struct vl_scenario_queue, yellow, &vl_scenario_ecn_schema,
		      "marking of yellow packets [as green]"),
	MAPPING_FIELD("ecn_red", struct vl_scenario_queue, red, &vl_scenario_ecn_schema,
		      "marking of red packets [as green]"),
};
static const struct vl_scenario_queue queue_defaults = {.limit = VL_AUTOMATIC, .weight = 1};
const struct vl_schema vl_scenario_queue_schema = {
	queue_fields, COUNT(queue_fields), sizeof(struct vl_scenario_queue), &queue_defaults};

/* ---- Maps, watchdog ------------------------------------------------------------------------ */

#define MAP_FIELD(key, member, text)                                                               \
	{                                                                                          \
		.name = key, .kind = VL_FIELD_NUMBERS,                                             \
		.offset = offsetof(struct vl_scenario_maps, member), .help = text                  \
	}

static const struct vl_field map_fields[] = {
	MAP_FIELD("dscp_to_class", dscp_to_class, "as {26: 3, 48: 6} [DSCP / 8]"),
	MAP_FIELD("dscp_to_colour", dscp_to_colour, "0 green, 1 yellow, 2 red [green]"),
	MAP_FIELD("pcp_to_class", pcp_to_class, "of trust pcp [the same number]"),
	MAP_FIELD("pcp_to_colour", pcp_to_colour, "0 green, 1 yellow, 2 red [green]"),
	MAP_FIELD("class_to_queue", class_to_queue, "[the same number]"),
	MAP_FIELD("class_to_group", class_to_group, "[the same number]"),
	MAP_FIELD("pfc_priority_to_queue", priority_to_queue,
		  "which queue a received pause stops [the same number]"),
	MAP_FIELD("pfc_priority_to_group", priority_to_group,
		  "for which group a pause is sent [the same number]"),
};
static const struct vl_schema map_schema = {map_fields, COUNT(map_fields),
					    sizeof(struct vl_scenario_maps), NULL};

static const char *const watchdog_actions[] = {"drop", "forward", NULL};

static const struct vl_field watchdog_fields[] = {
	CHOICE_FIELD("action", struct vl_scenario_watchdog, action, watchdog_actions,
		     "with a queue in a storm: drop or forward [drop]"),
	QUANTITY_FIELD("detection_time", struct vl_scenario_watchdog, detection_time, DURATION, 1,
		       60 * SECOND, "paused without a break for so long is a storm [200ms]"),
	QUANTITY_FIELD("restoration_time", struct vl_scenario_watchdog, restoration_time, DURATION,
		       1, 60 * SECOND, "without a pause for so long, it is over [200ms]"),
	QUANTITY_FIELD("poll_interval", struct vl_scenario_watchdog, poll_interval, DURATION, 1,
		       60 * SECOND, "how often it looks [100ms]"),
};
static const struct vl_scenario_watchdog watchdog_defaults = {
	.detection_time = 200000000, .restoration_time = 200000000, .poll_interval = 100000000};
static const struct vl_schema watchdog_schema = {watchdog_fields, COUNT(watchdog_fields),
						 sizeof(struct vl_scenario_watchdog),
						 &watchdog_defaults};

/* ---- The whole ----------------------------------------------------------------------------- */

static const char *const trusts[] = {"dscp", "pcp", NULL};

static const struct vl_field switch_fields[] = {
	NAME_FIELD("name", struct vl_scenario_switch, name, "what links call it", false),
	TEXT_FIELD("preset", struct vl_scenario_switch, preset,
		   "a named configuration to start from"),
	TEXT_FIELD(
		"config_db", struct vl_scenario_switch, config_db,
		"a SONiC CONFIG_DB.json to take the configuration from; seen from the scenario's "
		"directory"),
	AUTOMATIC_FIELD("buffer", struct vl_scenario_switch, buffer, SIZE, 10000, SIZE_MOST,
			"shared by all ports [auto: 5MB for each Tb/s of its ports, at least "
			"16MB]"),
	QUANTITY_FIELD("cell_size", struct vl_scenario_switch, cell_size, SIZE, 32,
		       VL_BUFFER_CELL_MAX, "memory is given out in cells [by the byte]"),
	TRUTH_FIELD("cut_through", struct vl_scenario_switch, cut_through,
		    "packets leave before they have arrived whole, where lines allow it [false]"),
	QUANTITY_FIELD("queue_limit", struct vl_scenario_switch, queue_limit, SIZE, 5000, SIZE_MOST,
		       "longest queue of one port and lossy priority [alpha 8: 8/9 of the buffer "
		       "at most]"),
	CHOICE_FIELD("trust", struct vl_scenario_switch, trust, trusts,
		     "what says the class: dscp or pcp, of the VLAN tag [dscp]"),
	MAPPING_FIELD("ecn", struct vl_scenario_switch, ecn, &vl_scenario_ecn_schema,
		      "marking at every port, for the data's priorities [off]"),
	MAPPING_FIELD("pfc", struct vl_scenario_switch, pfc, &vl_scenario_pfc_schema,
		      "lossless by pauses, for the data's priorities [off]"),
	OPTIONAL_LIST_FIELD("pools", struct vl_scenario_switch, pools, &pool_schema, 1,
			    VL_BUFFER_POOLS, "parts of the buffer [one, all of it]"),
	OPTIONAL_LIST_FIELD("groups", struct vl_scenario_switch, groups, &vl_scenario_group_schema,
			    1, 8,
			    "ingress priority groups of each port, instead of pfc [all lossy]"),
	OPTIONAL_LIST_FIELD("queues", struct vl_scenario_switch, queues, &vl_scenario_queue_schema,
			    1, 8, "egress queues of each port that differ from others"),
	MAPPING_FIELD("maps", struct vl_scenario_switch, maps, &map_schema,
		      "from what packets carry to queues and groups"),
	MAPPING_FIELD("shaper", struct vl_scenario_switch, shaper, &shaper_schema,
		      "a limit on what leaves each port [off]"),
	MAPPING_FIELD("watchdog", struct vl_scenario_switch, watchdog, &watchdog_schema,
		      "of PFC, for the lossless priorities [off]"),
};
static const struct vl_scenario_switch switch_defaults = {.buffer = VL_AUTOMATIC};
const struct vl_schema vl_scenario_switch_schema = {
	switch_fields, COUNT(switch_fields), sizeof(struct vl_scenario_switch), &switch_defaults};
