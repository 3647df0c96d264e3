/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/replay/port/rewrite.h"

#include "transport/wire/headers.h"
#include "transport/wire/icrc.h"
#include "transport/wire/opcode.h"
#include "transport/wire/parse.h"

#include <string.h>

#define MAC_LENGTH      6u
#define TYPE_OFFSET     12u
#define TAG_LENGTH      4u
#define MAX_TAGS        2u
#define PROTOCOL_TCP    6
#define TCP_CHECKSUM    16u
#define TCP_LEAST       20u
#define PROTOCOL_ICMPV6 58
#define ICMPV6_CHECKSUM 2u
#define ICMPV6_LEAST    4u
#define PSN_MASK        UINT32_C(0xffffff)

/* Where the layers of a frame lie, as far as there are any; 0: not there. */
struct layout {
	uint32_t ip;          /* offset of the IP header */
	uint32_t addresses;   /* of the source address */
	uint32_t l4;          /* of the UDP, TCP or ICMPv6 header */
	uint32_t ip_checksum; /* of the IPv4 header's */
	uint32_t l4_checksum; /* of its checksum, if that is in use */
	uint8_t address_length;
	bool is_udp;
};

struct job {
	struct rewrite *rewrite;
	struct rewrite_frame *frame;
	struct layout layout;
	bool changed;
};

/* ---- The layers ------------------------------------------------------------------------ */

static bool is_tag(uint16_t type)
{
	return type == VL_ETHERTYPE_CTAG || type == VL_ETHERTYPE_STAG;
}

/* Offset of what follows the Ethernet header and tags, and its type; 0: the frame is too short. */
static uint32_t find_network(const struct rewrite_frame *frame, uint16_t *type)
{
	uint32_t offset = TYPE_OFFSET;

	for (unsigned int tags = 0; offset + 2 <= frame->length; tags++) {
		*type = vl_load_be16(frame->data + offset);
		if (!is_tag(*type) || tags == MAX_TAGS)
			return offset + 2;
		offset += TAG_LENGTH;
	}
	return 0;
}

static void find_l4(struct layout *layout, const struct rewrite_frame *frame, uint8_t protocol,
		    uint32_t offset)
{
	const uint8_t *bytes = frame->data + offset;

	if (protocol == VL_IP_PROTOCOL_UDP &&
	    offset + sizeof(struct vl_udp_header) <= frame->length) {
		layout->l4 = offset;
		layout->is_udp = true;
		if (bytes[6] || bytes[7])
			layout->l4_checksum = offset + 6;
	} else if (protocol == PROTOCOL_TCP && offset + TCP_LEAST <= frame->length) {
		layout->l4 = offset;
		layout->l4_checksum = offset + TCP_CHECKSUM;
	} else if (protocol == PROTOCOL_ICMPV6 && layout->address_length == 16 &&
		   offset + ICMPV6_LEAST <= frame->length) {
		layout->l4 = offset;
		layout->l4_checksum = offset + ICMPV6_CHECKSUM;
	}
}

static void find_ipv4(struct layout *layout, const struct rewrite_frame *frame, uint32_t offset)
{
	const struct vl_ipv4_header *ip = (const struct vl_ipv4_header *)(frame->data + offset);
	uint32_t length;

	if (offset + sizeof(*ip) > frame->length || ip->version_length >> 4 != 4)
		return;
	length = (ip->version_length & 0xfu) * 4;
	if (length < sizeof(*ip) || offset + length > frame->length)
		return;
	layout->ip = offset;
	layout->address_length = 4;
	layout->addresses = offset + offsetof(struct vl_ipv4_header, source);
	layout->ip_checksum = offset + offsetof(struct vl_ipv4_header, checksum);
	/* A later fragment has no header of layer 4, and the first one's checksum covers it. */
	if (!(vl_load_be16(ip->fragment) & 0x1fff))
		find_l4(layout, frame, ip->protocol, offset + length);
}

static void find_ipv6(struct layout *layout, const struct rewrite_frame *frame, uint32_t offset)
{
	const struct vl_ipv6_header *ip = (const struct vl_ipv6_header *)(frame->data + offset);

	if (offset + sizeof(*ip) > frame->length || ip->version_class_label[0] >> 4 != 6)
		return;
	layout->ip = offset;
	layout->address_length = 16;
	layout->addresses = offset + offsetof(struct vl_ipv6_header, source);
	find_l4(layout, frame, ip->next_header, offset + sizeof(*ip));
}

