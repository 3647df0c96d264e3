/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Frames that a hostile peer sends: each right up to its ICRC, but for what it is made for. */
#ifndef VERBLINE_SOAK_HOSTILE_H
#define VERBLINE_SOAK_HOSTILE_H

#include "transport/random.h"
#include "transport/verbline.h"

#include <stdint.h>

#define HOSTILE_FRAME 4400u

/* X(enumerator, what it is) */
#define HOSTILE_KINDS(X)                                                                           \
	X(GARBAGE, "bytes at random")                                                              \
	X(BENT, "a right frame with a bit turned")                                                 \
	X(UNKNOWN_QP, "for a queue pair that there is not")                                        \
	X(WRONG_SOURCE, "for another's queue pair, from an address that is not its peer's")        \
	X(WRONG_TARGET, "for another MAC or IP address")                                           \
	X(WRONG_VERSION, "of another transport version, or a reserved opcode")                     \
	X(FORGED_CNP, "a CNP for a queue pair of others, or of nobody")                            \
	X(OWN_CNP, "CNPs for an own queue pair, as many as come")                                  \
	X(FALSE_ACK, "an ACK of what was not sent, or a NAK of any kind")                          \
	X(GUESSED_KEY, "a WRITE, READ or ATOMIC with a key, or to a place, that was not granted")  \
	X(FUZZED, "any opcode, any fields, near to right ones")                                    \
	X(MAD, "a management datagram: CM messages at random, and others")                         \
	X(MAC_CONTROL, "MAC control that is none")

enum hostile_kind {
#define HOSTILE_VALUE(name, meaning) HOSTILE_##name,
	HOSTILE_KINDS(HOSTILE_VALUE)
#undef HOSTILE_VALUE
		HOSTILE_KIND_COUNT
};

/* What the attacker knows: hosts as in tests/support/hosts.h. */
struct hostile_target {
	uint16_t victim, attacker;
	uint32_t others_qpn; /* a queue pair that is not the attacker's */
	/* One that is. */
	enum ibv_qp_type type;
	uint32_t qpn, expected_psn, sent_psn;
	uint32_t rkey, others_rkey;
	uint64_t address, others_address;
	uint32_t length; /* granted */
};

/* Writes a frame of a kind; returns its length. */
uint32_t hostile_frame(struct vl_random *random, enum hostile_kind kind,
		       const struct hostile_target *target, uint8_t frame[HOSTILE_FRAME]);
const char *hostile_kind_name(enum hostile_kind kind);

#endif
