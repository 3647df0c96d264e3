/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Ports that are devices of DPDK's ethdev library. */
#ifndef VERBLINE_PORT_ETHDEV_H
#define VERBLINE_PORT_ETHDEV_H

#include "dataplane/port/port.h"

/* devargs: "net_null0,copy=1". A device that exists is used and left; one made here is removed
 * when the port closes. */
struct vl_port *vl_ethdev_open_vdev(const char *devargs, const struct vl_port_config *config,
				    struct vl_error *error);
/* address: "0000:3b:00.0" or "3b:00.0". */
struct vl_port *vl_ethdev_open_pci(const char *address, const struct vl_port_config *config,
				   struct vl_error *error);

#endif
