/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * What a packet costs in the wire layer, each step beside a reference measured in the same run, so
 * that the ratio means something on any machine. The time of a kernel is the least of many rounds,
 * and rounds of different kernels alternate, so that a change of the clock meets all of them.
 *
 *   kernels [--json FILE]
 */

#include "transport/verbline.h"
#include "transport/wire/headers.h"
#include "transport/wire/icrc.h"
#include "transport/wire/opcode.h"
#include "transport/wire/parse.h"
#include "transport/wire/path.h"
#include "transport/wire/vcrc.h"

#include <rte_mbuf.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PAYLOAD       4096u
#define ROUNDS        40
#define ROUND_TIME    250e-6              /* seconds */
#define STREAM_STRIDE 4608u               /* a frame's place in the streamed areas */
#define STREAM_COUNT  (UINT32_C(64) << 8) /* places: 72 MiB each way, more than caches hold */

#define SMALL 64u
#define BURST 32u
#define LARGE 4096u

static struct {
	uint8_t data[8192];
	uint8_t copy[8192];
	uint8_t *stream_from, *stream_to;
	uint32_t stream_at;

	uint8_t headers[VL_MAX_HEADER_LENGTH];
	struct vl_outgoing outgoing; /* RC WRITE Middle of 4096 bytes, IPv4 */
	uint8_t infiniband_headers[VL_MAX_HEADER_LENGTH];
	struct vl_outgoing infiniband; /* the same behind an LRH */
	uint8_t write[PAYLOAD + 256], ack[128], write6[PAYLOAD + 256];
	uint32_t write_length, ack_length, write6_length;
	struct vl_packet packet_write, packet_ack, packet;
	struct vl_path path, tagged; /* the same in a VLAN */
	uint8_t heads[BURST][VL_MAX_HEADER_LENGTH];
	struct vl_ipv4_header burst[BURST];
	struct rte_mbuf mbufs[BURST];
	uint16_t lengths[BURST];
	struct vl_crc32_shift shift;
	uint32_t payload_crc;
} bench __attribute__((aligned(64)));

static volatile uint32_t sink;

#define BARRIER(pointer) __asm__ volatile("" : : "r"(pointer) : "memory")

static void crc_library_small(void)
{
	sink = vl_crc32(sink, bench.data, SMALL);
}

static void crc_portable_small(void)
{
	sink = vl_crc32_portable(sink, bench.data, SMALL);
}

static void crc_library_large(void)
{
	sink = vl_crc32(sink, bench.data, LARGE);
}

static void crc_portable_large(void)
{
	sink = vl_crc32_portable(sink, bench.data, LARGE);
}

static void crc_folded_large(void)
{
	sink = vl_crc32_folded(sink, bench.data, LARGE);
}

static void vcrc_large(void)
{
	sink = vl_vcrc(bench.data, LARGE);
}

static void vcrc_portable_large(void)
{
	sink = vl_vcrc_portable(bench.data, LARGE);
}

static void copy_large(void)
{
	memcpy(bench.copy, bench.data, LARGE);
	BARRIER(bench.copy);
}

static void copy_and_crc(void)
{
	memcpy(bench.copy, bench.data, LARGE);
	BARRIER(bench.copy);
	sink = vl_crc32(0, bench.copy, LARGE);
}

static void serialize(void)
{
	sink = vl_serialize(&bench.outgoing, bench.copy, sizeof(bench.copy));
	BARRIER(bench.copy);
}

static void serialize_infiniband(void)
{
	sink = vl_serialize(&bench.infiniband, bench.copy, sizeof(bench.copy));
	BARRIER(bench.copy);
}

/* The next pair of places in memory that no cache holds. */
static size_t stream_next(void)
{
	bench.stream_at = (bench.stream_at + 1) % STREAM_COUNT;
	return (size_t)bench.stream_at * STREAM_STRIDE;
}

static void copy_and_crc_streamed(void)
{
	size_t at = stream_next();

	memcpy(bench.stream_to + at, bench.stream_from + at, LARGE);
	BARRIER(bench.stream_to);
	sink = vl_crc32(0, bench.stream_to + at, LARGE);
}

