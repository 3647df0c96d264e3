/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Neighbour discovery, RFC 4861: solicitations and advertisements. */

#include "dataplane/ip/private.h"
#include "transport/wire/headers.h"

struct nd {
	uint8_t type;
	uint8_t code;
	uint8_t checksum[2];
	uint8_t flags[4]; /* of advertisements: router, solicited, override */
	uint8_t target[16];
};

/* The one option that we send and look for: source or target link-layer address. */
struct nd_mac_option {
	uint8_t type;
	uint8_t length; /* of 8 bytes */
	uint8_t mac[6];
};

_Static_assert(sizeof(struct nd) == 24, "neighbour solicitation and advertisement");
_Static_assert(sizeof(struct nd_mac_option) == 8, "link-layer address option");

#define TYPE_SOLICITATION  135
#define TYPE_ADVERTISEMENT 136
#define OPTION_SOURCE_MAC  1
#define OPTION_TARGET_MAC  2
#define FLAG_SOLICITED     0x40
#define FLAG_OVERRIDE      0x20
#define HOP_LIMIT          255

static const uint8_t all_nodes[16] = {0xff, 0x02, [15] = 1};
static const uint8_t unspecified[16];

static void make_solicited_node(const uint8_t address[16], uint8_t group[16])
{
	static const uint8_t prefix[13] = {0xff, 0x02, [11] = 1, [12] = 0xff};

	memcpy(group, prefix, sizeof(prefix));
	memcpy(group + 13, address + 13, 3);
}

static void multicast_mac(const uint8_t group[16], uint8_t mac[6])
{
	mac[0] = mac[1] = 0x33;
	memcpy(mac + 2, group + 12, 4);
}

/* ---- Writing ---------------------------------------------------------------------------- */

struct message {
	uint8_t type, flags, option;
	uint8_t mac[6]; /* of the next hop */
	const uint8_t *source, *destination, *target;
	bool has_option;
};

static uint32_t write_message(const struct vl_ip *ip, uint8_t *frame, const struct message *message)
{
	uint32_t offset = vl_ip_put_ethernet(ip, frame, message->mac, VL_ETHERTYPE_IPV6);
	struct vl_ipv6_header *header = (struct vl_ipv6_header *)(frame + offset);
	struct nd *nd = (struct nd *)(header + 1);
	struct nd_mac_option *option = (struct nd_mac_option *)(nd + 1);
	uint32_t length = sizeof(*nd) + (message->has_option ? sizeof(*option) : 0);
	uint64_t sum;

	vl_store_be32(header->version_class_label, 6u << 28);
	vl_store_be16(header->payload_length, (uint16_t)length);
	header->next_header = VL_IP_PROTOCOL_ICMPV6;
	header->hop_limit = HOP_LIMIT;
	memcpy(header->source, message->source, sizeof(header->source));
	memcpy(header->destination, message->destination, sizeof(header->destination));
	memset(nd, 0, sizeof(*nd));
	nd->type = message->type;
	nd->flags[0] = message->flags;
	memcpy(nd->target, message->target, sizeof(nd->target));
	if (message->has_option) {
		option->type = message->option;
		option->length = 1;
		memcpy(option->mac, ip->config.mac, sizeof(option->mac));
	}
	sum = vl_ip_pseudo_sum(header->source, header->destination, length, VL_IP_PROTOCOL_ICMPV6);
	vl_store_be16(nd->checksum, vl_ip_checksum(vl_ip_sum((uint8_t *)nd, length, sum)));
	return offset + sizeof(*header) + length;
}

uint32_t vl_nd_write_request(const struct vl_ip *ip, const union ibv_gid *address, uint8_t *frame)
{
	const struct vl_ip_address *own = vl_ip_subnet_of(ip, address);
	uint8_t group[16];
	struct message message = {
		.type = TYPE_SOLICITATION,
		.option = OPTION_SOURCE_MAC,
		.has_option = true,
		.destination = group,
		.target = address->raw,
	};

	if (!own)
		return 0;
	make_solicited_node(address->raw, group);
	multicast_mac(group, message.mac);
	message.source = own->address.raw;
	return write_message(ip, frame, &message);
}

uint32_t vl_nd_write_announcement(const struct vl_ip *ip, const union ibv_gid *address,
				  uint8_t *frame)
{
	struct message message = {
		.type = TYPE_ADVERTISEMENT,
		.flags = FLAG_OVERRIDE,
		.option = OPTION_TARGET_MAC,
		.has_option = true,
		.source = address->raw,
		.destination = all_nodes,
		.target = address->raw,
	};

	multicast_mac(all_nodes, message.mac);
	return write_message(ip, frame, &message);
}

/* ---- Reading ---------------------------------------------------------------------------- */

bool vl_nd_asks_for_us(const struct vl_ip *ip, const struct vl_frame *frame, uint32_t offset)
{
	const struct nd *nd = (const struct nd *)(frame->data + offset);
	union ibv_gid target;

	if (frame->length - offset < sizeof(*nd) || nd->type != TYPE_SOLICITATION)
		return false;
	target = vl_gid_of_ipv6(nd->target);
	return vl_ip_own_address(ip, &target);
}

/* False: an option has no length or does not end. *mac: NULL if there is no such option. */
static bool find_mac(const uint8_t *at, uint32_t length, uint8_t type, const uint8_t **mac)
{
	*mac = NULL;
	while (length >= 2) {
		uint32_t size = at[1] * 8u;

		if (!size || size > length)
			return false;
		if (at[0] == type)
			*mac = ((const struct nd_mac_option *)at)->mac;
		at += size;
		length -= size;
	}
	return !length;
}

