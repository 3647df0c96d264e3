/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Frames are rewritten by every rule, then parsed again. The oracle of the checksums is their
 * definition, computed here over the whole of what they cover.
 */

#include "apps/replay/port/rewrite.h"
#include "tests/support/suite.h"
#include "transport/wire/headers.h"
#include "transport/wire/icrc.h"
#include "transport/wire/opcode.h"
#include "transport/wire/parse.h"
#include "transport/wire/path.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM 512u

static struct rewrite rewrite;
static uint32_t random_state;

static uint32_t random_number(void)
{
	random_state = random_state * 1664525 + 1013904223;
	return random_state >> 8 ^ random_state << 24;
}

static void begin(void)
{
	memset(&rewrite, 0, sizeof(rewrite));
}

static void add(const char *rule)
{
	char error[256] = "";

	CU_ASSERT_EQUAL(rewrite_rule_add(&rewrite.rules, rule, error, sizeof(error)), 0);
	if (*error)
		printf("%s: %s\n", rule, error);
}

static uint16_t checksum_of(uint32_t sum, const uint8_t *bytes, uint32_t length)
{
	for (uint32_t i = 0; i < length; i++)
		sum += i & 1 ? bytes[i] : (uint32_t)bytes[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* What the UDP or TCP checksum has to be so that the sum over all is right: 0 if it is. */
static uint16_t l4_wrongness(const uint8_t *ip, uint32_t l4_length, uint8_t protocol)
{
	bool v4 = ip[0] >> 4 == 4;
	uint32_t sum = protocol + l4_length, address = v4 ? 8 : 32;
	const uint8_t *at = ip + (v4 ? 12 : 8);

	for (uint32_t i = 0; i < address; i += 2)
		sum += vl_load_be16(at + i);
	return checksum_of(sum, ip + (v4 ? 20 : 40), l4_length);
}

struct made {
	uint8_t bytes[ROOM];
	uint32_t length, network;
};

/* An RDMA packet with random numbers everywhere, right checksums, and a UDP checksum if asked for.
 */
static struct made make(uint8_t opcode, bool ipv6, bool tagged, bool udp_checksum)
{
	struct made made = {.network = tagged ? 18 : 14};
	struct vl_path_attr attr = {
		.encapsulation = ipv6 ? VL_ENCAPSULATION_ROCEV2_IPV6 : VL_ENCAPSULATION_ROCEV2_IPV4,
		.source_mac = {2, 0, 0, 0, 0, 1},
		.destination_mac = {2, 0, 0, 0, 0, 2},
		.vlan_present = tagged,
		.vlan_id = 7,
		.priority = tagged ? 3 : 0,
		.traffic_class = 26 << 2 | 2,
		.udp_source_port = 0xc123,
	};
	uint32_t payload = vl_opcode_table[opcode].flags & VL_OPCODE_PAYLOAD ? 64 : 0, bth, icrc;
	uint32_t transport = 12u + vl_opcode_table[opcode].extension_length + payload;
	struct vl_packet packet;
	struct vl_path path;

	inet_pton(AF_INET6, ipv6 ? "fd00::1" : "::ffff:10.0.0.1", attr.source_gid.raw);
	inet_pton(AF_INET6, ipv6 ? "fd00::2" : "::ffff:10.0.0.2", attr.destination_gid.raw);
	CU_ASSERT_EQUAL_FATAL(vl_path_init(&path, &attr), 0);
	bth = vl_path_write(&path, made.bytes, transport);
	vl_bth_write(made.bytes + bth, opcode, false, true, 0, 0xffff, 0x000011, true, 0xfffffe,
		     false);
	for (uint32_t i = bth + 12; i < bth + transport; i++)
		made.bytes[i] = (uint8_t)random_number();
	made.length = bth + transport + 4;
	CU_ASSERT_EQUAL_FATAL(
		vl_parse(&packet, VL_LINK_ETHERNET, made.bytes, made.length, made.length),
		VL_PARSE_ok);
	icrc = vl_icrc_compute(&packet);
	for (unsigned int i = 0; i < 4; i++)
		made.bytes[made.length - 4 + i] = (uint8_t)(icrc >> 8 * i);
	if (udp_checksum) {
		uint16_t sum = l4_wrongness(made.bytes + made.network, transport + 12, 17);

		vl_store_be16(made.bytes + bth - 2, sum ? sum : 0xffff);
	}
	return made;
}

static bool apply(struct made *made, uint32_t psn_offset)
{
	struct rewrite_frame frame = {made->bytes, made->length, psn_offset};
	bool changed = rewrite_apply(&rewrite, &frame);

	made->network += frame.length - made->length;
	made->length = frame.length;
	return changed;
}

static struct vl_packet parse(const struct made *made)
{
	struct vl_packet packet;

	CU_ASSERT_EQUAL(
		vl_parse(&packet, VL_LINK_ETHERNET, made->bytes, made->length, made->length),
		VL_PARSE_ok);
	return packet;
}

static void check_sums(const struct made *made, bool udp_checksum)
{
	struct vl_packet packet = parse(made);
	const uint8_t *ip = made->bytes + made->network;

	CU_ASSERT_TRUE_FATAL(packet.icrc != NULL);
	CU_ASSERT_TRUE(vl_icrc_is_right(&packet));
	if (ip[0] >> 4 == 4)
		CU_ASSERT_EQUAL(checksum_of(0, ip, 20), 0);
	CU_ASSERT_EQUAL(vl_load_be16(packet.bth - 2) != 0, udp_checksum);
	if (udp_checksum)
		CU_ASSERT_EQUAL(l4_wrongness(ip, packet.transport_length + 8, 17), 0);
}

static void test_every_field(void)
{
	static const uint8_t new_mac[6] = {2, 0, 0, 0, 0, 9};
	struct vl_packet packet;
	struct made made = make(VL_OP_WRITE_ONLY_IMM, false, true, true);
	uint64_t address = parse(&made).remote_address;
	__be32 immediate = parse(&made).immediate;

	begin();
	add("src-mac=02:00:00:00:00:09");
	add("dst-ip=10.0.0.2,192.168.1.77");
	add("vlan=7,99");
	add("pcp=5");
	add("dscp=46");
	add("ecn=3");
	add("src-port=0x1234");
	add("pkey=0x8001");
	add("qpn=0x11,0xabcdef");
	add("psn=+5");
	add("rkey=0xdeadbeef");
	add("address=-0x10");
	CU_ASSERT_TRUE(apply(&made, 0));
	packet = parse(&made);
	CU_ASSERT_EQUAL(memcmp(packet.source_mac, new_mac, 6), 0);
	CU_ASSERT_EQUAL(packet.destination_mac[5], 2);
	CU_ASSERT_EQUAL(packet.vlan_id, 99);
	CU_ASSERT_EQUAL(packet.priority, 5);
	CU_ASSERT_EQUAL(packet.destination_gid.raw[12], 192);
	CU_ASSERT_EQUAL(packet.destination_gid.raw[15], 77);
	CU_ASSERT_EQUAL(packet.source_gid.raw[15], 1);
	CU_ASSERT_EQUAL(vl_packet_dscp(&packet), 46);
	CU_ASSERT_EQUAL(vl_packet_ecn(&packet), VL_ECN_CE);
	CU_ASSERT_EQUAL(packet.udp_source_port, 0x1234);
	CU_ASSERT_EQUAL(packet.pkey, 0x8001);
	CU_ASSERT_EQUAL(packet.destination_qpn, 0xabcdef);
	CU_ASSERT_EQUAL(packet.psn, 3); /* 0xfffffe + 5 */
	CU_ASSERT_EQUAL(packet.rkey, 0xdeadbeef);
	CU_ASSERT_EQUAL(packet.remote_address, address - 0x10);
	CU_ASSERT_EQUAL(packet.immediate, immediate);
	check_sums(&made, true);
}

static void test_datagram_and_invalidate(void)
{
	struct made made = make(VL_SERVICE_UD | VL_OP_SEND_ONLY_IMM, true, false, true);
	struct vl_packet packet;

	begin();
	add("qkey=0x11111111");
	add("src-qpn=0x222222");
	add("rkey=7");
	add("ip=fd00::2,fd00::3");
	CU_ASSERT_TRUE(apply(&made, 0));
	packet = parse(&made);
	CU_ASSERT_EQUAL(packet.qkey, 0x11111111);
	CU_ASSERT_EQUAL(packet.source_qpn, 0x222222);
	CU_ASSERT_EQUAL(packet.destination_gid.raw[15], 3);
	CU_ASSERT_EQUAL(packet.source_gid.raw[15], 1);
	check_sums(&made, true);

	made = make(VL_OP_SEND_ONLY_INVALIDATE, false, false, false);
	CU_ASSERT_TRUE(apply(&made, 0));
	CU_ASSERT_EQUAL(parse(&made).invalidate_rkey, 7);
	check_sums(&made, false);
}

static void test_vlan_in_and_out(void)
{
	struct made made = make(VL_OP_SEND_ONLY, false, false, false), before = made;

	begin();
	add("vlan=5");
	add("pcp=6");
	CU_ASSERT_TRUE(apply(&made, 0));
	CU_ASSERT_EQUAL(made.length, before.length + 4);
	CU_ASSERT_EQUAL(parse(&made).vlan_id, 5);
	CU_ASSERT_EQUAL(parse(&made).priority, 6);
	check_sums(&made, false);
	begin();
	add("vlan=5,none");
	CU_ASSERT_TRUE(apply(&made, 0));
	CU_ASSERT_EQUAL(made.length, before.length);
	CU_ASSERT_EQUAL(memcmp(made.bytes, before.bytes, made.length), 0);
	/* And what has no tag, or another, stays. */
	CU_ASSERT_FALSE(apply(&made, 0));
}

/* Rules look at what was recorded: two can swap. The first that applies wins. */
static void test_swap_and_order(void)
{
	struct made made = make(VL_OP_ACKNOWLEDGE, false, false, false);

	begin();
	add("ip=10.0.0.1,10.0.0.2");
	add("ip=10.0.0.2,10.0.0.1");
	add("mac=02:00:00:00:00:01,02:00:00:00:00:02");
	add("mac=02:00:00:00:00:02,02:00:00:00:00:01");
	add("qpn=5,6");
	add("qpn=0x11,0x12");
	add("qpn=0x13");
	CU_ASSERT_TRUE(apply(&made, 0));
	CU_ASSERT_EQUAL(parse(&made).source_gid.raw[15], 2);
	CU_ASSERT_EQUAL(parse(&made).destination_gid.raw[15], 1);
	CU_ASSERT_EQUAL(parse(&made).source_mac[5], 2);
	CU_ASSERT_EQUAL(parse(&made).destination_qpn, 0x12);
	CU_ASSERT_EQUAL(rewrite.rules.list[4].used, 0);
	CU_ASSERT_EQUAL(rewrite.rules.list[5].used, 1);
	check_sums(&made, false);
}

/* Any opcode, any rules: what comes out parses and its sums are right. */
static void test_property(void)
{
	static const char *const rules[] = {
		"src-mac=02:11:22:33:44:55",
		"dst-ip=10.9.8.7",
		"src-ip=fd00:1:2:3::9",
		"vlan=+1",
		"vlan=none",
		"vlan=8",
		"pcp=1",
		"dscp=+3",
		"ecn=1",
		"src-port=-7",
		"pkey=1",
		"qpn=+0x10101",
		"psn=-100",
		"qkey=+1",
		"src-qpn=9",
		"rkey=+0x01000001",
		"address=+4096",
		"ip=10.0.0.1,10.1.1.1",
	};

	random_state = 1;
	for (unsigned int i = 0; i < 20000; i++) {
		uint8_t opcode = (uint8_t)random_number();
		uint32_t choice = random_number(), offset = random_number() & 0xffffff;
		struct made made;

		if (!vl_opcode_table[opcode].flags)
			continue;
		made = make(opcode, choice & 1, choice >> 1 & 1, choice >> 2 & 1);
		begin();
		for (unsigned int k = 0; k < random_number() % 6; k++)
			add(rules[random_number() % (sizeof(rules) / sizeof(rules[0]))]);
		apply(&made, offset);
		check_sums(&made, choice >> 2 & 1);
	}
}

/* What was wrong in the recording stays wrong by the same bits; all stays as it was on request. */
static void test_wrong_stays_wrong(void)
{
	struct made made = make(VL_OP_SEND_ONLY, false, false, false), before;
	struct vl_packet packet;

	made.bytes[made.length - 2] ^= 0x40;
	begin();
	add("qpn=9");
	CU_ASSERT_TRUE(apply(&made, 0));
	packet = parse(&made);
	CU_ASSERT_EQUAL(vl_icrc_compute(&packet) ^ vl_icrc_found(&packet), 0x400000);

	made = before = make(VL_OP_SEND_ONLY, false, false, true);
	rewrite.keeps_checksums = true;
	add("src-ip=10.0.0.77");
	CU_ASSERT_TRUE(apply(&made, 0));
	CU_ASSERT_EQUAL(memcmp(made.bytes + made.length - 4, before.bytes + made.length - 4, 4), 0);
	CU_ASSERT_EQUAL(memcmp(made.bytes + 24, before.bytes + 24, 2), 0);
	CU_ASSERT_EQUAL(memcmp(made.bytes + 40, before.bytes + 40, 2), 0);
	CU_ASSERT_EQUAL(made.bytes[29], 77);
	CU_ASSERT_EQUAL(made.bytes[49], 9);
}

/* Frames of other protocols: addresses, class and ports, with their checksum; no more. */
static void test_other_frames(void)
{
	uint8_t tcp[74] = {2,    0, 0,  0, 0, 2, 2,  0, 0, 0, 0,  1, 8, 0, 0x45, 0,    0, 60, 1, 2,
			   0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x12, 0x34, 0, 80};
	uint8_t arp[42] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1, 8, 6, 0, 1};
	struct rewrite_frame frame = {tcp, sizeof(tcp), 3};

	vl_store_be16(tcp + 24, checksum_of(0, tcp + 14, 20));
	tcp[46] = 0x50;
	vl_store_be16(tcp + 50, l4_wrongness(tcp + 14, 40, 6));
	begin();
	add("src-ip=172.16.0.1");
	add("dscp=8");
	add("psn=+1");
	add("dst-port=81");
	CU_ASSERT_TRUE(rewrite_apply(&rewrite, &frame));
	CU_ASSERT_EQUAL(checksum_of(0, tcp + 14, 20), 0);
	CU_ASSERT_EQUAL(l4_wrongness(tcp + 14, 40, 6), 0);
	CU_ASSERT_EQUAL(tcp[15], 8 << 2);
	CU_ASSERT_EQUAL(tcp[37], 80); /* a TCP port is not a UDP port */

	frame = (struct rewrite_frame){arp, sizeof(arp), 3};
	CU_ASSERT_FALSE(rewrite_apply(&rewrite, &frame));
	add("src-mac=02:00:00:00:00:05");
	CU_ASSERT_TRUE(rewrite_apply(&rewrite, &frame));
	CU_ASSERT_EQUAL(arp[11], 5);
}

/* Neighbour discovery: its checksum covers the addresses of the IPv6 header. */
static void test_icmpv6(void)
{
	uint8_t solicitation[14 + 40 + 24] = {[12] = 0x86, 0xdd, 0x60, [19] = 24, 58, 255};
	struct rewrite_frame frame = {solicitation, sizeof(solicitation), 0};

	memset(solicitation + 22, 0xfd, 32);
	solicitation[54] = 135;
	vl_store_be16(solicitation + 56, l4_wrongness(solicitation + 14, 24, 58));
	begin();
	add("src-ip=2001:db8::1");
	CU_ASSERT_TRUE(rewrite_apply(&rewrite, &frame));
	CU_ASSERT_EQUAL(solicitation[22], 0x20);
	CU_ASSERT_EQUAL(l4_wrongness(solicitation + 14, 24, 58), 0);
	/* Leading zeros do not make it octal. */
	begin();
	add("dscp=010");
	CU_ASSERT_TRUE(rewrite_apply(&rewrite, &frame));
	CU_ASSERT_EQUAL((solicitation[14] & 0xf) << 2 | solicitation[15] >> 6, 10);
}

/* Any bytes, cut anywhere, in a buffer of just their size (and a tag): nothing else is touched. */
static void test_hostile_frames(void)
{
	random_state = 7;
	begin();
	add("mac=02:00:00:00:00:05");
	add("vlan=+1");
	add("pcp=2");
	add("ip=10.0.0.9");
	add("ip=fd00::9");
	add("dscp=1");
	add("src-port=1");
	add("qpn=1");
	add("rkey=2");
	add("qkey=3");
	for (unsigned int i = 0; i < 30000; i++) {
		struct made made = make(VL_SERVICE_UD | VL_OP_SEND_ONLY, i & 1, i & 2, i & 4);
		uint32_t length = random_number() % (made.length + 1);
		uint8_t *bytes = malloc(length + 4);
		struct rewrite_frame frame = {bytes, length, i};

		CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
		memcpy(bytes, made.bytes, length);
		for (unsigned int k = 0; length && k < random_number() % 4; k++)
			bytes[random_number() % length] ^= (uint8_t)random_number();
		rewrite_apply(&rewrite, &frame);
		CU_ASSERT(frame.length <= length + 4);
		free(bytes);
	}
}

static void test_refused_rules(void)
{
	static const struct {
		const char *rule, *message;
	} cases[] = {
		{"dst-ip", "FIELD=NEW"},
		{"dst-pi=10.0.0.1", "did you mean dst-ip?"},
		{"nonsense=1", "is no field"},
		{"dst-ip=10.0.0", "is no address"},
		{"dst-ip=10.0.0.1,fd00::1", "IPv4, the other IPv6"},
		{"dst-mac=02:00:00:00:00", "no MAC address"},
		{"qpn=0x1000000", "no number from 0 to 16777215"},
		{"qpn=1,x", "no number"},
		{"qpn=", "no number"},
		{"dscp=+64", "0 to 63"},
		{"psn=none", "no number"},
		{"vlan=4096", "0 to 4095"},
	};
	char error[256];

	begin();
	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CU_ASSERT_NOT_EQUAL(
			rewrite_rule_add(&rewrite.rules, cases[i].rule, error, sizeof(error)), 0);
		CU_ASSERT_PTR_NOT_NULL(strstr(error, cases[i].message));
		if (!strstr(error, cases[i].message))
			printf("%s: %s\n", cases[i].rule, error);
	}
	CU_ASSERT_EQUAL(rewrite.rules.count, 0);
	for (unsigned int i = 0; i < REWRITE_MAX_RULES; i++)
		add("psn=+1");
	CU_ASSERT_NOT_EQUAL(rewrite_rule_add(&rewrite.rules, "psn=+1", error, sizeof(error)), 0);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{"every_field", test_every_field},
		{"datagram_and_invalidate", test_datagram_and_invalidate},
		{"vlan_in_and_out", test_vlan_in_and_out},
		{"swap_and_order", test_swap_and_order},
		{"property", test_property},
		{"wrong_stays_wrong", test_wrong_stays_wrong},
		{"other_frames", test_other_frames},
		{"icmpv6", test_icmpv6},
		{"hostile_frames", test_hostile_frames},
		{"refused_rules", test_refused_rules},
	};

	return RUN_SUITE("rewrite", tests, argc, argv);
}
