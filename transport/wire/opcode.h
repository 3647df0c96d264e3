/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * The opcode table: the one place that says what each BTH opcode is and which extension
 * headers follow. Parser, builder, responder and inspector read it. IBTA 9.2.1 table 38,
 * A17.9.3 (CNP), A19 (FLUSH, ATOMIC WRITE).
 */
#ifndef VERBLINE_WIRE_OPCODE_H
#define VERBLINE_WIRE_OPCODE_H

#include <stdint.h>

enum vl_service {
	VL_SERVICE_RC = 0x00,
	VL_SERVICE_UC = 0x20,
	VL_SERVICE_RD = 0x40,
	VL_SERVICE_UD = 0x60,
	VL_SERVICE_CNP = 0x80,
	VL_SERVICE_XRC = 0xa0,
};

/* Lower five bits of the opcode. */
enum vl_operation {
	VL_OP_SEND_FIRST = 0x00,
	VL_OP_SEND_MIDDLE = 0x01,
	VL_OP_SEND_LAST = 0x02,
	VL_OP_SEND_LAST_IMM = 0x03,
	VL_OP_SEND_ONLY = 0x04,
	VL_OP_SEND_ONLY_IMM = 0x05,
	VL_OP_WRITE_FIRST = 0x06,
	VL_OP_WRITE_MIDDLE = 0x07,
	VL_OP_WRITE_LAST = 0x08,
	VL_OP_WRITE_LAST_IMM = 0x09,
	VL_OP_WRITE_ONLY = 0x0a,
	VL_OP_WRITE_ONLY_IMM = 0x0b,
	VL_OP_READ_REQUEST = 0x0c,
	VL_OP_READ_RESPONSE_FIRST = 0x0d,
	VL_OP_READ_RESPONSE_MIDDLE = 0x0e,
	VL_OP_READ_RESPONSE_LAST = 0x0f,
	VL_OP_READ_RESPONSE_ONLY = 0x10,
	VL_OP_ACKNOWLEDGE = 0x11,
	VL_OP_ATOMIC_ACKNOWLEDGE = 0x12,
	VL_OP_COMPARE_SWAP = 0x13,
	VL_OP_FETCH_ADD = 0x14,
	VL_OP_RESYNC = 0x15, /* RD only */
	VL_OP_SEND_LAST_INVALIDATE = 0x16,
	VL_OP_SEND_ONLY_INVALIDATE = 0x17,
	VL_OP_FLUSH = 0x1c,
	VL_OP_ATOMIC_WRITE = 0x1d,
};

/* What follows the BTH of these is reserved: 16 bytes in a CNP. The table has them as payload. */
#define VL_OPCODE_CNP 0x81 /* RoCEv2, A17.9.3 */
#define VL_OPCODE_CN  0x80 /* InfiniBand congestion notification, annex A10 */

enum vl_opcode_flag {
	/* Kind */
	VL_OPCODE_VALID = 1u << 0,
	VL_OPCODE_REQUEST = 1u << 1,
	VL_OPCODE_RESPONSE = 1u << 2,
	VL_OPCODE_SEND = 1u << 3,
	VL_OPCODE_WRITE = 1u << 4,
	VL_OPCODE_READ = 1u << 5,   /* request or response */
	VL_OPCODE_ATOMIC = 1u << 6, /* CMP_SWAP, FETCH_ADD and their ACK */
	VL_OPCODE_IS_FLUSH = 1u << 7,
	VL_OPCODE_IS_ATOMIC_WRITE = 1u << 8,
	/* Position: FIRST and LAST both set for an "only" packet */
	VL_OPCODE_FIRST = 1u << 9,
	VL_OPCODE_LAST = 1u << 10,
	/* Content */
	VL_OPCODE_PAYLOAD = 1u << 11,      /* may carry payload */
	VL_OPCODE_RECEIVE = 1u << 12,      /* consumes a receive work request (at its end) */
	VL_OPCODE_NOTIFICATION = 1u << 13, /* CNP, CN */
	/* Extension headers */
	VL_OPCODE_RDETH = 1u << 16,
	VL_OPCODE_DETH = 1u << 17,
	VL_OPCODE_XRCETH = 1u << 18,
	VL_OPCODE_RETH = 1u << 19,
	VL_OPCODE_ATOMICETH = 1u << 20,
	VL_OPCODE_AETH = 1u << 21,
	VL_OPCODE_ATOMICACKETH = 1u << 22,
	VL_OPCODE_IMMDT = 1u << 23,
	VL_OPCODE_IETH = 1u << 24,
	VL_OPCODE_FETH = 1u << 25,
};

struct vl_opcode_info {
	const char *name;         /* as "RC SEND First"; never NULL */
	uint32_t flags;           /* enum vl_opcode_flag; 0: reserved */
	uint8_t extension_length; /* bytes between the BTH and the payload */
};

extern const struct vl_opcode_info vl_opcode_table[256];

static inline enum vl_service vl_opcode_service(uint8_t opcode)
{
	return (enum vl_service)(opcode & 0xe0);
}

static inline enum vl_operation vl_opcode_operation(uint8_t opcode)
{
	return (enum vl_operation)(opcode & 0x1f);
}

#endif
