/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/endpoint/notice.h"

#include "apps/report/printable.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct vl_notices {
	uint32_t mask;
	uint32_t head; /* the reader's; both run freely */
	uint32_t tail; /* the writer's */
	uint64_t lost;
	char lines[][VL_NOTICE_LENGTH];
};

struct vl_notices *vl_notices_open(uint32_t capacity)
{
	struct vl_notices *notices =
		calloc(1, sizeof(*notices) + (size_t)capacity * VL_NOTICE_LENGTH);

	if (notices)
		notices->mask = capacity - 1;
	return notices;
}

void vl_notices_close(struct vl_notices *notices)
{
	free(notices);
}

void vl_notice(struct vl_notices *notices, const char *format, ...)
{
	uint32_t tail;
	va_list arguments;

	if (!notices)
		return;
	tail = notices->tail;
	if (tail - __atomic_load_n(&notices->head, __ATOMIC_ACQUIRE) > notices->mask) {
		__atomic_fetch_add(&notices->lost, 1, __ATOMIC_RELAXED);
		return;
	}
	va_start(arguments, format);
	vsnprintf(notices->lines[tail & notices->mask], VL_NOTICE_LENGTH, format, arguments);
	va_end(arguments);
	/* It may say what a peer has sent. */
	vl_make_printable(notices->lines[tail & notices->mask]);
	__atomic_store_n(&notices->tail, tail + 1, __ATOMIC_RELEASE);
}

bool vl_notices_take(struct vl_notices *notices, char line[VL_NOTICE_LENGTH])
{
	uint32_t head = notices->head;

	if (head == __atomic_load_n(&notices->tail, __ATOMIC_ACQUIRE))
		return false;
	memcpy(line, notices->lines[head & notices->mask], VL_NOTICE_LENGTH);
	__atomic_store_n(&notices->head, head + 1, __ATOMIC_RELEASE);
	return true;
}

uint64_t vl_notices_lost(const struct vl_notices *notices)
{
	return __atomic_load_n(&notices->lost, __ATOMIC_RELAXED);
}
