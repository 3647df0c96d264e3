/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/host/chance.h"

#include <sys/random.h>
#include <time.h>
#include <unistd.h>

uint64_t vl_host_secret_seed(void)
{
	struct timespec now;
	uint64_t seed;

	if (getrandom(&seed, sizeof(seed), 0) == sizeof(seed))
		return seed;
	/* A kernel that has none: at least no two runs are alike. */
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000007u ^ (uint64_t)now.tv_nsec << 20 ^
	       (uint64_t)getpid() << 40;
}
