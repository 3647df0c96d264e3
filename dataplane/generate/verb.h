/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The requests that traffic consists of. */
#ifndef VERBLINE_GENERATE_VERB_H
#define VERBLINE_GENERATE_VERB_H

#include <infiniband/verbs.h>
#include <stdbool.h>

/* X(enumerator, name): requests the sender posts. */
#define VL_FLOW_VERBS(X)                                                                           \
	X(SEND, "send")                                                                            \
	X(SEND_IMM, "send_imm")                                                                    \
	X(WRITE, "write")                                                                          \
	X(WRITE_IMM, "write_imm")                                                                  \
	X(READ, "read")                                                                            \
	X(COMPARE_SWAP, "compare_swap")                                                            \
	X(FETCH_ADD, "fetch_add")

enum vl_flow_verb {
#define VL_FLOW_VERB_VALUE(enumerator, name) VL_FLOW_##enumerator,
	VL_FLOW_VERBS(VL_FLOW_VERB_VALUE)
#undef VL_FLOW_VERB_VALUE
		VL_FLOW_VERB_COUNT
};

/* Bytes of an atomic. */
#define VL_FLOW_ATOMIC_SIZE 8u

static inline bool vl_flow_verb_is_atomic(enum vl_flow_verb verb)
{
	return verb == VL_FLOW_COMPARE_SWAP || verb == VL_FLOW_FETCH_ADD;
}

/* Data comes to the requester. */
static inline bool vl_flow_verb_takes_in(enum vl_flow_verb verb)
{
	return verb >= VL_FLOW_READ;
}

/* Uses up a receive at the responder. */
static inline bool vl_flow_verb_takes_receive(enum vl_flow_verb verb)
{
	return verb == VL_FLOW_SEND || verb == VL_FLOW_SEND_IMM || verb == VL_FLOW_WRITE_IMM;
}

/* What a transport (RC, UC, UD) does not offer of a verb, as text for people; NULL: it has it. */
const char *vl_flow_verb_error(enum ibv_qp_type transport, enum vl_flow_verb verb);

#endif
