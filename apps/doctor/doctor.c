/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/doctor/doctor.h"

#include "apps/doctor/checks.h"
#include "apps/doctor/findings.h"
#include "apps/ports/ports.h"
#include "apps/report/json_file.h"
#include "dataplane/runtime/eal.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MBUFS_OF_A_PORT 4096u
/* NICs take seconds to find out what is at the other end. */
#define LINK_WAIT_MS 3000u

struct doctor_options {
	struct vl_texts ports;
	const char *json;
	bool kinds;
};

static const struct vl_option options[] = {
	{.letter = 'p',
	 .name = "port",
	 .argument = "PORT",
	 .help = "Open this port and look at it too; may be repeated, and two ports that are "
		 "joined "
		 "by a cable show that pause frames pass",
	 .type = VL_OPTION_TEXTS,
	 .offset = offsetof(struct doctor_options, ports)},
	{.name = "kinds",
	 .help = "List the kinds of ports, with their options, and end",
	 .type = VL_OPTION_FLAG,
	 .offset = offsetof(struct doctor_options, kinds)},
	{.name = "json",
	 .argument = "FILE",
	 .help = "Write the findings as JSON; - is the standard output",
	 .type = VL_OPTION_TEXT,
	 .offset = offsetof(struct doctor_options, json)},
};

/* False: still down. */
static bool wait_for_link(struct vl_port *port)
{
	const struct timespec nap = {.tv_nsec = 1000000};

	for (unsigned int i = 0; i < LINK_WAIT_MS; i++) {
		if (vl_port_is_up(port))
			return true;
		nanosleep(&nap, NULL);
	}
	return false;
}

static void check_ports(struct findings *findings, const struct vl_command *command,
			const struct doctor_options *given, const struct vl_operands *operands)
{
	const struct vl_ports_config config = {
		.command = command,
		.names = &given->ports,
		.mbuf_count = MBUFS_OF_A_PORT,
		.operands = operands,
	};
	struct vl_error error = {.text = ""};
	struct vl_ports ports;

	if (vl_ports_open(&ports, &config, &error)) {
		finding_add(findings, "port", "", FINDING_NEEDED, NULL, "%s", error.text);
		return;
	}
	check_clock(findings);
	for (uint32_t i = 0; i < ports.count; i++) {
		check_port(findings, ports.ports[i]);
		if (!wait_for_link(ports.ports[i]))
			finding_add(
				findings, "link", ports.ports[i]->name, FINDING_NEEDED, NULL,
				"is down: nothing is at the other end, or its peer does not run");
	}
	check_pause(findings, ports.ports, ports.mempools, ports.count);
	vl_ports_close(&ports);
}

static int write_json(const struct vl_command *command, const struct findings *findings,
		      struct vl_output *output)
{
	char error[256];

	if (!vl_json_file_commit(findings_json(findings), output, error, sizeof(error)))
		return VL_EXIT_OK;
	vl_command_error(command, "%s", error);
	return VL_EXIT_FAILED;
}

static int check_names(const struct vl_command *command, const struct vl_texts *names)
{
	struct vl_error error;

	for (unsigned int i = 0; i < names->count; i++) {
		if (vl_port_check_name(names->values[i], &error)) {
			vl_command_error(command, "%s", error.text);
			return VL_EXIT_USAGE;
		}
	}
	return VL_EXIT_OK;
}

static int run_doctor(const struct vl_command *command, int argc, char **argv)
{
	struct doctor_options given = {0};
	struct vl_operands operands;
	struct vl_output output = {0};
	struct findings *findings;
	char error[512];
	int status = vl_command_start(command, argc, argv, &given, &operands);

	if (status >= 0)
		return status;
	if (given.kinds) {
		fputs(vl_port_names_help(), stdout);
		return VL_EXIT_OK;
	}
	status = check_names(command, &given.ports);
	if (status)
		return status;
	if (given.json && vl_output_open(&output, given.json, error, sizeof(error))) {
		vl_command_error(command, "%s", error);
		return VL_EXIT_USAGE;
	}
	findings = calloc(1, sizeof(*findings));
	if (!findings) {
		vl_output_abandon(&output);
		vl_command_error(command, "no memory");
		return VL_EXIT_FAILED;
	}
	check_memory(findings);
	check_devices(findings);
	check_processor(findings);
	if (given.ports.count)
		check_ports(findings, command, &given, &operands);
	else
		check_clock(findings);
	if (!given.json || strcmp(given.json, "-"))
		findings_print(findings, stdout);
	if (given.json)
		status = write_json(command, findings, &output);
	if (!status && findings_count(findings, FINDING_NEEDED))
		status = VL_EXIT_FAILED;
	free(findings);
	return status;
}

const struct vl_command vl_doctor_command = {
	.name = "doctor",
	.summary = "say what this machine and its ports have, and what mends what they lack",
	.description = "Looks at hugepages, NICs and what they are bound to, CPUs, the CRC and its "
		       "speed, and "
		       "the clock. With --port also at what the port can do, and, by sending pause "
		       "frames of "
		       "no length, at whether it sends them and passes them up.\n\n"
		       "Each finding is ok, lack or unknown; LACK is one that stands in the way, "
		       "and makes "
		       "the exit status 1. The line that begins with # is the command, for root, "
		       "that mends "
		       "it.",
	.examples = "verbline doctor\n"
		    "verbline doctor --port pci:0000:3b:00.0 --port pci:0000:3b:00.1\n"
		    "verbline doctor --port af_packet:eth1 --json -\n",
	.options = options,
	.option_count = sizeof(options) / sizeof(options[0]),
	.takes_eal_options = true,
	.run = run_doctor,
};
