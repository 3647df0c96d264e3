/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Where live results come from. */
#ifndef VERBLINE_REPORT_MACHINE_H
#define VERBLINE_REPORT_MACHINE_H

#include <jansson.h>

/* Processor, kernel, DPDK, clock, hugepages, and the time of day. NULL: no memory. */
json_t *vl_machine_json(void);

#endif
