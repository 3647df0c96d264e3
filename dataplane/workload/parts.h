/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Parts of a buffer, for the files that make plans. */
#ifndef VERBLINE_WORKLOAD_PARTS_H
#define VERBLINE_WORKLOAD_PARTS_H

#include "dataplane/workload/plan.h"

/* Where part n of count begins; where the last ends for n = count. */
static inline uint64_t vl_part_offset(uint64_t size, uint32_t n, uint32_t count)
{
	return (uint64_t)((unsigned __int128)size * n / count);
}

/* A WRITE of parts first to first + parts - 1 of count. */
static inline struct vl_step vl_part_step(uint32_t source, uint32_t destination, uint64_t size,
					  uint32_t first, uint32_t parts, uint32_t count)
{
	uint64_t offset = vl_part_offset(size, first, count);

	return (struct vl_step){.source = source,
				.destination = destination,
				.offset = offset,
				.bytes = vl_part_offset(size, first + parts, count) - offset};
}

/* Whether each rank has somebody to talk to, and each part a byte. */
static inline int vl_workload_plan_check_parts(struct vl_workload_plan *plan, uint64_t size,
					       uint32_t parts)
{
	if (plan->rank_count < 2)
		return vl_workload_plan_refuse(
			plan, "one rank has nobody to talk to; it takes 2 at least");
	if (size < parts)
		return vl_workload_plan_refuse(
			plan, "a size of %llu B has no %u parts of a byte at least",
			(unsigned long long)size, parts);
	return 0;
}

#endif
