/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What happened at one packet. */
#ifndef VERBLINE_INSPECT_EVENT_H
#define VERBLINE_INSPECT_EVENT_H

#include <stdint.h>

struct inspect_flow;

/* Events kept of a kind; all are counted. */
#define INSPECT_EVENTS_OF_A_KIND 1000
#define INSPECT_NO_EVENT         UINT32_MAX

enum inspect_cause {
	INSPECT_CAUSE_TIMEOUT,  /* nothing else was seen that could be the reason */
	INSPECT_CAUSE_NAK,      /* a sequence NAK */
	INSPECT_CAUSE_RNR,      /* an RNR NAK */
	INSPECT_CAUSE_ANSWERED, /* was answered: too late, or the answer was lost */
	INSPECT_CAUSE_RESPONSE, /* part of a READ response was missing */
	INSPECT_CAUSE_COUNT,
};

/* What is behind a sequence NAK. */
enum inspect_loss {
	INSPECT_LOST_BEFORE,  /* the packet never reached the point of capture */
	INSPECT_LOST_BEHIND,  /* it passed there, and did not reach the responder */
	INSPECT_OUT_OF_ORDER, /* it came late, or too early and was dropped */
	INSPECT_BEHIND_RNR,   /* it followed a request that was refused by an RNR NAK */
};

#define INSPECT_EVENT_KINDS(X)                                                                     \
	X(icrc_wrong, "a wrong ICRC")                                                              \
	X(vcrc_wrong, "a wrong VCRC")                                                              \
	X(lpcrc_wrong, "a link packet with a wrong LPCRC")                                         \
	X(retransmission, "requests sent again")                                                   \
	X(duplicate, "a copy of a packet")                                                         \
	X(reordered, "a packet behind its successors")                                             \
	X(gap, "PSNs that were skipped")                                                           \
	X(nak, "a NAK")                                                                            \
	X(rnr, "a receiver-not-ready NAK")                                                         \
	X(response_gap, "READ responses that are missing")                                         \
	X(order_error, "an opcode that may not follow the one before")                             \
	X(restart, "a new connection on the same QP")

enum inspect_event_kind {
#define INSPECT_EVENT_VALUE(name, meaning) INSPECT_EVENT_##name,
	INSPECT_EVENT_KINDS(INSPECT_EVENT_VALUE)
#undef INSPECT_EVENT_VALUE
		INSPECT_EVENT_KIND_COUNT
};

struct inspect_event {
	enum inspect_event_kind kind;
	uint64_t packet, time;
	const struct inspect_flow *flow; /* whose packet it is; NULL: none known */
	uint32_t psn;
	uint32_t count;           /* packets or PSNs; of a run that may still be going on */
	uint8_t opcode, syndrome; /* of the packet */
	enum inspect_cause cause; /* of a retransmission */
	enum inspect_loss loss;   /* that a sequence NAK tells of */
	uint64_t cause_packet;    /* what it answers or repeats; 0: not in the capture */
	uint64_t trigger_packet;  /* sequence NAK: what showed the loss; 0: not known */
	uint64_t silence;         /* ns from the cause to this packet */
	uint32_t expected, found; /* CRCs */
};

#endif
