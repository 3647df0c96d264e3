/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * What inspect finds in every capture of pcaps/: each packet is accounted for, opcode counts are
 * tshark's, every ICRC is right, and with one bit flipped in any packet, exactly that packet is
 * named. What was lost when the captures were made (pcaps/README.md) is found.
 */

#include "apps/inspect/analysis.h"
#include "apps/inspect/report.h"
#include "apps/inspect/verdict.h"
#include "tests/support/suite.h"
#include "transport/random.h"
#include "transport/wire/headers.h"
#include "transport/wire/icrc.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PACKETS     1024
#define MAX_BYTES       (1u << 20)
#define FLIPS_OF_PACKET 6

/* A capture in memory. */
struct trace {
	uint8_t bytes[MAX_BYTES];
	struct vl_capture_packet packets[MAX_PACKETS];
	unsigned int count;
};

static struct trace trace;

static const char *path_of(const char *name)
{
	static char path[4096];
	const char *root = getenv("VERBLINE_SOURCE_ROOT");

	snprintf(path, sizeof(path), "%s/pcaps/%s", root ? root : ".", name);
	return path;
}

static void load(const char *name)
{
	char message[VL_CAPTURE_MESSAGE_SIZE];
	struct vl_capture_reader *reader = vl_capture_reader_open(path_of(name), message);
	struct vl_capture_packet packet;
	uint32_t used = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(reader);
	trace.count = 0;
	while (vl_capture_reader_next(reader, &packet) == VL_CAPTURE_PACKET) {
		CU_ASSERT_FATAL(trace.count < MAX_PACKETS &&
				used + packet.captured_length <= MAX_BYTES);
		memcpy(trace.bytes + used, packet.data, packet.captured_length);
		packet.data = trace.bytes + used;
		packet.frame.data = packet.data;
		used += packet.captured_length;
		trace.packets[trace.count++] = packet;
	}
	vl_capture_reader_close(reader);
}

static struct inspect_analysis *analyse(void)
{
	struct inspect_analysis *analysis = inspect_analysis_new();

	CU_ASSERT_PTR_NOT_NULL_FATAL(analysis);
	for (unsigned int i = 0; i < trace.count; i++)
		inspect_analysis_add(analysis, &trace.packets[i]);
	inspect_analysis_finish(analysis);
	return analysis;
}

/* Calls visit for each capture with it loaded. */
static void for_each_capture(void (*visit)(const char *name))
{
	DIR *directory = opendir(path_of(""));
	struct dirent *entry;
	unsigned int count = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(directory);
	while ((entry = readdir(directory))) {
		const char *suffix = strrchr(entry->d_name, '.');

		if (!suffix || strcmp(suffix, ".pcap"))
			continue;
		load(entry->d_name);
		visit(entry->d_name);
		count++;
	}
	closedir(directory);
	CU_ASSERT(count >= 60);
}

static void check_whole(const char *name)
{
	struct inspect_analysis *analysis = analyse();
	uint64_t in_flows = 0;

	CU_ASSERT_EQUAL(analysis->packets, trace.count);
	CU_ASSERT_EQUAL(analysis->classes[INSPECT_RDMA], trace.count);
	CU_ASSERT_EQUAL(analysis->classes[INSPECT_FOREIGN], 0);
	CU_ASSERT_EQUAL(analysis->classes[INSPECT_DAMAGED], 0);
	CU_ASSERT_EQUAL(analysis->icrc_right, trace.count);
	CU_ASSERT_EQUAL(analysis->icrc_wrong, 0);
	CU_ASSERT_EQUAL(analysis->icrc_unchecked, 0);
	for (unsigned int reason = 0; reason < INSPECT_REASON_COUNT; reason++)
		CU_ASSERT_EQUAL(analysis->reasons[reason].count, 0);
	for (uint32_t i = 0; i < analysis->flows.count; i++) {
		const struct inspect_flow *flow = inspect_flow_at(&analysis->flows, i);

		in_flows += flow->packets;
		/* Both hosts acknowledge, so each reliable flow has its other half. */
		CU_ASSERT(!(flow->services & 1) || flow->reverse);
	}
	CU_ASSERT_EQUAL(in_flows, trace.count);
	/* Nothing that the point of capture could have missed was lost in front of it, but in two.
	 */
	if (strstr(name, "before-capture")) {
		CU_ASSERT(analysis->event_counts[INSPECT_EVENT_gap] +
				  analysis->event_counts[INSPECT_EVENT_response_gap] >
			  0);
	} else {
		CU_ASSERT_EQUAL(analysis->event_counts[INSPECT_EVENT_gap], 0);
		CU_ASSERT_EQUAL(analysis->event_counts[INSPECT_EVENT_response_gap], 0);
	}
	CU_ASSERT_EQUAL(analysis->event_counts[INSPECT_EVENT_order_error], 0);
	CU_ASSERT_EQUAL(analysis->event_counts[INSPECT_EVENT_restart], 0);
	CU_ASSERT_EQUAL(analysis->event_counts[INSPECT_EVENT_duplicate], 0);
	CU_ASSERT_EQUAL(analysis->event_counts[INSPECT_EVENT_reordered], 0);
	inspect_analysis_free(analysis);
}

