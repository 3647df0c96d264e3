/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "transport/wire/path.h"

#include "transport/wire/gid.h"
#include "transport/wire/headers.h"

#include <errno.h>
#include <string.h>

#define DEFAULT_HOP_LIMIT 64

static bool is_attr_valid(const struct vl_path_attr *attr)
{
	bool infiniband = vl_is_infiniband(attr->encapsulation);
	bool source_mapped = vl_gid_is_ipv4(&attr->source_gid);
	bool destination_mapped = vl_gid_is_ipv4(&attr->destination_gid);

	if ((unsigned int)attr->encapsulation > VL_ENCAPSULATION_IB_GLOBAL)
		return false;
	if (attr->vlan_present && (infiniband || attr->vlan_id > 0xfff))
		return false;
	if (attr->priority > (infiniband ? 15 : 7) || attr->virtual_lane > 15 ||
	    attr->flow_label > 0xfffff)
		return false;
	if (attr->encapsulation == VL_ENCAPSULATION_ROCEV2_IPV4)
		return source_mapped && destination_mapped;
	if (attr->encapsulation == VL_ENCAPSULATION_ROCEV2_IPV6)
		return !source_mapped && !destination_mapped;
	return true;
}

static uint32_t init_ethernet(uint8_t *bytes, const struct vl_path_attr *attr)
{
	struct vl_ethernet_header *ethernet = (struct vl_ethernet_header *)bytes;
	uint32_t length = sizeof(*ethernet);
	uint16_t type = VL_ETHERTYPE_ROCEV1;

	if (attr->encapsulation == VL_ENCAPSULATION_ROCEV2_IPV4)
		type = VL_ETHERTYPE_IPV4;
	else if (attr->encapsulation == VL_ENCAPSULATION_ROCEV2_IPV6)
		type = VL_ETHERTYPE_IPV6;
	memcpy(ethernet->destination, attr->destination_mac, sizeof(ethernet->destination));
	memcpy(ethernet->source, attr->source_mac, sizeof(ethernet->source));
	if (attr->vlan_present) {
		struct vl_vlan_header *vlan = (struct vl_vlan_header *)(bytes + length);

		vl_store_be16(ethernet->type, VL_ETHERTYPE_CTAG);
		vl_store_be16(vlan->tag, (uint16_t)(attr->priority << 13 | attr->vlan_id));
		vl_store_be16(vlan->type, type);
		length += sizeof(*vlan);
	} else {
		vl_store_be16(ethernet->type, type);
	}
	return length;
}

static uint32_t init_lrh(uint8_t *bytes, const struct vl_path_attr *attr)
{
	struct vl_lrh *lrh = (struct vl_lrh *)bytes;
	bool global = attr->encapsulation == VL_ENCAPSULATION_IB_GLOBAL;

	lrh->lane_version = (uint8_t)(attr->virtual_lane << 4);
	lrh->service_next =
		(uint8_t)(attr->priority << 4 | (global ? VL_LNH_IBA_GLOBAL : VL_LNH_IBA_LOCAL));
	vl_store_be16(lrh->destination_lid, attr->destination_lid);
	vl_store_be16(lrh->source_lid, attr->source_lid);
	return sizeof(*lrh);
}

/* A one's complement sum of 16-bit words; its carries come back in, and so may theirs. */
static uint16_t fold(uint32_t sum)
{
	sum = (sum >> 16) + (sum & 0xffff);
	return (uint16_t)((sum >> 16) + sum);
}

static uint32_t init_ipv4(uint8_t *bytes, const struct vl_path_attr *attr, uint16_t *checksum_base)
{
	struct vl_ipv4_header *ip = (struct vl_ipv4_header *)bytes;
	uint32_t sum = 0;

	ip->version_length = 4 << 4 | sizeof(*ip) / 4;
	ip->traffic_class = attr->traffic_class;
	vl_store_be16(ip->fragment, VL_IPV4_DONT_FRAGMENT);
	ip->time_to_live = attr->hop_limit ? attr->hop_limit : DEFAULT_HOP_LIMIT;
	ip->protocol = VL_IP_PROTOCOL_UDP;
	memcpy(ip->source, attr->source_gid.raw + 12, sizeof(ip->source));
	memcpy(ip->destination, attr->destination_gid.raw + 12, sizeof(ip->destination));
	for (uint32_t i = 0; i < sizeof(*ip); i += 2)
		sum += vl_load_be16(bytes + i);
	*checksum_base = fold(sum);
	return sizeof(*ip);
}

