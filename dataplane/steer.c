/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/steer.h"

#include "dataplane/frame_layout.h"
#include "transport/cm/message.h"
#include "transport/wire/headers.h"

#define GSI_QPN           1u
#define ETHERTYPE_ARP     0x0806
#define ETHERTYPE_CONTROL 0x8808
#define PROTOCOL_ICMP     1
#define PROTOCOL_ICMPV6   58
#define ND_SOLICITATION   135
#define ND_ADVERTISEMENT  136
/* Where the first worker, which speaks for all, has its place. */
#define SPEAKER       0u
#define COMM_ID_SHIFT (32 - VL_HOST_WORKER_BITS)
/* In the data of messages: the sender's ID, and behind it the receiver's. */
#define SENDER_ID_OFFSET   VL_MAD_HEADER_LENGTH
#define RECEIVER_ID_OFFSET (VL_MAD_HEADER_LENGTH + 4)
#define IDS_END            (VL_MAD_HEADER_LENGTH + 8)

static uint32_t worker_of_id(uint32_t id, uint32_t worker_count)
{
	uint32_t worker = id >> COMM_ID_SHIFT;

	/* Nobody made it: anybody may say so. */
	return worker < worker_count ? worker : SPEAKER;
}

static uint32_t worker_of_sender(const uint8_t *frame, const struct vl_frame_layout *layout,
				 uint32_t id, uint32_t worker_count)
{
	const uint8_t *network = frame + layout->network_offset;
	const uint8_t *source = ((const struct vl_ipv6_header *)network)->source;
	uint32_t words = 4;
	uint64_t hash = (id + UINT64_C(1)) * UINT64_C(0x9e3779b97f4a7c15);

	if (layout->ethertype == VL_ETHERTYPE_IPV4) {
		source = ((const struct vl_ipv4_header *)network)->source;
		words = 1;
	}
	for (uint32_t i = 0; i < words; i++)
		hash = (hash ^ vl_load_be32(source + 4 * i)) * UINT64_C(0x9e3779b97f4a7c15);
	hash = (hash ^ hash >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
	hash ^= hash >> 32;
	/* As a division, without one. */
	return (uint32_t)((hash & UINT32_MAX) * worker_count >> 32);
}

static uint32_t steer_mad(const uint8_t *frame, uint32_t length,
			  const struct vl_frame_layout *layout, uint32_t worker_count)
{
	uint32_t offset = layout->bth_offset + sizeof(struct vl_bth) + sizeof(struct vl_deth);
	const uint8_t *mad = frame + offset;
	uint32_t sender_id, receiver_id;
	struct vl_mad_header header;

	if (length < offset + IDS_END)
		return SPEAKER;
	vl_mad_decode(&header, mad);
	if (header.management_class != VL_MAD_CLASS_CM)
		return SPEAKER;
	sender_id = vl_load_be32(mad + SENDER_ID_OFFSET);
	receiver_id = vl_load_be32(mad + RECEIVER_ID_OFFSET);
	switch (header.attribute_id) {
	case VL_CM_REQ:
	case VL_CM_SIDR_REQ:
		return worker_of_sender(frame, layout, sender_id, worker_count);
	case VL_CM_SIDR_REP: /* has one ID, which the request brought */
		return worker_of_id(sender_id, worker_count);
	default:
		/* A peer that gives up before it has heard of us knows no ID of ours. */
		return receiver_id ? worker_of_id(receiver_id, worker_count)
				   : worker_of_sender(frame, layout, sender_id, worker_count);
	}
}

static uint32_t steer_other(const uint8_t *frame, uint32_t length,
			    const struct vl_frame_layout *layout, uint32_t self)
{
	if (layout->ethertype == ETHERTYPE_ARP || layout->ethertype == ETHERTYPE_CONTROL)
		return VL_STEER_ALL;
	if (layout->protocol == PROTOCOL_ICMP)
		return SPEAKER;
	if (layout->protocol != PROTOCOL_ICMPV6 || layout->payload_offset >= length)
		return self;
	switch (frame[layout->payload_offset]) {
	case ND_SOLICITATION:
	case ND_ADVERTISEMENT:
		return VL_STEER_ALL;
	default:
		return SPEAKER;
	}
}

uint32_t vl_steer(const uint8_t *frame, uint32_t length, uint32_t worker_count, uint32_t self)
{
	struct vl_frame_layout layout;
	uint32_t qpn, worker;

	vl_frame_layout(&layout, frame, length);
	if (!vl_frame_is_roce(&layout))
		return steer_other(frame, length, &layout, self);
	if (length < layout.bth_offset + sizeof(struct vl_bth))
		return self;
	qpn = vl_load_be24(((const struct vl_bth *)(frame + layout.bth_offset))->destination_qpn);
	if (qpn == GSI_QPN)
		return steer_mad(frame, length, &layout, worker_count);
	worker = vl_host_qpn_worker(qpn);
	return worker < worker_count ? worker : self;
}
