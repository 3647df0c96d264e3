/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The parser with frames made for the purpose: what it takes, and each reason for which it does
 * not. */

#include "tests/support/suite.h"
#include "tests/unit/wire_vectors.h"
#include "transport/wire/headers.h"
#include "transport/wire/opcode.h"
#include "transport/wire/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A frame under construction: the parts of a RoCEv2 packet, with their lengths kept right. */
struct frame {
	uint8_t bytes[256];
	uint32_t length;
	uint32_t ip, udp, bth;
};

static void ipv4_finish(struct frame *frame)
{
	uint8_t *ip = frame->bytes + frame->ip;
	uint32_t sum = 0;

	vl_store_be16(ip + 10, 0);
	for (uint32_t i = frame->ip; i < frame->udp; i += 2)
		sum += vl_load_be16(frame->bytes + i);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	vl_store_be16(ip + 10, (uint16_t)~sum);
}

static void put(struct frame *frame, const void *bytes, uint32_t length)
{
	memcpy(frame->bytes + frame->length, bytes, length);
	frame->length += length;
}

/* BTH with the opcode, then content bytes, then an ICRC of zero (the parser does not check it). */
static void put_transport(struct frame *frame, uint8_t opcode, uint32_t content)
{
	frame->bth = frame->length;
	frame->length += vl_bth_write(frame->bytes + frame->length, opcode, false, true, 0, 0xffff,
				      0x123456, false, 0x654321, false);
	memset(frame->bytes + frame->length, 0, content + 4);
	frame->length += content + 4;
}

static struct frame make_ipv4(uint32_t options, uint8_t opcode, uint32_t content)
{
	struct frame frame = {.length = 12};
	uint8_t ip[60] = {0x45, 0x6a, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2};
	uint8_t udp[8] = {0xc1, 0x23, 0x12, 0xb7};

	put(&frame, "\x08\x00", 2);
	frame.ip = frame.length;
	ip[0] = (uint8_t)(0x40 | (20 + options) / 4);
	memset(ip + 20, 1, options); /* no-operation */
	vl_store_be16(udp + 4, (uint16_t)(8 + 12 + content + 4));
	vl_store_be16(ip + 2, (uint16_t)(20 + options + 8 + 12 + content + 4));
	put(&frame, ip, 20 + options);
	frame.udp = frame.length;
	put(&frame, udp, sizeof(udp));
	put_transport(&frame, opcode, content);
	ipv4_finish(&frame);
	return frame;
}

static struct frame make_ipv6(uint8_t opcode, uint32_t content)
{
	struct frame frame = {.length = 12};
	uint8_t ip[40] = {0x66, 0xa5, 0x43, 0x21, 0, 0, 17, 64, 0x20, 1, [39] = 9};
	uint8_t udp[8] = {0xc1, 0x23, 0x12, 0xb7};

	put(&frame, "\x86\xdd", 2);
	frame.ip = frame.length;
	vl_store_be16(udp + 4, (uint16_t)(8 + 12 + content + 4));
	vl_store_be16(ip + 4, (uint16_t)(8 + 12 + content + 4));
	put(&frame, ip, sizeof(ip));
	frame.udp = frame.length;
	put(&frame, udp, sizeof(udp));
	put_transport(&frame, opcode, content);
	return frame;
}

static struct frame make_lrh(uint8_t opcode, uint32_t content)
{
	struct frame frame = {.length = 0};
	uint8_t lrh[8] = {0x30, 0x52, 0x12, 0x34, 0, 0, 0x56, 0x78};

	vl_store_be16(lrh + 4, (uint16_t)((8 + 12 + content + 4) / 4));
	put(&frame, lrh, sizeof(lrh));
	put_transport(&frame, opcode, content);
	put(&frame, "\0\0", 2);
	return frame;
}

static enum vl_parse_result parse(struct vl_packet *packet, enum vl_link_type link,
				  const struct frame *frame)
{
	return vl_parse(packet, link, frame->bytes, frame->length, frame->length);
}

static void expect(enum vl_link_type link, const struct frame *frame, enum vl_parse_result expected)
{
	struct vl_packet packet;
	enum vl_parse_result result = parse(&packet, link, frame);

	if (result != expected)
		printf("%s instead of %s\n", vl_parse_result_name(result),
		       vl_parse_result_name(expected));
	CU_ASSERT_EQUAL(result, expected);
}