static void test_all_packets_accounted_for(void)
{
	for_each_capture(check_whole);
}

static void check_opcodes(const char *name)
{
	struct inspect_analysis *analysis = analyse();
	FILE *file = fopen(path_of("opcode-counts.txt"), "r");
	uint64_t total = 0, count;
	unsigned int opcode;
	char capture[128];

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	while (fscanf(file, "%127s %x %" SCNu64, capture, &opcode, &count) == 3) {
		if (strcmp(capture, name))
			continue;
		CU_ASSERT_FATAL(opcode < 256);
		CU_ASSERT_EQUAL(analysis->opcodes[opcode], count);
		total += count;
	}
	fclose(file);
	CU_ASSERT_EQUAL(total, trace.count);
	inspect_analysis_free(analysis);
}

static void test_opcodes_are_those_of_tshark(void)
{
	for_each_capture(check_opcodes);
}

/* Whether the packet is named as wrong, and how many are. */
static bool is_named(const struct inspect_analysis *analysis, uint64_t number, uint64_t *named)
{
	bool found = false;

	*named = 0;
	for (uint32_t i = 0; i < analysis->event_count; i++) {
		if (analysis->events[i].kind != INSPECT_EVENT_icrc_wrong)
			continue;
		found |= analysis->events[i].packet == number;
		(*named)++;
	}
	for (unsigned int reason = 0; reason < INSPECT_REASON_COUNT; reason++) {
		const struct inspect_reason *entry = &analysis->reasons[reason];

		/* A reserved opcode has its ICRC checked as well. */
		if (reason == VL_PARSE_opcode_reserved)
			continue;
		found |= entry->count && entry->examples[0] == number;
		*named += entry->count;
	}
	return found;
}

/* Neither the ICRC nor the IPv4 header checksum covers these. */
static bool is_mutable(const struct vl_packet *packet, uint32_t offset)
{
	uint32_t network = (uint32_t)(packet->network - packet->frame);
	uint32_t bth = (uint32_t)(packet->bth - packet->frame);

	if (offset == bth + 4 || offset == bth - 2 || offset == bth - 1)
		return true; /* congestion bits, UDP checksum */
	return packet->encapsulation == VL_ENCAPSULATION_ROCEV2_IPV6 &&
	       (offset == network || offset == network + 1 || offset == network + 2 ||
		offset == network + 3 || offset == network + 7);
}

static void check_flips(const char *name)
{
	static struct vl_random random = {.state = 7};

	for (unsigned int i = 0; i < trace.count; i++) {
		uint8_t *bytes = trace.bytes + (trace.packets[i].data - trace.bytes);
		uint32_t length = trace.packets[i].captured_length;
		struct vl_packet packet;
		uint32_t network;

		CU_ASSERT_EQUAL_FATAL(vl_parse(&packet, VL_LINK_ETHERNET, bytes, length, length),
				      VL_PARSE_ok);
		network = (uint32_t)(packet.network - bytes);
		for (unsigned int flip = 0; flip < FLIPS_OF_PACKET; flip++) {
			struct inspect_analysis *analysis;
			uint32_t offset;
			uint8_t mask = (uint8_t)(1u << vl_random_below(&random, 8));
			uint64_t named;

			/* Half of them in the headers, which are a small part of the bytes. */
			do {
				uint32_t range = flip % 2 ? length - network : 60;

				offset = network + (uint32_t)vl_random_below(&random, range);
			} while (offset >= length || is_mutable(&packet, offset));
			bytes[offset] ^= mask;
			analysis = analyse();
			CU_ASSERT(is_named(analysis, i + 1, &named));
			CU_ASSERT_EQUAL(named, 1);
			if (named != 1)
				printf("%s, packet %u, byte %u, mask 0x%02x: %" PRIu64 " named\n",
				       name, i + 1, offset, mask, named);
			CU_ASSERT_EQUAL(analysis->icrc_right, trace.count - 1);
			CU_ASSERT_EQUAL(analysis->packets, analysis->classes[0] +
								   analysis->classes[1] +
								   analysis->classes[2]);
			inspect_analysis_free(analysis);
			bytes[offset] ^= mask;
		}
	}
}

