/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/generate/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Copies what is there already: a worker does this while its other queue pairs wait. */
static void write_pattern(uint8_t *bytes, uint64_t length)
{
	uint64_t done = VL_TRAFFIC_PATTERN_PERIOD < length ? VL_TRAFFIC_PATTERN_PERIOD : length;

	for (uint64_t i = 0; i < done; i++)
		bytes[i] = (uint8_t)(i + (i >> 8));
	while (done < length) {
		uint64_t more = done < length - done ? done : length - done;

		/* Whole periods lie before, so that they go on. */
		memcpy(bytes + done, bytes, more);
		done += more;
	}
}

int vl_traffic_memory_open(struct vl_traffic_memory *memory, struct vl_device *device,
			   uint32_t largest_message, void *bytes)
{
	uint64_t size = vl_traffic_memory_size(largest_message);
	int status = 0;

	*memory = (struct vl_traffic_memory){.memory = bytes, .largest_message = largest_message};
	if (!bytes) {
		memory->own_memory = calloc(1, size);
		memory->memory = memory->own_memory;
		if (!memory->memory)
			return -ENOMEM;
	}
	write_pattern(memory->memory, vl_traffic_pattern_length(memory));
	memory->pd = vl_alloc_pd(device, &status);
	if (memory->pd)
		memory->mr = vl_reg_mr(memory->pd, memory->memory, size, VL_TRAFFIC_MEMORY_ADDRESS,
				       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
					       IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
				       &status);
	if (!memory->mr)
		vl_traffic_memory_close(memory);
	return status;
}

void vl_traffic_memory_close(struct vl_traffic_memory *memory)
{
	if (memory->mr)
		vl_dereg_mr(memory->mr);
	if (memory->pd)
		vl_dealloc_pd(memory->pd);
	free(memory->own_memory);
	*memory = (struct vl_traffic_memory){0};
}
