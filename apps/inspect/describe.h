/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Parts of an analysis in words. */
#ifndef VERBLINE_INSPECT_DESCRIBE_H
#define VERBLINE_INSPECT_DESCRIBE_H

#include "apps/inspect/analysis.h"

#define INSPECT_ADDRESS_TEXT 48
#define INSPECT_FLOW_TEXT    128
#define INSPECT_EVENT_TEXT   384
#define INSPECT_SMALL_TEXT   32

/* "10.0.0.1", "fd00::1", or "LID 5". */
const char *inspect_address_text(const union ibv_gid *address, uint32_t encapsulation,
				 char text[INSPECT_ADDRESS_TEXT]);
/* "10.0.0.1 -> 10.0.0.2 QP 0x11". */
const char *inspect_flow_text(const struct inspect_flow *flow, char text[INSPECT_FLOW_TEXT]);
/* "RC", "UD", "QP1", "CNP"; several joined by "+". */
const char *inspect_services_text(const struct inspect_flow *flow, char text[INSPECT_SMALL_TEXT]);
const char *inspect_encapsulation_text(uint32_t encapsulation);
const char *inspect_pairing_name(enum inspect_pairing pairing);
const char *inspect_cause_name(enum inspect_cause cause);
const char *inspect_loss_name(enum inspect_loss loss);
/* Of a NAK's value. */
const char *inspect_nak_text(unsigned int code);
/* How long an RNR NAK asks to wait, ns. */
uint64_t inspect_rnr_time(uint8_t syndrome);
/* As the bytes stand in the packet, which is how Wireshark shows it. */
uint32_t inspect_icrc_shown(uint32_t icrc);
/* A sentence without its end: "packet 7: ...". */
const char *inspect_event_text(const struct inspect_event *event, char text[INSPECT_EVENT_TEXT]);
/* Bits per second of the payload from the flow's first to its last packet; 0: cannot be said. */
double inspect_flow_rate(const struct inspect_flow *flow);
/* The same before and behind the first CNP that asked the flow to slow down. False: there was none,
 * or not enough around it. */
bool inspect_rates_around_cnp(const struct inspect_flow *flow, double *before, double *after);
/* "1.2Gb/s", "340kB", "1.20ms", "12,345". */
const char *inspect_rate_text(double rate, char text[INSPECT_SMALL_TEXT]);
const char *inspect_bytes_text(uint64_t bytes, char text[INSPECT_SMALL_TEXT]);
const char *inspect_duration_text(uint64_t nanoseconds, char text[INSPECT_SMALL_TEXT]);
const char *inspect_count_text(uint64_t count, char text[INSPECT_SMALL_TEXT]);

#endif
