/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/replay/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static struct memory_region *find(struct memory *memory, uint32_t rkey)
{
	for (uint32_t i = 0; i < memory->count; i++) {
		if (memory->regions[i].rkey == rkey)
			return &memory->regions[i];
	}
	return NULL;
}

static struct memory_region *find_or_add(struct memory *memory, uint32_t rkey, uint64_t base)
{
	struct memory_region *region = find(memory, rkey);

	if (region)
		return region;
	if (memory->count == memory->room) {
		uint32_t more = memory->room ? memory->room * 2 : 16;
		void *grown = realloc(memory->regions, more * sizeof(*memory->regions));

		if (!grown)
			return NULL;
		memory->regions = grown;
		memory->room = more;
	}
	region = &memory->regions[memory->count++];
	*region = (struct memory_region){.rkey = rkey, .base = base, .end = base};
	return region;
}

static bool collect(struct memory *memory, const struct conversation *conversation,
		    const struct request_outcome *outcomes)
{
	for (uint32_t i = 0; i < conversation->requests.count; i++) {
		const struct vl_packet *packet = &conversation->requests.items[i]->packet;
		uint32_t flags = packet->info->flags;
		struct memory_region *region;
		uint64_t length = flags & VL_OPCODE_RETH ? packet->dma_length : 8;

		if (outcomes[i].fate != REQUEST_ARRIVED)
			continue;
		if (flags & VL_OPCODE_IETH) {
			region = find(memory, packet->invalidate_rkey);
			if (region)
				region->invalidated = true;
			continue;
		}
		if (!(flags & (VL_OPCODE_RETH | VL_OPCODE_ATOMICETH)) || !length ||
		    packet->remote_address + length < packet->remote_address)
			continue;
		region = find_or_add(memory, packet->rkey, packet->remote_address);
		if (!region)
			return false;
		if (packet->remote_address < region->base)
			region->base = packet->remote_address;
		if (packet->remote_address + length > region->end)
			region->end = packet->remote_address + length;
	}
	return true;
}

bool memory_adopt(struct memory *memory, struct stack *stack,
		  const struct conversation *conversation, const struct request_outcome *outcomes,
		  char *message, size_t size)
{
	const unsigned int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				    IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
				    IBV_ACCESS_MW_BIND | VL_ACCESS_FLUSH_GLOBAL |
				    VL_ACCESS_FLUSH_PERSISTENT;

	if (!collect(memory, conversation, outcomes)) {
		snprintf(message, size, "out of memory");
		return false;
	}
	for (uint32_t i = 0; i < memory->count; i++) {
		struct memory_region *region = &memory->regions[i];
		uint64_t length = region->end - region->base;
		int error = -ENOMEM;

		if (length <= STACK_MAX_REGION) {
			region->bytes = stack_reserve(length);
			region->written = stack_reserve(length / 8 + 1);
		}
		if (!region->bytes || !region->written ||
		    !vl_reg_mr_with_key(stack->pd, region->bytes, length, region->base, access,
					region->rkey, &error)) {
			snprintf(message, size,
				 "R_Key 0x%08x covers %" PRIu64 " bytes from 0x%" PRIx64
				 ", which cannot be set up here: %s",
				 region->rkey, length, region->base, strerror(-error));
			return false;
		}
	}
	return true;
}

void memory_release(struct memory *memory)
{
	for (uint32_t i = 0; i < memory->count; i++) {
		uint64_t length = memory->regions[i].end - memory->regions[i].base;

		stack_unreserve(memory->regions[i].bytes, length);
		stack_unreserve(memory->regions[i].written, length / 8 + 1);
	}
	free(memory->regions);
	*memory = (struct memory){0};
}

static struct memory_region *find_range(struct memory *memory, uint32_t rkey, uint64_t address,
					uint32_t length)
{
	struct memory_region *region = find(memory, rkey);

	if (!region || address < region->base || length > region->end - region->base ||
	    address - region->base > region->end - region->base - length)
		return NULL;
	return region;
}

void memory_fill(struct memory *memory, uint32_t rkey, uint64_t address, const uint8_t *data,
		 uint32_t length)
{
	struct memory_region *region = find_range(memory, rkey, address, length);
	uint64_t at = region ? address - region->base : 0;

	for (uint32_t i = 0; region && i < length; i++, at++) {
		if (!(region->written[at / 8] >> (at % 8) & 1))
			region->bytes[at] = data[i];
	}
}

void memory_mark_written(struct memory *memory, uint32_t rkey, uint64_t address, uint32_t length)
{
	struct memory_region *region = find_range(memory, rkey, address, length);
	uint64_t at = region ? address - region->base : 0;

	for (uint32_t i = 0; region && i < length; i++, at++)
		region->written[at / 8] |= (uint8_t)(1u << (at % 8));
}
