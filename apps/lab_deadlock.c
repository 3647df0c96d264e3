/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/lab_deadlock.h"

#include <math.h>
#include <stdlib.h>

#define MOVES UINT64_MAX
#define NONE  UINT32_MAX
/* Of the run: what stands still for less may be a pause that ends. */
#define LEAST_PART 0.05

struct vl_lab_deadlock {
	const struct vl_lab_fabric *fabric;
	const struct vl_scenario *scenario;
	uint64_t *since; /* by port: ns from which it stands still; MOVES: it does not */
	/* Of the search, by port. */
	unsigned int *next_port; /* of the node that it leads to: to be looked at */
	bool *is_on_path, *is_done;
	unsigned int *path;    /* ports; of the search for a way nodes */
	unsigned int *entered; /* by node: the port that the way comes by; NONE: none yet */
};

struct vl_lab_deadlock *vl_lab_deadlock_create(const struct vl_lab_fabric *fabric)
{
	const struct vl_scenario *scenario = fabric->scenario;
	struct vl_lab_deadlock *deadlock = calloc(1, sizeof(*deadlock));
	size_t ports = 2 * (size_t)scenario->cable_count, nodes = scenario->node_count;

	if (!deadlock)
		return NULL;
	deadlock->fabric = fabric;
	deadlock->scenario = scenario;
	deadlock->since = malloc(ports * sizeof(*deadlock->since));
	deadlock->next_port = calloc(ports, sizeof(*deadlock->next_port));
	deadlock->is_on_path = calloc(ports, sizeof(*deadlock->is_on_path));
	deadlock->is_done = calloc(ports, sizeof(*deadlock->is_done));
	deadlock->path = calloc(ports + nodes, sizeof(*deadlock->path));
	deadlock->entered = calloc(nodes, sizeof(*deadlock->entered));
	if (!deadlock->since || !deadlock->next_port || !deadlock->is_on_path ||
	    !deadlock->is_done || !deadlock->path || !deadlock->entered) {
		vl_lab_deadlock_destroy(deadlock);
		return NULL;
	}
	for (size_t i = 0; i < ports; i++)
		deadlock->since[i] = MOVES;
	return deadlock;
}

void vl_lab_deadlock_destroy(struct vl_lab_deadlock *deadlock)
{
	if (!deadlock)
		return;
	free(deadlock->since);
	free(deadlock->next_port);
	free(deadlock->is_on_path);
	free(deadlock->is_done);
	free(deadlock->path);
	free(deadlock->entered);
	free(deadlock);
}

void vl_lab_deadlock_update(struct vl_lab_deadlock *deadlock,
			    const struct vl_lab_port_reading *first,
			    const struct vl_lab_port_reading *second, uint64_t before)
{
	unsigned int ports = 2 * deadlock->scenario->cable_count;

	for (unsigned int i = 0; i < ports; i++) {
		bool stands = first[i].is_held && second[i].is_held && second[i].queue_bytes &&
			      first[i].packets == second[i].packets;

		if (!stands)
			deadlock->since[i] = MOVES;
		else if (deadlock->since[i] == MOVES)
			deadlock->since[i] = before;
	}
}

static unsigned int sender_of(const struct vl_results *results, unsigned int at)
{
	return results->links[at].node;
}

/* Whether a link joins two switches and has stood still for so long that no pause explains it. */
static bool stands(const struct vl_lab_deadlock *deadlock, unsigned int at,
		   const struct vl_results *results)
{
	const struct vl_scenario *scenario = deadlock->scenario;
	double least = LEAST_PART * (double)results->end;

	return deadlock->since[at] != MOVES && scenario->nodes[sender_of(results, at)].sw &&
	       scenario->nodes[scenario->ports[at].neighbour].sw &&
	       (double)(results->end - deadlock->since[at]) >=
		       fmax(least, (double)scenario->sample_interval);
}

/* The circle is the end of the path, from a link that it comes back to. */
static void take_circle(const struct vl_lab_deadlock *deadlock, unsigned int length,
			unsigned int link, struct vl_results *results)
{
	struct vl_deadlock_result *result = &results->deadlock;
	unsigned int start = 0, at;

	while (deadlock->path[start] != link)
		start++;
	for (unsigned int i = start; i < length; i++) {
		at = deadlock->path[i];
		if (deadlock->since[at] > result->since)
			result->since = deadlock->since[at];
		if (result->count < VL_MAX_DEADLOCK_LINKS)
			result->links[result->count] = at;
		result->count++;
	}
}

/* Depth first over links that stand still, from one to those that go on from its end. What came by
 * a link never goes back to where it came from: two switches that pause each other are no circle.
 * True: a circle was found. */
static bool search(struct vl_lab_deadlock *deadlock, unsigned int root, struct vl_results *results)
{
	const struct vl_scenario *scenario = deadlock->scenario;
	unsigned int length = 1, at, node, next;

	deadlock->path[0] = root;
	deadlock->is_on_path[root] = true;
	while (length) {
		at = deadlock->path[length - 1];
		node = scenario->ports[at].neighbour;
		if (deadlock->next_port[at] == scenario->nodes[node].ports) {
			deadlock->is_done[at] = true;
			deadlock->is_on_path[at] = false;
			length--;
			continue;
		}
		next = scenario->nodes[node].first_port + deadlock->next_port[at]++;
		if (deadlock->is_done[next] || !stands(deadlock, next, results) ||
		    scenario->ports[next].neighbour == sender_of(results, at))
			continue;
		if (deadlock->is_on_path[next]) {
			take_circle(deadlock, length, next, results);
			return true;
		}
		deadlock->is_on_path[next] = true;
		deadlock->path[length++] = next;
	}
	return false;
}

