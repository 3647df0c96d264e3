/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * The memory of traffic on one device: what messages carry comes from one half, what arrives goes
 * to the other; all queue pairs share both. As the peers name it, it lies at a fixed address, so
 * that packets are the same in each run.
 */
#ifndef VERBLINE_GENERATE_MEMORY_H
#define VERBLINE_GENERATE_MEMORY_H

#include "transport/verbline.h"

#include <stdint.h>

#define VL_TRAFFIC_MEMORY_ADDRESS UINT64_C(0x100000000)
/* What messages carry repeats with this, bytes, so that it can be sent without being read
 * (dataplane/constant_payload.h); so far that is longer than this, the rest is zero. */
#define VL_TRAFFIC_PATTERN_PERIOD 4096u
#define VL_TRAFFIC_PATTERN_LENGTH (UINT64_C(16) << 20)

struct vl_traffic_memory {
	struct vl_pd *pd;
	struct ibv_mr *mr;
	uint8_t *memory, *own_memory;
	uint32_t largest_message;
};

/* Of both halves; a cache line and a GRH more than the messages need. */
static inline uint64_t vl_traffic_memory_size(uint32_t largest_message)
{
	/* Half of it is where messages arrive, atomics among them: a multiple of eight. */
	return 2 * (((uint64_t)largest_message + 64 + 40 + 7) & ~UINT64_C(7));
}

/* memory: vl_traffic_memory_size bytes that outlive it, or NULL: ordinary memory. 0 or a negative
 * errno value. */
int vl_traffic_memory_open(struct vl_traffic_memory *memory, struct vl_device *device,
			   uint32_t largest_message, void *bytes);
/* Fine on zeros. */
void vl_traffic_memory_close(struct vl_traffic_memory *memory);

/* Bytes from the beginning that hold the pattern; nobody here writes to them. */
static inline uint64_t vl_traffic_pattern_length(const struct vl_traffic_memory *memory)
{
	uint64_t half = vl_traffic_memory_size(memory->largest_message) / 2;

	return half < VL_TRAFFIC_PATTERN_LENGTH ? half : VL_TRAFFIC_PATTERN_LENGTH;
}

static inline uint64_t vl_traffic_source_address(void)
{
	return VL_TRAFFIC_MEMORY_ADDRESS;
}
static inline uint64_t vl_traffic_sink_address(const struct vl_traffic_memory *memory)
{
	return VL_TRAFFIC_MEMORY_ADDRESS + vl_traffic_memory_size(memory->largest_message) / 2;
}

#endif
