/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Random reliable-connection traffic between two hosts in virtual time, and the model that watches
 * it: which message comes next, what it holds, what each byte of memory is to be. Every choice
 * follows from the seed.
 *
 * Memory is divided into slots, each of one message at a time and otherwise filled with a canary
 * byte. A message's bytes are compared where they were to arrive, then turned back into canary: so
 * whatever else writes there, then or later, is found.
 */
#ifndef VERBLINE_TESTS_RC_TRAFFIC_H
#define VERBLINE_TESTS_RC_TRAFFIC_H

#include "dataplane/network.h"
#include "transport/random.h"

#include <stdbool.h>
#include <stdint.h>

#define TRAFFIC_DEPTH    16u /* messages outstanding in a direction */
#define TRAFFIC_RECEIVES 16u /* receive requests of a queue pair */
#define TRAFFIC_LARGEST  65536u
#define TRAFFIC_SLOT     (TRAFFIC_LARGEST + 4096u)
#define TRAFFIC_MAX_QPS  8u
#define TRAFFIC_SGES     4u
#define TRAFFIC_COUNTERS 4u

struct traffic_parameters {
	uint64_t seed;
	uint64_t messages; /* in all, both directions */
	unsigned int connections;
	enum ibv_mtu mtu;
	struct vl_impairments impairments[2]; /* from host 0 to 1, and back */
	bool through_switch;
	bool shared_receives; /* SRQs */
	bool unlimited_credits;
	bool late_receives; /* let the receivers run dry */
	uint8_t rd_atomic;
	uint8_t timeout;
	uint8_t retry_count, rnr_retry;
	uint32_t largest;   /* message, bytes; <= TRAFFIC_LARGEST */
	bool ends_in_error; /* each connection's last request is a wrong one */
	bool stays_dead;    /* both links fail at half of the messages */
};

struct traffic_result {
	uint64_t messages;         /* verified */
	uint64_t bytes;            /* of their payload */
	uint64_t lost_connections; /* that ran out of retries, as they may on a lossy link */
	uint64_t errors_provoked;  /* wrong requests that ended as they should */
	uint64_t retransmitted, corrupted, dropped, duplicated, reordered, rnr_naks;
	uint64_t digest; /* of all completions and their times */
	uint64_t virtual_time;
	char failure[256]; /* what went wrong first; empty: nothing */
};

void traffic_run(const struct traffic_parameters *parameters, struct traffic_result *result);

#endif
