/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "transport/wire/opcode.h"

#include "transport/wire/headers.h"

#define EXTENSION_LENGTH(flags)                                                                    \
	(((flags)&VL_OPCODE_RDETH ? sizeof(struct vl_rdeth) : 0) +                                 \
	 ((flags)&VL_OPCODE_DETH ? sizeof(struct vl_deth) : 0) +                                   \
	 ((flags)&VL_OPCODE_XRCETH ? sizeof(struct vl_xrceth) : 0) +                               \
	 ((flags)&VL_OPCODE_FETH ? sizeof(struct vl_feth) : 0) +                                   \
	 ((flags)&VL_OPCODE_RETH ? sizeof(struct vl_reth) : 0) +                                   \
	 ((flags)&VL_OPCODE_ATOMICETH ? sizeof(struct vl_atomic_eth) : 0) +                        \
	 ((flags)&VL_OPCODE_AETH ? sizeof(struct vl_aeth) : 0) +                                   \
	 ((flags)&VL_OPCODE_ATOMICACKETH ? sizeof(struct vl_atomic_ack_eth) : 0) +                 \
	 ((flags)&VL_OPCODE_IMMDT ? sizeof(struct vl_immdt) : 0) +                                 \
	 ((flags)&VL_OPCODE_IETH ? sizeof(struct vl_ieth) : 0))

#define OPCODE(value, name, flags)                                                                 \
	[value] = {name, (uint32_t)(VL_OPCODE_VALID | (flags)), EXTENSION_LENGTH(flags)}

#define RESERVED(first, last) [first... last] = {"reserved", 0, 0}

#define ONLY     (VL_OPCODE_FIRST | VL_OPCODE_LAST)
#define SEND     (VL_OPCODE_REQUEST | VL_OPCODE_SEND | VL_OPCODE_PAYLOAD)
#define WRITE    (VL_OPCODE_REQUEST | VL_OPCODE_WRITE | VL_OPCODE_PAYLOAD)
#define RESPONSE (VL_OPCODE_RESPONSE | VL_OPCODE_READ | VL_OPCODE_PAYLOAD)
#define ATOMIC   (VL_OPCODE_REQUEST | VL_OPCODE_ATOMIC | VL_OPCODE_ATOMICETH | ONLY)

/* common: the extension headers that every request of the service carries. */
#define SENDS_AND_WRITES(service, prefix, common)                                                  \
	OPCODE((service) | VL_OP_SEND_FIRST, prefix " SEND First",                                 \
	       (common) | SEND | VL_OPCODE_FIRST),                                                 \
		OPCODE((service) | VL_OP_SEND_MIDDLE, prefix " SEND Middle", (common) | SEND),     \
		OPCODE((service) | VL_OP_SEND_LAST, prefix " SEND Last",                           \
		       (common) | SEND | VL_OPCODE_LAST | VL_OPCODE_RECEIVE),                      \
		OPCODE((service) | VL_OP_SEND_LAST_IMM, prefix " SEND Last with Immediate",        \
		       (common) | SEND | VL_OPCODE_LAST | VL_OPCODE_RECEIVE | VL_OPCODE_IMMDT),    \
		OPCODE((service) | VL_OP_SEND_ONLY, prefix " SEND Only",                           \
		       (common) | SEND | ONLY | VL_OPCODE_RECEIVE),                                \
		OPCODE((service) | VL_OP_SEND_ONLY_IMM, prefix " SEND Only with Immediate",        \
		       (common) | SEND | ONLY | VL_OPCODE_RECEIVE | VL_OPCODE_IMMDT),              \
		OPCODE((service) | VL_OP_WRITE_FIRST, prefix " RDMA WRITE First",                  \
		       (common) | WRITE | VL_OPCODE_FIRST | VL_OPCODE_RETH),                       \
		OPCODE((service) | VL_OP_WRITE_MIDDLE, prefix " RDMA WRITE Middle",                \
		       (common) | WRITE),                                                          \
		OPCODE((service) | VL_OP_WRITE_LAST, prefix " RDMA WRITE Last",                    \
		       (common) | WRITE | VL_OPCODE_LAST),                                         \
		OPCODE((service) | VL_OP_WRITE_LAST_IMM, prefix " RDMA WRITE Last with Immediate", \
		       (common) | WRITE | VL_OPCODE_LAST | VL_OPCODE_RECEIVE | VL_OPCODE_IMMDT),   \
		OPCODE((service) | VL_OP_WRITE_ONLY, prefix " RDMA WRITE Only",                    \
		       (common) | WRITE | ONLY | VL_OPCODE_RETH),                                  \
		OPCODE((service) | VL_OP_WRITE_ONLY_IMM, prefix " RDMA WRITE Only with Immediate", \
		       (common) | WRITE | ONLY | VL_OPCODE_RECEIVE | VL_OPCODE_RETH |              \
			       VL_OPCODE_IMMDT)

