/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Watches the links of ports while a command runs, and says when one goes down, comes up again, or
 * is taken away: what comes of it elsewhere, time-outs above all, looks like the peer's fault.
 */
#ifndef VERBLINE_APPS_PORTS_WATCH_H
#define VERBLINE_APPS_PORTS_WATCH_H

#include "apps/option.h"
#include "dataplane/port/port.h"

#include <stdbool.h>
#include <stdint.h>

#define VL_PORT_WATCH_MAX 16

struct vl_port_watch {
	const struct vl_command *command; /* who speaks */
	uint32_t count, gone;             /* ports; those of them that were taken away */
	struct vl_port *ports[VL_PORT_WATCH_MAX];
	enum vl_port_link links[VL_PORT_WATCH_MAX];
	uint64_t since[VL_PORT_WATCH_MAX]; /* when the link went down */
	uint64_t next;
};

/* A port that is down now is taken for one that comes up yet. */
void vl_port_watch_start(struct vl_port_watch *watch, const struct vl_command *command);
void vl_port_watch_add(struct vl_port_watch *watch, struct vl_port *port);
/* Control thread, as often as one likes; now in ns. False: no port is left. */
bool vl_port_watch_look(struct vl_port_watch *watch, uint64_t now);

#endif
