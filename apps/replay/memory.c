/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/replay/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ACCESS                                                                                     \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | VL_ACCESS_FLUSH_GLOBAL |                  \
	 VL_ACCESS_FLUSH_PERSISTENT)

/* ---- Bitmaps -------------------------------------------------------------------------------- */

static bool has_bit(const uint8_t *bitmap, uint64_t at)
{
	return bitmap[at / 8] >> (at % 8) & 1;
}

static void set_bits(uint8_t *bitmap, uint64_t from, uint64_t to)
{
	for (; from < to && from % 8; from++)
		bitmap[from / 8] |= (uint8_t)(1u << (from % 8));
	if (to - from >= 8) {
		memset(bitmap + from / 8, 0xff, (to - from) / 8);
		from += (to - from) & ~UINT64_C(7);
	}
	for (; from < to; from++)
		bitmap[from / 8] |= (uint8_t)(1u << (from % 8));
}

/* ---- Finding -------------------------------------------------------------------------------- */

/* Index of the first region whose key is not below. */
static uint32_t lower_bound(const struct memory *memory, uint32_t rkey)
{
	uint32_t low = 0, high = memory->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (memory->regions[middle].rkey < rkey)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct memory_region *find(const struct memory *memory, uint32_t rkey)
{
	uint32_t at = lower_bound(memory, rkey);

	return at < memory->count && memory->regions[at].rkey == rkey ? &memory->regions[at] : NULL;
}

static struct memory_region *find_range(const struct memory *memory, uint32_t rkey,
					uint64_t address, uint32_t length)
{
	struct memory_region *region = find(memory, rkey);

	if (!region || address < region->base || length > region->end - region->base ||
	    address - region->base > region->end - region->base - length)
		return NULL;
	return region;
}

/* ---- Adopting ------------------------------------------------------------------------------- */

static int compare_regions(const void *a, const void *b)
{
	const struct memory_region *one = a, *two = b;

	return one->rkey < two->rkey ? -1 : one->rkey > two->rkey;
}

/* One entry per use, to be merged. */
static void collect(struct memory *memory, const struct conversation *conversation,
		    const struct request_outcomes *outcomes)
{
	for (uint32_t i = 0; i < conversation->requests.count; i++) {
		const struct recorded_packet *request = conversation->requests.items[i];
		const struct vl_packet *packet = &request->packet;
		uint32_t flags = packet->info->flags;
		uint64_t length = flags & VL_OPCODE_RETH ? packet->dma_length : 8;
		struct memory_region use = {.rkey = packet->rkey,
					    .base = packet->remote_address,
					    .end = packet->remote_address + length};

		if (outcomes->items[i].fate != REQUEST_ARRIVED &&
		    outcomes->items[i].fate != REQUEST_OVERTAKEN)
			continue;
		/* The connection went on: so the key was one. */
		if ((flags & VL_OPCODE_IETH) && outcomes->message_count &&
		    outcomes->messages[outcomes->message_count - 1] > request->position)
			use = (struct memory_region){.rkey = packet->invalidate_rkey,
						     .base = UINT64_MAX};
		else if (!(flags & (VL_OPCODE_RETH | VL_OPCODE_ATOMICETH)) || !length ||
			 use.end < use.base)
			continue;
		memory->regions[memory->count++] = use;
	}
}

static void merge(struct memory *memory)
{
	uint32_t kept = 0;

	qsort(memory->regions, memory->count, sizeof(*memory->regions), compare_regions);
	for (uint32_t i = 0; i < memory->count; i++) {
		struct memory_region *use = &memory->regions[i];
		struct memory_region *region = kept ? &memory->regions[kept - 1] : NULL;

		if (!region || region->rkey != use->rkey) {
			memory->regions[kept++] = *use;
			continue;
		}
		if (use->base < region->base)
			region->base = use->base;
		if (use->end > region->end)
			region->end = use->end;
	}
	memory->count = kept;
	for (uint32_t i = 0; i < kept; i++) {
		/* Named by an invalidation alone. */
		if (memory->regions[i].end <= memory->regions[i].base)
			memory->regions[i].base = 0, memory->regions[i].end = 1;
	}
}

/* What other conversations wrote in a region. False: out of memory. */
static bool mark_shared(struct memory_region *region, const struct recording *recording,
			const struct conversation *conversation)
{
	uint32_t writer = (uint32_t)(conversation - recording->conversations);
	uint64_t length = region->end - region->base;

	for (uint32_t i = recording_find_writes(recording, &conversation->responder, region->rkey);
	     i < recording->write_count; i++) {
		const struct recorded_write *write = &recording->writes[i];

		if (write->rkey != region->rkey ||
		    memcmp(&write->responder, &conversation->responder, sizeof(union ibv_gid)))
			break;
		if (write->writer == writer || write->to <= region->base ||
		    write->from >= region->end)
			continue;
		if (!region->shared)
			region->shared = stack_reserve(length / 8 + 1);
		if (!region->shared)
			return false;
		set_bits(region->shared,
			 write->from > region->base ? write->from - region->base : 0,
			 write->to < region->end ? write->to - region->base : length);
	}
	return true;
}

bool memory_adopt(struct memory *memory, struct stack *stack, const struct recording *recording,
		  const struct conversation *conversation, const struct request_outcomes *outcomes,
		  char *message, size_t size)
{
	memory->pd = stack->pd;
	memory->regions = malloc((conversation->requests.count + 1) * sizeof(*memory->regions));
	if (!memory->regions) {
		snprintf(message, size, "out of memory");
		return false;
	}
	collect(memory, conversation, outcomes);
	merge(memory);
	for (uint32_t i = 0; i < memory->count; i++) {
		struct memory_region *region = &memory->regions[i];
		uint64_t length = region->end - region->base;

		if (length <= STACK_MAX_REGION) {
			region->bytes = stack_reserve(length);
			region->written = stack_reserve(length / 8 + 1);
		}
		if (!region->bytes || !region->written ||
		    !mark_shared(region, recording, conversation)) {
			snprintf(message, size,
				 "R_Key 0x%08x covers %" PRIu64 " bytes from 0x%" PRIx64
				 ", which is more than can be set up here",
				 region->rkey, length, region->base);
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
		stack_unreserve(memory->regions[i].shared, length / 8 + 1);
	}
	free(memory->regions);
	*memory = (struct memory){0};
}

/* ---- Keys ----------------------------------------------------------------------------------- */

static void forget(struct memory_region *region)
{
	if (region->mr)
		vl_dereg_mr(region->mr);
	region->mr = NULL;
	region->is_invalid = false;
}

void memory_ready(struct memory *memory, uint32_t rkey)
{
	struct memory_region *region = find(memory, rkey);
	int error;

	if (!region || (region->mr && !region->is_invalid))
		return;
	for (uint32_t i = lower_bound(memory, rkey & ~0xffu);
	     i < memory->count && memory->regions[i].rkey >> 8 == rkey >> 8; i++)
		forget(&memory->regions[i]);
	region->mr = vl_reg_mr_with_key(memory->pd, region->bytes, region->end - region->base,
					region->base, ACCESS, rkey, &error);
}

void memory_invalidate(struct memory *memory, uint32_t rkey)
{
	struct memory_region *region = find(memory, rkey);

	memory_ready(memory, rkey);
	/* Not deregistered here: the stack is to invalidate it, and what it left is taken away
	 * before the key is registered again. */
	if (region)
		region->is_invalid = true;
}

uint32_t memory_unused_key(const struct memory *memory)
{
	uint32_t index = 0xfffffe;

	for (uint32_t i = memory->count; i-- > 0 && memory->regions[i].rkey >> 8 >= index;) {
		if (memory->regions[i].rkey >> 8 == index)
			index--;
	}
	return index << 8;
}

/* ---- Contents ------------------------------------------------------------------------------- */

void memory_fill(struct memory *memory, uint32_t rkey, uint64_t address, const uint8_t *data,
		 uint32_t length)
{
	struct memory_region *region = find_range(memory, rkey, address, length);
	uint64_t at = region ? address - region->base : 0;

	for (uint32_t i = 0; region && i < length; i++, at++) {
		if (!has_bit(region->written, at) ||
		    (region->shared && has_bit(region->shared, at)))
			region->bytes[at] = data[i];
	}
}

void memory_mark_written(struct memory *memory, uint32_t rkey, uint64_t address, uint32_t length)
{
	struct memory_region *region = find_range(memory, rkey, address, length);

	if (region)
		set_bits(region->written, address - region->base, address - region->base + length);
}