static void test_flipped_bit_names_the_packet(void)
{
	for_each_capture(check_flips);
}

static const struct inspect_event *nth_event(const struct inspect_analysis *analysis,
					     enum inspect_event_kind kind, unsigned int n)
{
	for (uint32_t i = 0; i < analysis->event_count; i++) {
		if (analysis->events[i].kind == kind && !n--)
			return &analysis->events[i];
	}
	return NULL;
}

static bool has_finding(const struct inspect_analysis *analysis, const char *name)
{
	static struct inspect_verdict verdict;

	inspect_verdict_make(&verdict, analysis, NULL);
	for (unsigned int i = 0; i < verdict.count; i++) {
		if (!strcmp(verdict.findings[i].name, name))
			return true;
	}
	return false;
}

/* The server lost the client's packets 5, 20, 21 and 60, counted from 0. One NAK tells of the
 * first; the others were on their way behind it. */
static void test_lost_send(void)
{
	const struct inspect_event *nak, *again;
	struct inspect_analysis *analysis;

	load("rxe-loss-rc-send-ipv4.pcap");
	analysis = analyse();
	nak = nth_event(analysis, INSPECT_EVENT_nak, 0);
	again = nth_event(analysis, INSPECT_EVENT_retransmission, 0);
	CU_ASSERT_FATAL(nak && again);
	CU_ASSERT_EQUAL(nak->packet, 97);
	CU_ASSERT_EQUAL(nak->cause_packet, 6);
	CU_ASSERT_EQUAL(nak->trigger_packet, 7);
	CU_ASSERT_EQUAL(again->packet, 98);
	CU_ASSERT_EQUAL(again->cause, INSPECT_CAUSE_NAK);
	CU_ASSERT_EQUAL(again->cause_packet, 97);
	CU_ASSERT_EQUAL(again->count, 91);
	CU_ASSERT(has_finding(analysis, "retransmissions"));
	CU_ASSERT(!has_finding(analysis, "healthy"));
	CU_ASSERT(!has_finding(analysis, "unanswered"));
	inspect_analysis_free(analysis);
}

/* The last acknowledgement was lost on its way to the client. */
static void test_lost_acknowledgement(void)
{
	const struct inspect_event *again;
	struct inspect_analysis *analysis;

	load("rxe-loss-rc-acks-ipv4.pcap");
	analysis = analyse();
	again = nth_event(analysis, INSPECT_EVENT_retransmission, 0);
	CU_ASSERT_FATAL(again != NULL);
	CU_ASSERT_EQUAL(again->cause, INSPECT_CAUSE_ANSWERED);
	CU_ASSERT_EQUAL(again->cause_packet, 40);
	CU_ASSERT(!has_finding(analysis, "unanswered"));
	inspect_analysis_free(analysis);
}

static void test_retries_in_vain(void)
{
	struct inspect_analysis *analysis;

	load("rxe-loss-rc-retry-exceeded-ipv4.pcap");
	analysis = analyse();
	CU_ASSERT_EQUAL(analysis->event_counts[INSPECT_EVENT_retransmission], 5);
	for (unsigned int i = 0; i < 5; i++)
		CU_ASSERT_EQUAL(nth_event(analysis, INSPECT_EVENT_retransmission, i)->cause,
				INSPECT_CAUSE_TIMEOUT);
	CU_ASSERT(has_finding(analysis, "unanswered"));
	inspect_analysis_free(analysis);
}

static void test_receiver_not_ready(void)
{
	struct inspect_analysis *analysis;

	load("rxe-rnr-rc-send-ipv4.pcap");
	analysis = analyse();
	CU_ASSERT_EQUAL(analysis->event_counts[INSPECT_EVENT_rnr], 9);
	CU_ASSERT_EQUAL(analysis->event_counts[INSPECT_EVENT_retransmission], 9);
	for (unsigned int i = 0; i < 9; i++) {
		const struct inspect_event *rnr = nth_event(analysis, INSPECT_EVENT_rnr, i);
		const struct inspect_event *again =
			nth_event(analysis, INSPECT_EVENT_retransmission, i);

		CU_ASSERT_EQUAL(again->cause, INSPECT_CAUSE_RNR);
		CU_ASSERT_EQUAL(again->cause_packet, rnr->packet);
		CU_ASSERT_EQUAL(again->psn, rnr->psn);
		CU_ASSERT(rnr->cause_packet > 0 && rnr->cause_packet < rnr->packet);
	}
	/* Its sequence NAKs behind an RNR NAK are no losses. */
	for (uint32_t i = 0; i < analysis->flows.count; i++)
		CU_ASSERT_EQUAL(inspect_flow_at(&analysis->flows, i)->requests.lost_behind, 0);
	CU_ASSERT(has_finding(analysis, "receiver_not_ready"));
	inspect_analysis_free(analysis);
}

