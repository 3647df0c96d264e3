/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What the tests of the live dataplane share: DPDK in ordinary memory, without any device. */
#ifndef VERBLINE_TESTS_VDEV_SUPPORT_H
#define VERBLINE_TESTS_VDEV_SUPPORT_H

#include "dataplane/runtime/eal.h"
#include "tests/support/suite.h"

#include <sched.h>
#include <stdio.h>

/* Exit status of a test that cannot run here. */
#define TEST_SKIPPED 77

static inline unsigned int test_cpu_count(void)
{
	cpu_set_t cpus;

	return sched_getaffinity(0, sizeof(cpus), &cpus) ? 0 : (unsigned int)CPU_COUNT(&cpus);
}

/* 0, or what main is to return. */
static inline int test_start_eal(unsigned int workers)
{
	const struct vl_eal_config config = {
		.worker_count = workers,
		.memory_mb = 192,
		.hugepages = VL_HUGEPAGES_NEVER,
	};
	struct vl_error error;

	if (test_cpu_count() < workers) {
		printf("skipped: needs %u CPUs\n", workers);
		return TEST_SKIPPED;
	}
	if (vl_eal_start(&config, &error)) {
		printf("EAL: %s\n", error.text);
		return 1;
	}
	return 0;
}

#endif
