/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * What the subnet manager found, given to switches and channel adapters: LIDs, forwarding tables,
 * the mapping and arbitration of virtual lanes. Before queue pairs are connected, as their paths
 * name LIDs.
 */
#ifndef VERBLINE_INFINIBAND_SUBNET_PROGRAM_H
#define VERBLINE_INFINIBAND_SUBNET_PROGRAM_H

#include "dataplane/infiniband/channel_adapter.h"
#include "dataplane/infiniband/subnet_manager.h"
#include "dataplane/infiniband/switch.h"

/* node: the subnet's number for it. 0, -ENOMEM, or -EINVAL: the device has fewer ports than the
 * subnet manager was told, or not as many lanes. */
int vl_subnet_program_switch(const struct vl_subnet *subnet, uint32_t node,
			     struct vl_infiniband_switch *sw);
int vl_subnet_program_channel_adapter(const struct vl_subnet *subnet, uint32_t node,
				      struct vl_channel_adapter *adapter);

#endif
