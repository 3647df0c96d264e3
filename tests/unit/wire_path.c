/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "tests/support/suite.h"
#include "transport/verbline.h"
#include "transport/wire/headers.h"
#include "transport/wire/icrc.h"
#include "transport/wire/opcode.h"
#include "transport/wire/parse.h"
#include "transport/wire/path.h"
#include "transport/wire/vcrc.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const union ibv_gid ipv4_a = {.raw = {[10] = 0xff, [11] = 0xff, 10, 0, 0, 1}};
static const union ibv_gid ipv4_b = {.raw = {[10] = 0xff, [11] = 0xff, 192, 168, 255, 254}};
static const union ibv_gid ipv6_a = {.raw = {0x20, 0x01, 0x0d, 0xb8, [15] = 1}};
static const union ibv_gid ipv6_b = {.raw = {0xfe, 0x80, [8] = 2, [15] = 0xff}};

static struct vl_path_attr make_attr(enum vl_encapsulation encapsulation, bool vlan)
{
	bool infiniband = encapsulation >= VL_ENCAPSULATION_IB_LOCAL;
	bool ipv4 = encapsulation == VL_ENCAPSULATION_ROCEV2_IPV4;
	struct vl_path_attr attr = {
		.encapsulation = encapsulation,
		.source_mac = {2, 0, 0, 0, 0, 1},
		.destination_mac = {2, 0, 0, 0, 0, 2},
		.vlan_present = vlan,
		.vlan_id = vlan ? 0xabc : 0,
		.priority = infiniband ? 11 : 5,
		.virtual_lane = infiniband ? 9 : 0,
		.source_lid = 0x1234,
		.destination_lid = 0xfedc,
		.source_gid = ipv4 ? ipv4_a : ipv6_a,
		.destination_gid = ipv4 ? ipv4_b : ipv6_b,
		.traffic_class = 0x6a,
		.flow_label = 0xabcde,
		.udp_source_port = 0xc123,
	};

	return attr;
}

/* The headers of a request as the transport builds them, and its payload in two spans. */
struct request {
	uint8_t headers[VL_MAX_HEADER_LENGTH];
	uint8_t payload[5000];
	struct vl_outgoing outgoing;
};

static void make_request(struct request *request, const struct vl_path *path,
			 uint32_t payload_length)
{
	struct vl_outgoing *outgoing = &request->outgoing;
	uint32_t pad = vl_pad_count(payload_length);
	uint32_t bth = vl_path_write(path, request->headers, 12 + 16 + payload_length + pad);
	uint32_t length = bth;

	length += vl_bth_write(request->headers + length, VL_SERVICE_RC | VL_OP_WRITE_ONLY, true,
			       true, (uint8_t)pad, 0x8001, 0xabcdef, true, 0xfedcba, false);
	length += vl_reth_write(request->headers + length, 0x0123456789abcdef, 0xcafe0001,
				payload_length);
	for (uint32_t i = 0; i < sizeof(request->payload); i++)
		request->payload[i] = (uint8_t)(i * 7 + i / 256);
	memset(outgoing, 0, sizeof(*outgoing));
	outgoing->headers = request->headers;
	outgoing->header_length = (uint16_t)length;
	outgoing->network_offset = path->network_offset;
	outgoing->pad_count = (uint8_t)pad;
	outgoing->encapsulation = path->encapsulation;
	outgoing->payload_length = payload_length;
	outgoing->frame_length = length + payload_length + pad + 4 +
				 (path->encapsulation >= VL_ENCAPSULATION_IB_LOCAL ? 2 : 0);
	outgoing->span_count = payload_length ? 2 : 0;
	outgoing->spans[0] = (struct vl_span){request->payload, payload_length / 3};
	outgoing->spans[1] = (struct vl_span){request->payload + payload_length / 3,
					      payload_length - payload_length / 3};
}

static enum vl_link_type link_of(const struct vl_path_attr *attr)
{
	return attr->encapsulation >= VL_ENCAPSULATION_IB_LOCAL ? VL_LINK_INFINIBAND
								: VL_LINK_ETHERNET;
}

