/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/fabric/buffer.h"

#include <math.h>

/* ---- Set-up ---------------------------------------------------------------------------- */

void vl_buffer_init(struct vl_buffer *buffer, uint64_t size, uint32_t cell_size,
		    const struct vl_buffer_pool_config *pools, unsigned int pool_count,
		    const uint64_t groups_reserved[VL_BUFFER_POOLS],
		    const uint64_t queues_reserved[VL_BUFFER_POOLS])
{
	*buffer = (struct vl_buffer){.cell_size = cell_size, .shared.limit = size};
	if (cell_size)
		buffer->cell_reciprocal =
			(uint32_t)(((UINT64_C(1) << 32) + cell_size - 1) / cell_size);
	for (unsigned int i = 0; i < pool_count; i++) {
		struct vl_buffer_pool *pool = &buffer->pools[i];
		uint64_t headroom = pools[i].shared_headroom;
		bool is_shared_only = pools[i].is_shared_only;

		pool->groups.limit =
			pools[i].size - (is_shared_only ? 0 : groups_reserved[i] + headroom);
		pool->queues.limit = pools[i].size - (is_shared_only ? 0 : queues_reserved[i]);
		pool->headroom.limit = headroom;
		buffer->shared.limit -= groups_reserved[i] + headroom;
	}
}

static void set_threshold(struct vl_buffer_rule *rule, const struct vl_buffer_threshold *threshold)
{
	rule->limit = VL_BUFFER_SIZE_MAX;
	rule->alpha = 0;
	if (threshold->kind == VL_THRESHOLD_STATIC && threshold->bytes < VL_BUFFER_SIZE_MAX)
		rule->limit = threshold->bytes;
	else if (threshold->kind == VL_THRESHOLD_DYNAMIC)
		rule->alpha = (uint64_t)llround(ldexp(threshold->alpha, VL_BUFFER_ALPHA_BITS));
}

void vl_buffer_group_rule(struct vl_buffer_rule *rule, const struct vl_buffer_group_config *config)
{
	*rule = (struct vl_buffer_rule){
		.reserved = config->reserved,
		.headroom = config->headroom,
		.xon = config->xon,
		.xon_offset = config->xon_offset,
		.pool = config->pool,
		.is_lossless = config->lossless,
	};
	set_threshold(rule, &config->threshold);
}

void vl_buffer_queue_rule(struct vl_buffer_rule *rule, const struct vl_buffer_queue_config *config)
{
	*rule = (struct vl_buffer_rule){.reserved = config->reserved, .pool = config->pool};
	set_threshold(rule, &config->threshold);
}

/* ---- Coming and going ------------------------------------------------------------------ */

static inline uint64_t shared_part(const struct vl_buffer_rule *rule, uint64_t used)
{
	return used > rule->reserved ? used - rule->reserved : 0;
}

static inline void take(struct vl_buffer_share *share, uint64_t bytes)
{
	share->used += bytes;
	if (share->used > share->watermark)
		share->watermark = share->used;
}

enum vl_buffer_verdict vl_buffer_queue_check(const struct vl_buffer *buffer,
					     const struct vl_buffer_rule *rule,
					     const struct vl_buffer_account *queue, uint32_t bytes)
{
	const struct vl_buffer_share *share = &buffer->pools[rule->pool].queues;
	uint64_t shared = shared_part(rule, queue->used + bytes);

	if (shared > vl_buffer_threshold(rule, share))
		return VL_BUFFER_BEYOND_THRESHOLD;
	if (shared - shared_part(rule, queue->used) > share->limit - share->used)
		return VL_BUFFER_POOL_FULL;
	return VL_BUFFER_ADMITTED;
}

static enum vl_buffer_verdict charge_group(struct vl_buffer *buffer,
					   const struct vl_buffer_rule *rule,
					   struct vl_buffer_account *group, uint32_t bytes)
{
	struct vl_buffer_pool *pool = &buffer->pools[rule->pool];
	uint64_t shared = shared_part(rule, group->used + bytes);
	uint64_t more = shared - shared_part(rule, group->used);
	bool is_within = shared <= vl_buffer_threshold(rule, &pool->groups);

