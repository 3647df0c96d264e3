/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "transport/wire/parse.h"

#include "transport/wire/headers.h"
#include "transport/wire/opcode.h"

#include <string.h>

/*
 * One function a layer, each handing the rest to the next. "there" is how many bytes from
 * "at" on may be read, "wire" how many there were on the wire; there <= wire.
 */

static enum vl_parse_result cut(uint32_t there, uint32_t wire, enum vl_parse_result reason)
{
	return there < wire ? VL_PARSE_captured_short : reason;
}

static const uint8_t *parse_service_headers(struct vl_packet *packet, const uint8_t *at,
					    uint32_t flags)
{
	if (flags & VL_OPCODE_RDETH) {
		const struct vl_rdeth *rdeth = (const struct vl_rdeth *)at;

		packet->end_to_end_context = vl_load_be24(rdeth->end_to_end_context);
		at += sizeof(*rdeth);
	}
	if (flags & VL_OPCODE_DETH) {
		const struct vl_deth *deth = (const struct vl_deth *)at;

		packet->qkey = vl_load_be32(deth->qkey);
		packet->source_qpn = vl_load_be24(deth->source_qpn);
		at += sizeof(*deth);
	}
	if (flags & VL_OPCODE_XRCETH) {
		const struct vl_xrceth *xrceth = (const struct vl_xrceth *)at;

		packet->xrc_srqn = vl_load_be24(xrceth->srqn);
		at += sizeof(*xrceth);
	}
	return at;
}

/* In the order of IBTA 9.2; the opcode's flags say which are there. Returns the payload. */
static const uint8_t *parse_extensions(struct vl_packet *packet, const uint8_t *at)
{
	uint32_t flags = packet->info->flags;

	if (flags & (VL_OPCODE_RDETH | VL_OPCODE_DETH | VL_OPCODE_XRCETH))
		at = parse_service_headers(packet, at, flags);
	if (flags & VL_OPCODE_FETH) {
		const struct vl_feth *feth = (const struct vl_feth *)at;

		packet->placement = feth->selectivity_placement & 0xf;
		packet->selectivity = feth->selectivity_placement >> 4 & 3;
		at += sizeof(*feth);
	}
	if (flags & VL_OPCODE_RETH) {
		const struct vl_reth *reth = (const struct vl_reth *)at;

		packet->remote_address = vl_load_be64(reth->remote_address);
		packet->rkey = vl_load_be32(reth->rkey);
		packet->dma_length = vl_load_be32(reth->dma_length);
		at += sizeof(*reth);
	}
	if (flags & VL_OPCODE_ATOMICETH) {
		const struct vl_atomic_eth *atomic_eth = (const struct vl_atomic_eth *)at;

		packet->remote_address = vl_load_be64(atomic_eth->remote_address);
		packet->rkey = vl_load_be32(atomic_eth->rkey);
		packet->swap_or_add = vl_load_be64(atomic_eth->swap_or_add);
		packet->compare = vl_load_be64(atomic_eth->compare);
		at += sizeof(*atomic_eth);
	}
	if (flags & VL_OPCODE_AETH) {
		const struct vl_aeth *aeth = (const struct vl_aeth *)at;

		packet->syndrome = aeth->syndrome;
		packet->msn = vl_load_be24(aeth->msn);
		at += sizeof(*aeth);
	}
	if (flags & VL_OPCODE_ATOMICACKETH) {
		packet->original = vl_load_be64(at);
		at += sizeof(struct vl_atomic_ack_eth);
	}
	if (flags & VL_OPCODE_IMMDT) {
		memcpy(&packet->immediate, at, sizeof(packet->immediate));
		at += sizeof(struct vl_immdt);
	}
	if (flags & VL_OPCODE_IETH) {
		packet->invalidate_rkey = vl_load_be32(at);
		at += sizeof(struct vl_ieth);
	}
	return at;
}

