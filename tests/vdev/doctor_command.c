/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The doctor as users call it, with ports that need nothing of the machine. */

#include "tests/support/command.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* The findings of the last command, which wrote them to out.json. */
static json_t *load(void)
{
	char path[256];
	json_t *root;

	snprintf(path, sizeof(path), "%s/out.json", directory);
	root = json_load_file(path, 0, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(root);
	return root;
}

/* The state of a topic's finding about a subject; "": there is none. */
static const char *state_of(const json_t *root, const char *topic, const char *subject)
{
	const json_t *finding;
	size_t index;

	json_array_foreach(json_object_get(root, "findings"), index, finding)
	{
		if (!strcmp(json_string_value(json_object_get(finding, "topic")), topic) &&
		    !strcmp(json_string_value(json_object_get(finding, "subject")), subject))
			return json_string_value(json_object_get(finding, "state"));
	}
	return "";
}

static void test_machine(void)
{
	static const char *const topics[] = {"SIMD", "CRC", "CPUs", "clock"};
	json_t *root;
	int status = run("$V --json out.json");

	/* A CPU without an invariant counter is told of, and is the one thing that may be needed.
	 */
	CU_ASSERT(status == 0 || (status == 1 && strstr(output, "LACK     clock")));
	CU_ASSERT_PTR_NOT_NULL(strstr(output, "hugepages"));
	root = load();
	for (unsigned int i = 0; i < sizeof(topics) / sizeof(topics[0]); i++)
		CU_ASSERT_STRING_NOT_EQUAL(state_of(root, topics[i], ""), "");
	json_decref(root);
}

static void test_looped_port(void)
{
	json_t *root;

	CU_ASSERT(run("$V --port ring:mirror,loop --json out.json") >= 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(output, "5 of 5 frames came in at the port itself"));
	root = load();
	CU_ASSERT_STRING_EQUAL(state_of(root, "PFC sent", "ring:mirror"), "ok");
	CU_ASSERT_STRING_EQUAL(state_of(root, "PFC received", "ring:mirror"), "ok");
	CU_ASSERT_STRING_EQUAL(state_of(root, "MTU", "ring:mirror"), "ok");
	json_decref(root);
}

static void test_two_ports(void)
{
	CU_ASSERT(run("$V --port ring:cable --port ring:cable") >= 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(output, "5 of 5 frames came in at ring:cable"));
}

/* A port from which nothing can be seen to come in: neither proved nor denied. */
static void test_null(void)
{
	json_t *root;

	CU_ASSERT(run("$V --port null --json out.json") >= 0);
	root = load();
	CU_ASSERT_STRING_EQUAL(state_of(root, "PFC sent", "null"), "unknown");
	CU_ASSERT_STRING_EQUAL(state_of(root, "PFC received", "null"), "unknown");
	CU_ASSERT_PTR_NOT_NULL(strstr(output, "its counter rose by 5"));
	/* There is no cable to loop. */
	CU_ASSERT_PTR_NULL(strstr(output, "cable"));
	json_decref(root);
}

static void test_needed(void)
{
	CU_ASSERT_EQUAL(run("$V --port af_packet:nosuch --json -"), 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(output, "no interface nosuch"));
	CU_ASSERT_PTR_NOT_NULL(strstr(output, "\"needed\": true"));
	expect_line("$V --port eth0 2>&1", 2, "unknown kind");
	expect("$V --kinds", 0, "af_packet:IF[,frames=N]");
	expect_line("$V one 2>&1", 2, "");
	expect("$V --port null --json /nonexistent/x 2>&1", 2, "/nonexistent/x");
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"machine", test_machine},     {"looped_port", test_looped_port},
		{"two_ports", test_two_ports}, {"null", test_null},
		{"needed", test_needed},
	};

	return COMMAND_RUN_SUITE("vdev/doctor_command", "doctor", tests, argc, argv);
}
