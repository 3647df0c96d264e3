/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Who has how much of a switch's packet memory, and whether a frame may have some, by the rules of
 * buffer_config.h. It knows no frames and no ports: callers keep an account for each group and
 * each queue, and say how many bytes come and go.
 */
#ifndef VERBLINE_FABRIC_BUFFER_H
#define VERBLINE_FABRIC_BUFFER_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/fabric/buffer_config.h"

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
	/* Over all pools, which may promise more than there is. */
	struct vl_buffer_share shared;
	struct vl_buffer_pool pools[VL_BUFFER_POOLS];
};

/* A group's or queue's configuration, made ready. */
struct vl_buffer_rule {
	uint64_t reserved;
	uint64_t limit; /* of shared memory, unless alpha */
	uint64_t alpha; /* times 2^VL_BUFFER_ALPHA_BITS; 0: limit counts */
	uint64_t headroom;
	uint64_t xon, xon_offset;
	uint8_t pool;
	bool is_lossless;
};

#define VL_BUFFER_ALPHA_BITS 20

/* Of a group or a queue. */
struct vl_buffer_account {
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

/* Most shared memory that an account may have now. */
static inline uint64_t vl_buffer_threshold(const struct vl_buffer_rule *rule,
					   const struct vl_buffer_share *share)
{
	if (!rule->alpha)
		return rule->limit;
	return (uint64_t)(((unsigned __int128)(share->limit - share->used) * rule->alpha) >>
			  VL_BUFFER_ALPHA_BITS);
}

/* Whether a queue may have bytes more; charges nothing. */
enum vl_buffer_verdict vl_buffer_queue_check(const struct vl_buffer *buffer,
					     const struct vl_buffer_rule *rule,
					     const struct vl_buffer_account *queue, uint32_t bytes);
/* Charges bytes, of a frame that its queue may have, to the group and the queue, if the group may
 * have them. */
enum vl_buffer_verdict vl_buffer_admit(struct vl_buffer *buffer,
				       const struct vl_buffer_rule *group_rule,
				       struct vl_buffer_account *group,
				       const struct vl_buffer_rule *queue_rule,
				       struct vl_buffer_account *queue, uint32_t bytes);
/* Takes back what was charged. Headroom is freed before the rest. */
void vl_buffer_release(struct vl_buffer *buffer, const struct vl_buffer_rule *group_rule,
		       struct vl_buffer_account *group, const struct vl_buffer_rule *queue_rule,
		       struct vl_buffer_account *queue, uint32_t bytes);

/* Of a lossless group, after a frame came: to pause its sender. */
static inline bool vl_buffer_is_xoff(const struct vl_buffer *buffer,
				     const struct vl_buffer_rule *rule,
				     const struct vl_buffer_account *group)
{
	return group->headroom ||
	       group->used >= rule->reserved +
				      vl_buffer_threshold(rule, &buffer->pools[rule->pool].groups);
}

/* Of a lossless group, after a frame went: to let its sender go on. */
static inline bool vl_buffer_is_xon(const struct vl_buffer *buffer,
				    const struct vl_buffer_rule *rule,
				    const struct vl_buffer_account *group)
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
void vl_buffer_account_reset_watermarks(struct vl_buffer_account *account);

#endif
