/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* verbline verdict: judges a host by a capture. */

#include "apps/verdict/command.h"

#include "apps/control/message.h"
#include "apps/host/addresses.h"
#include "apps/report/json_file.h"
#include "apps/verdict/options.h"
#include "apps/verdict/private.h"
#include "apps/verdict/verdict.h"
#include "dataplane/capture/reader.h"
#include "transport/cm/rdma_ip.h"

#include <string.h>

struct verdict_values {
	struct vl_verdict_options expect;
	const char *peer, *json;
	uint64_t rate, interface;
};

static const struct vl_option options[] = {
	{.name = "peer",
	 .argument = "ADDRESS",
	 .help = "Whose packets are judged, IPv4 or IPv6",
	 .type = VL_OPTION_TEXT,
	 .offset = offsetof(struct verdict_values, peer)},
	{.name = "rate",
	 .argument = "RATE",
	 .help = "Of its line, for the length of pauses [100Gb/s]",
	 .type = VL_OPTION_QUANTITY,
	 .offset = offsetof(struct verdict_values, rate),
	 .quantity = VL_QUANTITY_RATE,
	 .least = 1000000,
	 .most = UINT64_C(1600000000000)},
	{.name = "interface",
	 .argument = "N",
	 .help = "Look at this interface of a pcapng alone, from 0: for captures that show the "
		 "same "
		 "packets at several [all]",
	 .type = VL_OPTION_NUMBER,
	 .offset = offsetof(struct verdict_values, interface),
	 .most = UINT32_MAX},
	{.name = "json",
	 .argument = "FILE",
	 .help = "Write the verdicts, for programs, to FILE ('-': to standard output)",
	 .type = VL_OPTION_TEXT,
	 .offset = offsetof(struct verdict_values, json)},
	VL_EXPECT_OPTIONS(struct verdict_values, expect),
};

static int verdict_main(const struct vl_command *command, int argc, char **argv);

const struct vl_command vl_verdict_command = {
	.name = "verdict",
	.operands = "FILE",
	.least_operands = 1,
	.most_operands = 1,
	.summary = "judge a NIC by a capture: loss, refusals, CNPs, rates, pauses, classes",
	.description =
		"Looks at what one host of a capture does about lost packets, RNR NAKs, CE marks, "
		"CNPs and pauses, and at the classes and ICRCs of its packets. Each verdict is "
		"pass, fail or not seen, with the packets that show it. The capture is best taken "
		"at the other host, or at its port of the switch; a pcapng of a run with --events "
		"also says what did not reach the wire. The same is judged live by "
		"option --verdict of endpoint and gen, which also provoke what is to be seen "
		"(--events). Exit status 1: it failed in something, or nothing of it could be "
		"judged.",
	.examples = "verbline verdict run.pcapng --peer 10.0.0.2\n"
		    "verbline verdict run.pcap --peer 10.0.0.2 --expect-data-dscp 26 --rate 25Gb/s",
	.options = options,
	.option_count = sizeof(options) / sizeof(options[0]),
	.run = verdict_main,
};

/* Of a comment only what it begins with counts. */
#define MAX_COMMENT 64

static int judge(const struct vl_command *command, struct vl_verdict *verdict, const char *path,
		 uint64_t interface)
{
	char message[VL_CAPTURE_MESSAGE_SIZE];
	struct vl_capture_reader *reader = vl_capture_reader_open(path, message);
	enum vl_capture_status status;
	struct vl_capture_packet packet;
	char comment[MAX_COMMENT];
	uint64_t last = 0;

	if (!reader) {
		vl_command_error(command, "%s: %s", path, message);
		return VL_EXIT_USAGE;
	}
	while ((status = vl_capture_reader_next(reader, &packet)) == VL_CAPTURE_PACKET) {
		const struct vl_frame frame = {.data = (uint8_t *)packet.frame.data,
					       .length = packet.frame.length};

		last = packet.time;
		snprintf(comment, sizeof(comment), "%.*s", (int)packet.comment_length,
			 packet.comment ? packet.comment : "");
		/* Of a cut frame neither ICRC nor payload can be judged. */
		if (packet.frame.kind == VL_CAPTURE_FRAME_parseable &&
		    packet.frame.link == VL_LINK_ETHERNET &&
		    (interface == UINT64_MAX || packet.interface == interface) &&
		    packet.frame.length == packet.frame.wire_length)
			vl_verdict_see_captured(verdict, &frame, packet.number, packet.time,
						comment);
	}
	if (status == VL_CAPTURE_DAMAGED)
		fprintf(stderr, "verbline verdict: %s: %s; judged up to there\n", path,
			vl_capture_reader_message(reader));
	vl_capture_reader_close(reader);
	vl_verdict_finish(verdict, last);
	return status == VL_CAPTURE_DAMAGED ? VL_EXIT_FAILED : VL_EXIT_OK;
}

