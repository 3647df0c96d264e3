/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Telemetry of commands on raw ports:
 *
 *	static const struct vl_telemetry_topic topics[] = {
 *		VL_PORTS_TOPICS,
 *		{"/verbline/pfc", "...", answer_pfc},
 *	};
 *	struct vl_ports_telemetry telemetry = {.ports = &ports, .command = "pfc", .own = stage};
 *	vl_telemetry_open(topics, COUNT, &telemetry);
 */
#ifndef VERBLINE_APPS_PORTS_TELEMETRY_H
#define VERBLINE_APPS_PORTS_TELEMETRY_H

#include "apps/ports/ports.h"
#include "dataplane/runtime/telemetry_port.h"

/* The context of all topics. */
struct vl_ports_telemetry {
	const struct vl_ports *ports;
	const char *command;
	void *own; /* the command's */
};

int vl_ports_answer_info(void *context, const char *parameters, struct vl_telemetry_reply *reply);
int vl_ports_answer_ports(void *context, const char *parameters, struct vl_telemetry_reply *reply);
int vl_ports_answer_port(void *context, const char *parameters, struct vl_telemetry_reply *reply);
int vl_ports_answer_worker(void *context, const char *parameters, struct vl_telemetry_reply *reply);

/* clang-format off */
#define VL_PORTS_TOPICS                                                                            \
	{"/verbline/info", "The command, its version, ports and workers", vl_ports_answer_info},   \
	{"/verbline/ports", "Names of the ports", vl_ports_answer_ports},                          \
	{"/verbline/port", "What the device of a port counts. Parameter: port number",             \
	 vl_ports_answer_port},                                                                    \
	{"/verbline/worker", "How busy a worker is. Parameter: worker number",                     \
	 vl_ports_answer_worker}
/* clang-format on */

/* A row of an option table; the member is a const char *. */
/* clang-format off */
#define VL_TELEMETRY_OPTION(type_, member_)                                                        \
	{.name = "telemetry", .argument = "NAME",                                                  \
	 .help = "Serve counters by DPDK's telemetry socket, "                                     \
		 "/run/dpdk/NAME/dpdk_telemetry.v2",                                               \
	 .type = VL_OPTION_TEXT, .offset = offsetof(type_, member_)}
/* clang-format on */

#endif
