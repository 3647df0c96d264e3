/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What the topics of all commands on ports say alike. */
#ifndef VERBLINE_RUNTIME_TELEMETRY_PORT_H
#define VERBLINE_RUNTIME_TELEMETRY_PORT_H

#include "dataplane/pfc.h"
#include "dataplane/port/port.h"
#include "dataplane/runtime/telemetry.h"
#include "dataplane/worker.h"

#include <stdint.h>

/* The number that parameters start with, which must be below count; -EINVAL: it is not. */
int vl_telemetry_index(const char *parameters, uint32_t count);
/* Name, addresses, rate and what the device counts. The reply is an object; control thread. */
void vl_telemetry_put_port(struct vl_telemetry_reply *reply, struct vl_port *port);
void vl_telemetry_put_worker(struct vl_telemetry_reply *reply,
			     const struct vl_worker_counters *counters);
/* Of each class N: pauses_rx_N, resumes_rx_N, paused_ns_N. pauses: a copy, brought to now. */
void vl_telemetry_put_pauses(struct vl_telemetry_reply *reply, const struct vl_pfc_receiver *pauses,
			     uint64_t now);

#endif
