/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/workload/collectives.h"
#include "dataplane/workload/parts.h"

/* log2 of VL_WORKLOAD_PLAN_MAX_RANKS. */
#define MAX_LEVELS 16

/*
 * So many turns around the ring, from turn first on. In turn t rank r sends part (r - t) mod n to
 * its right, which is what came from its left in turn t - 1. The first n - 1 turns add, whatever
 * follows replaces.
 */
static int add_ring(struct vl_workload_plan *plan, uint64_t size, uint32_t first, uint32_t turns,
		    uint32_t adding, uint64_t compute)
{
	uint32_t ranks = plan->rank_count, base = plan->step_count;
	int status = 0;

	for (uint32_t turn = 0; !status && turn < turns; turn++) {
		for (uint32_t rank = 0; !status && rank < ranks; rank++) {
			uint32_t part = (rank + 2 * ranks - (first + turn) % ranks) % ranks;
			struct vl_step step =
				vl_part_step(rank, (rank + 1) % ranks, size, part, 1, ranks);
			uint32_t before =
				base + (turn ? turn - 1 : 0) * ranks + (rank + ranks - 1) % ranks;

			step.reduces = turn < adding;
			step.delay = turn && turn <= adding ? compute : 0;
			status = vl_workload_plan_add(plan, &step, &before, turn != 0);
		}
	}
	return status;
}

int vl_workload_plan_ring_all_reduce(struct vl_workload_plan *plan, uint64_t size, uint64_t compute)
{
	int status = vl_workload_plan_check_parts(plan, size, plan->rank_count);
	uint32_t turns = plan->rank_count - 1;

	return status ? status : add_ring(plan, size, 0, 2 * turns, turns, compute);
}

/* One turn later, so that rank r ends with part r. */
int vl_workload_plan_ring_reduce_scatter(struct vl_workload_plan *plan, uint64_t size,
					 uint64_t compute)
{
	int status = vl_workload_plan_check_parts(plan, size, plan->rank_count);
	uint32_t turns = plan->rank_count - 1;

	return status ? status : add_ring(plan, size, 1, turns, turns, compute);
}

int vl_workload_plan_ring_all_gather(struct vl_workload_plan *plan, uint64_t size)
{
	int status = vl_workload_plan_check_parts(plan, size, plan->rank_count);

	return status ? status : add_ring(plan, size, 0, plan->rank_count - 1, 0, 0);
}

/*
 * One step of recursive halving (round < levels) or doubling. With the partner at distance d, a
 * rank of the halving gives away the d parts that the partner is to keep; in the doubling it gives
 * the d parts that it has. Both need all that has come to the rank in earlier rounds.
 */
static int add_exchange(struct vl_workload_plan *plan, uint64_t size, uint32_t rank, uint32_t round,
			uint32_t levels, uint64_t compute)
{
	uint32_t ranks = plan->rank_count, before[2 * MAX_LEVELS], distance = 0, partner;
	bool halves = round < levels;
	struct vl_step step;

	for (uint32_t i = 0; i <= round; i++) {
		distance = i < levels ? ranks >> (i + 1) : 1u << (i - levels);
		before[i] = i * ranks + (rank ^ distance);
	}
	partner = rank ^ distance;
	step = vl_part_step(rank, partner, size, (halves ? partner : rank) & ~(distance - 1),
			    distance, ranks);
	step.reduces = halves;
	step.delay = round && round <= levels ? compute : 0;
	return vl_workload_plan_add(plan, &step, before, round);
}

int vl_workload_plan_halving_doubling_all_reduce(struct vl_workload_plan *plan, uint64_t size,
						 uint64_t compute)
{
	uint32_t ranks = plan->rank_count, levels = 0;
	int status = vl_workload_plan_check_parts(plan, size, ranks);

	if (status)
		return status;
	if (ranks & (ranks - 1))
		return vl_workload_plan_refuse(
			plan,
			"halving and doubling takes a power of two of ranks, not %u: "
			"%u would do, or a ring",
			ranks, 1u << (31 - __builtin_clz(ranks)));
	while (1u << levels < ranks)
		levels++;
	for (uint32_t round = 0; !status && round < 2 * levels; round++) {
		for (uint32_t rank = 0; !status && rank < ranks; rank++)
			status = add_exchange(plan, size, rank, round, levels, compute);
	}
	return status;
}