static void serialize_streamed(void)
{
	size_t at = stream_next();

	bench.outgoing.spans[0].data = bench.stream_from + at;
	sink = vl_serialize(&bench.outgoing, bench.stream_to + at, STREAM_STRIDE);
	bench.outgoing.spans[0].data = bench.data;
}

static void parse_ack(void)
{
	sink = vl_parse(&bench.packet, VL_LINK_ETHERNET, bench.ack, bench.ack_length,
			bench.ack_length);
	BARRIER(&bench.packet);
}

static void parse_write(void)
{
	sink = vl_parse(&bench.packet, VL_LINK_ETHERNET, bench.write, bench.write_length,
			bench.write_length);
	BARRIER(&bench.packet);
}

static void parse_write6(void)
{
	sink = vl_parse(&bench.packet, VL_LINK_ETHERNET, bench.write6, bench.write6_length,
			bench.write6_length);
	BARRIER(&bench.packet);
}

static void verify_ack(void)
{
	BARRIER(bench.ack);
	sink = vl_icrc_is_right(&bench.packet_ack);
}

static void verify_write(void)
{
	BARRIER(bench.write);
	sink = vl_icrc_is_right(&bench.packet_write);
}

static void crc_of_ack(void)
{
	sink = vl_crc32(0, bench.ack, bench.ack_length);
}

static void crc_of_write(void)
{
	sink = vl_crc32(0, bench.write, bench.write_length);
}

static void path_write(void)
{
	sink = vl_path_write(&bench.path, bench.copy, PAYLOAD + 12);
	BARRIER(bench.copy);
}

/* Headers with the VLAN tag that their path has ready, and without one. */
static void heads_of(const struct vl_path *path)
{
	for (uint32_t i = 0; i < BURST; i++)
		sink = vl_path_write(path, bench.heads[i], bench.lengths[i]);
	BARRIER(bench.heads);
}

static void heads_untagged(void)
{
	heads_of(&bench.path);
}

static void heads_tagged(void)
{
	heads_of(&bench.tagged);
}

/* Asking the device to put the tag in; what its driver does with that comes on top. */
static void heads_tags_asked_for(void)
{
	for (uint32_t i = 0; i < BURST; i++) {
		sink = vl_path_write(&bench.path, bench.heads[i], bench.lengths[i]);
		bench.mbufs[i].vlan_tci = (uint16_t)(bench.lengths[i] & 0xefff);
		bench.mbufs[i].ol_flags |= RTE_MBUF_F_TX_VLAN;
	}
	BARRIER(bench.heads);
	BARRIER(bench.mbufs);
}

/* The checksum of an IPv4 header as vl_path_write makes it: from the sum of all but the length. */
static void checksum_folded(void)
{
	for (uint32_t i = 0; i < BURST; i++) {
		uint32_t sum = bench.path.checksum_base + bench.lengths[i];

		sum = (sum & 0xffff) + (sum >> 16);
		sum = (sum & 0xffff) + (sum >> 16);
		vl_store_be16(bench.burst[i].checksum, (uint16_t)~sum);
	}
	BARRIER(bench.burst);
}

/* What asking the device for it takes here; what its driver does with that comes on top. */
static void checksum_asked_for(void)
{
	for (uint32_t i = 0; i < BURST; i++) {
		bench.mbufs[i].tx_offload =
			rte_mbuf_tx_offload(sizeof(struct vl_ethernet_header),
					    sizeof(struct vl_ipv4_header), 0, 0, 0, 0, 0);
		bench.mbufs[i].ol_flags |= RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM;
		vl_store_be16(bench.burst[i].checksum, 0);
	}
	BARRIER(bench.burst);
	BARRIER(bench.mbufs);
}

static void combine(void)
{
	sink = vl_crc32_combine(sink, bench.payload_crc, bench.shift);
}

static void combine_portable(void)
{
	sink = vl_crc32_combine_portable(sink, bench.payload_crc, bench.shift);
}

