/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/inspect/flow.h"

#include "transport/wire/opcode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define INITIAL_SLOTS UINT32_C(1024)
#define BLOCK_FLOWS   UINT32_C(256)
#define BLOCK_COUNT   (INSPECT_MAX_FLOWS / BLOCK_FLOWS)

int inspect_flows_init(struct inspect_flow_table *table)
{
	*table = (struct inspect_flow_table){
		.slot_count = INITIAL_SLOTS,
		.pair_slot_count = INITIAL_SLOTS,
		.limit = INSPECT_MAX_FLOWS,
	};
	table->slots = calloc(table->slot_count, sizeof(struct inspect_flow *));
	table->pairs = calloc(table->pair_slot_count, sizeof(struct inspect_pair *));
	table->blocks = calloc(BLOCK_COUNT, sizeof(struct inspect_flow *));
	/* So that a capture cannot be made to collide; without it, it merely could. */
	if (getrandom(&table->seed, sizeof(table->seed), GRND_NONBLOCK) != sizeof(table->seed))
		table->seed = 0;
	if (table->slots && table->pairs && table->blocks)
		return 0;
	inspect_flows_free(table);
	return -ENOMEM;
}

void inspect_flows_free(struct inspect_flow_table *table)
{
	for (uint32_t i = 0; table->pairs && !table->pair_store && i < table->pair_slot_count; i++)
		free(table->pairs[i]);
	free(table->pair_store);
	for (uint32_t i = 0; table->blocks && i < BLOCK_COUNT; i++)
		free(table->blocks[i]);
	free(table->slots);
	free(table->pairs);
	free(table->blocks);
	memset(table, 0, sizeof(*table));
}

struct inspect_flow_key inspect_flow_key_of(const struct vl_packet *packet)
{
	struct inspect_flow_key key = {
		.destination_qpn = packet->destination_qpn,
		.encapsulation = packet->encapsulation,
	};