static void check_network(const struct vl_packet *packet, const struct vl_path_attr *attr)
{
	bool infiniband = link_of(attr) == VL_LINK_INFINIBAND;
	bool local = attr->encapsulation == VL_ENCAPSULATION_IB_LOCAL;
	bool ipv4 = attr->encapsulation == VL_ENCAPSULATION_ROCEV2_IPV4;
	bool udp = attr->encapsulation <= VL_ENCAPSULATION_ROCEV2_IPV6;

	CU_ASSERT_EQUAL(packet->encapsulation, attr->encapsulation);
	CU_ASSERT_EQUAL(packet->vlan_present, attr->vlan_present);
	CU_ASSERT_EQUAL(packet->vlan_id, attr->vlan_id);
	CU_ASSERT_EQUAL(packet->priority, infiniband || attr->vlan_present ? attr->priority : 0);
	CU_ASSERT_EQUAL(packet->virtual_lane, attr->virtual_lane);
	CU_ASSERT_EQUAL(packet->source_lid, infiniband ? attr->source_lid : 0);
	CU_ASSERT_EQUAL(packet->destination_lid, infiniband ? attr->destination_lid : 0);
	CU_ASSERT_EQUAL(packet->udp_source_port, udp ? attr->udp_source_port : 0);
	CU_ASSERT_EQUAL(packet->grh_present, !local);
	if (!infiniband) {
		CU_ASSERT_EQUAL(memcmp(packet->source_mac, attr->source_mac, 6), 0);
		CU_ASSERT_EQUAL(memcmp(packet->destination_mac, attr->destination_mac, 6), 0);
	}
	if (local)
		return;
	CU_ASSERT_EQUAL(packet->traffic_class, attr->traffic_class);
	CU_ASSERT_EQUAL(packet->hop_limit, attr->hop_limit ? attr->hop_limit : 64);
	CU_ASSERT_EQUAL(packet->flow_label, ipv4 ? 0 : attr->flow_label);
	CU_ASSERT_EQUAL(memcmp(&packet->source_gid, &attr->source_gid, 16), 0);
	CU_ASSERT_EQUAL(memcmp(&packet->destination_gid, &attr->destination_gid, 16), 0);
}

static void check_request(const struct vl_packet *packet, const struct request *request)
{
	CU_ASSERT_EQUAL(packet->opcode, VL_SERVICE_RC | VL_OP_WRITE_ONLY);
	CU_ASSERT_TRUE(packet->solicited && packet->mig_req && packet->ack_request);
	CU_ASSERT_FALSE(packet->fecn || packet->becn);
	CU_ASSERT_EQUAL(packet->transport_version, 0);
	CU_ASSERT_EQUAL(packet->pkey, 0x8001);
	CU_ASSERT_EQUAL(packet->destination_qpn, 0xabcdef);
	CU_ASSERT_EQUAL(packet->psn, 0xfedcba);
	CU_ASSERT_EQUAL(packet->remote_address, 0x0123456789abcdef);
	CU_ASSERT_EQUAL(packet->rkey, 0xcafe0001);
	CU_ASSERT_EQUAL(packet->dma_length, request->outgoing.payload_length);
	CU_ASSERT_EQUAL(packet->payload_length, request->outgoing.payload_length);
	CU_ASSERT_EQUAL(memcmp(packet->payload, request->payload, packet->payload_length), 0);
	for (uint32_t i = 0; i < packet->pad_count; i++)
		CU_ASSERT_EQUAL(packet->payload[packet->payload_length + i], 0);
	CU_ASSERT(vl_icrc_is_right(packet));
}

static void check_vcrc(const struct vl_packet *packet, uint32_t length)
{
	uint16_t crc = vl_vcrc(packet->frame, length - 2);

	CU_ASSERT_PTR_EQUAL(packet->vcrc, packet->frame + length - 2);
	CU_ASSERT_EQUAL(packet->vcrc[0] | packet->vcrc[1] << 8, crc);
}

/* Path, writers, serializer and parser agree, for every encapsulation and length of pad; the
 * frame has no byte of room too many. */