/* IPv6 or GRH. */
static uint32_t init_ipv6(uint8_t *bytes, const struct vl_path_attr *attr, uint8_t next_header)
{
	struct vl_ipv6_header *ip = (struct vl_ipv6_header *)bytes;

	vl_store_be32(ip->version_class_label,
		      6u << 28 | (uint32_t)attr->traffic_class << 20 | attr->flow_label);
	ip->next_header = next_header;
	ip->hop_limit = attr->hop_limit ? attr->hop_limit : DEFAULT_HOP_LIMIT;
	memcpy(ip->source, attr->source_gid.raw, sizeof(ip->source));
	memcpy(ip->destination, attr->destination_gid.raw, sizeof(ip->destination));
	return sizeof(*ip);
}

static uint32_t init_udp(uint8_t *bytes, const struct vl_path_attr *attr)
{
	struct vl_udp_header *udp = (struct vl_udp_header *)bytes;

	vl_store_be16(udp->source_port, attr->udp_source_port);
	vl_store_be16(udp->destination_port, VL_ROCEV2_UDP_PORT);
	return sizeof(*udp);
}

int vl_path_init(struct vl_path *path, const struct vl_path_attr *attr)
{
	uint8_t *bytes = path->bytes;
	uint32_t length;

	if (!is_attr_valid(attr))
		return -EINVAL;
	memset(path, 0, sizeof(*path));
	path->encapsulation = (uint8_t)attr->encapsulation;
	if (vl_is_infiniband(attr->encapsulation))
		length = init_lrh(bytes, attr);
	else
		length = init_ethernet(bytes, attr);
	path->network_offset = (uint8_t)length;
	switch (attr->encapsulation) {
	case VL_ENCAPSULATION_ROCEV2_IPV4:
		length += init_ipv4(bytes + length, attr, &path->checksum_base);
		length += init_udp(bytes + length, attr);
		break;
	case VL_ENCAPSULATION_ROCEV2_IPV6:
		length += init_ipv6(bytes + length, attr, VL_IP_PROTOCOL_UDP);
		length += init_udp(bytes + length, attr);
		break;
	case VL_ENCAPSULATION_ROCEV1:
	case VL_ENCAPSULATION_IB_GLOBAL:
		length += init_ipv6(bytes + length, attr, VL_GRH_NEXT_HEADER);
		break;
	case VL_ENCAPSULATION_IB_LOCAL:
		path->network_offset = 0;
		break;
	}
	path->length = (uint8_t)length;
	return 0;
}

static void write_ipv4_lengths(uint8_t *network, uint32_t length, uint32_t sum)
{
	struct vl_ipv4_header *ip = (struct vl_ipv4_header *)network;
	struct vl_udp_header *udp = (struct vl_udp_header *)(network + sizeof(*ip));
	uint16_t total_length = (uint16_t)(sizeof(*ip) + sizeof(*udp) + length);

	vl_store_be16(ip->total_length, total_length);
	vl_store_be16(ip->checksum, (uint16_t)~fold(sum + total_length));
	vl_store_be16(udp->length, (uint16_t)(sizeof(*udp) + length));
}

static void write_ipv6_lengths(uint8_t *network, uint32_t length)
{
	struct vl_ipv6_header *ip = (struct vl_ipv6_header *)network;
	struct vl_udp_header *udp = (struct vl_udp_header *)(network + sizeof(*ip));

	vl_store_be16(ip->payload_length, (uint16_t)(sizeof(*udp) + length));
	vl_store_be16(udp->length, (uint16_t)(sizeof(*udp) + length));
}

static void write_lrh_length(uint8_t *bytes, uint32_t length)
{
	vl_store_be16(((struct vl_lrh *)bytes)->packet_length, (uint16_t)(length / 4));
}

static void write_lengths(const struct vl_path *path, uint8_t *out, uint32_t transport_length)
{
	uint32_t length = transport_length + VL_ICRC_LENGTH;
	uint8_t *network = out + path->network_offset;

	switch ((enum vl_encapsulation)path->encapsulation) {
	case VL_ENCAPSULATION_ROCEV2_IPV4:
		write_ipv4_lengths(network, length, path->checksum_base);
		break;
	case VL_ENCAPSULATION_ROCEV2_IPV6:
		write_ipv6_lengths(network, length);
		break;
	case VL_ENCAPSULATION_IB_GLOBAL:
		write_lrh_length(out, path->length + length);
		/* fallthrough */
	case VL_ENCAPSULATION_ROCEV1:
		vl_store_be16(((struct vl_ipv6_header *)network)->payload_length, (uint16_t)length);
		break;
	case VL_ENCAPSULATION_IB_LOCAL:
		write_lrh_length(out, path->length + length);
		break;
	}
}

