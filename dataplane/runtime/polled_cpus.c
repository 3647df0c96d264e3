/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/runtime/polled_cpus.h"

#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* As DPDK up to 22.07, up to 23.07, and later name them. */
static const char *const worker_names[] = {"lcore-worker-", "rte-worker-", "dpdk-worker"};

static bool is_worker(const char *process, const char *thread)
{
	char path[600], name[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%s/task/%s/comm", process, thread);
	file = fopen(path, "r");
	if (!file)
		return false;
	if (!fgets(name, sizeof(name), file))
		name[0] = '\0';
	fclose(file);
	for (size_t i = 0; i < sizeof(worker_names) / sizeof(worker_names[0]); i++) {
		if (!strncmp(name, worker_names[i], strlen(worker_names[i])))
			return true;
	}
	return false;
}

static void add_threads(const char *process, cpu_set_t *cpus)
{
	char path[300];
	const struct dirent *entry;
	cpu_set_t own;
	DIR *threads;

	snprintf(path, sizeof(path), "/proc/%s/task", process);
	threads = opendir(path);
	while (threads && (entry = readdir(threads))) {
		if (isdigit((unsigned char)entry->d_name[0]) && is_worker(process, entry->d_name) &&
		    !sched_getaffinity(atoi(entry->d_name), sizeof(own), &own) &&
		    CPU_COUNT(&own) == 1)
			CPU_OR(cpus, cpus, &own);
	}
	if (threads)
		closedir(threads);
}

void vl_find_polled_cpus(cpu_set_t *cpus)
{
	const struct dirent *entry;
	DIR *processes = opendir("/proc");

	CPU_ZERO(cpus);
	while (processes && (entry = readdir(processes))) {
		if (isdigit((unsigned char)entry->d_name[0]) && atoi(entry->d_name) != getpid())
			add_threads(entry->d_name, cpus);
	}
	if (processes)
		closedir(processes);
}