static void parse_bth(struct vl_packet *packet, const uint8_t *at)
{
	const struct vl_bth *bth = (const struct vl_bth *)at;

	packet->bth = at;
	packet->opcode = bth->opcode;
	packet->info = &vl_opcode_table[bth->opcode];
	packet->solicited = bth->flags & VL_BTH_SOLICITED;
	packet->mig_req = bth->flags & VL_BTH_MIG_REQ;
	packet->pad_count = vl_bth_pad_count(bth);
	packet->transport_version = bth->flags & VL_BTH_VERSION_MASK;
	packet->pkey = vl_load_be16(bth->pkey);
	packet->fecn = bth->congestion & VL_BTH_FECN;
	packet->becn = bth->congestion & VL_BTH_BECN;
	packet->destination_qpn = vl_load_be24(bth->destination_qpn);
	packet->ack_request = bth->ack_request & VL_BTH_ACK_REQUEST;
	packet->psn = vl_load_be24(bth->psn);
}

/* length: BTH to ICRC as the layers below state it. */
static enum vl_parse_result parse_transport(struct vl_packet *packet, const uint8_t *at,
					    uint32_t there, uint32_t length)
{
	const uint32_t fixed = sizeof(struct vl_bth) + VL_ICRC_LENGTH;
	const struct vl_opcode_info *info;
	uint32_t content;

	packet->transport_length = length;
	if (length < fixed)
		return cut(there, length, VL_PARSE_bth_truncated);
	if (there < sizeof(struct vl_bth))
		return VL_PARSE_captured_short;
	info = &vl_opcode_table[at[0]];
	if (there < length && there < sizeof(struct vl_bth) + info->extension_length)
		return VL_PARSE_captured_short;
	parse_bth(packet, at);
	at += sizeof(struct vl_bth);
	packet->payload = at;
	content = length - fixed;
	packet->payload_length = content;
	if (there >= length)
		packet->icrc = at + content;
	if (!info->flags)
		return VL_PARSE_opcode_reserved;
	if (content < info->extension_length)
		return VL_PARSE_extension_truncated;
	packet->payload = parse_extensions(packet, at);
	content -= info->extension_length;
	packet->payload_length = content;
	if (content & 3)
		return VL_PARSE_payload_alignment;
	if (content < packet->pad_count)
		return VL_PARSE_pad_count;
	packet->payload_length = content - packet->pad_count;
	if (content && !(info->flags & VL_OPCODE_PAYLOAD))
		return VL_PARSE_payload_unexpected;
	return packet->icrc ? VL_PARSE_ok : VL_PARSE_captured_short;
}

/* length: UDP header and all behind it, as the IP header states it. The UDP checksum is not
 * checked: senders leave it 0, and the ICRC covers more. */
static enum vl_parse_result parse_udp(struct vl_packet *packet, const uint8_t *at, uint32_t there,
				      uint32_t length)
{
	const struct vl_udp_header *udp = (const struct vl_udp_header *)at;

	if (length < sizeof(*udp))
		return VL_PARSE_udp_length;
	if (there < sizeof(*udp))
		return VL_PARSE_captured_short;
	packet->udp_source_port = vl_load_be16(udp->source_port);
	if (vl_load_be16(udp->length) != length)
		return VL_PARSE_udp_length;
	return parse_transport(packet, at + sizeof(*udp), there - sizeof(*udp),
			       length - sizeof(*udp));
}

/* Whether a UDP header at at is there and leads elsewhere. */
static bool is_other_port(const uint8_t *at, uint32_t there)
{
	const struct vl_udp_header *udp = (const struct vl_udp_header *)at;

	return there >= sizeof(*udp) && vl_load_be16(udp->destination_port) != VL_ROCEV2_UDP_PORT;
}

/* The one's complement sum of a right header is 0xffff, in either byte order. */
static bool is_ipv4_checksum_right(const uint8_t *header, uint32_t length)
{
	uint32_t words[5], word;
	uint64_t sum;

	memcpy(words, header, sizeof(words));
	sum = (uint64_t)words[0] + words[1] + words[2] + words[3] + words[4];
	for (uint32_t i = sizeof(words); i < length; i += sizeof(word)) {
		memcpy(&word, header + i, sizeof(word));
		sum += word;
	}
	sum = (sum >> 32) + (sum & 0xffffffff);
	sum = (sum >> 16) + (sum & 0xffff);
	sum = (sum >> 16) + (sum & 0xffff);
	sum = (sum >> 16) + (sum & 0xffff);
	return sum == 0xffff;
}

