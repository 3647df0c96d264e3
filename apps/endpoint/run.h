/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * A run of instances on a host, one for each port and worker: from the shared options to the exit
 * status. On the way it prints what the instances say, a live line on a terminal, and a report.
 */
#ifndef VERBLINE_APPS_ENDPOINT_RUN_H
#define VERBLINE_APPS_ENDPOINT_RUN_H

#include "apps/endpoint/instance.h"
#include "apps/fault/fault.h"
#include "apps/host/session.h"
#include "apps/report/output.h"

struct vl_endpoint_run {
	const struct vl_command *command;
	const struct vl_host_options *host_options;
	const struct vl_fault_options *fault_options;
	const struct vl_operands *operands;
	struct vl_instance_config instance; /* of each; seed, worker and client are filled in */
	const struct vl_instance_client *client; /* connections are shared out among the workers of
						    the first port; NULL: none */
	uint64_t duration;                       /* ns; 0: until it is over, or a signal */

	/* The run's own. */
	FILE *out;             /* for people: the standard output, unless the JSON goes there */
	struct vl_output json; /* opened before anything is started */
	struct vl_host_session session;
	struct vl_faults *faults;
	struct vl_instance **instances; /* port_count x worker_count */
	uint32_t instance_count;
	uint64_t started, elapsed; /* ns */
	uint64_t lost_notices;
	bool has_live_line;
};

/* Returns the exit status. */
int vl_endpoint_run(struct vl_endpoint_run *run);

/* report.c: while no worker runs. */
void vl_endpoint_report_print(const struct vl_endpoint_run *run, FILE *out);
json_t *vl_endpoint_report_json(const struct vl_endpoint_run *run);
/* The sum over all instances. */
void vl_endpoint_run_status(const struct vl_endpoint_run *run, struct vl_instance_status *status);

#endif
