/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "tests/support/suite.h"
#include "transport/wire/opcode.h"

#include <stdbool.h>
#include <string.h>

/* Written down once more, by number, from IBTA table 38, A17.9.3 and A19: an entry of the table
 * that slipped does not slip here too. Extension headers by letter, in their order on the wire:
 * E RDETH 4, D DETH 8, X XRCETH 4, F FETH 4, R RETH 16, A AtomicETH 28, S AETH 4, O AtomicAckETH
 * 8, I ImmDt 4, V IETH 4. */
static const struct {
	uint8_t opcode;
	const char *name;
	const char *extensions;
} expected[] = {
	{0x00, "RC SEND First", ""},
	{0x01, "RC SEND Middle", ""},
	{0x02, "RC SEND Last", ""},
	{0x03, "RC SEND Last with Immediate", "I"},
	{0x04, "RC SEND Only", ""},
	{0x05, "RC SEND Only with Immediate", "I"},
	{0x06, "RC RDMA WRITE First", "R"},
	{0x07, "RC RDMA WRITE Middle", ""},
	{0x08, "RC RDMA WRITE Last", ""},
	{0x09, "RC RDMA WRITE Last with Immediate", "I"},
	{0x0a, "RC RDMA WRITE Only", "R"},
	{0x0b, "RC RDMA WRITE Only with Immediate", "RI"},
	{0x0c, "RC RDMA READ Request", "R"},
	{0x0d, "RC RDMA READ Response First", "S"},
	{0x0e, "RC RDMA READ Response Middle", ""},
	{0x0f, "RC RDMA READ Response Last", "S"},
	{0x10, "RC RDMA READ Response Only", "S"},
	{0x11, "RC Acknowledge", "S"},
	{0x12, "RC ATOMIC Acknowledge", "SO"},
	{0x13, "RC CmpSwap", "A"},
	{0x14, "RC FetchAdd", "A"},
	{0x16, "RC SEND Last with Invalidate", "V"},
	{0x17, "RC SEND Only with Invalidate", "V"},
	{0x1c, "RC FLUSH", "FR"},
	{0x1d, "RC ATOMIC WRITE", "R"},
	{0x20, "UC SEND First", ""},
	{0x21, "UC SEND Middle", ""},
	{0x22, "UC SEND Last", ""},
	{0x23, "UC SEND Last with Immediate", "I"},
	{0x24, "UC SEND Only", ""},
	{0x25, "UC SEND Only with Immediate", "I"},
	{0x26, "UC RDMA WRITE First", "R"},
	{0x27, "UC RDMA WRITE Middle", ""},
	{0x28, "UC RDMA WRITE Last", ""},
	{0x29, "UC RDMA WRITE Last with Immediate", "I"},
	{0x2a, "UC RDMA WRITE Only", "R"},
	{0x2b, "UC RDMA WRITE Only with Immediate", "RI"},
	{0x40, "RD SEND First", "ED"},
	{0x41, "RD SEND Middle", "ED"},
	{0x42, "RD SEND Last", "ED"},
	{0x43, "RD SEND Last with Immediate", "EDI"},
	{0x44, "RD SEND Only", "ED"},
	{0x45, "RD SEND Only with Immediate", "EDI"},
	{0x46, "RD RDMA WRITE First", "EDR"},
	{0x47, "RD RDMA WRITE Middle", "ED"},
	{0x48, "RD RDMA WRITE Last", "ED"},
	{0x49, "RD RDMA WRITE Last with Immediate", "EDI"},
	{0x4a, "RD RDMA WRITE Only", "EDR"},
	{0x4b, "RD RDMA WRITE Only with Immediate", "EDRI"},
	{0x4c, "RD RDMA READ Request", "EDR"},
	{0x4d, "RD RDMA READ Response First", "ES"},
	{0x4e, "RD RDMA READ Response Middle", "E"},
	{0x4f, "RD RDMA READ Response Last", "ES"},
	{0x50, "RD RDMA READ Response Only", "ES"},
	{0x51, "RD Acknowledge", "ES"},
	{0x52, "RD ATOMIC Acknowledge", "ESO"},
	{0x53, "RD CmpSwap", "EDA"},
	{0x54, "RD FetchAdd", "EDA"},
	{0x55, "RD RESYNC", "ED"},
	{0x5c, "RD FLUSH", "EDFR"},
	{0x64, "UD SEND Only", "D"},
	{0x65, "UD SEND Only with Immediate", "DI"},
	{0x80, "CN", ""},
	{0x81, "CNP", ""},
	{0xa0, "XRC SEND First", "X"},
	{0xa1, "XRC SEND Middle", "X"},
	{0xa2, "XRC SEND Last", "X"},
	{0xa3, "XRC SEND Last with Immediate", "XI"},
	{0xa4, "XRC SEND Only", "X"},
	{0xa5, "XRC SEND Only with Immediate", "XI"},
	{0xa6, "XRC RDMA WRITE First", "XR"},
	{0xa7, "XRC RDMA WRITE Middle", "X"},
	{0xa8, "XRC RDMA WRITE Last", "X"},
	{0xa9, "XRC RDMA WRITE Last with Immediate", "XI"},
	{0xaa, "XRC RDMA WRITE Only", "XR"},
	{0xab, "XRC RDMA WRITE Only with Immediate", "XRI"},
	{0xac, "XRC RDMA READ Request", "XR"},
	{0xad, "XRC RDMA READ Response First", "S"},
	{0xae, "XRC RDMA READ Response Middle", ""},
	{0xaf, "XRC RDMA READ Response Last", "S"},
	{0xb0, "XRC RDMA READ Response Only", "S"},
	{0xb1, "XRC Acknowledge", "S"},
	{0xb2, "XRC ATOMIC Acknowledge", "SO"},
	{0xb3, "XRC CmpSwap", "XA"},
	{0xb4, "XRC FetchAdd", "XA"},
	{0xb6, "XRC SEND Last with Invalidate", "XV"},
	{0xb7, "XRC SEND Only with Invalidate", "XV"},
	{0xbd, "XRC ATOMIC WRITE", "XR"},
};

