/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What a control call of the live dataplane says when it fails: one line, without a line end, that
 * names what was wrong and what would be right. */
#ifndef VERBLINE_RUNTIME_ERROR_H
#define VERBLINE_RUNTIME_ERROR_H

#define VL_ERROR_LENGTH 512

struct vl_error {
	int code; /* a negative errno value */
	char text[VL_ERROR_LENGTH];
};

/* Writes the text (cut if too long) and returns code, so that a function can end with it.
 * error may be NULL. */
int vl_error_set(struct vl_error *error, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
