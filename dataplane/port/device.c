/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* null and vdev:NAME: virtual devices of DPDK that need no thought. */
#include "dataplane/port/kind.h"

#include <rte_common.h>
#include <rte_memory.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct vl_port *open_null(const char *name, const char *detail,
				 const struct vl_port_config *config, int *code,
				 struct vl_error *error)
{
	struct vl_ethdev_plan plan = {
		.name = name,
		.joins_buffers = true,
		.rate_is_known = true,
	};

	*code = 0;
	if (*detail)
		*code = vl_error_set(error, -EINVAL, "port %s: null takes no options", name);
	if (*code || !config)
		return NULL;
	plan.mtu = vl_port_wanted_mtu(config);
	snprintf(plan.devargs, sizeof(plan.devargs), "net_null%u,no-rx=1", vl_port_next_number());
	return vl_ethdev_open(&plan, config, error);
}

const struct vl_port_kind vl_port_kind_null = {
	.prefix = "null",
	.help = "  null                         takes what is sent, and nothing comes in\n",
	.open = open_null,
};

static struct vl_port *open_vdev(const char *name, const char *detail,
				 const struct vl_port_config *config, int *code,
				 struct vl_error *error)
{
	struct vl_ethdev_plan plan = {.name = name, .joins_buffers = true};

	*code = 0;
	if (!*detail || *detail == ',' || strlen(detail) >= sizeof(plan.devargs))
		*code = vl_error_set(error, -EINVAL,
				     "port %s: write vdev:NAME, as vdev:net_null0, with fewer than "
				     "%d characters",
				     name, VL_ETHDEV_DEVARGS_LENGTH);
	if (*code || !config)
		return NULL;
	snprintf(plan.devargs, sizeof(plan.devargs), "%s", detail);
	return vl_ethdev_open(&plan, config, error);
}

const struct vl_port_kind vl_port_kind_vdev = {
	.prefix = "vdev:",
	.help = "  vdev:NAME[,ARG...]           any virtual device of DPDK by its own arguments\n",
	.open = open_vdev,
};
