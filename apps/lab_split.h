/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * A live InfiniBand scenario whose nodes run in several processes, on one machine or more: all read
 * the same scenario, each runs its part of the nodes, and what joins the parts leaves by ports.
 * Every process makes all nodes, in the same order from the same seeds, so that LIDs, QPNs and keys
 * are known without being exchanged; those of other processes it does not run.
 */
#ifndef VERBLINE_APPS_LAB_SPLIT_H
#define VERBLINE_APPS_LAB_SPLIT_H

#include "apps/option.h"
#include "apps/scenario/scenario.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VL_LAB_MAX_WIRES 16u

/* A cable of which one end is here. */
struct vl_lab_wire {
	unsigned int cable;      /* the scenario's, and the link's number on the port */
	unsigned int node, port; /* the end that is here */
	bool is_backward;        /* the end is the cable's b */
	unsigned int leaves_by;  /* index into ports */
};

struct vl_lab_split {
	bool *here; /* by node */
	struct vl_lab_wire *wires;
	unsigned int wire_count;
	const char *ports[VL_LAB_MAX_WIRES]; /* as vl_port_open takes them */
	unsigned int port_count;
};

/* nodes: names, patterns as a shell has them ("host[1-4]", "leaf*"), and names of groups, several
 * in a text with commas between them. ports: "PORT" for all cables that leave, or "A-B=PORT" for
 * those between nodes A and B. NULL: error says what is wrong with which. */
struct vl_lab_split *vl_lab_split_make(const struct vl_scenario *scenario,
				       const struct vl_texts *nodes, const struct vl_texts *ports,
				       char *error, size_t error_size);
void vl_lab_split_free(struct vl_lab_split *split); /* NULL is fine */

/* Of all that must be the same in the processes. */
uint64_t vl_lab_split_digest(const struct vl_scenario *scenario);

#endif