static void find_layers(struct job *job)
{
	uint16_t type = 0;
	uint32_t network = find_network(job->frame, &type);

	memset(&job->layout, 0, sizeof(job->layout));
	if (!network)
		return;
	if (type == VL_ETHERTYPE_IPV4)
		find_ipv4(&job->layout, job->frame, network);
	else if (type == VL_ETHERTYPE_IPV6 || type == VL_ETHERTYPE_ROCEV1)
		find_ipv6(&job->layout, job->frame, network);
}

/* ---- Bytes and what covers them -------------------------------------------------------- */

/* As 16-bit words, of bytes that begin at an odd or an even place of what is summed. */
static uint32_t sum_of(const uint8_t *bytes, uint32_t length, bool odd, bool complemented)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < length; i++) {
		uint8_t byte = complemented ? (uint8_t)~bytes[i] : bytes[i];

		sum += (i + odd) & 1 ? byte : (uint32_t)byte << 8;
	}
	return sum;
}

/* RFC 1624, equation 3. */
static void update_checksum(struct job *job, uint32_t checksum, const uint8_t *old,
			    const uint8_t *value, uint32_t length, bool odd)
{
	uint8_t *at = job->frame->data + checksum;
	uint32_t sum = (uint16_t)~vl_load_be16(at);

	sum += sum_of(value, length, odd, false);
	sum += sum_of(old, length, odd, true);
	/* The bytes that make whole words of these at either end are the same in both. */
	if (odd)
		sum += 0xff00;
	if ((length + odd) & 1)
		sum += 0x00ff;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	vl_store_be16(at, (uint16_t)~sum);
	/* UDP says with 0 that there is no checksum. */
	if (job->layout.is_udp && checksum == job->layout.l4_checksum && !at[0] && !at[1])
		memset(at, 0xff, 2);
}

/* Writes bytes (16 at most) that lie in the frame. */
static void store(struct job *job, uint32_t offset, const uint8_t *bytes, uint32_t length)
{
	const struct layout *layout = &job->layout;
	uint8_t *at = job->frame->data + offset, old[16];
	uint32_t address_end = layout->addresses + 2u * layout->address_length;

	if (!memcmp(at, bytes, length))
		return;
	job->changed = true;
	memcpy(old, at, length);
	memcpy(at, bytes, length);
	if (job->rewrite->keeps_checksums || !layout->ip || offset < layout->ip)
		return;
	if (layout->ip_checksum && offset < address_end)
		update_checksum(job, layout->ip_checksum, old, bytes, length,
				(offset - layout->ip) & 1);
	if (!layout->l4_checksum)
		return;
	if (offset >= layout->l4)
		update_checksum(job, layout->l4_checksum, old, bytes, length,
				(offset - layout->l4) & 1);
	else if (offset >= layout->addresses && offset < address_end)
		update_checksum(job, layout->l4_checksum, old, bytes, length, false);
}

/* A number of up to 8 bytes in network order. */
static void store_number(struct job *job, uint32_t offset, uint64_t number, uint32_t length)
{
	uint8_t bytes[8];

	vl_store_be64(bytes, number);
	store(job, offset, bytes + 8 - length, length);
}

/* ---- The fields ------------------------------------------------------------------------ */

static void rewrite_macs(struct job *job)
{
	static const enum rewrite_field fields[2] = {REWRITE_dst_mac, REWRITE_src_mac};
	uint8_t mac[MAC_LENGTH];

	if (job->frame->length < 2 * MAC_LENGTH)
		return;
	for (unsigned int i = 0; i < 2; i++) {
		memcpy(mac, job->frame->data + i * MAC_LENGTH, MAC_LENGTH);
		if (rewrite_bytes(&job->rewrite->rules, fields[i], REWRITE_mac, mac, MAC_LENGTH))
			store(job, i * MAC_LENGTH, mac, MAC_LENGTH);
	}
}

/* The rule for a frame of this VLAN, or without one. */
static struct rewrite_rule *find_vlan_rule(struct rewrite_rules *rules, bool tagged, uint16_t vlan)
{
	for (unsigned int i = 0; i < rules->count; i++) {
		struct rewrite_rule *rule = &rules->list[i];

		if (rule->field == REWRITE_vlan &&
		    (rule->has_old ? tagged && rule->old.number == vlan
				   : tagged || rule->action == REWRITE_SET))
			return rule;
	}
	return NULL;
}

static void remove_tag(struct job *job)
{
	uint8_t *type = job->frame->data + TYPE_OFFSET;

	job->frame->length -= TAG_LENGTH;
	memmove(type, type + TAG_LENGTH, job->frame->length - TYPE_OFFSET);
	job->changed = true;
}