/* What a generator pays for the ICRC of a packet whose payload does not change. */
static void icrc_of_headers_combined(void)
{
	uint32_t crc = vl_icrc_headers(
		VL_ENCAPSULATION_ROCEV2_IPV4, bench.headers + bench.outgoing.network_offset,
		bench.outgoing.header_length - (uint32_t)bench.outgoing.network_offset);

	sink = vl_crc32_combine(crc, bench.payload_crc, bench.shift);
}

static struct kernel {
	const char *name;
	const char *reference; /* name of the kernel that the ratio is to; NULL: none */
	void (*run)(void);
	uint32_t bytes; /* per call, for a rate; 0: none */
	double nanoseconds;
} kernels[] = {
	{"crc32 64 B, portable", NULL, crc_portable_small, SMALL, 0},
	{"crc32 64 B", "crc32 64 B, portable", crc_library_small, SMALL, 0},
	{"crc32 4096 B, portable", NULL, crc_portable_large, LARGE, 0},
	{"crc32 4096 B", "crc32 4096 B, portable", crc_library_large, LARGE, 0},
	{"crc32 4096 B, carry-less multiply", "crc32 4096 B, portable", crc_folded_large, LARGE, 0},
	{"vcrc 4096 B, portable", NULL, vcrc_portable_large, LARGE, 0},
	{"vcrc 4096 B", "vcrc 4096 B, portable", vcrc_large, LARGE, 0},
	{"memcpy 4096 B", NULL, copy_large, LARGE, 0},
	{"memcpy, then crc32, 4096 B", NULL, copy_and_crc, LARGE, 0},
	{"serialize 4096 B", "memcpy, then crc32, 4096 B", serialize, LARGE, 0},
	{"serialize 4096 B, InfiniBand", "serialize 4096 B", serialize_infiniband, LARGE, 0},
	{"memcpy, then crc32, 4096 B, streamed", NULL, copy_and_crc_streamed, LARGE, 0},
	{"serialize 4096 B, streamed", "memcpy, then crc32, 4096 B, streamed", serialize_streamed,
	 LARGE, 0},
	{"path write, IPv4", NULL, path_write, 0, 0},
	{"headers of 32 frames, untagged", NULL, heads_untagged, 0, 0},
	{"the same, with VLAN tags", "headers of 32 frames, untagged", heads_tagged, 0, 0},
	{"the same, tags asked of the device", "headers of 32 frames, untagged",
	 heads_tags_asked_for, 0, 0},
	{"IPv4 checksums of 32 frames, folded", NULL, checksum_folded, 0, 0},
	{"the same, checksums asked of the device", "IPv4 checksums of 32 frames, folded",
	 checksum_asked_for, 0, 0},
	{"parse Acknowledge, IPv4", NULL, parse_ack, 0, 0},
	{"parse RDMA WRITE Only, IPv4", NULL, parse_write, 0, 0},
	{"parse RDMA WRITE Only, IPv6", NULL, parse_write6, 0, 0},
	{"crc32 of an Acknowledge", NULL, crc_of_ack, 0, 0},
	{"verify ICRC, Acknowledge", "crc32 of an Acknowledge", verify_ack, 0, 0},
	{"crc32 of a packet of 4096 B", NULL, crc_of_write, LARGE, 0},
	{"verify ICRC, 4096 B", "crc32 of a packet of 4096 B", verify_write, LARGE, 0},
	{"combine, portable", NULL, combine_portable, 0, 0},
	{"combine", "combine, portable", combine, 0, 0},
	{"ICRC of headers, combined", "serialize 4096 B", icrc_of_headers_combined, 0, 0},
};

#define KERNEL_COUNT (sizeof(kernels) / sizeof(kernels[0]))

static double seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double seconds_of(const struct kernel *kernel, uint32_t calls)
{
	double start = seconds_now();

	for (uint32_t i = 0; i < calls; i++)
		kernel->run();
	return seconds_now() - start;
}

