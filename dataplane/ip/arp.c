/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Address resolution, RFC 826, and its announcements, RFC 5227. */

#include "dataplane/ip/private.h"
#include "transport/wire/headers.h"

struct arp {
	uint8_t hardware[2];
	uint8_t protocol[2];
	uint8_t hardware_length;
	uint8_t protocol_length;
	uint8_t operation[2];
	uint8_t sender_mac[6];
	uint8_t sender_ip[4];
	uint8_t target_mac[6];
	uint8_t target_ip[4];
};

_Static_assert(sizeof(struct arp) == 28, "ARP of Ethernet and IPv4");

#define HARDWARE_ETHERNET 1
#define OPERATION_REQUEST 1
#define OPERATION_REPLY   2

static uint32_t write_arp(const struct vl_ip *ip, uint8_t *frame, const uint8_t destination[6],
			  const struct arp *arp)
{
	uint32_t length = vl_ip_put_ethernet(ip, frame, destination, VL_ETHERTYPE_ARP);

	memcpy(frame + length, arp, sizeof(*arp));
	return length + sizeof(*arp);
}

static struct arp make_arp(const struct vl_ip *ip, uint16_t operation, const uint8_t sender[4],
			   const uint8_t target_mac[6], const uint8_t target[4])
{
	struct arp arp = {.hardware_length = 6, .protocol_length = 4};

	vl_store_be16(arp.hardware, HARDWARE_ETHERNET);
	vl_store_be16(arp.protocol, VL_ETHERTYPE_IPV4);
	vl_store_be16(arp.operation, operation);
	memcpy(arp.sender_mac, ip->config.mac, sizeof(arp.sender_mac));
	memcpy(arp.sender_ip, sender, sizeof(arp.sender_ip));
	memcpy(arp.target_mac, target_mac, sizeof(arp.target_mac));
	memcpy(arp.target_ip, target, sizeof(arp.target_ip));
	return arp;
}

static bool is_wellformed(const struct arp *arp)
{
	static const uint8_t none[6];
	uint16_t operation = vl_load_be16(arp->operation);

	return vl_load_be16(arp->hardware) == HARDWARE_ETHERNET &&
	       vl_load_be16(arp->protocol) == VL_ETHERTYPE_IPV4 && arp->hardware_length == 6 &&
	       arp->protocol_length == 4 &&
	       (operation == OPERATION_REQUEST || operation == OPERATION_REPLY) &&
	       !(arp->sender_mac[0] & 1) && memcmp(arp->sender_mac, none, sizeof(none));
}

static void reply(struct vl_ip *ip, const struct arp *request)
{
	struct vl_ip_answer *answer = vl_ip_new_answer(ip);
	struct arp arp;

	if (!answer)
		return;
	arp = make_arp(ip, OPERATION_REPLY, request->target_ip, request->sender_mac,
		       request->sender_ip);
	vl_ip_commit_answer(ip, write_arp(ip, answer->frame, request->sender_mac, &arp));
}

bool vl_arp_asks_for_us(const struct vl_ip *ip, const struct vl_frame *frame, uint32_t offset)
{
	const struct arp *arp = (const struct arp *)(frame->data + offset);
	union ibv_gid target;

	if (frame->length - offset < sizeof(*arp) || !is_wellformed(arp) ||
	    vl_load_be16(arp->operation) != OPERATION_REQUEST ||
	    !memcmp(arp->sender_mac, ip->config.mac, sizeof(arp->sender_mac)))
		return false;
	target = vl_gid_of_ipv4(arp->target_ip);
	return vl_ip_own_address(ip, &target);
}

bool vl_arp_receive(struct vl_ip *ip, const struct vl_frame *frame, uint32_t offset, uint64_t now)
{
	const struct arp *arp = (const struct arp *)(frame->data + offset);
	union ibv_gid sender, target;
	bool is_for_us, is_request;

	ip->counters.arp_rx++;
	if (frame->length - offset < sizeof(*arp) || !is_wellformed(arp)) {
		ip->counters.malformed++;
		return true;
	}
	if (!memcmp(arp->sender_mac, ip->config.mac, sizeof(arp->sender_mac)))
		return true; /* another worker's, come back */
	sender = vl_gid_of_ipv4(arp->sender_ip);
	target = vl_gid_of_ipv4(arp->target_ip);
	if (vl_ip_own_address(ip, &sender)) {
		ip->counters.conflicts++;
		return true;
	}
	is_for_us = vl_ip_own_address(ip, &target) != NULL;
	is_request = vl_load_be16(arp->operation) == OPERATION_REQUEST;
	/* A request to us is from somebody who is about to talk to us. */
	vl_ip_heard(ip, &sender, arp->sender_mac, is_for_us && is_request, now);
	if (is_for_us && is_request && ip->config.speaks)
		reply(ip, arp);
	return true;
}

uint32_t vl_arp_write_request(const struct vl_ip *ip, const union ibv_gid *address, uint8_t *frame)
{
	static const uint8_t unknown[6];
	const struct vl_ip_address *own = vl_ip_subnet_of(ip, address);
	struct arp arp;

	if (!own)
		return 0;
	arp = make_arp(ip, OPERATION_REQUEST, own->address.raw + 12, unknown, address->raw + 12);
	return write_arp(ip, frame, vl_ip_broadcast_mac, &arp);
}

uint32_t vl_arp_write_announcement(const struct vl_ip *ip, const union ibv_gid *address,
				   uint8_t *frame)
{
	static const uint8_t unknown[6];
	struct arp arp =
		make_arp(ip, OPERATION_REQUEST, address->raw + 12, unknown, address->raw + 12);

	return write_arp(ip, frame, vl_ip_broadcast_mac, &arp);
}
