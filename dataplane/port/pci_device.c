/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/port/pci_device.h"

#include <dirent.h>
#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEVICES       "/sys/bus/pci/devices"
#define PATH_ROOM     512
#define CLASS_NETWORK 0x02
#define CLASS_SHIFT   16

bool vl_pci_address_read(const char *text, char address[VL_PCI_ADDRESS_LENGTH], const char **end)
{
	unsigned int domain = 0, bus, device, function;
	int length = 0;

	if (sscanf(text, "%4x:%2x:%2x.%1x%n", &domain, &bus, &device, &function, &length) != 4) {
		domain = 0;
		length = 0;
		if (sscanf(text, "%2x:%2x.%1x%n", &bus, &device, &function, &length) != 3)
			return false;
	}
	*end = text + length;
	snprintf(address, VL_PCI_ADDRESS_LENGTH, "%04x:%02x:%02x.%x", domain & 0xffff, bus & 0xff,
		 device & 0xff, function & 0xf);
	return true;
}

static long read_attribute(const char *address, const char *attribute, int base, long otherwise)
{
	char path[PATH_ROOM], text[32];
	FILE *file;

	snprintf(path, sizeof(path), DEVICES "/%s/%s", address, attribute);
	file = fopen(path, "re");
	if (!file)
		return otherwise;
	if (!fgets(text, sizeof(text), file))
		text[0] = '\0';
	fclose(file);
	return *text ? strtol(text, NULL, base) : otherwise;
}

/* The last part of where a link leads. */
static void read_link(const char *address, const char *link, char *text, size_t size)
{
	char path[PATH_ROOM], target[PATH_ROOM];
	ssize_t length;

	text[0] = '\0';
	snprintf(path, sizeof(path), DEVICES "/%s/%s", address, link);
	length = readlink(path, target, sizeof(target) - 1);
	if (length <= 0)
		return;
	target[length] = '\0';
	snprintf(text, size, "%s", basename(target));
}

static void read_interface(const char *address, char *text, size_t size)
{
	/* virtio's interface hangs on a device below the one on the bus. */
	static const char *const places[] = {"net", "virtio0/net", "virtio1/net", "virtio2/net",
					     "virtio3/net"};
	char path[PATH_ROOM];

	text[0] = '\0';
	for (unsigned int i = 0; i < sizeof(places) / sizeof(places[0]) && !*text; i++) {
		struct dirent *entry;
		DIR *directory;

		snprintf(path, sizeof(path), DEVICES "/%s/%s", address, places[i]);
		directory = opendir(path);
		while (directory && (entry = readdir(directory))) {
			if (entry->d_name[0] != '.')
				snprintf(text, size, "%.*s", (int)size - 1, entry->d_name);
		}
		if (directory)
			closedir(directory);
	}
}

int vl_pci_device_find(const char *address, struct vl_pci_device *device)
{
	char group[16];

	*device = (struct vl_pci_device){.iommu_group = -1};
	snprintf(device->address, sizeof(device->address), "%s", address);
	if (read_attribute(address, "class", 16, -1) < 0)
		return -ENODEV;
	device->vendor = (uint16_t)read_attribute(address, "vendor", 16, 0);
	device->device = (uint16_t)read_attribute(address, "device", 16, 0);
	device->numa_node = (int)read_attribute(address, "numa_node", 10, -1);
	read_link(address, "driver", device->driver, sizeof(device->driver));
	read_link(address, "iommu_group", group, sizeof(group));
	if (*group)
		device->iommu_group = atoi(group);
	read_interface(address, device->interface, sizeof(device->interface));
	return 0;
}

unsigned int vl_pci_list_nics(struct vl_pci_device *devices, unsigned int room)
{
	DIR *directory = opendir(DEVICES);
	unsigned int count = 0;
	struct dirent *entry;

	while (directory && (entry = readdir(directory))) {
		if (entry->d_name[0] == '.' ||
		    read_attribute(entry->d_name, "class", 16, 0) >> CLASS_SHIFT != CLASS_NETWORK)
			continue;
		if (count < room && !vl_pci_device_find(entry->d_name, &devices[count]))
			count++;
	}
	if (directory)
		closedir(directory);
	return count;
}

bool vl_pci_device_is_usable(const struct vl_pci_device *device)
{
	/* The first three hand a device to user space; the others share it with the kernel. */
	static const char *const drivers[] = {"vfio-pci",  "uio_pci_generic", "igb_uio",
					      "mlx5_core", "mlx4_core",       "mana"};

	for (unsigned int i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++) {
		if (!strcmp(device->driver, drivers[i]))
			return true;
	}
	return false;
}
