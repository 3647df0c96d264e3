/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Where the layers of an Ethernet frame begin: a cheap look at its first bytes that tells who is to
 * have it, before anybody parses it in full. Total: nothing beyond length is read.
 */
#ifndef VERBLINE_DATAPLANE_FRAME_LAYOUT_H
#define VERBLINE_DATAPLANE_FRAME_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

struct vl_frame_layout {
	uint16_t ethertype;      /* behind up to two VLAN tags; 0: the frame ends before it */
	uint16_t network_offset; /* of what follows it */
	uint16_t payload_offset; /* behind an IPv4 or IPv6 header (options included), of RoCEv1
				    behind the GRH; 0: no such header, or not all of it there, or a
				    fragment but the first */
	uint8_t protocol;        /* of the payload, by the IP header; 0 with payload_offset 0 */
	bool vlan_present;       /* outer tag */
	uint16_t vlan_id;
	uint16_t bth_offset; /* of RoCE packets; 0: none */
};

void vl_frame_layout(struct vl_frame_layout *layout, const uint8_t *frame, uint32_t length);

/* RoCEv1, or UDP to port 4791: the transport's, whatever else is right or wrong with it. */
static inline bool vl_frame_is_roce(const struct vl_frame_layout *layout)
{
	return layout->bth_offset != 0;
}

#endif
