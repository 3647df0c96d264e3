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
	uint16_t max_queues; /* 0: what the device says */
	uint16_t max_mtu;    /* 0: what the device says */
	/* The MTU in force, decided by the kind, as the device's own cannot be set or must not be;
	 * 0: set on the device. */
	uint16_t mtu;
	bool sees_all;      /* another MAC, and all multicast, are had without telling the device */
	bool spreads_flows; /* over the queues, without being told */
	bool joins_buffers; /* for frames longer than one, though it does not say so */
	bool chatters;      /* libraries under its driver print by themselves */
	bool rate_is_known; /* link_rate is right, and what the device says is not */
	uint64_t link_rate; /* bit/s; 0: unknown */
	int interface;      /* index of the kernel's, which knows the link; 0: the device does */
	/* The port's from vl_ethdev_open on, whatever its result. */
	struct rte_mempool *own_mempool; /* of received frames, in place of the configuration's */
	int held_descriptor;             /* open as long as the port is; 0 or less: none */
};

struct vl_port *vl_ethdev_open(const struct vl_ethdev_plan *plan,
			       const struct vl_port_config *config, struct vl_error *error);
/* The configuration asks for a MAC, and it is not this. */
bool vl_ethdev_wants_other_mac(const struct vl_port_config *config, const uint8_t mac[6]);
/* The number that DPDK gave to the device of a port opened so; -1: not such a port. */
int vl_ethdev_id(const struct vl_port *port);

#endif