static void test_round_trip(void)
{
	static const uint32_t lengths[] = {0, 1, 2, 3, 4, 60, 61, 255, 1024, 4095, 4096};
	struct request *request = malloc(sizeof(*request));

	for (unsigned int i = 0; i < 5 * 2; i++) {
		struct vl_path_attr attr = make_attr((enum vl_encapsulation)(i / 2), i % 2);
		struct vl_path path;

		if (attr.vlan_present && link_of(&attr) == VL_LINK_INFINIBAND)
			continue;
		CU_ASSERT_EQUAL(vl_path_init(&path, &attr), 0);
		for (unsigned int k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++) {
			struct vl_packet packet;
			uint32_t length;
			uint8_t *frame;

			make_request(request, &path, lengths[k]);
			length = request->outgoing.frame_length;
			frame = malloc(length);
			CU_ASSERT_EQUAL(vl_serialize(&request->outgoing, frame, length - 1), 0);
			CU_ASSERT_EQUAL(vl_serialize(&request->outgoing, frame, length), length);
			CU_ASSERT_EQUAL(vl_parse(&packet, link_of(&attr), frame, length, length),
					VL_PARSE_ok);
			check_network(&packet, &attr);
			check_request(&packet, request);
			if (link_of(&attr) == VL_LINK_INFINIBAND)
				check_vcrc(&packet, length);
			else
				CU_ASSERT_PTR_NULL(packet.vcrc);
			free(frame);
		}
	}
	free(request);
}

/* Headers written where the frame is to be. */
static void test_serialize_in_place(void)
{
	struct vl_path_attr attr = make_attr(VL_ENCAPSULATION_ROCEV2_IPV6, true);
	struct request *request = malloc(sizeof(*request));
	uint8_t apart[5000], place[5000];
	struct vl_path path;
	uint32_t length;

	vl_path_init(&path, &attr);
	make_request(request, &path, 1023);
	length = vl_serialize(&request->outgoing, apart, sizeof(apart));
	memcpy(place, request->headers, sizeof(request->headers));
	request->outgoing.headers = place;
	CU_ASSERT_EQUAL(vl_serialize(&request->outgoing, place, sizeof(place)), length);
	CU_ASSERT_EQUAL(memcmp(apart, place, length), 0);
	free(request);
}

/* Identification 0, don't fragment, time to live 64, no UDP checksum. */
static void test_ipv4_bytes(void)
{
	static const uint8_t expected[] = {
		2,    0,    0,    0,    0,    2,    2,    0,    0,    0,    0,    1,    0x08, 0x00,
		0x45, 0x6a, 0x00, 0x30, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0x26, 0x51, 10,   0,
		0,    1,    10,   0,    0,    2,    0xc1, 0x23, 0x12, 0xb7, 0x00, 0x1c, 0x00, 0x00};
	struct vl_path_attr attr = make_attr(VL_ENCAPSULATION_ROCEV2_IPV4, false);
	uint8_t out[VL_PATH_MAX_LENGTH];
	struct vl_path path;

	attr.destination_gid = ipv4_a;
	attr.destination_gid.raw[15] = 2;
	CU_ASSERT_EQUAL(vl_path_init(&path, &attr), 0);
	CU_ASSERT_EQUAL(path.network_offset, 14);
	CU_ASSERT_EQUAL(vl_path_write(&path, out, 16), sizeof(expected));
	CU_ASSERT_EQUAL(memcmp(out, expected, sizeof(expected)), 0);
}

