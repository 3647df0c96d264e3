/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/infiniband/subnet_manager.h"

#include <stdio.h>
#include <string.h>

/* One packet of 4096 bytes, in units of 64. */
#define DEFAULT_WEIGHT 64

void vl_subnet_lanes_default(struct vl_subnet_lanes *lanes, uint8_t data_lanes)
{
	memset(lanes, 0, sizeof(*lanes));
	lanes->data_lanes = data_lanes;
	lanes->low_count = data_lanes;
	for (unsigned int sl = 0; sl < VL_SUBNET_SERVICES; sl++)
		lanes->sl_to_vl[sl] = (uint8_t)(sl % data_lanes);
	for (unsigned int vl = 0; vl < data_lanes; vl++)
		lanes->low[vl] = (struct vl_subnet_arbiter){(uint8_t)vl, DEFAULT_WEIGHT};
}

/* Marks the lanes that the table serves. NULL, or what is wrong. */
static const char *look_at_table(const struct vl_subnet_lanes *lanes, const char *name,
				 const struct vl_subnet_arbiter *table, uint32_t count,
				 bool *served, char *message)
{
	if (count > VL_SUBNET_ARBITERS) {
		snprintf(message, VL_SUBNET_MESSAGE_SIZE,
			 "the %s-priority table has %u entries, more than %u", name, count,
			 VL_SUBNET_ARBITERS);
		return message;
	}
	for (uint32_t i = 0; i < count; i++) {
		if (table[i].lane >= lanes->data_lanes) {
			snprintf(
				message, VL_SUBNET_MESSAGE_SIZE,
				"entry %u of the %s-priority table names VL %u, but the data lanes "
				"are 0 to %u",
				i, name, table[i].lane, lanes->data_lanes - 1u);
			return message;
		}
		if (table[i].weight)
			served[table[i].lane] = true;
	}
	return NULL;
}

static const char *look_at_service(const struct vl_subnet_lanes *lanes, unsigned int sl,
				   const bool *served, char *message)
{
	uint8_t lane = lanes->sl_to_vl[sl];

	if (lane >= lanes->data_lanes)
		snprintf(message, VL_SUBNET_MESSAGE_SIZE,
			 "SL %u is mapped on VL %u, but the data lanes are 0 to %u", sl, lane,
			 lanes->data_lanes - 1u);
	else if (!served[lane])
		snprintf(message, VL_SUBNET_MESSAGE_SIZE,
			 "SL %u is mapped on VL %u, which no table of arbitration gives a weight: "
			 "it would never be served",
			 sl, lane);
	else
		return NULL;
	return message;
}

const char *vl_subnet_lanes_error(const struct vl_subnet_lanes *lanes, char *message)
{
	bool served[VL_SUBNET_DATA_LANES] = {false};
	const char *error;

	if (!lanes->data_lanes || lanes->data_lanes > VL_SUBNET_DATA_LANES) {
		snprintf(message, VL_SUBNET_MESSAGE_SIZE, "there are %u data lanes, not 1 to %u",
			 lanes->data_lanes, VL_SUBNET_DATA_LANES);
		return message;
	}
	error = look_at_table(lanes, "high", lanes->high, lanes->high_count, served, message);
	if (!error)
		error = look_at_table(lanes, "low", lanes->low, lanes->low_count, served, message);
	for (unsigned int sl = 0; !error && sl < VL_SUBNET_SERVICES; sl++)
		error = look_at_service(lanes, sl, served, message);
	return error;
}