static void test_ipv4_options(void)
{
	for (uint32_t options = 0; options <= 40; options += 4) {
		struct frame frame = make_ipv4(options, 0x04, 8);
		struct vl_packet packet;

		CU_ASSERT_EQUAL(parse(&packet, VL_LINK_ETHERNET, &frame), VL_PARSE_ok);
		CU_ASSERT_EQUAL(packet.bth - packet.network, 28 + options);
		CU_ASSERT_EQUAL(packet.payload_length, 8);
	}
}

/* Minimum-size Ethernet frames carry padding behind the IP packet. */
static void test_trailing_bytes(void)
{
	struct frame frame = make_ipv4(0, 0x04, 0);
	struct vl_packet packet;

	frame.length += 40;
	CU_ASSERT_EQUAL(parse(&packet, VL_LINK_ETHERNET, &frame), VL_PARSE_ok);
	CU_ASSERT_EQUAL(packet.payload_length, 0);
	CU_ASSERT_PTR_EQUAL(packet.icrc, frame.bytes + frame.length - 44);
	/* They may be lost in the capture. */
	CU_ASSERT_EQUAL(
		vl_parse(&packet, VL_LINK_ETHERNET, frame.bytes, frame.length - 40, frame.length),
		VL_PARSE_ok);
	frame = make_ipv6(0x04, 0);
	frame.length += 7;
	expect(VL_LINK_ETHERNET, &frame, VL_PARSE_ok);
	frame = make_lrh(0x04, 0);
	frame.length += 6;
	CU_ASSERT_EQUAL(parse(&packet, VL_LINK_INFINIBAND, &frame), VL_PARSE_ok);
	CU_ASSERT_PTR_EQUAL(packet.vcrc, frame.bytes + 24);
}

static void test_infiniband_without_vcrc(void)
{
	struct frame frame = make_lrh(0x04, 4);
	struct vl_packet packet;

	frame.length -= 2;
	CU_ASSERT_EQUAL(parse(&packet, VL_LINK_INFINIBAND, &frame), VL_PARSE_ok);
	CU_ASSERT_PTR_NULL(packet.vcrc);
	CU_ASSERT_PTR_EQUAL(packet.icrc, frame.bytes + 24);
	CU_ASSERT_EQUAL(packet.virtual_lane, 3);
	CU_ASSERT_EQUAL(packet.priority, 5);
	CU_ASSERT_EQUAL(packet.destination_lid, 0x1234);
	CU_ASSERT_EQUAL(packet.source_lid, 0x5678);
	CU_ASSERT_FALSE(packet.grh_present);
}

/* IBTA 7.7.5: the packet length leaves 5 reserved bits above it, which are ignored. */
static void test_lrh_reserved_bits(void)
{
	struct frame frame = make_lrh(0x04, 4);

	frame.bytes[1] |= 0x0c;
	frame.bytes[4] |= 0xf8;
	expect(VL_LINK_INFINIBAND, &frame, VL_PARSE_ok);
}

static struct frame tagged(const struct frame *frame, unsigned int tags, const char *types[])
{
	struct frame result = {.length = 12};

	memcpy(result.bytes, frame->bytes, 12);
	for (unsigned int i = 0; i < tags; i++) {
		uint8_t tag[2];

		put(&result, types[i], 2);
		vl_store_be16(tag, (uint16_t)((6 - i) << 13 | (0x123 + i)));
		put(&result, tag, 2);
	}
	put(&result, frame->bytes + 12, frame->length - 12);
	return result;
}

static void test_vlan_tags(void)
{
	const char *types[] = {"\x88\xa8", "\x81\x00", "\x81\x00"};
	struct frame inner = make_ipv4(0, 0x04, 4);
	struct vl_packet packet;

	for (unsigned int tags = 0; tags <= 2; tags++) {
		struct frame frame = tagged(&inner, tags, types);

		CU_ASSERT_EQUAL(parse(&packet, VL_LINK_ETHERNET, &frame), VL_PARSE_ok);
		CU_ASSERT_EQUAL(packet.vlan_present, tags > 0);
		CU_ASSERT_EQUAL(packet.vlan_id, tags ? 0x123 : 0);
		CU_ASSERT_EQUAL(packet.priority, tags ? 6 : 0);
		CU_ASSERT_PTR_EQUAL(packet.network, frame.bytes + 14 + 4 * tags);
	}
	inner = tagged(&inner, 3, types);
	expect(VL_LINK_ETHERNET, &inner, VL_PARSE_vlan_depth);
}

