/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Finds the answers to each flow of RC requests. An answer carries the PSN of a request that went
 * the other way before it, and PSNs start at random; where several flows of two hosts have the same
 * PSNs, the connection manager's exchange decides if the capture holds it, else what most senders
 * do (one UDP source port for both directions), else who is answered sooner.
 */

#include "apps/replay/flow.h"

#include <stdlib.h>
#include <string.h>

#define SAMPLES 64 /* answers of a flow that are looked up, at most */

struct request_key {
	uint64_t number, time; /* of the packet */
	uint32_t host_pair;
	uint32_t psn;
	uint32_t flow;
};

struct candidate {
	uint32_t requests, answers; /* flows */
	uint32_t votes;
	bool is_told;       /* by the connection manager */
	bool has_same_port; /* UDP source port, both directions */
	uint64_t delay;     /* ns, of all samples together */
};

struct matcher {
	struct flows *flows;
	const struct connections *connections;
	struct request_key *keys;
	uint32_t key_count;
	struct candidate *candidates;
	uint32_t candidate_count, candidate_room;
	uint32_t *by_flow; /* of the answers at hand: the candidate of a requests flow, plus one */
	uint32_t first_candidate;
};

static int compare_keys(const void *a, const void *b)
{
	const struct request_key *one = a, *two = b;

	if (one->host_pair != two->host_pair)
		return one->host_pair < two->host_pair ? -1 : 1;
	if (one->psn != two->psn)
		return one->psn < two->psn ? -1 : 1;
	if (one->flow != two->flow)
		return one->flow < two->flow ? -1 : 1;
	return one->number < two->number ? -1 : one->number > two->number;
}

/* The likeliest first. */
static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *one = a, *two = b;

	if (one->is_told != two->is_told)
		return one->is_told ? -1 : 1;
	if (one->has_same_port != two->has_same_port)
		return one->has_same_port ? -1 : 1;
	if (one->votes != two->votes)
		return one->votes > two->votes ? -1 : 1;
	if (one->delay != two->delay)
		return one->delay < two->delay ? -1 : 1;
	if (one->requests != two->requests)
		return one->requests < two->requests ? -1 : 1;
	return one->answers < two->answers ? -1 : one->answers > two->answers;
}

static bool collect_keys(struct matcher *matcher)
{
	const struct flows *flows = matcher->flows;
	size_t count = 0;

	for (uint32_t i = 0; i < flows->count; i++) {
		if (flows->items[i].is_requests && flows->items[i].service == VL_SERVICE_RC)
			count += flows->items[i].packets.count;
	}
	matcher->keys = malloc((count + 1) * sizeof(*matcher->keys));
	if (!matcher->keys)
		return false;
	for (uint32_t i = 0; i < flows->count; i++) {
		const struct flow *flow = &flows->items[i];

		if (!flow->is_requests || flow->service != VL_SERVICE_RC)
			continue;
		for (uint32_t j = 0; j < flow->packets.count; j++) {
			const struct recorded_packet *packet = flow->packets.items[j];

			matcher->keys[matcher->key_count++] =
				(struct request_key){.number = packet->number,
						     .time = packet->time,
						     .host_pair = flow->host_pair,
						     .psn = packet->packet.psn,
						     .flow = i};
		}
	}
	qsort(matcher->keys, matcher->key_count, sizeof(*matcher->keys), compare_keys);
	return true;
}

