/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/inspect/inspect.h"

#include "apps/inspect/describe.h"
#include "apps/inspect/report.h"
#include "apps/report/output.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Packets between two looks at the clock, and time between two lines of progress. */
#define PACKETS_PER_LOOK  UINT64_C(65536)
#define PROGRESS_INTERVAL UINT64_C(500000000)
#define SCHEMA_VERSION    1

struct inspect_options {
	const char *json;
	uint64_t lines;
	bool quiet, ignore_icrc;
};

/* Over all files. */
struct totals {
	uint64_t files, unreadable, stopped;
	uint64_t packets, classes[3];
	uint64_t icrc_right, icrc_wrong, icrc_unchecked, vcrc_wrong, lpcrc_wrong;
	uint64_t opcodes[256];
	enum inspect_severity worst;
	bool failed; /* something that could not be written, or no memory */
};

struct session {
	const struct vl_command *command;
	struct inspect_options options;
	struct inspect_style style;
	struct totals totals;
	json_t *files; /* NULL without --json */
	bool show_progress;
};

static uint64_t clock_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void print_progress(const char *name, const struct vl_capture_reader *reader,
			   uint64_t packets)
{
	char bytes[INSPECT_SMALL_TEXT], count[INSPECT_SMALL_TEXT];

	fprintf(stderr, "\r%s: %s packets, %s\033[K", name, inspect_count_text(packets, count),
		inspect_bytes_text(vl_capture_reader_position(reader), bytes));
}

static enum vl_capture_status read_packets(const struct session *session, const char *name,
					   struct vl_capture_reader *reader,
					   struct inspect_analysis *analysis)
{
	struct vl_capture_packet packet;
	enum vl_capture_status status;
	uint64_t shown = clock_now();
	bool printed = false;

	while ((status = vl_capture_reader_next(reader, &packet)) == VL_CAPTURE_PACKET) {
		inspect_analysis_add(analysis, &packet);
		if (session->show_progress && !(analysis->packets % PACKETS_PER_LOOK) &&
		    clock_now() - shown > PROGRESS_INTERVAL) {
			print_progress(name, reader, analysis->packets);
			shown = clock_now();
			printed = true;
		}
	}
	if (printed)
		fputs("\r\033[K", stderr);
	return status;
}

static void add_to_totals(struct totals *totals, const struct inspect_file *file)
{
	const struct inspect_analysis *analysis = file->analysis;

	totals->stopped += file->stopped != NULL;
	totals->packets += analysis->packets;
	for (unsigned int i = 0; i < 3; i++)
		totals->classes[i] += analysis->classes[i];
	totals->icrc_right += analysis->icrc_right;
	totals->icrc_wrong += analysis->icrc_wrong;
	totals->icrc_unchecked += analysis->icrc_unchecked;
	totals->vcrc_wrong += analysis->vcrc_wrong;
	totals->lpcrc_wrong += analysis->link.lpcrc_wrong;
	for (unsigned int i = 0; i < 256; i++)
		totals->opcodes[i] += analysis->opcodes[i];
	if (file->verdict->worst > totals->worst)
		totals->worst = file->verdict->worst;
	totals->failed |= analysis->out_of_memory;
}

static void report(struct session *session, const struct inspect_file *file)
{
	if (!session->options.quiet) {
		if (session->totals.files > 1)
			putchar('\n');
		inspect_report_text(file, &session->style, stdout);
	}
	if (session->files && json_array_append_new(session->files, inspect_report_json(file)))
		session->totals.failed = true;
}

static void refuse(struct session *session, const char *name, const char *message)
{
	struct inspect_file file = {.name = name, .stopped = message};

	vl_command_error(session->command, "%s: %s", name, message);
	session->totals.unreadable++;
	if (session->files && json_array_append_new(session->files, inspect_report_json(&file)))
		session->totals.failed = true;
}

