/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/workload/rank_pairs.h"

#include <stdbool.h>
#include <stdlib.h>

void vl_rank_pairs_release(struct vl_rank_pairs *table)
{
	free(table->keys);
	free(table->numbers);
}

static uint32_t place_of(const struct vl_rank_pairs *table, uint64_t key)
{
	uint32_t place = (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (table->size - 1);

	while (table->keys[place] && table->keys[place] != key)
		place = (place + 1) & (table->size - 1);
	return place;
}

static bool grow_table(struct vl_rank_pairs *table)
{
	struct vl_rank_pairs grown = {.size = table->size ? 2 * table->size : 1024,
				      .count = table->count};

	grown.keys = calloc(grown.size, sizeof(*grown.keys));
	grown.numbers = calloc(grown.size, sizeof(*grown.numbers));
	if (!grown.keys || !grown.numbers) {
		vl_rank_pairs_release(&grown);
		return false;
	}
	for (uint32_t i = 0; i < table->size; i++) {
		uint32_t place;

		if (!table->keys[i])
			continue;
		place = place_of(&grown, table->keys[i]);
		grown.keys[place] = table->keys[i];
		grown.numbers[place] = table->numbers[i];
	}
	vl_rank_pairs_release(table);
	*table = grown;
	return true;
}

uint32_t vl_rank_pairs_number(struct vl_rank_pairs *table, uint32_t a, uint32_t b)
{
	uint64_t key = a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
	uint32_t place;

	if (table->size < 2 * (table->count + 1) && !grow_table(table))
		return UINT32_MAX;
	place = place_of(table, key);
	if (!table->keys[place]) {
		table->keys[place] = key;
		table->numbers[place] = table->count++;
	}
	return table->numbers[place];
}

uint32_t vl_workload_plan_pairs(const struct vl_workload_plan *plan)
{
	struct vl_rank_pairs table = {0};
	uint32_t count;

	for (uint32_t i = 0; i < plan->step_count; i++) {
		const struct vl_step *step = &plan->steps[i];

		if (step->kind != VL_STEP_COMPUTE &&
		    vl_rank_pairs_number(&table, step->source, step->destination) == UINT32_MAX) {
			vl_rank_pairs_release(&table);
			return UINT32_MAX;
		}
	}
	count = table.count;
	vl_rank_pairs_release(&table);
	return count;
}
