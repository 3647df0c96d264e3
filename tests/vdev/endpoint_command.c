/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* `verbline endpoint` and its clients as their users call them: alone, joined by memif, and wrong.
 */

#include "tests/support/command.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define PORT "--port null --ip 10.0.0.1/24 --no-hugepages "

static json_t *read_json(const char *name)
{
	char path[512];
	json_t *root;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	root = json_load_file(path, 0, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(root);
	return root;
}

static void test_alone(void)
{
	json_t *root;

	expect("$V endpoint " PORT "-D 100ms --json alone.json", 0,
	       "Listening on null, path MTU 4096: 10.0.0.1");
	root = read_json("alone.json");
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(root, "command")), "endpoint");
	CU_ASSERT_EQUAL(
		json_array_size(json_object_get(json_object_get(root, "configuration"), "service")),
		6);
	CU_ASSERT_PTR_NOT_NULL(json_object_get(json_object_get(root, "host"), "dpdk"));
	json_decref(root);
	/* With the JSON on the standard output nothing else is there. */
	expect("$V endpoint " PORT "-D 50ms --json - 2>/dev/null | head -c 1", 0, "{");
	expect("$V endpoint " PORT "-D 1 --service rping", 0, "rping port 7174\n");
}

/* The server runs for a while; its results say what came. */
static void serve(const char *client, int status, const char *text)
{
	char command[1024];

	snprintf(command, sizeof(command),
		 "rm -f server.log; $V endpoint --port memif:$PWD/m.sock,server --ip 10.0.0.2/24 "
		 "--no-hugepages "
		 "--json server.json -v > server.log 2>&1 & P=$!; "
		 "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do "
		 "grep -qs Listening server.log && break; sleep 0.2; done; "
		 "$V %s --port memif:$PWD/m.sock --ip 10.0.0.1/24 --no-hugepages; S=$?; "
		 "kill -INT $P; wait $P; exit $S",
		 client);
	expect(command, status, text);
}

static void test_together(void)
{
	json_t *root, *record;

	serve("rping -c -a 10.0.0.2 -C 5 -S 1000 -V --json client.json", 0,
	      "1 of 1 connections over, 0 failed, 5 pings");
	root = read_json("server.json");
	CU_ASSERT_EQUAL(
		json_integer_value(json_object_get(
			json_object_get(json_object_get(root, "services"), "rping"), "pings")),
		5);
	record = json_array_get(json_object_get(root, "session_records"), 0);
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(record, "service")), "rping");
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(record, "peer")), "10.0.0.1");
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(record, "end")),
			       "disconnected by the peer");
	json_decref(root);
	serve("exercise -a 10.0.0.2 --refused write-bad-rkey", 0, "remote access error");
}

/* --vlan on one side only: the other one says what it saw. */
static void test_vlan_of_one_side(void)
{
	serve("rping -c -a 10.0.0.2 -C 1 --vlan 7", 1, "unreachable: No route to host");
	expect("cat server.log", 0, "our address was asked for in VLAN 7, which is not ours");
}

static void test_nobody(void)
{
	expect("$V rping -a 10.0.0.9 " PORT, 1, "unreachable: No route to host");
	expect("$V udaddy -s fd00::1 " PORT, 1, "cannot connect: Cannot assign requested address");
}

/* Who stops reading ends the run as a signal does; its results are whole. */
static void test_closed_output(void)
{
	expect("timeout -s KILL 20 $V endpoint " PORT
	       "-D 60 --json closed.json 2>/dev/null | true; ls closed.*",
	       0, "closed.json\n");
	CU_ASSERT_STRING_EQUAL(output, "closed.json\n");
	json_decref(read_json("closed.json"));
}

/* No process has a number so large: it was killed. One that runs keeps its directory. */
static void test_stale_directories(void)
{
	if (run("mkdir -p /run/dpdk/verbline-9999999 /run/dpdk/verbline-$$")) {
		skip_test("/run/dpdk cannot be written");
		return;
	}
	expect("mkdir -p /run/dpdk/verbline-9999999 /run/dpdk/verbline-$$; "
	       "$V endpoint " PORT "-D 50ms >/dev/null; cd /run/dpdk; "
	       "ls -d verbline-9999999 2>/dev/null; rmdir verbline-$$ && echo kept",
	       0, "kept\n");
	CU_ASSERT_STRING_EQUAL(output, "kept\n");
}

static void test_wrong(void)
{
	expect_line("$V endpoint " PORT "--telemetry a/b", 2, "'a/b' is no name");
	expect_line("$V endpoint " PORT "-- --no-such-option", 2, "look at the options after '--'");
	expect_line("$V endpoint " PORT "--service nfs", 2,
		    "--service nfs: there are rping, ucmatose, udaddy, exercise, perftest and "
		    "control");
	expect_line("$V rping -c " PORT, 2, "a client needs --connect ADDRESS");
	expect_line("$V rping -s -a 10.0.0.2 " PORT, 2, "a server does not connect");
	expect_line("$V rping -a 10.0.0.256 " PORT, 2, "--connect 10.0.0.256: ");
	expect_line("$V exercise -a 10.0.0.2 --refused all " PORT, 2,
		    "--refused all: no such request; --help lists them");
	expect("$V rping -a 10.0.0.2 -S 26 " PORT, 2, "27");
	expect("$V endpoint --port null --no-hugepages", 2, "--ip");
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"an endpoint alone", test_alone},
		{"a server and its clients", test_together},
		{"a VLAN of one side", test_vlan_of_one_side},
		{"nobody is there", test_nobody},
		{"a closed output", test_closed_output},
		{"stale directories", test_stale_directories},
		{"wrong usage", test_wrong},
	};

	return COMMAND_RUN_SUITE("endpoint_command", NULL, tests, argc, argv);
}
