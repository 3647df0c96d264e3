/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Echo, RFC 792 and RFC 4443: requests to one of our addresses are answered, nothing else is. */

#include "dataplane/ip/private.h"
#include "transport/wire/headers.h"

struct icmp {
	uint8_t type;
	uint8_t code;
	uint8_t checksum[2];
	uint8_t identifier[2];
	uint8_t sequence[2];
};

_Static_assert(sizeof(struct icmp) == 8, "ICMP echo");

#define ECHO_REQUEST   8
#define ECHO_REPLY     0
#define ECHO_REQUEST_6 128
#define ECHO_REPLY_6   129
#define HOP_LIMIT      64
#define MORE_FRAGMENTS 0x2000

/* Both Ethernet header and tag, then IP. */
#define MOST_ECHO   (VL_IP_MAX_ANSWER - 18u - (uint32_t)sizeof(struct vl_ipv4_header))
#define MOST_ECHO_6 (VL_IP_MAX_ANSWER - 18u - (uint32_t)sizeof(struct vl_ipv6_header))

static bool is_own_ipv4(const struct vl_ip *ip, const uint8_t address[4])
{
	union ibv_gid gid = vl_gid_of_ipv4(address);

	return vl_ip_own_address(ip, &gid);
}

static bool is_host_ipv4(const struct vl_ip *ip, const uint8_t address[4])
{
	union ibv_gid gid = vl_gid_of_ipv4(address);

	return vl_ip_is_host(ip, &gid);
}

/* ethernet: of the request; message: the request's ICMP, of length bytes. */
static void reply_ipv4(struct vl_ip *ip, const struct vl_ethernet_header *ethernet,
		       const struct vl_ipv4_header *request, const uint8_t *message,
		       uint32_t length)
{
	struct vl_ip_answer *answer = vl_ip_new_answer(ip);
	struct vl_ipv4_header *header;
	struct icmp *icmp;
	uint32_t offset;

	if (!answer)
		return;
	offset = vl_ip_put_ethernet(ip, answer->frame, ethernet->source, VL_ETHERTYPE_IPV4);
	header = (struct vl_ipv4_header *)(answer->frame + offset);
	memset(header, 0, sizeof(*header));
	header->version_length = 4 << 4 | sizeof(*header) / 4;
	header->traffic_class = request->traffic_class & 0xfc;
	vl_store_be16(header->total_length, (uint16_t)(sizeof(*header) + length));
	vl_store_be16(header->fragment, VL_IPV4_DONT_FRAGMENT);
	header->time_to_live = HOP_LIMIT;
	header->protocol = VL_IP_PROTOCOL_ICMP;
	memcpy(header->source, request->destination, sizeof(header->source));
	memcpy(header->destination, request->source, sizeof(header->destination));
	vl_store_be16(header->checksum,
		      vl_ip_checksum(vl_ip_sum((uint8_t *)header, sizeof(*header), 0)));
	icmp = (struct icmp *)(header + 1);
	memcpy(icmp, message, length);
	icmp->type = ECHO_REPLY;
	memset(icmp->checksum, 0, sizeof(icmp->checksum));
	vl_store_be16(icmp->checksum, vl_ip_checksum(vl_ip_sum((uint8_t *)icmp, length, 0)));
	vl_ip_commit_answer(ip, offset + sizeof(*header) + length);
}

