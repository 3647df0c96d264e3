/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Who sends how much to whom in workloads, however many steps that takes. */

#include "apps/scenario/scenario.h"

#include <stdlib.h>

#define FIRST_SIZE 1024u
#define NOBODY     UINT64_MAX

/* Bytes by source and destination. Open addressing; size is a power of two, half of it free. */
struct table {
	uint64_t *keys; /* destination << 32 | source; NOBODY */
	double *bytes;
	size_t size, count;
};

static size_t place_of(const struct table *table, uint64_t key)
{
	size_t place = (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & (table->size - 1);

	while (table->keys[place] != NOBODY && table->keys[place] != key)
		place = (place + 1) & (table->size - 1);
	return place;
}

static bool grow(struct table *table)
{
	struct table grown = {.size = table->size ? 2 * table->size : FIRST_SIZE,
			      .count = table->count};
	size_t place;

	grown.keys = malloc(grown.size * sizeof(*grown.keys));
	grown.bytes = malloc(grown.size * sizeof(*grown.bytes));
	if (!grown.keys || !grown.bytes) {
		free(grown.keys);
		free(grown.bytes);
		return false;
	}
	for (size_t i = 0; i < grown.size; i++)
		grown.keys[i] = NOBODY;
	for (size_t i = 0; i < table->size; i++) {
		if (table->keys[i] == NOBODY)
			continue;
		place = place_of(&grown, table->keys[i]);
		grown.keys[place] = table->keys[i];
		grown.bytes[place] = table->bytes[i];
	}
	free(table->keys);
	free(table->bytes);
	*table = grown;
	return true;
}

static bool add(struct table *table, unsigned int from, unsigned int to, double bytes)
{
	uint64_t key = (uint64_t)to << 32 | from;
	size_t place;

	if (table->size < 2 * (table->count + 1) && !grow(table))
		return false;
	place = place_of(table, key);
	if (table->keys[place] == NOBODY) {
		table->keys[place] = key;
		table->bytes[place] = 0;
		table->count++;
	}
	table->bytes[place] += bytes;
	return true;
}

static void clear(struct table *table)
{
	for (size_t i = 0; i < table->size; i++)
		table->keys[i] = NOBODY;
	table->count = 0;
}

/* What a workload sends; sent: in all, by node. */
static bool add_workload(struct table *table, const struct vl_scenario_workload *workload,
			 double *sent)
{
	const struct vl_workload_plan *plan = &workload->plan;

	for (uint32_t i = 0; i < plan->step_count; i++) {
		const struct vl_step *step = &plan->steps[i];
		unsigned int from = workload->ranks[step->source];

		if (step->kind == VL_STEP_COMPUTE)
			continue;
		sent[from] += (double)step->bytes;
		if (!add(table, from, workload->ranks[step->destination], (double)step->bytes))
			return false;
	}
	return true;
}

/* Keeps of each two nodes the largest part. */
static bool keep_parts(struct table *parts, const struct table *table, const double *sent)
{
	for (size_t i = 0; i < table->size; i++) {
		unsigned int from = (unsigned int)table->keys[i];
		double part;
		size_t place;

		if (table->keys[i] == NOBODY)
			continue;
		part = table->bytes[i] / sent[from];
		if (!add(parts, from, (unsigned int)(table->keys[i] >> 32), 0))
			return false;
		place = place_of(parts, table->keys[i]);
		if (part > parts->bytes[place])
			parts->bytes[place] = part;
	}
	return true;
}

static int by_destination(const void *a, const void *b)
{
	const struct vl_scenario_demand *one = a, *other = b;

	if (one->to != other->to)
		return one->to < other->to ? -1 : 1;
	return one->from < other->from ? -1 : one->from > other->from;
}

static struct vl_scenario_demand *list(struct vl_arena *arena, const struct table *parts)
{
	struct vl_scenario_demand *demands =
		vl_arena_allocate(arena, (parts->count + 1) * sizeof(*demands));
	size_t count = 0;

	if (!demands)
		return NULL;
	for (size_t i = 0; i < parts->size; i++) {
		if (parts->keys[i] != NOBODY)
			demands[count++] = (struct vl_scenario_demand){
				(unsigned int)parts->keys[i], (unsigned int)(parts->keys[i] >> 32),
				parts->bytes[i]};
	}
	qsort(demands, count, sizeof(*demands), by_destination);
	return demands;
}

bool vl_scenario_workload_demands(struct vl_arena *arena, const struct vl_scenario *scenario,
				  const struct vl_scenario_demand **demands, unsigned int *count)
{
	const struct vl_scenario_workload *workloads = scenario->workloads.elements;
	struct table table = {0}, parts = {0};
	double *sent = calloc(scenario->endpoint_count + 1, sizeof(*sent));
	bool done = sent != NULL;

	for (unsigned int i = 0; done && i < scenario->workloads.count; i++) {
		clear(&table);
		for (unsigned int node = 0; node < scenario->endpoint_count; node++)
			sent[node] = 0;
		done = add_workload(&table, &workloads[i], sent) &&
		       keep_parts(&parts, &table, sent);
	}
	*demands = done ? list(arena, &parts) : NULL;
	*count = (unsigned int)parts.count;
	free(sent);
	free(table.keys);
	free(table.bytes);
	free(parts.keys);
	free(parts.bytes);
	return *demands != NULL;
}
