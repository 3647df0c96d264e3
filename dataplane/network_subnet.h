/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The subnet manager at work on a network: what vl_network_route is for Ethernet. */
#ifndef VERBLINE_DATAPLANE_NETWORK_SUBNET_H
#define VERBLINE_DATAPLANE_NETWORK_SUBNET_H

#include "dataplane/infiniband/subnet_manager.h"
#include "dataplane/network.h"

/*
 * Gives LIDs to the channel adapters of the network, and forwarding tables, SL-to-VL mapping and
 * arbitration to them and to the InfiniBand switches. After the nodes are connected, before queue
 * pairs are. lanes NULL: all lanes that the first node has, as vl_subnet_lanes_default; every node
 * must have as many.
 *
 * What it found out is the caller's to read and to vl_subnet_destroy; node n there is the n-th of
 * the network's InfiniBand nodes. NULL: vl_network_error says why.
 */
struct vl_subnet *vl_network_manage_subnet(struct vl_network *network,
					   enum vl_subnet_routing routing,
					   const struct vl_subnet_lanes *lanes);

#endif
