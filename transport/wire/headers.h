/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * The headers as they lie on the wire: arrays of bytes in network order, so that a pointer into
 * any packet, however aligned, may be taken as one; loads and stores of their numbers; writers
 * of the transport headers. Each writer returns the length of what it wrote, so that a caller
 * chains them: length += vl_reth_write(out + length, ...).
 *
 * IBTA volume 1: LRH 7.7, GRH 8.3, BTH and extension headers 9.2 to 9.3, FETH A19, RoCE A16,
 * RoCEv2 A17. IPv4 RFC 791, IPv6 RFC 8200, UDP RFC 768, VLAN tag IEEE 802.1Q.
 */
#ifndef VERBLINE_WIRE_HEADERS_H
#define VERBLINE_WIRE_HEADERS_H

#include <endian.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define VL_ETHERTYPE_IPV4   0x0800
#define VL_ETHERTYPE_CTAG   0x8100 /* 802.1Q customer tag */
#define VL_ETHERTYPE_IPV6   0x86dd
#define VL_ETHERTYPE_STAG   0x88a8 /* 802.1ad service tag */
#define VL_ETHERTYPE_ROCEV1 0x8915

#define VL_IP_PROTOCOL_UDP 17
#define VL_IPV6_FRAGMENT   44
#define VL_GRH_NEXT_HEADER 0x1b /* IBA transport */
#define VL_ROCEV2_UDP_PORT 4791

#define VL_ICRC_LENGTH        4
#define VL_VCRC_LENGTH        2
#define VL_LINK_PACKET_LENGTH 6 /* flow control, IBTA 7.9.4 */
/* Reserved bytes after the BTH of a CNP, A17.9.3. */
#define VL_CNP_PAYLOAD_LENGTH 16
/* The operand of an ATOMIC WRITE follows its RETH as payload, A19. */
#define VL_ATOMIC_WRITE_PAYLOAD_LENGTH 8

struct vl_ethernet_header {
	uint8_t destination[6];
	uint8_t source[6];
	uint8_t type[2];
};

struct vl_vlan_header {
	uint8_t tag[2]; /* PCP 3, DEI 1, VLAN identifier 12 */
	uint8_t type[2];
};

struct vl_ipv4_header {
	uint8_t version_length; /* version 4, header length in words 4 */
	uint8_t traffic_class;
	uint8_t total_length[2];
	uint8_t identification[2];
	uint8_t fragment[2]; /* reserved 1, don't fragment 1, more fragments 1, offset 13 */
	uint8_t time_to_live;
	uint8_t protocol;
	uint8_t checksum[2];
	uint8_t source[4];
	uint8_t destination[4];
};

#define VL_IPV4_DONT_FRAGMENT 0x4000
#define VL_IPV4_FRAGMENT_MASK 0x3fff /* more fragments, offset */

/* IPv6 and GRH have one layout. */
struct vl_ipv6_header {
	uint8_t version_class_label[4]; /* version 4, traffic class 8, flow label 20 */
	uint8_t payload_length[2];
	uint8_t next_header;
	uint8_t hop_limit;
	uint8_t source[16];
	uint8_t destination[16];
};

struct vl_udp_header {
	uint8_t source_port[2];
	uint8_t destination_port[2];
	uint8_t length[2];
	uint8_t checksum[2];
};

struct vl_lrh {
	uint8_t lane_version; /* virtual lane 4, link version 4 */
	uint8_t service_next; /* service level 4, reserved 2, link next header 2 */
	uint8_t destination_lid[2];
	uint8_t packet_length[2]; /* reserved 5, length 11: words, LRH to ICRC */
	uint8_t source_lid[2];
};

#define VL_LRH_PACKET_LENGTH_MASK 0x07ff

/* Link next header. */
#define VL_LNH_RAW        0
#define VL_LNH_RAW_IPV6   1
#define VL_LNH_IBA_LOCAL  2
#define VL_LNH_IBA_GLOBAL 3

struct vl_bth {
	uint8_t opcode;
	uint8_t flags; /* VL_BTH_SOLICITED.., pad count 2, transport version 4 */
	uint8_t pkey[2];
	uint8_t congestion; /* VL_BTH_FECN, VL_BTH_BECN, reserved 6; not in the ICRC */
	uint8_t destination_qpn[3];
	uint8_t ack_request; /* VL_BTH_ACK_REQUEST, reserved 7 */
	uint8_t psn[3];
};