static void set_mapped_gid(union ibv_gid *gid, const uint8_t address[4])
{
	memset(gid->raw, 0, 10);
	memset(gid->raw + 10, 0xff, 2);
	memcpy(gid->raw + 12, address, 4);
}

/* Other protocols are told apart before anything is found wrong, so that a damaged packet of
 * theirs is not taken for one of ours. */
static enum vl_parse_result parse_ipv4(struct vl_packet *packet, const uint8_t *at, uint32_t there,
				       uint32_t wire)
{
	const struct vl_ipv4_header *ip = (const struct vl_ipv4_header *)at;
	uint32_t header_length, total_length;
	uint16_t fragment;

	if (there < sizeof(*ip))
		return cut(there, wire, VL_PARSE_ip_truncated);
	header_length = (ip->version_length & 0xfu) * 4;
	if (ip->version_length >> 4 != 4 || header_length < sizeof(*ip))
		return VL_PARSE_ip_header;
	if (ip->protocol != VL_IP_PROTOCOL_UDP)
		return VL_PARSE_not_rdma;
	if (there < header_length)
		return cut(there, wire, VL_PARSE_ip_truncated);
	fragment = vl_load_be16(ip->fragment) & VL_IPV4_FRAGMENT_MASK;
	if (!(fragment & 0x1fff) && is_other_port(at + header_length, there - header_length))
		return VL_PARSE_not_rdma;
	if (!is_ipv4_checksum_right(at, header_length))
		return VL_PARSE_ip_checksum;
	total_length = vl_load_be16(ip->total_length);
	if (total_length < header_length)
		return VL_PARSE_ip_header;
	if (total_length > wire)
		return VL_PARSE_ip_truncated;
	if (fragment)
		return VL_PARSE_ip_fragment;

	packet->encapsulation = VL_ENCAPSULATION_ROCEV2_IPV4;
	packet->network = at;
	packet->traffic_class = ip->traffic_class;
	packet->hop_limit = ip->time_to_live;
	packet->grh_present = true;
	set_mapped_gid(&packet->source_gid, ip->source);
	set_mapped_gid(&packet->destination_gid, ip->destination);
	return parse_udp(packet, at + header_length, there - header_length,
			 total_length - header_length);
}

static void parse_ipv6_fields(struct vl_packet *packet, const struct vl_ipv6_header *ip)
{
	uint32_t version_class_label = vl_load_be32(ip->version_class_label);

	packet->network = (const uint8_t *)ip;
	packet->traffic_class = (uint8_t)(version_class_label >> 20);
	packet->flow_label = version_class_label & 0xfffff;
	packet->hop_limit = ip->hop_limit;
	packet->grh_present = true;
	memcpy(packet->source_gid.raw, ip->source, sizeof(ip->source));
	memcpy(packet->destination_gid.raw, ip->destination, sizeof(ip->destination));
}

static enum vl_parse_result parse_ipv6(struct vl_packet *packet, const uint8_t *at, uint32_t there,
				       uint32_t wire)
{
	const struct vl_ipv6_header *ip = (const struct vl_ipv6_header *)at;
	uint32_t payload_length;

	if (there < sizeof(*ip))
		return cut(there, wire, VL_PARSE_ip_truncated);
	if (ip->version_class_label[0] >> 4 != 6)
		return VL_PARSE_ip_header;
	there -= sizeof(*ip);
	wire -= sizeof(*ip);
	at += sizeof(*ip);
	if (ip->next_header == VL_IPV6_FRAGMENT && there && at[0] == VL_IP_PROTOCOL_UDP)
		return VL_PARSE_ip_fragment;
	if (ip->next_header != VL_IP_PROTOCOL_UDP || is_other_port(at, there))
		return VL_PARSE_not_rdma;
	payload_length = vl_load_be16(ip->payload_length);
	if (payload_length > wire)
		return VL_PARSE_ip_truncated;
	packet->encapsulation = VL_ENCAPSULATION_ROCEV2_IPV6;
	parse_ipv6_fields(packet, ip);
	return parse_udp(packet, at, there, payload_length);
}

