/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/replay/replay.h"

#include "apps/replay/port/port.h"
#include "apps/replay/trial.h"
#include "apps/report/json_file.h"
#include "apps/report/output.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum role_choice {
	ROLE_BOTH,
	ROLE_RESPONDER,
	ROLE_REQUESTER,
};

static const char *const role_choices[] = {"both", "responder", "requester", NULL};

struct replay_options {
	unsigned int role;
	const char *json;
	bool verbose;
	struct replay_port_options port;
};

static const struct vl_option options[] = {
	REPLAY_PORT_OPTIONS(struct replay_options, port),
	{.letter = 'r',
	 .name = "role",
	 .argument = "ROLE",
	 .help = "Which side the stack takes: responder, requester or both [both]",
	 .type = VL_OPTION_CHOICE,
	 .offset = offsetof(struct replay_options, role),
	 .choices = role_choices},
	{.letter = 'v',
	 .name = "verbose",
	 .help = "List every conversation, not only those with something to tell",
	 .type = VL_OPTION_FLAG,
	 .offset = offsetof(struct replay_options, verbose)},
	{.name = "json",
	 .argument = "FILE",
	 .help = "Write everything that was found as JSON; - is the standard output",
	 .type = VL_OPTION_TEXT,
	 .offset = offsetof(struct replay_options, json)},
};

static int replay_main(const struct vl_command *command, int argc, char **argv);

const struct vl_command vl_replay_command = {
	.name = "replay",
	.operands = "FILE...",
	.most_operands = UINT32_MAX,
	.summary = "play captures against the stack and compare, or out of a port",
	.description =
		"Takes the place of one recorded host at a time, with its addresses, QPNs, PSNs, "
		"keys "
		"and memory, in virtual time. As responder the stack is fed the recorded requests, "
		"and "
		"its ACKs, NAKs, READ responses and atomic results are compared with the recorded "
		"ones. As requester its work requests are rebuilt from the capture, and the "
		"packets "
		"that it sends, retransmissions included, are compared.\n\n"
		"Each recorded packet counts as equal; as tolerated, where the standard leaves a "
		"choice; as explained, where the recorded peer has a known habit that leaves the "
		"standard; or as different. Packets that the recorded peer cannot have seen, "
		"because "
		"they were lost after the point of capture, are withheld from the stack too, and "
		"named.\n\n"
		"With --port the recorded frames themselves are sent out of a port, RDMA or not: "
		"as recorded, faster, at a rate, or as fast as possible, once or again and again "
		"with PSNs carried on. Several files are merged by time, and none has to fit in "
		"memory. --rewrite changes addresses, VLANs, QPNs, PSNs, keys and classes; "
		"checksums and the ICRC are made right again. What could not be sent in time is "
		"counted.\n\n"
		"Exit status: 0 no difference, or all was sent; 1 a difference, a damaged file, or "
		"frames that the port did not send; 2 wrong usage or a file that is no capture.",
	.examples = "verbline replay capture.pcap\n"
		    "verbline replay --role responder --json result.json capture.pcapng\n"
		    "verbline replay --port af_packet:eth1 --speed 2 capture.pcap\n"
		    "verbline replay --port pci:0000:3b:00.0 --rate 40Gb/s --loop 100 "
		    "--rewrite dst-ip=10.0.0.2,10.1.0.2 --rewrite dst-mac=02:00:00:00:00:02 "
		    "capture.pcap",
	.takes_eal_options = true,
	.options = options,
	.option_count = sizeof(options) / sizeof(options[0]),
	.run = replay_main,
};