#define VL_BTH_SOLICITED         0x80
#define VL_BTH_MIG_REQ           0x40
#define VL_BTH_PAD_SHIFT         4
#define VL_BTH_PAD_MASK          3
#define VL_BTH_VERSION_MASK      0x0f
#define VL_BTH_FECN              0x80
#define VL_BTH_BECN              0x40
#define VL_BTH_ACK_REQUEST       0x80
#define VL_BTH_CONGESTION_OFFSET 4

struct vl_rdeth {
	uint8_t reserved;
	uint8_t end_to_end_context[3];
};

struct vl_deth {
	uint8_t qkey[4];
	uint8_t reserved;
	uint8_t source_qpn[3];
};

struct vl_xrceth {
	uint8_t reserved;
	uint8_t srqn[3];
};

struct vl_reth {
	uint8_t remote_address[8];
	uint8_t rkey[4];
	uint8_t dma_length[4];
};

struct vl_atomic_eth {
	uint8_t remote_address[8];
	uint8_t rkey[4];
	uint8_t swap_or_add[8];
	uint8_t compare[8];
};

struct vl_aeth {
	uint8_t syndrome;
	uint8_t msn[3];
};

struct vl_atomic_ack_eth {
	uint8_t original[8];
};

struct vl_immdt {
	uint8_t immediate[4];
};

struct vl_ieth {
	uint8_t rkey[4];
};

struct vl_feth {
	uint8_t reserved[3];
	uint8_t selectivity_placement; /* reserved 2, selectivity 2, placement 4 */
};

_Static_assert(sizeof(struct vl_ethernet_header) == 14, "Ethernet header");
_Static_assert(sizeof(struct vl_vlan_header) == 4, "VLAN tag");
_Static_assert(sizeof(struct vl_ipv4_header) == 20, "IPv4 header");
_Static_assert(sizeof(struct vl_ipv6_header) == 40, "IPv6 header and GRH");
_Static_assert(sizeof(struct vl_udp_header) == 8, "UDP header");
_Static_assert(sizeof(struct vl_lrh) == 8, "LRH");
_Static_assert(sizeof(struct vl_bth) == 12, "BTH");
_Static_assert(sizeof(struct vl_rdeth) == 4, "RDETH");
_Static_assert(sizeof(struct vl_deth) == 8, "DETH");
_Static_assert(sizeof(struct vl_xrceth) == 4, "XRCETH");
_Static_assert(sizeof(struct vl_reth) == 16, "RETH");
_Static_assert(sizeof(struct vl_atomic_eth) == 28, "AtomicETH");
_Static_assert(sizeof(struct vl_aeth) == 4, "AETH");
_Static_assert(sizeof(struct vl_atomic_ack_eth) == 8, "AtomicAckETH");
_Static_assert(sizeof(struct vl_immdt) == 4, "ImmDt");
_Static_assert(sizeof(struct vl_ieth) == 4, "IETH");
_Static_assert(sizeof(struct vl_feth) == 4, "FETH");
_Static_assert(offsetof(struct vl_bth, congestion) == VL_BTH_CONGESTION_OFFSET, "BTH byte 4");
_Static_assert(_Alignof(struct vl_atomic_eth) == 1, "headers lie at any address");

/* Numbers in network order at any address. */
static inline uint16_t vl_load_be16(const uint8_t bytes[2])
{
	uint16_t value;

	memcpy(&value, bytes, sizeof(value));
	return be16toh(value);
}

static inline uint32_t vl_load_be24(const uint8_t bytes[3])
{
	return (uint32_t)bytes[0] << 16 | (uint32_t)bytes[1] << 8 | bytes[2];
}

static inline uint32_t vl_load_be32(const uint8_t bytes[4])
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return be32toh(value);
}

static inline uint64_t vl_load_be64(const uint8_t bytes[8])
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return be64toh(value);
}

static inline void vl_store_be16(uint8_t bytes[2], uint16_t value)
{
	value = htobe16(value);
	memcpy(bytes, &value, sizeof(value));
}

static inline void vl_store_be24(uint8_t bytes[3], uint32_t value)
{
	bytes[0] = (uint8_t)(value >> 16);
	bytes[1] = (uint8_t)(value >> 8);
	bytes[2] = (uint8_t)value;
}

static inline void vl_store_be32(uint8_t bytes[4], uint32_t value)
{
	value = htobe32(value);
	memcpy(bytes, &value, sizeof(value));
}

