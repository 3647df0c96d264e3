/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What the same cores, memory and rings do when they do nothing but what cannot be saved. EAL is to
 * be running with two workers. */
#ifndef VERBLINE_BENCH_LIVE_LIMIT_H
#define VERBLINE_BENCH_LIVE_LIMIT_H

#include "dataplane/runtime/error.h"

#include <stdint.h>

struct live_limit_config {
	uint8_t *source, *sink; /* of memory_size bytes, a multiple of packet */
	uint32_t memory_size;
	uint32_t packet; /* bytes */
	uint32_t mempool_size, ring_size;
	double seconds; /* each */
};

/* Gb/s. One core: copies each packet into a buffer and computes a CRC of the copy. */
int live_limit_one_core(const struct live_limit_config *config, double *gbps,
			struct vl_error *error);
/* Two cores: one does that and hands the buffer over, the other computes the CRC again and copies
 * the packet out. */
int live_limit_two_cores(const struct live_limit_config *config, double *gbps,
			 struct vl_error *error);

#endif
