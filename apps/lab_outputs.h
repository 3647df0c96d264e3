/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The files that a run of the lab writes: opened before it, so that results have a place. */
#ifndef VERBLINE_APPS_LAB_OUTPUTS_H
#define VERBLINE_APPS_LAB_OUTPUTS_H

#include "apps/report/output.h"
#include "apps/report/results.h"
#include "dataplane/capture/writer.h"

#include <stdio.h>

/* What the command line says; NULL: nothing, then the scenario's hold. */
struct vl_lab_output_names {
	const char *scenario; /* the file it was read from, which no output may be */
	const char *json, *pcap, *pcap_at, *histogram;
	bool is_cut; /* only some packets are to be captured */
};

struct vl_lab_outputs {
	struct vl_output json;
	struct vl_output *histograms; /* by flow */
	unsigned int histogram_count;
	struct vl_capture_writer *capture;
	unsigned int capture_node, capture_port;
	FILE *people; /* where tables go: not into the standard output if a file goes there */
};

/* 0, or a negative errno value with a message; then nothing is open. */
int vl_lab_outputs_open(struct vl_lab_outputs *outputs, const struct vl_lab_output_names *given,
			const struct vl_scenario *scenario, char *error, size_t error_size);
/* Writes what was asked for. 0, or a negative errno value with a message. */
int vl_lab_outputs_commit(struct vl_lab_outputs *outputs, const struct vl_results *results,
			  char *error, size_t error_size);
/* Instead of, or after commit: nothing is left open. */
void vl_lab_outputs_abandon(struct vl_lab_outputs *outputs);

#endif