static void test_raw_ip(void)
{
	struct frame frame = make_ipv4(0, 0x04, 4);
	struct vl_packet packet;

	CU_ASSERT_EQUAL(vl_parse(&packet, VL_LINK_IP, frame.bytes + 14, frame.length - 14,
				 frame.length - 14),
			VL_PARSE_ok);
	CU_ASSERT_EQUAL(packet.encapsulation, VL_ENCAPSULATION_ROCEV2_IPV4);
	CU_ASSERT_PTR_EQUAL(packet.network, packet.frame);
	frame = make_ipv6(0x04, 4);
	CU_ASSERT_EQUAL(vl_parse(&packet, VL_LINK_IP, frame.bytes + 14, frame.length - 14,
				 frame.length - 14),
			VL_PARSE_ok);
	CU_ASSERT_EQUAL(packet.encapsulation, VL_ENCAPSULATION_ROCEV2_IPV6);
	CU_ASSERT_EQUAL(packet.traffic_class, 0x6a);
	CU_ASSERT_EQUAL(packet.flow_label, 0x54321);
	CU_ASSERT_EQUAL(vl_packet_dscp(&packet), 26);
	CU_ASSERT_EQUAL(vl_packet_ecn(&packet), VL_ECN_ECT0);
	frame.bytes[14] = 0x70;
	CU_ASSERT_EQUAL(vl_parse(&packet, VL_LINK_IP, frame.bytes + 14, frame.length - 14,
				 frame.length - 14),
			VL_PARSE_not_rdma);
	CU_ASSERT_EQUAL(vl_parse(&packet, VL_LINK_IP, frame.bytes, 0, 0), VL_PARSE_too_short);
}

static void test_ipv4_faults(void)
{
	struct frame good = make_ipv4(0, 0x04, 4), frame;

	frame = good;
	frame.bytes[frame.ip] = 0x55;
	expect(VL_LINK_ETHERNET, &frame, VL_PARSE_ip_header);
	frame = good;
	frame.bytes[frame.ip] = 0x44;
	expect(VL_LINK_ETHERNET, &frame, VL_PARSE_ip_header);
	frame = good;
	vl_store_be16(frame.bytes + frame.ip + 2, 19);
	ipv4_finish(&frame);
	expect(VL_LINK_ETHERNET, &frame, VL_PARSE_ip_header);
	frame = good;
	frame.bytes[frame.ip + 8]--;
	expect(VL_LINK_ETHERNET, &frame, VL_PARSE_ip_checksum);
	frame = good;
	frame.length--;
	expect(VL_LINK_ETHERNET, &frame, VL_PARSE_ip_truncated);
	for (uint32_t fragment = 0; fragment < 2; fragment++) {
		frame = good;
		/* More fragments; or a later one, whose ports are not there to see. */
		vl_store_be16(frame.bytes + frame.ip + 6, fragment ? 0x0007 : 0x2000);
		ipv4_finish(&frame);
		expect(VL_LINK_ETHERNET, &frame, VL_PARSE_ip_fragment);
	}
	for (int change = -4; change <= 4; change += 8) {
		frame = good;
		vl_store_be16(frame.bytes + frame.udp + 4,
			      (uint16_t)(vl_load_be16(frame.bytes + frame.udp + 4) + change));
		expect(VL_LINK_ETHERNET, &frame, VL_PARSE_udp_length);
	}
	frame = good;
	vl_store_be16(frame.bytes + frame.ip + 2, 27);
	ipv4_finish(&frame);
	expect(VL_LINK_ETHERNET, &frame, VL_PARSE_udp_length);
}

static void test_ipv6_faults(void)
{
	struct frame good = make_ipv6(0x04, 4), frame;

	frame = good;
	frame.bytes[frame.ip] = 0x46;
	expect(VL_LINK_ETHERNET, &frame, VL_PARSE_ip_header);
	frame = good;
	frame.length--;
	expect(VL_LINK_ETHERNET, &frame, VL_PARSE_ip_truncated);
	frame = good;
	frame.bytes[frame.ip + 5]++;
	frame.length++;
	expect(VL_LINK_ETHERNET, &frame, VL_PARSE_udp_length);
	frame = good;
	frame.bytes[frame.ip + 6] = 44;
	frame.bytes[frame.udp] = 17;
	expect(VL_LINK_ETHERNET, &frame, VL_PARSE_ip_fragment);
	frame.bytes[frame.udp] = 6;
	expect(VL_LINK_ETHERNET, &frame, VL_PARSE_not_rdma);
}

