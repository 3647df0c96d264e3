/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/runtime/hugepages.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>

#define SYSFS_2MB "/sys/kernel/mm/hugepages/hugepages-2048kB/"
/* mmap takes the page size as its logarithm. */
#define MAP_2MB (21 << MAP_HUGE_SHIFT)
#define MAP_1GB (30 << MAP_HUGE_SHIFT)

#ifndef MAP_HUGE_SHIFT
#define MAP_HUGE_SHIFT 26
#endif

static long read_number(const char *path)
{
	long number = -1;
	FILE *file = fopen(path, "re");

	if (!file)
		return -1;
	if (fscanf(file, "%ld", &number) != 1)
		number = -1;
	fclose(file);
	return number;
}

static bool can_map(size_t size, int page_size_flag)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | page_size_flag, -1, 0);

	if (memory == MAP_FAILED)
		return false;
	munmap(memory, size);
	return true;
}

bool vl_hugepages_are_free(unsigned int memory_mb)
{
	size_t pages_2mb = (memory_mb + 1) / 2, pages_1gb = (memory_mb + 1023) / 1024;

	return can_map(pages_2mb << 21, MAP_2MB) || can_map(pages_1gb << 30, MAP_1GB);
}

void vl_hugepages_describe(unsigned int memory_mb, char *text, size_t size)
{
	long total = read_number(SYSFS_2MB "nr_hugepages");
	long available = read_number(SYSFS_2MB "free_hugepages");
	long needed = (memory_mb + 1) / 2;

	if (total < 0 || available < 0) {
		snprintf(text, size, "the kernel offers no 2 MB hugepages (%ld needed)", needed);
		return;
	}
	snprintf(text, size,
		 "%ld hugepages of 2 MB are needed and %ld are free; to have them, as root: "
		 "echo %ld > " SYSFS_2MB "nr_hugepages",
		 needed, available, total - available + needed);
}

long vl_hugepages_get(void)
{
	return read_number(SYSFS_2MB "nr_hugepages");
}

int vl_hugepages_set(long count)
{
	FILE *file = fopen(SYSFS_2MB "nr_hugepages", "we");
	int error = 0;

	if (!file)
		return -errno;
	if (fprintf(file, "%ld\n", count) < 0)
		error = -EIO;
	if (fclose(file) && !error)
		error = -errno;
	return error;
}
