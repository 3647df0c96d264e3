/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* verbline endpoint: an RNIC in software that listens. */

#include "apps/endpoint/endpoint.h"

#include "apps/endpoint/run.h"

#include <string.h>

struct endpoint_options {
	struct vl_host_options host;
	struct vl_fault_options fault;
	struct vl_texts services;
	uint64_t duration, max_connections, max_half_open, ucmatose_size;
	bool verbose, quiet;
};

static const struct vl_option options[] = {
	VL_HOST_OPTIONS(struct endpoint_options, host),
	VL_FAULT_OPTIONS(struct endpoint_options, fault),
	{.name = "service",
	 .argument = "NAME",
	 .help = "Service to offer, may be repeated: rping, ucmatose, udaddy, exercise, perftest, "
		 "control [all]",
	 .type = VL_OPTION_TEXTS,
	 .offset = offsetof(struct endpoint_options, services)},
	{.letter = 'D',
	 .name = "duration",
	 .argument = "TIME",
	 .help = "Serve for so long, in seconds or with a unit [until stopped]",
	 .type = VL_OPTION_QUANTITY,
	 .offset = offsetof(struct endpoint_options, duration),
	 .least = 1000000,
	 .most = UINT64_C(1000000000000000),
	 .quantity = VL_QUANTITY_RUN_TIME},
	{.name = "max-connections",
	 .argument = "N",
	 .help = "Connections of a worker on a port, those being opened and just ended included "
		 "[16384]",
	 .type = VL_OPTION_NUMBER,
	 .offset = offsetof(struct endpoint_options, max_connections),
	 .least = 1,
	 .most = 1u << 20},
	{.name = "max-half-open",
	 .argument = "N",
	 .help = "Of these, requests that are not established; a peer may have half of them [4096]",
	 .type = VL_OPTION_NUMBER,
	 .offset = offsetof(struct endpoint_options, max_half_open),
	 .least = 1,
	 .most = 1u << 16},
	{.name = "ucmatose-size",
	 .argument = "BYTES",
	 .help = "Length of the messages that ucmatose's clients are sent; they must have room "
		 "for it [100]",
	 .type = VL_OPTION_NUMBER,
	 .offset = offsetof(struct endpoint_options, ucmatose_size),
	 .least = 1,
	 .most = VL_UCMATOSE_MAX_SIZE},
	{.letter = 'v',
	 .name = "verbose",
	 .help = "Print each ping and each request of the exercise",
	 .type = VL_OPTION_FLAG,
	 .offset = offsetof(struct endpoint_options, verbose)},
	{.name = "quiet",
	 .help = "Do not print who comes and goes",
	 .type = VL_OPTION_FLAG,
	 .offset = offsetof(struct endpoint_options, quiet)},
};

/* 0, or -1 with the reason printed. */
static int choose_services(const struct vl_command *command, const struct vl_texts *names,
			   unsigned int *services)
{
	*services = names->count ? 0 : VL_INSTANCE_ALL_SERVICES;
	for (unsigned int i = 0; i < names->count; i++) {
		int service = 0;

		while (service < VL_INSTANCE_SERVICE_COUNT &&
		       strcmp(vl_instance_service_names[service], names->values[i]))
			service++;
		if (service == VL_INSTANCE_SERVICE_COUNT) {
			vl_command_error(command,
					 "--service %s: there are rping, ucmatose, udaddy, "
					 "exercise, perftest and control",
					 names->values[i]);
			return -1;
		}
		*services |= 1u << service;
	}
	return 0;
}

static int run(const struct vl_command *command, int argc, char **argv)
{
	struct endpoint_options values = {
		.host = VL_HOST_OPTIONS_INIT,
		.fault = VL_FAULT_OPTIONS_INIT,
		.max_connections = 16384,
		.max_half_open = 4096,
		.ucmatose_size = 100,
	};
	struct vl_operands operands;
	struct vl_endpoint_run endpoint_run = {
		.command = command,
		.host_options = &values.host,
		.fault_options = &values.fault,
		.operands = &operands,
	};
	int status = vl_command_start(command, argc, argv, &values, &operands);

	if (status >= 0)
		return status;
	if (choose_services(command, &values.services, &endpoint_run.instance.services))
		return VL_EXIT_USAGE;
	endpoint_run.duration = values.duration;
	endpoint_run.instance.verbose = values.verbose;
	endpoint_run.instance.quiet = values.quiet;
	endpoint_run.instance.ucmatose_size = (uint32_t)values.ucmatose_size;
	endpoint_run.instance.max_sessions = (uint32_t)values.max_connections;
	endpoint_run.instance.cm.max_connections = (uint32_t)values.max_connections;
	endpoint_run.instance.cm.max_half_open = (uint32_t)values.max_half_open;
	endpoint_run.instance.cm.max_half_open_per_peer = (uint32_t)(values.max_half_open + 1) / 2;
	return vl_endpoint_run(&endpoint_run);
}

const struct vl_command vl_endpoint_command = {
	.name = "endpoint",
	.summary = "an RNIC in software that listens: RDMA CM, rping, ucmatose, udaddy, control",
	.description =
		"Brings an endpoint up on one or more ports and offers services there, to RNICs, "
		"to "
		"Linux soft-RoCE and to other verblines: it answers ARP, neighbour discovery and "
		"ping, takes connections by the RDMA connection manager, and is the server of "
		"rping, "
		"ucmatose, udaddy, perftest (-R) and of verbline's own tests.\n\n"
		"Each worker has its own connections, keys and neighbours on each port; to peers "
		"they "
		"are one RNIC. With --events and the options after it, it is a test target that "
		"misbehaves as it is told.\n\n"
		"Who comes and goes is printed; with --json, what became of each session too.",
	.examples = "verbline endpoint --port af_packet:eth1 --ip 10.0.0.2/24\n"
		    "verbline endpoint --port pci:0000:3b:00.0 --ip 10.0.0.2/24 --ip fd00::2/64 "
		    "--workers 4\n"
		    "verbline endpoint --port tap:roce0 --ip 10.0.0.2/24 --service rping --verbose",
	.options = options,
	.option_count = sizeof(options) / sizeof(options[0]),
	.takes_eal_options = true,
	.run = run,
};
