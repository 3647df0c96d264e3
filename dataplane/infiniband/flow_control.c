/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/infiniband/flow_control.h"

#include "transport/wire/headers.h"
#include "transport/wire/vcrc.h"

#define CRC_OFFSET 4

void vl_flow_control_write(uint8_t bytes[VL_FLOW_CONTROL_LENGTH],
			   const struct vl_flow_control_packet *packet)
{
	uint16_t crc;

	vl_store_be16(bytes, (uint16_t)(packet->operation << 12 |
					(packet->total_sent & VL_FLOW_CONTROL_MASK)));
	vl_store_be16(bytes + 2, (uint16_t)(packet->virtual_lane << 12 |
					    (packet->limit & VL_FLOW_CONTROL_MASK)));
	crc = vl_vcrc(bytes, CRC_OFFSET);
	bytes[CRC_OFFSET] = (uint8_t)crc;
	bytes[CRC_OFFSET + 1] = (uint8_t)(crc >> 8);
}

enum vl_flow_control_result vl_flow_control_parse(const uint8_t *bytes, uint32_t length,
						  struct vl_flow_control_packet *packet)
{
	uint16_t first, second, crc;

	if (length != VL_FLOW_CONTROL_LENGTH)
		return VL_FLOW_CONTROL_BAD_LENGTH;
	first = vl_load_be16(bytes);
	second = vl_load_be16(bytes + 2);
	packet->operation = (uint8_t)(first >> 12);
	packet->total_sent = first & VL_FLOW_CONTROL_MASK;
	packet->virtual_lane = (uint8_t)(second >> 12);
	packet->limit = second & VL_FLOW_CONTROL_MASK;
	crc = vl_vcrc(bytes, CRC_OFFSET);
	if (bytes[CRC_OFFSET] != (uint8_t)crc || bytes[CRC_OFFSET + 1] != crc >> 8)
		return VL_FLOW_CONTROL_BAD_CRC;
	if (packet->operation > VL_FLOW_CONTROL_INIT ||
	    packet->virtual_lane == VL_INFINIBAND_MANAGEMENT_LANE)
		return VL_FLOW_CONTROL_RESERVED;
	return VL_FLOW_CONTROL_OK;
}