static const struct {
	char letter;
	uint32_t flag;
	uint32_t length;
} extensions[] = {
	{'E', VL_OPCODE_RDETH, 4}, {'D', VL_OPCODE_DETH, 8},         {'X', VL_OPCODE_XRCETH, 4},
	{'F', VL_OPCODE_FETH, 4},  {'R', VL_OPCODE_RETH, 16},        {'A', VL_OPCODE_ATOMICETH, 28},
	{'S', VL_OPCODE_AETH, 4},  {'O', VL_OPCODE_ATOMICACKETH, 8}, {'I', VL_OPCODE_IMMDT, 4},
	{'V', VL_OPCODE_IETH, 4},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void test_names(void)
{
	for (size_t i = 0; i < COUNT(expected); i++)
		CU_ASSERT_STRING_EQUAL(vl_opcode_table[expected[i].opcode].name, expected[i].name);
}

static void test_extension_headers(void)
{
	for (size_t i = 0; i < COUNT(expected); i++) {
		const struct vl_opcode_info *info = &vl_opcode_table[expected[i].opcode];
		uint32_t length = 0;

		for (size_t k = 0; k < COUNT(extensions); k++) {
			bool has = strchr(expected[i].extensions, extensions[k].letter);

			CU_ASSERT_EQUAL(!!(info->flags & extensions[k].flag), has);
			length += has ? extensions[k].length : 0;
		}
		CU_ASSERT_EQUAL(info->extension_length, length);
	}
}

static void test_everything_else_is_reserved(void)
{
	bool listed[256] = {false};

	for (size_t i = 0; i < COUNT(expected); i++)
		listed[expected[i].opcode] = true;
	for (unsigned int i = 0; i < 256; i++) {
		const struct vl_opcode_info *info = &vl_opcode_table[i];

		CU_ASSERT_PTR_NOT_NULL_FATAL(info->name);
		CU_ASSERT_EQUAL(!!(info->flags & VL_OPCODE_VALID), listed[i]);
		if (listed[i])
			continue;
		CU_ASSERT_EQUAL(info->flags, 0);
		CU_ASSERT_EQUAL(info->extension_length, 0);
		CU_ASSERT_STRING_EQUAL(info->name, i < 0xc0 ? "reserved" : "manufacturer specific");
	}
}

/* The name says the kind and the position: every flag must agree with it. */
static void test_flags_agree_with_names(void)
{
	for (size_t i = 0; i < COUNT(expected); i++) {
		const char *name = expected[i].name;
		uint32_t flags = vl_opcode_table[expected[i].opcode].flags;
		bool notification = !strncmp(name, "CN", 2);
		bool response = strstr(name, "Response") || strstr(name, "Acknowledge");
		bool first = strstr(name, "First"), middle = strstr(name, "Middle");
		bool last = strstr(name, "Last");
		bool only = !first && !middle && !last && !notification;
		bool send = strstr(name, "SEND"), write = strstr(name, "RDMA WRITE");
		bool read = strstr(name, "READ");
		bool immediate = strstr(name, "Immediate");

		CU_ASSERT_EQUAL(!!(flags & VL_OPCODE_NOTIFICATION), notification);
		CU_ASSERT_EQUAL(!!(flags & VL_OPCODE_RESPONSE), response);
		CU_ASSERT_EQUAL(!!(flags & VL_OPCODE_REQUEST), !response && !notification);
		CU_ASSERT_EQUAL(!!(flags & VL_OPCODE_FIRST), first || only);
		CU_ASSERT_EQUAL(!!(flags & VL_OPCODE_LAST), last || only);
		CU_ASSERT_EQUAL(!!(flags & VL_OPCODE_SEND), send);
		CU_ASSERT_EQUAL(!!(flags & VL_OPCODE_WRITE), write);
		CU_ASSERT_EQUAL(!!(flags & VL_OPCODE_READ), read);
		CU_ASSERT_EQUAL(!!(flags & VL_OPCODE_ATOMIC), strstr(name, "ATOMIC Ack") ||
								      strstr(name, "CmpSwap") ||
								      strstr(name, "FetchAdd"));
		CU_ASSERT_EQUAL(!!(flags & VL_OPCODE_IS_FLUSH), !!strstr(name, "FLUSH"));
		CU_ASSERT_EQUAL(!!(flags & VL_OPCODE_IS_ATOMIC_WRITE),
				!!strstr(name, "ATOMIC WRITE"));
		CU_ASSERT_EQUAL(!!(flags & VL_OPCODE_PAYLOAD),
				send || write || (read && response) || notification ||
					strstr(name, "ATOMIC WRITE"));
		CU_ASSERT_EQUAL(!!(flags & VL_OPCODE_RECEIVE),
				(send && (last || only)) || (write && immediate));
	}
}

static void test_service_and_operation(void)
{
	CU_ASSERT_EQUAL(vl_opcode_service(0x17), VL_SERVICE_RC);
	CU_ASSERT_EQUAL(vl_opcode_service(0x2b), VL_SERVICE_UC);
	CU_ASSERT_EQUAL(vl_opcode_service(0x55), VL_SERVICE_RD);
	CU_ASSERT_EQUAL(vl_opcode_service(0x64), VL_SERVICE_UD);
	CU_ASSERT_EQUAL(vl_opcode_service(VL_OPCODE_CNP), VL_SERVICE_CNP);
	CU_ASSERT_EQUAL(vl_opcode_service(0xa4), VL_SERVICE_XRC);
	CU_ASSERT_EQUAL(vl_opcode_operation(0xb7), VL_OP_SEND_ONLY_INVALIDATE);
	CU_ASSERT_EQUAL(vl_opcode_operation(0x1d), VL_OP_ATOMIC_WRITE);
}

static const struct test tests[] = {
	{"names", test_names},
	{"extension_headers", test_extension_headers},
	{"everything_else_is_reserved", test_everything_else_is_reserved},
	{"flags_agree_with_names", test_flags_agree_with_names},
	{"service_and_operation", test_service_and_operation},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("wire_opcode", tests, argc, argv);
}
