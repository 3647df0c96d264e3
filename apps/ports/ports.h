/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Ports as they are, without a host on them: for commands that send and count frames themselves, on
 * one worker. Starts DPDK, opens the ports, and ends all of it.
 */
#ifndef VERBLINE_APPS_PORTS_H
#define VERBLINE_APPS_PORTS_H

#include "apps/option.h"
#include "apps/ports/watch.h"
#include "dataplane/port/port.h"
#include "dataplane/worker.h"

#include <stdint.h>

#define VL_PORTS_MAX 16

struct vl_ports_config {
	const struct vl_command *command; /* for what is to be said of memory or CPUs */
	const struct vl_texts *names;
	uint32_t mbuf_count;                /* of each port's mempool */
	uint16_t mtu;                       /* 0: VL_PORT_DEFAULT_MTU */
	uint32_t more_megabytes;            /* of memory for what the command itself makes */
	const char *telemetry;              /* NULL: no telemetry socket */
	const struct vl_operands *operands; /* the EAL options in it */
};

struct vl_ports {
	uint32_t count;
	struct vl_port *ports[VL_PORTS_MAX];
	struct rte_mempool *mempools[VL_PORTS_MAX]; /* what a port receives, and what it may send */
	struct vl_worker *worker;
	struct vl_port_watch watch; /* ready; for the command to look at while it runs */
};

/* 0, or a negative errno value: -EINVAL wants another option. Nothing is left open then. */
int vl_ports_open(struct vl_ports *ports, const struct vl_ports_config *config,
		  struct vl_error *error);
/* Stops the worker, closes the ports, ends DPDK. Fine on zeros. */
void vl_ports_close(struct vl_ports *ports);
/* Of that all but ending DPDK, for who has mempools of his own: ports hold buffers until they are
 * closed. vl_ports_close is to follow. */
void vl_ports_close_ports(struct vl_ports *ports);

/* From now on signals ask for an orderly end: apps/interrupt.h. */
void vl_ports_catch_signals(void);
bool vl_ports_interrupted(void);
/* The longest frame that a port of that MTU takes, with two VLAN tags. */
uint32_t vl_ports_frame_length(uint16_t mtu);

#endif
