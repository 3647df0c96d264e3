/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Captures of all variants are read, whole, from files and pipes. */

#include "tests/unit/capture_image.h"

#include <stdlib.h>
#include <sys/wait.h>

static void test_pcap_variants(void)
{
	static const uint32_t magics[] = {0xa1b2c3d4, 0xa1b23c4d};

	for (unsigned int variant = 0; variant < 4; variant++) {
		static struct image image;
		char message[VL_CAPTURE_MESSAGE_SIZE];
		struct vl_capture_packet packet;
		struct vl_capture_reader *reader;

		image = (struct image){.swapped = variant & 1};
		put_pcap_header(&image, magics[variant >> 1], 0x14000001); /* with an FCS length */
		put_pcap_record(&image, 1700000000, 123456, data, 60, 64);
		put_pcap_record(&image, UINT32_MAX, 7, data, 0, 0);
		put_pcap_record(&image, 5, 6, data, 64, 0);
		reader = open_image(&image, image.length, message);
		CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
		CU_ASSERT_STRING_EQUAL(vl_capture_reader_format(reader),
				       variant >> 1 ? "pcap with nanoseconds" : "pcap");
		CU_ASSERT_EQUAL(vl_capture_reader_next(reader, &packet), VL_CAPTURE_PACKET);
		CU_ASSERT_EQUAL(packet.number, 1);
		CU_ASSERT_EQUAL(packet.offset, 24);
		CU_ASSERT_EQUAL(packet.time, variant >> 1 ? UINT64_C(1700000000000123456)
							  : UINT64_C(1700000000123456000));
		CU_ASSERT_EQUAL(packet.captured_length, 60);
		CU_ASSERT_EQUAL(packet.original_length, 64);
		CU_ASSERT_EQUAL(packet.link_type, VL_LINKTYPE_ETHERNET);
		CU_ASSERT(!memcmp(packet.data, data, 60));
		CU_ASSERT_EQUAL(packet.frame.kind, VL_CAPTURE_FRAME_parseable);
		CU_ASSERT_EQUAL(packet.frame.link, VL_LINK_ETHERNET);
		CU_ASSERT_EQUAL(packet.frame.data, packet.data);
		CU_ASSERT_EQUAL(packet.frame.wire_length, 64);
		CU_ASSERT_EQUAL(vl_capture_reader_next(reader, &packet), VL_CAPTURE_PACKET);
		CU_ASSERT_EQUAL(packet.offset, 24 + 76);
		CU_ASSERT_EQUAL(packet.captured_length, 0);
		CU_ASSERT_EQUAL(packet.time,
				UINT64_C(4294967295000000000) + (variant >> 1 ? 7u : 7000u));
		CU_ASSERT_EQUAL(vl_capture_reader_next(reader, &packet), VL_CAPTURE_PACKET);
		CU_ASSERT_EQUAL(packet.original_length, 64);
		CU_ASSERT_EQUAL(vl_capture_reader_next(reader, &packet), VL_CAPTURE_END);
		CU_ASSERT_EQUAL(vl_capture_reader_position(reader), image.length);
		vl_capture_reader_close(reader);
	}
}

static void test_pcapng(void)
{
	static const struct {
		uint64_t time;
		uint32_t captured, original;
		uint16_t link_type;
	} wanted[] = {
		{UINT64_C(1700000000123456789), 61, 61, VL_LINKTYPE_ETHERNET},
		{UINT64_C(1700000000123456000), 20, 1500, VL_LINKTYPE_RAW},
		{UINT64_C(101500000000), 32, 32, VL_LINKTYPE_INFINIBAND},
		{0, 10, 10, VL_LINKTYPE_INFINIBAND},
		{UINT64_C(101000000000), 7, 9, VL_LINKTYPE_INFINIBAND},
	};

	for (int swapped = 0; swapped < 2; swapped++) {
		static struct image image;
		char message[VL_CAPTURE_MESSAGE_SIZE];
		struct vl_capture_packet packet;
		struct vl_capture_reader *reader;

		image = (struct image){.swapped = swapped};
		make_pcapng(&image);
		reader = open_image(&image, image.length, message);
		CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
		for (unsigned int i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
			CU_ASSERT_EQUAL_FATAL(vl_capture_reader_next(reader, &packet),
					      VL_CAPTURE_PACKET);
			CU_ASSERT_EQUAL(packet.number, i + 1);
			CU_ASSERT_EQUAL(packet.time, wanted[i].time);
			CU_ASSERT_EQUAL(packet.captured_length, wanted[i].captured);
			CU_ASSERT_EQUAL(packet.original_length, wanted[i].original);
			CU_ASSERT_EQUAL(packet.link_type, wanted[i].link_type);
			CU_ASSERT(!memcmp(packet.data, data, packet.captured_length));
		}
		CU_ASSERT_EQUAL(vl_capture_reader_next(reader, &packet), VL_CAPTURE_END);
		vl_capture_reader_close(reader);
	}
}

