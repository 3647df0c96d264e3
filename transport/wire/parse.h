/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * The parser is total: every byte string gives a parsed packet or a named reason, and no
 * byte beyond length is read. It checks shape (lengths against each other, header chains);
 * what a QP may receive is the QP's to check. The ICRC is not computed here.
 */
#ifndef VERBLINE_WIRE_PARSE_H
#define VERBLINE_WIRE_PARSE_H

#include "transport/wire/packet.h"

#define VL_PARSE_RESULTS(X)                                                                        \
	X(ok, "parsed")                                                                            \
	X(too_short, "ends inside the link header")                                                \
	X(not_rdma, "another protocol")                                                            \
	X(vlan_depth, "more than two VLAN tags")                                                   \
	X(ip_truncated, "ends inside the IP header or before its stated length")                   \
	X(ip_header, "the IP version, header length or total length is impossible")                \
	X(ip_fragment, "an IP fragment")                                                           \
	X(ip_checksum, "the IPv4 header checksum is wrong")                                        \
	X(udp_length, "the UDP length disagrees with the IP length")                               \
	X(grh_header, "the GRH's version, length or next header is impossible")                    \
	X(lrh_header, "the LRH's version, LNH or packet length is impossible")                     \
	X(lrh_raw, "a raw InfiniBand packet without a BTH")                                        \
	X(link_packet, "an InfiniBand flow control packet")                                        \
	X(bth_truncated, "ends inside the BTH")                                                    \
	X(opcode_reserved, "the BTH opcode is reserved")                                           \
	X(extension_truncated, "ends inside an extension header")                                  \
	X(pad_count, "the pad count exceeds the payload")                                          \
	X(payload_alignment, "the payload and pad are no multiple of four bytes")                  \
	X(payload_unexpected, "an opcode without payload carries one")                             \
	X(captured_short, "the packet was cut when it was captured")

enum vl_parse_result {
#define VL_PARSE_VALUE(name, meaning) VL_PARSE_##name,
	VL_PARSE_RESULTS(VL_PARSE_VALUE)
#undef VL_PARSE_VALUE
		VL_PARSE_RESULT_COUNT
};

/*
 * length is what there is in frame, wire_length what there was on the wire (equal for live
 * packets). Bytes behind the packet, as padding of Ethernet frames, are no matter.
 *
 * *packet is zeroed, then filled as far as the parser came, whatever the result:
 * - ok: everything.
 * - captured_short: the packet was longer than what there is of it. The link and network
 *   fields, and if the BTH and its extension headers are all there, they too and bth, info,
 *   payload, payload_length (that on the wire) and transport_length; else bth is NULL.
 *   icrc is NULL.
 * - grh_header behind an LRH: as for ok.
 * - opcode_reserved, extension_truncated, pad_count, payload_alignment, payload_unexpected: the
 *   BTH's fields and bth, info, icrc, so that the ICRC can be checked; payload is what follows
 *   the headers that could be read.
 * - otherwise: what the layers before held; bth and icrc are NULL.
 */
enum vl_parse_result vl_parse(struct vl_packet *packet, enum vl_link_type link,
			      const uint8_t *frame, uint32_t length, uint32_t wire_length);
/* The name ("ip_fragment") and the meaning of a result; never NULL. */
const char *vl_parse_result_name(enum vl_parse_result result);
const char *vl_parse_result_meaning(enum vl_parse_result result);

#endif
