/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "tests/bench/options.h"

#include <getopt.h>
#include <stdlib.h>

bool bench_options_parse(struct bench_options *options, int argc, char **argv, double quick)
{
	static const struct option names[] = {
		{"json", required_argument, NULL, 'j'},
		{"seconds", required_argument, NULL, 's'},
		{"quick", no_argument, NULL, 'q'},
		{"no-huge", no_argument, NULL, 'n'},
		{"require", required_argument, NULL, 'r'},
		{NULL, 0, NULL, 0},
	};
	char *end = NULL;
	int name;

	while ((name = getopt_long(argc, argv, "", names, NULL)) != -1) {
		if (name == 'j')
			options->json = optarg;
		else if (name == 's')
			options->seconds = strtod(optarg, &end);
		else if (name == 'q')
			options->seconds = quick;
		else if (name == 'n')
			options->no_huge = true;
		else if (name == 'r')
			options->require = strtod(optarg, &end);
		else
			return false;
		if (end && *end)
			return false;
	}
	return optind == argc && options->seconds >= 0.1 && options->seconds <= 600;
}
