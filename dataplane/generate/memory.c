/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/generate/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
	for (uint64_t i = 0; i < vl_traffic_pattern_length(memory); i++) {
		uint64_t place = i % VL_TRAFFIC_PATTERN_PERIOD;

		memory->memory[i] = (uint8_t)(place + (place >> 8));
	}
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
