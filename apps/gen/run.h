/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* A run of the generator on a host: from queue pairs that connect to their last completion, and
 * what was measured on the way. */
#ifndef VERBLINE_GEN_RUN_H
#define VERBLINE_GEN_RUN_H

#include "apps/gen/application.h"
#include "apps/host/session.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* A share at a time. */
struct gen_reading {
	uint64_t time; /* ns; 0: none yet */
	struct vl_generate_totals totals;
};

/* What was measured of a share. The window is from the end of the warm-up to the last reading
 * before its end, or to its last completion. */
struct gen_share_result {
	const struct gen_share *share;
	uint64_t start, stop;          /* ns; stop UINT64_MAX: when all messages are done */
	struct gen_reading begin, end; /* of the window */
	struct gen_reading final;
	struct gen_reading second;    /* where the present second began */
	double least_rate, most_rate; /* of any whole second, in the unit of its rate per second */
	double least_goodput, most_goodput; /* bit/s of any whole second */
	uint32_t seconds;
};

/* Of an endpoint, the whole run. */
struct gen_endpoint_result {
	struct vl_counters counters;
	struct vl_endpoint_counters frames;
	uint64_t drops[VL_DROP_COUNT];
	uint64_t paused[VL_PFC_PRIORITIES]; /* ns, by the peer's pauses */
};

struct gen_run {
	const struct vl_command *command;
	struct vl_host_session *session;
	const struct gen_config *config;
	struct gen_application *applications; /* by port, then worker */
	uint32_t application_count;
	struct gen_share_result *shares;
	uint32_t share_count;
	struct gen_endpoint_result *endpoints; /* as applications */
	struct gen_streams *streams;           /* as applications */
	FILE *out;                             /* for people */
	bool is_terminal;

	/* Filled by gen_run */
	uint64_t begun, started, ended; /* ns: connecting, traffic, last reading */
	bool failed;                    /* said why */
	bool interrupted;
	/* Of all control connections; counters.qps 0: none known. */
	struct vl_control_counters peer;
	struct vl_control_hello peer_hello;
};

/* VL_EXIT_OK, or VL_EXIT_FAILED: said why. What was measured is in the run either way; workers have
 * stopped. */
int gen_run(struct gen_run *run);

#endif
