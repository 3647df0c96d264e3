/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* pci:ADDRESS: a NIC on the PCI bus, by DPDK's driver for it. */
#include "dataplane/port/kind.h"
#include "dataplane/port/pci_device.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MAX_NICS 64

static int read_name(const char *name, const char *detail, char address[VL_PCI_ADDRESS_LENGTH],
		     const char **driver_arguments, struct vl_error *error)
{
	if (vl_pci_address_read(detail, address, driver_arguments) &&
	    (!**driver_arguments || **driver_arguments == ','))
		return 0;
	return vl_error_set(error, -EINVAL,
			    "port %s: not a PCI address; write it as lspci -D does: "
			    "pci:0000:3b:00.0",
			    name);
}

static void list_nics(char *text, size_t size)
{
	struct vl_pci_device nics[MAX_NICS];
	unsigned int count = vl_pci_list_nics(nics, MAX_NICS);
	size_t length = 0;

	snprintf(text, size, "none");
	for (unsigned int i = 0; i < count && length < size; i++)
		length += (size_t)snprintf(text + length, size - length, "%s%s", i ? ", " : "",
					   nics[i].address);
}

static int check_device(const char *name, const char *address, struct vl_error *error)
{
	struct vl_pci_device device;
	char others[256];

	if (vl_pci_device_find(address, &device)) {
		list_nics(others, sizeof(others));
		return vl_error_set(error, -ENODEV,
				    "port %s: no such device; the network controllers on the PCI "
				    "bus are: %s",
				    name, others);
	}
	if (vl_pci_device_is_usable(&device))
		return 0;
	if (*device.interface)
		return vl_error_set(error, -EBUSY,
				    "port %s: it is the kernel's (%s, interface %s); to take it "
				    "from it, as root: modprobe vfio-pci && dpdk-devbind.py "
				    "--bind=vfio-pci %s; or use af_packet:%s",
				    name, device.driver, device.interface, address,
				    device.interface);
	return vl_error_set(error, -EBUSY,
			    "port %s: it is bound to %s; as root: modprobe vfio-pci && "
			    "dpdk-devbind.py --bind=vfio-pci %s",
			    name, *device.driver ? device.driver : "no driver", address);
}

static struct vl_port *open_pci(const char *name, const char *detail,
				const struct vl_port_config *config, int *code,
				struct vl_error *error)
{
	struct vl_ethdev_plan plan = {.name = name};
	char address[VL_PCI_ADDRESS_LENGTH];
	const char *driver_arguments;

	*code = read_name(name, detail, address, &driver_arguments, error);
	if (*code || !config)
		return NULL;
	*code = check_device(name, address, error);
	if (*code)
		return NULL;
	snprintf(plan.devargs, sizeof(plan.devargs), "%s%s", address, driver_arguments);
	return vl_ethdev_open(&plan, config, error);
}

const struct vl_port_kind vl_port_kind_pci = {
	.prefix = "pci:",
	.help = "  pci:ADDRESS[,ARG...]         a NIC bound to vfio-pci, or to a driver that "
		"shares it with\n"
		"                               DPDK (mlx5): pci:0000:3b:00.0\n",
	.open = open_pci,
};

bool vl_port_name_is_pci(const char *name, char *devargs, size_t size)
{
	char address[VL_PCI_ADDRESS_LENGTH];
	const char *driver_arguments;

	if (strncmp(name, "pci:", 4) || !vl_pci_address_read(name + 4, address, &driver_arguments))
		return false;
	snprintf(devargs, size, "%s%s", address, driver_arguments);
	return true;
}