/* Before the capture is read: what it comes to has a place, which is not the capture's. */
static int open_json(const struct vl_command *command, const char *path, const char *capture,
		     struct vl_output *output)
{
	char error[512];

	if (!path)
		return VL_EXIT_OK;
	if (strcmp(path, "-") && vl_output_is_same(path, capture)) {
		vl_command_error(command, "--json %s would overwrite the capture that it is about",
				 path);
		return VL_EXIT_USAGE;
	}
	if (!vl_output_open(output, path, error, sizeof(error)))
		return VL_EXIT_OK;
	vl_command_error(command, "%s", error);
	return VL_EXIT_USAGE;
}

static int write_json(const struct vl_command *command, const struct vl_verdict *verdict,
		      struct vl_output *output)
{
	char error[512];

	if (!vl_json_file_commit(vl_verdict_json(verdict), output, error, sizeof(error)))
		return VL_EXIT_OK;
	vl_command_error(command, "%s", error);
	return VL_EXIT_FAILED;
}

static int verdict_main(const struct vl_command *command, int argc, char **argv)
{
	struct verdict_values values = {.expect = VL_VERDICT_OPTIONS_INIT, .interface = UINT64_MAX};
	struct vl_verdict_config config;
	struct vl_operands operands;
	struct vl_output output = {0};
	struct vl_verdict *verdict;
	char error[160];
	int status = vl_command_start(command, argc, argv, &values, &operands);

	if (status >= 0)
		return status;
	config = vl_verdict_options_config(&values.expect);
	config.rate = values.rate;
	config.spared_service = vl_rdma_service_id(VL_RDMA_PORT_SPACE_TCP, VL_CONTROL_PORT);
	if (!values.peer || vl_address_parse(values.peer, &config.peer, error, sizeof(error))) {
		vl_command_error(command, "--peer: give the address of the host to judge, as "
					  "10.0.0.2 or fd00::2; 'verbline inspect' lists them");
		return VL_EXIT_USAGE;
	}
	status = open_json(command, values.json, operands.values[0], &output);
	if (status)
		return status;
	verdict = vl_verdict_create(&config);
	if (!verdict) {
		vl_output_abandon(&output);
		vl_command_error(command, "out of memory");
		return VL_EXIT_FAILED;
	}
	status = judge(command, verdict, operands.values[0], values.interface);
	if (status == VL_EXIT_OK && !verdict->frames_received && !verdict->frames_transmitted) {
		vl_command_error(
			command,
			"%s: no RDMA packet from or to %s%s, so there is nothing to judge; "
			"'verbline inspect' lists the hosts",
			operands.values[0], values.peer,
			values.interface == UINT64_MAX ? "" : " at that interface");
		status = VL_EXIT_FAILED;
	} else if (status != VL_EXIT_USAGE) {
		if (!values.json || strcmp(values.json, "-"))
			vl_verdict_print(verdict, stdout);
		if (values.json && write_json(command, verdict, &output) != VL_EXIT_OK)
			status = VL_EXIT_FAILED;
		if (vl_verdict_has_failed(verdict) || !vl_verdict_has_judged(verdict))
			status = VL_EXIT_FAILED;
	}
	vl_verdict_destroy(verdict);
	vl_output_abandon(&output);
	return status;
}