static bool is_grh_possible(const struct vl_ipv6_header *grh)
{
	return grh->version_class_label[0] >> 4 == 6 && grh->next_header == VL_GRH_NEXT_HEADER;
}

static enum vl_parse_result parse_rocev1(struct vl_packet *packet, const uint8_t *at,
					 uint32_t there, uint32_t wire)
{
	const struct vl_ipv6_header *grh = (const struct vl_ipv6_header *)at;
	uint32_t length;

	if (there < sizeof(*grh))
		return cut(there, wire, VL_PARSE_grh_header);
	length = vl_load_be16(grh->payload_length);
	if (!is_grh_possible(grh) || length > wire - sizeof(*grh))
		return VL_PARSE_grh_header;
	packet->encapsulation = VL_ENCAPSULATION_ROCEV1;
	parse_ipv6_fields(packet, grh);
	return parse_transport(packet, at + sizeof(*grh), there - sizeof(*grh), length);
}

/* length: GRH to ICRC as the LRH states it. The LRH alone delimits the packet, so what follows a
 * wrong GRH is still read. */
static enum vl_parse_result parse_grh(struct vl_packet *packet, const uint8_t *at, uint32_t there,
				      uint32_t length)
{
	const struct vl_ipv6_header *grh = (const struct vl_ipv6_header *)at;
	enum vl_parse_result result;

	if (length < sizeof(*grh))
		return VL_PARSE_grh_header;
	if (there < sizeof(*grh))
		return VL_PARSE_captured_short;
	length -= sizeof(*grh);
	parse_ipv6_fields(packet, grh);
	result = parse_transport(packet, at + sizeof(*grh), there - sizeof(*grh), length);
	if (result == VL_PARSE_ok &&
	    (!is_grh_possible(grh) || vl_load_be16(grh->payload_length) != length))
		return VL_PARSE_grh_header;
	return result;
}

static enum vl_parse_result parse_ethernet(struct vl_packet *packet, const uint8_t *at,
					   uint32_t there, uint32_t wire)
{
	const struct vl_ethernet_header *ethernet = (const struct vl_ethernet_header *)at;
	uint32_t offset = sizeof(*ethernet);
	uint16_t type;

	if (there < sizeof(*ethernet))
		return cut(there, wire, VL_PARSE_too_short);
	memcpy(packet->destination_mac, ethernet->destination, sizeof(packet->destination_mac));
	memcpy(packet->source_mac, ethernet->source, sizeof(packet->source_mac));
	type = vl_load_be16(ethernet->type);
	for (int depth = 0; type == VL_ETHERTYPE_CTAG || type == VL_ETHERTYPE_STAG; depth++) {
		const struct vl_vlan_header *vlan = (const struct vl_vlan_header *)(at + offset);

		if (depth == 2)
			return VL_PARSE_vlan_depth;
		if (there - offset < sizeof(*vlan))
			return cut(there, wire, VL_PARSE_too_short);
		if (!packet->vlan_present) {
			packet->vlan_present = true;
			packet->priority = vlan->tag[0] >> 5;
			packet->vlan_id = vl_load_be16(vlan->tag) & 0xfff;
		}
		type = vl_load_be16(vlan->type);
		offset += sizeof(*vlan);
	}
	at += offset;
	there -= offset;
	wire -= offset;
	switch (type) {
	case VL_ETHERTYPE_IPV4:
		return parse_ipv4(packet, at, there, wire);
	case VL_ETHERTYPE_IPV6:
		return parse_ipv6(packet, at, there, wire);
	case VL_ETHERTYPE_ROCEV1:
		return parse_rocev1(packet, at, there, wire);
	default:
		return VL_PARSE_not_rdma;
	}
}