static int replay_file(const struct vl_command *command, const struct replay_options *chosen,
		       const char *path, json_t *files, bool is_quiet)
{
	char message[REPLAY_MESSAGE];
	struct recording *recording = recording_load(path, message);
	struct trial *trials;
	uint32_t count;
	int status = VL_EXIT_OK;

	if (!recording) {
		vl_command_error(command, "%s: %s", path, message);
		return VL_EXIT_USAGE;
	}
	trials = trials_run(recording, chosen->role != ROLE_REQUESTER,
			    chosen->role != ROLE_RESPONDER, &count);
	if (!trials) {
		vl_command_error(command, "%s: out of memory", path);
		recording_free(recording);
		return VL_EXIT_FAILED;
	}
	if (!is_quiet)
		report_text(stdout, recording, trials, count, chosen->verbose);
	if (files && json_array_append_new(files, report_json(recording, trials, count))) {
		vl_command_error(command, "%s: out of memory", path);
		status = VL_EXIT_FAILED;
	}
	if (report_totals(trials, count).different || recording->damaged)
		status = VL_EXIT_FAILED;
	trials_free(trials, count);
	recording_free(recording);
	return status;
}

static int write_json(const struct vl_command *command, struct vl_output *output, json_t *files)
{
	json_t *root = json_pack("{s:s, s:s, s:s, s:o}", "schema", "verbline-replay-1", "version",
				 VERBLINE_VERSION, "command", "replay", "files", files);
	char error[REPLAY_MESSAGE];
	int status = VL_EXIT_OK;

	if (vl_json_file_commit(root, output, error, sizeof(error))) {
		vl_command_error(command, "%s", error);
		status = VL_EXIT_FAILED;
	}
	return status;
}

/* Whether --json names one of the files. */
static bool overwrites(const struct vl_command *command, const char *json,
		       const struct vl_operands *operands)
{
	for (unsigned int i = 0; json && strcmp(json, "-") && i < operands->count; i++) {
		if (!vl_output_is_same(json, operands->values[i]))
			continue;
		vl_command_error(command, "--json %s would overwrite the capture that it is about",
				 json);
		return true;
	}
	return false;
}

static int replay_to_stack(const struct vl_command *command, const struct replay_options *chosen,
			   const struct vl_operands *operands)
{
	struct vl_output output = {0};
	json_t *files = NULL;
	char error[REPLAY_MESSAGE];
	int status = VL_EXIT_OK, result;
	bool is_quiet;

	if (chosen->json) {
		if (vl_output_open(&output, chosen->json, error, sizeof(error))) {
			vl_command_error(command, "%s", error);
			return VL_EXIT_USAGE;
		}
		files = json_array();
	}
	/* What goes to the standard output is either for people or for programs. */
	is_quiet = chosen->json && !strcmp(chosen->json, "-");
	for (unsigned int i = 0; i < operands->count; i++) {
		result = replay_file(command, chosen, operands->values[i], files, is_quiet);
		if (result > status)
			status = result;
	}
	if (files) {
		result = write_json(command, &output, files);
		if (result > status)
			status = result;
	}
	return status;
}

static int replay_main(const struct vl_command *command, int argc, char **argv)
{
	struct replay_options chosen = {.role = ROLE_BOTH, .port = REPLAY_PORT_OPTIONS_INIT};
	struct vl_operands operands;
	const char *misplaced;
	int status = vl_command_start(command, argc, argv, &chosen, &operands);

	if (status >= 0)
		return status;
	for (unsigned int i = 0; i < chosen.port.rewrites.count; i++) {
		if (!strcmp(chosen.port.rewrites.values[i], "help")) {
			replay_port_print_fields();
			return VL_EXIT_OK;
		}
	}
	if (!operands.count) {
		vl_command_error(command, "%s is missing: verbline replay [OPTION...] %s",
				 command->operands, command->operands);
		return VL_EXIT_USAGE;
	}
	if (overwrites(command, chosen.json, &operands))
		return VL_EXIT_USAGE;
	if (chosen.port.ports.count)
		return replay_to_port(command, &chosen.port, &operands, chosen.json);
	misplaced = replay_port_misplaced(&chosen.port);
	if (misplaced) {
		vl_command_error(command, "--%s needs --port, where the frames are to be sent",
				 misplaced);
		return VL_EXIT_USAGE;
	}
	return replay_to_stack(command, &chosen, &operands);
}
