/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Judges the file and its bytes. */

#include "apps/inspect/describe.h"
#include "apps/inspect/verdict_private.h"

#include <inttypes.h>
#include <stdio.h>

/* "packet 7", or "packets 7, 9, 12, ..." */
static const char *examples_text(const struct inspect_reason *reason, char *text, size_t size)
{
	uint64_t shown = reason->count < 5 ? reason->count : 5;
	size_t used = (size_t)snprintf(text, size, "packet%s ", inspect_plural(reason->count));

	for (uint64_t i = 0; i < shown && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%" PRIu64, i ? ", " : "",
					 reason->examples[i]);
	if (shown < reason->count && used < size)
		snprintf(text + used, size - used, ", ...");
	return text;
}
void inspect_judge_file(struct inspect_verdict *verdict, const struct inspect_analysis *analysis,
			const char *stopped)
{
	struct inspect_finding *finding;
	char examples[160];

	if (stopped) {
		finding =
			inspect_finding_add(verdict, INSPECT_PROBLEM, "file_damaged",
					    "The file could not be read to its end: %s.", stopped);
		inspect_advise(finding,
			       "What stands before that is reported. The writer of the file was "
			       "probably stopped, or the copy is not complete.");
	}
	if (analysis->out_of_memory)
		inspect_finding_add(verdict, INSPECT_PROBLEM, "out_of_memory",
				    "Memory ran out, so that not everything could be kept.");
	if (analysis->flows.overflow_packets)
		inspect_finding_add(
			verdict, INSPECT_WARNING, "too_many_flows",
			"There are more than %" PRIu32 " flows; the %" PRIu64
			" packets of those that came later are counted, but not followed.",
			INSPECT_MAX_FLOWS, analysis->flows.overflow_packets);
	if (analysis->time_backward)
		inspect_finding_add(
			verdict, INSPECT_NOTE, "time_backward",
			"Timestamps go backward somewhere, so times and rates are only rough.");
	if (!analysis->packets) {
		inspect_finding_add(verdict, INSPECT_WARNING, "empty",
				    "The capture holds no packet.");
	} else if (!analysis->classes[INSPECT_RDMA]) {
		finding = inspect_finding_add(
			verdict, INSPECT_WARNING, "no_rdma",
			"There is no RDMA in this capture, only other protocols.");
		inspect_advise(
			finding,
			"An RNIC's traffic bypasses the kernel, so tcpdump on its netdev does not "
			"see it. Capture on a switch's mirror port, or with the vendor's tool, and "
			"filter for UDP port 4791.");
	}
	for (unsigned int reason = 0; reason < INSPECT_REASON_COUNT; reason++) {
		const struct inspect_reason *entry = &analysis->reasons[reason];

		if (!entry->count || inspect_reason_class(reason) != INSPECT_DAMAGED ||
		    reason == VL_PARSE_captured_short)
			continue;
		inspect_finding_add(verdict, INSPECT_PROBLEM, "packet_damaged",
				    "%" PRIu64 " packet%s damaged (%s): %s.", entry->count,
				    entry->count == 1 ? " is" : "s are",
				    inspect_reason_meaning(reason),
				    examples_text(entry, examples, sizeof(examples)));
	}
	if (analysis->reasons[VL_PARSE_opcode_reserved].count)
		inspect_finding_add(
			verdict, INSPECT_PROBLEM, "opcode_reserved",
			"%" PRIu64 " packet%s a reserved opcode: %s.",
			analysis->reasons[VL_PARSE_opcode_reserved].count,
			analysis->reasons[VL_PARSE_opcode_reserved].count == 1 ? " has" : "s have",
			examples_text(&analysis->reasons[VL_PARSE_opcode_reserved], examples,
				      sizeof(examples)));
	if (analysis->reasons[VL_PARSE_captured_short].count) {
		finding = inspect_finding_add(
			verdict, INSPECT_WARNING, "captured_short",
			"%" PRIu64 " packet%s cut when captured, so that the ICRC could not "
			"be checked.",
			analysis->reasons[VL_PARSE_captured_short].count,
			analysis->reasons[VL_PARSE_captured_short].count == 1 ? " was" : "s were");
		inspect_advise(finding, "Capture whole packets (tcpdump -s 0) to have it checked.");
	}
}

void inspect_judge_crcs(struct inspect_verdict *verdict, const struct inspect_analysis *analysis)
{
	struct inspect_finding *finding;
	struct inspect_reason numbers = {.count = analysis->icrc_wrong};
	unsigned int kept = 0;
	char examples[160];

	for (uint32_t i = 0; i < analysis->event_count && kept < INSPECT_EXAMPLES; i++) {
		if (analysis->events[i].kind == INSPECT_EVENT_icrc_wrong)
			numbers.examples[kept++] = analysis->events[i].packet;
	}
	if (analysis->icrc_wrong) {
		finding = inspect_finding_add(
			verdict, INSPECT_PROBLEM, "icrc_wrong",
			"%" PRIu64 " of %" PRIu64 " packets %s a wrong ICRC: %s. The receiver "
			"drops such a packet without a word, so it counts as lost.",
			analysis->icrc_wrong, analysis->icrc_wrong + analysis->icrc_right,
			analysis->icrc_wrong == 1 ? "has" : "have",
			examples_text(&numbers, examples, sizeof(examples)));
		inspect_advise(
			finding,
			analysis->icrc_right
				? "Bytes changed on the way: look for a bad cable or module (port "
				  "error counters), or for a box that rewrites addresses, ports or "
				  "the IP ID."
				: "All are wrong: the sender computes the ICRC in a way of its "
				  "own, "
				  "or a box on the way (NAT, a router that rewrites the IP ID) "
				  "changes what it covers. --ignore-icrc follows the packets "
				  "all the same.");
	}
	if (analysis->vcrc_wrong) {
		finding = inspect_finding_add(
			verdict, INSPECT_PROBLEM, "vcrc_wrong",
			"%" PRIu64 " of %" PRIu64 " InfiniBand packets have a wrong VCRC.",
			analysis->vcrc_wrong, analysis->vcrc_wrong + analysis->vcrc_right);
		inspect_advise(finding,
			       "Every hop checks it: look at the link where it was captured.");
	}
	if (analysis->link.lpcrc_wrong) {
		finding = inspect_finding_add(verdict, INSPECT_PROBLEM, "lpcrc_wrong",
					      "%" PRIu64 " of %" PRIu64
					      " flow-control packets have a wrong LPCRC, so "
					      "what they say of credits is not heard.",
					      analysis->link.lpcrc_wrong, analysis->link.packets);
		inspect_advise(finding, "Look at the link where it was captured.");
	}
}