static bool is_usable_mac(const uint8_t mac[6])
{
	static const uint8_t none[6];

	return !(mac[0] & 1) && memcmp(mac, none, sizeof(none));
}

static void answer_solicitation(struct vl_ip *ip, const struct vl_ipv6_header *header,
				const struct nd *nd, const uint8_t mac[6])
{
	struct message message = {
		.type = TYPE_ADVERTISEMENT,
		.flags = FLAG_OVERRIDE,
		.option = OPTION_TARGET_MAC,
		.has_option = true,
		.source = nd->target,
		.destination = all_nodes,
		.target = nd->target,
	};
	struct vl_ip_answer *answer = vl_ip_new_answer(ip);

	if (!answer)
		return;
	/* Who looks for duplicates of its address has none yet. */
	if (memcmp(header->source, unspecified, sizeof(unspecified))) {
		message.flags |= FLAG_SOLICITED;
		message.destination = header->source;
		memcpy(message.mac, mac, sizeof(message.mac));
	} else {
		multicast_mac(all_nodes, message.mac);
	}
	vl_ip_commit_answer(ip, write_message(ip, answer->frame, &message));
}

static bool is_for_target(const struct vl_ipv6_header *header, const struct nd *nd)
{
	uint8_t group[16];

	make_solicited_node(nd->target, group);
	return !memcmp(header->destination, nd->target, sizeof(nd->target)) ||
	       !memcmp(header->destination, group, sizeof(group));
}

/* False: it breaks its own format. */
static bool receive_solicitation(struct vl_ip *ip, const struct vl_frame *frame,
				 const struct vl_ipv6_header *header, uint32_t length, uint64_t now)
{
	const struct nd *nd = (const struct nd *)(header + 1);
	bool has_source = memcmp(header->source, unspecified, sizeof(unspecified)) != 0;
	union ibv_gid source = vl_gid_of_ipv6(header->source);
	union ibv_gid target = vl_gid_of_ipv6(nd->target);
	const uint8_t *mac;

	if (!find_mac((const uint8_t *)(nd + 1), length - sizeof(*nd), OPTION_SOURCE_MAC, &mac))
		return false;
	if (nd->target[0] == 0xff || (!has_source && mac) || (mac && !is_usable_mac(mac)))
		return false;
	if (!vl_ip_own_address(ip, &target) || !is_for_target(header, nd))
		return true;
	if (!mac)
		mac = ((const struct vl_ethernet_header *)frame->data)->source;
	if (has_source && (!vl_ip_is_host(ip, &source) || !is_usable_mac(mac)))
		return false;
	if (has_source && vl_ip_own_address(ip, &source)) {
		ip->counters.conflicts += memcmp(mac, ip->config.mac, 6) != 0;
		return true;
	}
	if (has_source)
		vl_ip_heard(ip, &source, mac, true, now);
	if (ip->config.speaks)
		answer_solicitation(ip, header, nd, mac);
	return true;
}

static bool receive_advertisement(struct vl_ip *ip, const struct vl_ipv6_header *header,
				  uint32_t length, uint64_t now)
{
	const struct nd *nd = (const struct nd *)(header + 1);
	union ibv_gid target = vl_gid_of_ipv6(nd->target);
	struct vl_neighbour *neighbour;
	const uint8_t *mac;

	if (!find_mac((const uint8_t *)(nd + 1), length - sizeof(*nd), OPTION_TARGET_MAC, &mac))
		return false;
	if (nd->target[0] == 0xff || (mac && !is_usable_mac(mac)) ||
	    (header->destination[0] == 0xff && nd->flags[0] & FLAG_SOLICITED))
		return false;
	if (vl_ip_own_address(ip, &target)) {
		ip->counters.conflicts += mac && memcmp(mac, ip->config.mac, 6);
		return true;
	}
	neighbour = vl_neighbour_find(&ip->neighbours, &target);
	if (!neighbour)
		return true;
	/* Without the override flag it speaks for no other MAC than the one that is known. */
	if (neighbour->state == VL_NEIGHBOUR_KNOWN && !(nd->flags[0] & FLAG_OVERRIDE) && mac &&
	    memcmp(mac, neighbour->mac, sizeof(neighbour->mac)))
		return true;
	if (!mac && neighbour->state != VL_NEIGHBOUR_KNOWN)
		return true;
	vl_ip_heard(ip, &target, mac ? mac : neighbour->mac, false, now);
	return true;
}

bool vl_nd_receive(struct vl_ip *ip, const struct vl_frame *frame,
		   const struct vl_frame_layout *layout, uint64_t now)
{
	const struct vl_ipv6_header *header =
		(const struct vl_ipv6_header *)(frame->data + layout->network_offset);
	const struct nd *nd = (const struct nd *)(header + 1);
	/* The caller has found the payload whole, and the checksum right. */
	uint32_t length = vl_load_be16(header->payload_length);
	bool is_right = length >= sizeof(*nd) && header->hop_limit == HOP_LIMIT && !nd->code;

	if (!length || (nd->type != TYPE_SOLICITATION && nd->type != TYPE_ADVERTISEMENT))
		return false;
	ip->counters.nd_rx++;
	if (is_right && nd->type == TYPE_SOLICITATION)
		is_right = receive_solicitation(ip, frame, header, length, now);
	else if (is_right)
		is_right = receive_advertisement(ip, header, length, now);
	ip->counters.malformed += !is_right;
	return true;
}
