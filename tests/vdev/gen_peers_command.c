/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* `verbline gen` and its peers as processes of their own, joined by memif: an endpoint by the
 * control service and by the connection manager, another generator by numbers that both are given;
 * several ports and workers. What the machine's load changes (times, rates) is not looked at. */

#include "tests/support/command.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define WAIT_FOR(text, log)                                                                        \
	"for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25; do "          \
	"grep -q '" text "' " log " 2>/dev/null && break; sleep 0.2; done; "
/* Runs a generator while the command in the background lives. */
#define BESIDE(background, text, generator)                                                        \
	"rm -f far.log m.sock n.sock; " background                                                 \
	" > far.log 2>&1 & P=$!; " WAIT_FOR(text, "far.log") generator                             \
		"; S=$?; kill -INT $P; wait $P || cat far.log; exit $S"
#define ENDPOINT                                                                                   \
	"$V endpoint --port memif:$PWD/m.sock,server --ip 10.0.0.2/24 --no-hugepages --quiet -D "  \
	"60s"
#define NEAR "--port memif:$PWD/m.sock --ip 10.0.0.1/24 --to 10.0.0.2 --no-hugepages "

static json_t *root;

static void read_json(void)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/near.json", directory);
	root = json_load_file(path, 0, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(root);
}

static json_int_t of_group(size_t index, const char *name)
{
	return json_integer_value(
		json_object_get(json_array_get(json_object_get(root, "groups"), index), name));
}

/* Every service to an endpoint, which makes its side by itself. The clock is that of one host, at
 * two places. Datagrams and UC may be lost where a process was not scheduled for long. */
static void test_control(void)
{
	json_t *one_way;

	expect("printf 'groups:\\n"
	       "- {name: rc, qps: 3, messages: 20, mix: \"write_imm:3000, read:5000\"}\\n"
	       "- {name: uc, transport: UC, messages: 20, verb: write, size: 9000, depth: 2}\\n"
	       "- {name: ud, transport: UD, messages: 20, verb: send, qps: 2, depth: 2}\\n' > "
	       "c.yaml; " BESIDE(ENDPOINT, "Listening",
				 "$V gen c.yaml " NEAR "--json near.json --per-qp"),
	       0, "All checks passed");
	/* --quiet: nothing of who comes and goes. */
	expect("grep -c '^control:' far.log", 1, "0");
	read_json();
	CU_ASSERT_EQUAL(of_group(0, "message_tx"), 60);
	CU_ASSERT_EQUAL(of_group(1, "message_tx"), 20);
	CU_ASSERT_EQUAL(of_group(2, "message_tx"), 40);
	CU_ASSERT_EQUAL(json_array_size(json_object_get(root, "qps")), 6);
	one_way = json_object_get(json_array_get(json_object_get(root, "groups"), 0),
				  "one_way_latency");
	CU_ASSERT_TRUE(json_integer_value(json_object_get(one_way, "count")) > 0);
	CU_ASSERT_TRUE(json_is_false(json_object_get(one_way, "clock_is_shared")));
	CU_ASSERT_TRUE(json_integer_value(json_object_get(one_way, "clock_error_ns")) > 0);
	CU_ASSERT_PTR_NOT_NULL(
		strstr(json_string_value(json_object_get(one_way, "clock")), "this host"));
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(one_way, "arrival_clock")), "TSC");
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(one_way, "arrival_clock_error_ns")), 0);
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(one_way, "clock_difference_error_ns")),
			json_integer_value(json_object_get(one_way, "clock_error_ns")));
	json_decref(root);
}

/* A run that did not come to its end has not passed, whatever was measured before. */
static void test_broken(void)
{
	expect("rm -f far.log near.log m.sock; " ENDPOINT " > far.log 2>&1 & P=$!; " WAIT_FOR(
		       "Listening", "far.log") "$V gen -D 60 " NEAR
					       "--json near.json > near.log 2>&1 & G=$!; " WAIT_FOR(
						       "Gb/s",
						       "near.log") "kill -9 $P; wait $G; S=$?; cat "
								   "near.log; exit $S",
	       1, "run: it did not come to its end: ");
	CU_ASSERT_PTR_NULL(strstr(output, "All checks passed"));
	CU_ASSERT_PTR_NOT_NULL(strstr(output, "the link went down"));
	read_json();
	CU_ASSERT_TRUE(json_is_false(
		json_object_get(json_array_get(json_object_get(root, "checks"), 0), "passed")));
	json_decref(root);
}

/* The connection manager, to the echo of ucmatose: its messages have 100 bytes. */
static void test_cm(void)
{
	expect(BESIDE(ENDPOINT " --service ucmatose", "Listening",
		      "$V gen -R --verb send -s 100 -n 10 -t 1 -q 3 " NEAR "--json near.json"),
	       0, "All checks passed");
	read_json();
	CU_ASSERT_EQUAL(of_group(0, "message_tx"), 30);
	CU_ASSERT_EQUAL(of_group(0, "failed_qps"), 0);
	json_decref(root);
	expect(BESIDE(ENDPOINT " --service rping", "Listening",
		      "$V gen -R --verb send -s 100 -n 1 " NEAR),
	       1, "reject");
}

