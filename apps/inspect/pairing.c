/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * A connected QP's packets name only the QP that they go to. Which two flows are the halves of one
 * connection follows from the connection manager's messages, else from PSNs: a response bears the
 * PSN of a request sent shortly before in the other half.
 */

#include "apps/inspect/analysis.h"
#include "transport/psn.h"

/* How far behind the newest request a response may lie, in packets. */
#define ANSWER_WINDOW (1 << 16)
/* What a READ of unknown path MTU may take beyond the PSN after it. */
#define UNCERTAIN_WINDOW (1 << 16)
/* Flows of an address pair that are looked at, and how often a flow tries at each response before
 * it tries only at every power of two. */
#define MAX_CANDIDATES 1024
#define EAGER_ATTEMPTS 16

void inspect_learn_path_mtu(struct inspect_flow *flow, uint32_t path_mtu)
{
	flow->path_mtu = path_mtu;
	if (flow->reverse)
		flow->reverse->path_mtu = path_mtu;
}

static void unpair(struct inspect_flow *flow)
{
	if (!flow->reverse)
		return;
	flow->reverse->reverse = NULL;
	flow->reverse->pairing = INSPECT_UNPAIRED;
	flow->reverse = NULL;
	flow->pairing = INSPECT_UNPAIRED;
}

void inspect_pair_flows(struct inspect_flow *one, struct inspect_flow *other,
			enum inspect_pairing pairing)
{
	if (one->reverse != other) {
		unpair(one);
		unpair(other);
	}
	one->reverse = other;
	other->reverse = one;
	one->pairing = other->pairing = pairing;
	if (one->path_mtu)
		other->path_mtu = one->path_mtu;
	else
		one->path_mtu = other->path_mtu;
}

static bool may_have_asked(const struct inspect_flow *flow, uint32_t psn)
{
	const struct inspect_requests *requests = &flow->requests;
	int32_t behind = vl_psn_distance(requests->next_psn, psn);

	if (!requests->started)
		return false;
	if (behind > 0)
		return behind <= ANSWER_WINDOW && vl_psn_distance(psn, requests->first_psn) >= 0;
	return requests->next_uncertain && -behind < UNCERTAIN_WINDOW;
}

struct inspect_flow *inspect_find_requester(struct inspect_analysis *analysis,
					    struct inspect_flow *flow, uint32_t psn)
{
	struct inspect_flow *candidate, *found = NULL;
	uint32_t attempts = ++flow->responses.pairing_attempts;
	struct inspect_pair *pair;
	unsigned int looked_at = 0;

	if (attempts > EAGER_ATTEMPTS && attempts & (attempts - 1))
		return NULL;
	pair = inspect_pair_find(&analysis->flows, &flow->key.destination, &flow->key.source,
				 flow->key.encapsulation);
	for (candidate = pair ? pair->newest : NULL; candidate && looked_at < MAX_CANDIDATES;
	     candidate = candidate->next_of_pair, looked_at++) {
		if (candidate == flow || candidate->reverse || candidate->key.source_qpn ||
		    !may_have_asked(candidate, psn))
			continue;
		if (found)
			return NULL;
		found = candidate;
	}
	if (found)
		inspect_pair_flows(flow, found, INSPECT_PAIRED_BY_PSN);
	return found;
}

/* The only unpaired connected flow of a pair, or NULL. */
static struct inspect_flow *only_unpaired(const struct inspect_pair *pair)
{
	struct inspect_flow *flow, *found = NULL;

	for (flow = pair ? pair->newest : NULL; flow; flow = flow->next_of_pair) {
		if (flow->reverse || flow->key.source_qpn)
			continue;
		if (found)
			return NULL;
		found = flow;
	}
	return found;
}

void inspect_pair_rest(struct inspect_analysis *analysis)
{
	for (uint32_t i = 0; i < analysis->flows.pair_slot_count; i++) {
		const struct inspect_pair *pair = analysis->flows.pairs[i];
		struct inspect_flow *one, *other;

		if (!pair)
			continue;
		one = only_unpaired(pair);
		if (!one)
			continue;
		other = only_unpaired(inspect_pair_find(&analysis->flows, &pair->destination,
							&pair->source, pair->encapsulation));
		if (other && other != one)
			inspect_pair_flows(one, other, INSPECT_PAIRED_BY_ADDRESS);
	}
}
