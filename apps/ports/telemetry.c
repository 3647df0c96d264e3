/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/ports/telemetry.h"

int vl_ports_answer_info(void *context, const char *parameters, struct vl_telemetry_reply *reply)
{
	const struct vl_ports_telemetry *telemetry = context;

	(void)parameters;
	vl_telemetry_begin_object(reply);
	vl_telemetry_put_text(reply, "command", telemetry->command);
	vl_telemetry_put_text(reply, "version", VERBLINE_VERSION);
	vl_telemetry_put_number(reply, "ports", telemetry->ports->count);
	vl_telemetry_put_number(reply, "workers", 1);
	vl_telemetry_put_number(reply, "uptime_ns", vl_worker_now());
	return 0;
}

int vl_ports_answer_ports(void *context, const char *parameters, struct vl_telemetry_reply *reply)
{
	const struct vl_ports_telemetry *telemetry = context;

	(void)parameters;
	vl_telemetry_begin_texts(reply);
	for (uint32_t i = 0; i < telemetry->ports->count; i++)
		vl_telemetry_add_text(reply, telemetry->ports->ports[i]->name);
	return 0;
}

int vl_ports_answer_port(void *context, const char *parameters, struct vl_telemetry_reply *reply)
{
	const struct vl_ports_telemetry *telemetry = context;
	int port = vl_telemetry_index(parameters, telemetry->ports->count);

	if (port < 0)
		return port;
	vl_telemetry_begin_object(reply);
	vl_telemetry_put_port(reply, telemetry->ports->ports[port]);
	return 0;
}

struct worker_look {
	const struct vl_worker *worker;
	struct vl_worker_counters counters;
};

static void look_at_worker(void *context, uint64_t now)
{
	struct worker_look *look = context;

	(void)now;
	look->counters = vl_worker_counters(look->worker);
}

int vl_ports_answer_worker(void *context, const char *parameters, struct vl_telemetry_reply *reply)
{
	const struct vl_ports_telemetry *telemetry = context;
	struct worker_look look = {.worker = telemetry->ports->worker};
	int result = vl_telemetry_index(parameters, 1);

	if (!result)
		result = vl_worker_call(telemetry->ports->worker, look_at_worker, &look);
	if (result)
		return result;
	vl_telemetry_begin_object(reply);
	vl_telemetry_put_worker(reply, &look.counters);
	return 0;
}
