/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The time stamp counter, which is the clock of all live runs. */
#include "apps/doctor/checks.h"
#include "apps/doctor/sysfs.h"

#include <rte_cycles.h>

#include <math.h>
#include <time.h>

#define MEASURE_NS 200000000
/* What DPDK takes the rate from and what is measured may differ by this much; beyond it rates are
 * off by more than what is promised of them (0.1 %). */
#define RATE_ERROR 0.001

/* The counter and the time, from one moment as nearly as can be had. */
static void read_both(uint64_t *counter, double *time_ns)
{
	uint64_t closest = UINT64_MAX;

	for (unsigned int i = 0; i < 20; i++) {
		uint64_t before = rte_rdtsc(), after;
		struct timespec time;

		clock_gettime(CLOCK_MONOTONIC, &time);
		after = rte_rdtsc();
		if (after - before >= closest)
			continue;
		closest = after - before;
		*counter = before + closest / 2;
		*time_ns = (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
	}
}

static double measure_hz(void)
{
	const struct timespec wait = {.tv_nsec = MEASURE_NS};
	uint64_t first = 0, last = 0;
	double start = 0, end = 0;

	read_both(&first, &start);
	nanosleep(&wait, NULL);
	read_both(&last, &end);
	return (double)(last - first) * 1e9 / (end - start);
}

void check_clock(struct findings *findings)
{
	bool is_invariant =
		cpuinfo_has("flags", "constant_tsc") && cpuinfo_has("flags", "nonstop_tsc");
	double hz = measure_hz();
	char source[32];

	sysfs_text("/sys/devices/system/clocksource/clocksource0/current_clocksource", source,
		   sizeof(source));
	finding_add(findings, "clock", "", is_invariant ? FINDING_OK : FINDING_NEEDED, NULL,
		    is_invariant ? "the time stamp counter is invariant; it runs at %.6f GHz by "
				   "CLOCK_MONOTONIC, and the kernel's clock is %s"
				 : "the time stamp counter changes its rate (%.6f GHz now; the "
				   "kernel's clock is %s): rates and latencies cannot be trusted "
				   "on this CPU",
		    hz / 1e9, *source ? source : "not told");
	if (rte_get_tsc_hz() && fabs((double)rte_get_tsc_hz() / hz - 1) > RATE_ERROR)
		finding_add(findings, "clock", "", FINDING_NEEDED, NULL,
			    "DPDK takes the counter to run at %.6f GHz, which is %.3f %% off",
			    (double)rte_get_tsc_hz() / 1e9,
			    100 * ((double)rte_get_tsc_hz() / hz - 1));
	else if (rte_get_tsc_hz())
		finding_add(findings, "clock", "", FINDING_OK, NULL,
			    "DPDK's rate of the counter is right within %.0f ppm",
			    ceil(1e6 * fabs((double)rte_get_tsc_hz() / hz - 1)));
}
