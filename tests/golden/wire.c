/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Every packet of every capture in pcaps/: the parser takes it, its ICRC is right and stops being
 * so with any bit flipped, the opcodes are those that tshark counts (pcaps/opcode-counts.txt), and
 * what the builders make of its fields is the packet again.
 */

#include "dataplane/capture/reader.h"
#include "tests/support/suite.h"
#include "transport/random.h"
#include "transport/verbline.h"
#include "transport/wire/headers.h"
#include "transport/wire/icrc.h"
#include "transport/wire/opcode.h"
#include "transport/wire/parse.h"
#include "transport/wire/path.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST 8192

static const char *directory(void)
{
	static char path[4096];
	const char *root = getenv("VERBLINE_SOURCE_ROOT");

	snprintf(path, sizeof(path), "%s/pcaps", root ? root : ".");
	return path;
}

/* Calls visit with each packet of the capture; returns how many. */
static unsigned int for_each_packet(const char *name,
				    void (*visit)(const struct vl_capture_packet *packet,
						  void *context),
				    void *context)
{
	char path[8192], message[VL_CAPTURE_MESSAGE_SIZE];
	struct vl_capture_reader *reader;
	struct vl_capture_packet packet;
	unsigned int count = 0;

	snprintf(path, sizeof(path), "%s/%s", directory(), name);
	reader = vl_capture_reader_open(path, message);
	CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
	while (vl_capture_reader_next(reader, &packet) == VL_CAPTURE_PACKET) {
		visit(&packet, context);
		count++;
	}
	CU_ASSERT_STRING_EQUAL(vl_capture_reader_message(reader), "");
	vl_capture_reader_close(reader);
	return count;
}

static unsigned int for_each_capture(void (*visit)(const struct vl_capture_packet *packet,
						   void *context),
				     void *context)
{
	DIR *captures = opendir(directory());
	struct dirent *entry;
	unsigned int count = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(captures);
	while ((entry = readdir(captures))) {
		const char *suffix = strrchr(entry->d_name, '.');

		if (suffix && !strcmp(suffix, ".pcap"))
			count += for_each_packet(entry->d_name, visit, context);
	}
	closedir(captures);
	return count;
}

static enum vl_parse_result parse(struct vl_packet *packet, const uint8_t *frame, uint32_t length)
{
	return vl_parse(packet, VL_LINK_ETHERNET, frame, length, length);
}

static void check_packet(const struct vl_capture_packet *captured, void *context)
{
	struct vl_packet packet;

	(void)context;
	CU_ASSERT_EQUAL_FATAL(parse(&packet, captured->data, captured->captured_length),
			      VL_PARSE_ok);
	CU_ASSERT(vl_icrc_is_right(&packet));
	CU_ASSERT_FALSE(packet.mig_req);
	CU_ASSERT_EQUAL(packet.pkey, 0xffff);
}

static void test_all_packets(void)
{
	CU_ASSERT_EQUAL(for_each_capture(check_packet, NULL), 4255);
}

static void count_opcode(const struct vl_capture_packet *captured, void *context)
{
	unsigned int *counts = context;
	struct vl_packet packet;

	if (parse(&packet, captured->data, captured->captured_length) == VL_PARSE_ok)
		counts[packet.opcode]++;
}

static void check_counts(const char *name, const unsigned int *expected)
{
	unsigned int counts[256] = {0};

	for_each_packet(name, count_opcode, counts);
	CU_ASSERT_EQUAL(memcmp(counts, expected, sizeof(counts)), 0);
}

static void test_opcode_counts(void)
{
	char path[8192], name[256], current[256] = "";
	unsigned int expected[256], opcode, count, captures = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/opcode-counts.txt", directory());
	file = fopen(path, "r");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	while (fscanf(file, "%255s %x %u", name, &opcode, &count) == 3) {
		if (strcmp(name, current)) {
			if (captures++)
				check_counts(current, expected);
			memset(expected, 0, sizeof(expected));
			strcpy(current, name);
		}
		expected[opcode & 0xff] = count;
	}
	check_counts(current, expected);
	CU_ASSERT_EQUAL(captures, 67);
	fclose(file);
}

/* One random covered bit of each packet: behind the addresses, but for the BTH's byte 4. */
static void flip_bit(const struct vl_capture_packet *captured, void *context)
{
	struct vl_random *source = context;
	uint8_t frame[LONGEST];
	struct vl_packet packet;
	uint32_t first, bit, length = captured->captured_length;

	memcpy(frame, captured->data, length);
	parse(&packet, frame, length);
	first = (uint32_t)(packet.bth - frame);
	do
		bit = (uint32_t)vl_random_below(source, (length - first) * 8u);
	while (bit / 8 == VL_BTH_CONGESTION_OFFSET);
	frame[first + bit / 8] ^= (uint8_t)(1 << bit % 8);
	CU_ASSERT_FALSE(vl_icrc_is_right(&packet));
}

