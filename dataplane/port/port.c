/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/port/port.h"

#include "dataplane/port/ethdev.h"
#include "dataplane/runtime/eal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct port_kind {
	const char *prefix; /* with the colon */
	const char *help;
	/* config NULL: only the form of the name is looked at. */
	int (*plan)(const char *detail, const struct vl_port_config *config,
		    struct vl_ethdev_plan *plan, struct vl_error *error);
};

static int plan_vdev(const char *detail, const struct vl_port_config *config,
		     struct vl_ethdev_plan *plan, struct vl_error *error)
{
	(void)config;
	if (!*detail || *detail == ',')
		return vl_error_set(error, -EINVAL,
				    "port %s: no device; write vdev:NAME, as vdev:net_null0",
				    plan->name);
	snprintf(plan->devargs, sizeof(plan->devargs), "%s", detail);
	return 0;
}

static int plan_pci(const char *detail, const struct vl_port_config *config,
		    struct vl_ethdev_plan *plan, struct vl_error *error)
{
	unsigned int domain, bus, device, function;
	int end = 0;

	(void)config;
	if (sscanf(detail, "%4x:%2x:%2x.%1x%n", &domain, &bus, &device, &function, &end) != 4) {
		domain = 0;
		if (sscanf(detail, "%2x:%2x.%1x%n", &bus, &device, &function, &end) != 3)
			end = 0;
	}
	if (!end || (detail[end] && detail[end] != ','))
		return vl_error_set(
			error, -EINVAL,
			"port %s: not a PCI address; write it as lspci -D does: pci:0000:3b:00.0",
			plan->name);
	snprintf(plan->devargs, sizeof(plan->devargs), "%04x:%02x:%02x.%x%s", domain, bus, device,
		 function, detail + end);
	return 0;
}

static const struct port_kind port_kinds[] = {
	{"pci:",
	 "pci:ADDRESS          a NIC bound to a driver that DPDK can use: pci:0000:3b:00.0\n",
	 plan_pci},
	{"vdev:", "vdev:NAME[,ARG...]   any virtual device of DPDK: vdev:net_null0,size=256\n",
	 plan_vdev},
};

#define PORT_KIND_COUNT (sizeof(port_kinds) / sizeof(port_kinds[0]))

static const struct port_kind *find_kind(const char *name, struct vl_error *error)
{
	for (unsigned int i = 0; i < PORT_KIND_COUNT; i++) {
		if (!strncmp(name, port_kinds[i].prefix, strlen(port_kinds[i].prefix)))
			return &port_kinds[i];
	}
	vl_error_set(error, -EINVAL,
		     "port %s: unknown kind; a port is vdev:NAME[,ARGUMENT...] or pci:ADDRESS",
		     name);
	return NULL;
}

int vl_port_check_name(const char *name, struct vl_error *error)
{
	const struct port_kind *kind = find_kind(name, error);
	struct vl_ethdev_plan plan = {.name = name};

	return kind ? kind->plan(name + strlen(kind->prefix), NULL, &plan, error) : -EINVAL;
}

bool vl_port_name_is_pci(const char *name, char *devargs, size_t size)
{
	struct vl_ethdev_plan plan = {.name = name};

	if (strncmp(name, "pci:", 4) || plan_pci(name + 4, NULL, &plan, NULL))
		return false;
	snprintf(devargs, size, "%s", plan.devargs);
	return true;
}

const char *vl_port_names_help(void)
{
	static char help[4096];
	size_t length = 0;

	for (unsigned int i = 0; i < PORT_KIND_COUNT; i++)
		length += (size_t)snprintf(help + length, sizeof(help) - length, "%s",
					   port_kinds[i].help);
	return help;
}

struct vl_port *vl_port_open(const char *name, const struct vl_port_config *config,
			     struct vl_error *error)
{
	const struct port_kind *kind = find_kind(name, error);
	struct vl_ethdev_plan plan = {.name = name};

	if (!kind)
		return NULL;
	if (!vl_eal_is_running()) {
		vl_error_set(error, -ENODEV, "port %s: DPDK is not running", name);
		return NULL;
	}
	if (!config->mempools[0]) {
		vl_error_set(error, -EINVAL, "port %s: no mempool for received frames", name);
		return NULL;
	}
	if (config->queue_count > VL_PORT_MAX_QUEUES ||
	    (config->mtu && (config->mtu < VL_PORT_MIN_MTU || config->mtu > VL_PORT_MAX_MTU))) {
		vl_error_set(error, -EINVAL,
			     "port %s: MTU %u, %u queues: must be %u to %u, and 1 to %u", name,
			     config->mtu, config->queue_count, VL_PORT_MIN_MTU, VL_PORT_MAX_MTU,
			     VL_PORT_MAX_QUEUES);
		return NULL;
	}
	if (kind->plan(name + strlen(kind->prefix), config, &plan, error))
		return NULL;
	return vl_ethdev_open(&plan, config, error);
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
