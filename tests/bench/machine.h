/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Making a shared machine fit for a measurement, for the time of it. */
#ifndef VERBLINE_BENCH_MACHINE_H
#define VERBLINE_BENCH_MACHINE_H

#include <stdbool.h>

/* On a machine that does other work too, workers that are taken off their CPUs in turn wait for
 * each other most of the time, and the result says nothing about the program. Root can help it. */
bool machine_take_priority(int priority);
/* Runs the benchmark; where root can have megabytes of hugepages, in a child that has them, and
 * gives them back however the run ends. Returns what run returned, 1 if a signal ended it. */
int machine_run_with_hugepages(const char *program, unsigned int megabytes,
			       int (*run)(const void *context), const void *context);

#endif
