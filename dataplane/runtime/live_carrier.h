/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Links of a live network that leave the process (dataplane/infiniband/carrier.h): the ports they
 * leave by, and what the worker that owns such a port does with it.
 */
#ifndef VERBLINE_RUNTIME_LIVE_CARRIER_H
#define VERBLINE_RUNTIME_LIVE_CARRIER_H

#include "dataplane/runtime/live_node.h"

/* What has come for the links of a wire, of which at most a burst is taken. */
uint32_t vl_live_wire_receive(struct live_part *part, struct live_wire *wire, uint64_t now,
			      void (*deliver)(struct live_port *port, struct vl_frame *frame,
					      uint64_t now));
/* False: the wire takes no more now, and the frame stays the caller's. */
bool vl_live_wire_send(struct live_port *port, struct vl_frame *frame);
/* Hands on what was sent in this round, and answers who asked. */
void vl_live_wire_flush(struct live_part *part, struct live_wire *wire);
/* After the stop. */
void vl_live_wire_release(struct live_wire *wire);

#endif