static void inspect_one(struct session *session, const char *path)
{
	char message[VL_CAPTURE_MESSAGE_SIZE];
	struct inspect_file file = {.name = strcmp(path, "-") ? path : "standard input"};
	struct vl_capture_reader *reader = vl_capture_reader_open(path, message);
	struct inspect_analysis *analysis = NULL;
	struct inspect_verdict *verdict = NULL;

	session->totals.files++;
	if (!reader) {
		refuse(session, file.name, message);
		return;
	}
	analysis = inspect_analysis_new();
	verdict = calloc(1, sizeof(*verdict));
	if (analysis && verdict) {
		analysis->ignores_icrc = session->options.ignore_icrc;
		if (read_packets(session, file.name, reader, analysis) == VL_CAPTURE_DAMAGED) {
			file.stopped = vl_capture_reader_message(reader);
			file.stopped_packet = vl_capture_reader_damaged_packet(reader);
			file.stopped_offset = vl_capture_reader_damaged_offset(reader);
		}
		inspect_analysis_finish(analysis);
		inspect_verdict_make(verdict, analysis, file.stopped);
		file.format = vl_capture_reader_format(reader);
		file.analysis = analysis;
		file.verdict = verdict;
		add_to_totals(&session->totals, &file);
		report(session, &file);
	} else {
		vl_command_error(session->command, "%s: %s", file.name, strerror(ENOMEM));
		session->totals.failed = true;
	}
	free(verdict);
	inspect_analysis_free(analysis);
	vl_capture_reader_close(reader);
}

static void print_totals(const struct totals *totals)
{
	printf("\nAll %" PRIu64 " files: %" PRIu64 " packets: %" PRIu64 " RDMA, %" PRIu64
	       " foreign, %" PRIu64 " damaged; ICRC: %" PRIu64 " right, %" PRIu64 " wrong",
	       totals->files, totals->packets, totals->classes[INSPECT_RDMA],
	       totals->classes[INSPECT_FOREIGN], totals->classes[INSPECT_DAMAGED],
	       totals->icrc_right, totals->icrc_wrong);
	if (totals->unreadable)
		printf("; %" PRIu64 " not readable", totals->unreadable);
	if (totals->stopped)
		printf("; %" PRIu64 " read in part", totals->stopped);
	putchar('\n');
	if (totals->files > totals->unreadable)
		printf("Gravest finding: %s\n", inspect_severity_name(totals->worst));
}

static json_t *totals_json(const struct totals *totals)
{
	json_t *opcodes = json_object();

	for (unsigned int i = 0; i < 256; i++) {
		char name[8];

		if (!totals->opcodes[i])
			continue;
		snprintf(name, sizeof(name), "0x%02x", i);
		json_object_set_new(opcodes, name, json_integer((json_int_t)totals->opcodes[i]));
	}
	return json_pack("{s:I, s:I, s:I, s:{s:I, s:I, s:I, s:I}, s:{s:I, s:I, s:I}, s:o, s:s}",
			 "files", (json_int_t)totals->files, "unreadable",
			 (json_int_t)totals->unreadable, "stopped", (json_int_t)totals->stopped,
			 "packets", "total", (json_int_t)totals->packets, "rdma",
			 (json_int_t)totals->classes[INSPECT_RDMA], "foreign",
			 (json_int_t)totals->classes[INSPECT_FOREIGN], "damaged",
			 (json_int_t)totals->classes[INSPECT_DAMAGED], "icrc", "right",
			 (json_int_t)totals->icrc_right, "wrong", (json_int_t)totals->icrc_wrong,
			 "not_checkable", (json_int_t)totals->icrc_unchecked, "opcodes", opcodes,
			 "worst", inspect_severity_name(totals->worst));
}

static int write_json(struct session *session, struct vl_output *output, char *error, size_t size)
{
	json_t *root = json_pack("{s:i, s:s, s:O, s:o}", "schema_version", SCHEMA_VERSION,
				 "verbline_version", VERBLINE_VERSION, "files", session->files,
				 "total", totals_json(&session->totals));
	int status = -ENOMEM;

	if (root) {
		status = json_dumpf(root, output->file, JSON_INDENT(1) | JSON_REAL_PRECISION(12));
		if (!status)
			fputc('\n', output->file);
	}
	json_decref(root);
	if (status && !ferror(output->file)) {
		snprintf(error, size, "%s: %s", session->options.json, strerror(ENOMEM));
		return -ENOMEM;
	}
	return vl_output_commit(output, error, size);
}

static int exit_status(const struct totals *totals)
{
	if (totals->unreadable)
		return VL_EXIT_USAGE;
	if (totals->failed || totals->stopped || totals->icrc_wrong || totals->vcrc_wrong ||
	    totals->lpcrc_wrong || totals->classes[INSPECT_DAMAGED])
		return VL_EXIT_FAILED;
	return VL_EXIT_OK;
}