uint32_t vl_path_write(const struct vl_path *path, uint8_t *out, uint32_t transport_length)
{
	/* One length for all: a copy without a call. */
	memcpy(out, path->bytes, sizeof(path->bytes));
	write_lengths(path, out, transport_length);
	return path->length;
}

void vl_path_set_class(struct vl_path *path, uint8_t traffic_class, uint8_t priority)
{
	uint8_t *network = path->bytes + path->network_offset;
	bool infiniband = vl_is_infiniband((enum vl_encapsulation)path->encapsulation);

	if (path->encapsulation == VL_ENCAPSULATION_ROCEV2_IPV4) {
		struct vl_ipv4_header *ip = (struct vl_ipv4_header *)network;
		/* Subtraction in one's complement. */
		uint32_t sum = (uint32_t)path->checksum_base + (uint16_t)~ip->traffic_class +
			       traffic_class;

		path->checksum_base = fold(sum);
		ip->traffic_class = traffic_class;
	} else if (path->encapsulation != VL_ENCAPSULATION_IB_LOCAL) {
		network[0] = (uint8_t)((network[0] & 0xf0) | traffic_class >> 4);
		network[1] = (uint8_t)((network[1] & 0x0f) | traffic_class << 4);
	}
	if (infiniband)
		path->bytes[1] = (uint8_t)((path->bytes[1] & 0x0f) | priority << 4);
	else if (path->network_offset > sizeof(struct vl_ethernet_header))
		path->bytes[sizeof(struct vl_ethernet_header)] =
			(uint8_t)((path->bytes[sizeof(struct vl_ethernet_header)] & 0x1f) |
				  priority << 5);
}

void vl_path_set_udp_source_port(struct vl_path *path, uint16_t port)
{
	if (path->encapsulation == VL_ENCAPSULATION_ROCEV2_IPV4 ||
	    path->encapsulation == VL_ENCAPSULATION_ROCEV2_IPV6)
		vl_store_be16(path->bytes + path->length - sizeof(struct vl_udp_header), port);
}

uint16_t vl_flow_label_to_udp_source_port(uint32_t flow_label)
{
	return (uint16_t)(0xc000 | ((flow_label & 0x3fff) ^ (flow_label >> 14 & 0x3f)));
}

uint32_t vl_flow_label_from_qpns(uint32_t local_qpn, uint32_t remote_qpn)
{
	uint64_t product = (uint64_t)local_qpn * remote_qpn;

	product ^= product >> 20;
	product ^= product >> 40;
	return (uint32_t)(product & 0xfffff);
}

/* RFC 1624: the checksum changes by the difference of the word that holds the traffic class. */
static bool mark_ipv4(uint8_t *network)
{
	struct vl_ipv4_header *ip = (struct vl_ipv4_header *)network;
	uint8_t added = VL_ECN_CE - (ip->traffic_class & VL_ECN_CE);
	uint32_t sum = (uint16_t)~vl_load_be16(ip->checksum);

	if (!(ip->traffic_class & VL_ECN_CE))
		return false;
	ip->traffic_class |= VL_ECN_CE;
	vl_store_be16(ip->checksum, (uint16_t)~fold(sum + added));
	return true;
}

static bool mark_ipv6(uint8_t *network)
{
	if (!(network[1] >> 4 & VL_ECN_CE))
		return false;
	network[1] |= VL_ECN_CE << 4;
	return true;
}

bool vl_frame_mark_ce(uint8_t *frame, uint32_t length)
{
	const struct vl_ethernet_header *ethernet = (const struct vl_ethernet_header *)frame;
	uint32_t offset = sizeof(*ethernet);
	uint16_t type;

	if (length < offset)
		return false;
	type = vl_load_be16(ethernet->type);
	while (type == VL_ETHERTYPE_CTAG || type == VL_ETHERTYPE_STAG) {
		if (length - offset < sizeof(struct vl_vlan_header))
			return false;
		type = vl_load_be16(((struct vl_vlan_header *)(frame + offset))->type);
		offset += sizeof(struct vl_vlan_header);
	}
	frame += offset;
	length -= offset;
	if (type == VL_ETHERTYPE_IPV4 && length >= sizeof(struct vl_ipv4_header))
		return mark_ipv4(frame);
	if ((type == VL_ETHERTYPE_IPV6 || type == VL_ETHERTYPE_ROCEV1) &&
	    length >= sizeof(struct vl_ipv6_header))
		return mark_ipv6(frame);
	return false;
}
