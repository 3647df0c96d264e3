/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The emulated switch that a probe is tried on, and what it is configured to do. */
#ifndef VERBLINE_PROBE_EMULATED_H
#define VERBLINE_PROBE_EMULATED_H

#include "apps/sonic/switch_config.h"
#include "dataplane/probe/virtual.h"

/* Where it comes from: one of the first three. */
struct probe_source {
	const char *preset;    /* its name */
	const char *config_db; /* file */
	const char *scenario;  /* file, or a ready one's name */
	const char *sw;        /* of the scenario; NULL: the first */
	uint64_t rate;         /* bit/s; 0: the source's, or 100 Gb/s */
	uint64_t cable;        /* m; 0: the source's, or 5 */
	uint32_t longest;      /* bytes of the longest frame */
	uint64_t priority;     /* of which a port is looked for that sends PFC */
	uint64_t seed;
};

struct probe_emulated {
	struct vl_switch_config *config; /* port 0 is the sender's, port 1 the receiver's */
	struct vl_link_config cables[VL_PROBE_SIDES];
	struct vl_db_notes notes; /* what the emulation does not have, or assumes */
	char name[224];           /* of the switch and its ports, for people */
};

/* What the class that a DSCP leads to is configured to do between the two ports. Bytes; what there
 * is no value for is below 0. */
struct probe_configured {
	double xoff, xon, headroom, capacity, kmin, kmax, pmax, rate;
	bool is_lossless; /* and PFC of the priority is sent for it */
	bool at_dequeue, is_averaged, shares_headroom;
	bool is_of_priority; /* the DSCP's group and the priority's are one */
	bool loses_at_queue; /* the queue's own limit comes before the group's */
	uint32_t cell;       /* 1: bytes */
	uint8_t group, queue;
};

/* 0, or a negative errno value with *error: -EINVAL: wrong input. To be closed in any case. */
int probe_emulated_open(struct probe_emulated *emulated, const struct probe_source *source,
			char *error, size_t error_size);
void probe_emulated_close(struct probe_emulated *emulated); /* fine on zeros */
/* A DSCP that leads to the priority's group at the sender's port. */
uint8_t probe_emulated_dscp(const struct probe_emulated *emulated, unsigned int priority);
/* sw: made of it. */
void probe_configured(const struct probe_emulated *emulated, const struct vl_switch *sw,
		      unsigned int dscp, unsigned int priority,
		      struct probe_configured *configured);

#endif
