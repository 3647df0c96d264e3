/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * A ring of InfiniBand switches, of which two processes run a part each, joined by memif: what goes
 * round the ring comes through both. By min-hop the circle of credits closes through the two
 * processes and nothing moves any more; by up-down it cannot.
 */

#include "tests/support/command.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char scenario[] =
	"name: ring\n"
	"fabric: infiniband\n"
	"duration: 2s\n"
	"warm_up: 100ms\n"
	"sample_interval: 100ms\n"
	"topology:\n"
	"  kind: ring\n"
	"  switches: 5\n"
	"  endpoints: 5\n"
	"  link: {rate: 1Gb/s, delay: 1us}\n"
	"  uplink: {rate: 1Gb/s, delay: 1us}\n"
	"infiniband: {buffer: 8KiB}\n"
	"flows:\n"
	"  - {name: a, from: host1, to: host3, size: 4KiB, depth: 8, timeout: 0}\n"
	"  - {name: b, from: host2, to: host4, size: 4KiB, depth: 8, timeout: 0}\n"
	"  - {name: c, from: host3, to: host5, size: 4KiB, depth: 8, timeout: 0}\n"
	"  - {name: d, from: host4, to: host1, size: 4KiB, depth: 8, timeout: 0}\n"
	"  - {name: e, from: host5, to: host2, size: 4KiB, depth: 8, timeout: 0}\n";

static void write_scenario(void)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/ring.yaml", directory);
	file = fopen(path, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	fputs(scenario, file);
	fclose(file);
}

/* Both parts, each on a CPU of its own where the machine has two. */
static void run_parts(const char *routing, int status)
{
	char command[1024];

	snprintf(command, sizeof(command),
		 "pin() { taskset -c $1 true 2>/dev/null && echo taskset -c $1; }; "
		 "part() { timeout 60 $(pin $1) ${V%% lab} lab ring.yaml --live --no-view "
		 "--set infiniband.routing=%s --nodes \"$2\" --port memif:$PWD/ring.sock,$3 "
		 "--json $3.json > $3.txt 2>&1; }; "
		 "part 0 'switch[1-3],host[1-3]' server & "
		 "part 1 'switch[45],host[45]' client; mine=$?; "
		 "wait $!; yours=$?; cat server.txt client.txt; exit $((mine + yours))",
		 routing);
	CU_ASSERT_EQUAL(run(command), status);
}

static json_t *load(const char *name)
{
	char path[256];
	json_t *root;

	snprintf(path, sizeof(path), "%s/%s.json", directory, name);
	root = json_load_file(path, 0, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(root);
	return root;
}

/* Messages that completed, of the flows that start in a part. */
static json_int_t count_messages(const char *part)
{
	json_t *root = load(part), *qp;
	json_int_t sum = 0;
	size_t index;

	json_array_foreach(json_object_get(root, "queue_pairs"), index, qp) sum +=
		json_integer_value(json_object_get(qp, "messages"));
	json_decref(root);
	return sum;
}

/* What is sent by one end of each link that leaves is received at the other. */
static void check_wires(const char *link)
{
	char command[256];

	snprintf(command, sizeof(command),
		 "grep -h 'lab: %s by' server.txt client.txt | grep -c 'lost 0, late 0, malformed "
		 "0'",
		 link);
	CU_ASSERT_EQUAL(run(command), 0);
	CU_ASSERT_STRING_EQUAL(output, "2\n");
}

static void test_a_circle_through_two_processes(void)
{
	json_int_t up_down, min_hop;

	write_scenario();
	run_parts("up_down", 0);
	up_down = count_messages("server");
	CU_ASSERT(up_down > 0);
	up_down += count_messages("client");
	check_wires("switch3-switch4");
	check_wires("switch5-switch1");

	run_parts("min_hop", 2); /* each 1: there is a deadlock */
	CU_ASSERT_PTR_NOT_NULL(strstr(output, "DEADLOCK: since"));
	min_hop = count_messages("server") + count_messages("client");
	printf("(up_down %lld messages, min_hop %lld) ", (long long)up_down, (long long)min_hop);
	CU_ASSERT(up_down > 4 * min_hop);
	check_wires("switch3-switch4");
	check_wires("switch5-switch1");
}

static void test_refusals(void)
{
	write_scenario();
	expect_line("$V --nodes host1 ring.yaml", 2, "--nodes and --port are for --live");
	expect_line("$V --live --port memif:x ring.yaml", 2, "--nodes says which nodes run here");
	expect_line("$V --live --nodes host9 --port memif:x ring.yaml", 2,
		    "no node of the scenario is called 'host9'");
	expect_line("$V --live --nodes host1 ring.yaml", 2,
		    "the link host1-switch1 leaves, as one of its nodes is here and the other is "
		    "not; --port says by which port");
	expect_line("$V --live --nodes '*' --port memif:x ring.yaml", 2, "nothing to join");
	expect_line("$V --live --nodes host1 --port host2-switch2=memif:x ring.yaml", 2,
		    "no link of that name leaves");
	expect_line("$V --live --nodes host1 --port nonsense ring.yaml", 2, "--port: ");
	expect_line("$V --live --nodes receiver --port memif:x incast-dcqcn", 2,
		    "only InfiniBand's links can leave the process");
	expect("$V --live --no-view --nodes host1 --port memif:$PWD/alone.sock --wait 200ms "
	       "ring.yaml",
	       1, "nobody answered at the other end of the link at port 0 of host1");
}

/* The two must run the same. */
static void test_another_scenario(void)
{
	write_scenario();
	expect("part() { timeout 60 ${V% lab} lab ring.yaml --live --no-view --set "
	       "infiniband.buffer=$3 --nodes \"$1\" --port memif:$PWD/ring.sock,$2 --wait 10s; }; "
	       "part 'switch[1-3],host[1-3]' server 8KiB & "
	       "part 'switch[45],host[45]' client 16KiB; status=$?; wait; exit $status",
	       1, "runs another scenario, or one of its options differs");
}

static const struct test tests[] = {
	{"a_circle_through_two_processes", test_a_circle_through_two_processes},
	{"refusals", test_refusals},
	{"another_scenario", test_another_scenario},
};

int main(int argc, char **argv)
{
	return COMMAND_RUN_SUITE("lab_split_command", "lab", tests, argc, argv);
}
