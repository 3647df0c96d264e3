/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/replay/replay.h"

#include "apps/replay/trial.h"
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
};

static const struct vl_option options[] = {
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
	.least_operands = 1,
	.most_operands = UINT32_MAX,
	.summary = "play one side of a capture against the stack and compare the answers",
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
		"Exit status: 0 no difference, 1 a difference or a damaged file, 2 wrong usage or "
		"a "
		"file that is no capture.",
	.examples = "verbline replay capture.pcap\n"
		    "verbline replay --role responder --json result.json capture.pcapng",
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

	if (!root || json_dumpf(root, output->file, JSON_INDENT(2)) ||
	    fputc('\n', output->file) < 0) {
		vl_command_error(command, "%s: could not be written", output->path);
		vl_output_abandon(output);
		status = VL_EXIT_FAILED;
	} else if (vl_output_commit(output, error, sizeof(error))) {
		vl_command_error(command, "%s", error);
		status = VL_EXIT_FAILED;
	}
	json_decref(root);
	return status;
}

static int replay_main(const struct vl_command *command, int argc, char **argv)
{
	struct replay_options chosen = {.role = ROLE_BOTH};
	struct vl_operands operands;
	struct vl_output output = {0};
	json_t *files = NULL;
	char error[REPLAY_MESSAGE];
	bool is_quiet;
	int status = vl_command_start(command, argc, argv, &chosen, &operands);
	int result;

	if (status >= 0)
		return status;
	status = VL_EXIT_OK;
	if (chosen.json) {
		for (unsigned int i = 0; i < operands.count; i++) {
			if (strcmp(chosen.json, "-") &&
			    vl_output_is_same(chosen.json, operands.values[i])) {
				vl_command_error(command,
						 "--json %s would overwrite the capture that it "
						 "is about",
						 chosen.json);
				return VL_EXIT_USAGE;
			}
		}
		if (vl_output_open(&output, chosen.json, error, sizeof(error))) {
			vl_command_error(command, "%s", error);
			return VL_EXIT_USAGE;
		}
		files = json_array();
	}
	/* What goes to the standard output is either for people or for programs. */
	is_quiet = chosen.json && !strcmp(chosen.json, "-");
	for (unsigned int i = 0; i < operands.count; i++) {
		result = replay_file(command, &chosen, operands.values[i], files, is_quiet);
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
