/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Hand-made frames: Ethernet, IPv4 and UDP with a right header checksum, then zeros. */
#ifndef VERBLINE_TESTS_FRAME_H
#define VERBLINE_TESTS_FRAME_H

#include "dataplane/frame.h"

#include <string.h>

/* One's complement sum of a whole IPv4 header without options; 0xffff if its checksum is right. */
static inline uint16_t ipv4_header_sum(const uint8_t *header)
{
	uint32_t sum = 0;

	for (int i = 0; i < 20; i += 2)
		sum += (uint32_t)(header[i] << 8 | header[i + 1]);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

/* length >= 42; the last byte of the destination MAC is to, of the source MAC from. */
static inline void fill_ipv4_frame(struct vl_frame *frame, uint32_t length, uint8_t to,
				   uint8_t from, uint8_t dscp, uint8_t ecn)
{
	uint8_t *ip = frame->data + 14;
	uint16_t sum;

	memset(frame->data, 0, length);
	frame->length = length;
	frame->data[0] = 2;
	frame->data[5] = to;
	frame->data[6] = 2;
	frame->data[11] = from;
	frame->data[12] = 8;
	ip[0] = 0x45;
	ip[1] = (uint8_t)(dscp << 2 | ecn);
	ip[2] = (uint8_t)((length - 14) >> 8);
	ip[3] = (uint8_t)(length - 14);
	ip[8] = 64;
	ip[9] = 17;
	ip[12] = ip[16] = 10;
	ip[15] = from;
	ip[19] = to;
	sum = (uint16_t)~ipv4_header_sum(ip);
	ip[10] = (uint8_t)(sum >> 8);
	ip[11] = (uint8_t)sum;
}

static inline struct vl_frame *make_ipv4_frame(struct vl_frame_pool *pool, uint32_t length,
					       uint8_t to, uint8_t from, uint8_t dscp, uint8_t ecn)
{
	struct vl_frame *frame = vl_frame_get(pool);

	if (frame)
		fill_ipv4_frame(frame, length, to, from, dscp, ecn);
	return frame;
}

static inline uint8_t ipv4_frame_ecn(const struct vl_frame *frame)
{
	return frame->data[15] & 3;
}

#endif
