/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What every command does with its outputs: nothing is overwritten that was not named for it,
 * nothing is lost without a word, and nothing partial is left under a final name. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/suite.h"

static char directory[] = "/tmp/verbline-outputs-XXXXXX";
static char output[65536];

/* Runs a shell command in the directory, with $V the program and $C a capture there. */
static void expect(const char *command, int status, const char *text)
{
	const char *source = getenv("VERBLINE_SOURCE_ROOT");
	const char *build = getenv("VERBLINE_BUILD_ROOT");
	char line[4096];
	size_t length;
	FILE *pipe;
	int found;

	snprintf(line, sizeof(line),
		 "cd %s && rm -f * && V=%s/apps/verbline && C=capture.pcap && "
		 "cp %s/pcaps/rxe-rc-send-2-ipv4.pcap $C && { %s ; } 2>&1",
		 directory, build ? build : "build", source ? source : ".", command);
	pipe = popen(line, "r");
	CU_ASSERT_PTR_NOT_NULL_FATAL(pipe);
	length = fread(output, 1, sizeof(output) - 1, pipe);
	output[length] = 0;
	found = pclose(pipe);
	found = WIFEXITED(found) ? WEXITSTATUS(found) : -1;
	CU_ASSERT_EQUAL(found, status);
	CU_ASSERT_PTR_NOT_NULL(strstr(output, text));
	if (found != status || !strstr(output, text))
		printf("%s\nended with %d instead of %d, or lacks \"%s\":\n%s\n", command, found,
		       status, text, output);
}

static void the_capture_is_not_overwritten(void)
{
	expect("$V inspect --json $C $C", 2, "would overwrite");
	expect("ln -s $C link; $V inspect --json link $C", 2, "would overwrite");
	expect("$V replay --json $C $C", 2, "would overwrite");
	expect("$V replay --json $C $C >/dev/null 2>&1; $V inspect -q $C", 0, "");
}

static void the_scenario_is_not_overwritten(void)
{
	expect("$V lab --show incast-dcqcn >s.yaml; $V lab --json s.yaml s.yaml", 2,
	       "would be overwritten");
}

static void two_outputs_do_not_share_a_file(void)
{
	expect("$V lab --json same --pcap same", 2, "two outputs");
	expect("$V lab --json - --pcap -", 2, "two outputs");
}

static void an_output_that_cannot_be_opened_is_wrong_usage(void)
{
	expect("$V lab --json /no/such/place", 2, "No such file or directory");
	expect("$V lab --pcap /no/such/place", 2, "No such file or directory");
	expect("$V inspect --json /no/such/place $C", 2, "No such file or directory");
	expect("$V replay --json /no/such/place $C", 2, "No such file or directory");
}

static void a_full_device_is_named(void)
{
	expect("$V replay --json /dev/full $C", 1, "No space left on device");
	expect("$V lab --list >/dev/full", 1, "the standard output cannot be written");
	expect("$V --version >/dev/full", 1, "the standard output cannot be written");
}

static void a_closed_stream_is_not_taken_for_a_file(void)
{
	expect("$V --help >&-", 1, "the standard output cannot be written");
	expect("$V replay --json j $C >&-; test $? = 1 && grep -c compared j", 0, "");
	expect("$V replay --json j $C >&-; head -c 1 j", 0, "{");
}

static void what_selects_packets_needs_a_capture(void)
{
	expect("$V lab --pcap-count 5", 2, "--pcap FILE is missing");
	expect("$V lab --pcap-from 5us", 2, "--pcap FILE is missing");
	expect("$V lab --live --pcap x.pcap", 2, "virtual time only");
}

static const struct test tests[] = {
	{"the_capture_is_not_overwritten", the_capture_is_not_overwritten},
	{"the_scenario_is_not_overwritten", the_scenario_is_not_overwritten},
	{"two_outputs_do_not_share_a_file", two_outputs_do_not_share_a_file},
	{"an_output_that_cannot_be_opened_is_wrong_usage",
	 an_output_that_cannot_be_opened_is_wrong_usage},
	{"a_full_device_is_named", a_full_device_is_named},
	{"a_closed_stream_is_not_taken_for_a_file", a_closed_stream_is_not_taken_for_a_file},
	{"what_selects_packets_needs_a_capture", what_selects_packets_needs_a_capture},
};

int main(int argc, char **argv)
{
	int status;

	if (!mkdtemp(directory))
		return 1;
	status = RUN_SUITE("outputs_command", tests, argc, argv);
	if (!chdir(directory) && !system("rm -f *") && !chdir("/"))
		rmdir(directory);
	return status;
}
