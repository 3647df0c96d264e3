/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Endpoints around one switch in virtual time, and an engine of workloads on them. */
#ifndef VERBLINE_TESTS_WORKLOAD_BENCH_H
#define VERBLINE_TESTS_WORKLOAD_BENCH_H

#include "dataplane/network.h"
#include "dataplane/workload/engine.h"
#include "tests/support/hosts.h"

#define BENCH_RATE        UINT64_C(100000000000)
#define BENCH_PROPAGATION UINT64_C(1000)
#define BENCH_LARGEST     (1u << 20)
#define BENCH_MAX_HOSTS   32u

struct workload_bench {
	struct vl_network *network;
	struct vl_endpoint *endpoints[BENCH_MAX_HOSTS];
	struct vl_workload_engine *engine;
};
extern struct workload_bench bench;

/* Links of BENCH_RATE and BENCH_PROPAGATION, which lose frames with a probability. */
void bench_set_up(uint32_t hosts, double loss);
void bench_tear_down(void);
/* From now on nothing that the endpoint sends arrives. */
void bench_lose(uint32_t host);
/* Rank n is endpoint n; one round of messages of 64 KiB, 8 outstanding. */
struct vl_workload_config bench_workload(const char *name, const struct vl_workload_plan *plan);
void bench_add(const struct vl_workload_config *config);
/* Connects, and runs until all has finished or so long (ns). */
void bench_run(uint64_t until);
/* Of a workload that has finished: each step has started when all that it waits for was over, and
 * once; its messages have arrived once. */
void bench_check_steps(uint32_t number);

#endif
