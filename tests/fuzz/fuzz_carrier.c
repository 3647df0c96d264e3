/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What an InfiniBand port hears that is not trusted: frames of a carried link, and in these packets
 * and flow control, one after another. Each is two bytes of length, then its bytes. */

#include "apps/inspect/link.h"
#include "dataplane/infiniband/carrier.h"
#include "dataplane/infiniband/port.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CAPACITY 4400u

/* What a frame carries, given to the port as its worker does, with room of the frame's own. */
static void hear(struct vl_infiniband_port *port, const struct vl_carrier_packet *packet,
		 uint64_t now)
{
	uint8_t bytes[CAPACITY];
	struct vl_frame frame = {
		.data = bytes, .capacity = sizeof(bytes), .length = packet->length};

	if (packet->length > sizeof(bytes))
		return;
	memcpy(bytes, packet->data, packet->length);
	if (packet->kind == VL_CARRIER_LINK_PACKET) {
		frame.kind = VL_FRAME_INFINIBAND_LINK;
		vl_infiniband_port_receive_link(port, &frame, now);
		return;
	}
	frame.kind = VL_FRAME_INFINIBAND;
	if (!vl_infiniband_port_accept(port, &frame))
		return;
	if (frame.virtual_lane >= VL_INFINIBAND_LANES || frame.length > sizeof(bytes))
		abort();
	vl_infiniband_port_release(port, frame.virtual_lane, frame.length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct vl_infiniband_port_config config = {.virtual_lanes = 3, .check_vcrc = true};
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 1};
	struct vl_infiniband_port port;
	struct inspect_link link = {0};
	struct vl_carrier carrier;
	uint64_t now = 0;

	vl_infiniband_port_init(&port, &config);
	vl_carrier_init(&carrier, mac, mac, 0, 1);
	while (size >= 2) {
		uint32_t length = data[0] | (uint32_t)data[1] << 8, expected, found;
		struct vl_carrier_packet packet;
		uint16_t number;

		data += 2;
		size -= 2;
		if (length > size)
			length = (uint32_t)size;
		inspect_link_add(&link, length & 3, data, length, &expected, &found);
		if (vl_carrier_link(data, length, &number) &&
		    vl_carrier_read(&carrier, data, length, &packet)) {
			if (packet.data < data || packet.data + packet.length > data + length)
				abort();
			if (packet.kind != VL_CARRIER_HELLO)
				hear(&port, &packet, now += 100);
		}
		for (uint8_t lane = 0; lane < 3; lane++) {
			if (port.receivers[lane].occupied)
				abort();
		}
		data += length;
		size -= length;
	}
	return 0;
}
