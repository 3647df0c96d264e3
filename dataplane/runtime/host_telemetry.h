/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * The telemetry of a host: /verbline/info, ports, port, worker, counters, drops, ip, pfc, qp/list,
 * qp/info and cc. What workers hold is read by vl_host_call, on the control thread, when it is
 * asked for. docs/telemetry.md lists the answers.
 */
#ifndef VERBLINE_RUNTIME_HOST_TELEMETRY_H
#define VERBLINE_RUNTIME_HOST_TELEMETRY_H

#include "dataplane/runtime/host.h"

struct vl_host_telemetry {
	struct vl_host *host;
	uint32_t port_count, worker_count;
	const char *command; /* that runs the host, for /verbline/info */
	const char *version;
};

/* telemetry stays the caller's until vl_telemetry_close, which comes before the host's end; in
 * between the control thread calls vl_telemetry_serve. Errors as vl_telemetry_open. */
int vl_host_telemetry_open(struct vl_host_telemetry *telemetry);

#endif
