/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/inspect/link.h"

#include "transport/wire/vcrc.h"

#define LPCRC_OFFSET 4u

static void take(struct inspect_lane *lane, const struct inspect_lane *other,
		 const struct vl_flow_control_packet *packet)
{
	uint32_t credits;

	if (lane->packets)
		lane->blocks += (packet->total_sent - lane->total_sent) & VL_FLOW_CONTROL_MASK;
	lane->packets++;
	lane->init_packets += packet->operation == VL_FLOW_CONTROL_INIT;
	lane->total_sent = packet->total_sent;
	lane->limit = packet->limit;
	if (!other->packets)
		return;
	credits = (uint32_t)(other->limit - packet->total_sent) & VL_FLOW_CONTROL_MASK;
	/* What one side says crosses what the other does: a count that looks overdrawn is not. */
	if (credits > VL_FLOW_CONTROL_MOST_CREDITS)
		credits = 0;
	if (!lane->has_credits || credits < lane->least_credits)
		lane->least_credits = credits;
	lane->has_credits = true;
	lane->without_credits += !credits;
}

bool inspect_link_add(struct inspect_link *link, unsigned int side, const uint8_t *bytes,
		      uint32_t length, uint32_t *expected, uint32_t *found)
{
	struct vl_flow_control_packet packet;

	side %= INSPECT_LINK_SIDES;
	link->packets++;
	switch (vl_flow_control_parse(bytes, length, &packet)) {
	case VL_FLOW_CONTROL_OK:
		link->lpcrc_right++;
		take(&link->lanes[side][packet.virtual_lane],
		     &link->lanes[1 - side][packet.virtual_lane], &packet);
		return true;
	case VL_FLOW_CONTROL_BAD_CRC:
		link->lpcrc_wrong++;
		*expected = vl_vcrc(bytes, LPCRC_OFFSET);
		*found = bytes[LPCRC_OFFSET] | (uint32_t)bytes[LPCRC_OFFSET + 1] << 8;
		return false;
	case VL_FLOW_CONTROL_RESERVED:
		link->lpcrc_right++;
		link->reserved++;
		return true;
	default:
		link->reserved++;
		return true;
	}
}