static void insert_tag(struct job *job, uint16_t vlan)
{
	uint8_t *type = job->frame->data + TYPE_OFFSET;

	memmove(type + TAG_LENGTH, type, job->frame->length - TYPE_OFFSET);
	vl_store_be16(type, VL_ETHERTYPE_CTAG);
	vl_store_be16(type + 2, vlan);
	job->frame->length += TAG_LENGTH;
	job->changed = true;
}

static void rewrite_vlan(struct job *job)
{
	struct rewrite_rules *rules = &job->rewrite->rules;
	uint8_t *type = job->frame->data + TYPE_OFFSET;
	struct rewrite_rule *rule;
	uint16_t tag = 0;
	bool tagged;

	if (!rules->has[REWRITE_vlan] || job->frame->length < TYPE_OFFSET + 2)
		return;
	tagged = is_tag(vl_load_be16(type)) && job->frame->length >= TYPE_OFFSET + TAG_LENGTH + 2;
	if (tagged)
		tag = vl_load_be16(type + 2);
	rule = find_vlan_rule(rules, tagged, tag & 0xfff);
	if (!rule)
		return;
	rule->used++;
	if (rule->action == REWRITE_REMOVE) {
		remove_tag(job);
	} else if (!tagged) {
		insert_tag(job, (uint16_t)rule->value.number);
	} else {
		uint64_t vlan = (rule->action == REWRITE_ADD ? tag : 0) + rule->value.number;

		store_number(job, TYPE_OFFSET + 2, (tag & 0xf000) | (vlan & 0xfff), 2);
	}
}

static void rewrite_pcp(struct job *job)
{
	const uint8_t *type = job->frame->data + TYPE_OFFSET;
	uint64_t pcp;
	uint16_t tag;

	if (job->frame->length < TYPE_OFFSET + TAG_LENGTH || !is_tag(vl_load_be16(type)))
		return;
	tag = vl_load_be16(type + 2);
	pcp = tag >> 13;
	if (rewrite_number(&job->rewrite->rules, REWRITE_pcp, &pcp))
		store_number(job, TYPE_OFFSET + 2, (tag & 0x1fff) | pcp << 13, 2);
}

static void rewrite_addresses(struct job *job)
{
	static const enum rewrite_field fields[2] = {REWRITE_src_ip, REWRITE_dst_ip};
	const struct layout *layout = &job->layout;
	uint8_t address[16];

	for (unsigned int i = 0; i < 2; i++) {
		uint32_t offset = layout->addresses + i * layout->address_length;

		memcpy(address, job->frame->data + offset, layout->address_length);
		if (rewrite_bytes(&job->rewrite->rules, fields[i], REWRITE_ip, address,
				  layout->address_length))
			store(job, offset, address, layout->address_length);
	}
}

static void rewrite_class(struct job *job)
{
	uint32_t offset = job->layout.ip;
	uint16_t word = vl_load_be16(job->frame->data + offset);
	/* IPv4 has the class in the second byte, IPv6 in the middle of the first two. */
	unsigned int shift = job->layout.address_length == 4 ? 0 : 4;
	uint64_t dscp = word >> (shift + 2) & 0x3f, ecn = word >> shift & 3;
	bool any = rewrite_number(&job->rewrite->rules, REWRITE_dscp, &dscp);

	any |= rewrite_number(&job->rewrite->rules, REWRITE_ecn, &ecn);
	if (any)
		store_number(job, offset, (word & ~(0xffu << shift)) | (dscp << 2 | ecn) << shift,
			     2);
}

static void rewrite_ports(struct job *job)
{
	static const enum rewrite_field fields[2] = {REWRITE_src_port, REWRITE_dst_port};

	for (unsigned int i = 0; i < 2; i++) {
		uint32_t offset = job->layout.l4 + 2 * i;
		uint64_t number = vl_load_be16(job->frame->data + offset);

		if (rewrite_number(&job->rewrite->rules, fields[i], &number))
			store_number(job, offset, number, 2);
	}
}

static void rewrite_field(struct job *job, enum rewrite_field field, uint32_t offset,
			  uint64_t value, uint32_t length)
{
	if (rewrite_number(&job->rewrite->rules, field, &value))
		store_number(job, offset, value, length);
}

