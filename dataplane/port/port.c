/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/port/port.h"

#include "dataplane/port/kind.h"
#include "dataplane/runtime/eal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct vl_port_kind *const kinds[] = {
	&vl_port_kind_pci,    &vl_port_kind_tap,   &vl_port_kind_af_packet,
	&vl_port_kind_af_xdp, &vl_port_kind_memif, &vl_port_kind_pcap,
	&vl_port_kind_ring,   &vl_port_kind_null,  &vl_port_kind_vdev,
};

#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

static const struct vl_port_kind *find_kind(const char *name, struct vl_error *error)
{
	for (unsigned int i = 0; i < KIND_COUNT; i++) {
		size_t length = strlen(kinds[i]->prefix);

		if (!strncmp(name, kinds[i]->prefix, length) &&
		    (kinds[i]->prefix[length - 1] == ':' || !name[length] || name[length] == ','))
			return kinds[i];
	}
	vl_error_set(error, -EINVAL,
		     "port %s: unknown kind; a port is pci:ADDRESS, tap:NAME, af_packet:IF, "
		     "af_xdp:IF, memif:PATH, pcap:IN,OUT, ring:NAME, null or vdev:NAME",
		     name);
	return NULL;
}

int vl_port_check_name(const char *name, struct vl_error *error)
{
	const struct vl_port_kind *kind = find_kind(name, error);
	int code = -EINVAL;

	if (kind)
		kind->open(name, name + strlen(kind->prefix), NULL, &code, error);
	return code;
}

const char *vl_port_names_help(void)
{
	static char help[4096];
	size_t length = 0;

	for (unsigned int i = 0; i < KIND_COUNT && length < sizeof(help); i++)
		length += (size_t)snprintf(help + length, sizeof(help) - length, "%s",
					   kinds[i]->help);
	return help;
}

static int check_config(const char *name, const struct vl_port_config *config,
			struct vl_error *error)
{
	if (!vl_eal_is_running())
		return vl_error_set(error, -ENODEV, "port %s: DPDK is not running", name);
	if (!config->mempools[0])
		return vl_error_set(error, -EINVAL, "port %s: no mempool for received frames",
				    name);
	if (config->queue_count > VL_PORT_MAX_QUEUES)
		return vl_error_set(error, -EINVAL, "port %s: %u queues: must be 1 to %u", name,
				    config->queue_count, VL_PORT_MAX_QUEUES);
	if (config->mtu && (config->mtu < VL_PORT_MIN_MTU || config->mtu > VL_PORT_MAX_MTU))
		return vl_error_set(error, -EINVAL, "port %s: MTU %u: must be %u to %u", name,
				    config->mtu, VL_PORT_MIN_MTU, VL_PORT_MAX_MTU);
	return 0;
}

struct vl_port *vl_port_open(const char *name, const struct vl_port_config *config,
			     struct vl_error *error)
{
	const struct vl_port_kind *kind = find_kind(name, error);
	int code;

	if (!kind || check_config(name, config, error))
		return NULL;
	return kind->open(name, name + strlen(kind->prefix), config, &code, error);
}

enum vl_port_link vl_port_link(struct vl_port *port)
{
	return port->operations->link ? port->operations->link(port) : VL_PORT_LINK_UP;
}

bool vl_port_is_up(struct vl_port *port)
{
	return vl_port_link(port) == VL_PORT_LINK_UP;
}

int vl_port_steer_qpn(struct vl_port *port, uint32_t qpn, uint32_t mask, uint16_t queue,
		      struct vl_error *error)
{
	if (!port->abilities.steers_qpn) {
		return vl_error_set(error, -ENOTSUP,
				    "port %s: it has no flow rules on the destination QPN",
				    port->name);
	}
	return port->operations->steer_qpn(port, qpn, mask, queue, error);
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
