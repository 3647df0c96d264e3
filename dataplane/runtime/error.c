/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/runtime/error.h"

#include <stdarg.h>
#include <stdio.h>

int vl_error_set(struct vl_error *error, int code, const char *format, ...)
{
	va_list arguments;

	if (error) {
		va_start(arguments, format);
		vsnprintf(error->text, sizeof(error->text), format, arguments);
		va_end(arguments);
		error->code = code;
	}
	return code;
}