/* Damage in what is not ours is not ours to report. */
static void test_other_protocols(void)
{
	struct frame good = make_ipv4(0, 0x04, 4), frame;

	frame = good;
	vl_store_be16(frame.bytes + 12, 0x0806);
	expect(VL_LINK_ETHERNET, &frame, VL_PARSE_not_rdma);
	vl_store_be16(frame.bytes + 12, 0x8808);
	expect(VL_LINK_ETHERNET, &frame, VL_PARSE_not_rdma);
	frame = good;
	frame.bytes[frame.ip + 9] = 6; /* TCP, and now the checksum is wrong too */
	expect(VL_LINK_ETHERNET, &frame, VL_PARSE_not_rdma);
	frame = good;
	vl_store_be16(frame.bytes + frame.udp + 2, 4792);
	vl_store_be16(frame.bytes + frame.ip + 10, 0);
	expect(VL_LINK_ETHERNET, &frame, VL_PARSE_not_rdma);
	/* The port counts in the destination only. */
	vl_store_be16(frame.bytes + frame.udp, 4791);
	expect(VL_LINK_ETHERNET, &frame, VL_PARSE_not_rdma);
	frame = make_ipv6(0x04, 4);
	vl_store_be16(frame.bytes + frame.udp + 2, 53);
	expect(VL_LINK_ETHERNET, &frame, VL_PARSE_not_rdma);
	frame = make_ipv6(0x04, 4);
	frame.bytes[frame.ip + 6] = 58;
	expect(VL_LINK_ETHERNET, &frame, VL_PARSE_not_rdma);
}

/* IBTA 8.3: IP version 6, next header 0x1b. */
static void test_rocev1_faults(void)
{
	struct vectors vectors = vectors_load();
	const struct vector *vector = vectors_find(&vectors, "rocev1_rc_write_only");
	static const struct {
		uint32_t offset;
		uint8_t value;
	} faults[] = {{14, 0x40}, {14 + 6, 17}, {14 + 4, 1}};
	struct vl_packet packet;

	for (unsigned int i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		uint8_t *frame = vector_copy(vector);

		frame[faults[i].offset] = faults[i].value;
		CU_ASSERT_EQUAL(vector_parse(vector, frame, &packet), VL_PARSE_grh_header);
		CU_ASSERT_PTR_NULL(packet.bth);
		free(frame);
	}
	CU_ASSERT_EQUAL(vl_parse(&packet, VL_LINK_ETHERNET, vector->frame, 53, 53),
			VL_PARSE_grh_header);
	vectors_release(&vectors);
}

static void test_lrh_faults(void)
{
	struct frame good = make_lrh(0x04, 4), frame;
	uint8_t flow_control[6] = {0x01, 0x23, 0x14, 0x56, 0xa7, 0xa8};
	struct vl_packet packet;

	frame = good;
	frame.bytes[0] |= 1;
	expect(VL_LINK_INFINIBAND, &frame, VL_PARSE_lrh_header);
	frame = good;
	frame.bytes[5]++;
	expect(VL_LINK_INFINIBAND, &frame, VL_PARSE_lrh_header);
	frame = good;
	frame.bytes[5] = 1;
	expect(VL_LINK_INFINIBAND, &frame, VL_PARSE_lrh_header);
	frame.bytes[5] = 5;
	expect(VL_LINK_INFINIBAND, &frame, VL_PARSE_bth_truncated);
	for (uint8_t next = 0; next < 2; next++) {
		frame = good;
		frame.bytes[1] = (uint8_t)((frame.bytes[1] & ~3) | next);
		expect(VL_LINK_INFINIBAND, &frame, VL_PARSE_lrh_raw);
	}
	frame = good;
	frame.bytes[1] |= 3; /* global, and no room for a GRH */
	expect(VL_LINK_INFINIBAND, &frame, VL_PARSE_grh_header);
	CU_ASSERT_EQUAL(vl_parse(&packet, VL_LINK_INFINIBAND, flow_control, 6, 6),
			VL_PARSE_link_packet);
}