bool vl_icmp_receive(struct vl_ip *ip, const struct vl_frame *frame,
		     const struct vl_frame_layout *layout)
{
	const struct vl_ethernet_header *ethernet = (const struct vl_ethernet_header *)frame->data;
	const struct vl_ipv4_header *header =
		(const struct vl_ipv4_header *)(frame->data + layout->network_offset);
	const struct icmp *icmp = (const struct icmp *)(frame->data + layout->payload_offset);
	uint32_t header_length = layout->payload_offset - layout->network_offset;
	uint32_t total_length = vl_load_be16(header->total_length);
	uint32_t length;

	if (!is_own_ipv4(ip, header->destination) ||
	    vl_load_be16(header->fragment) & MORE_FRAGMENTS)
		return false;
	if (total_length > frame->length - layout->network_offset ||
	    total_length < header_length + sizeof(*icmp) ||
	    vl_ip_checksum(vl_ip_sum((const uint8_t *)header, header_length, 0))) {
		ip->counters.malformed++;
		return true;
	}
	length = total_length - header_length;
	if (icmp->type != ECHO_REQUEST)
		return false;
	ip->counters.echo_rx++;
	if (icmp->code || vl_ip_checksum(vl_ip_sum((const uint8_t *)icmp, length, 0)) ||
	    !is_host_ipv4(ip, header->source) || is_own_ipv4(ip, header->source) ||
	    ethernet->source[0] & 1 || length > MOST_ECHO)
		ip->counters.malformed++;
	else if (ip->config.speaks)
		reply_ipv4(ip, ethernet, header, (const uint8_t *)icmp, length);
	return true;
}

static void reply_ipv6(struct vl_ip *ip, const struct vl_ethernet_header *ethernet,
		       const struct vl_ipv6_header *request, uint32_t length)
{
	struct vl_ip_answer *answer = vl_ip_new_answer(ip);
	struct vl_ipv6_header *header;
	struct icmp *icmp;
	uint32_t offset;
	uint64_t sum;

	if (!answer)
		return;
	offset = vl_ip_put_ethernet(ip, answer->frame, ethernet->source, VL_ETHERTYPE_IPV6);
	header = (struct vl_ipv6_header *)(answer->frame + offset);
	memcpy(header, request, sizeof(*header) + length);
	header->version_class_label[1] &= 0xcf; /* the ECN bits are the path's */
	header->hop_limit = HOP_LIMIT;
	memcpy(header->source, request->destination, sizeof(header->source));
	memcpy(header->destination, request->source, sizeof(header->destination));
	icmp = (struct icmp *)(header + 1);
	icmp->type = ECHO_REPLY_6;
	memset(icmp->checksum, 0, sizeof(icmp->checksum));
	sum = vl_ip_pseudo_sum(header->source, header->destination, length, VL_IP_PROTOCOL_ICMPV6);
	vl_store_be16(icmp->checksum, vl_ip_checksum(vl_ip_sum((uint8_t *)icmp, length, sum)));
	vl_ip_commit_answer(ip, offset + sizeof(*header) + length);
}

bool vl_icmpv6_receive(struct vl_ip *ip, const struct vl_frame *frame,
		       const struct vl_frame_layout *layout, uint64_t now)
{
	const struct vl_ethernet_header *ethernet = (const struct vl_ethernet_header *)frame->data;
	const struct vl_ipv6_header *header =
		(const struct vl_ipv6_header *)(frame->data + layout->network_offset);
	const struct icmp *icmp = (const struct icmp *)(header + 1);
	uint32_t length = vl_load_be16(header->payload_length);
	union ibv_gid source = vl_gid_of_ipv6(header->source);
	union ibv_gid destination = vl_gid_of_ipv6(header->destination);
	uint64_t sum;

	if (length > frame->length - layout->payload_offset || length < 4) {
		ip->counters.malformed++;
		return true;
	}
	sum = vl_ip_pseudo_sum(header->source, header->destination, length, VL_IP_PROTOCOL_ICMPV6);
	if (vl_ip_checksum(vl_ip_sum((const uint8_t *)icmp, length, sum))) {
		ip->counters.malformed++;
		return true;
	}
	if (vl_nd_receive(ip, frame, layout, now))
		return true;
	if (icmp->type != ECHO_REQUEST_6 || !vl_ip_own_address(ip, &destination))
		return false;
	ip->counters.echo_rx++;
	if (icmp->code || length < sizeof(*icmp) || !vl_ip_is_host(ip, &source) ||
	    vl_ip_own_address(ip, &source) || ethernet->source[0] & 1 || length > MOST_ECHO_6)
		ip->counters.malformed++;
	else if (ip->config.speaks)
		reply_ipv6(ip, ethernet, header, length);
	return true;
}
