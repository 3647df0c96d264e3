/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Time stamps in immediate data, for latencies of one way: the low 32 bits of the sender's time in
 * ns, 0 where a message has none. Good for ages of 2.1 s either way.
 */
#ifndef VERBLINE_GENERATE_STAMP_H
#define VERBLINE_GENERATE_STAMP_H

#include "dataplane/histogram.h"

#include <endian.h>
#include <infiniband/verbs.h>
#include <stdint.h>

/* What a receiver found. */
struct vl_one_way {
	struct vl_histogram times; /* ns; those of early messages count as 0 */
	uint64_t early;            /* messages that seem to have arrived before they were sent */
};

static inline __be32 vl_stamp(uint64_t now)
{
	return htobe32((uint32_t)now ? (uint32_t)now : 1);
}

/* ns from the stamp to now, where the receiver's clock is offset ns ahead of the sender's. */
static inline int64_t vl_stamp_age(__be32 stamp, int64_t offset, uint64_t now)
{
	return (int32_t)((uint32_t)now - (uint32_t)offset - be32toh(stamp));
}

static inline void vl_one_way_record(struct vl_one_way *one_way, __be32 stamp, int64_t offset,
				     uint64_t now)
{
	int64_t age = vl_stamp_age(stamp, offset, now);

	if (!stamp)
		return;
	one_way->early += age < 0;
	vl_histogram_record(&one_way->times, age < 0 ? 0 : (uint64_t)age);
}

#endif
