/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * CPUs that somebody polls on. A poller leaves nothing of its CPU to others, so two programs that
 * choose the same one have half of it each, in turns of milliseconds, while other CPUs idle.
 */
#ifndef VERBLINE_RUNTIME_POLLED_CPUS_H
#define VERBLINE_RUNTIME_POLLED_CPUS_H

#include <sched.h>

/* The CPUs to which workers of other processes are bound: threads with the name that DPDK gives
 * them, of any program, that may run on one CPU only. Processes that are not to be seen from here
 * are left out. */
void vl_find_polled_cpus(cpu_set_t *cpus);

#endif
