/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Captures are built byte by byte in memory, read back, cut at every byte, and spoiled. */

#include "dataplane/capture/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/support/suite.h"

struct image {
	uint8_t bytes[1 << 16];
	size_t length;
	bool swapped;
};

static void put(struct image *image, const void *bytes, size_t length)
{
	CU_ASSERT_FATAL(image->length + length <= sizeof(image->bytes));
	memcpy(image->bytes + image->length, bytes, length);
	image->length += length;
}

static void put16(struct image *image, uint16_t value)
{
	value = image->swapped ? __builtin_bswap16(value) : value;
	put(image, &value, sizeof(value));
}

static void put32(struct image *image, uint32_t value)
{
	value = image->swapped ? __builtin_bswap32(value) : value;
	put(image, &value, sizeof(value));
}

static void put64(struct image *image, uint64_t value)
{
	value = image->swapped ? __builtin_bswap64(value) : value;
	put(image, &value, sizeof(value));
}

static void put_pcap_header(struct image *image, uint32_t magic, uint32_t link_type)
{
	put32(image, magic);
	put16(image, 2);
	put16(image, 4);
	put32(image, 0);
	put32(image, 0);
	put32(image, 262144);
	put32(image, link_type);
}

static void put_pcap_record(struct image *image, uint32_t seconds, uint32_t fraction,
			    const void *data, uint32_t captured, uint32_t original)
{
	put32(image, seconds);
	put32(image, fraction);
	put32(image, captured);
	put32(image, original);
	put(image, data, captured);
}

static void put_section(struct image *image)
{
	put32(image, 0x0a0d0d0a);
	put32(image, 28);
	put32(image, 0x1a2b3c4d);
	put16(image, 1);
	put16(image, 0);
	put64(image, UINT64_MAX);
	put32(image, 28);
}

/* resolution < 0: no such option; offset likewise at 0. */
static void put_interface(struct image *image, uint16_t link_type, int resolution, int64_t offset)
{
	uint32_t total = 20 + (resolution >= 0 ? 8 : 0) + (offset ? 12 : 0) + 4;

	put32(image, 1);
	put32(image, total);
	put16(image, link_type);
	put16(image, 0);
	put32(image, 0);
	if (resolution >= 0) {
		uint8_t value[4] = {(uint8_t)resolution};

		put16(image, 9);
		put16(image, 1);
		put(image, value, 4);
	}
	if (offset) {
		put16(image, 14);
		put16(image, 8);
		put64(image, (uint64_t)offset);
	}
	put32(image, 0);
	put32(image, total);
}

static void put_packet_block(struct image *image, uint32_t interface, uint64_t timestamp,
			     const void *data, uint32_t captured, uint32_t original)
{
	static const uint8_t zeros[4];
	uint32_t total = 32 + ((captured + 3) & ~3u);

	put32(image, 6);
	put32(image, total);
	put32(image, interface);
	put32(image, (uint32_t)(timestamp >> 32));
	put32(image, (uint32_t)timestamp);
	put32(image, captured);
	put32(image, original);
	put(image, data, captured);
	put(image, zeros, -captured & 3);
	put32(image, total);
}

/* A path that reads the first length bytes of the image; *descriptor is to be closed. */
static const char *as_file(const struct image *image, size_t length, int *descriptor)
{
	static char path[64];

	*descriptor = memfd_create("capture", 0);
	CU_ASSERT_FATAL(*descriptor >= 0);
	CU_ASSERT_FATAL(write(*descriptor, image->bytes, length) == (ssize_t)length);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", *descriptor);
	return path;
}

static struct vl_capture_reader *open_image(const struct image *image, size_t length, char *message)
{
	int descriptor;
	struct vl_capture_reader *reader;

	reader = vl_capture_reader_open(as_file(image, length, &descriptor), message);
	close(descriptor);
	return reader;
}

static void expect_refused(const struct image *image, const char *wanted)
{
	char message[VL_CAPTURE_MESSAGE_SIZE];
	struct vl_capture_reader *reader = open_image(image, image->length, message);

	CU_ASSERT_PTR_NULL(reader);
	CU_ASSERT_PTR_NOT_NULL(strstr(message, wanted));
	if (!strstr(message, wanted))
		printf("\"%s\" lacks \"%s\"\n", message, wanted);
	vl_capture_reader_close(reader);
}

/* Reads to the end; returns the number of packets. */
static uint64_t read_all(const struct image *image, size_t length, enum vl_capture_status *status,
			 char *message)
{
	struct vl_capture_reader *reader = open_image(image, length, message);
	struct vl_capture_packet packet;
	uint64_t count = 0;

	*status = VL_CAPTURE_DAMAGED;
	if (!reader)
		return 0;
	while ((*status = vl_capture_reader_next(reader, &packet)) == VL_CAPTURE_PACKET)
		count++;
	CU_ASSERT_EQUAL(vl_capture_reader_next(reader, &packet), *status);
	strcpy(message, vl_capture_reader_message(reader));
	CU_ASSERT_EQUAL(message[0] != 0, *status == VL_CAPTURE_DAMAGED);
	if (*status == VL_CAPTURE_DAMAGED)
		CU_ASSERT_EQUAL(vl_capture_reader_damaged_packet(reader), count + 1);
	vl_capture_reader_close(reader);
	return count;
}