/* A GRH that contradicts its LRH is reported, and the rest of the packet is there to see. */
static void test_infiniband_global(void)
{
	struct vectors vectors = vectors_load();
	const struct vector *vector = vectors_find(&vectors, "iba_global_rc_write_only");
	uint8_t *frame = vector_copy(vector);
	struct vl_packet packet;

	CU_ASSERT_EQUAL(vector_parse(vector, frame, &packet), VL_PARSE_grh_header);
	frame[8 + 5] = 48;
	CU_ASSERT_EQUAL(vector_parse(vector, frame, &packet), VL_PARSE_grh_header);
	frame[8 + 6] = 0x1b;
	CU_ASSERT_EQUAL(vector_parse(vector, frame, &packet), VL_PARSE_ok);
	CU_ASSERT_PTR_EQUAL(packet.network, frame + 8);
	free(frame);
	vectors_release(&vectors);
}

static void test_transport_faults(void)
{
	struct frame frame = make_ipv4(0, 0x15, 8);
	struct vl_packet packet;

	CU_ASSERT_EQUAL(parse(&packet, VL_LINK_ETHERNET, &frame), VL_PARSE_opcode_reserved);
	CU_ASSERT_PTR_EQUAL(packet.icrc, frame.bytes + frame.length - 4);
	CU_ASSERT_EQUAL(packet.destination_qpn, 0x123456);
	CU_ASSERT_EQUAL(packet.psn, 0x654321);
	CU_ASSERT_STRING_EQUAL(packet.info->name, "reserved");

	frame = make_ipv4(0, 0x0a, 12); /* RETH is 16 */
	CU_ASSERT_EQUAL(parse(&packet, VL_LINK_ETHERNET, &frame), VL_PARSE_extension_truncated);
	CU_ASSERT_PTR_EQUAL(packet.icrc, frame.bytes + frame.length - 4);

	frame = make_ipv4(0, 0x04, 6);
	expect(VL_LINK_ETHERNET, &frame, VL_PARSE_payload_alignment);
	frame = make_ipv4(0, 0x04, 0);
	frame.bytes[frame.bth + 1] |= 3 << 4;
	expect(VL_LINK_ETHERNET, &frame, VL_PARSE_pad_count);
	frame = make_ipv4(0, 0x0c, 20);
	expect(VL_LINK_ETHERNET, &frame, VL_PARSE_payload_unexpected);
	frame = make_ipv4(0, 0x11, 8);
	CU_ASSERT_EQUAL(parse(&packet, VL_LINK_ETHERNET, &frame), VL_PARSE_payload_unexpected);
	CU_ASSERT_EQUAL(packet.payload_length, 4);
	/* UDP of the shortest possible transport less a word. */
	frame = make_ipv4(0, 0x04, 0);
	frame.length -= 4;
	vl_store_be16(frame.bytes + frame.ip + 2, 20 + 8 + 12);
	vl_store_be16(frame.bytes + frame.udp + 4, 8 + 12);
	ipv4_finish(&frame);
	expect(VL_LINK_ETHERNET, &frame, VL_PARSE_bth_truncated);
}

/* Every field of every extension header, at the place that the opcode's chain gives it. */
static void test_extension_headers(void)
{
	for (unsigned int opcode = 0; opcode < 256; opcode++) {
		const struct vl_opcode_info *info = &vl_opcode_table[opcode];
		struct frame frame = make_ipv4(0, (uint8_t)opcode, info->extension_length);
		uint8_t *at = frame.bytes + frame.bth + 12;
		struct vl_packet packet;

		if (!info->flags)
			continue;
		for (unsigned int i = 0; i < info->extension_length; i++)
			at[i] = (uint8_t)(i + 1);
		CU_ASSERT_EQUAL(parse(&packet, VL_LINK_ETHERNET, &frame), VL_PARSE_ok);
		CU_ASSERT_EQUAL(packet.payload_length, 0);
		if (info->flags & VL_OPCODE_RDETH) {
			CU_ASSERT_EQUAL(packet.end_to_end_context, vl_load_be32(at) & 0xffffff);
			at += 4;
		}
		if (info->flags & VL_OPCODE_DETH) {
			CU_ASSERT_EQUAL(packet.qkey, vl_load_be32(at));
			CU_ASSERT_EQUAL(packet.source_qpn, vl_load_be32(at + 4) & 0xffffff);
			at += 8;
		}
		if (info->flags & VL_OPCODE_XRCETH) {
			CU_ASSERT_EQUAL(packet.xrc_srqn, vl_load_be32(at) & 0xffffff);
			at += 4;
		}
		if (info->flags & VL_OPCODE_FETH) {
			CU_ASSERT_EQUAL(packet.placement, at[3] & 15);
			CU_ASSERT_EQUAL(packet.selectivity, at[3] >> 4 & 3);
			at += 4;
		}
		if (info->flags & (VL_OPCODE_RETH | VL_OPCODE_ATOMICETH)) {
			CU_ASSERT_EQUAL(packet.remote_address, vl_load_be64(at));
			CU_ASSERT_EQUAL(packet.rkey, vl_load_be32(at + 8));
			at += 12;
		}
		if (info->flags & VL_OPCODE_RETH) {
			CU_ASSERT_EQUAL(packet.dma_length, vl_load_be32(at));
			at += 4;
		}
		if (info->flags & VL_OPCODE_ATOMICETH) {
			CU_ASSERT_EQUAL(packet.swap_or_add, vl_load_be64(at));
			CU_ASSERT_EQUAL(packet.compare, vl_load_be64(at + 8));
			at += 16;
		}
		if (info->flags & VL_OPCODE_AETH) {
			CU_ASSERT_EQUAL(packet.syndrome, at[0]);
			CU_ASSERT_EQUAL(packet.msn, vl_load_be32(at) & 0xffffff);
			at += 4;
		}
		if (info->flags & VL_OPCODE_ATOMICACKETH) {
			CU_ASSERT_EQUAL(packet.original, vl_load_be64(at));
			at += 8;
		}
		if (info->flags & VL_OPCODE_IMMDT) {
			CU_ASSERT_EQUAL(memcmp(&packet.immediate, at, 4), 0);
			at += 4;
		}
		if (info->flags & VL_OPCODE_IETH) {
			CU_ASSERT_EQUAL(packet.invalidate_rkey, vl_load_be32(at));
			at += 4;
		}
		CU_ASSERT_PTR_EQUAL(at, packet.payload);
	}
}

