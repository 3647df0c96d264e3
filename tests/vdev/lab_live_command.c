/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* verbline lab --live: what it does as virtual time does, and what it says where it cannot. */

#include "tests/support/command.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

static json_t *load(const char *name)
{
	char path[256];
	json_t *root;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	root = json_load_file(path, 0, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(root);
	return root;
}

static json_int_t sum(const json_t *root, const char *list, const char *field)
{
	const json_t *element;
	json_int_t total = 0;
	size_t i;

	json_array_foreach(json_object_get(root, list), i, element) total +=
		json_integer_value(json_object_get(element, field));
	return total;
}

/* Both workers on one CPU: each is kept from running for milliseconds, again and again, while the
 * other one sends. What then comes after a pause fits into the headroom all the same, and no port
 * is paused for longer than the run. */
static void pauses_while_workers_are_away(void)
{
	json_t *root, *link;
	double end;
	size_t i;

	expect("$V lab victim-of-pfc --live --no-view -D 400ms --set warm_up=0ms --json pfc.json "
	       "-- --lcores 0@0,1@0,2@0",
	       0, "headroom of lossless groups is ");
	root = load("pfc.json");
	CU_ASSERT(sum(root, "priority_groups", "xoff") > 0);
	CU_ASSERT_EQUAL(sum(root, "priority_groups", "drops"), 0);
	end = json_number_value(json_object_get(root, "end_ns"));
	/* A worker that is away when the run ends last looked at its clock a while before. */
	CU_ASSERT(end >= 3e8);
	json_array_foreach(json_object_get(root, "links"), i, link)
	{
		CU_ASSERT(json_number_value(json_object_get(link, "paused_ns")) <= end);
		CU_ASSERT(json_number_value(json_object_get(link, "utilization")) <= 1.001);
	}
	json_decref(root);
}

/* The watchdog finds the storm, and what is in it is dropped. */
static void storms(void)
{
	json_t *root;

	expect("$V lab pfc-storm --live --no-view -D 200ms --set warm_up=20ms --json storm.json "
	       "--set switch.watchdog.detection_time=5ms "
	       "--set switch.watchdog.restoration_time=10ms "
	       "--set switch.watchdog.poll_interval=1ms; true",
	       0, "watchdog: ");
	root = load("storm.json");
	CU_ASSERT(sum(root, "links", "pauses_sent") > 0);
	CU_ASSERT(json_integer_value(
			  json_object_get(json_object_get(root, "totals"), "pfc_pause_tx")) > 0);
	json_decref(root);
}

static void says_what_differs(void)
{
	expect("$V lab incast-pfc-only --live --no-view -D 50ms --set warm_up=10ms "
	       "--set sample_interval=10us",
	       0, "sample_interval is 1ms at least");
	expect("$V lab leaf-spine-incast --live --no-view --set topology.endpoints=100", 1,
	       "100 endpoints are more than 2 workers run in real time: at most 64");
}

static const struct test tests[] = {
	{"pauses_while_workers_are_away", pauses_while_workers_are_away},
	{"storms", storms},
	{"says_what_differs", says_what_differs},
};

int main(int argc, char **argv)
{
	return COMMAND_RUN_SUITE("vdev/lab_live_command", NULL, tests, argc, argv);
}
