/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/generate/mix.h"

#include "transport/verbline.h"

#include <string.h>

#define MAX_WEIGHT 1000000u

static const char *entry_error(const struct vl_mix_entry *entry, enum ibv_qp_type transport,
			       uint32_t path_mtu)
{
	const char *error = vl_flow_verb_error(transport, entry->verb);

	if (error)
		return error;
	if (!entry->least || entry->most > VL_MAX_MESSAGE || entry->least > entry->most)
		return "sizes must be 1 B to 2 GiB, and a range must not end before it begins";
	if (!entry->weight || entry->weight > MAX_WEIGHT)
		return "weights must be 1 to 1000000";
	if (vl_flow_verb_is_atomic(entry->verb) &&
	    (entry->least != VL_FLOW_ATOMIC_SIZE || entry->most != VL_FLOW_ATOMIC_SIZE))
		return "the size of an atomic is 8 B";
	if (transport == IBV_QPT_UD && entry->most > path_mtu)
		return "a UD message is at most one path MTU";
	return NULL;
}

const char *vl_mix_config_error(const struct vl_mix_config *config, enum ibv_qp_type transport,
				uint32_t path_mtu)
{
	const char *error = NULL;

	if (!config->count || config->count > VL_MIX_MAX_ENTRIES)
		return "a mix must have 1 to 64 entries";
	for (uint32_t i = 0; !error && i < config->count; i++)
		error = entry_error(&config->entries[i], transport, path_mtu);
	return error;
}

/* Vose 1991, in whole numbers: each column holds as much as all weights divided by the columns. */
static void build_alias(struct vl_mix *mix)
{
	const struct vl_mix_config *config = &mix->config;
	uint64_t left[VL_MIX_MAX_ENTRIES], total = 0;
	uint8_t small[VL_MIX_MAX_ENTRIES], large[VL_MIX_MAX_ENTRIES];
	uint32_t small_count = 0, large_count = 0;

	for (uint32_t i = 0; i < config->count; i++)
		total += config->entries[i].weight;
	for (uint32_t i = 0; i < config->count; i++) {
		left[i] = (uint64_t)config->entries[i].weight * config->count;
		mix->part[i] = UINT32_MAX;
		mix->other[i] = (uint8_t)i;
		if (left[i] < total)
			small[small_count++] = (uint8_t)i;
		else
			large[large_count++] = (uint8_t)i;
	}
	while (small_count && large_count) {
		uint8_t less = small[--small_count], more = large[large_count - 1];

		mix->part[less] = (uint32_t)((left[less] << 32) / total);
		mix->other[less] = more;
		left[more] -= total - left[less];
		if (left[more] < total) {
			large_count--;
			small[small_count++] = more;
		}
	}
}

void vl_mix_init(struct vl_mix *mix, const struct vl_mix_config *config)
{
	memset(mix, 0, sizeof(*mix));
	mix->config = *config;
	build_alias(mix);
}

static const struct vl_mix_entry *take_turn(const struct vl_mix *mix, struct vl_mix_cursor *cursor)
{
	const struct vl_mix_entry *entry = &mix->config.entries[cursor->entry];

	if (++cursor->repeated < entry->weight)
		return entry;
	cursor->repeated = 0;
	if (++cursor->entry == mix->config.count)
		cursor->entry = 0;
	return entry;
}

static const struct vl_mix_entry *draw(const struct vl_mix *mix, struct vl_mix_cursor *cursor)
{
	uint64_t random = vl_random_next(&cursor->random);
	uint32_t column = (uint32_t)((random >> 32) * mix->config.count >> 32);

	if ((uint32_t)random >= mix->part[column])
		column = mix->other[column];
	return &mix->config.entries[column];
}

struct vl_message vl_mix_next(const struct vl_mix *mix, struct vl_mix_cursor *cursor)
{
	const struct vl_mix_entry *entry = mix->config.entries;
	struct vl_message message;

	if (mix->config.count > 1)
		entry = mix->config.in_turn ? take_turn(mix, cursor) : draw(mix, cursor);
	message.verb = entry->verb;
	message.size = entry->least;
	if (entry->most > entry->least)
		message.size += (uint32_t)vl_random_below(&cursor->random,
							  (uint64_t)entry->most - entry->least + 1);
	return message;
}

uint32_t vl_mix_largest(const struct vl_mix_config *config)
{
	uint32_t largest = 0;

	for (uint32_t i = 0; i < config->count; i++) {
		if (config->entries[i].most > largest)
			largest = config->entries[i].most;
	}
	return largest;
}

double vl_mix_mean(const struct vl_mix_config *config)
{
	double sum = 0, weights = 0;

	for (uint32_t i = 0; i < config->count; i++) {
		sum += config->entries[i].weight *
		       ((double)config->entries[i].least + config->entries[i].most) / 2;
		weights += config->entries[i].weight;
	}
	return weights > 0 ? sum / weights : 0;
}

bool vl_mix_takes_receives(const struct vl_mix_config *config)
{
	for (uint32_t i = 0; i < config->count; i++) {
		if (vl_flow_verb_takes_receive(config->entries[i].verb))
			return true;
	}
	return false;
}

bool vl_mix_has_immediates(const struct vl_mix_config *config)
{
	for (uint32_t i = 0; i < config->count; i++) {
		if (config->entries[i].verb == VL_FLOW_SEND_IMM ||
		    config->entries[i].verb == VL_FLOW_WRITE_IMM)
			return true;
	}
	return false;
}