static void rewrite_bth(struct job *job, const struct vl_packet *packet, uint32_t bth)
{
	uint64_t psn = packet->psn;
	bool any = rewrite_number(&job->rewrite->rules, REWRITE_psn, &psn);

	rewrite_field(job, REWRITE_pkey, bth + offsetof(struct vl_bth, pkey), packet->pkey, 2);
	rewrite_field(job, REWRITE_qpn, bth + offsetof(struct vl_bth, destination_qpn),
		      packet->destination_qpn, 3);
	if (job->frame->psn_offset && !(packet->info->flags & VL_OPCODE_NOTIFICATION)) {
		psn = (psn + job->frame->psn_offset) & PSN_MASK;
		any = true;
	}
	if (any)
		store_number(job, bth + offsetof(struct vl_bth, psn), psn, 3);
}

/* The extension headers, which a well-formed packet has in this order. */
static void rewrite_extensions(struct job *job, const struct vl_packet *packet, uint32_t offset)
{
	uint32_t flags = packet->info->flags;

	if (flags & VL_OPCODE_RDETH)
		offset += sizeof(struct vl_rdeth);
	if (flags & VL_OPCODE_DETH) {
		rewrite_field(job, REWRITE_qkey, offset, packet->qkey, 4);
		rewrite_field(job, REWRITE_src_qpn, offset + offsetof(struct vl_deth, source_qpn),
			      packet->source_qpn, 3);
		offset += sizeof(struct vl_deth);
	}
	if (flags & VL_OPCODE_XRCETH)
		offset += sizeof(struct vl_xrceth);
	if (flags & VL_OPCODE_FETH)
		offset += sizeof(struct vl_feth);
	if (flags & (VL_OPCODE_RETH | VL_OPCODE_ATOMICETH)) {
		rewrite_field(job, REWRITE_address, offset, packet->remote_address, 8);
		rewrite_field(job, REWRITE_rkey, offset + offsetof(struct vl_reth, rkey),
			      packet->rkey, 4);
		offset += flags & VL_OPCODE_RETH ? sizeof(struct vl_reth)
						 : sizeof(struct vl_atomic_eth);
	}
	if (flags & VL_OPCODE_IMMDT)
		offset += sizeof(struct vl_immdt);
	if (flags & VL_OPCODE_IETH)
		rewrite_field(job, REWRITE_rkey, offset, packet->invalidate_rkey, 4);
}

static const uint8_t *moved(const uint8_t *pointer, ptrdiff_t by)
{
	return pointer ? pointer + by : NULL;
}

/* The RDMA packet in the frame; by: how far the tag that went in or out moved it. */
static void rewrite_packet(struct job *job, struct vl_packet *packet, bool well_formed,
			   ptrdiff_t by)
{
	packet->network = moved(packet->network, by);
	packet->bth = moved(packet->bth, by);
	packet->icrc = moved(packet->icrc, by);
	if (!packet->bth)
		return;
	rewrite_bth(job, packet, (uint32_t)(packet->bth - job->frame->data));
	if (well_formed)
		rewrite_extensions(job, packet,
				   (uint32_t)(packet->bth - job->frame->data) +
					   (uint32_t)sizeof(struct vl_bth));
}

static void mend_icrc(struct job *job, const struct vl_packet *packet, uint32_t wrongness)
{
	uint8_t bytes[4];
	uint32_t icrc = vl_icrc_compute(packet) ^ wrongness;

	for (unsigned int i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(icrc >> 8 * i);
	store(job, (uint32_t)(packet->icrc - job->frame->data), bytes, sizeof(bytes));
}

bool rewrite_apply(struct rewrite *rewrite, struct rewrite_frame *frame)
{
	struct job job = {.rewrite = rewrite, .frame = frame};
	uint32_t length = frame->length, wrongness = 0;
	struct vl_packet packet;
	enum vl_parse_result parsed;

	if (!rewrite->rules.count && !frame->psn_offset)
		return false;
	parsed = vl_parse(&packet, VL_LINK_ETHERNET, frame->data, frame->length, frame->length);
	if (packet.icrc)
		wrongness = vl_icrc_compute(&packet) ^ vl_icrc_found(&packet);
	rewrite_macs(&job);
	rewrite_vlan(&job);
	rewrite_pcp(&job);
	find_layers(&job);
	if (job.layout.ip) {
		rewrite_addresses(&job);
		rewrite_class(&job);
	}
	if (job.layout.is_udp)
		rewrite_ports(&job);
	rewrite_packet(&job, &packet, parsed == VL_PARSE_ok, (ptrdiff_t)frame->length - length);
	if (packet.icrc && !rewrite->keeps_checksums)
		mend_icrc(&job, &packet, wrongness);
	return job.changed;
}
