/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/replay/flow.h"

#include <stdlib.h>
#include <string.h>

#define KIND_HOST_PAIR UINT32_C(0x100)
#define KIND_REQUESTS  UINT32_C(0x200)
#define NOT_FOUND      UINT32_MAX

struct flow_key {
	union ibv_gid source, destination;
	uint32_t qpn, kind;
};

/* Open addressing; a slot's value is one more than what it stands for, 0 is free. */
struct flow_index {
	uint32_t size, used; /* size is a power of two */
	struct slot {
		struct flow_key key;
		uint32_t value;
	} slots[];
};

static struct flow_index *make_index(uint32_t size)
{
	struct flow_index *index = calloc(1, sizeof(*index) + size * sizeof(index->slots[0]));

	if (index)
		index->size = size;
	return index;
}

static uint32_t hash(const struct flow_key *key)
{
	const uint8_t *bytes = (const uint8_t *)key;
	uint64_t value = UINT64_C(0x9e3779b97f4a7c15), word;

	_Static_assert(sizeof(*key) % sizeof(word) == 0, "a key has no padding");
	for (size_t i = 0; i < sizeof(*key); i += sizeof(word)) {
		memcpy(&word, bytes + i, sizeof(word));
		value = (value ^ word) * UINT64_C(0xff51afd7ed558ccd);
		value ^= value >> 32;
	}
	return (uint32_t)value;
}

static struct slot *find_slot(struct flow_index *index, const struct flow_key *key)
{
	uint32_t at = hash(key) & (index->size - 1);

	while (index->slots[at].value && memcmp(&index->slots[at].key, key, sizeof(*key)))
		at = (at + 1) & (index->size - 1);
	return &index->slots[at];
}

static bool grow(struct flows *flows)
{
	struct flow_index *old = flows->index, *grown;

	if (old && old->used < old->size / 2)
		return true;
	grown = make_index(old ? old->size * 2 : 64);
	if (!grown)
		return false;
	for (uint32_t i = 0; old && i < old->size; i++) {
		if (!old->slots[i].value)
			continue;
		*find_slot(grown, &old->slots[i].key) = old->slots[i];
		grown->used++;
	}
	free(old);
	flows->index = grown;
	return true;
}

/* What the key stands for; a new key is given `next`. NOT_FOUND: out of memory. */
static uint32_t find_or_add(struct flows *flows, const struct flow_key *key, uint32_t next)
{
	struct slot *slot;

	if (!grow(flows))
		return NOT_FOUND;
	slot = find_slot(flows->index, key);
	if (!slot->value) {
		slot->key = *key;
		slot->value = next + 1;
		flows->index->used++;
	}
	return slot->value - 1;
}

uint32_t flows_host_pair(const struct flows *flows, const union ibv_gid *source,
			 const union ibv_gid *destination)
{
	struct flow_key key = {*source, *destination, 0, KIND_HOST_PAIR};

	/* The value of a free slot is 0. */
	return flows->index ? find_slot(flows->index, &key)->value - 1 : NOT_FOUND;
}

static struct flow *add_flow(struct flows *flows, const struct vl_packet *packet)
{
	struct flow_key pair = {packet->source_gid, packet->destination_gid, 0, KIND_HOST_PAIR};
	enum vl_service service = vl_opcode_service(packet->opcode);
	uint32_t host_pair = find_or_add(flows, &pair, flows->host_pair_count);

	if (host_pair == NOT_FOUND)
		return NULL;
	if (host_pair == flows->host_pair_count)
		flows->host_pair_count++;
	if (flows->count == flows->room) {
		uint32_t more = flows->room ? flows->room * 2 : 16;
		void *grown = realloc(flows->items, more * sizeof(*flows->items));

		if (!grown)
			return NULL;
		flows->items = grown;
		flows->room = more;
	}
	flows->items[flows->count] = (struct flow){
		.service = service,
		.is_requests = packet->info->flags & VL_OPCODE_REQUEST,
		.source = packet->source_gid,
		.destination = packet->destination_gid,
		.destination_qpn = packet->destination_qpn,
		.source_qpn = service == VL_SERVICE_UD ? packet->source_qpn : REPLAY_UNKNOWN_QPN,
		.udp_source_port = packet->udp_source_port,
		.host_pair = host_pair,
	};
	return &flows->items[flows->count++];
}

bool flows_add(struct flows *flows, struct recorded_packet *recorded)
{
	const struct vl_packet *packet = &recorded->packet;
	enum vl_service service = vl_opcode_service(packet->opcode);
	struct flow_key key = {
		.source = packet->source_gid,
		.kind = (uint32_t)service |
			(packet->info->flags & VL_OPCODE_REQUEST ? KIND_REQUESTS : 0),
	};
	uint32_t at;

	/* A UD queue pair sends to many; what makes it one is who it is. */
	if (service == VL_SERVICE_UD) {
		key.qpn = packet->source_qpn;
	} else {
		key.qpn = packet->destination_qpn;
		key.destination = packet->destination_gid;
	}
	at = find_or_add(flows, &key, flows->count);
	if (at == NOT_FOUND || (at == flows->count && !add_flow(flows, packet)))
		return false;
	return packet_list_add(&flows->items[at].packets, recorded);
}

void flows_release(struct flows *flows)
{
	for (uint32_t i = 0; i < flows->count; i++)
		free(flows->items[i].packets.items);
	free(flows->items);
	free(flows->index);
	*flows = (struct flows){0};
}