#define READS_AND_ATOMICS(service, prefix, request_common, response_common)                        \
	OPCODE((service) | VL_OP_READ_REQUEST, prefix " RDMA READ Request",                        \
	       (request_common) | VL_OPCODE_REQUEST | VL_OPCODE_READ | ONLY | VL_OPCODE_RETH),     \
		OPCODE((service) | VL_OP_READ_RESPONSE_FIRST, prefix " RDMA READ Response First",  \
		       (response_common) | RESPONSE | VL_OPCODE_FIRST | VL_OPCODE_AETH),           \
		OPCODE((service) | VL_OP_READ_RESPONSE_MIDDLE,                                     \
		       prefix " RDMA READ Response Middle", (response_common) | RESPONSE),         \
		OPCODE((service) | VL_OP_READ_RESPONSE_LAST, prefix " RDMA READ Response Last",    \
		       (response_common) | RESPONSE | VL_OPCODE_LAST | VL_OPCODE_AETH),            \
		OPCODE((service) | VL_OP_READ_RESPONSE_ONLY, prefix " RDMA READ Response Only",    \
		       (response_common) | RESPONSE | ONLY | VL_OPCODE_AETH),                      \
		OPCODE((service) | VL_OP_ACKNOWLEDGE, prefix " Acknowledge",                       \
		       (response_common) | VL_OPCODE_RESPONSE | ONLY | VL_OPCODE_AETH),            \
		OPCODE((service) | VL_OP_ATOMIC_ACKNOWLEDGE, prefix " ATOMIC Acknowledge",         \
		       (response_common) | VL_OPCODE_RESPONSE | VL_OPCODE_ATOMIC | ONLY |          \
			       VL_OPCODE_AETH | VL_OPCODE_ATOMICACKETH),                           \
		OPCODE((service) | VL_OP_COMPARE_SWAP, prefix " CmpSwap",                          \
		       (request_common) | ATOMIC),                                                 \
		OPCODE((service) | VL_OP_FETCH_ADD, prefix " FetchAdd", (request_common) | ATOMIC)

#define INVALIDATES(service, prefix, common)                                                       \
	OPCODE((service) | VL_OP_SEND_LAST_INVALIDATE, prefix " SEND Last with Invalidate",        \
	       (common) | SEND | VL_OPCODE_LAST | VL_OPCODE_RECEIVE | VL_OPCODE_IETH),             \
		OPCODE((service) | VL_OP_SEND_ONLY_INVALIDATE,                                     \
		       prefix " SEND Only with Invalidate",                                        \
		       (common) | SEND | ONLY | VL_OPCODE_RECEIVE | VL_OPCODE_IETH)

#define FLUSH(service, prefix, common)                                                             \
	OPCODE((service) | VL_OP_FLUSH, prefix " FLUSH",                                           \
	       (common) | VL_OPCODE_REQUEST | VL_OPCODE_IS_FLUSH | ONLY | VL_OPCODE_FETH |         \
		       VL_OPCODE_RETH)

#define ATOMIC_WRITE(service, prefix, common)                                                      \
	OPCODE((service) | VL_OP_ATOMIC_WRITE, prefix " ATOMIC WRITE",                             \
	       (common) | VL_OPCODE_REQUEST | VL_OPCODE_IS_ATOMIC_WRITE | ONLY | VL_OPCODE_RETH |  \
		       VL_OPCODE_PAYLOAD)

#define RD_REQUEST (VL_OPCODE_RDETH | VL_OPCODE_DETH)

const struct vl_opcode_info vl_opcode_table[256] = {
	SENDS_AND_WRITES(VL_SERVICE_RC, "RC", 0u),
	READS_AND_ATOMICS(VL_SERVICE_RC, "RC", 0u, 0u),
	RESERVED(0x15, 0x15),
	INVALIDATES(VL_SERVICE_RC, "RC", 0u),
	RESERVED(0x18, 0x1b),
	FLUSH(VL_SERVICE_RC, "RC", 0u),
	ATOMIC_WRITE(VL_SERVICE_RC, "RC", 0u),
	RESERVED(0x1e, 0x1f),

	SENDS_AND_WRITES(VL_SERVICE_UC, "UC", 0u),
	RESERVED(0x2c, 0x3f),

	SENDS_AND_WRITES(VL_SERVICE_RD, "RD", RD_REQUEST),
	READS_AND_ATOMICS(VL_SERVICE_RD, "RD", RD_REQUEST, VL_OPCODE_RDETH),
	OPCODE(VL_SERVICE_RD | VL_OP_RESYNC, "RD RESYNC", RD_REQUEST | VL_OPCODE_REQUEST | ONLY),
	RESERVED(0x56, 0x5b),
	FLUSH(VL_SERVICE_RD, "RD", RD_REQUEST),
	RESERVED(0x5d, 0x63),

	OPCODE(VL_SERVICE_UD | VL_OP_SEND_ONLY, "UD SEND Only",
	       SEND | ONLY | VL_OPCODE_RECEIVE | VL_OPCODE_DETH),
	OPCODE(VL_SERVICE_UD | VL_OP_SEND_ONLY_IMM, "UD SEND Only with Immediate",
	       SEND | ONLY | VL_OPCODE_RECEIVE | VL_OPCODE_DETH | VL_OPCODE_IMMDT),
	RESERVED(0x66, 0x7f),

	OPCODE(VL_OPCODE_CN, "CN", VL_OPCODE_NOTIFICATION | VL_OPCODE_PAYLOAD),
	OPCODE(VL_OPCODE_CNP, "CNP", VL_OPCODE_NOTIFICATION | VL_OPCODE_PAYLOAD),
	RESERVED(0x82, 0x9f),

	SENDS_AND_WRITES(VL_SERVICE_XRC, "XRC", VL_OPCODE_XRCETH),
	READS_AND_ATOMICS(VL_SERVICE_XRC, "XRC", VL_OPCODE_XRCETH, 0u),
	RESERVED(0xb5, 0xb5),
	INVALIDATES(VL_SERVICE_XRC, "XRC", VL_OPCODE_XRCETH),
	RESERVED(0xb8, 0xbc),
	ATOMIC_WRITE(VL_SERVICE_XRC, "XRC", VL_OPCODE_XRCETH),
	RESERVED(0xbe, 0xbf),

	[0xc0 ... 0xff] = {"manufacturer specific", 0, 0},
};
