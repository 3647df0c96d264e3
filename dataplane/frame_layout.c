/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/frame_layout.h"

#include "transport/wire/headers.h"

#define FRAGMENT_OFFSET 0x1fff
#define MAX_TAGS        2

static void find_bth(struct vl_frame_layout *layout, const uint8_t *frame, uint32_t length)
{
	const struct vl_udp_header *udp =
		(const struct vl_udp_header *)(frame + layout->payload_offset);

	if (layout->protocol == VL_IP_PROTOCOL_UDP &&
	    length - layout->payload_offset >= sizeof(*udp) &&
	    vl_load_be16(udp->destination_port) == VL_ROCEV2_UDP_PORT)
		layout->bth_offset = (uint16_t)(layout->payload_offset + sizeof(*udp));
}

static void find_ipv4_payload(struct vl_frame_layout *layout, const uint8_t *frame, uint32_t length)
{
	const struct vl_ipv4_header *ip =
		(const struct vl_ipv4_header *)(frame + layout->network_offset);
	uint32_t header_length;

	if (length - layout->network_offset < sizeof(*ip))
		return;
	header_length = (ip->version_length & 0xfu) * 4;
	if (ip->version_length >> 4 != 4 || header_length < sizeof(*ip) ||
	    length - layout->network_offset < header_length ||
	    vl_load_be16(ip->fragment) & FRAGMENT_OFFSET)
		return;
	layout->payload_offset = (uint16_t)(layout->network_offset + header_length);
	layout->protocol = ip->protocol;
	find_bth(layout, frame, length);
}

static void find_ipv6_payload(struct vl_frame_layout *layout, const uint8_t *frame, uint32_t length)
{
	const struct vl_ipv6_header *ip =
		(const struct vl_ipv6_header *)(frame + layout->network_offset);

	if (length - layout->network_offset < sizeof(*ip) || ip->version_class_label[0] >> 4 != 6)
		return;
	layout->payload_offset = (uint16_t)(layout->network_offset + sizeof(*ip));
	layout->protocol = ip->next_header;
	if (layout->ethertype == VL_ETHERTYPE_ROCEV1)
		layout->bth_offset = layout->payload_offset;
	else
		find_bth(layout, frame, length);
}

static bool is_tag(uint16_t type)
{
	return type == VL_ETHERTYPE_CTAG || type == VL_ETHERTYPE_STAG;
}

void vl_frame_layout(struct vl_frame_layout *layout, const uint8_t *frame, uint32_t length)
{
	uint32_t offset = sizeof(struct vl_ethernet_header);
	uint16_t type;

	*layout = (struct vl_frame_layout){0};
	if (length < offset)
		return;
	type = vl_load_be16(((const struct vl_ethernet_header *)frame)->type);
	for (unsigned int i = 0; i < MAX_TAGS && is_tag(type); i++) {
		const struct vl_vlan_header *vlan = (const struct vl_vlan_header *)(frame + offset);

		if (length - offset < sizeof(*vlan))
			return;
		if (!i) {
			layout->vlan_present = true;
			layout->vlan_id = vl_load_be16(vlan->tag) & 0xfff;
		}
		type = vl_load_be16(vlan->type);
		offset += sizeof(*vlan);
	}
	layout->ethertype = type;
	layout->network_offset = (uint16_t)offset;
	if (type == VL_ETHERTYPE_IPV4)
		find_ipv4_payload(layout, frame, length);
	else if (type == VL_ETHERTYPE_IPV6 || type == VL_ETHERTYPE_ROCEV1)
		find_ipv6_payload(layout, frame, length);
}
