/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* CPUs: instructions, the CRC that they make possible and its speed, frequency, and isolation. */
#include "apps/doctor/checks.h"
#include "apps/doctor/sysfs.h"
#include "transport/wire/cpu.h"
#include "transport/wire/icrc.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define CRC_LENGTH 4096u
#define CRC_ROUNDS 2000u
/* The least time of several tries is what the CPU does undisturbed. */
#define CRC_TRIES 10u
/* A CRC below this is a table's, not an instruction's. */
#define SLOW_CRC_GBS 2.0

static double measure_crc(void)
{
	static uint8_t data[CRC_LENGTH];
	double best = 0;
	uint32_t crc = 0;

	for (unsigned int i = 0; i < CRC_LENGTH; i++)
		data[i] = (uint8_t)(i * 31);
	for (unsigned int attempt = 0; attempt < CRC_TRIES; attempt++) {
		struct timespec start, end;
		double rate;

		clock_gettime(CLOCK_MONOTONIC, &start);
		for (unsigned int i = 0; i < CRC_ROUNDS; i++)
			crc = vl_crc32(crc, data, sizeof(data));
		clock_gettime(CLOCK_MONOTONIC, &end);
		rate = (double)CRC_LENGTH * CRC_ROUNDS /
		       ((double)(end.tv_sec - start.tv_sec) * 1e9 +
			(double)(end.tv_nsec - start.tv_nsec));
		if (rate > best)
			best = rate;
	}
	/* The result is used, so that the work is done. */
	return crc == 1 ? best * 1.0000001 : best;
}

static void check_instructions(struct findings *findings)
{
	static const char *const wanted[] = {"sse4_2", "pclmulqdq", "avx2", "avx512f",
					     "vpclmulqdq"};
	char has[128] = "", lacks[128] = "";

	for (unsigned int i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		char *list = cpuinfo_has("flags", wanted[i]) ? has : lacks;

		snprintf(list + strlen(list), sizeof(has) - strlen(list), " %s", wanted[i]);
	}
	finding_add(findings, "SIMD", "",
		    vl_cpu_has(VL_CPU_CARRY_LESS_MULTIPLY) ? FINDING_OK : FINDING_LACK, NULL,
		    "the CPU has%s%s%s", *has ? has : " none of what is used",
		    *lacks ? "; it lacks" : "", lacks);
}

static void check_crc(struct findings *findings)
{
	double rate = measure_crc();
	bool is_slow = rate < SLOW_CRC_GBS;

	finding_add(
		findings, "CRC", "", is_slow ? FINDING_LACK : FINDING_OK,
		is_slow ? "apt install libisal-dev && meson setup --reconfigure build" : NULL,
		"%s, %.1f GB/s over 4096 bytes in the cache: %.0f ns a packet, %.0f Gb/s a core",
		vl_crc32_implementation(), rate, CRC_LENGTH / rate, rate * 8);
}

static void check_governor(struct findings *findings)
{
	char governor[32];

	if (!sysfs_text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", governor,
			sizeof(governor)))
		finding_add(
			findings, "frequency", "", FINDING_UNKNOWN, NULL,
			"the kernel does not set the CPUs' frequency here (a virtual machine?)");
	else if (!strcmp(governor, "performance"))
		finding_add(findings, "frequency", "", FINDING_OK, NULL,
			    "the governor is performance");
	else
		finding_add(findings, "frequency", "", FINDING_LACK,
			    "cpupower frequency-set -g performance",
			    "the governor is %s: workers run slower after each pause", governor);
}

static const char *isolation_command(int last)
{
	char cpus[16];

	snprintf(cpus, sizeof(cpus), last > 1 ? "1-%d" : "%d", last);
	return finding_remedy("sed -i 's/^GRUB_CMDLINE_LINUX=\"/&isolcpus=%s nohz_full=%s "
			      "rcu_nocbs=%s /' /etc/default/grub && update-grub && reboot",
			      cpus, cpus, cpus);
}

static void check_cpus(struct findings *findings)
{
	cpu_set_t cpus;
	int count = sched_getaffinity(0, sizeof(cpus), &cpus) ? 0 : CPU_COUNT(&cpus);
	char isolated[256];

	sysfs_text("/sys/devices/system/cpu/isolated", isolated, sizeof(isolated));
	finding_add(findings, "CPUs", "", count > 1 ? FINDING_OK : FINDING_LACK, NULL,
		    "%d for this program%s", count,
		    count > 1 ? "" : ": one worker, disturbed by all else that runs");
	if (*isolated)
		finding_add(findings, "isolation", "", FINDING_OK, NULL,
			    "CPUs %s are kept free of other programs; start verbline on them "
			    "with taskset -c",
			    isolated);
	else
		finding_add(findings, "isolation", "", FINDING_LACK,
			    count > 1 ? isolation_command(count - 1) : NULL,
			    "no CPU is kept free of other programs: they steal time from workers, "
			    "which shows in latencies above the 99th percentile");
}

void check_processor(struct findings *findings)
{
	check_instructions(findings);
	check_crc(findings);
	check_cpus(findings);
	check_governor(findings);
}
