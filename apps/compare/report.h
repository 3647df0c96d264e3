/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* A comparison for people and for programs. */
#ifndef VERBLINE_COMPARE_REPORT_H
#define VERBLINE_COMPARE_REPORT_H

#include "apps/compare/comparison.h"

#include <jansson.h>
#include <stdio.h>

/* One line a point. */
void vl_compare_table(const struct vl_comparison *comparison, FILE *out);
/* Nothing in it depends on the machine or on the number of processes. NULL: no memory. */
json_t *vl_compare_json(const struct vl_comparison *comparison);
/* RFC 4180: a row for each run as a whole and for each of its flows, workloads and links. */
void vl_compare_csv(const struct vl_comparison *comparison, FILE *out);
/* One page, complete in itself. */
void vl_compare_page(const struct vl_comparison *comparison, FILE *out);

#endif