static void test_flipped_bits(void)
{
	struct vl_random source = {.state = 7};

	for (unsigned int i = 0; i < 8; i++)
		for_each_capture(flip_bit, &source);
}

static struct vl_path path_of(const struct vl_packet *packet)
{
	struct vl_path_attr attr = {
		.encapsulation = packet->encapsulation,
		.source_gid = packet->source_gid,
		.destination_gid = packet->destination_gid,
		.traffic_class = packet->traffic_class,
		.hop_limit = packet->hop_limit,
		.flow_label = packet->flow_label,
		.udp_source_port = packet->udp_source_port,
	};
	struct vl_path path;

	memcpy(attr.source_mac, packet->source_mac, 6);
	memcpy(attr.destination_mac, packet->destination_mac, 6);
	CU_ASSERT_EQUAL(vl_path_init(&path, &attr), 0);
	return path;
}

static uint32_t write_extensions(uint8_t *at, const struct vl_packet *packet)
{
	uint32_t flags = packet->info->flags, length = 0;

	if (flags & VL_OPCODE_DETH)
		length += vl_deth_write(at + length, packet->qkey, packet->source_qpn);
	if (flags & VL_OPCODE_RETH)
		length += vl_reth_write(at + length, packet->remote_address, packet->rkey,
					packet->dma_length);
	if (flags & VL_OPCODE_ATOMICETH)
		length += vl_atomic_eth_write(at + length, packet->remote_address, packet->rkey,
					      packet->swap_or_add, packet->compare);
	if (flags & VL_OPCODE_AETH)
		length += vl_aeth_write(at + length, packet->syndrome, packet->msn);
	if (flags & VL_OPCODE_ATOMICACKETH)
		length += vl_atomic_ack_write(at + length, packet->original);
	if (flags & VL_OPCODE_IMMDT)
		length += vl_immdt_write(at + length, packet->immediate);
	if (flags & VL_OPCODE_IETH)
		length += vl_ieth_write(at + length, packet->invalidate_rkey);
	return length;
}

/* The kernel numbers its IPv4 packets, and this stack does not: the identification, and with it
 * checksum and ICRC, are set to what a packet without a number has. */
static void clear_identification(uint8_t *frame, const struct vl_packet *packet)
{
	struct vl_ipv4_header *ip = (struct vl_ipv4_header *)(frame + (packet->network - frame));
	uint32_t sum = 0, icrc;

	vl_store_be16(ip->identification, 0);
	vl_store_be16(ip->checksum, 0);
	for (uint32_t i = 0; i < sizeof(*ip); i += 2)
		sum += vl_load_be16(packet->network + i);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	vl_store_be16(ip->checksum, (uint16_t)~sum);
	icrc = htole32(vl_icrc_compute(packet));
	memcpy(frame + (packet->icrc - frame), &icrc, sizeof(icrc));
}

static void rebuild(const struct vl_capture_packet *captured, void *context)
{
	uint8_t recorded[LONGEST], frame[LONGEST], headers[VL_MAX_HEADER_LENGTH];
	struct vl_outgoing outgoing = {.headers = headers, .span_count = 1};
	uint32_t length = captured->captured_length, header_length;
	struct vl_packet packet;
	struct vl_path path;

	(void)context;
	memcpy(recorded, captured->data, length);
	parse(&packet, recorded, length);
	if (packet.encapsulation == VL_ENCAPSULATION_ROCEV2_IPV4)
		clear_identification(recorded, &packet);
	path = path_of(&packet);
	header_length = vl_path_write(&path, headers, packet.transport_length - VL_ICRC_LENGTH);
	header_length +=
		vl_bth_write(headers + header_length, packet.opcode, packet.solicited,
			     packet.mig_req, packet.pad_count, packet.pkey, packet.destination_qpn,
			     packet.ack_request, packet.psn, packet.becn);
	header_length += write_extensions(headers + header_length, &packet);
	outgoing.header_length = (uint16_t)header_length;
	outgoing.network_offset = path.network_offset;
	outgoing.pad_count = packet.pad_count;
	outgoing.encapsulation = packet.encapsulation;
	outgoing.payload_length = packet.payload_length;
	outgoing.frame_length = header_length + packet.payload_length + packet.pad_count + 4;
	outgoing.spans[0] = (struct vl_span){packet.payload, packet.payload_length};
	CU_ASSERT_EQUAL(vl_serialize(&outgoing, frame, sizeof(frame)), length);
	CU_ASSERT_EQUAL(memcmp(frame, recorded, length), 0);
}

static void test_rebuilt(void)
{
	for_each_capture(rebuild, NULL);
}

static const struct test tests[] = {
	{"all_packets", test_all_packets},
	{"opcode_counts", test_opcode_counts},
	{"flipped_bits", test_flipped_bits},
	{"rebuilt", test_rebuilt},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("golden_wire", tests, argc, argv);
}
