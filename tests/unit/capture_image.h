/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Captures, built byte by byte in memory, and read from there. */
#ifndef VERBLINE_TESTS_CAPTURE_IMAGE_H
#define VERBLINE_TESTS_CAPTURE_IMAGE_H

#include "dataplane/capture/reader.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct image {
	uint8_t bytes[1 << 16];
	size_t length;
	bool swapped;
};

static inline void put(struct image *image, const void *bytes, size_t length)
{
	CU_ASSERT_FATAL(image->length + length <= sizeof(image->bytes));
	memcpy(image->bytes + image->length, bytes, length);
	image->length += length;
}

static inline void put16(struct image *image, uint16_t value)
{
	value = image->swapped ? __builtin_bswap16(value) : value;
	put(image, &value, sizeof(value));
}

static inline void put32(struct image *image, uint32_t value)
{
	value = image->swapped ? __builtin_bswap32(value) : value;
	put(image, &value, sizeof(value));
}

static inline void put64(struct image *image, uint64_t value)
{
	value = image->swapped ? __builtin_bswap64(value) : value;
	put(image, &value, sizeof(value));
}

static inline void put_pcap_header(struct image *image, uint32_t magic, uint32_t link_type)
{
	put32(image, magic);
	put16(image, 2);
	put16(image, 4);
	put32(image, 0);
	put32(image, 0);
	put32(image, 262144);
	put32(image, link_type);
}

static inline void put_pcap_record(struct image *image, uint32_t seconds, uint32_t fraction,
				   const void *data, uint32_t captured, uint32_t original)
{
	put32(image, seconds);
	put32(image, fraction);
	put32(image, captured);
	put32(image, original);
	put(image, data, captured);
}

static inline void put_section(struct image *image)
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
static inline void put_interface(struct image *image, uint16_t link_type, int resolution,
				 int64_t offset)
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

static inline void put_packet_block(struct image *image, uint32_t interface, uint64_t timestamp,
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
static inline const char *as_file(const struct image *image, size_t length, int *descriptor)
{
	static char path[64];

	*descriptor = memfd_create("capture", 0);
	CU_ASSERT_FATAL(*descriptor >= 0);
	CU_ASSERT_FATAL(write(*descriptor, image->bytes, length) == (ssize_t)length);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", *descriptor);
	return path;
}

static inline struct vl_capture_reader *open_image(const struct image *image, size_t length,
						   char *message)
{
	int descriptor;
	struct vl_capture_reader *reader;

	reader = vl_capture_reader_open(as_file(image, length, &descriptor), message);
	close(descriptor);
	return reader;
}

/* Reads to the end; returns the number of packets. */
static inline uint64_t read_all(const struct image *image, size_t length,
				enum vl_capture_status *status, char *message)
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

static const uint8_t data[64] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

static inline void make_pcapng(struct image *image)
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

#endif
