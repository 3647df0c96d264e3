/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * A path is the link and network headers of a flow, made once and copied into each packet:
 * only lengths, the IPv4 checksum, and the ECN bits change.
 */
#ifndef VERBLINE_WIRE_PATH_H
#define VERBLINE_WIRE_PATH_H

#include "transport/wire/packet.h"

#include <stdbool.h>
#include <stdint.h>

struct vl_path_attr {
	enum vl_encapsulation encapsulation;
	uint8_t source_mac[6], destination_mac[6];
	bool vlan_present;
	uint16_t vlan_id;     /* 0..4095 */
	uint8_t priority;     /* 0..7: PCP with a VLAN; 0..15: SL on InfiniBand */
	uint8_t virtual_lane; /* 0..15 */
	uint16_t source_lid, destination_lid;
	union ibv_gid source_gid, destination_gid;
	uint8_t traffic_class; /* DSCP << 2 | ECN */
	uint8_t hop_limit;     /* 0: 64 */
	uint32_t flow_label;   /* 20 bits; IPv6 and GRH */
	uint16_t udp_source_port;
};

/* Link and network headers up to, not including, the BTH: at most Ethernet 14, VLAN 4, IPv6 40,
 * UDP 8, or LRH 8, GRH 40. */
#define VL_PATH_MAX_LENGTH 68

struct vl_path {
	uint8_t bytes[VL_PATH_MAX_LENGTH];
	uint8_t length;
	uint8_t network_offset; /* of the IP header or the GRH, or for IB_LOCAL the LRH, in bytes */
	uint8_t encapsulation;  /* enum vl_encapsulation */
	uint16_t checksum_base; /* one's complement sum of the IPv4 header without total length */
};

/* The IPv4 header has identification 0 and may not be fragmented; the UDP checksum is 0.
 * -EINVAL: a field out of its range, a VLAN on InfiniBand, or a GID that does not fit the
 * encapsulation (IPv4 takes ::ffff:a.b.c.d, IPv6 anything else). */
int vl_path_init(struct vl_path *path, const struct vl_path_attr *attr);
/* Writes the headers for a BTH..pad of transport_length bytes, a multiple of four (the ICRC, 4
 * bytes, comes on top). out has room for VL_PATH_MAX_LENGTH bytes; what lies behind the headers
 * is undefined. Returns the offset of the BTH in out. */
uint32_t vl_path_write(const struct vl_path *path, uint8_t *out, uint32_t transport_length);
/* Changes DSCP and ECN (IB_LOCAL has none) and the priority: PCP where there is a tag, SL on
 * InfiniBand. */
void vl_path_set_class(struct vl_path *path, uint8_t traffic_class, uint8_t priority);
/* Without effect where there is no UDP. */
void vl_path_set_udp_source_port(struct vl_path *path, uint16_t port);
/* RoCEv2 entropy: the UDP source port of a 20-bit flow label (rdma-core's
 * ibv_flow_label_to_udp_sport), and the flow label that the QPNs give when it is 0. */
uint16_t vl_flow_label_to_udp_source_port(uint32_t flow_label);
uint32_t vl_flow_label_from_qpns(uint32_t local_qpn, uint32_t remote_qpn);

/* Sets ECN to CE in an Ethernet frame already built: IPv4 with its checksum, IPv6, GRH, behind any
 * VLAN tags. True: it says CE now. False: not ECN-capable (another protocol, or not ECT),
 * unchanged. The ICRC does not cover these bits. */
bool vl_frame_mark_ce(uint8_t *frame, uint32_t length);

#endif
