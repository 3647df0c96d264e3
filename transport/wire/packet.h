/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * A parsed packet, in host byte order where it is a number. Sources: IBTA volume 1
 * chapters 5, 7, 8 and 9, annexes A16 (RoCE) and A17 (RoCEv2).
 */
#ifndef VERBLINE_WIRE_PACKET_H
#define VERBLINE_WIRE_PACKET_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

struct vl_opcode_info;

/* What carries the BTH. */
enum vl_encapsulation {
	VL_ENCAPSULATION_ROCEV2_IPV4,
	VL_ENCAPSULATION_ROCEV2_IPV6,
	VL_ENCAPSULATION_ROCEV1,
	VL_ENCAPSULATION_IB_LOCAL,  /* LRH, BTH */
	VL_ENCAPSULATION_IB_GLOBAL, /* LRH, GRH, BTH */
};

static inline bool vl_is_infiniband(enum vl_encapsulation encapsulation)
{
	return encapsulation >= VL_ENCAPSULATION_IB_LOCAL;
}

/* What the first byte of a frame is. */
enum vl_link_type {
	VL_LINK_ETHERNET,
	VL_LINK_INFINIBAND, /* starts with an LRH */
	VL_LINK_IP,         /* starts with an IPv4 or IPv6 header (raw IP captures) */
};

/* Longest Ethernet..extension headers that we send: Ethernet 14, VLAN 4, IPv6 40, UDP 8,
 * BTH 12, RETH 16, FETH 4; DETH and LRH forms are shorter. Rounded up. */
#define VL_MAX_HEADER_LENGTH 128

enum vl_ecn {
	VL_ECN_NOT_ECT = 0,
	VL_ECN_ECT1 = 1,
	VL_ECN_ECT0 = 2,
	VL_ECN_CE = 3,
};

struct vl_packet {
	const uint8_t *frame;
	const uint8_t *network; /* IPv4, IPv6 or GRH header; LRH for IB_LOCAL */
	const uint8_t *bth;
	const uint8_t *payload;
	const uint8_t *icrc; /* 4 bytes */
	const uint8_t *vcrc; /* 2 bytes on InfiniBand where the capture has them, else NULL */
	const struct vl_opcode_info *info; /* never NULL in a parsed packet */
	uint32_t payload_length;           /* without pad; a CNP's 16 reserved bytes count */
	uint32_t transport_length;         /* BTH to ICRC, both included */
	enum vl_encapsulation encapsulation;

	/* Link and network */
	uint8_t source_mac[6]; /* zero on InfiniBand and raw IP */
	uint8_t destination_mac[6];
	bool vlan_present;
	uint8_t priority; /* PCP of the outer tag, or the SL of the LRH */
	uint16_t vlan_id;
	uint16_t source_lid, destination_lid;
	uint8_t virtual_lane;
	uint8_t traffic_class; /* DSCP and ECN */
	uint8_t hop_limit;
	uint32_t flow_label;
	uint16_t udp_source_port;                  /* 0 without UDP */
	bool grh_present;                          /* addresses below are valid (not IB_LOCAL) */
	union ibv_gid source_gid, destination_gid; /* IPv4 as ::ffff:a.b.c.d */

	/* BTH */
	uint8_t opcode;
	bool solicited;
	bool mig_req;
	bool fecn, becn;
	bool ack_request;
	uint8_t pad_count;
	uint8_t transport_version;
	uint16_t pkey;
	uint32_t destination_qpn;
	uint32_t psn;

	/* Extension headers; valid as info->flags says */
	uint8_t syndrome; /* AETH */
	uint32_t msn;
	uint64_t remote_address;        /* RETH, AtomicETH */
	uint32_t rkey;                  /* RETH, AtomicETH */
	uint32_t dma_length;            /* RETH */
	uint64_t swap_or_add, compare;  /* AtomicETH */
	uint64_t original;              /* AtomicAckETH */
	__be32 immediate;               /* ImmDt, in network order */
	uint32_t invalidate_rkey;       /* IETH */
	uint32_t qkey, source_qpn;      /* DETH */
	uint32_t end_to_end_context;    /* RDETH */
	uint32_t xrc_srqn;              /* XRCETH */
	uint8_t placement, selectivity; /* FETH */
};

static inline enum vl_ecn vl_packet_ecn(const struct vl_packet *packet)
{
	return (enum vl_ecn)(packet->traffic_class & 3);
}

static inline uint8_t vl_packet_dscp(const struct vl_packet *packet)
{
	return packet->traffic_class >> 2;
}

#endif
