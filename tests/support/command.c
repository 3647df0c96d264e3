/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "tests/support/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

char output[COMMAND_OUTPUT];
char directory[] = "/tmp/verbline-test-XXXXXX";
static const char *behind_program = "";

int run(const char *command)
{
	const char *source = getenv("VERBLINE_SOURCE_ROOT");
	const char *build = getenv("VERBLINE_BUILD_ROOT");
	char line[4096];
	size_t length;
	FILE *pipe;
	int status;

	snprintf(line, sizeof(line),
		 "cd %s && V=\"%s/apps/verbline%s\" && P=%s/pcaps && { %s ; } 2>&1", directory,
		 build ? build : "build", behind_program, source ? source : ".", command);
	pipe = popen(line, "r");
	CU_ASSERT_PTR_NOT_NULL_FATAL(pipe);
	length = fread(output, 1, sizeof(output) - 1, pipe);
	output[length] = 0;
	status = pclose(pipe);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void expect(const char *command, int status, const char *text)
{
	int found = run(command);

	CU_ASSERT_EQUAL(found, status);
	CU_ASSERT_PTR_NOT_NULL(strstr(output, text));
	if (found != status || !strstr(output, text))
		printf("%s\nended with %d instead of %d, or lacks \"%s\":\n%s\n", command, found,
		       status, text, output);
}

void expect_line(const char *command, int status, const char *text)
{
	const char *end;

	expect(command, status, text);
	end = strchr(output, '\n');
	CU_ASSERT(end && !end[1]);
}

int command_run_suite(const char *suite, const char *subcommand, const struct test *tests,
		      unsigned int count, int argc, char **argv)
{
	static char behind[64];
	char remove[64];
	int status;

	if (subcommand)
		snprintf(behind, sizeof(behind), " %s", subcommand);
	behind_program = behind;
	if (!mkdtemp(directory))
		return 1;
	status = run_suite(suite, tests, count, argc, argv);
	snprintf(remove, sizeof(remove), "rm -rf %s", directory);
	return system(remove) ? 1 : status;
}
