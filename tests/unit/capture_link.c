/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/capture/link.h"
#include "tests/support/suite.h"

#include <string.h>

static struct vl_capture_frame erf_record(uint8_t type, uint32_t record_length,
					  uint32_t wire_length, uint32_t captured)
{
	static uint8_t record[256];

	memset(record, 0xaa, sizeof(record));
	record[8] = type;
	record[10] = (uint8_t)(record_length >> 8);
	record[11] = (uint8_t)record_length;
	record[14] = (uint8_t)(wire_length >> 8);
	record[15] = (uint8_t)wire_length;
	record[16] = 0x80; /* an extension header, and another one if the type says so */
	record[24] = 0x00;
	return vl_capture_frame_of(VL_LINKTYPE_ERF, record, captured, captured);
}

static void expect(struct vl_capture_frame frame, enum vl_link_type link, uint32_t length,
		   uint32_t wire_length)
{
	CU_ASSERT_EQUAL(frame.kind, VL_CAPTURE_FRAME_parseable);
	CU_ASSERT_EQUAL(frame.link, link);
	CU_ASSERT_EQUAL(frame.length, length);
	CU_ASSERT_EQUAL(frame.wire_length, wire_length);
}

static void test_plain(void)
{
	static const uint8_t data[64];

	expect(vl_capture_frame_of(1, data, 60, 64), VL_LINK_ETHERNET, 60, 64);
	expect(vl_capture_frame_of(101, data, 60, 64), VL_LINK_IP, 60, 64);
	expect(vl_capture_frame_of(228, data, 60, 64), VL_LINK_IP, 60, 64);
	expect(vl_capture_frame_of(229, data, 60, 64), VL_LINK_IP, 60, 64);
	expect(vl_capture_frame_of(247, data, 0, 64), VL_LINK_INFINIBAND, 0, 64);
	CU_ASSERT_EQUAL(vl_capture_frame_of(105, data, 60, 64).kind,
			VL_CAPTURE_FRAME_link_type_unsupported);
}

static void test_linux_cooked(void)
{
	uint8_t data[64] = {0};

	data[14] = 0x08;
	expect(vl_capture_frame_of(113, data, 60, 64), VL_LINK_IP, 44, 48);
	data[14] = 0x86;
	data[15] = 0xdd;
	expect(vl_capture_frame_of(113, data, 16, 64), VL_LINK_IP, 0, 48);
	CU_ASSERT_EQUAL(vl_capture_frame_of(113, data, 15, 64).kind, VL_CAPTURE_FRAME_cooked_short);
	data[15] = 0x06;
	CU_ASSERT_EQUAL(vl_capture_frame_of(113, data, 60, 64).kind, VL_CAPTURE_FRAME_sll_not_ip);
	data[0] = 0x86;
	data[1] = 0xdd;
	expect(vl_capture_frame_of(276, data, 60, 64), VL_LINK_IP, 40, 44);
}

static void test_erf(void)
{
	expect(erf_record(21, 72, 56, 72), VL_LINK_INFINIBAND, 56, 56);
	expect(erf_record(21, 72, 50, 72), VL_LINK_INFINIBAND, 50, 50); /* padded */
	expect(erf_record(25, 24, 6, 24), VL_LINK_INFINIBAND, 6, 6);
	expect(erf_record(25, 24, 8, 24), VL_LINK_INFINIBAND, 6, 6); /* padding that is counted */
	expect(erf_record(25, 64, 48, 64), VL_LINK_INFINIBAND, 6, 6);
	expect(erf_record(25, 20, 6, 20), VL_LINK_INFINIBAND, 4, 6);
	expect(erf_record(21, 72, 1000, 72), VL_LINK_INFINIBAND, 56, 1000); /* cut by the card */
	expect(erf_record(21, 72, 56, 60), VL_LINK_INFINIBAND, 44, 56);     /* cut by the capture */
	expect(erf_record(21 | 0x80, 88, 56, 88), VL_LINK_INFINIBAND, 56, 56);
	expect(erf_record(2, 80, 64, 80), VL_LINK_ETHERNET, 62, 64);
	expect(erf_record(16, 18, 64, 80), VL_LINK_ETHERNET, 0, 64);
	expect(erf_record(22, 80, 64, 80), VL_LINK_IP, 64, 64);
	CU_ASSERT_EQUAL(erf_record(1, 80, 64, 80).kind, VL_CAPTURE_FRAME_erf_type_unsupported);
	CU_ASSERT_EQUAL(erf_record(21, 15, 64, 80).kind, VL_CAPTURE_FRAME_erf_damaged);
	CU_ASSERT_EQUAL(erf_record(21 | 0x80, 31, 64, 80).kind, VL_CAPTURE_FRAME_erf_damaged);
	CU_ASSERT_EQUAL(erf_record(2, 17, 64, 80).kind, VL_CAPTURE_FRAME_erf_damaged);
	for (uint32_t captured = 0; captured < 16; captured++)
		CU_ASSERT_EQUAL(erf_record(21, 80, 64, captured).kind,
				VL_CAPTURE_FRAME_cooked_short);
	for (uint32_t captured = 16; captured < 32; captured++)
		CU_ASSERT_EQUAL(erf_record(21 | 0x80, 80, 64, captured).kind,
				VL_CAPTURE_FRAME_cooked_short);
	CU_ASSERT_EQUAL(erf_record(2, 80, 64, 17).kind, VL_CAPTURE_FRAME_cooked_short);
}

static void test_names(void)
{
	CU_ASSERT_STRING_EQUAL(vl_capture_frame_kind_name(VL_CAPTURE_FRAME_erf_damaged),
			       "erf_damaged");
	CU_ASSERT_STRING_EQUAL(vl_capture_frame_kind_name(VL_CAPTURE_FRAME_KIND_COUNT), "unknown");
}

static const struct test tests[] = {
	{"plain", test_plain},
	{"linux_cooked", test_linux_cooked},
	{"erf", test_erf},
	{"names", test_names},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("capture_link", tests, argc, argv);
}
