/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * The little of IP that an endpoint needs beside RoCEv2: its addresses, ARP (RFC 826) and neighbour
 * discovery (RFC 4861) in both directions, echo replies (RFC 792, RFC 4443), and a route: the
 * subnet, or the gateway. Functions of the time on frames; no clock, no allocation after
 * vl_ip_open, bounded by its configuration whatever the peers send.
 */
#ifndef VERBLINE_IP_H
#define VERBLINE_IP_H

#include "dataplane/frame.h"
#include "transport/counter_field.h"

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

struct vl_ip;

#define VL_IP_MAX_ADDRESSES 8

struct vl_ip_address {
	union ibv_gid address; /* IPv4 as ::ffff:a.b.c.d */
	uint8_t prefix_length; /* of the address's own family: 0..32 or 0..128 */
};

struct vl_ip_config {
	uint8_t mac[6];
	uint32_t address_count; /* 1 to VL_IP_MAX_ADDRESSES; link-local ones are not added */
	struct vl_ip_address addresses[VL_IP_MAX_ADDRESSES];
	union ibv_gid gateway_ipv4, gateway_ipv6; /* zero: none */
	bool vlan_present;
	uint16_t vlan_id;      /* frames of other VLANs are not answered */
	uint8_t vlan_priority; /* PCP of its own frames, 0..7 */
	/* Answers requests and announces its addresses at its start; false: only asks and learns,
	 * for the further workers of a port, whose first one speaks for them. */
	bool speaks;
	uint32_t max_neighbours; /* 0: 4096; the one least lately confirmed gives way */
};

#define VL_IP_COUNTERS(X)                                                                          \
	X(arp_rx, "frames", "ARP packets received")                                                \
	X(arp_tx, "frames", "ARP packets sent")                                                    \
	X(nd_rx, "frames", "neighbour solicitations and advertisements received")                  \
	X(nd_tx, "frames", "neighbour solicitations and advertisements sent")                      \
	X(echo_rx, "frames", "ICMP and ICMPv6 echo requests received")                             \
	X(echo_tx, "frames", "echo replies sent")                                                  \
	X(conflicts, "frames", "ARP and ND by which another MAC claims one of our addresses")      \
	X(malformed, "frames", "ARP, ND or ICMP that breaks its own format, or a checksum")        \
	X(not_ours, "frames", "of other protocols, ports or addresses, not looked at")             \
	X(other_vlan, "frames", "of these, questions after our addresses in a VLAN not ours")      \
	X(answers_dropped, "frames", "answers not sent, as too many waited")                       \
	X(unresolved, "neighbours", "given up after the last unanswered request")                  \
	X(evicted, "neighbours", "forgotten for a newer one, as the table was full")

struct vl_ip_counters {
	VL_IP_COUNTERS(VL_COUNTER_FIELD)
};

/* NULL with -EINVAL or -ENOMEM in *error. */
struct vl_ip *vl_ip_open(const struct vl_ip_config *config, int *error);
void vl_ip_close(struct vl_ip *ip);

/* Takes a frame that is no RoCE packet and no MAC control; it stays the caller's. True: it was ARP,
 * ND or ICMP and has been dealt with; false: it is nobody's. */
bool vl_ip_receive(struct vl_ip *ip, const struct vl_frame *frame, uint64_t now);
/* Fills the next frame that is to go out: answers first, then requests; false: none now. */
bool vl_ip_transmit(struct vl_ip *ip, struct vl_frame *frame, uint64_t now);
uint64_t vl_ip_next_deadline(const struct vl_ip *ip);

/* The MAC of the next hop to a destination. 0; -EAGAIN: it has been asked for, call again later;
 * -EHOSTUNREACH: nobody answered (asked again by a call 1 s later); -ENETUNREACH: no subnet and no
 * gateway leads there. Multicast is mapped, not asked for. */
int vl_ip_resolve(struct vl_ip *ip, const union ibv_gid *destination, uint8_t mac[6], uint64_t now);
/* Notes that a packet of an address in our subnets came from this MAC, so that it can be answered
 * without asking. Does not replace what ARP or ND said. */
void vl_ip_learn(struct vl_ip *ip, const union ibv_gid *source, const uint8_t mac[6], uint64_t now);

/* Whether an address lies in a subnet that the configuration has an address of. */
bool vl_ip_is_neighbour(const struct vl_ip_config *config, const union ibv_gid *address);
/* Whether frames tagged with this VLAN, or 0: untagged or tagged with a priority alone, are ours.
 */
bool vl_ip_has_vlan(const struct vl_ip *ip, uint16_t vlan_id);

/* The VLAN of the last of the other_vlan; -1: it was not tagged. */
int vl_ip_other_vlan(const struct vl_ip *ip);

const struct vl_ip_counters *vl_ip_counters(const struct vl_ip *ip);

#endif
