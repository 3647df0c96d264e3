/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* A scenario's workloads on a built fabric, and what is measured of them, on either clock. */
#ifndef VERBLINE_APPS_LAB_WORKLOAD_H
#define VERBLINE_APPS_LAB_WORKLOAD_H

#include "apps/lab_fabric.h"
#include "apps/report/results.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a workload is to know of who runs the endpoints. */
struct vl_lab_workload_host {
	/* As in struct vl_workload_engine_config; an endpoint is known by its node. */
	void (*wake)(void *context, uint32_t endpoint);
	void *wake_context;
	bool is_single_threaded; /* all endpoints may share memory */
};

/* After the flows. A scenario without workloads is fine. 0 or a negative errno value with a
 * message. */
int vl_lab_connect_workloads(struct vl_lab_fabric *fabric, const struct vl_lab_workload_host *host,
			     uint64_t now, char *error, size_t error_size);
/* Before the flows go. NULL is fine. */
void vl_lab_workloads_destroy(struct vl_lab_workloads *workloads);
/* Whether there are workloads that end, so that the run ends with them. */
bool vl_lab_has_workloads(const struct vl_lab_fabric *fabric);
/* All that end have, or cannot. For any thread. */
bool vl_lab_workloads_are_finished(const struct vl_lab_fabric *fabric);
/* After the run, which lasted until results->end. 0 or -ENOMEM. */
int vl_lab_measure_workloads(const struct vl_lab_fabric *fabric, struct vl_results *results);

#endif
