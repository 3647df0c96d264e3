/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Reads a running fabric: cumulative readings, from which samples and results are differences.
 * What belongs to a worker's nodes is read on that worker.
 */
#ifndef VERBLINE_APPS_LAB_MEASURE_H
#define VERBLINE_APPS_LAB_MEASURE_H

#include "apps/lab_fabric.h"
#include "apps/lab_port.h"
#include "apps/report/results.h"

#include <stdint.h>

/* Sums since the start of the run. */
struct vl_reading {
	uint64_t time; /* ns, of the last worker's */
	/* By worker: live, one whose CPU is taken is read long after the other. */
	uint64_t times[VL_LAB_MAX_WORKERS];
	uint64_t arrived[VL_LAB_MAX_WORKERS]; /* payload bytes at all of its endpoints */
	uint64_t ecn_marked, cnp_tx, drops, pauses, retransmitted;
	struct vl_lab_port_reading *ports; /* as the scenario numbers them */
	uint64_t *received;                /* bytes by queue pair */
};

struct vl_lab_meter;

/* NULL: no memory. */
struct vl_lab_meter *vl_lab_meter_create(const struct vl_lab_fabric *fabric,
					 struct vl_results *results);
void vl_lab_meter_destroy(struct vl_lab_meter *meter); /* NULL is fine; the results stay */

/* A reading in three steps: begin, read the nodes of every worker (on that worker), and make of
 * it the next sample of the results. */
void vl_lab_meter_begin(struct vl_lab_meter *meter, uint64_t now);
void vl_lab_meter_read(struct vl_lab_meter *meter, unsigned int worker, uint64_t now);
void vl_lab_meter_sample(struct vl_lab_meter *meter);
/* Right after a sample: the window begins here. */
void vl_lab_meter_mark_window(struct vl_lab_meter *meter);
/* Right after a sample: the window ends here, although the run may go on. Without it, the window
 * ends with the run. */
void vl_lab_meter_end_window(struct vl_lab_meter *meter);
/* Bottleneck's queue, bytes: now, on its worker; and as the last sample found it. */
uint64_t vl_lab_meter_queue(const struct vl_lab_meter *meter, uint64_t now);
uint64_t vl_lab_meter_queue_read(const struct vl_lab_meter *meter);
/* In the window, to be recorded into at the caller's pace. */
struct vl_histogram *vl_lab_meter_queue_lengths(struct vl_lab_meter *meter);
/* After the run: fills in what samples do not show. Nothing may run any more. */
void vl_lab_meter_finish(struct vl_lab_meter *meter);

/* Room for the results of a scenario; false: no memory. */
bool vl_results_init(struct vl_results *results, const struct vl_scenario *scenario);
void vl_results_release(struct vl_results *results);

#endif
