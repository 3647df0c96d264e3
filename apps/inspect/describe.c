/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/inspect/describe.h"

#include "transport/wire/gid.h"
#include "transport/wire/opcode.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *inspect_address_text(const union ibv_gid *address, uint32_t encapsulation,
				 char text[INSPECT_ADDRESS_TEXT])
{
	if (encapsulation == VL_ENCAPSULATION_IB_LOCAL)
		snprintf(text, INSPECT_ADDRESS_TEXT, "LID %u",
			 (unsigned int)address->raw[14] << 8 | address->raw[15]);
	else if (vl_gid_is_ipv4(address))
		inet_ntop(AF_INET, address->raw + VL_GID_IPV4_OFFSET, text, INSPECT_ADDRESS_TEXT);
	else
		inet_ntop(AF_INET6, address->raw, text, INSPECT_ADDRESS_TEXT);
	return text;
}

const char *inspect_flow_text(const struct inspect_flow *flow, char text[INSPECT_FLOW_TEXT])
{
	char source[INSPECT_ADDRESS_TEXT], destination[INSPECT_ADDRESS_TEXT];

	snprintf(text, INSPECT_FLOW_TEXT, "%s -> %s QP 0x%x",
		 inspect_address_text(&flow->key.source, flow->key.encapsulation, source),
		 inspect_address_text(&flow->key.destination, flow->key.encapsulation, destination),
		 flow->key.destination_qpn);
	return text;
}

const char *inspect_services_text(const struct inspect_flow *flow, char text[INSPECT_SMALL_TEXT])
{
	static const char *const names[8] = {"RC", "UC", "RD", "UD", "CNP", "XRC", "0xc0", "0xe0"};
	uint32_t services = flow->services;

	/* A CNP says nothing about the QP's type, unless it is all there is. */
	if (services & ~(1u << (VL_SERVICE_CNP >> 5)))
		services &= ~(1u << (VL_SERVICE_CNP >> 5));
	text[0] = 0;
	for (unsigned int i = 0; i < 8; i++) {
		if (!(services & 1u << i))
			continue;
		if (text[0])
			strcat(text, "+");
		strcat(text, flow->is_gsi ? "QP1" : names[i]);
	}
	return text;
}

const char *inspect_encapsulation_text(uint32_t encapsulation)
{
	static const char *const names[] = {
		[VL_ENCAPSULATION_ROCEV2_IPV4] = "RoCEv2 over IPv4",
		[VL_ENCAPSULATION_ROCEV2_IPV6] = "RoCEv2 over IPv6",
		[VL_ENCAPSULATION_ROCEV1] = "RoCEv1",
		[VL_ENCAPSULATION_IB_LOCAL] = "InfiniBand",
		[VL_ENCAPSULATION_IB_GLOBAL] = "InfiniBand with GRH",
	};

	return names[encapsulation];
}

const char *inspect_pairing_name(enum inspect_pairing pairing)
{
	static const char *const names[] = {
		[INSPECT_UNPAIRED] = "unpaired",         [INSPECT_PAIRED_BY_CM] = "cm",
		[INSPECT_PAIRED_BY_QPN] = "qpn",         [INSPECT_PAIRED_BY_PSN] = "psn",
		[INSPECT_PAIRED_BY_ADDRESS] = "address",
	};

	return names[pairing];
}

const char *inspect_cause_name(enum inspect_cause cause)
{
	static const char *const names[] = {
		[INSPECT_CAUSE_TIMEOUT] = "timeout",
		[INSPECT_CAUSE_NAK] = "nak",
		[INSPECT_CAUSE_RNR] = "rnr",
		[INSPECT_CAUSE_ANSWERED] = "answer_lost",
		[INSPECT_CAUSE_RESPONSE] = "response_missing",
	};

	return names[cause];
}

const char *inspect_loss_name(enum inspect_loss loss)
{
	static const char *const names[] = {
		[INSPECT_LOST_BEFORE] = "before_capture",
		[INSPECT_LOST_BEHIND] = "behind_capture",
		[INSPECT_OUT_OF_ORDER] = "out_of_order",
		[INSPECT_BEHIND_RNR] = "behind_rnr_nak",
	};

	return names[loss];
}

const char *inspect_nak_text(unsigned int code)
{
	static const char *const names[] = {
		"PSN sequence error",       "invalid request",    "remote access error",
		"remote operational error", "invalid RD request",
	};

	return code < sizeof(names) / sizeof(names[0]) ? names[code] : "reserved code";
}

uint64_t inspect_rnr_time(uint8_t syndrome)
{
	/* IBTA table 45, in units of 10 us */
	static const uint16_t times[32] = {65535, 1,    2,    3,     4,     6,     8,     12,
					   16,    24,   32,   48,    64,    96,    128,   192,
					   256,   384,  512,  768,   1024,  1536,  2048,  3072,
					   4096,  6144, 8192, 12288, 16384, 24576, 32768, 49152};
	unsigned int code = syndrome & 0x1f;

	return (code ? times[code] : UINT64_C(65536)) * 10000;
}

