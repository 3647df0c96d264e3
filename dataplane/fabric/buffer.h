/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Who has how much of a switch's packet memory, and whether a frame may have some, by the rules of
 * buffer_config.h. It knows no frames and no ports: callers keep what each group and each queue
 * has, and say how many bytes come and go.
 */
#ifndef VERBLINE_FABRIC_BUFFER_H
#define VERBLINE_FABRIC_BUFFER_H

#include "dataplane/fabric/buffer_config.h"

#include <stdbool.h>
#include <stdint.h>

/* What a pool shares, as groups or as queues see it. */
struct vl_buffer_share {
	uint64_t limit, used, watermark; /* bytes */
};

struct vl_buffer_pool {
	struct vl_buffer_share groups, queues;
	struct vl_buffer_share headroom; /* shared headroom; limit 0: there is none */
};

struct vl_buffer {
	uint32_t cell_size;       /* 0: bytes */
	uint32_t cell_reciprocal; /* 2^32 / cell_size, rounded up */
	uint64_t used, watermark; /* bytes of memory: reserved, shared and headroom */
	/* Pools together may promise more than there is: then shared memory is also counted over
	 * all of them. */
	struct vl_buffer_share shared;
	bool is_overcommitted;
	struct vl_buffer_pool pools[VL_BUFFER_POOLS];
};

/* A group's or queue's configuration, made ready. */
struct vl_buffer_rule {
	uint8_t pool;
	bool is_lossless;
	uint64_t reserved;
	uint64_t limit; /* of shared memory, unless alpha */
	uint64_t alpha; /* times 2^VL_BUFFER_ALPHA_BITS; 0: limit counts */
	uint64_t headroom;
	uint64_t xon, xon_offset;
};

#define VL_BUFFER_ALPHA_BITS 20

/* What a group has. (Of a queue it is one number.) */
struct vl_buffer_group {
	uint64_t used;      /* bytes, of reserved and shared memory */
	uint64_t headroom;  /* bytes, of headroom */
	uint64_t watermark; /* of both together */
	uint64_t headroom_watermark;
};

enum vl_buffer_verdict {
	VL_BUFFER_ADMITTED,
	VL_BUFFER_BEYOND_THRESHOLD, /* of the group or queue itself */
	VL_BUFFER_POOL_FULL,
	VL_BUFFER_HEADROOM_FULL, /* a lossless group's */
};

/* Of pools as configured (pool_count of at least 1), of which groups have reserved (headroom of
 * their own included) and queues have reserved that much each. */
void vl_buffer_init(struct vl_buffer *buffer, uint64_t size, uint32_t cell_size,
		    const struct vl_buffer_pool_config *pools, unsigned int pool_count,
		    const uint64_t groups_reserved[VL_BUFFER_POOLS],
		    const uint64_t queues_reserved[VL_BUFFER_POOLS]);
void vl_buffer_group_rule(struct vl_buffer_rule *rule, const struct vl_buffer_group_config *config);
void vl_buffer_queue_rule(struct vl_buffer_rule *rule, const struct vl_buffer_queue_config *config);

/* Bytes of memory that a frame takes. length < 2^16. */
static inline uint32_t vl_buffer_occupancy(const struct vl_buffer *buffer, uint32_t length)
{
	uint64_t cells;

	if (!buffer->cell_size)
		return length;
	cells = ((uint64_t)(length + buffer->cell_size - 1) * buffer->cell_reciprocal) >> 32;
	return (uint32_t)cells * buffer->cell_size;
}

/* Most shared memory that a group or queue may have now. */
static inline uint64_t vl_buffer_threshold(const struct vl_buffer_rule *rule,
					   const struct vl_buffer_share *share)
{
	if (!rule->alpha)
		return rule->limit;
	return (uint64_t)(((unsigned __int128)(share->limit - share->used) * rule->alpha) >>
			  VL_BUFFER_ALPHA_BITS);
}

/* ---- Coming and going: on every frame's way, hence here ---------------------------------- */

/* What of used bytes is of shared memory. */
static inline uint64_t vl_buffer_shared_part(const struct vl_buffer_rule *rule, uint64_t used)
{
	return used > rule->reserved ? used - rule->reserved : 0;
}

static inline void vl_buffer_take(struct vl_buffer_share *share, uint64_t bytes)
{
	share->used += bytes;
	if (share->used > share->watermark)
		share->watermark = share->used;
}

/* Whether a queue that uses so many bytes may have more; charges nothing. */
static inline enum vl_buffer_verdict vl_buffer_queue_check(const struct vl_buffer *buffer,
							   const struct vl_buffer_rule *rule,
							   uint64_t used, uint32_t more)
{
	const struct vl_buffer_share *share = &buffer->pools[rule->pool].queues;
	uint64_t shared = vl_buffer_shared_part(rule, used + more);

	if (shared > vl_buffer_threshold(rule, share))
		return VL_BUFFER_BEYOND_THRESHOLD;
	if (shared - vl_buffer_shared_part(rule, used) > share->limit - share->used)
		return VL_BUFFER_POOL_FULL;
	return VL_BUFFER_ADMITTED;
}