	if (packet->grh_present) {
		key.source = packet->source_gid;
		key.destination = packet->destination_gid;
	} else {
		key.source.raw[14] = (uint8_t)(packet->source_lid >> 8);
		key.source.raw[15] = (uint8_t)packet->source_lid;
		key.destination.raw[14] = (uint8_t)(packet->destination_lid >> 8);
		key.destination.raw[15] = (uint8_t)packet->destination_lid;
	}
	if (packet->info->flags & VL_OPCODE_DETH)
		key.source_qpn = packet->source_qpn;
	return key;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
	unsigned __int128 product = (unsigned __int128)(hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t hash_words(uint64_t hash, const void *data, size_t length)
{
	for (size_t i = 0; i < length; i += 8) {
		uint64_t word;

		memcpy(&word, (const uint8_t *)data + i, sizeof(word));
		hash = mix(hash, word);
	}
	return hash;
}

static uint32_t flow_slot(const struct inspect_flow_table *table,
			  const struct inspect_flow_key *key)
{
	uint64_t hash = hash_words(table->seed, key, sizeof(*key));
	uint32_t slot = (uint32_t)hash & (table->slot_count - 1);

	while (table->slots[slot] && memcmp(&table->slots[slot]->key, key, sizeof(*key)))
		slot = (slot + 1) & (table->slot_count - 1);
	return slot;
}

static uint32_t pair_slot(const struct inspect_flow_table *table, const union ibv_gid *source,
			  const union ibv_gid *destination, uint32_t encapsulation)
{
	uint64_t hash = mix(table->seed, encapsulation);
	uint32_t slot;

	hash = hash_words(hash, source, sizeof(*source));
	hash = hash_words(hash, destination, sizeof(*destination));
	slot = (uint32_t)hash & (table->pair_slot_count - 1);
	while (table->pairs[slot] &&
	       (table->pairs[slot]->encapsulation != encapsulation ||
		memcmp(&table->pairs[slot]->source, source, sizeof(*source)) ||
		memcmp(&table->pairs[slot]->destination, destination, sizeof(*destination))))
		slot = (slot + 1) & (table->pair_slot_count - 1);
	return slot;
}

struct inspect_flow *inspect_flow_find(const struct inspect_flow_table *table,
				       const struct inspect_flow_key *key)
{
	return table->slots[flow_slot(table, key)];
}

struct inspect_pair *inspect_pair_find(const struct inspect_flow_table *table,
				       const union ibv_gid *source,
				       const union ibv_gid *destination, uint32_t encapsulation)
{
	return table->pairs[pair_slot(table, source, destination, encapsulation)];
}

struct inspect_flow *inspect_flow_at(const struct inspect_flow_table *table, uint32_t index)
{
	return &table->blocks[index / BLOCK_FLOWS][index % BLOCK_FLOWS];
}

/* At most half full, so that chains stay short. */
static bool grow_slots(struct inspect_flow_table *table)
{
	uint32_t old_count = table->slot_count;
	struct inspect_flow **old = table->slots;

	if (table->count < old_count / 2)
		return true;
	table->slots = calloc((size_t)old_count * 2, sizeof(struct inspect_flow *));
	if (!table->slots) {
		table->slots = old;
		return false;
	}
	table->slot_count = old_count * 2;
	for (uint32_t i = 0; i < old_count; i++) {
		if (old[i])
			table->slots[flow_slot(table, &old[i]->key)] = old[i];
	}
	free(old);
	return true;
}

static bool grow_pairs(struct inspect_flow_table *table)
{
	uint32_t old_count = table->pair_slot_count;
	struct inspect_pair **old = table->pairs;

	if (table->pair_count < old_count / 2)
		return true;
	table->pairs = calloc((size_t)old_count * 2, sizeof(struct inspect_pair *));
	if (!table->pairs) {
		table->pairs = old;
		return false;
	}
	table->pair_slot_count = old_count * 2;
	for (uint32_t i = 0; i < old_count; i++) {
		if (old[i])
			table->pairs[pair_slot(table, &old[i]->source, &old[i]->destination,
					       old[i]->encapsulation)] = old[i];
	}
	free(old);
	return true;
}

int inspect_flows_reserve(struct inspect_flow_table *table, uint32_t count)
{
	uint32_t slots = INITIAL_SLOTS;

	while (slots < 2 * count)
		slots *= 2;
	free(table->slots);
	free(table->pairs);
	table->slots = calloc(slots, sizeof(struct inspect_flow *));
	table->pairs = calloc(slots, sizeof(struct inspect_pair *));
	table->pair_store = calloc(count, sizeof(*table->pair_store));
	table->slot_count = table->pair_slot_count = slots;
	table->limit = count;
	if (!table->slots || !table->pairs || !table->pair_store)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i += BLOCK_FLOWS) {
		table->blocks[i / BLOCK_FLOWS] = calloc(BLOCK_FLOWS, sizeof(struct inspect_flow));
		if (!table->blocks[i / BLOCK_FLOWS])
			return -ENOMEM;
	}
	return 0;
}

static struct inspect_pair *pair_get(struct inspect_flow_table *table,
				     const struct inspect_flow_key *key)
{
	struct inspect_pair **slot;

	if (!grow_pairs(table))
		return NULL;
	slot = &table->pairs[pair_slot(table, &key->source, &key->destination, key->encapsulation)];
	if (*slot)
		return *slot;
	*slot = table->pair_store ? &table->pair_store[table->pair_count]
				  : calloc(1, sizeof(**slot));
	if (*slot) {
		(*slot)->source = key->source;
		(*slot)->destination = key->destination;
		(*slot)->encapsulation = key->encapsulation;
		table->pair_count++;
	}
	return *slot;
}

static struct inspect_flow *flow_add(struct inspect_flow_table *table,
				     const struct inspect_flow_key *key)
{
	struct inspect_flow **block = &table->blocks[table->count / BLOCK_FLOWS];
	struct inspect_flow *flow;
	struct inspect_pair *pair;

	if (!grow_slots(table))
		return NULL;
	if (!*block)
		*block = calloc(BLOCK_FLOWS, sizeof(**block));
	if (!*block)
		return NULL;
	pair = pair_get(table, key);
	if (!pair)
		return NULL;
	flow = &(*block)[table->count % BLOCK_FLOWS];
	flow->key = *key;
	flow->index = table->count++;
	flow->newest_history = UINT32_MAX;
	flow->requests.run.event = INSPECT_NO_EVENT;
	flow->next_of_pair = pair->newest;
	pair->newest = flow;
	pair->flow_count++;
	table->slots[flow_slot(table, key)] = flow;
	return flow;
}

struct inspect_flow *inspect_flow_get(struct inspect_flow_table *table,
				      const struct inspect_flow_key *key)
{
	struct inspect_flow *flow = inspect_flow_find(table, key);

	if (!flow && table->count < table->limit)
		flow = flow_add(table, key);
	if (!flow)
		table->overflow_packets++;
	return flow;
}