uint32_t inspect_icrc_shown(uint32_t icrc)
{
	return __builtin_bswap32(icrc);
}

double inspect_flow_rate(const struct inspect_flow *flow)
{
	if (flow->last_time <= flow->first_time)
		return 0;
	return (double)flow->payload * 8e9 / (double)(flow->last_time - flow->first_time);
}

bool inspect_rates_around_cnp(const struct inspect_flow *flow, double *before, double *after)
{
	if (!flow->first_cnp_time || flow->first_cnp_time <= flow->first_time ||
	    flow->last_time <= flow->first_cnp_time)
		return false;
	*before = (double)flow->payload_before_cnp * 8e9 /
		  (double)(flow->first_cnp_time - flow->first_time);
	*after = (double)(flow->payload - flow->payload_before_cnp) * 8e9 /
		 (double)(flow->last_time - flow->first_cnp_time);
	return true;
}

/* Three digits and a unit. */
static const char *scaled_text(double value, double step, const char *const *units,
			       unsigned int unit_count, char text[INSPECT_SMALL_TEXT])
{
	unsigned int unit = 0;

	while (unit + 1 < unit_count && value >= 0.9995 * step) {
		value /= step;
		unit++;
	}
	snprintf(text, INSPECT_SMALL_TEXT, "%.*f%s",
		 value >= 99.95 || value == 0 || !unit ? 0
		 : value >= 9.995                      ? 1
						       : 2,
		 value, units[unit]);
	return text;
}

const char *inspect_rate_text(double rate, char text[INSPECT_SMALL_TEXT])
{
	static const char *const units[] = {"b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s"};

	return scaled_text(rate, 1000, units, 5, text);
}

const char *inspect_bytes_text(uint64_t bytes, char text[INSPECT_SMALL_TEXT])
{
	static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};

	return scaled_text((double)bytes, 1000, units, 5, text);
}

const char *inspect_duration_text(uint64_t nanoseconds, char text[INSPECT_SMALL_TEXT])
{
	static const char *const units[] = {"ns", "us", "ms", "s"};

	return scaled_text((double)nanoseconds, 1000, units, 4, text);
}

const char *inspect_count_text(uint64_t count, char text[INSPECT_SMALL_TEXT])
{
	char digits[INSPECT_SMALL_TEXT];
	int length = snprintf(digits, sizeof(digits), "%" PRIu64, count);
	char *out = text;

	for (int i = 0; i < length; i++) {
		if (i && !((length - i) % 3))
			*out++ = ',';
		*out++ = digits[i];
	}
	*out = 0;
	return text;
}

static void retransmission_text(const struct inspect_event *event, char *text, size_t size)
{
	char silence[INSPECT_SMALL_TEXT];
	int used = snprintf(text, size, "%u request%s sent again from PSN 0x%06x: ", event->count,
			    event->count == 1 ? "" : "s", event->psn);
	char *rest = text + used;
	size_t room = size - (size_t)used;

	inspect_duration_text(event->silence, silence);
	switch (event->cause) {
	case INSPECT_CAUSE_NAK:
		snprintf(rest, room, "the NAK in packet %" PRIu64 " asked for it",
			 event->cause_packet);
		break;
	case INSPECT_CAUSE_RNR:
		snprintf(rest, room, "%s after the RNR NAK in packet %" PRIu64, silence,
			 event->cause_packet);
		break;
	case INSPECT_CAUSE_ANSWERED:
		snprintf(rest, room,
			 "although packet %" PRIu64
			 " had answered (too late, or lost behind the capture)",
			 event->cause_packet);
		break;
	case INSPECT_CAUSE_RESPONSE:
		snprintf(rest, room, "part of a READ response was missing");
		break;
	default:
		if (event->cause_packet)
			snprintf(rest, room, "no answer to packet %" PRIu64 " for %s, a timeout",
				 event->cause_packet, silence);
		else
			snprintf(rest, room, "no answer, a timeout");
		break;
	}
}

static void loss_text(const struct inspect_event *event, const char *trigger, char *text,
		      size_t size)
{
	switch (event->loss) {
	case INSPECT_LOST_BEFORE:
		snprintf(text, size, "that packet was lost before the capture%s", trigger);
		break;
	case INSPECT_LOST_BEHIND:
		snprintf(text, size, "packet %" PRIu64 " was lost behind the capture%s",
			 event->cause_packet, trigger);
		break;
	case INSPECT_OUT_OF_ORDER:
		snprintf(text, size,
			 event->cause_packet > event->packet
				 ? "packet %" PRIu64 " was late%s"
				 : "packet %" PRIu64 " had come too early, and was dropped%s",
			 event->cause_packet, trigger);
		break;
	case INSPECT_BEHIND_RNR:
		snprintf(text, size, "for what followed the request refused by an RNR NAK%s",
			 trigger);
		break;
	}
}

