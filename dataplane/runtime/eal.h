/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Starts DPDK's Environment Abstraction Layer with arguments made here, so that a user never
 * needs to know its options. DPDK can be started once per process, and not again after it has
 * been stopped.
 *
 * Threads: the caller's thread becomes the main lcore, which runs no data path; each worker has a
 * CPU of its own. With no CPU left over, the main lcore floats over all of them and should sleep.
 */
#ifndef VERBLINE_RUNTIME_EAL_H
#define VERBLINE_RUNTIME_EAL_H

#include "dataplane/runtime/error.h"
#include "dataplane/runtime/tsc_clock.h"

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

#define VL_EAL_DEFAULT_MEMORY_MB 256
#define VL_MAX_WORKERS           64

enum vl_hugepages {
	VL_HUGEPAGES_IF_FREE, /* else ordinary memory, and vl_eal_notice says so */
	VL_HUGEPAGES_NEVER,
	VL_HUGEPAGES_REQUIRED, /* else an error */
};

struct vl_eal_config {
	unsigned int worker_count; /* 1 to VL_MAX_WORKERS */
	unsigned int memory_mb;    /* for mempools and rings; 0: VL_EAL_DEFAULT_MEMORY_MB */
	enum vl_hugepages hugepages;
	/* Names of the ports that will be opened, as vl_port_open takes them: of the NICs on the
	 * PCI bus those among them are taken, and no others. */
	const char *const *ports;
	unsigned int port_count;
	/* Name under which DPDK's telemetry socket serves: /run/dpdk/NAME/dpdk_telemetry.v2; NULL:
	 * there is none. Letters, digits, '-', '_' and '.'. */
	const char *telemetry;
	bool verbose; /* DPDK's own messages go to standard error */
	/* The user's own EAL options, passed on as they are; they win over ours. */
	int argument_count;
	char *const *arguments;
};

/* 0, or with *error (may be NULL) filled: -EALREADY started before in this process; -EINVAL
 * an option; -ENOSPC too few CPUs for the workers; -ENOMEM no (huge) memory; or what DPDK says. */
int vl_eal_start(const struct vl_eal_config *config, struct vl_error *error);
/* Workers must have stopped, ports been closed, mempools been freed. */
void vl_eal_stop(void);
bool vl_eal_is_running(void);
/* One line for the user about what was taken in place of what would be better; "" if nothing. */
const char *vl_eal_notice(void);
bool vl_eal_has_hugepages(void);
/* Nanoseconds since the start; all zero before. */
const struct vl_tsc_clock *vl_eal_clock(void);
unsigned int vl_eal_worker_count(void);
/* The lcore of worker 0 .. vl_eal_worker_count() - 1. */
unsigned int vl_eal_worker_lcore(unsigned int worker);

/* EAL options stand after the last argument that is exactly "--". Returns how many arguments
 * come before it; the rest, possibly none, goes to *eal_arguments and *eal_count. */
int vl_eal_split_arguments(int argc, char *const *argv, int *eal_count,
			   char *const **eal_arguments);

/* Writes the --lcores map for these CPUs ("0@0,1@1,2@2"); workers have those that others poll on
 * only when no more are left. 0, -ENOSPC: fewer CPUs than workers, or -ENOBUFS. */
int vl_eal_map_lcores(const cpu_set_t *cpus, const cpu_set_t *polled, unsigned int worker_count,
		      char *map, size_t size);

#endif
