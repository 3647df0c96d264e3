/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/infiniband/arbiter.h"

#include "dataplane/infiniband/flow_control.h"

#include <stddef.h>

#define WEIGHT_UNIT    64
#define LIMIT_UNIT     4096
#define DEFAULT_WEIGHT 64

static uint16_t lanes_of(const struct vl_arbiter_entry *entries, uint8_t count)
{
	uint16_t lanes = 0;

	for (uint8_t i = 0; i < count; i++) {
		if (entries[i].weight)
			lanes |= (uint16_t)(1u << entries[i].virtual_lane);
	}
	return lanes;
}

static bool has_lane_beyond(const struct vl_arbiter_entry *entries, uint8_t count,
			    uint8_t virtual_lanes)
{
	for (uint8_t i = 0; i < count; i++) {
		if (entries[i].virtual_lane >= virtual_lanes)
			return true;
	}
	return false;
}

const char *vl_arbiter_config_error(const struct vl_arbiter_config *config, uint8_t virtual_lanes)
{
	uint16_t served;

	if (config->high_count > VL_ARBITER_ENTRIES || config->low_count > VL_ARBITER_ENTRIES)
		return "a table of the arbitration has more than 64 entries";
	if (has_lane_beyond(config->high, config->high_count, virtual_lanes) ||
	    has_lane_beyond(config->low, config->low_count, virtual_lanes))
		return "the arbitration serves a virtual lane that the port does not have";
	served = lanes_of(config->high, config->high_count) |
		 lanes_of(config->low, config->low_count);
	if (served != (1u << virtual_lanes) - 1)
		return "a virtual lane is in neither table of the arbitration with a weight above "
		       "0, so that nothing would ever leave by it";
	return NULL;
}

void vl_arbiter_default(struct vl_arbiter_config *config, uint8_t virtual_lanes)
{
	*config = (struct vl_arbiter_config){.limit_of_high_priority = VL_ARBITER_NO_LIMIT,
					     .low_count = virtual_lanes};
	for (uint8_t i = 0; i < virtual_lanes; i++)
		config->low[i] = (struct vl_arbiter_entry){i, DEFAULT_WEIGHT};
}

static void init_table(struct vl_arbiter_table *table, const struct vl_arbiter_entry *entries,
		       uint8_t count)
{
	*table = (struct vl_arbiter_table){
		.count = count,
		.left = count ? entries[0].weight * WEIGHT_UNIT : 0,
		.lanes = lanes_of(entries, count),
	};
}

static void restart_high(struct vl_arbiter *arbiter)
{
	uint8_t limit = arbiter->config.limit_of_high_priority;

	/* Whatever is left lets one more packet go. */
	arbiter->high_left = limit ? limit * LIMIT_UNIT : 1;
}

void vl_arbiter_init(struct vl_arbiter *arbiter, const struct vl_arbiter_config *config)
{
	arbiter->config = *config;
	arbiter->choice = VL_ARBITER_CHOSE_LOW;
	init_table(&arbiter->high, config->high, config->high_count);
	init_table(&arbiter->low, config->low, config->low_count);
	restart_high(arbiter);
}

/* One of the lanes that are ready has an entry with a weight. */
static uint8_t serve(struct vl_arbiter_table *table, const struct vl_arbiter_entry *entries,
		     uint16_t ready)
{
	while (table->left <= 0 || !(ready >> entries[table->turn].virtual_lane & 1)) {
		table->turn = table->turn + 1 < table->count ? table->turn + 1 : 0;
		table->left = entries[table->turn].weight * WEIGHT_UNIT;
	}
	return entries[table->turn].virtual_lane;
}

uint8_t vl_arbiter_choose(struct vl_arbiter *arbiter, uint16_t ready)
{
	bool has_high = arbiter->high.lanes & ready, has_low = arbiter->low.lanes & ready;
	bool has_limit = arbiter->config.limit_of_high_priority != VL_ARBITER_NO_LIMIT;

	if (ready >> VL_INFINIBAND_MANAGEMENT_LANE & 1) {
		arbiter->choice = VL_ARBITER_CHOSE_MANAGEMENT;
		return VL_INFINIBAND_MANAGEMENT_LANE;
	}
	if (has_high && (!has_limit || arbiter->high_left > 0 || !has_low)) {
		if (arbiter->high_left <= 0)
			restart_high(arbiter);
		arbiter->choice = VL_ARBITER_CHOSE_HIGH;
		return serve(&arbiter->high, arbiter->config.high, ready);
	}
	if (!has_low)
		return VL_ARBITER_NONE;
	arbiter->choice = VL_ARBITER_CHOSE_LOW;
	return serve(&arbiter->low, arbiter->config.low, ready);
}

void vl_arbiter_sent(struct vl_arbiter *arbiter, uint32_t length)
{
	if (arbiter->choice == VL_ARBITER_CHOSE_HIGH) {
		arbiter->high.left -= (int32_t)length;
		arbiter->high_left -= length;
	} else if (arbiter->choice == VL_ARBITER_CHOSE_LOW) {
		arbiter->low.left -= (int32_t)length;
		restart_high(arbiter);
	}
}
