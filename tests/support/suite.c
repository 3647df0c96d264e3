/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "tests/support/suite.h"

#include "apps/sanitizers.h"

#include <CUnit/Basic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if VL_ADDRESS_SANITIZER
#define DEARER 4
#else
#define DEARER 1
#endif

/* What meson test takes for "skipped". */
#define EXIT_STATUS_SKIPPED 77

static unsigned int skipped;

void skip_test(const char *reason)
{
	printf("skipped: %s ", reason);
	skipped++;
}

uint64_t test_repetitions(uint64_t full)
{
	const char *text = getenv("VERBLINE_TEST_EFFORT");
	char *end = NULL;
	uint64_t percent = text ? strtoull(text, &end, 10) : 0, repetitions;

	if (!text || end == text || *end || percent < 1 || percent > 100)
		percent = 100;
	repetitions = full * percent / (100 * DEARER);
	return repetitions ? repetitions : 1;
}

static bool is_selected(const char *name, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (!strcmp(name, argv[i]))
			return true;
	}
	return argc < 2;
}

int run_suite(const char *suite, const struct test *tests, unsigned int count, int argc,
	      char **argv)
{
	CU_pSuite registered;
	unsigned int run, failed;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (CU_initialize_registry() != CUE_SUCCESS)
		return 1;
	registered = CU_add_suite(suite, NULL, NULL);
	if (!registered)
		return 1;
	for (unsigned int i = 0; i < count; i++) {
		if (is_selected(tests[i].name, argc, argv) &&
		    !CU_add_test(registered, tests[i].name, tests[i].function))
			return 1;
	}
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	run = CU_get_number_of_tests_run();
	failed = CU_get_number_of_tests_failed();
	CU_cleanup_registry();
	printf("%s: %u passed, %u failed", suite, run - failed - skipped, failed);
	if (skipped)
		printf(", %u skipped", skipped);
	printf("\n");
	if (failed || !run)
		return 1;
	return skipped == run ? EXIT_STATUS_SKIPPED : 0;
}