static void measure(void)
{
	uint32_t calls[KERNEL_COUNT];

	for (size_t i = 0; i < KERNEL_COUNT; i++) {
		calls[i] = 64;
		while (seconds_of(&kernels[i], calls[i]) < ROUND_TIME)
			calls[i] *= 2;
	}
	for (int round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < KERNEL_COUNT; i++) {
			double each = seconds_of(&kernels[i], calls[i]) * 1e9 / calls[i];

			if (!round || each < kernels[i].nanoseconds)
				kernels[i].nanoseconds = each;
		}
	}
}

/* Of a kernel to its reference; 0 without one. */
static double ratio_of(const struct kernel *kernel)
{
	for (size_t i = 0; kernel->reference && i < KERNEL_COUNT; i++) {
		if (!strcmp(kernels[i].name, kernel->reference))
			return kernel->nanoseconds / kernels[i].nanoseconds;
	}
	return 0;
}

static void make_outgoing(struct vl_outgoing *outgoing, uint8_t *headers,
			  const struct vl_path *path, uint8_t operation)
{
	bool reth = operation == VL_OP_WRITE_ONLY;
	uint32_t extension = reth ? sizeof(struct vl_reth) : 0;
	uint32_t length = vl_path_write(path, headers, 12 + extension + PAYLOAD);

	length += vl_bth_write(headers + length, operation, false, true, 0, 0xffff, 0x1234, false,
			       0x5678, false);
	if (reth)
		length += vl_reth_write(headers + length, 0x7f0000001000, 0x1122, PAYLOAD);
	*outgoing = (struct vl_outgoing){
		.headers = headers,
		.header_length = (uint16_t)length,
		.network_offset = path->network_offset,
		.span_count = 1,
		.encapsulation = path->encapsulation,
		.payload_length = PAYLOAD,
		.frame_length = length + PAYLOAD + 4 + 2,
	};
	outgoing->spans[0] = (struct vl_span){bench.data, PAYLOAD};
}

static void make_ack(const struct vl_path *path)
{
	struct vl_outgoing outgoing = {.headers = bench.copy};
	uint32_t length = vl_path_write(path, bench.copy, 16);

	length += vl_bth_write(bench.copy + length, VL_OP_ACKNOWLEDGE, false, true, 0, 0xffff,
			       0x1234, false, 0x5678, false);
	length += vl_aeth_write(bench.copy + length, 0x1f, 7);
	outgoing.header_length = (uint16_t)length;
	outgoing.network_offset = path->network_offset;
	outgoing.encapsulation = path->encapsulation;
	outgoing.frame_length = length + 4;
	bench.ack_length = vl_serialize(&outgoing, bench.ack, sizeof(bench.ack));
}

static void prepare_packets(void)
{
	struct vl_path_attr attr = {
		.encapsulation = VL_ENCAPSULATION_ROCEV2_IPV4,
		.source_gid.raw = {[10] = 0xff, [11] = 0xff, 10, 0, 0, 1},
		.destination_gid.raw = {[10] = 0xff, [11] = 0xff, 10, 0, 0, 2},
		.traffic_class = 0x6a,
		.udp_source_port = 0xc123,
	};
	uint8_t headers[VL_MAX_HEADER_LENGTH];
	struct vl_outgoing outgoing;
	struct vl_path path;

	attr.vlan_present = true;
	attr.vlan_id = 100;
	attr.priority = 3;
	vl_path_init(&bench.tagged, &attr);
	attr.vlan_present = false;
	vl_path_init(&bench.path, &attr);
	make_outgoing(&bench.outgoing, bench.headers, &bench.path, VL_OP_WRITE_MIDDLE);
	make_outgoing(&outgoing, headers, &bench.path, VL_OP_WRITE_ONLY);
	bench.write_length = vl_serialize(&outgoing, bench.write, sizeof(bench.write));
	make_ack(&bench.path);

	attr.encapsulation = VL_ENCAPSULATION_ROCEV2_IPV6;
	attr.source_gid.raw[0] = attr.destination_gid.raw[0] = 0x20;
	vl_path_init(&path, &attr);
	make_outgoing(&outgoing, headers, &path, VL_OP_WRITE_ONLY);
	bench.write6_length = vl_serialize(&outgoing, bench.write6, sizeof(bench.write6));

	attr.encapsulation = VL_ENCAPSULATION_IB_LOCAL;
	vl_path_init(&path, &attr);
	make_outgoing(&bench.infiniband, bench.infiniband_headers, &path, VL_OP_WRITE_MIDDLE);
}

