/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Running a scenario, on either clock. */
#ifndef VERBLINE_APPS_LAB_RUN_H
#define VERBLINE_APPS_LAB_RUN_H

#include "apps/lab_split.h"
#include "apps/report/results.h"
#include "apps/view/view.h"
#include "dataplane/capture/writer.h"

#include <stddef.h>
#include <stdint.h>

struct vl_lab_run {
	const struct vl_scenario *scenario;
	struct vl_results *results; /* initialized; filled in */
	struct vl_view *view;       /* NULL: none */
	/* Both directions at a node's port. NULL: none. */
	struct vl_capture_writer *capture;
	unsigned int capture_node, capture_port;
	uint64_t capture_from;  /* ns */
	uint64_t capture_count; /* packets; 0: all */
	/* Virtual: told now and then how much of the run is done, 0..1. NULL: nobody asks. */
	void (*progress)(void *context, double part);
	void *progress_context;
	/* The user wants to leave: checked now and then. */
	const volatile int *interrupted;
	/* Live: the part of the scenario that runs here, the rest in other processes; NULL: all of
	 * it. How long to wait for these, ns. */
	const struct vl_lab_split *split;
	uint64_t meeting_time;
	/* Live: for EAL. */
	char **eal_arguments;
	unsigned int eal_argument_count;
};

/* 0, -EINTR, or another negative errno value with a message. */
int vl_lab_run_virtual(const struct vl_lab_run *run, char *error, size_t error_size);
int vl_lab_run_live(const struct vl_lab_run *run, char *error, size_t error_size);

#endif
