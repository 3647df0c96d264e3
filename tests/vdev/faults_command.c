/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Faults and verdicts on a live generator with its peer in the same process. What the machine's
 * load changes (times, rates) is not looked at. */

#include "tests/support/command.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define RUN "$V --loopback --no-hugepages --no-checks -q 2 -n 300 -s 20000 "

static json_t *root;

static void read_json(void)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/out.json", directory);
	root = json_load_file(path, 0, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(root);
}

static json_int_t completed(void)
{
	return json_integer_value(
		json_object_get(json_array_get(json_object_get(root, "groups"), 0), "message_tx"));
}

static json_int_t acted(size_t event)
{
	const json_t *events = json_object_get(json_object_get(root, "faults"), "events");

	return json_integer_value(json_object_get(json_array_get(events, event), "acted"));
}

static const char *verdict(const char *name)
{
	const json_t *list = json_object_get(
		json_object_get(json_object_get(root, "faults"), "peer"), "verdicts");
	const json_t *entry;
	size_t i;

	json_array_foreach(list, i, entry)
	{
		if (!strcmp(json_string_value(json_object_get(entry, "name")), name))
			return json_string_value(json_object_get(entry, "verdict"));
	}
	return "";
}

/* Every 50th request is lost on the way out: the peer asks for it, and all messages arrive. */
static void test_loss(void)
{
	expect("printf 'events:\\n  - {name: lose, on: transmitted, opcode: request, every: 50, "
	       "action: drop}\\n' >l.yaml; " RUN
	       "--events l.yaml --verdict --json out.json --pcap out.pcapng",
	       0, "PASS      does it ask for what is missing by a sequence NAK?");
	read_json();
	CU_ASSERT_EQUAL(completed(), 600);
	CU_ASSERT_TRUE(acted(0) >= 60);
	CU_ASSERT_STRING_EQUAL(verdict("sends_nak"), "pass");
	CU_ASSERT_STRING_EQUAL(verdict("icrc"), "pass");
	/* It has none: what it says by the control connection is no part of the test. */
	CU_ASSERT_STRING_EQUAL(verdict("data_class"), "not_seen");
	json_decref(root);
	/* The capture says the same, as its comments tell what did not reach the wire. */
	expect("${V% *} verdict out.pcapng --peer 192.0.2.2 --interface 0", 0,
	       "PASS      does it ask for what is missing by a sequence NAK?");
	expect("${V% *} verdict out.pcapng --peer 192.0.2.2 --interface 0", 0,
	       "not seen  is its data in its class?");
	if (run("command -v tshark")) {
		skip_test("tshark is not installed");
		return;
	}
	expect("tshark -r out.pcapng -Y 'frame.comment contains \"not sent: dropped by event\"' "
	       "-T fields -e frame.comment 2>/dev/null | head -1",
	       0, "not sent: dropped by event 'lose' (l.yaml:2)");
}

/* What is marked comes back as CNPs; what is refused comes again after its time. */
static void test_marks(void)
{
	expect("printf 'events:\\n  - {on: transmitted, opcode: data, action: mark_ce}\\n' "
	       ">m.yaml; " RUN
	       "--events m.yaml --verdict --expect-cnp-within 500ms --json out.json",
	       0, "PASS      does it answer CE marks with CNPs?");
	read_json();
	CU_ASSERT_EQUAL(completed(), 600);
	CU_ASSERT_TRUE(acted(0) >= 3000);
	CU_ASSERT_STRING_EQUAL(verdict("sends_cnp"), "pass");
	CU_ASSERT_STRING_EQUAL(verdict("cnp_class"), "pass");
	json_decref(root);
}

/* A peer that is not as it should be makes the command fail. */
static void test_failure(void)
{
	expect("printf 'events:\\n  - {on: transmitted, opcode: data, action: mark_ce}\\n' "
	       ">m.yaml; " RUN "--events m.yaml --verdict --expect-cnp-dscp 40",
	       1, "has DSCP 48, not 40");
}

/* Three pauses of 335 us, which frames that were under way may outlast by 100 us. */
#define PAUSE(priority)                                                                            \
	"printf 'events:\\n  - {on: received, opcode: data, every: 500, count: 3, action: pause, " \
	"priorities: " priority "}\\n' >p.yaml; " RUN                                              \
	"--verb read --events p.yaml --verdict --expect-pause-within 100us --json out.json"

static const char *pause_verdict(const char *command)
{
	const char *found;

	run(command);
	read_json();
	CU_ASSERT_EQUAL(completed(), 600);
	CU_ASSERT_EQUAL(acted(0), 3);
	found = verdict("honours_pause");
	found = !strcmp(found, "pass") ? "pass" : !strcmp(found, "fail") ? "fail" : "not seen";
	json_decref(root);
	return found;
}

/* Untagged data of DSCP 26 is in class 3: our own peer stops when that is paused, in one of several
 * runs, as the machine can keep it from looking; another class does not stop it. */
static void test_pause(void)
{
	bool right = false;

	for (unsigned int i = 0; i < 10 && !right; i++)
		right = !strcmp(pause_verdict(PAUSE("3")), "pass");
	CU_ASSERT(right);
	CU_ASSERT_STRING_EQUAL(pause_verdict(PAUSE("4")), "not seen");
}

/* The connection by which the two sides describe their queue pairs is no part of the test. */
static void test_spared_control(void)
{
	expect("printf 'events:\\n  - {opcode: \"send, acknowledge\", connection: 1, every: 3, "
	       "action: drop}\\n  - {opcode: send, action: stop_answering, scope: endpoint}\\n' "
	       ">s.yaml; " RUN "--events s.yaml --json out.json",
	       0, "");
	read_json();
	CU_ASSERT_EQUAL(completed(), 600);
	CU_ASSERT_TRUE(acted(0) > 0);
	CU_ASSERT_EQUAL(acted(1), 0);
	json_decref(root);
}

static void test_wrong_list(void)
{
	expect_line("printf 'events:\\n  - {action: dorp}\\n' >w.yaml; " RUN "--events w.yaml", 2,
		    "w.yaml:2:14: events[0].action: 'dorp' is unknown; choose drop");
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"loss", test_loss},
		{"marks", test_marks},
		{"failure", test_failure},
		{"pause", test_pause},
		{"spared_control", test_spared_control},
		{"wrong_list", test_wrong_list},
	};

	return COMMAND_RUN_SUITE("faults_command", "gen", tests, argc, argv);
}
