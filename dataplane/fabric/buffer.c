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
	uint64_t promised = 0;

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
		promised += pool->groups.limit;
	}
	buffer->is_overcommitted = promised > buffer->shared.limit;
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

/* ---- Headroom -------------------------------------------------------------------------- */

enum vl_buffer_verdict vl_buffer_use_headroom(struct vl_buffer *buffer,
					      const struct vl_buffer_rule *rule,
					      struct vl_buffer_group *group, uint32_t bytes)
{
	struct vl_buffer_share *share = &buffer->pools[rule->pool].headroom;

	if (group->headroom + bytes > rule->headroom)
		return VL_BUFFER_HEADROOM_FULL;
	if (share->limit) {
		if (bytes > share->limit - share->used)
			return VL_BUFFER_HEADROOM_FULL;
		vl_buffer_take(share, bytes);
	}
	group->headroom += bytes;
	if (group->headroom > group->headroom_watermark)
		group->headroom_watermark = group->headroom;
	return VL_BUFFER_ADMITTED;
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

void vl_buffer_group_reset_watermarks(struct vl_buffer_group *group)
{
	group->watermark = group->used + group->headroom;
	group->headroom_watermark = group->headroom;
}
