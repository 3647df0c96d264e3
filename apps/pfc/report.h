/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What a run of `verbline pfc` found, for people and as JSON. */
#ifndef VERBLINE_APPS_PFC_REPORT_H
#define VERBLINE_APPS_PFC_REPORT_H

#include "apps/pfc/processor.h"
#include "dataplane/runtime/pfc_stage.h"

#include <jansson.h>
#include <stdio.h>

struct pfc_run {
	const struct vl_pfc_stage *stage; /* the worker has stopped */
	uint64_t began, ended;            /* ns */
	bool is_held;                     /* there are gaps to speak of */
	bool sends;
	uint64_t put_aside;    /* times that the worker's thread lost its CPU to another */
	uint64_t stolen_ticks; /* 1/100 s that the CPU was another machine's */
	/* Frames that left each port in this run by the device's own count; 0: it counts none. */
	uint64_t left[VL_PFC_STAGE_MAX_PORTS];
};

/* Gaps that are nobody's fault but ours. */
uint64_t pfc_run_late_gaps(const struct pfc_run *run);
void pfc_report_text(const struct pfc_run *run, FILE *out);
/* NULL: no memory. */
json_t *pfc_report_json(const struct pfc_run *run);

#endif
