/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "transport/wire/icrc.h"

#include "transport/wire/headers.h"

#include <string.h>

/* The CRC of eight bytes 0xff, which stand for the LRH where the packet has none that the ICRC
 * covers. */
#define CRC_OF_LRH UINT32_C(0x2144df1c)

/* Traffic class, flow label and hop limit. */
static void mask_ipv6(uint8_t *network)
{
	struct vl_ipv6_header *ip = (struct vl_ipv6_header *)network;

	ip->version_class_label[0] |= 0x0f;
	memset(ip->version_class_label + 1, 0xff, 3);
	ip->hop_limit = 0xff;
}

static void mask_udp_checksum(uint8_t *at)
{
	memset(((struct vl_udp_header *)at)->checksum, 0xff, 2);
}

uint32_t vl_icrc_mask(enum vl_encapsulation encapsulation, uint8_t *network_header)
{
	struct vl_ipv4_header *ip = (struct vl_ipv4_header *)network_header;
	uint32_t crc = CRC_OF_LRH;
	uint8_t *bth = network_header;

	switch (encapsulation) {
	case VL_ENCAPSULATION_ROCEV2_IPV4:
		ip->traffic_class = 0xff;
		ip->time_to_live = 0xff;
		memset(ip->checksum, 0xff, sizeof(ip->checksum));
		bth += (ip->version_length & 0xf) * 4;
		mask_udp_checksum(bth);
		bth += sizeof(struct vl_udp_header);
		break;
	case VL_ENCAPSULATION_ROCEV2_IPV6:
		mask_ipv6(network_header);
		bth += sizeof(struct vl_ipv6_header);
		mask_udp_checksum(bth);
		bth += sizeof(struct vl_udp_header);
		break;
	case VL_ENCAPSULATION_ROCEV1:
	case VL_ENCAPSULATION_IB_GLOBAL:
		mask_ipv6(network_header);
		bth += sizeof(struct vl_ipv6_header);
		break;
	case VL_ENCAPSULATION_IB_LOCAL:
		((struct vl_lrh *)network_header)->lane_version |= 0xf0;
		bth += sizeof(struct vl_lrh);
		crc = 0;
		break;
	}
	bth[VL_BTH_CONGESTION_OFFSET] = 0xff;
	return crc;
}

uint32_t vl_icrc_headers(enum vl_encapsulation encapsulation, const uint8_t *network_header,
			 uint32_t length)
{
	uint8_t headers[VL_MAX_HEADER_LENGTH];
	uint32_t crc;

	memcpy(headers, network_header, length);
	crc = vl_icrc_mask(encapsulation, headers);
	return vl_crc32(crc, headers, length);
}

uint32_t vl_icrc_compute(const struct vl_packet *packet)
{
	uint32_t covered = (uint32_t)(packet->icrc - packet->network);
	uint32_t masked = (uint32_t)(packet->bth + sizeof(struct vl_bth) - packet->network);
	uint32_t crc;

	/* A call of the CRC costs more than the copy of a short packet. */
	if (covered <= VL_MAX_HEADER_LENGTH)
		masked = covered;
	crc = vl_icrc_headers(packet->encapsulation, packet->network, masked);
	if (covered == masked)
		return crc;
	return vl_crc32(crc, packet->network + masked, covered - masked);
}

uint32_t vl_icrc_found(const struct vl_packet *packet)
{
	uint32_t icrc;

	memcpy(&icrc, packet->icrc, sizeof(icrc));
	return le32toh(icrc);
}