/* False: a kernel would measure something else than it says. */
static bool prepare(void)
{
	size_t size = (size_t)STREAM_COUNT * STREAM_STRIDE;

	for (size_t i = 0; i < sizeof(bench.data); i++)
		bench.data[i] = (uint8_t)(i * 31 + i / 251);
	for (uint32_t i = 0; i < BURST; i++)
		bench.lengths[i] = (uint16_t)(64 + 125 * i);
	bench.stream_from = malloc(size);
	bench.stream_to = malloc(size);
	if (!bench.stream_from || !bench.stream_to) {
		fprintf(stderr, "kernels: no memory for two areas of %zu bytes\n", size);
		return false;
	}
	memset(bench.stream_from, 0x5a, size);
	memset(bench.stream_to, 0, size);
	bench.payload_crc = vl_crc32(0, bench.data, PAYLOAD);
	bench.shift = vl_crc32_shift(PAYLOAD);
	prepare_packets();
	if (vl_parse(&bench.packet_write, VL_LINK_ETHERNET, bench.write, bench.write_length,
		     bench.write_length) != VL_PARSE_ok ||
	    vl_parse(&bench.packet_ack, VL_LINK_ETHERNET, bench.ack, bench.ack_length,
		     bench.ack_length) != VL_PARSE_ok ||
	    vl_parse(&bench.packet, VL_LINK_ETHERNET, bench.write6, bench.write6_length,
		     bench.write6_length) != VL_PARSE_ok ||
	    !vl_icrc_is_right(&bench.packet_write) || !vl_icrc_is_right(&bench.packet_ack) ||
	    !vl_icrc_is_right(&bench.packet)) {
		fprintf(stderr, "kernels: a packet is not what it should be\n");
		return false;
	}
	return true;
}

static void print(void)
{
	printf("CRC-32: %s\n%-40s %10s %8s %7s\n", vl_crc32_implementation(), "kernel", "ns",
	       "GB/s", "ratio");
	for (size_t i = 0; i < KERNEL_COUNT; i++) {
		const struct kernel *kernel = &kernels[i];

		printf("%-40s %10.1f ", kernel->name, kernel->nanoseconds);
		if (kernel->bytes)
			printf("%8.1f ", kernel->bytes / kernel->nanoseconds);
		else
			printf("%8s ", "");
		if (kernel->reference)
			printf("%7.3f of %s", ratio_of(kernel), kernel->reference);
		printf("\n");
	}
}

static bool write_json(const char *path)
{
	json_t *list = json_array(), *root;
	bool written;

	for (size_t i = 0; i < KERNEL_COUNT; i++) {
		json_t *entry = json_pack("{s:s, s:f}", "name", kernels[i].name, "nanoseconds",
					  kernels[i].nanoseconds);

		if (kernels[i].reference) {
			json_object_set_new(entry, "reference", json_string(kernels[i].reference));
			json_object_set_new(entry, "ratio", json_real(ratio_of(&kernels[i])));
		}
		json_array_append_new(list, entry);
	}
	root = json_pack("{s:s, s:o}", "crc32", vl_crc32_implementation(), "kernels", list);
	written = !json_dump_file(root, path, JSON_INDENT(2));
	json_decref(root);
	if (!written)
		fprintf(stderr, "kernels: cannot write %s\n", path);
	return written;
}

int main(int argc, char **argv)
{
	const char *json = NULL;
	int status = 1;

	if (argc == 3 && !strcmp(argv[1], "--json")) {
		json = argv[2];
	} else if (argc != 1) {
		fprintf(stderr, "usage: kernels [--json FILE]\n");
		return 2;
	}
	if (prepare()) {
		measure();
		print();
		status = json && !write_json(json);
	}
	free(bench.stream_from);
	free(bench.stream_to);
	return status;
}
