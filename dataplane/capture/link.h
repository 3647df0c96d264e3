/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Link types of captures: which frame a captured packet holds, and what stands before it. The
 * numbers are those of the file formats (LINKTYPE_*, https://www.tcpdump.org/linktypes.html),
 * not those of <pcap/dlt.h> where the two differ.
 */
#ifndef VERBLINE_CAPTURE_LINK_H
#define VERBLINE_CAPTURE_LINK_H

#include "transport/wire/packet.h"

#include <stdbool.h>
#include <stdint.h>

enum vl_capture_link_type {
	VL_LINKTYPE_ETHERNET = 1,
	VL_LINKTYPE_RAW = 101,       /* IPv4 or IPv6 */
	VL_LINKTYPE_LINUX_SLL = 113, /* Linux "any" device */
	VL_LINKTYPE_ERF = 197,       /* Endace records */
	VL_LINKTYPE_IPV4 = 228,
	VL_LINKTYPE_IPV6 = 229,
	VL_LINKTYPE_INFINIBAND = 247, /* from the LRH on */
	VL_LINKTYPE_LINUX_SLL2 = 276,
};

/* Types of ERF records that hold frames that we parse. */
enum vl_erf_type {
	VL_ERF_ETHERNET = 2,
	VL_ERF_COLOR_ETHERNET = 11,
	VL_ERF_DSM_COLOR_ETHERNET = 16,
	VL_ERF_COLOR_HASH_ETHERNET = 20,
	VL_ERF_INFINIBAND = 21,
	VL_ERF_IPV4 = 22,
	VL_ERF_IPV6 = 23,
	VL_ERF_INFINIBAND_LINK = 25, /* flow control packets */
};

#define VL_ERF_HEADER_LENGTH 16
/* An InfiniBand link packet, which carries flow control. */
#define VL_CAPTURE_LINK_PACKET 6
/* What it takes in an ERF record of ours, with padding. */
#define VL_ERF_LINK_PACKET_ROOM 48

#define VL_CAPTURE_FRAME_KINDS(X)                                                                  \
	X(parseable, "a frame of a link type that can be parsed")                                  \
	X(link_type_unsupported, "the capture's link type is none that carries RDMA")              \
	X(erf_type_unsupported, "an ERF record of a type that carries no RDMA")                    \
	X(erf_damaged, "the ERF record's lengths are impossible")                                  \
	X(sll_not_ip, "a Linux cooked packet of another protocol than IP")                         \
	X(cooked_short, "ends inside the header that the link type puts before a frame")

enum vl_capture_frame_kind {
#define VL_CAPTURE_FRAME_VALUE(name, meaning) VL_CAPTURE_FRAME_##name,
	VL_CAPTURE_FRAME_KINDS(VL_CAPTURE_FRAME_VALUE)
#undef VL_CAPTURE_FRAME_VALUE
		VL_CAPTURE_FRAME_KIND_COUNT
};

/* What to hand to vl_parse; only kind is valid if it is not parseable. */
struct vl_capture_frame {
	enum vl_capture_frame_kind kind;
	enum vl_link_type link;
	const uint8_t *data;
	uint32_t length;
	uint32_t wire_length; /* >= length */
	/* ERF: the capture interface, 0 to 3, which says the side of a tapped link; else 0. */
	uint8_t side;
};

/* Strips what link_type puts before a frame. original_length >= captured_length. */
struct vl_capture_frame vl_capture_frame_of(uint16_t link_type, const uint8_t *data,
					    uint32_t captured_length, uint32_t original_length);
const char *vl_capture_frame_kind_name(enum vl_capture_frame_kind kind);
const char *vl_capture_frame_kind_meaning(enum vl_capture_frame_kind kind);

#endif
