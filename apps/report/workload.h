/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#ifndef VERBLINE_REPORT_WORKLOAD_H
#define VERBLINE_REPORT_WORKLOAD_H

#include "apps/report/results.h"

#include <jansson.h>

/* Nothing without workloads. */
void vl_report_workloads(const struct vl_results *results, FILE *out);
/* Sentences, each with a space behind. */
void vl_report_say_workloads(const struct vl_results *results, FILE *out);
json_t *vl_report_workloads_json(const struct vl_results *results);
json_t *vl_report_classes_json(const struct vl_results *results);
/* It has ended; or nothing failed, of one that need not end. */
bool vl_workload_is_whole(const struct vl_workload_result *result);
/* Workloads that were to end and have not. */
unsigned int vl_results_unfinished_workloads(const struct vl_results *results);

#endif