static int finish(struct session *session, struct vl_output *output)
{
	char error[512];

	if (!session->options.quiet && session->totals.files > 1)
		print_totals(&session->totals);
	if (session->files && write_json(session, output, error, sizeof(error))) {
		vl_command_error(session->command, "%s", error);
		session->totals.failed = true;
	}
	if (fflush(stdout) || ferror(stdout)) {
		vl_command_error(session->command, "standard output: %s", strerror(errno));
		session->totals.failed = true;
	}
	vl_output_abandon(output);
	json_decref(session->files);
	return exit_status(&session->totals);
}

static int run(const struct vl_command *command, int argc, char **argv)
{
	struct session session = {.command = command, .options.lines = 20};
	struct vl_operands operands;
	struct vl_output output = {0};
	char error[512];
	int status;

	status = vl_command_start(command, argc, argv, &session.options, &operands);
	if (status >= 0)
		return status;
	session.style.colour = isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
	session.style.lines = (unsigned int)session.options.lines;
	session.show_progress = isatty(STDERR_FILENO);
	if (session.options.json) {
		session.options.quiet |= !strcmp(session.options.json, "-");
		for (unsigned int i = 0; i < operands.count; i++) {
			if (strcmp(session.options.json, "-") &&
			    vl_output_is_same(session.options.json, operands.values[i])) {
				vl_command_error(command,
						 "--json %s would overwrite the capture that it "
						 "is about",
						 session.options.json);
				return VL_EXIT_USAGE;
			}
		}
		if (vl_output_open(&output, session.options.json, error, sizeof(error))) {
			vl_command_error(command, "%s", error);
			return VL_EXIT_USAGE;
		}
		session.files = json_array();
		if (!session.files) {
			vl_command_error(command, "%s", strerror(ENOMEM));
			vl_output_abandon(&output);
			return VL_EXIT_FAILED;
		}
	}
	for (unsigned int i = 0; i < operands.count; i++)
		inspect_one(&session, operands.values[i]);
	return finish(&session, &output);
}

static const struct vl_option options[] = {
	{.letter = 'i',
	 .name = "ignore-icrc",
	 .help = "Follow packets with a wrong ICRC, too; they are still counted and named. For "
		 "captures behind a box that changes what the ICRC covers",
	 .type = VL_OPTION_FLAG,
	 .offset = offsetof(struct inspect_options, ignore_icrc)},
	{.letter = 'j',
	 .name = "json",
	 .argument = "FILE",
	 .help = "Write everything that was found to FILE as JSON; - writes it to the standard "
		 "output, instead of the report",
	 .type = VL_OPTION_TEXT,
	 .offset = offsetof(struct inspect_options, json)},
	{.letter = 'l',
	 .name = "lines",
	 .argument = "N",
	 .help = "Print at most N lines of each table and of the events [20]",
	 .type = VL_OPTION_NUMBER,
	 .offset = offsetof(struct inspect_options, lines),
	 .least = 1,
	 .most = 1000000},
	{.letter = 'q',
	 .name = "quiet",
	 .help = "Print no report",
	 .type = VL_OPTION_FLAG,
	 .offset = offsetof(struct inspect_options, quiet)},
};

const struct vl_command vl_inspect_command = {
	.name = "inspect",
	.operands = "FILE...",
	.least_operands = 1,
	.most_operands = UINT_MAX,
	.summary = "say what is in a capture, and whether anything is wrong",
	.description =
		"Reads captures (pcap, pcapng; Ethernet, raw IP, Linux cooked, InfiniBand, ERF) of "
		"any size and reports hosts, QPs, opcodes, retransmissions, gaps, NAKs, congestion "
		"marks, connection management, credits of InfiniBand links, and a verdict. The "
		"ICRC of every packet is checked, and on InfiniBand VCRC and LPCRC. "
		"FILE may be -, the standard input.\n\n"
		"Every packet is accounted for: RDMA (it has a BTH), foreign (another protocol) or "
		"damaged (impossible headers). What can be read of a damaged file is reported, and "
		"where and why it stopped.\n\n"
		"Exit status: 0 if all was read and every CRC is right; 1 if a file stopped early, "
		"a CRC is wrong, or packets are damaged; 2 if a file could not be read, or the "
		"usage is wrong. What the network did (loss, NAKs, marks) does not count.",
	.examples = "verbline inspect trace.pcap\n"
		    "verbline inspect --json - trace.pcapng | jq '.files[0].verdict'\n"
		    "tcpdump -i eth0 -s 0 -w - udp port 4791 | verbline inspect -",
	.options = options,
	.option_count = sizeof(options) / sizeof(options[0]),
	.run = run,
};
