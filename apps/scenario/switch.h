/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * What a scenario says of an Ethernet switch. The short form, ecn and pfc, is for all classes that
 * carry data; pools, groups, queues and maps say everything that vl_switch_config has, and go
 * before it. Values that were not given follow from each port's link.
 */
#ifndef VERBLINE_SCENARIO_SWITCH_H
#define VERBLINE_SCENARIO_SWITCH_H

#include "apps/scenario/schema.h"
#include "dataplane/fabric/classifier.h"

#include <stdbool.h>
#include <stdint.h>

/* A curve of RED; the same for ecn and for each colour of a queue. */
struct vl_scenario_ecn {
	struct vl_section section;
	uint64_t kmin, kmax; /* bytes */
	double pmax;
	unsigned int point;   /* enum vl_scenario_ecn_point; of green only */
	unsigned int non_ecn; /* enum vl_scenario_non_ecn */
	uint64_t weight;      /* of the average, 0: none; of green only */
};

enum vl_scenario_ecn_point {
	VL_SCENARIO_ECN_DEQUEUE,
	VL_SCENARIO_ECN_ENQUEUE,
};

/* Frames that are not ECN-capable where the curve would mark. */
enum vl_scenario_non_ecn {
	VL_SCENARIO_NON_ECN_DROP,
	VL_SCENARIO_NON_ECN_PASS,
	VL_SCENARIO_ALL_DROP, /* ECN-capable ones too */
};

struct vl_scenario_pfc {
	struct vl_section section;
	uint64_t xoff, xon;      /* bytes, of each ingress port */
	double alpha;            /* in place of xoff */
	uint64_t headroom;       /* bytes */
	uint64_t response_delay; /* ns; VL_AUTOMATIC: what IEEE 802.3 allows at the rate */
	uint64_t quanta;
};

struct vl_scenario_pool {
	struct vl_section section;
	const char *name;
	uint64_t size, shared_headroom;
	bool is_shared_only;
};

/* An ingress priority group of each port. */
struct vl_scenario_group {
	struct vl_section section;
	uint64_t group;
	const char *pool;
	uint64_t reserved;
	uint64_t limit; /* bytes */
	double alpha;   /* in place of limit */
	bool is_lossless;
	uint64_t headroom, xon, xon_offset;
};

struct vl_scenario_shaper {
	struct vl_section section;
	uint64_t rate, burst;
};

/* An egress queue of each port. */
struct vl_scenario_queue {
	struct vl_section section;
	uint64_t queue;
	const char *pool;
	uint64_t reserved, limit;
	double alpha;
	unsigned int scheduling; /* enum vl_scheduling */
	uint64_t weight;
	struct vl_scenario_shaper shaper;
	struct vl_scenario_ecn ecn, yellow, red; /* ecn: green, and the others if they have none */
};

/* Mappings of numbers to numbers. */
struct vl_scenario_maps {
	struct vl_section section;
	struct vl_section dscp_to_class, dscp_to_colour, pcp_to_class, pcp_to_colour;
	struct vl_section class_to_queue, class_to_group;
	struct vl_section priority_to_queue, priority_to_group; /* of PFC */
};

struct vl_scenario_watchdog {
	struct vl_section section;
	unsigned int action;                                      /* enum vl_watchdog_action - 1 */
	uint64_t detection_time, restoration_time, poll_interval; /* ns */
};

struct vl_scenario_switch {
	struct vl_section section;
	const char *name;
	const char *preset;    /* NULL: none */
	const char *config_db; /* file; NULL: none */
	uint64_t buffer;       /* bytes, of all ports together; VL_AUTOMATIC: by their rates */
	uint64_t cell_size;    /* bytes; 0: bytes are counted */
	uint64_t queue_limit;  /* bytes, of each lossy egress queue; 0: by alpha */
	bool cut_through;
	unsigned int trust;         /* enum vl_switch_trust */
	struct vl_scenario_ecn ecn; /* at every port, for the data's priorities */
	struct vl_scenario_pfc pfc;
	struct vl_list pools;  /* struct vl_scenario_pool */
	struct vl_list groups; /* struct vl_scenario_group */
	struct vl_list queues; /* struct vl_scenario_queue */
	struct vl_scenario_maps maps;
	struct vl_scenario_shaper shaper;
	struct vl_scenario_watchdog watchdog;
	/* Read by switch_check.c. */
	struct {
		struct vl_classifier_config classifier;
		uint8_t priority_to_queue[8], priority_to_group[8];
	} tables;
	/* Found and read by switch_source.c; NULL: the configuration is given here. */
	const struct vl_preset *found_preset;
	const struct vl_config_db *db;
	bool has_ecn, has_pfc; /* after what the scenario's fabric switches on or off */
	unsigned int node;
};

extern const struct vl_schema vl_scenario_switch_schema, vl_scenario_queue_schema,
	vl_scenario_group_schema, vl_scenario_ecn_schema, vl_scenario_pfc_schema;

/* The index of a pool by its name, 0 without one; -1: there is none of that name. */
int vl_scenario_find_pool(const struct vl_scenario_switch *sw, const char *name);
/* Sets entries of a table of as many keys by a mapping of numbers, each below values. */
void vl_scenario_read_map(struct vl_loader *loader, const struct vl_section *map, uint8_t *table,
			  unsigned int keys, unsigned int values);

#endif