	if (is_within && more <= pool->groups.limit - pool->groups.used &&
	    more <= buffer->shared.limit - buffer->shared.used) {
		group->used += bytes;
		take(&pool->groups, more);
		take(&buffer->shared, more);
		return VL_BUFFER_ADMITTED;
	}
	if (!rule->is_lossless)
		return is_within ? VL_BUFFER_POOL_FULL : VL_BUFFER_BEYOND_THRESHOLD;
	if (group->headroom + bytes > rule->headroom)
		return VL_BUFFER_HEADROOM_FULL;
	if (pool->headroom.limit) {
		if (bytes > pool->headroom.limit - pool->headroom.used)
			return VL_BUFFER_HEADROOM_FULL;
		take(&pool->headroom, bytes);
	}
	group->headroom += bytes;
	if (group->headroom > group->headroom_watermark)
		group->headroom_watermark = group->headroom;
	return VL_BUFFER_ADMITTED;
}

enum vl_buffer_verdict vl_buffer_admit(struct vl_buffer *buffer,
				       const struct vl_buffer_rule *group_rule,
				       struct vl_buffer_account *group,
				       const struct vl_buffer_rule *queue_rule,
				       struct vl_buffer_account *queue, uint32_t bytes)
{
	enum vl_buffer_verdict verdict = charge_group(buffer, group_rule, group, bytes);
	uint64_t before;

	if (verdict != VL_BUFFER_ADMITTED)
		return verdict;
	if (group->used + group->headroom > group->watermark)
		group->watermark = group->used + group->headroom;
	before = shared_part(queue_rule, queue->used);
	queue->used += bytes;
	if (queue->used > queue->watermark)
		queue->watermark = queue->used;
	take(&buffer->pools[queue_rule->pool].queues,
	     shared_part(queue_rule, queue->used) - before);
	buffer->used += bytes;
	if (buffer->used > buffer->watermark)
		buffer->watermark = buffer->used;
	return VL_BUFFER_ADMITTED;
}

void vl_buffer_release(struct vl_buffer *buffer, const struct vl_buffer_rule *group_rule,
		       struct vl_buffer_account *group, const struct vl_buffer_rule *queue_rule,
		       struct vl_buffer_account *queue, uint32_t bytes)
{
	struct vl_buffer_pool *pool = &buffer->pools[group_rule->pool];
	uint64_t from_headroom = group->headroom < bytes ? group->headroom : bytes;
	uint64_t shared = shared_part(group_rule, group->used);

	group->headroom -= from_headroom;
	if (pool->headroom.limit)
		pool->headroom.used -= from_headroom;
	group->used -= bytes - from_headroom;
	shared -= shared_part(group_rule, group->used);
	pool->groups.used -= shared;
	buffer->shared.used -= shared;

	shared = shared_part(queue_rule, queue->used);
	queue->used -= bytes;
	buffer->pools[queue_rule->pool].queues.used -=
		shared - shared_part(queue_rule, queue->used);
	buffer->used -= bytes;
}

/* ---- Watermarks ------------------------------------------------------------------------ */

static void reset(struct vl_buffer_share *share)
{
	share->watermark = share->used;
}

void vl_buffer_reset_watermarks(struct vl_buffer *buffer)
{
	buffer->watermark = buffer->used;
	reset(&buffer->shared);
	for (unsigned int i = 0; i < VL_BUFFER_POOLS; i++) {
		reset(&buffer->pools[i].groups);
		reset(&buffer->pools[i].queues);
		reset(&buffer->pools[i].headroom);
	}
}

void vl_buffer_account_reset_watermarks(struct vl_buffer_account *account)
{
	account->watermark = account->used + account->headroom;
	account->headroom_watermark = account->headroom;
}
