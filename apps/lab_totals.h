/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Sums over the whole fabric, after the run. */
#ifndef VERBLINE_APPS_LAB_TOTALS_H
#define VERBLINE_APPS_LAB_TOTALS_H

#include "apps/lab_fabric.h"
#include "apps/report/results.h"

/* The results' links are complete. Fills in its totals, its drops by reason, and who was paused
 * most. */
void vl_lab_total(const struct vl_lab_fabric *fabric, struct vl_results *results);

#endif
