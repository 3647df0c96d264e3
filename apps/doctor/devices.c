/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* NICs on the PCI bus, what they are bound to, and what it takes to bind them to DPDK. */
#include "apps/doctor/checks.h"
#include "apps/doctor/sysfs.h"
#include "dataplane/port/pci_device.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_NICS 64

static void check_nic(struct findings *findings, const struct vl_pci_device *nic)
{
	const char *driver = *nic->driver ? nic->driver : "no driver";

	if (vl_pci_device_is_usable(nic)) {
		finding_add(findings, "NIC", nic->address, FINDING_OK, NULL,
			    "%04x:%04x, bound to %s: --port pci:%s", nic->vendor, nic->device,
			    driver, nic->address);
		return;
	}
	finding_add(findings, "NIC", nic->address, FINDING_LACK,
		    finding_remedy("modprobe vfio-pci && dpdk-devbind.py --bind=vfio-pci %s",
				   nic->address),
		    "%04x:%04x, bound to %s%s%s%s%s; the command takes it from the kernel, and "
		    "whoever is logged in over it is cut off",
		    nic->vendor, nic->device, driver, *nic->interface ? " (interface " : "",
		    nic->interface, *nic->interface ? "), usable as af_packet:" : "",
		    nic->interface);
}

static bool has_iommu(void)
{
	DIR *directory = opendir("/sys/class/iommu");
	struct dirent *entry;
	bool found = false;

	while (directory && (entry = readdir(directory)))
		found |= entry->d_name[0] != '.';
	if (directory)
		closedir(directory);
	return found;
}

static void check_vfio(struct findings *findings)
{
	char unsafe[8];

	if (access("/sys/bus/pci/drivers/vfio-pci", F_OK)) {
		finding_add(findings, "vfio", "", FINDING_LACK, "modprobe vfio-pci",
			    "the kernel's driver vfio-pci, by which DPDK gets NICs, is not "
			    "loaded");
		return;
	}
	if (has_iommu()) {
		finding_add(findings, "vfio", "", FINDING_OK, NULL,
			    "vfio-pci is loaded and the IOMMU is on");
		return;
	}
	sysfs_text("/sys/module/vfio/parameters/enable_unsafe_noiommu_mode", unsafe,
		   sizeof(unsafe));
	if (unsafe[0] == 'Y')
		finding_add(findings, "vfio", "", FINDING_OK, NULL,
			    "vfio-pci is loaded, without an IOMMU: a NIC may write anywhere");
	else
		finding_add(findings, "vfio", "", FINDING_LACK,
			    "echo 1 > /sys/module/vfio/parameters/enable_unsafe_noiommu_mode",
			    "vfio-pci is loaded, but there is no IOMMU: boot with intel_iommu=on "
			    "or amd_iommu=on, or allow NICs to write anywhere by the command");
}

void check_devices(struct findings *findings)
{
	struct vl_pci_device nics[MAX_NICS];
	unsigned int count = vl_pci_list_nics(nics, MAX_NICS);

	for (unsigned int i = 0; i < count; i++)
		check_nic(findings, &nics[i]);
	if (!count) {
		finding_add(findings, "NIC", "", FINDING_UNKNOWN, NULL,
			    "there is no network controller on the PCI bus");
		return;
	}
	check_vfio(findings);
}