/* IBTA 9.2: the flags of the BTH one by one, so that no two share a bit. */
static void test_bth_bits(void)
{
	static const struct {
		uint32_t byte;
		uint8_t mask;
	} bits[] = {{1, 0x80}, {1, 0x40}, {4, 0x80}, {4, 0x40}, {8, 0x80}};

	for (unsigned int i = 0; i < 5; i++) {
		struct frame frame = make_ipv4(0, 0x04, 4);
		struct vl_packet packet;

		memset(frame.bytes + frame.bth + 1, 0, 11);
		frame.bytes[frame.bth + bits[i].byte] = bits[i].mask;
		CU_ASSERT_EQUAL(parse(&packet, VL_LINK_ETHERNET, &frame), VL_PARSE_ok);
		CU_ASSERT_EQUAL(packet.solicited, i == 0);
		CU_ASSERT_EQUAL(packet.mig_req, i == 1);
		CU_ASSERT_EQUAL(packet.fecn, i == 2);
		CU_ASSERT_EQUAL(packet.becn, i == 3);
		CU_ASSERT_EQUAL(packet.ack_request, i == 4);
		CU_ASSERT_EQUAL(packet.pkey | packet.destination_qpn | packet.psn, 0);
		CU_ASSERT_EQUAL(packet.pad_count | packet.transport_version, 0);
	}
}

static void test_results_have_names(void)
{
	for (unsigned int i = 0; i < VL_PARSE_RESULT_COUNT; i++) {
		CU_ASSERT(strlen(vl_parse_result_name((enum vl_parse_result)i)) > 0);
		CU_ASSERT(strlen(vl_parse_result_meaning((enum vl_parse_result)i)) > 0);
	}
	CU_ASSERT_STRING_EQUAL(vl_parse_result_name(VL_PARSE_ip_fragment), "ip_fragment");
	CU_ASSERT_STRING_EQUAL(vl_parse_result_name((enum vl_parse_result)1000), "unknown");
}

static const struct test tests[] = {
	{"ipv4_options", test_ipv4_options},
	{"trailing_bytes", test_trailing_bytes},
	{"infiniband_without_vcrc", test_infiniband_without_vcrc},
	{"lrh_reserved_bits", test_lrh_reserved_bits},
	{"vlan_tags", test_vlan_tags},
	{"raw_ip", test_raw_ip},
	{"ipv4_faults", test_ipv4_faults},
	{"ipv6_faults", test_ipv6_faults},
	{"other_protocols", test_other_protocols},
	{"rocev1_faults", test_rocev1_faults},
	{"lrh_faults", test_lrh_faults},
	{"infiniband_global", test_infiniband_global},
	{"transport_faults", test_transport_faults},
	{"extension_headers", test_extension_headers},
	{"bth_bits", test_bth_bits},
	{"results_have_names", test_results_have_names},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("wire_parse_frames", tests, argc, argv);
}
