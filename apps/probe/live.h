/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* A bench on two ports of this machine, which the calling thread polls. */
#ifndef VERBLINE_PROBE_LIVE_H
#define VERBLINE_PROBE_LIVE_H

#include "apps/ports/ports.h"
#include "dataplane/probe/bench.h"

#define PROBE_LIVE_MBUFS 8192u /* of each port's mempool */

struct probe_live;

/* ports: the sender's and the receiver's, whose mempools also give the frames to be sent; MACs and
 * addresses are the caller's to set in the bench. Waits until both links are up. NULL: *error says
 * why. */
struct probe_live *probe_live_create(const struct vl_ports *ports, uint64_t rate,
				     struct vl_error *error);
void probe_live_destroy(struct probe_live *live); /* NULL is fine */
struct vl_probe_bench *probe_live_bench(struct probe_live *live);

#endif