/* The VCRC lies behind the length that the LRH states; captures may lack it. */
static enum vl_parse_result parse_lrh(struct vl_packet *packet, const uint8_t *at, uint32_t there,
				      uint32_t wire)
{
	const struct vl_lrh *lrh = (const struct vl_lrh *)at;
	uint32_t length;
	uint8_t next;

	if (wire == VL_LINK_PACKET_LENGTH)
		return VL_PARSE_link_packet;
	if (there < sizeof(*lrh))
		return cut(there, wire, VL_PARSE_too_short);
	packet->virtual_lane = lrh->lane_version >> 4;
	packet->priority = lrh->service_next >> 4;
	packet->destination_lid = vl_load_be16(lrh->destination_lid);
	packet->source_lid = vl_load_be16(lrh->source_lid);
	length = (vl_load_be16(lrh->packet_length) & VL_LRH_PACKET_LENGTH_MASK) * 4u;
	if ((lrh->lane_version & 0xf) || length < sizeof(*lrh) || length > wire)
		return VL_PARSE_lrh_header;
	next = lrh->service_next & 3;
	if (next == VL_LNH_RAW || next == VL_LNH_RAW_IPV6)
		return VL_PARSE_lrh_raw;
	if (there >= length + VL_VCRC_LENGTH)
		packet->vcrc = at + length;
	if (there > length)
		there = length;
	there -= sizeof(*lrh);
	length -= sizeof(*lrh);
	if (next == VL_LNH_IBA_GLOBAL) {
		packet->encapsulation = VL_ENCAPSULATION_IB_GLOBAL;
		return parse_grh(packet, at + sizeof(*lrh), there, length);
	}
	packet->encapsulation = VL_ENCAPSULATION_IB_LOCAL;
	packet->network = at;
	return parse_transport(packet, at + sizeof(*lrh), there, length);
}

static enum vl_parse_result parse_ip(struct vl_packet *packet, const uint8_t *at, uint32_t there,
				     uint32_t wire)
{
	if (!there)
		return cut(there, wire, VL_PARSE_too_short);
	switch (at[0] >> 4) {
	case 4:
		return parse_ipv4(packet, at, there, wire);
	case 6:
		return parse_ipv6(packet, at, there, wire);
	default:
		return VL_PARSE_not_rdma;
	}
}

/* In pieces small enough that the compiler makes vector stores of them: for more it would take a
 * string instruction, whose start costs several nanoseconds. */
static inline void clear(struct vl_packet *packet)
{
	enum { PIECE = 64 };
	uint8_t *bytes = (uint8_t *)packet;

	_Static_assert(sizeof(*packet) > 3 * PIECE && sizeof(*packet) <= 4 * PIECE, "four pieces");
	memset(bytes, 0, PIECE);
	memset(bytes + PIECE, 0, PIECE);
	memset(bytes + 2 * PIECE, 0, PIECE);
	memset(bytes + 3 * PIECE, 0, sizeof(*packet) - 3 * PIECE);
}

enum vl_parse_result vl_parse(struct vl_packet *packet, enum vl_link_type link,
			      const uint8_t *frame, uint32_t length, uint32_t wire_length)
{
	clear(packet);
	packet->frame = frame;
	if (length > wire_length)
		length = wire_length;
	switch (link) {
	case VL_LINK_ETHERNET:
		return parse_ethernet(packet, frame, length, wire_length);
	case VL_LINK_INFINIBAND:
		return parse_lrh(packet, frame, length, wire_length);
	case VL_LINK_IP:
		return parse_ip(packet, frame, length, wire_length);
	}
	return VL_PARSE_not_rdma;
}

static const struct {
	const char *name;
	const char *meaning;
} results[] = {
#define RESULT(name, meaning) {#name, meaning},
	VL_PARSE_RESULTS(RESULT)
#undef RESULT
};

const char *vl_parse_result_name(enum vl_parse_result result)
{
	return (unsigned int)result < VL_PARSE_RESULT_COUNT ? results[result].name : "unknown";
}

const char *vl_parse_result_meaning(enum vl_parse_result result)
{
	return (unsigned int)result < VL_PARSE_RESULT_COUNT ? results[result].meaning
							    : "not a result of the parser";
}
