/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What the files of this directory share. */
#ifndef VERBLINE_IP_PRIVATE_H
#define VERBLINE_IP_PRIVATE_H

#include "dataplane/frame_layout.h"
#include "dataplane/ip/ip.h"
#include "dataplane/ip/neighbour.h"
#include "transport/wire/gid.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define VL_ETHERTYPE_ARP      0x0806
#define VL_IP_PROTOCOL_ICMP   1
#define VL_IP_PROTOCOL_ICMPV6 58
#define VL_IP_MIN_FRAME       60u /* without FCS */

/* An echo of the longest IP packet: MTU 9600, Ethernet header, two tags. */
#define VL_IP_MAX_ANSWER   9632u
#define VL_IP_ANSWER_COUNT 32u /* a power of two */

struct vl_ip_answer {
	uint32_t length;
	uint8_t frame[VL_IP_MAX_ANSWER];
};

struct vl_ip {
	struct vl_ip_config config;
	struct vl_neighbours neighbours;
	struct vl_ip_counters counters;
	uint64_t announce_at; /* ns; UINT64_MAX: all is said */
	uint32_t announce_address, announce_round;
	uint32_t answer_head, answer_tail; /* run freely */
	struct vl_ip_answer answers[VL_IP_ANSWER_COUNT];
	int other_vlan; /* as vl_ip_other_vlan */
};

extern const uint8_t vl_ip_broadcast_mac[6];

/* ---- ip.c ---- */

static inline union ibv_gid vl_gid_of_ipv6(const uint8_t address[16])
{
	union ibv_gid gid;

	memcpy(gid.raw, address, sizeof(gid.raw));
	return gid;
}

/* Whether an ARP or ND packet asks after an address of ours; nothing else is made of it. */
bool vl_arp_asks_for_us(const struct vl_ip *ip, const struct vl_frame *frame, uint32_t offset);
bool vl_nd_asks_for_us(const struct vl_ip *ip, const struct vl_frame *frame, uint32_t offset);
/* NULL: the address is none of ours. */
const struct vl_ip_address *vl_ip_own_address(const struct vl_ip *ip, const union ibv_gid *address);
/* Our address of the subnet that the address lies in; NULL: it lies in none. */
const struct vl_ip_address *vl_ip_subnet_of(const struct vl_ip *ip, const union ibv_gid *address);
/* Neither zero, multicast, loopback nor a broadcast of one of our subnets: what a packet may come
 * from. */
bool vl_ip_is_host(const struct vl_ip *ip, const union ibv_gid *address);
/* ARP or ND has heard that a neighbour has this MAC. The table takes it in if it knows the
 * neighbour or is_new says so. */
void vl_ip_heard(struct vl_ip *ip, const union ibv_gid *address, const uint8_t mac[6], bool is_new,
		 uint64_t now);

/* Room for an answer, which becomes one with its length set by vl_ip_commit_answer. NULL: too many
 * wait, and this one is counted as dropped. */
struct vl_ip_answer *vl_ip_new_answer(struct vl_ip *ip);
void vl_ip_commit_answer(struct vl_ip *ip, uint32_t length);

/* Writes an Ethernet header, tagged as configured. Returns its length. */
uint32_t vl_ip_put_ethernet(const struct vl_ip *ip, uint8_t *frame, const uint8_t destination[6],
			    uint16_t type);
/* One's complement sum of 16-bit words, not folded; an odd last byte counts as followed by 0. */
uint64_t vl_ip_sum(const uint8_t *bytes, uint32_t length, uint64_t sum);
/* The checksum of such a sum. 0: the bytes contained the right one. */
uint16_t vl_ip_checksum(uint64_t sum);
/* The sum of an IPv6 pseudo header, RFC 8200 8.1. */
uint64_t vl_ip_pseudo_sum(const uint8_t source[16], const uint8_t destination[16], uint32_t length,
			  uint8_t protocol);

/* ---- arp.c, nd.c, icmp.c: what comes in, at offset of the frame; true: it was theirs ---- */

bool vl_arp_receive(struct vl_ip *ip, const struct vl_frame *frame, uint32_t offset, uint64_t now);
/* Both return the length of the frame written. */
uint32_t vl_arp_write_request(const struct vl_ip *ip, const union ibv_gid *address, uint8_t *frame);
uint32_t vl_arp_write_announcement(const struct vl_ip *ip, const union ibv_gid *address,
				   uint8_t *frame);

bool vl_nd_receive(struct vl_ip *ip, const struct vl_frame *frame,
		   const struct vl_frame_layout *layout, uint64_t now);
uint32_t vl_nd_write_request(const struct vl_ip *ip, const union ibv_gid *address, uint8_t *frame);
uint32_t vl_nd_write_announcement(const struct vl_ip *ip, const union ibv_gid *address,
				  uint8_t *frame);

bool vl_icmp_receive(struct vl_ip *ip, const struct vl_frame *frame,
		     const struct vl_frame_layout *layout);
bool vl_icmpv6_receive(struct vl_ip *ip, const struct vl_frame *frame,
		       const struct vl_frame_layout *layout, uint64_t now);

#endif
