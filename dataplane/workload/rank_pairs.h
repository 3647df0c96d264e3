/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Which ranks of a workload have to do with each other: pairs of them, numbered. */
#ifndef VERBLINE_WORKLOAD_RANK_PAIRS_H
#define VERBLINE_WORKLOAD_RANK_PAIRS_H

#include "dataplane/workload/plan.h"

#include <stdint.h>

/* Open addressing; size is a power of two, more than half of it free. All 0: no pairs. */
struct vl_rank_pairs {
	uint64_t *keys; /* lower rank << 32 | higher rank; 0 (no two ranks): free */
	uint32_t *numbers;
	uint32_t size, count;
};

/* Number of the pair of ranks, in the order of first asking; UINT32_MAX: no memory. */
uint32_t vl_rank_pairs_number(struct vl_rank_pairs *table, uint32_t a, uint32_t b);
void vl_rank_pairs_release(struct vl_rank_pairs *table);

/* Pairs that exchange messages in a plan; UINT32_MAX: no memory. */
uint32_t vl_workload_plan_pairs(const struct vl_workload_plan *plan);

#endif
