/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What switches counted, as JSON. */
#ifndef VERBLINE_REPORT_SWITCHES_H
#define VERBLINE_REPORT_SWITCHES_H

#include "apps/report/results.h"

#include <jansson.h>

json_t *vl_report_switches_json(const struct vl_results *results);
json_t *vl_report_queues_json(const struct vl_results *results);
/* Of Ethernet switches. */
json_t *vl_report_groups_json(const struct vl_results *results);

#endif