/* ---- Circles of which other processes run a part ----------------------------------------- */

static bool is_elsewhere(const struct vl_lab_deadlock *deadlock, unsigned int node)
{
	return deadlock->fabric->nodes[node].worker >= VL_LAB_MAX_WORKERS;
}

/* Whether a link of a node may be part of a circle: it stands still, or is not seen. */
static bool may_stand(const struct vl_lab_deadlock *deadlock, unsigned int node, unsigned int at)
{
	return is_elsewhere(deadlock, node) || deadlock->since[at] != MOVES;
}

/* The shortest way from a node to another one over switches and such links, but for a link from the
 * one right to the other. Into deadlock->entered: by node, the link that the way comes by. */
static bool find_way(struct vl_lab_deadlock *deadlock, unsigned int from, unsigned int to)
{
	const struct vl_scenario *scenario = deadlock->scenario;
	unsigned int head = 0, tail = 0;

	for (unsigned int i = 0; i < scenario->node_count; i++)
		deadlock->entered[i] = NONE;
	deadlock->path[tail++] = from;
	while (head < tail) {
		unsigned int node = deadlock->path[head++];

		for (unsigned int port = 0; port < scenario->nodes[node].ports; port++) {
			unsigned int at = scenario->nodes[node].first_port + port;
			unsigned int next = scenario->ports[at].neighbour;

			if (next == from || !scenario->nodes[next].sw ||
			    deadlock->entered[next] != NONE || (node == from && next == to) ||
			    !may_stand(deadlock, node, at))
				continue;
			deadlock->entered[next] = at;
			if (next == to)
				return true;
			deadlock->path[tail++] = next;
		}
	}
	return false;
}

/* The link at, and the way back from its far end. */
static void take_way(const struct vl_lab_deadlock *deadlock, unsigned int at,
		     struct vl_results *results)
{
	struct vl_deadlock_result *result = &results->deadlock;
	unsigned int first = sender_of(results, at), length = 1, back;

	for (back = deadlock->entered[first];
	     sender_of(results, back) != results->links[at].neighbour;
	     back = deadlock->entered[sender_of(results, back)])
		length++;
	*result = (struct vl_deadlock_result){.count = length + 1, .since = deadlock->since[at]};
	result->links[0] = at;
	for (back = deadlock->entered[first]; length;
	     back = deadlock->entered[sender_of(results, back)], length--) {
		if (length < VL_MAX_DEADLOCK_LINKS)
			result->links[length] = back;
		if (results->links[back].is_elsewhere)
			result->elsewhere++;
		else if (deadlock->since[back] > result->since)
			result->since = deadlock->since[back];
	}
}

/* What stands still here, on a circle that the routes allow, and that may go on elsewhere. */
static void search_partly(struct vl_lab_deadlock *deadlock, struct vl_results *results)
{
	const struct vl_scenario *scenario = deadlock->scenario;

	for (unsigned int at = 0; at < 2 * scenario->cable_count; at++) {
		unsigned int node = sender_of(results, at), next = results->links[at].neighbour;

		if (is_elsewhere(deadlock, node) || !scenario->nodes[node].sw ||
		    !scenario->nodes[next].sw || !may_stand(deadlock, node, at) ||
		    !find_way(deadlock, next, node))
			continue;
		take_way(deadlock, at, results);
		return;
	}
}

/* Workers that are kept from running stand still, too: for so long, and for a good part of the run.
 */
#define LEAST_LIVE_TIME UINT64_C(100000000)
#define LEAST_LIVE_PART 5

static void forget_short_stops(struct vl_lab_deadlock *deadlock, uint64_t end)
{
	uint64_t least =
		end / LEAST_LIVE_PART > LEAST_LIVE_TIME ? end / LEAST_LIVE_PART : LEAST_LIVE_TIME;

	for (unsigned int i = 0; i < 2 * deadlock->scenario->cable_count; i++) {
		if (deadlock->since[i] != MOVES && deadlock->since[i] + least > end)
			deadlock->since[i] = MOVES;
	}
}

void vl_lab_deadlock_finish(struct vl_lab_deadlock *deadlock, struct vl_results *results)
{
	const struct vl_scenario *scenario = deadlock->scenario;

	/* What InfiniBand's routes allow is known. */
	if (vl_scenario_is_infiniband(scenario) && !*results->possible_deadlock)
		return;
	if (results->is_live)
		forget_short_stops(deadlock, results->end);
	for (unsigned int at = 0; at < results->link_count; at++) {
		if (!deadlock->is_done[at] && stands(deadlock, at, results) &&
		    search(deadlock, at, results))
			return;
	}
	if (vl_scenario_is_infiniband(scenario))
		search_partly(deadlock, results);
}
