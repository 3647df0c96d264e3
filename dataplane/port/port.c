/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/port/port.h"

#include "dataplane/port/ethdev.h"
#include "dataplane/runtime/eal.h"

#include <errno.h>
#include <string.h>

struct port_kind {
	const char *prefix; /* with the colon */
	struct vl_port *(*open)(const char *detail, const struct vl_port_config *config,
				struct vl_error *error);
};

static const struct port_kind port_kinds[] = {
	{"vdev:", vl_ethdev_open_vdev},
	{"pci:", vl_ethdev_open_pci},
};

struct vl_port *vl_port_open(const char *name, const struct vl_port_config *config,
			     struct vl_error *error)
{
	if (!vl_eal_is_running()) {
		vl_error_set(error, -ENODEV, "port %s: DPDK is not running", name);
		return NULL;
	}
	if (!config->mempool) {
		vl_error_set(error, -EINVAL, "port %s: no mempool for received frames", name);
		return NULL;
	}
	for (unsigned int i = 0; i < sizeof(port_kinds) / sizeof(port_kinds[0]); i++) {
		size_t length = strlen(port_kinds[i].prefix);

		if (!strncmp(name, port_kinds[i].prefix, length))
			return port_kinds[i].open(name + length, config, error);
	}
	vl_error_set(error, -EINVAL,
		     "port %s: unknown kind; a port is vdev:NAME[,ARGUMENT...] or pci:ADDRESS",
		     name);
	return NULL;
}

void vl_port_statistics(struct vl_port *port, struct vl_port_statistics *statistics)
{
	memset(statistics, 0, sizeof(*statistics));
	port->operations->statistics(port, statistics);
}

void vl_port_close(struct vl_port *port)
{
	if (port)
		port->operations->close(port);
}