static void test_refused(void)
{
	static const char *const names[] = {"rxe-refused-atomic-bad-rkey-ipv4.pcap",
					    "rxe-refused-read-bad-rkey-ipv4.pcap",
					    "rxe-refused-write-bad-rkey-ipv4.pcap",
					    "rxe-refused-write-out-of-bounds-ipv4.pcap"};

	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct inspect_event *nak;
		struct inspect_analysis *analysis;

		load(names[i]);
		analysis = analyse();
		nak = nth_event(analysis, INSPECT_EVENT_nak, 0);
		CU_ASSERT_PTR_NOT_NULL_FATAL(nak);
		CU_ASSERT_EQUAL(nak->syndrome, 0x62);
		CU_ASSERT_EQUAL(nak->packet, 7);
		CU_ASSERT_EQUAL(nak->cause_packet, 6);
		CU_ASSERT(has_finding(analysis, "refused"));
		inspect_analysis_free(analysis);
	}
}

static void test_connection_management(void)
{
	struct inspect_analysis *analysis;
	unsigned int paired = 0;

	load("rxe-cm-rping-ipv6.pcap");
	analysis = analyse();
	CU_ASSERT_EQUAL(analysis->exchanges.seen, 5);
	CU_ASSERT_EQUAL(analysis->exchanges.undecoded, 0);
	for (uint32_t i = 0; i < analysis->flows.count; i++) {
		const struct inspect_flow *flow = inspect_flow_at(&analysis->flows, i);

		if (flow->pairing != INSPECT_PAIRED_BY_CM)
			continue;
		paired++;
		CU_ASSERT_EQUAL(flow->path_mtu, 1024);
		CU_ASSERT_EQUAL(flow->requests.restarts, 0);
	}
	CU_ASSERT_EQUAL(paired, 2);
	inspect_analysis_free(analysis);

	load("rxe-cm-rejected-ipv4.pcap");
	analysis = analyse();
	CU_ASSERT_EQUAL(analysis->exchanges.rejected, 1);
	CU_ASSERT(has_finding(analysis, "connection_rejected"));
	inspect_analysis_free(analysis);

	/* The first REQ and the first RTU were lost. */
	load("rxe-loss-cm-rping-ipv4.pcap");
	analysis = analyse();
	CU_ASSERT_EQUAL(analysis->exchanges.repeated, 1);
	CU_ASSERT(has_finding(analysis, "connection_repeated"));
	inspect_analysis_free(analysis);
}

static void check_reports(const char *name)
{
	static struct inspect_verdict verdict;
	struct inspect_analysis *analysis = analyse();
	struct inspect_file file = {
		.name = name,
		.format = "pcap",
		.analysis = analysis,
		.verdict = &verdict,
	};
	const struct inspect_style style = {.lines = 5};
	FILE *null = fopen("/dev/null", "w");
	json_t *json;

	CU_ASSERT_PTR_NOT_NULL_FATAL(null);
	inspect_verdict_make(&verdict, analysis, NULL);
	CU_ASSERT(verdict.count > 0);
	inspect_report_text(&file, &style, null);
	json = inspect_report_json(&file);
	CU_ASSERT_PTR_NOT_NULL_FATAL(json);
	CU_ASSERT_EQUAL(
		json_integer_value(json_object_get(json_object_get(json, "packets"), "total")),
		trace.count);
	json_decref(json);
	fclose(null);
	inspect_analysis_free(analysis);
}

static void test_reports_can_be_made(void)
{
	for_each_capture(check_reports);
}

static const struct test tests[] = {
	{"all_packets_accounted_for", test_all_packets_accounted_for},
	{"opcodes_are_those_of_tshark", test_opcodes_are_those_of_tshark},
	{"flipped_bit_names_the_packet", test_flipped_bit_names_the_packet},
	{"lost_send", test_lost_send},
	{"lost_acknowledgement", test_lost_acknowledgement},
	{"retries_in_vain", test_retries_in_vain},
	{"receiver_not_ready", test_receiver_not_ready},
	{"refused", test_refused},
	{"connection_management", test_connection_management},
	{"reports_can_be_made", test_reports_can_be_made},
};

int main(int argc, char **argv)
{
	return RUN_SUITE("inspect", tests, argc, argv);
}
