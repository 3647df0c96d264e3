/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What every command does with its outputs: nothing is overwritten that was not named for it,
 * nothing is lost without a word, and nothing partial is left under a final name. */

#include "tests/support/command.h"

#include <stdio.h>

/* An endpoint that none of these tests is to start. */
#define NOWHERE "--port null --ip 10.0.0.1/24 -D 1ms"

/* As expect, in an empty directory but for $C, a capture. */
static void expect_afresh(const char *command, int status, const char *text)
{
	char line[1024];

	snprintf(line, sizeof(line),
		 "rm -f *; C=capture.pcap; cp $P/rxe-rc-send-2-ipv4.pcap $C; %s", command);
	expect(line, status, text);
}

static void the_capture_is_not_overwritten(void)
{
	expect_afresh("$V inspect --json $C $C", 2, "would overwrite");
	expect_afresh("ln -s $C link; $V inspect --json link $C", 2, "would overwrite");
	expect_afresh("$V replay --json $C $C", 2, "would overwrite");
	expect_afresh("$V verdict --peer 10.77.0.2 --json $C $C", 2, "would overwrite");
	expect_afresh("$V verdict --peer 10.77.0.2 --json ./$C $C", 2, "would overwrite");
	expect_afresh("$V replay --json $C $C >/dev/null 2>&1; $V inspect -q $C", 0, "");
}

static void the_scenario_is_not_overwritten(void)
{
	expect_afresh("$V lab --show incast-dcqcn >s.yaml; $V lab --json s.yaml s.yaml", 2,
		      "would be overwritten");
}

static void events_and_configurations_are_not_overwritten(void)
{
	expect_afresh("$V faults drop-every-100th >e; $V endpoint " NOWHERE " --events e --json e",
		      2, "an input would be overwritten");
	expect_afresh("$V faults drop-every-100th >e; $V endpoint " NOWHERE " --events e --pcap e",
		      2, "an input would be overwritten");
	expect_afresh("$V gen --show >g; $V gen g --loopback --json g", 2,
		      "an input would be overwritten");
	expect_afresh("$V replay --port null --json $C $C", 2, "would overwrite");
}

static void two_outputs_do_not_share_a_file(void)
{
	expect_afresh("$V lab --json same --pcap same", 2, "two outputs");
	expect_afresh("$V lab --json - --pcap -", 2, "two outputs");
	expect_afresh("$V endpoint " NOWHERE " --json same --pcap same", 2, "two outputs");
	expect_afresh("$V gen --loopback -D 1 --json same --pcap same", 2, "two outputs");
	expect_afresh("$V pfc --port null --storm --rate 1Gb/s --json same --histogram same", 2,
		      "two outputs");
}

static void an_output_that_cannot_be_opened_is_wrong_usage(void)
{
	expect_afresh("$V lab --json /no/such/place", 2, "No such file or directory");
	expect_afresh("$V endpoint " NOWHERE " --json /no/such/place", 2, "No such file");
	expect_afresh("$V pfc --port null --storm --rate 1Gb/s --time 1ms --json /no/such/place", 2,
		      "No such file");
	expect_afresh("$V replay --port null --json /no/such/place $C", 2, "No such file");
	expect_afresh("$V verdict --peer 10.77.0.2 --json /no/such/place $C", 2, "No such file");
	expect_afresh("$V doctor --json /no/such/place", 2, "No such file");
	expect_afresh("$V lab --pcap /no/such/place", 2, "No such file or directory");
	expect_afresh("$V lab --pcap -", 2, "not to the standard output");
	expect_afresh("$V endpoint " NOWHERE " --pcap -", 2, "not to the standard output");
	expect_afresh("$V inspect --json /no/such/place $C", 2, "No such file or directory");
	expect_afresh("$V replay --json /no/such/place $C", 2, "No such file or directory");
}

static void a_full_device_is_named(void)
{
	expect_afresh("$V replay --json /dev/full $C", 1, "No space left on device");
	expect_afresh("$V lab --list >/dev/full", 1, "the standard output cannot be written");
	expect_afresh("$V --version >/dev/full", 1, "the standard output cannot be written");
}

static void a_closed_stream_is_not_taken_for_a_file(void)
{
	expect_afresh("$V --help >&-", 1, "the standard output cannot be written");
	expect_afresh("$V replay --json j $C >&-; test $? = 1 && grep -c compared j", 0, "");
	expect_afresh("$V replay --json j $C >&-; head -c 1 j", 0, "{");
}

static void what_selects_packets_needs_a_capture(void)
{
	expect_afresh("$V lab --pcap-count 5", 2, "--pcap FILE is missing");
	expect_afresh("$V lab --pcap-from 5us", 2, "--pcap FILE is missing");
}

static const struct test tests[] = {
	{"the_capture_is_not_overwritten", the_capture_is_not_overwritten},
	{"the_scenario_is_not_overwritten", the_scenario_is_not_overwritten},
	{"events_and_configurations_are_not_overwritten",
	 events_and_configurations_are_not_overwritten},
	{"two_outputs_do_not_share_a_file", two_outputs_do_not_share_a_file},
	{"an_output_that_cannot_be_opened_is_wrong_usage",
	 an_output_that_cannot_be_opened_is_wrong_usage},
	{"a_full_device_is_named", a_full_device_is_named},
	{"a_closed_stream_is_not_taken_for_a_file", a_closed_stream_is_not_taken_for_a_file},
	{"what_selects_packets_needs_a_capture", what_selects_packets_needs_a_capture},
};

int main(int argc, char **argv)
{
	return COMMAND_RUN_SUITE("outputs_command", NULL, tests, argc, argv);
}
