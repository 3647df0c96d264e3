/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * One executable is one CUnit suite: a table of named tests, and main calls run_suite. Arguments
 * select tests by name; none runs all. The last line printed is "SUITE: N passed, N failed", with
 * ", N skipped" if there were any. Exit status: 0 all passed, 1 not, 77 all skipped.
 */
#ifndef VERBLINE_TESTS_SUITE_H
#define VERBLINE_TESTS_SUITE_H

#include <CUnit/CUnit.h>
#include <stdint.h>

struct test {
	const char *name;
	void (*function)(void);
};

/* Said by a test that cannot run on this machine, before it returns: it counts as skipped. */
void skip_test(const char *reason);

/* How many of its many repetitions a long random test should make: full, or the percentage of it
 * that the environment's VERBLINE_TEST_EFFORT says (1 to 100; anything else counts as 100). With a
 * sanitizer, which makes everything ten to twenty times as dear, that is of a quarter. At least 1.
 */
uint64_t test_repetitions(uint64_t full);

int run_suite(const char *suite, const struct test *tests, unsigned int count, int argc,
	      char **argv);
#define RUN_SUITE(suite, tests, argc, argv)                                                        \
	run_suite(suite, tests, sizeof(tests) / sizeof((tests)[0]), argc, argv)

#endif
