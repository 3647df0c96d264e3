/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/allocator.h"

#include <stdlib.h>

#define ALIGNMENT 64u

/* calloc, as large pieces of it are zero pages that cost nothing until they are touched; what it
 * returned is kept in front of the aligned memory. */
static void *allocate(void *context, size_t size)
{
	uint8_t *memory, *aligned;

	(void)context;
	if (size > SIZE_MAX - 2 * ALIGNMENT)
		return NULL;
	memory = calloc(1, size + 2 * ALIGNMENT);
	if (!memory)
		return NULL;
	aligned =
		(uint8_t *)(((uintptr_t)memory + 2 * ALIGNMENT - 1) & ~(uintptr_t)(ALIGNMENT - 1));
	((void **)aligned)[-1] = memory;
	return aligned;
}

static void release(void *context, void *memory, size_t size)
{
	(void)context;
	(void)size;
	if (memory)
		free(((void **)memory)[-1]);
}

struct vl_allocator vl_heap_allocator(void)
{
	return (struct vl_allocator){.allocate = allocate, .release = release};
}
