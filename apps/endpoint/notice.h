/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Lines for people from a worker, which prints nothing itself, to the control thread. One writer,
 * one reader, no locks; what finds no room is counted.
 */
#ifndef VERBLINE_APPS_ENDPOINT_NOTICE_H
#define VERBLINE_APPS_ENDPOINT_NOTICE_H

#include <stdbool.h>
#include <stdint.h>

#define VL_NOTICE_LENGTH 240 /* a line's, its end included; longer ones are cut */

struct vl_notices;

/* capacity: lines, a power of two. NULL: no memory. */
struct vl_notices *vl_notices_open(uint32_t capacity);
void vl_notices_close(struct vl_notices *notices);
/* The writer. NULL is allowed: nobody listens. */
void vl_notice(struct vl_notices *notices, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The reader: the next line, or false. */
bool vl_notices_take(struct vl_notices *notices, char line[VL_NOTICE_LENGTH]);
/* Lines that found no room so far; either thread. */
uint64_t vl_notices_lost(const struct vl_notices *notices);

#endif