static void nak_text(const struct inspect_event *event, char *text, size_t size)
{
	unsigned int code = event->syndrome & 0x1f;
	int used =
		snprintf(text, size, "NAK, %s, PSN 0x%06x: ", inspect_nak_text(code), event->psn);
	char *rest = text + used;
	size_t room = size - (size_t)used;
	char trigger[64] = "";

	if (event->trigger_packet)
		snprintf(trigger, sizeof(trigger), "; packet %" PRIu64 " showed it",
			 event->trigger_packet);
	if (event->flow && !event->flow->reverse)
		snprintf(rest, room, "the requests that it answers are not in the capture");
	else if (code)
		snprintf(rest, room,
			 event->cause_packet ? "packet %" PRIu64 " was refused"
					     : "to a request that is not in the capture",
			 event->cause_packet);
	else
		loss_text(event, trigger, rest, room);
}

static void rnr_text(const struct inspect_event *event, char *text, size_t size)
{
	char wait[INSPECT_SMALL_TEXT];

	inspect_duration_text(inspect_rnr_time(event->syndrome), wait);
	if (event->cause_packet)
		snprintf(text, size,
			 "receiver not ready, PSN 0x%06x: packet %" PRIu64
			 " found no receive; retry after %s",
			 event->psn, event->cause_packet, wait);
	else
		snprintf(text, size, "receiver not ready, PSN 0x%06x; retry after %s", event->psn,
			 wait);
}

static void detail_text(const struct inspect_event *event, char *text, size_t size)
{
	switch (event->kind) {
	case INSPECT_EVENT_icrc_wrong:
		snprintf(text, size, "wrong ICRC: 0x%08x, should be 0x%08x (%s, PSN 0x%06x)",
			 inspect_icrc_shown(event->found), inspect_icrc_shown(event->expected),
			 vl_opcode_table[event->opcode].name, event->psn);
		break;
	case INSPECT_EVENT_vcrc_wrong:
		snprintf(text, size, "wrong VCRC: 0x%04x, should be 0x%04x",
			 __builtin_bswap16((uint16_t)event->found),
			 __builtin_bswap16((uint16_t)event->expected));
		break;
	case INSPECT_EVENT_lpcrc_wrong:
		snprintf(text, size, "wrong LPCRC: 0x%04x, should be 0x%04x (flow control)",
			 __builtin_bswap16((uint16_t)event->found),
			 __builtin_bswap16((uint16_t)event->expected));
		break;
	case INSPECT_EVENT_retransmission:
		retransmission_text(event, text, size);
		break;
	case INSPECT_EVENT_duplicate:
		snprintf(text, size, "a copy of packet %" PRIu64 ", PSN 0x%06x",
			 event->cause_packet, event->psn);
		break;
	case INSPECT_EVENT_reordered:
		snprintf(text, size, "PSN 0x%06x came behind its successors", event->psn);
		break;
	case INSPECT_EVENT_gap:
		snprintf(text, size, "%u PSN%s missing from 0x%06x on", event->count,
			 event->count == 1 ? "" : "s", event->psn);
		break;
	case INSPECT_EVENT_nak:
		nak_text(event, text, size);
		break;
	case INSPECT_EVENT_rnr:
		rnr_text(event, text, size);
		break;
	case INSPECT_EVENT_response_gap:
		snprintf(text, size, "%u READ response%s missing from PSN 0x%06x on", event->count,
			 event->count == 1 ? "" : "s", event->psn);
		break;
	case INSPECT_EVENT_order_error:
		snprintf(text, size, "%s may not follow the packet before it, PSN 0x%06x",
			 vl_opcode_table[event->opcode].name, event->psn);
		break;
	case INSPECT_EVENT_restart:
		snprintf(text, size, "PSN 0x%06x instead of 0x%06x: a new connection on this QP",
			 event->psn, event->expected);
		break;
	case INSPECT_EVENT_KIND_COUNT:
		break;
	}
}

const char *inspect_event_text(const struct inspect_event *event, char text[INSPECT_EVENT_TEXT])
{
	char flow[INSPECT_FLOW_TEXT], detail[INSPECT_EVENT_TEXT / 2];

	detail_text(event, detail, sizeof(detail));
	snprintf(text, INSPECT_EVENT_TEXT, "packet %" PRIu64 "%s%s: %s", event->packet,
		 event->flow ? ", " : "", event->flow ? inspect_flow_text(event->flow, flow) : "",
		 detail);
	return text;
}
