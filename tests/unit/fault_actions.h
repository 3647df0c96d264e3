/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The fault engine on a connection of our own stack in virtual time, for tests of its actions. */
#ifndef VERBLINE_TESTS_FAULT_ACTIONS_H
#define VERBLINE_TESTS_FAULT_ACTIONS_H

#include "tests/support/fault_bench.h"
#include "transport/psn.h"

#define RX     VL_FAULT_RECEIVED
#define TX     VL_FAULT_TRANSMITTED
#define OUT    VL_DIRECTION_TRANSMITTED
#define IN     VL_DIRECTION_RECEIVED
#define FIRST  VL_OP_WRITE_FIRST
#define LAST   VL_OP_WRITE_LAST
#define ACK    VL_OP_ACKNOWLEDGE
#define SECOND UINT64_C(1000000000)

static struct bench bench;

static inline const struct vl_fault_event_counters *counters(int side)
{
	return vl_fault_event_counters(bench.faults[side], 0);
}

/* One event on the server, at the packet with relative PSN 6 (the first of the fourth message). */
static inline void run_on_server(const struct vl_fault_event *event)
{
	bench_init(&bench);
	bench_faults(&bench, SERVER, event, 1);
	bench_open(&bench);
	bench_run(&bench, SECOND);
}

static inline struct vl_fault_event at_psn_6(enum vl_fault_action_kind kind)
{
	struct vl_fault_event event = bench_event("six", RX, "request", kind);

	event.match.psn = (struct vl_fault_range){6, 6};
	event.match.limit = 1;
	return event;
}

static inline uint32_t psn(uint32_t relative)
{
	return vl_psn_add(bench_first_psn(&bench), relative);
}

static inline const struct vl_counters *device_counters(int side)
{
	return vl_device_counters(bench_endpoint(&bench, side)->device);
}

#endif
