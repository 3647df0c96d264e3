/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Whose clocks two programs go by: whether they can be the same. */
#ifndef VERBLINE_CONTROL_CLOCK_H
#define VERBLINE_CONTROL_CLOCK_H

#include <stddef.h>

#define VL_CONTROL_CLOCK_TEXT 64u

enum vl_control_clock_kind {
	VL_CLOCK_OTHER,     /* of another host */
	VL_CLOCK_SAME_HOST, /* one TSC, counted from different starts */
	VL_CLOCK_SAME,      /* of this process */
};

/* The name of this process's clock: that of the host's boot, and one of the process. */
void vl_control_clock_name(char name[VL_CONTROL_CLOCK_TEXT]);
enum vl_control_clock_kind vl_control_clock_compare(const char *here, const char *there);

#endif
