/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Traffic written by hand between hosts A and B, packet by packet, straight into an analysis; and
 * questions to the analysis. One at a time: begin() starts anew. */
#ifndef VERBLINE_TESTS_INSPECT_TRAFFIC_H
#define VERBLINE_TESTS_INSPECT_TRAFFIC_H

#include "apps/inspect/analysis.h"
#include "transport/wire/opcode.h"

#define QPN_A 0xa1
#define QPN_B 0xb2
#define ACK   0x1f
#define NAK   0x60
#define RNR   0x2c /* 0.64 ms */
#define US    UINT64_C(1000)
#define MS    UINT64_C(1000000)

extern struct inspect_analysis *analysis;
extern uint64_t now; /* ns since 1970; each packet comes a microsecond after the one before */

/* What a test may vary; zeros are the plain case. */
struct variant {
	enum vl_encapsulation encapsulation;
	uint32_t qpn, source_qpn;
	uint32_t length;     /* payload */
	uint32_t dma_length; /* READ */
	uint32_t captured;   /* bytes of the frame; 0: all */
	uint16_t udp_source_port;
	uint8_t syndrome, traffic_class, priority;
	bool vlan, spoil_icrc, spoil_vcrc;
};

void begin(void);
/* Each returns the packet's number. */
uint64_t feed(const uint8_t *frame, uint32_t length, uint32_t captured, enum vl_link_type link);
uint64_t send_variant(char from, uint8_t opcode, uint32_t psn, struct variant variant);
#define SEND(from, opcode, psn, ...) send_variant(from, opcode, psn, (struct variant){__VA_ARGS__})
/* A SEND of 64 bytes from A, and an ACK, NAK or RNR NAK from B. */
uint64_t request(uint32_t psn);
uint64_t answer(uint32_t psn, uint8_t syndrome);

/* The flow to a QPN, and the first event of a kind; without one the test ends. */
struct inspect_flow *flow_to(uint32_t qpn);
const struct inspect_event *event_of(enum inspect_event_kind kind);
uint64_t events(void); /* of all kinds */
/* Whether the verdict has a finding of the name. Ends the analysis. */
bool finds(const char *name);

#endif
