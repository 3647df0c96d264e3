/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Ports that are devices of DPDK's ethdev library. */
#ifndef VERBLINE_PORT_ETHDEV_H
#define VERBLINE_PORT_ETHDEV_H

#include "dataplane/port/port.h"

#define VL_ETHDEV_DEVARGS_LENGTH 1024

/* What a kind knows of its device that the device does not say itself. */
struct vl_ethdev_plan {
	const char *name; /* the port's, for messages: "tap:left" */
	/* "net_null0,copy=1". A device that exists is used and left; one made here is removed when
	 * the port closes. */
	char devargs[VL_ETHDEV_DEVARGS_LENGTH];
	uint16_t max_queues; /* that the devargs ask for; 0: what the device says */
	/* The MTU in force, decided by the kind, as the device's own cannot be set or must not be;
	 * 0: set on the device. */
	uint16_t mtu;
	bool keeps_mac;       /* another MAC is had by promiscuous mode, not by setting it */
	bool spreads_flows;   /* over the queues, without being told */
	bool must_scatter;    /* it wants buffers joined though it does not offer so */
	uint64_t link_rate;   /* bit/s; 0: as the device says */
	uint16_t descriptors; /* of a queue, where the configuration has none; 0: 1024 */
};

struct vl_port *vl_ethdev_open(const struct vl_ethdev_plan *plan,
			       const struct vl_port_config *config, struct vl_error *error);
/* The number that DPDK gave to the device of a port opened so; -1: not such a port. */
int vl_ethdev_id(const struct vl_port *port);

#endif
