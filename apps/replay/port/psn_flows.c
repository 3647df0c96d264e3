/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/replay/port/psn_flows.h"

#include "transport/wire/opcode.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS    (2 * PSN_FLOWS_MOST) /* a power of two */
#define PSN_MASK UINT32_C(0xffffff)
#define PSN_HALF UINT32_C(0x800000)

/* Who sends to which QP. Compared as bytes: without padding. */
struct key {
	union ibv_gid source, destination;
	uint32_t qpn;
	uint32_t source_qpn; /* of a datagram; 0 */
	uint32_t is_response;
	uint32_t unused;
};

struct flow {
	struct key key;
	uint32_t first, highest; /* PSNs */
	uint32_t span;           /* PSNs from the first to the highest, both included */
	uint32_t step;
};

struct psn_flows {
	uint32_t count;
	uint64_t beyond;
	uint32_t slots[SLOTS]; /* index of a flow + 1; 0: empty */
	struct flow flows[PSN_FLOWS_MOST];
};

struct psn_flows *psn_flows_new(void)
{
	return calloc(1, sizeof(struct psn_flows));
}

void psn_flows_free(struct psn_flows *flows)
{
	free(flows);
}

/* Notifications have no PSN of a flow's. */
static bool has_psn(const struct vl_packet *packet)
{
	return packet->info && packet->info->flags & (VL_OPCODE_REQUEST | VL_OPCODE_RESPONSE) &&
	       !(packet->info->flags & VL_OPCODE_NOTIFICATION);
}

static struct key key_of(const struct vl_packet *packet)
{
	struct key key;

	memset(&key, 0, sizeof(key));
	key.source = packet->source_gid;
	key.destination = packet->destination_gid;
	key.qpn = packet->destination_qpn;
	if (packet->info->flags & VL_OPCODE_DETH)
		key.source_qpn = packet->source_qpn;
	key.is_response = (packet->info->flags & VL_OPCODE_RESPONSE) != 0;
	return key;
}

/* FNV-1a over words; only a matter of speed, as the table is bounded. */
static uint32_t hash_of(const struct key *key)
{
	uint32_t words[sizeof(*key) / 4], hash = 2166136261u;

	memcpy(words, key, sizeof(words));
	for (unsigned int i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		hash = (hash ^ words[i]) * 16777619u;
	return hash ^ hash >> 15;
}

/* The slot of the flow, or the empty one where it would be. */
static uint32_t find_slot(const struct psn_flows *flows, const struct key *key)
{
	uint32_t slot = hash_of(key) & (SLOTS - 1);

	while (flows->slots[slot] &&
	       memcmp(&flows->flows[flows->slots[slot] - 1].key, key, sizeof(*key)))
		slot = (slot + 1) & (SLOTS - 1);
	return slot;
}

static void widen(struct flow *flow, uint32_t psn)
{
	uint32_t ahead = (psn - flow->highest) & PSN_MASK;
	uint32_t before = (flow->first - psn) & PSN_MASK;

	if (ahead < PSN_HALF) {
		flow->highest = psn;
		flow->span = (flow->span + ahead) & PSN_MASK;
	} else if (before < PSN_HALF && flow->span < PSN_HALF) {
		flow->first = psn;
		flow->span = (flow->span + before) & PSN_MASK;
	}
}

void psn_flows_see(struct psn_flows *flows, const struct vl_packet *packet)
{
	struct key key;
	uint32_t slot;

	if (!has_psn(packet))
		return;
	key = key_of(packet);
	slot = find_slot(flows, &key);
	if (flows->slots[slot]) {
		widen(&flows->flows[flows->slots[slot] - 1], packet->psn);
		return;
	}
	if (flows->count == PSN_FLOWS_MOST) {
		flows->beyond++;
		return;
	}
	flows->flows[flows->count] =
		(struct flow){.key = key, .first = packet->psn, .highest = packet->psn, .span = 1};
	flows->slots[slot] = ++flows->count;
}

/* Requests by their addresses and first PSN. */
static int compare_flows(const void *a, const void *b)
{
	const struct flow *x = *(struct flow *const *)a, *y = *(struct flow *const *)b;
	int order = memcmp(&x->key.source, &y->key.source, 2 * sizeof(union ibv_gid));

	return order ? order : (x->first > y->first) - (x->first < y->first);
}

/* The last request flow of these addresses that begins at first or before; NULL: none. */
static struct flow *find_before(struct flow **requests, uint32_t count, const struct key *key,
				uint32_t first)
{
	struct flow wanted = {.key = *key, .first = first}, *pointer = &wanted;
	uint32_t low = 0, high = count;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (compare_flows(&requests[middle], &pointer) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || memcmp(&requests[low - 1]->key.source, &key->source, 2 * sizeof(union ibv_gid)))
		return NULL;
	return requests[low - 1];
}

static bool reaches(const struct flow *request, uint32_t psn)
{
	return request && ((psn - request->first) & PSN_MASK) < request->span;
}

/* The request flow that a response flow answers: in the other direction, and the response's first
 * PSN among its own. NULL: there is none. */
static struct flow *find_request(struct flow **requests, uint32_t count,
				 const struct flow *response)
{
	const struct key key = {.source = response->key.destination,
				.destination = response->key.source};
	struct flow *found = find_before(requests, count, &key, response->first);

	if (reaches(found, response->first))
		return found;
	/* One that begins near the end of the numbers goes on at their beginning. */
	found = find_before(requests, count, &key, PSN_MASK);
	return reaches(found, response->first) ? found : NULL;
}

static void pair_response(struct flow **requests, uint32_t count, struct flow *response)
{
	struct flow *request = find_request(requests, count, response);
	uint32_t reach;

	response->step = response->span;
	if (!request)
		return;
	/* The responses to a READ go further than the request itself. */
	reach = ((response->first - request->first) & PSN_MASK) + response->span;
	if (reach > request->step)
		request->step = reach;
}

void psn_flows_settle(struct psn_flows *flows)
{
	struct flow **requests = malloc((flows->count + 1) * sizeof(struct flow *)), *request;
	uint32_t count = 0;

	for (uint32_t i = 0; i < flows->count; i++) {
		flows->flows[i].step = flows->flows[i].span;
		if (requests && !flows->flows[i].key.is_response)
			requests[count++] = &flows->flows[i];
	}
	if (!requests)
		return;
	qsort(requests, count, sizeof(struct flow *), compare_flows);
	for (uint32_t i = 0; i < flows->count; i++) {
		if (flows->flows[i].key.is_response)
			pair_response(requests, count, &flows->flows[i]);
	}
	/* All responses to a request flow keep step with it, however far they themselves went. */
	for (uint32_t i = 0; i < flows->count; i++) {
		if (!flows->flows[i].key.is_response)
			continue;
		request = find_request(requests, count, &flows->flows[i]);
		if (request)
			flows->flows[i].step = request->step;
	}
	free(requests);
}

uint32_t psn_flows_step(const struct psn_flows *flows, const struct vl_packet *packet)
{
	struct key key;
	uint32_t slot;

	if (!has_psn(packet))
		return 0;
	key = key_of(packet);
	slot = find_slot(flows, &key);
	return flows->slots[slot] ? flows->flows[flows->slots[slot] - 1].step : 0;
}

uint64_t psn_flows_beyond(const struct psn_flows *flows)
{
	return flows->beyond;
}