/* Puts bytes that found no room elsewhere into a lossless group's headroom. */
enum vl_buffer_verdict vl_buffer_use_headroom(struct vl_buffer *buffer,
					      const struct vl_buffer_rule *rule,
					      struct vl_buffer_group *group, uint32_t bytes);

static inline enum vl_buffer_verdict vl_buffer_charge_group(struct vl_buffer *buffer,
							    const struct vl_buffer_rule *rule,
							    struct vl_buffer_group *group,
							    uint32_t bytes)
{
	struct vl_buffer_share *share = &buffer->pools[rule->pool].groups;
	uint64_t shared = vl_buffer_shared_part(rule, group->used + bytes);
	uint64_t more = shared - vl_buffer_shared_part(rule, group->used);
	bool is_within = shared <= vl_buffer_threshold(rule, share);

	if (is_within && more <= share->limit - share->used &&
	    (!buffer->is_overcommitted || more <= buffer->shared.limit - buffer->shared.used)) {
		group->used += bytes;
		vl_buffer_take(share, more);
		if (buffer->is_overcommitted)
			vl_buffer_take(&buffer->shared, more);
		return VL_BUFFER_ADMITTED;
	}
	if (rule->is_lossless)
		return vl_buffer_use_headroom(buffer, rule, group, bytes);
	return is_within ? VL_BUFFER_POOL_FULL : VL_BUFFER_BEYOND_THRESHOLD;
}

/* Charges bytes, of a frame that its queue may have, to the group and the queue, if the group may
 * have them. */
static inline enum vl_buffer_verdict vl_buffer_admit(struct vl_buffer *buffer,
						     const struct vl_buffer_rule *group_rule,
						     struct vl_buffer_group *group,
						     const struct vl_buffer_rule *queue_rule,
						     uint64_t *queue_used, uint32_t bytes)
{
	enum vl_buffer_verdict verdict = vl_buffer_charge_group(buffer, group_rule, group, bytes);
	uint64_t before;

	if (verdict != VL_BUFFER_ADMITTED)
		return verdict;
	if (group->used + group->headroom > group->watermark)
		group->watermark = group->used + group->headroom;
	before = vl_buffer_shared_part(queue_rule, *queue_used);
	*queue_used += bytes;
	vl_buffer_take(&buffer->pools[queue_rule->pool].queues,
		       vl_buffer_shared_part(queue_rule, *queue_used) - before);
	buffer->used += bytes;
	if (buffer->used > buffer->watermark)
		buffer->watermark = buffer->used;
	return VL_BUFFER_ADMITTED;
}

/* Takes back what was charged. Headroom is freed before the rest. */
static inline void vl_buffer_release(struct vl_buffer *buffer,
				     const struct vl_buffer_rule *group_rule,
				     struct vl_buffer_group *group,
				     const struct vl_buffer_rule *queue_rule, uint64_t *queue_used,
				     uint32_t bytes)
{
	struct vl_buffer_pool *pool = &buffer->pools[group_rule->pool];
	uint64_t shared, from_group = bytes;

	if (group->headroom) {
		uint64_t from_headroom = group->headroom < bytes ? group->headroom : bytes;

		group->headroom -= from_headroom;
		if (pool->headroom.limit)
			pool->headroom.used -= from_headroom;
		from_group -= from_headroom;
	}
	shared = vl_buffer_shared_part(group_rule, group->used);
	group->used -= from_group;
	shared -= vl_buffer_shared_part(group_rule, group->used);
	pool->groups.used -= shared;
	if (buffer->is_overcommitted)
		buffer->shared.used -= shared;

	shared = vl_buffer_shared_part(queue_rule, *queue_used);
	*queue_used -= bytes;
	buffer->pools[queue_rule->pool].queues.used -=
		shared - vl_buffer_shared_part(queue_rule, *queue_used);
	buffer->used -= bytes;
}

/* Of a lossless group, after a frame came: to pause its sender. */
static inline bool vl_buffer_is_xoff(const struct vl_buffer *buffer,
				     const struct vl_buffer_rule *rule,
				     const struct vl_buffer_group *group)
{
	return group->headroom ||
	       group->used >= rule->reserved +
				      vl_buffer_threshold(rule, &buffer->pools[rule->pool].groups);
}

/* Of a lossless group, after a frame went: to let its sender go on. */
static inline bool vl_buffer_is_xon(const struct vl_buffer *buffer,
				    const struct vl_buffer_rule *rule,
				    const struct vl_buffer_group *group)
{
	uint64_t xoff;

	if (group->headroom)
		return false;
	if (group->used <= rule->xon)
		return true;
	if (!rule->xon_offset)
		return false;
	xoff = rule->reserved + vl_buffer_threshold(rule, &buffer->pools[rule->pool].groups);
	return group->used + rule->xon_offset <= xoff;
}

/* Watermarks begin anew at what is used now. */
void vl_buffer_reset_watermarks(struct vl_buffer *buffer);
void vl_buffer_group_reset_watermarks(struct vl_buffer_group *group);

#endif
