/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#ifndef VERBLINE_REPORT_LINKS_H
#define VERBLINE_REPORT_LINKS_H

#include "apps/report/results.h"

#include <jansson.h>

/* Of a line's rate. */
#define VL_REPORT_WELL_USED 0.90
/* Where workloads alone run, the line where most is asked for need not be the one that hash and
 * time bring most to: the one that was used most. NULL: the bottleneck is what to speak of. */
const struct vl_link_result *vl_report_busiest(const struct vl_results *results);

/* The links where most happened, for people; all of them, as JSON. */
void vl_report_links(const struct vl_results *results, FILE *out);
json_t *vl_report_links_json(const struct vl_results *results);
json_t *vl_report_drops_json(const struct vl_link_drops *drops);

#endif
