/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The command line of the benchmarks that run on worker cores. */
#ifndef VERBLINE_TESTS_BENCH_OPTIONS_H
#define VERBLINE_TESTS_BENCH_OPTIONS_H

#include <stdbool.h>

struct bench_options {
	const char *json;        /* file, or NULL */
	double seconds, require; /* of each measurement, 0.1 to 600; the least result, 0: any */
	bool no_huge;
};

/* --json FILE, --seconds N or --quick (so many seconds), --no-huge, --require N. False: something
 * else was given. */
bool bench_options_parse(struct bench_options *options, int argc, char **argv, double quick);

#endif
