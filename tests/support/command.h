/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * The program as its users call it: shell commands run in a directory of the suite's own, with
 * $V the program (or program and subcommand) and $P the captures of pcaps/.
 */
#ifndef VERBLINE_TESTS_COMMAND_H
#define VERBLINE_TESTS_COMMAND_H

#include "tests/support/suite.h"

#define COMMAND_OUTPUT (1 << 18)
/* What the last command printed on both of its streams, ended by a zero. */
extern char output[COMMAND_OUTPUT];
extern char directory[]; /* from command_run_suite on */

/* subcommand: NULL, or what $V says behind the program. Runs the suite and removes the directory.
 */
int command_run_suite(const char *suite, const char *subcommand, const struct test *tests,
		      unsigned int count, int argc, char **argv);
#define COMMAND_RUN_SUITE(suite, subcommand, tests, argc, argv)                                    \
	command_run_suite(suite, subcommand, tests, sizeof(tests) / sizeof((tests)[0]), argc, argv)

/* The command's exit status, or -1. */
int run(const char *command);
/* Asserts the exit status, and that output contains text; says what was there if not. */
void expect(const char *command, int status, const char *text);
/* The same of one line, and no more. */
void expect_line(const char *command, int status, const char *text);

#endif