static void test_timestamp_resolutions(void)
{
	static const struct {
		int resolution;
		int64_t offset;
		uint64_t timestamp, time;
	} cases[] = {
		{0, 0, 3, 3000000000},
		{3, 0, 1700000000123, UINT64_C(1700000000123000000)},
		{12, 0, UINT64_C(1700000000123456), UINT64_C(1700000000123)},
		{28, 0, UINT64_MAX, 1},
		{0, 0, UINT64_MAX, UINT64_MAX}, /* saturates */
		{0x80, 0, 2, 2000000000},
		{0x80 | 32, 0, UINT64_C(0x180000000), 1500000000},
		{0x80 | 63, 0, UINT64_C(1) << 62, 500000000},
		{9, -2, 5000000000, 3000000000},
		{9, -9, 5000000000, 0},
		{9, INT64_MAX, 5, UINT64_MAX},
	};

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		static struct image image;
		char message[VL_CAPTURE_MESSAGE_SIZE];
		struct vl_capture_packet packet;
		struct vl_capture_reader *reader;

		image = (struct image){.length = 0};
		put_section(&image);
		put_interface(&image, 1, cases[i].resolution, cases[i].offset);
		put_packet_block(&image, 0, cases[i].timestamp, data, 8, 8);
		reader = open_image(&image, image.length, message);
		CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
		CU_ASSERT_EQUAL(vl_capture_reader_next(reader, &packet), VL_CAPTURE_PACKET);
		CU_ASSERT_EQUAL(packet.time, cases[i].time);
		vl_capture_reader_close(reader);
	}
}

static void test_many_interfaces(void)
{
	static struct image image;
	char message[VL_CAPTURE_MESSAGE_SIZE];
	struct vl_capture_packet packet;
	struct vl_capture_reader *reader;

	put_section(&image);
	for (unsigned int i = 0; i < 1000; i++)
		put_interface(&image, i == 999 ? VL_LINKTYPE_RAW : 1, 9, 0);
	put_packet_block(&image, 999, 1, data, 60, 60);
	reader = open_image(&image, image.length, message);
	CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
	CU_ASSERT_EQUAL(vl_capture_reader_next(reader, &packet), VL_CAPTURE_PACKET);
	CU_ASSERT_EQUAL(packet.link_type, VL_LINKTYPE_RAW);
	CU_ASSERT_EQUAL(packet.interface, 999);
	vl_capture_reader_close(reader);
}

/* A packet larger than the reader's buffer, and blocks that straddle its end. */
static void test_large_packets(void)
{
	uint32_t lengths[] = {262144, 1, 262143, 100000, 262144};
	uint8_t *large = malloc(262144);
	char path[64], message[VL_CAPTURE_MESSAGE_SIZE];
	int descriptor = memfd_create("capture", 0);
	struct vl_capture_packet packet;
	struct vl_capture_reader *reader;
	static struct image image;

	CU_ASSERT_FATAL(large && descriptor >= 0);
	for (uint32_t i = 0; i < 262144; i++)
		large[i] = (uint8_t)(i * 7 + (i >> 8));
	put_pcap_header(&image, 0xa1b23c4d, 1);
	CU_ASSERT(write(descriptor, image.bytes, image.length) == (ssize_t)image.length);
	for (unsigned int i = 0; i < 5; i++) {
		uint32_t header[] = {1, i, lengths[i], lengths[i]};

		CU_ASSERT(write(descriptor, header, 16) == 16);
		CU_ASSERT(write(descriptor, large, lengths[i]) == (ssize_t)lengths[i]);
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", descriptor);
	reader = vl_capture_reader_open(path, message);
	CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
	for (unsigned int i = 0; i < 5; i++) {
		CU_ASSERT_EQUAL_FATAL(vl_capture_reader_next(reader, &packet), VL_CAPTURE_PACKET);
		CU_ASSERT_EQUAL(packet.captured_length, lengths[i]);
		CU_ASSERT(!memcmp(packet.data, large, lengths[i]));
	}
	CU_ASSERT_EQUAL(vl_capture_reader_next(reader, &packet), VL_CAPTURE_END);
	vl_capture_reader_close(reader);
	close(descriptor);
	free(large);
}

/* What comes through a pipe in small pieces reads the same. */
static void test_pipe(void)
{
	static struct image image;
	char path[64], message[VL_CAPTURE_MESSAGE_SIZE];
	struct vl_capture_packet packet;
	struct vl_capture_reader *reader;
	unsigned int count = 0;
	int ends[2], status;
	pid_t child;

	make_pcapng(&image);
	CU_ASSERT_FATAL(!pipe(ends));
	child = fork();
	CU_ASSERT_FATAL(child >= 0);
	if (!child) {
		for (size_t i = 0; i < image.length; i++) {
			if (write(ends[1], image.bytes + i, 1) != 1)
				_exit(1);
		}
		_exit(0);
	}
	close(ends[1]);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", ends[0]);
	reader = vl_capture_reader_open(path, message);
	CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
	while (vl_capture_reader_next(reader, &packet) == VL_CAPTURE_PACKET) {
		CU_ASSERT(!memcmp(packet.data, data, packet.captured_length));
		count++;
	}
	CU_ASSERT_EQUAL(count, 5);
	CU_ASSERT_STRING_EQUAL(vl_capture_reader_message(reader), "");
	vl_capture_reader_close(reader);
	close(ends[0]);
	waitpid(child, &status, 0);
	CU_ASSERT_EQUAL(status, 0);
}

static const struct test tests[] = {
	{"pcap_variants", test_pcap_variants},
	{"pcapng", test_pcapng},
	{"timestamp_resolutions", test_timestamp_resolutions},
	{"many_interfaces", test_many_interfaces},
	{"large_packets", test_large_packets},
	{"pipe", test_pipe},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("capture_reader", tests, argc, argv);
}