static uint32_t first_key(const struct matcher *matcher, uint32_t host_pair, uint32_t psn)
{
	uint32_t low = 0, high = matcher->key_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct request_key *key = &matcher->keys[middle];

		if (key->host_pair < host_pair || (key->host_pair == host_pair && key->psn < psn))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct candidate *candidate_of(struct matcher *matcher, uint32_t answers, uint32_t requests)
{
	const struct flow *answer_flow = &matcher->flows->items[answers];
	const struct flow *request_flow = &matcher->flows->items[requests];
	const struct connection *connection;
	unsigned int side;

	if (matcher->by_flow[requests])
		return &matcher->candidates[matcher->by_flow[requests] - 1];
	if (matcher->candidate_count == matcher->candidate_room) {
		uint32_t more = matcher->candidate_room ? matcher->candidate_room * 2 : 64;
		void *grown = realloc(matcher->candidates, more * sizeof(*matcher->candidates));

		if (!grown)
			return NULL;
		matcher->candidates = grown;
		matcher->candidate_room = more;
	}
	connection = connections_find(matcher->connections, &request_flow->source,
				      &request_flow->destination, request_flow->destination_qpn,
				      request_flow->packets.items[0]->number, &side);
	matcher->candidates[matcher->candidate_count++] = (struct candidate){
		.requests = requests,
		.answers = answers,
		.is_told = connection && connection->qpn[side] == answer_flow->destination_qpn,
		.has_same_port = request_flow->udp_source_port == answer_flow->udp_source_port,
	};
	matcher->by_flow[requests] = matcher->candidate_count;
	return &matcher->candidates[matcher->candidate_count - 1];
}

/* A vote for every flow that had sent the answer's PSN before. False: out of memory. */
static bool vote(struct matcher *matcher, uint32_t answers, uint32_t host_pair,
		 const struct recorded_packet *answer)
{
	uint32_t psn = answer->packet.psn;

	for (uint32_t i = first_key(matcher, host_pair, psn); i < matcher->key_count; i++) {
		const struct request_key *key = &matcher->keys[i];
		const struct request_key *next = i + 1 < matcher->key_count ? key + 1 : NULL;
		struct candidate *candidate;

		if (key->host_pair != host_pair || key->psn != psn)
			break;
		if (key->number > answer->number)
			continue;
		/* The last of the flow that is old enough. */
		if (next && next->host_pair == host_pair && next->psn == psn &&
		    next->flow == key->flow && next->number < answer->number)
			continue;
		candidate = candidate_of(matcher, answers, key->flow);
		if (!candidate)
			return false;
		candidate->votes++;
		candidate->delay += answer->time - key->time;
	}
	return true;
}

/* Packets that carry the PSN of a request, and not of one between two requests. */
static bool is_telling(const struct vl_packet *answer)
{
	return (answer->info->flags & VL_OPCODE_AETH) &&
	       vl_opcode_operation(answer->opcode) != VL_OP_READ_RESPONSE_LAST;
}

static bool vote_all(struct matcher *matcher, uint32_t answers)
{
	const struct flow *flow = &matcher->flows->items[answers];
	uint32_t host_pair = flows_host_pair(matcher->flows, &flow->destination, &flow->source);
	uint32_t telling = 0, samples = 0, step;
	bool fits = true;

	if (host_pair == UINT32_MAX)
		return true;
	matcher->first_candidate = matcher->candidate_count;
	for (uint32_t i = 0; i < flow->packets.count; i++)
		telling += is_telling(&flow->packets.items[i]->packet);
	step = telling / SAMPLES + 1;
	telling = 0;
	for (uint32_t i = 0; i < flow->packets.count && fits; i++) {
		const struct recorded_packet *answer = flow->packets.items[i];

		if (!is_telling(&answer->packet) || telling++ % step)
			continue;
		fits = vote(matcher, answers, host_pair, answer);
		samples++;
	}
	for (uint32_t i = matcher->first_candidate; i < matcher->candidate_count; i++) {
		struct candidate *candidate = &matcher->candidates[i];

		matcher->by_flow[candidate->requests] = 0;
		/* By chance ports are the same too. */
		candidate->has_same_port =
			candidate->has_same_port && 2 * candidate->votes > samples;
	}
	return fits;
}

bool flows_match(struct flows *flows, const struct connections *connections)
{
	struct matcher matcher = {
		.flows = flows,
		.connections = connections,
		.by_flow = calloc(flows->count + 1, sizeof(*matcher.by_flow)),
	};
	bool fits = matcher.by_flow && collect_keys(&matcher);

	for (uint32_t i = 0; i < flows->count && fits; i++) {
		if (!flows->items[i].is_requests && flows->items[i].service == VL_SERVICE_RC)
			fits = vote_all(&matcher, i);
	}
	if (fits && matcher.candidate_count)
		qsort(matcher.candidates, matcher.candidate_count, sizeof(*matcher.candidates),
		      compare_candidates);
	for (uint32_t i = 0; i < matcher.candidate_count && fits; i++) {
		struct flow *requests = &flows->items[matcher.candidates[i].requests];
		struct flow *answers = &flows->items[matcher.candidates[i].answers];

		if (requests->answers || answers->is_taken)
			continue;
		requests->answers = answers;
		answers->is_taken = true;
	}
	free(matcher.candidates);
	free(matcher.keys);
	free(matcher.by_flow);
	return fits;
}
