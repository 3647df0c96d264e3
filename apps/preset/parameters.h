/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Private to the presets: their values as numbers. */
#ifndef VERBLINE_PRESET_PARAMETERS_H
#define VERBLINE_PRESET_PARAMETERS_H

#include <stdbool.h>
#include <stdint.h>

/* A row of SONiC's pg_profile_lookup.ini. */
struct preset_headroom {
	uint64_t rate; /* bit/s */
	uint32_t metres;
	uint32_t bytes;
};

struct preset_dscps {
	uint8_t first, last, class;
};

struct preset_queue {
	uint8_t queue;
	bool is_strict;
	uint8_t weight;
};

#define PRESET_MAPS   8
#define PRESET_QUEUES 8

struct preset_parameters {
	uint64_t memory;          /* bytes; 0: by the rates of the ports */
	uint64_t ingress_pool;    /* bytes; 0: one pool of all the memory */
	uint64_t shared_headroom; /* bytes; with ingress_pool */
	double alpha;             /* of lossless groups */
	double lossy_alpha;       /* of lossy groups and queues; 0: not limited */
	uint32_t reserved;        /* bytes, of each lossless group */
	uint32_t xon, xon_offset;
	uint8_t lossless; /* bit n: class n, by PFC priority n, in group and queue n */
	struct preset_dscps maps[PRESET_MAPS]; /* over DSCP / 8; the last counts */
	unsigned int map_count;
	struct preset_queue queues[PRESET_QUEUES]; /* others: weight 1 */
	unsigned int queue_count;
	uint32_t marking_rate; /* Gb/s that kmin and kmax are for; 0: of any */
	uint64_t kmin, kmax;   /* bytes */
	double pmax;
	uint8_t marked;                          /* bit n: queue n */
	const struct preset_headroom *headrooms; /* by rate, then metres; then by the formula */
	unsigned int headroom_count;
	double headroom_delays;   /* headroom is so many propagation delays of the line; 0: no */
	uint32_t headroom_metres; /* the formula's cable, if the link's is shorter */
	uint32_t watchdog_ms;     /* detection and restoration, dropping; 0: none */
	uint32_t poll_ms;
};

#endif
