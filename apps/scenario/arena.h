/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Memory that is freed as a whole: what a file holds after it was read. */
#ifndef VERBLINE_SCENARIO_ARENA_H
#define VERBLINE_SCENARIO_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct vl_arena {
	struct vl_arena_block *blocks;
	bool has_failed; /* an allocation has */
};

void *vl_arena_allocate(struct vl_arena *arena, size_t size); /* zeroed; NULL: no memory */
char *vl_arena_print(struct vl_arena *arena, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void vl_arena_free(struct vl_arena *arena);

#endif
