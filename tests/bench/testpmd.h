/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* dpdk-testpmd as a yardstick. */
#ifndef VERBLINE_BENCH_TESTPMD_H
#define VERBLINE_BENCH_TESTPMD_H

#include <stdbool.h>
#include <sys/types.h>

struct testpmd {
	pid_t pid;
	int output; /* read end of its standard output; -1: not running */
};

bool testpmd_is_installed(void);
/* Starts it; arguments: EAL's and testpmd's with "--" between, ended by NULL. 0 or -1. */
int testpmd_start(struct testpmd *testpmd, const char *const *arguments);
/* Reads its periodic statistics for so long and returns the highest figure of label ("Tx-pps",
 * "Rx-pps") that it printed; 0: none. */
double testpmd_best_rate(struct testpmd *testpmd, const char *label, double seconds);
void testpmd_stop(struct testpmd *testpmd);

#endif
