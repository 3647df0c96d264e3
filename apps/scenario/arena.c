/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/scenario/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct vl_arena_block {
	struct vl_arena_block *next;
	_Alignas(max_align_t) char bytes[];
};

void *vl_arena_allocate(struct vl_arena *arena, size_t size)
{
	struct vl_arena_block *block;

	block = size > SIZE_MAX - sizeof(*block) ? NULL : calloc(1, sizeof(*block) + size);
	if (!block) {
		arena->has_failed = true;
		return NULL;
	}
	block->next = arena->blocks;
	arena->blocks = block;
	return block->bytes;
}

char *vl_arena_print(struct vl_arena *arena, const char *format, ...)
{
	va_list arguments;
	char *text;
	int length;

	va_start(arguments, format);
	length = vsnprintf(NULL, 0, format, arguments);
	va_end(arguments);
	text = vl_arena_allocate(arena, length < 0 ? SIZE_MAX : (size_t)length + 1);
	if (!text)
		return NULL;
	va_start(arguments, format);
	vsnprintf(text, (size_t)length + 1, format, arguments);
	va_end(arguments);
	return text;
}

void vl_arena_free(struct vl_arena *arena)
{
	struct vl_arena_block *block;

	while ((block = arena->blocks)) {
		arena->blocks = block->next;
		free(block);
	}
}
