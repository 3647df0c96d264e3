/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* `verbline lab --live` with workloads, whose ranks are on two workers. */

#include "tests/support/command.h"
#include "tests/vdev/support.h"

#include <stdio.h>
#include <string.h>

/* Slow links: other programs may have the CPUs for most of the time. */
static const char scenario[] =
	"name: live\n"
	"duration: 20s\n"
	"endpoints: [{name: host, count: 4}]\n"
	"switches: [{name: sw, buffer: 16MB}]\n"
	"links: [{from: host, to: sw, rate: 200Mb/s, delay: 1us}]\n"
	"workloads:\n"
	"  - {name: ring, kind: ring_all_reduce, size: 100KB, iterations: 3}\n"
	"  - {name: steps, kind: incast, size: 20KB, iterations: 3, after: ring}\n"
	"  - {name: disks, kind: storage, requests: 5, outstanding: 2, size: 10KB, after: ring}\n"
	"  - {name: stages, kind: pipeline, size: 10KB, microbatches: 3}\n"
	"  - {name: others, kind: background, size: 50KB}\n";

/* Nothing keeps those busy who wait: not for a workload of others, nor at many barriers. */
static const char waiting[] = "name: waiting\n"
			      "duration: 20s\n"
			      "endpoints: [{name: host, count: 6}]\n"
			      "switches: [{name: sw, buffer: 16MB}]\n"
			      "links: [{from: host, to: sw, rate: 200Mb/s, delay: 1us}]\n"
			      "workloads:\n"
			      "  - {name: two, kind: permutation, size: 10KB, "
			      "endpoints: [host1, host2]}\n"
			      "  - {name: others, kind: permutation, size: 10KB, "
			      "endpoints: [host3, host4], after: two}\n"
			      "  - {name: all, kind: all_to_all, size: 3KB, iterations: 50, "
			      "barrier: true, after: others}\n";

/* False: there are too few CPUs. */
static bool write_scenario(const char *text)
{
	char path[256];
	FILE *file;

	if (test_cpu_count() < 2) {
		skip_test("needs 2 CPUs");
		return false;
	}
	snprintf(path, sizeof(path), "%s/live.yaml", directory);
	file = fopen(path, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	fputs(text, file);
	fclose(file);
	return true;
}

static void workloads_end(void)
{
	if (!write_scenario(scenario))
		return;
	expect("$V lab --live --no-view live.yaml --json live.json", 0,
	       "Of 5 workloads, the one that was held back most: ");
	expect("/usr/bin/python3 -c \"import json; "
	       "print([w['name'] for w in json.load(open('live.json'))['workloads'] "
	       "if w['steps'] == w['steps_finished']])\"",
	       0, "['ring', 'steps', 'disks', 'stages'");
	/* Each message once: 3 x 24 of the ring. */
	expect("grep -c '\"messages_unexpected\": 0' live.json", 0, "5");
	expect("grep -c '\"messages_arrived\": 72' live.json", 0, "1");
}

static void those_who_wait_begin(void)
{
	if (!write_scenario(waiting))
		return;
	expect("$V lab --live --no-view live.yaml", 0, "Workload all took ");
}

static const struct test tests[] = {
	{"workloads_end", workloads_end},
	{"those_who_wait_begin", those_who_wait_begin},
};

int main(int argc, char **argv)
{
	return COMMAND_RUN_SUITE("vdev/lab_workload_command", NULL, tests, argc, argv);
}
