/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Devices on the PCI bus, as the kernel shows them. */
#ifndef VERBLINE_PORT_PCI_DEVICE_H
#define VERBLINE_PORT_PCI_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VL_PCI_ADDRESS_LENGTH 16

struct vl_pci_device {
	char address[VL_PCI_ADDRESS_LENGTH]; /* 0000:3b:00.0 */
	char driver[32];                     /* that it is bound to; "": none */
	char interface[16];                  /* of the kernel, if it has one */
	uint16_t vendor, device;
	int numa_node;   /* -1: none in particular */
	int iommu_group; /* -1: the IOMMU is off, or there is none */
};

/* Reads "0000:3b:00.0" or "3b:00.0" into the long form. False: neither; *end, what follows. */
bool vl_pci_address_read(const char *text, char address[VL_PCI_ADDRESS_LENGTH], const char **end);
/* 0, or -ENODEV. */
int vl_pci_device_find(const char *address, struct vl_pci_device *device);
/* Network controllers, up to room; how many there are. */
unsigned int vl_pci_list_nics(struct vl_pci_device *devices, unsigned int room);
/* DPDK can use the device as it is bound now. */
bool vl_pci_device_is_usable(const struct vl_pci_device *device);

#endif