/* Whom the peer paused is told for how long, and which class. */
static void test_paused(void)
{
	const json_t *paused;

	expect("printf 'events:\n- {on: received, opcode: data, nth: 5, action: pause, "
	       "priorities: 3, for: 5ms}\n' > pause.yaml; " BESIDE(
		       ENDPOINT " --events pause.yaml", "Listening",
		       "$V gen -n 20 -s 4KiB " NEAR "--json near.json"),
	       0, "paused by the peer's PFC: class 3 of memif:");
	/* And the other way. */
	expect(BESIDE(ENDPOINT, "Listening",
		      "$V gen -n 20 -s 4KiB --verb read --events pause.yaml " NEAR
		      ">/dev/null; kill -INT $P; wait $P; cat far.log"),
	       0, "paused by the peer's PFC: class 3 of memif:");
	read_json();
	paused = json_object_get(json_array_get(json_object_get(root, "ports"), 0), "paused_ns");
	CU_ASSERT_EQUAL(json_array_size(paused), 8);
	for (size_t i = 0; i < 8; i++)
		CU_ASSERT_EQUAL(json_integer_value(json_array_get(paused, i)) > 0, i == 3);
	json_decref(root);
}

/* Two generators that are told of each other; a memory's key is the same in each run. Whom it
 * cannot reach, and why queue pairs failed, is said. */
static void test_given(void)
{
	expect("$V gen --port null --ip 10.0.0.1/24 --to 10.0.0.2 --no-hugepages --remote-qpn 2 "
	       "--verb send -D 50ms",
	       1, "queue pair 0 cannot be connected to 10.0.0.2: No route to host");
	expect("$V gen --port null --ip 10.0.0.1/24 --to 10.0.0.2 --no-hugepages --remote-qpn 2 "
	       "--verb send -D 50ms -s 3000 | sed -n 's/.*memory at \\(.*\\), .* rkey \\(.*\\)/"
	       "--remote-addr \\1 --rkey \\2/p' > memory; cat memory",
	       0, "--rkey 0x");
	expect(BESIDE("$V gen --port memif:$PWD/m.sock,server --ip 10.0.0.2/24 --to 10.0.0.1 "
		      "--no-hugepages --no-checks --remote-qpn 0x200 --remote-psn 77 "
		      "--local-qpn 0x300 --local-psn 16777200 -q 2 -s 3000 --rate 1/s -D 20s "
		      "$(cat memory)",
		      "Here",
		      "$V gen " NEAR "--remote-qpn 0x300 --remote-psn 16777200 --local-qpn 0x200 "
		      "--local-psn 77 -q 2 -s 3000 -n 40 -t 4 -u 15 $(cat memory) "
		      "--json near.json"),
	       0, "QPN 0x200 and on, PSN 77");
	read_json();
	CU_ASSERT_EQUAL(of_group(0, "message_tx"), 80);
	json_decref(root);
}

/* Each group leaves by its own port; two links, and a peer at the end of each. */
static void test_ports(void)
{
	const json_t *ports, *counters;

	expect("printf 'groups:\\n- {messages: 20, size: 2000}\\n"
	       "- {messages: 30, size: 2000, port: 1}\\n' > p.yaml; " BESIDE(
		       "$V endpoint --port memif:$PWD/m.sock,server --port "
		       "memif:$PWD/n.sock,server --ip 10.0.0.2/24@0 --ip 10.0.0.2/24@1 "
		       "--no-hugepages --quiet -D 60s",
		       "Listening",
		       "$V gen p.yaml --port memif:$PWD/m.sock --port memif:$PWD/n.sock --ip "
		       "10.0.0.1/24@0 --ip 10.0.0.1/24@1 --to 10.0.0.2 --no-hugepages "
		       "--json near.json"),
	       0, "All checks passed");
	read_json();
	ports = json_object_get(root, "ports");
	CU_ASSERT_EQUAL(json_array_size(ports), 2);
	for (size_t i = 0; i < 2; i++) {
		counters = json_object_get(json_array_get(ports, i), "counters");
		CU_ASSERT_TRUE(json_integer_value(json_object_get(counters, "data_bytes_tx")) >=
			       (json_int_t)(i ? 60000 : 40000));
	}
	CU_ASSERT_EQUAL(of_group(1, "message_tx"), 30);
	json_decref(root);
}

/* Queue pairs are spread over workers, each with a control connection of its own. */
static void test_workers(void)
{
	size_t busy = 0, i;
	json_t *entry;

	if (run("test $(nproc) -ge 2")) {
		skip_test("there is one CPU only");
		return;
	}
	expect("$V gen --loopback --no-hugepages --workers 2 -q 5 -n 50 -s 3000 --json near.json",
	       0, "All checks passed");
	read_json();
	CU_ASSERT_EQUAL(of_group(0, "message_tx"), 250);
	json_array_foreach(json_object_get(root, "endpoints"), i, entry)
	{
		busy += json_integer_value(json_object_get(json_object_get(entry, "counters"),
							   "message_tx")) >= 100;
	}
	CU_ASSERT_EQUAL(busy, 2);
	json_decref(root);
}

static const struct test tests[] = {
	{"control", test_control},           {"broken", test_broken}, {"cm", test_cm},
	{"paused by the peer", test_paused}, {"given", test_given},   {"ports", test_ports},
	{"workers", test_workers},
};

int main(int argc, char **argv)
{
	return COMMAND_RUN_SUITE("gen_peers_command", NULL, tests, argc, argv);
}
