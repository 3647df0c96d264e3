/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* From the options to a host's configuration, before anything is started. */
#ifndef VERBLINE_APPS_HOST_PLAN_H
#define VERBLINE_APPS_HOST_PLAN_H

#include "apps/host/options.h"
#include "dataplane/runtime/host.h"

/* 0, or -EINVAL: error says which option is wrong, and what would be right. The device has the seed
 * alone. The names are the options'. */
int vl_host_plan(const struct vl_host_options *options, bool needs_addresses,
		 struct vl_host_config *config, char *error, size_t size);

/* Whether the address can be a peer's: a host's, and no broadcast address of our subnets; not our
 * own, unless another port may be wired to the one that has it. The same. */
int vl_host_check_peer(const struct vl_host_config *config, const union ibv_gid *peer, char *error,
		       size_t size);

#endif