static uint16_t ipv4_sum(const uint8_t *ip)
{
	uint32_t sum = 0;

	for (unsigned int i = 0; i < 20; i += 2)
		sum += vl_load_be16(ip + i);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

/* The checksum holds for every length, whatever carries that makes. */
static void test_ipv4_checksum(void)
{
	struct vl_path_attr attr = make_attr(VL_ENCAPSULATION_ROCEV2_IPV4, false);
	uint8_t out[VL_PATH_MAX_LENGTH];
	struct vl_path path;

	for (unsigned int variant = 0; variant < 64; variant++) {
		attr.source_gid.raw[12] = (uint8_t)(variant * 37);
		attr.destination_gid.raw[15] = (uint8_t)(variant * 91);
		attr.traffic_class = (uint8_t)(variant * 4 + 1);
		attr.hop_limit = (uint8_t)variant;
		vl_path_init(&path, &attr);
		for (uint32_t length = 12; length < 5000; length += 4) {
			vl_path_write(&path, out, length);
			CU_ASSERT_EQUAL(ipv4_sum(out + 14), 0xffff);
		}
	}
}

/* CNPs have a class and a priority of their own: a path so altered is one so made. */
static void test_set_class(void)
{
	for (unsigned int i = 0; i < 5 * 2; i++) {
		struct vl_path_attr attr = make_attr((enum vl_encapsulation)(i / 2), i % 2);
		uint8_t altered[VL_PATH_MAX_LENGTH], made[VL_PATH_MAX_LENGTH];
		struct vl_path path;
		uint32_t length;

		if (vl_path_init(&path, &attr))
			continue;
		vl_path_set_class(&path, 0xc3, 6);
		length = vl_path_write(&path, altered, 28);
		attr.traffic_class = 0xc3;
		attr.priority = 6;
		vl_path_init(&path, &attr);
		CU_ASSERT_EQUAL(vl_path_write(&path, made, 28), length);
		CU_ASSERT_EQUAL(memcmp(made, altered, length), 0);
	}
}

/* The checksum of an altered path, for every sum that a header can have. */
static void test_set_class_checksum(void)
{
	struct vl_path_attr attr = make_attr(VL_ENCAPSULATION_ROCEV2_IPV4, false);

	for (uint32_t source = 0; source < 65536; source++) {
		uint8_t frame[VL_PATH_MAX_LENGTH];
		struct vl_path path;

		vl_store_be16(attr.source_gid.raw + 14, (uint16_t)source);
		vl_path_init(&path, &attr);
		vl_path_set_class(&path, 0xff, 0);
		vl_path_write(&path, frame, 16);
		if (ipv4_sum(frame + 14) != 0xffff) {
			CU_FAIL("checksum with another class");
			break;
		}
	}
}

static void test_set_udp_source_port(void)
{
	for (unsigned int i = 0; i < 5; i++) {
		struct vl_path_attr attr = make_attr((enum vl_encapsulation)i, false);
		struct vl_path path, other;

		vl_path_init(&path, &attr);
		vl_path_set_udp_source_port(&path, 0xffee);
		attr.udp_source_port = 0xffee;
		vl_path_init(&other, &attr);
		CU_ASSERT_EQUAL(memcmp(path.bytes, other.bytes, sizeof(path.bytes)), 0);
	}
}

static void test_refused(void)
{
	struct vl_path_attr good = make_attr(VL_ENCAPSULATION_ROCEV2_IPV4, true), attr;
	struct vl_path path;

	CU_ASSERT_EQUAL(vl_path_init(&path, &good), 0);
	attr = good;
	attr.encapsulation = (enum vl_encapsulation)5;
	CU_ASSERT_EQUAL(vl_path_init(&path, &attr), -EINVAL);
	attr = good;
	attr.vlan_id = 4096;
	CU_ASSERT_EQUAL(vl_path_init(&path, &attr), -EINVAL);
	attr = good;
	attr.priority = 8;
	CU_ASSERT_EQUAL(vl_path_init(&path, &attr), -EINVAL);
	attr = good;
	attr.flow_label = 1 << 20;
	CU_ASSERT_EQUAL(vl_path_init(&path, &attr), -EINVAL);
	attr = good;
	attr.source_gid = ipv6_a;
	CU_ASSERT_EQUAL(vl_path_init(&path, &attr), -EINVAL);
	attr = good;
	attr.destination_gid = ipv6_a;
	CU_ASSERT_EQUAL(vl_path_init(&path, &attr), -EINVAL);
	attr = make_attr(VL_ENCAPSULATION_ROCEV2_IPV6, false);
	attr.source_gid = ipv4_a;
	CU_ASSERT_EQUAL(vl_path_init(&path, &attr), -EINVAL);
	attr = make_attr(VL_ENCAPSULATION_IB_LOCAL, true);
	CU_ASSERT_EQUAL(vl_path_init(&path, &attr), -EINVAL);
	attr = make_attr(VL_ENCAPSULATION_IB_GLOBAL, false);
	attr.priority = 16;
	CU_ASSERT_EQUAL(vl_path_init(&path, &attr), -EINVAL);
	attr.priority = 15;
	attr.virtual_lane = 16;
	CU_ASSERT_EQUAL(vl_path_init(&path, &attr), -EINVAL);
	/* RoCEv1 carries GIDs of either kind. */
	attr = make_attr(VL_ENCAPSULATION_ROCEV1, false);
	attr.source_gid = ipv4_a;
	CU_ASSERT_EQUAL(vl_path_init(&path, &attr), 0);
}

/* The points that rdma-core's and the kernel's functions give. */
static void test_entropy(void)
{
	CU_ASSERT_EQUAL(vl_flow_label_to_udp_source_port(0), 0xc000);
	CU_ASSERT_EQUAL(vl_flow_label_to_udp_source_port(0x4000), 0xc001);
	CU_ASSERT_EQUAL(vl_flow_label_to_udp_source_port(0xfffff), 0xffc0);
	CU_ASSERT_EQUAL(vl_flow_label_from_qpns(0x11, 0x12), 0x132);
	CU_ASSERT_EQUAL(vl_flow_label_from_qpns(0x100, 0x200), 0x20000);
	CU_ASSERT_EQUAL(vl_flow_label_from_qpns(0x123456, 0x654321), 0xa77ae);
	CU_ASSERT_EQUAL(vl_flow_label_from_qpns(0x654321, 0x123456), 0xa77ae);
	CU_ASSERT_EQUAL(vl_flow_label_to_udp_source_port(0x132), 0xc132);
	CU_ASSERT_EQUAL(vl_flow_label_to_udp_source_port(0x20000), 0xc008);
	CU_ASSERT_EQUAL(vl_flow_label_to_udp_source_port(0xa77ae), 0xf787);
	for (uint32_t label = 0; label < 1 << 20; label += 13) {
		uint16_t port = vl_flow_label_to_udp_source_port(label);

		CU_ASSERT(port >= 0xc000);
	}
}

static void check_mark(enum vl_encapsulation encapsulation, bool vlan, uint8_t ecn)
{
	struct vl_path_attr attr = make_attr(encapsulation, vlan);
	struct request *request = malloc(sizeof(*request));
	uint8_t before[512], frame[512];
	struct vl_packet packet;
	struct vl_path path;
	uint32_t length;

	attr.traffic_class = (uint8_t)(0xf8 | ecn);
	vl_path_init(&path, &attr);
	make_request(request, &path, 101);
	length = vl_serialize(&request->outgoing, frame, sizeof(frame));
	memcpy(before, frame, length);
	CU_ASSERT_EQUAL(vl_frame_mark_ce(frame, length), ecn != VL_ECN_NOT_ECT);
	CU_ASSERT_EQUAL(vl_parse(&packet, VL_LINK_ETHERNET, frame, length, length), VL_PARSE_ok);
	CU_ASSERT_EQUAL(vl_packet_ecn(&packet), ecn ? VL_ECN_CE : VL_ECN_NOT_ECT);
	CU_ASSERT_EQUAL(vl_packet_dscp(&packet), 0xf8 >> 2);
	CU_ASSERT_EQUAL(packet.flow_label,
			encapsulation == VL_ENCAPSULATION_ROCEV2_IPV4 ? 0 : attr.flow_label);
	CU_ASSERT(vl_icrc_is_right(&packet));
	if (!ecn || ecn == VL_ECN_CE)
		CU_ASSERT_EQUAL(memcmp(before, frame, length), 0);
	free(request);
}

static void test_mark_ce(void)
{
	for (unsigned int encapsulation = 0; encapsulation < 3; encapsulation++) {
		for (uint8_t ecn = 0; ecn < 4; ecn++) {
			check_mark((enum vl_encapsulation)encapsulation, false, ecn);
			check_mark((enum vl_encapsulation)encapsulation, true, ecn);
		}
	}
}

/* The incremental checksum, for every value that the checksum can have. */
static void test_mark_ce_checksum(void)
{
	struct vl_path_attr attr = make_attr(VL_ENCAPSULATION_ROCEV2_IPV4, false);

	for (uint32_t source = 0; source < 65536; source += 1) {
		uint8_t frame[VL_PATH_MAX_LENGTH];
		struct vl_path path;

		vl_store_be16(attr.source_gid.raw + 14, (uint16_t)source);
		attr.traffic_class = source & 1 ? VL_ECN_ECT0 : VL_ECN_ECT1;
		vl_path_init(&path, &attr);
		vl_path_write(&path, frame, 16);
		if (!vl_frame_mark_ce(frame, path.length) || ipv4_sum(frame + 14) != 0xffff) {
			CU_FAIL("checksum after marking");
			break;
		}
	}
}

/* Not IP, or too short: untouched, and nothing read behind the end. */
static void test_mark_ce_foreign(void)
{
	static const uint8_t types[][2] = {{0x08, 0x06}, {0x08, 0x00}, {0x86, 0xdd},
					   {0x89, 0x15}, {0x81, 0x00}, {0x88, 0xa8}};

	for (unsigned int i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		for (uint32_t length = 0; length < 33; length++) {
			uint8_t *frame = malloc(length ? length : 1);
			uint8_t before[33];

			memset(frame, 0xff, length);
			if (length >= 14)
				memcpy(frame + 12, types[i], 2);
			memcpy(before, frame, length);
			CU_ASSERT_FALSE(vl_frame_mark_ce(frame, length));
			CU_ASSERT_EQUAL(memcmp(frame, before, length), 0);
			free(frame);
		}
	}
}

/* The other writers, byte by byte; the parser's test reads them at their places. */
static void test_writers(void)
{
	uint8_t bytes[32];

	CU_ASSERT_EQUAL(vl_bth_write(bytes, 0x81, false, false, 0, 0xffff, 0xff000118, false,
				     0xff000000, true),
			12);
	CU_ASSERT_EQUAL(memcmp(bytes, "\x81\x00\xff\xff\x40\x00\x01\x18\x00\x00\x00\x00", 12), 0);
	CU_ASSERT_EQUAL(
		vl_bth_write(bytes, 0x04, true, true, 3, 0x7fff, 0x010203, true, 0x040506, false),
		12);
	CU_ASSERT_EQUAL(memcmp(bytes, "\x04\xf0\x7f\xff\x00\x01\x02\x03\x80\x04\x05\x06", 12), 0);
	CU_ASSERT_EQUAL(vl_reth_write(bytes, 0x0102030405060708, 0x090a0b0c, 0x0d0e0f10), 16);
	CU_ASSERT_EQUAL(memcmp(bytes, "\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20", 16), 0);
	CU_ASSERT_EQUAL(vl_aeth_write(bytes, 0x60, 0xff010203), 4);
	CU_ASSERT_EQUAL(memcmp(bytes, "\x60\1\2\3", 4), 0);
	CU_ASSERT_EQUAL(vl_atomic_eth_write(bytes, 0x0102030405060708, 0x090a0b0c,
					    0x0d0e0f1011121314, 0x15161718191a1b1c),
			28);
	for (unsigned int i = 0; i < 28; i++)
		CU_ASSERT_EQUAL(bytes[i], i + 1);
	CU_ASSERT_EQUAL(vl_atomic_ack_write(bytes, 0x0102030405060708), 8);
	CU_ASSERT_EQUAL(memcmp(bytes, "\1\2\3\4\5\6\7\10", 8), 0);
	CU_ASSERT_EQUAL(vl_deth_write(bytes, 0x80010000, 0xff000001), 8);
	CU_ASSERT_EQUAL(memcmp(bytes, "\x80\1\0\0\0\0\0\1", 8), 0);
	CU_ASSERT_EQUAL(vl_immdt_write(bytes, htonl(0x01020304)), 4);
	CU_ASSERT_EQUAL(memcmp(bytes, "\1\2\3\4", 4), 0);
	CU_ASSERT_EQUAL(vl_ieth_write(bytes, 0x01020304), 4);
	CU_ASSERT_EQUAL(memcmp(bytes, "\1\2\3\4", 4), 0);
	CU_ASSERT_EQUAL(vl_feth_write(bytes, VL_PLACEMENT_GLOBAL | VL_PLACEMENT_PERSISTENT,
				      VL_SELECTIVITY_MR),
			4);
	CU_ASSERT_EQUAL(memcmp(bytes, "\0\0\0\x13", 4), 0);
}

static void test_pad_count(void)
{
	static const uint8_t expected[] = {0, 3, 2, 1, 0, 3};

	for (uint32_t length = 0; length < 6; length++)
		CU_ASSERT_EQUAL(vl_pad_count(length), expected[length]);
}

static const struct test tests[] = {
	{"round_trip", test_round_trip},
	{"serialize_in_place", test_serialize_in_place},
	{"ipv4_bytes", test_ipv4_bytes},
	{"ipv4_checksum", test_ipv4_checksum},
	{"set_class", test_set_class},
	{"set_class_checksum", test_set_class_checksum},
	{"set_udp_source_port", test_set_udp_source_port},
	{"refused", test_refused},
	{"entropy", test_entropy},
	{"mark_ce", test_mark_ce},
	{"mark_ce_checksum", test_mark_ce_checksum},
	{"mark_ce_foreign", test_mark_ce_foreign},
	{"writers", test_writers},
	{"pad_count", test_pad_count},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("wire_path", tests, argc, argv);
}
