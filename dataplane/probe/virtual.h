/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* A bench in virtual time: an emulated switch, with the sender at its port 0 and the receiver at
 * its port 1. */
#ifndef VERBLINE_PROBE_VIRTUAL_H
#define VERBLINE_PROBE_VIRTUAL_H

#include "dataplane/network.h"
#include "dataplane/probe/bench.h"

struct vl_probe_virtual;

/* cables: of the sender's and the receiver's line; rates are equal. NULL: error says why. */
struct vl_probe_virtual *vl_probe_virtual_create(const struct vl_switch_config *config,
						 const struct vl_link_config cables[VL_PROBE_SIDES],
						 char *error, size_t error_size);
void vl_probe_virtual_destroy(struct vl_probe_virtual *bench); /* NULL is fine */
/* The switch that is probed, for comparing with what was found. */
const struct vl_switch *vl_probe_virtual_switch(const struct vl_probe_virtual *bench);
struct vl_probe_bench *vl_probe_virtual_bench(struct vl_probe_virtual *bench);

#endif