static inline void vl_store_be64(uint8_t bytes[8], uint64_t value)
{
	value = htobe64(value);
	memcpy(bytes, &value, sizeof(value));
}

/* Bytes of zero that bring a payload to a multiple of four. */
static inline uint8_t vl_pad_count(uint32_t payload_length)
{
	return (uint8_t)(-payload_length & 3);
}

static inline uint8_t vl_bth_pad_count(const struct vl_bth *bth)
{
	return bth->flags >> VL_BTH_PAD_SHIFT & VL_BTH_PAD_MASK;
}

/* FECN is the network's to set and starts at 0; BECN is set in CNPs and, on InfiniBand, in
 * acknowledgements. Transport version 0. */
static inline uint32_t vl_bth_write(uint8_t *bth, uint8_t opcode, bool solicited, bool mig_req,
				    uint8_t pad_count, uint16_t pkey, uint32_t destination_qpn,
				    bool ack_request, uint32_t psn, bool becn)
{
	uint8_t flags = (uint8_t)((pad_count & VL_BTH_PAD_MASK) << VL_BTH_PAD_SHIFT);

	if (solicited)
		flags |= VL_BTH_SOLICITED;
	if (mig_req)
		flags |= VL_BTH_MIG_REQ;
	vl_store_be32(bth, (uint32_t)opcode << 24 | (uint32_t)flags << 16 | pkey);
	vl_store_be32(bth + 4,
		      (becn ? (uint32_t)VL_BTH_BECN << 24 : 0) | (destination_qpn & 0xffffff));
	vl_store_be32(bth + 8,
		      (ack_request ? (uint32_t)VL_BTH_ACK_REQUEST << 24 : 0) | (psn & 0xffffff));
	return sizeof(struct vl_bth);
}

static inline uint32_t vl_reth_write(uint8_t *reth, uint64_t remote_address, uint32_t rkey,
				     uint32_t dma_length)
{
	vl_store_be64(reth, remote_address);
	vl_store_be32(reth + offsetof(struct vl_reth, rkey), rkey);
	vl_store_be32(reth + offsetof(struct vl_reth, dma_length), dma_length);
	return sizeof(struct vl_reth);
}

static inline uint32_t vl_aeth_write(uint8_t *aeth, uint8_t syndrome, uint32_t msn)
{
	vl_store_be32(aeth, (uint32_t)syndrome << 24 | (msn & 0xffffff));
	return sizeof(struct vl_aeth);
}

static inline uint32_t vl_atomic_eth_write(uint8_t *atomic_eth, uint64_t remote_address,
					   uint32_t rkey, uint64_t swap_or_add, uint64_t compare)
{
	vl_store_be64(atomic_eth, remote_address);
	vl_store_be32(atomic_eth + offsetof(struct vl_atomic_eth, rkey), rkey);
	vl_store_be64(atomic_eth + offsetof(struct vl_atomic_eth, swap_or_add), swap_or_add);
	vl_store_be64(atomic_eth + offsetof(struct vl_atomic_eth, compare), compare);
	return sizeof(struct vl_atomic_eth);
}

static inline uint32_t vl_atomic_ack_write(uint8_t *atomic_ack, uint64_t original)
{
	vl_store_be64(atomic_ack, original);
	return sizeof(struct vl_atomic_ack_eth);
}

static inline uint32_t vl_deth_write(uint8_t *deth, uint32_t qkey, uint32_t source_qpn)
{
	vl_store_be32(deth, qkey);
	vl_store_be32(deth + 4, source_qpn & 0xffffff);
	return sizeof(struct vl_deth);
}

/* Immediate data is opaque: the four bytes go out as they lie in memory. */
static inline uint32_t vl_immdt_write(uint8_t *immdt, __be32 immediate)
{
	memcpy(immdt, &immediate, sizeof(immediate));
	return sizeof(struct vl_immdt);
}

static inline uint32_t vl_ieth_write(uint8_t *ieth, uint32_t rkey)
{
	vl_store_be32(ieth, rkey);
	return sizeof(struct vl_ieth);
}

/* placement: VL_PLACEMENT_* bits; selectivity: VL_SELECTIVITY_*. The RETH follows. */
static inline uint32_t vl_feth_write(uint8_t *feth, uint8_t placement, uint8_t selectivity)
{
	vl_store_be32(feth, (selectivity & 3u) << 4 | (placement & 0xfu));
	return sizeof(struct vl_feth);
}

#endif
