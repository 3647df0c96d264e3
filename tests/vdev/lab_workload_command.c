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

static void workloads_end(void)
{
	char path[256];
	FILE *file;

	if (test_cpu_count() < 2) {
		skip_test("needs 2 CPUs");
		return;
	}
	snprintf(path, sizeof(path), "%s/live.yaml", directory);
	file = fopen(path, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	fputs(scenario, file);
	fclose(file);
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

static const struct test tests[] = {
	{"workloads_end", workloads_end},
};

int main(int argc, char **argv)
{
	return COMMAND_RUN_SUITE("vdev/lab_workload_command", NULL, tests, argc, argv);
}
