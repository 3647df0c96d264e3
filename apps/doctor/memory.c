/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Hugepages, in all and on each NUMA node. */
#include "apps/doctor/checks.h"
#include "apps/doctor/sysfs.h"
#include "dataplane/runtime/eal.h"

#include <stdio.h>

#define NODES     "/sys/devices/system/node"
#define MAX_NODES 64
#define PAGES_2MB "hugepages/hugepages-2048kB"
#define PAGES_1GB "hugepages/hugepages-1048576kB"
#define PATH_ROOM 256
#define MB_OF_1GB 1024
#define MB_OF_2MB 2

static long read_pages(unsigned int node, const char *size, const char *what)
{
	char path[PATH_ROOM];

	snprintf(path, sizeof(path), NODES "/node%u/%s/%s", node, size, what);
	return sysfs_number(path, -1);
}

static void check_node(struct findings *findings, unsigned int node)
{
	long small = read_pages(node, PAGES_2MB, "nr_hugepages");
	long small_free = read_pages(node, PAGES_2MB, "free_hugepages");
	long large = read_pages(node, PAGES_1GB, "nr_hugepages");
	long large_free = read_pages(node, PAGES_1GB, "free_hugepages");
	long free_mb = (small_free > 0 ? small_free * MB_OF_2MB : 0) +
		       (large_free > 0 ? large_free * MB_OF_1GB : 0);
	char subject[32];

	snprintf(subject, sizeof(subject), "node %u", node);
	if (small < 0 && large < 0) {
		finding_add(findings, "hugepages", subject, FINDING_LACK, NULL,
			    "the kernel has no hugepages; ordinary memory is used, which is "
			    "slower, and which NICs on vfio-pci cannot do with everywhere");
		return;
	}
	if (free_mb >= VL_EAL_DEFAULT_MEMORY_MB)
		finding_add(findings, "hugepages", subject, FINDING_OK, NULL,
			    "%ld MB free (%ld of %ld pages of 2 MB, %ld of %ld of 1 GB)", free_mb,
			    small_free, small, large_free < 0 ? 0 : large_free,
			    large < 0 ? 0 : large);
	else
		finding_add(findings, "hugepages", subject, FINDING_LACK,
			    finding_remedy("echo %d > " NODES "/node%u/" PAGES_2MB "/nr_hugepages",
					   VL_EAL_DEFAULT_MEMORY_MB / MB_OF_2MB * 2, node),
			    "%ld MB free, and a command takes %d MB or more; ordinary memory "
			    "stands in, which is slower",
			    free_mb, VL_EAL_DEFAULT_MEMORY_MB);
}

void check_memory(struct findings *findings)
{
	unsigned int found = 0;

	for (unsigned int node = 0; node < MAX_NODES; node++) {
		char path[PATH_ROOM], text[8];

		snprintf(path, sizeof(path), NODES "/node%u/cpulist", node);
		if (!sysfs_text(path, text, sizeof(text)))
			continue;
		check_node(findings, node);
		found++;
	}
	if (!found)
		finding_add(findings, "hugepages", "", FINDING_UNKNOWN, NULL,
			    "this kernel does not tell about its memory nodes (" NODES ")");
}