static void expect_damaged(const struct image *image, uint64_t packets, const char *wanted)
{
	char message[VL_CAPTURE_MESSAGE_SIZE];
	enum vl_capture_status status;

	CU_ASSERT_EQUAL(read_all(image, image->length, &status, message), packets);
	CU_ASSERT_EQUAL(status, VL_CAPTURE_DAMAGED);
	CU_ASSERT_PTR_NOT_NULL(strstr(message, wanted));
	if (!strstr(message, wanted))
		printf("\"%s\" lacks \"%s\"\n", message, wanted);
}

static const uint8_t data[64] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

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

static void make_pcapng(struct image *image)
{
	static const uint8_t custom[12] = "verbline!";
	uint8_t other[64];

	put_section(image);
	put_interface(image, VL_LINKTYPE_ETHERNET, 9, 0);
	put_interface(image, VL_LINKTYPE_RAW, -1, 0);
	put_packet_block(image, 0, UINT64_C(1700000000123456789), data, 61, 61);
	put32(image, 0xbad); /* a custom block */
	put32(image, 24);
	put(image, custom, 12);
	put32(image, 24);
	put_packet_block(image, 1, UINT64_C(1700000000123456), data, 20, 1500);
	put_section(image); /* forgets the interfaces */
	put_interface(image, VL_LINKTYPE_INFINIBAND, 0x80 | 20, 100);
	put_packet_block(image, 0, UINT64_C(3) << 19, data, 32, 32);
	/* A simple packet block, then an obsolete packet block. */
	put32(image, 3);
	put32(image, 16 + 12);
	put32(image, 10);
	put(image, data, 12);
	put32(image, 16 + 12);
	memcpy(other, data, sizeof(other));
	put32(image, 2);
	put32(image, 32 + 8);
	put16(image, 0);
	put16(image, 77);
	put32(image, 0);
	put32(image, 1 << 20);
	put32(image, 7);
	put32(image, 9);
	put(image, other, 8);
	put32(image, 32 + 8);
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

/* Cut anywhere, a file gives the packets before the cut, and an end only between records. */
static void check_every_cut(const struct image *image, const size_t *ends, unsigned int end_count)
{
	char message[VL_CAPTURE_MESSAGE_SIZE];

	for (size_t length = 0; length < image->length; length++) {
		enum vl_capture_status status;
		uint64_t count = read_all(image, length, &status, message);
		uint64_t wanted = 0;
		bool between = false;

		for (unsigned int i = 0; i < end_count; i++) {
			wanted += i && ends[i] <= length;
			between |= ends[i] == length;
		}
		CU_ASSERT_EQUAL(count, wanted);
		CU_ASSERT_EQUAL(status, between ? VL_CAPTURE_END : VL_CAPTURE_DAMAGED);
		CU_ASSERT(message[0] || between);
	}
}

static void test_cut_pcap(void)
{
	static struct image image;
	size_t ends[4];

	put_pcap_header(&image, 0xa1b2c3d4, 1);
	ends[0] = image.length;
	for (unsigned int i = 1; i < 4; i++) {
		put_pcap_record(&image, i, i, data, 16 * i, 64);
		ends[i] = image.length;
	}
	check_every_cut(&image, ends, 4);
}

static void test_cut_pcapng(void)
{
	static struct image image;
	size_t ends[4];

	put_section(&image);
	put_interface(&image, 1, 9, 5);
	ends[0] = image.length;
	for (unsigned int i = 1; i < 4; i++) {
		put_packet_block(&image, 0, i, data, 15 * i, 64);
		ends[i] = image.length;
	}
	/* Ends behind the section header and before the interface are ends as well. */
	for (size_t length = 0; length < ends[0]; length++) {
		char message[VL_CAPTURE_MESSAGE_SIZE];
		enum vl_capture_status status;

		CU_ASSERT_EQUAL(read_all(&image, length, &status, message), 0);
		CU_ASSERT_EQUAL(status, length == 28 ? VL_CAPTURE_END : VL_CAPTURE_DAMAGED);
	}
	for (size_t length = ends[0]; length <= ends[3]; length++) {
		char message[VL_CAPTURE_MESSAGE_SIZE];
		enum vl_capture_status status;
		uint64_t count = read_all(&image, length, &status, message);
		unsigned int whole =
			(length >= ends[1]) + (length >= ends[2]) + (length >= ends[3]);

		CU_ASSERT_EQUAL(count, whole);
		CU_ASSERT_EQUAL(status,
				length == ends[whole] ? VL_CAPTURE_END : VL_CAPTURE_DAMAGED);
	}
}

static void test_absurd_pcap(void)
{
	static struct image image;
	size_t base;

	put_pcap_header(&image, 0xa1b2c3d4, 1);
	put_pcap_record(&image, 1, 1, data, 60, 60);
	base = image.length;
	put_pcap_record(&image, 1, 1, data, 60, 60);
	memset(image.bytes + base + 8, 0xff, 4); /* 2^32 - 1 captured bytes */
	expect_damaged(&image, 1,
		       "packet 2, at byte 100: the record claims 4294967295 bytes of packet");
	image.bytes[base + 8] = 1;
	image.bytes[base + 9] = 0;
	image.bytes[base + 10] = 4;
	image.bytes[base + 11] = 0;
	expect_damaged(&image, 1, "claims 262145 bytes");
	image.bytes[base + 8] = 0; /* the longest allowed, but not there */
	expect_damaged(&image, 1, "the file ends after 60 of the packet's 262144 bytes");
}

static void test_absurd_pcapng(void)
{
	static struct image image;
	size_t section, base;
	static const struct {
		size_t offset;
		uint32_t value;
		const char *message;
	} cases[] = {
		{4, 0, "a length of 0 is impossible"},
		{4, 31, "a length of 31 is impossible"},
		{4, 93, "a length of 93 is impossible"},
		{4, 0xfffffffc, "a length of 4294967292 is impossible"},
		{4, 96, "the file ends after 92 of the block's 96 bytes"},
		{4, 88, "the lengths before and after a packet differ: 88 and "},
		{8, 1, "names interface 1, but the section describes 1"},
		{20, 61, "claims 61 bytes of packet"},
		{20, UINT32_MAX, "claims 4294967295 bytes of packet"},
		{88, 7, "the lengths before and after a packet differ: 92 and 7"},
		{0, 0x77777777, NULL}, /* an unknown block */
	};

	put_section(&image);
	section = image.length;
	put_interface(&image, 1, 9, 0);
	put_packet_block(&image, 0, 1, data, 60, 60);
	base = image.length;
	put_packet_block(&image, 0, 1, data, 60, 60);
	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t saved;

		memcpy(&saved, image.bytes + base + cases[i].offset, 4);
		memcpy(image.bytes + base + cases[i].offset, &cases[i].value, 4);
		if (cases[i].message) {
			expect_damaged(&image, 1, cases[i].message);
		} else {
			char message[VL_CAPTURE_MESSAGE_SIZE];
			enum vl_capture_status status;

			CU_ASSERT_EQUAL(read_all(&image, image.length, &status, message), 1);
			CU_ASSERT_EQUAL(status, VL_CAPTURE_END);
		}
		memcpy(image.bytes + base + cases[i].offset, &saved, 4);
	}
	memset(image.bytes + base, 0x77, 4);
	memset(image.bytes + base + 4, 0xfc, 4); /* an unknown block longer than the file */
	expect_damaged(&image, 1, "packet 2, at byte 152: the file ends after 92 of the block's");
	image.bytes[section + 16 + 4] = 0xff; /* the resolution 2^-127 */
	expect_damaged(&image, 0, "finer than any clock's");
	image.bytes[section + 16 + 2] = 0xff; /* the option's length */
	expect_damaged(&image, 0, "option 9 of an interface description is longer than the block");
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

static void test_refused(void)
{
	static struct image image;
	char message[VL_CAPTURE_MESSAGE_SIZE];

	expect_refused(&image, "the file is empty");
	CU_ASSERT_PTR_NULL(vl_capture_reader_open("/", message));
	CU_ASSERT_STRING_EQUAL(message, "Is a directory");
	CU_ASSERT_PTR_NULL(vl_capture_reader_open("/nonexistent/file", message));
	CU_ASSERT_STRING_EQUAL(message, "No such file or directory");
	put(&image, "\x1f\x8b\x08\x00", 4);
	expect_refused(&image, "compressed with gzip");
	image.length = 0;
	put(&image, "hello, world", 12);
	expect_refused(&image, "neither pcap nor pcapng");
	image.length = 0;
	put(&image, "\xd4", 1);
	expect_refused(&image, "neither pcap nor pcapng");
	image.length = 0;
	put_pcap_header(&image, 0xa1b2cd34, 1);
	expect_refused(&image, "a modified pcap");
	image.length = 0;
	put_pcap_header(&image, 0xa1b2c3d4, 1);
	image.bytes[6] = 3;
	expect_refused(&image, "pcap version 2.3 is not supported");
	image.length = 23;
	expect_refused(&image, "after 23 of the 24 bytes of its pcap header");
	image.length = 0;
	put_section(&image);
	image.bytes[8] = 0;
	expect_refused(&image, "byte order mark");
	image.length = 0;
	put_section(&image);
	image.bytes[12] = 2;
	expect_refused(&image, "pcapng version 2 is not supported");
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
	{"cut_pcap", test_cut_pcap},
	{"cut_pcapng", test_cut_pcapng},
	{"absurd_pcap", test_absurd_pcap},
	{"absurd_pcapng", test_absurd_pcapng},
	{"many_interfaces", test_many_interfaces},
	{"large_packets", test_large_packets},
	{"refused", test_refused},
	{"pipe", test_pipe},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("capture_reader", tests, argc, argv);
}
