/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Captures that are cut at every byte, spoiled, or none at all. */

#include "tests/unit/capture_image.h"

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

static const struct test tests[] = {
	{"cut_pcap", test_cut_pcap},       {"cut_pcapng", test_cut_pcapng},
	{"absurd_pcap", test_absurd_pcap}, {"absurd_pcapng", test_absurd_pcapng},
	{"refused", test_refused},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("capture_damaged", tests, argc, argv);
}
