/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/huge_pages.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* <sys/mman.h> of glibc before 2.37 does not name it. */
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

static void advise(uintptr_t start, uintptr_t end, bool is_now)
{
	start = (start + VL_HUGE_PAGE - 1) & ~(uintptr_t)(VL_HUGE_PAGE - 1);
	end &= ~(uintptr_t)(VL_HUGE_PAGE - 1);
	if (start >= end)
		return;
	/* Whether the kernel can is its own affair: the memory works either way. */
	if (!madvise((void *)start, end - start, MADV_HUGEPAGE) && is_now)
		madvise((void *)start, end - start, MADV_COLLAPSE);
}

void vl_huge_pages_advise(void *memory, size_t size)
{
	advise((uintptr_t)memory, (uintptr_t)memory + size, false);
}

/* A line of /proc/self/maps: private writable memory without a file, which is not a stack. */
static bool is_ordinary(const char *line, uintptr_t *start, uintptr_t *end)
{
	char permissions[8], rest[64] = "";
	unsigned long inode;

	if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s %*s %*s %lu %63s", start, end, permissions,
		   &inode, rest) < 4)
		return false;
	return !strcmp(permissions, "rw-p") && !inode && (!rest[0] || !strcmp(rest, "[heap]"));
}

void vl_huge_pages_collapse(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	uintptr_t start, end;
	char line[512];

	if (!maps)
		return;
	while (fgets(line, sizeof(line), maps)) {
		if (is_ordinary(line, &start, &end))
			advise(start, end, true);
	}
	fclose(maps);
}
