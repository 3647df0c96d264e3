/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/ip/ip.h"

#include "dataplane/ip/private.h"
#include "transport/wire/headers.h"

#include <errno.h>
#include <stdlib.h>

#define DEFAULT_NEIGHBOURS 4096u
#define MAX_NEIGHBOURS     (1u << 20)
/* RFC 5227, ANNOUNCE_NUM and ANNOUNCE_INTERVAL. */
#define ANNOUNCE_ROUNDS   2u
#define ANNOUNCE_INTERVAL UINT64_C(2000000000)
/* What ARP, and the longest neighbour discovery, take of a frame. */
#define LONGEST_REQUEST 128u

const uint8_t vl_ip_broadcast_mac[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

/* ---- Addresses -------------------------------------------------------------------------- */

/* Bits of the 128 that an address has in common with its subnet. */
static unsigned int prefix_of(const struct vl_ip_address *own)
{
	return own->prefix_length + (vl_gid_is_ipv4(&own->address) ? 96u : 0);
}

static bool shares_prefix(const union ibv_gid *a, const union ibv_gid *b, unsigned int bits)
{
	unsigned int bytes = bits / 8, rest = bits % 8;

	if (memcmp(a->raw, b->raw, bytes))
		return false;
	return !rest || !((a->raw[bytes] ^ b->raw[bytes]) >> (8 - rest));
}

static bool is_link_local(const union ibv_gid *address)
{
	return address->raw[0] == 0xfe && (address->raw[1] & 0xc0) == 0x80;
}

const struct vl_ip_address *vl_ip_own_address(const struct vl_ip *ip, const union ibv_gid *address)
{
	for (uint32_t i = 0; i < ip->config.address_count; i++) {
		if (!memcmp(&ip->config.addresses[i].address, address, sizeof(*address)))
			return &ip->config.addresses[i];
	}
	return NULL;
}

static const struct vl_ip_address *find_subnet(const struct vl_ip_config *config,
					       const union ibv_gid *address)
{
	const struct vl_ip_address *any = NULL;

	for (uint32_t i = 0; i < config->address_count; i++) {
		const struct vl_ip_address *own = &config->addresses[i];

		if (vl_gid_is_ipv4(&own->address) != vl_gid_is_ipv4(address))
			continue;
		if (shares_prefix(&own->address, address, prefix_of(own)))
			return own;
		if (!any && !vl_gid_is_ipv4(address))
			any = own;
	}
	/* Link-local neighbours are on the link whatever our address is. */
	return is_link_local(address) ? any : NULL;
}

const struct vl_ip_address *vl_ip_subnet_of(const struct vl_ip *ip, const union ibv_gid *address)
{
	return find_subnet(&ip->config, address);
}

bool vl_ip_is_neighbour(const struct vl_ip_config *config, const union ibv_gid *address)
{
	return find_subnet(config, address) != NULL;
}

/* IPv4: all ones behind the prefix, of a subnet that has room for a broadcast address. */
static bool is_broadcast(const struct vl_ip *ip, const union ibv_gid *address)
{
	static const uint8_t limited[4] = {0xff, 0xff, 0xff, 0xff};
	uint32_t bits, mask;
	const struct vl_ip_address *own;

	if (!memcmp(address->raw + 12, limited, sizeof(limited)))
		return true;
	own = vl_ip_subnet_of(ip, address);
	if (!own || own->prefix_length > 30)
		return false;
	mask = UINT32_MAX >> own->prefix_length;
	bits = vl_load_be32(address->raw + 12);
	return (bits & mask) == mask;
}

bool vl_ip_is_host(const struct vl_ip *ip, const union ibv_gid *address)
{
	static const union ibv_gid loopback = {.raw = {[15] = 1}}, zero;
	const uint8_t *raw = address->raw;

	if (vl_gid_is_ipv4(address))
		return raw[12] && raw[12] != 127 && raw[12] < 224 && !is_broadcast(ip, address);
	return raw[0] != 0xff && memcmp(address, &loopback, sizeof(loopback)) &&
	       memcmp(address, &zero, sizeof(zero));
}

/* ---- Opening ---------------------------------------------------------------------------- */

static bool is_zero(const union ibv_gid *gid)
{
	static const union ibv_gid zero;

	return !memcmp(gid, &zero, sizeof(zero));
}

static bool is_gateway_valid(const union ibv_gid *gateway, bool is_ipv4)
{
	return is_zero(gateway) || vl_gid_is_ipv4(gateway) == is_ipv4;
}

static bool is_config_valid(const struct vl_ip_config *config)
{
	static const uint8_t none[6];

	if (!memcmp(config->mac, none, sizeof(none)) || config->mac[0] & 1 ||
	    !config->address_count || config->address_count > VL_IP_MAX_ADDRESSES ||
	    config->vlan_id > 0xfff || config->vlan_priority > 7 ||
	    config->max_neighbours > MAX_NEIGHBOURS ||
	    !is_gateway_valid(&config->gateway_ipv4, true) ||
	    !is_gateway_valid(&config->gateway_ipv6, false))
		return false;
	for (uint32_t i = 0; i < config->address_count; i++) {
		const struct vl_ip_address *own = &config->addresses[i];

		if (own->prefix_length > (vl_gid_is_ipv4(&own->address) ? 32 : 128))
			return false;
	}
	return true;
}

struct vl_ip *vl_ip_open(const struct vl_ip_config *config, int *error)
{
	int result = -EINVAL;
	struct vl_ip *ip = NULL;

	if (!is_config_valid(config))
		goto fail;
	result = -ENOMEM;
	ip = calloc(1, sizeof(*ip));
	if (!ip)
		goto fail;
	ip->config = *config;
	ip->announce_at = config->speaks ? 0 : UINT64_MAX;
	result = vl_neighbours_open(&ip->neighbours,
				    config->max_neighbours ? config->max_neighbours
							   : DEFAULT_NEIGHBOURS,
				    &ip->counters);
	if (!result)
		return ip;
fail:
	free(ip);
	if (error)
		*error = result;
	return NULL;
}

void vl_ip_close(struct vl_ip *ip)
{
	if (!ip)
		return;
	vl_neighbours_close(&ip->neighbours);
	free(ip);
}

int vl_ip_other_vlan(const struct vl_ip *ip)
{
	return ip->other_vlan;
}

const struct vl_ip_counters *vl_ip_counters(const struct vl_ip *ip)
{
	return &ip->counters;
}

/* ---- Bytes ------------------------------------------------------------------------------ */

uint32_t vl_ip_put_ethernet(const struct vl_ip *ip, uint8_t *frame, const uint8_t destination[6],
			    uint16_t type)
{
	struct vl_ethernet_header *ethernet = (struct vl_ethernet_header *)frame;
	struct vl_vlan_header *vlan = (struct vl_vlan_header *)(ethernet + 1);

	memcpy(ethernet->destination, destination, sizeof(ethernet->destination));
	memcpy(ethernet->source, ip->config.mac, sizeof(ethernet->source));
	if (!ip->config.vlan_present) {
		vl_store_be16(ethernet->type, type);
		return sizeof(*ethernet);
	}
	vl_store_be16(ethernet->type, VL_ETHERTYPE_CTAG);
	vl_store_be16(vlan->tag, (uint16_t)(ip->config.vlan_priority << 13 | ip->config.vlan_id));
	vl_store_be16(vlan->type, type);
	return sizeof(*ethernet) + sizeof(*vlan);
}

uint64_t vl_ip_sum(const uint8_t *bytes, uint32_t length, uint64_t sum)
{
	for (; length >= 2; length -= 2, bytes += 2)
		sum += vl_load_be16(bytes);
	return length ? sum + ((uint64_t)bytes[0] << 8) : sum;
}

uint16_t vl_ip_checksum(uint64_t sum)
{
	while (sum >> 16)
		sum = (sum >> 16) + (sum & 0xffff);
	return (uint16_t)~sum;
}

uint64_t vl_ip_pseudo_sum(const uint8_t source[16], const uint8_t destination[16], uint32_t length,
			  uint8_t protocol)
{
	return vl_ip_sum(destination, 16, vl_ip_sum(source, 16, 0)) + length + protocol;
}

struct vl_ip_answer *vl_ip_new_answer(struct vl_ip *ip)
{
	if (ip->answer_tail - ip->answer_head == VL_IP_ANSWER_COUNT) {
		ip->counters.answers_dropped++;
		return NULL;
	}
	return &ip->answers[ip->answer_tail % VL_IP_ANSWER_COUNT];
}

void vl_ip_commit_answer(struct vl_ip *ip, uint32_t length)
{
	ip->answers[ip->answer_tail % VL_IP_ANSWER_COUNT].length = length;
	ip->answer_tail++;
}

/* ---- In --------------------------------------------------------------------------------- */

static bool is_to_us(const struct vl_ip *ip, const uint8_t *frame)
{
	return frame[0] & 1 || !memcmp(frame, ip->config.mac, sizeof(ip->config.mac));
}

bool vl_ip_has_vlan(const struct vl_ip *ip, uint16_t vlan_id)
{
	return vlan_id == (ip->config.vlan_present ? ip->config.vlan_id : 0);
}

/* It may well be one side alone that was given --vlan. */
static void note_other_vlan(struct vl_ip *ip, const struct vl_frame *frame,
			    const struct vl_frame_layout *layout)
{
	bool asks = false;

	if (layout->ethertype == VL_ETHERTYPE_ARP)
		asks = vl_arp_asks_for_us(ip, frame, layout->network_offset);
	else if (layout->ethertype == VL_ETHERTYPE_IPV6 &&
		 layout->protocol == VL_IP_PROTOCOL_ICMPV6)
		asks = vl_nd_asks_for_us(ip, frame, layout->payload_offset);
	if (!asks)
		return;
	ip->counters.other_vlan++;
	ip->other_vlan = layout->vlan_present ? layout->vlan_id : -1;
}

static bool receive(struct vl_ip *ip, const struct vl_frame *frame, uint64_t now)
{
	struct vl_frame_layout layout;

	vl_frame_layout(&layout, frame->data, frame->length);
	if (!layout.ethertype || !is_to_us(ip, frame->data))
		return false;
	if (!vl_ip_has_vlan(ip, layout.vlan_present ? layout.vlan_id : 0)) {
		note_other_vlan(ip, frame, &layout);
		return false;
	}
	if (layout.ethertype == VL_ETHERTYPE_ARP)
		return vl_arp_receive(ip, frame, layout.network_offset, now);
	if (layout.ethertype == VL_ETHERTYPE_IPV4 && layout.protocol == VL_IP_PROTOCOL_ICMP)
		return vl_icmp_receive(ip, frame, &layout);
	if (layout.ethertype == VL_ETHERTYPE_IPV6 && layout.protocol == VL_IP_PROTOCOL_ICMPV6)
		return vl_icmpv6_receive(ip, frame, &layout, now);
	return false;
}

bool vl_ip_receive(struct vl_ip *ip, const struct vl_frame *frame, uint64_t now)
{
	bool is_taken = receive(ip, frame, now);

	ip->counters.not_ours += !is_taken;
	return is_taken;
}

/* ---- Out -------------------------------------------------------------------------------- */

static bool take_answer(struct vl_ip *ip, struct vl_frame *frame)
{
	while (ip->answer_head != ip->answer_tail) {
		const struct vl_ip_answer *answer =
			&ip->answers[ip->answer_head++ % VL_IP_ANSWER_COUNT];

		if (answer->length <= frame->capacity) {
			memcpy(frame->data, answer->frame, answer->length);
			frame->length = answer->length;
			return true;
		}
		ip->counters.answers_dropped++;
	}
	return false;
}

static bool announce(struct vl_ip *ip, struct vl_frame *frame, uint64_t now)
{
	const union ibv_gid *address;

	if (now < ip->announce_at)
		return false;
	address = &ip->config.addresses[ip->announce_address].address;
	frame->length = vl_gid_is_ipv4(address)
				? vl_arp_write_announcement(ip, address, frame->data)
				: vl_nd_write_announcement(ip, address, frame->data);
	if (++ip->announce_address == ip->config.address_count) {
		ip->announce_address = 0;
		ip->announce_at = ++ip->announce_round == ANNOUNCE_ROUNDS ? UINT64_MAX
									  : now + ANNOUNCE_INTERVAL;
	}
	return true;
}

static bool ask(struct vl_ip *ip, struct vl_frame *frame, uint64_t now)
{
	const struct vl_neighbour *neighbour;

	while ((neighbour = vl_neighbours_next_request(&ip->neighbours, now))) {
		frame->length = vl_gid_is_ipv4(&neighbour->address)
					? vl_arp_write_request(ip, &neighbour->address, frame->data)
					: vl_nd_write_request(ip, &neighbour->address, frame->data);
		if (frame->length)
			return true;
	}
	return false;
}

static void count_sent(struct vl_ip *ip, const struct vl_frame *frame)
{
	struct vl_frame_layout layout;

	vl_frame_layout(&layout, frame->data, frame->length);
	if (layout.ethertype == VL_ETHERTYPE_ARP)
		ip->counters.arp_tx++;
	else if (layout.protocol == VL_IP_PROTOCOL_ICMPV6 &&
		 frame->data[layout.payload_offset] >= 133)
		ip->counters.nd_tx++;
	else
		ip->counters.echo_tx++;
}

bool vl_ip_transmit(struct vl_ip *ip, struct vl_frame *frame, uint64_t now)
{
	if (frame->capacity < LONGEST_REQUEST)
		return false;
	if (!take_answer(ip, frame) && !announce(ip, frame, now) && !ask(ip, frame, now))
		return false;
	count_sent(ip, frame);
	if (frame->length < VL_IP_MIN_FRAME) {
		memset(frame->data + frame->length, 0, VL_IP_MIN_FRAME - frame->length);
		frame->length = VL_IP_MIN_FRAME;
	}
	frame->priority = ip->config.vlan_priority;
	frame->source_qpn = 0;
	return true;
}

uint64_t vl_ip_next_deadline(const struct vl_ip *ip)
{
	uint64_t deadline = vl_timer_wheel_next(&ip->neighbours.wheel);

	if (ip->answer_head != ip->answer_tail)
		return 0;
	return ip->announce_at < deadline ? ip->announce_at : deadline;
}

/* ---- Routes and neighbours -------------------------------------------------------------- */

/* True: the destination has a MAC that follows from it. */
static bool map_multicast(const struct vl_ip *ip, const union ibv_gid *destination, uint8_t mac[6])
{
	const uint8_t *raw = destination->raw;

	if (!vl_gid_is_ipv4(destination)) {
		if (raw[0] != 0xff)
			return false;
		mac[0] = mac[1] = 0x33;
		memcpy(mac + 2, raw + 12, 4);
	} else if (raw[12] >> 4 == 0xe) {
		mac[0] = 0x01;
		mac[1] = 0x00;
		mac[2] = 0x5e;
		mac[3] = raw[13] & 0x7f;
		memcpy(mac + 4, raw + 14, 2);
	} else if (is_broadcast(ip, destination)) {
		memcpy(mac, vl_ip_broadcast_mac, 6);
	} else {
		return false;
	}
	return true;
}

int vl_ip_resolve(struct vl_ip *ip, const union ibv_gid *destination, uint8_t mac[6], uint64_t now)
{
	const union ibv_gid *next_hop = destination;

	if (vl_ip_own_address(ip, destination)) {
		memcpy(mac, ip->config.mac, sizeof(ip->config.mac));
		return 0;
	}
	if (map_multicast(ip, destination, mac))
		return 0;
	if (!vl_ip_is_host(ip, destination))
		return -ENETUNREACH;
	if (!vl_ip_subnet_of(ip, destination)) {
		next_hop = vl_gid_is_ipv4(destination) ? &ip->config.gateway_ipv4
						       : &ip->config.gateway_ipv6;
		/* A gateway is a neighbour, or it leads nowhere. */
		if (is_zero(next_hop) || !vl_ip_subnet_of(ip, next_hop))
			return -ENETUNREACH;
	}
	return vl_neighbour_mac(&ip->neighbours, vl_neighbour_add(&ip->neighbours, next_hop), mac,
				now);
}

void vl_ip_heard(struct vl_ip *ip, const union ibv_gid *address, const uint8_t mac[6], bool is_new,
		 uint64_t now)
{
	struct vl_neighbour *neighbour;

	if (!vl_ip_is_host(ip, address) || !vl_ip_subnet_of(ip, address))
		return;
	neighbour = is_new ? vl_neighbour_add(&ip->neighbours, address)
			   : vl_neighbour_find(&ip->neighbours, address);
	if (neighbour)
		vl_neighbour_confirm(&ip->neighbours, neighbour, VL_NEIGHBOUR_KNOWN, mac, now);
}

void vl_ip_learn(struct vl_ip *ip, const union ibv_gid *source, const uint8_t mac[6], uint64_t now)
{
	struct vl_neighbour *neighbour;

	if (mac[0] & 1 || !vl_ip_is_host(ip, source) || vl_ip_own_address(ip, source) ||
	    !vl_ip_subnet_of(ip, source))
		return;
	neighbour = vl_neighbour_add(&ip->neighbours, source);
	if (neighbour->state != VL_NEIGHBOUR_KNOWN)
		vl_neighbour_confirm(&ip->neighbours, neighbour, VL_NEIGHBOUR_LEARNED, mac, now);
}
