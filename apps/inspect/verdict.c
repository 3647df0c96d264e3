/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/inspect/verdict.h"

#include "apps/inspect/describe.h"
#include "transport/cm/reason.h"
#include "transport/psn.h"
#include "transport/wire/opcode.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Fewer CNPs than these say nothing about how a sender reacts. */
#define ENOUGH_CNPS 10
/* A sender that keeps this much of its rate after CNPs does not react. */
#define RATE_KEPT 0.95
/* Flows between two hosts from which on few UDP source ports are a finding. */
#define ENOUGH_FLOWS 8

#define SERVICE_BIT(service) (1u << (VL_SERVICE_##service >> 5))

/* Sums over all flows. */
struct sums {
	struct inspect_requests requests;
	struct inspect_responses responses;
	uint64_t data_packets, data_bytes; /* requests and READ responses */
	uint64_t ect, ce, cnps, default_class_flows, data_flows, cut;
	uint64_t refusals, gave_up, one_way, unacknowledged;
	const struct inspect_flow *gave_up_flow, *rnr_flow, *refused_flow, *copied_flow;
	const struct inspect_flow *unheeding_flow, *unnotified_flow, *mixed_class_flow;
	double unheeding_before, unheeding_after;
	uint64_t heeding;
};

static struct inspect_finding *add(struct inspect_verdict *verdict, enum inspect_severity severity,
				   const char *name, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

static struct inspect_finding *add(struct inspect_verdict *verdict, enum inspect_severity severity,
				   const char *name, const char *format, ...)
{
	static struct inspect_finding surplus;
	struct inspect_finding *finding = &surplus;
	va_list arguments;

	if (verdict->count < INSPECT_MAX_FINDINGS)
		finding = &verdict->findings[verdict->count++];
	finding->severity = severity;
	finding->name = name;
	finding->advice[0] = 0;
	va_start(arguments, format);
	vsnprintf(finding->text, sizeof(finding->text), format, arguments);
	va_end(arguments);
	if (severity > verdict->worst)
		verdict->worst = severity;
	return finding;
}

static void advise(struct inspect_finding *finding, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void advise(struct inspect_finding *finding, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(finding->advice, sizeof(finding->advice), format, arguments);
	va_end(arguments);
}

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/* "packet 7", or "packets 7, 9, 12, ..." */
static const char *examples_text(const struct inspect_reason *reason, char *text, size_t size)
{
	uint64_t shown = reason->count < 5 ? reason->count : 5;
	size_t used = (size_t)snprintf(text, size, "packet%s ", plural(reason->count));

	for (uint64_t i = 0; i < shown && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%" PRIu64, i ? ", " : "",
					 reason->examples[i]);
	if (shown < reason->count && used < size)
		snprintf(text + used, size - used, ", ...");
	return text;
}

static void judge_reaction(struct sums *sums, const struct inspect_flow *flow)
{
	const struct inspect_flow *notified = flow->reverse;
	double before, after;

	if (!notified || notified->cnps < ENOUGH_CNPS ||
	    !inspect_rates_around_cnp(flow, &before, &after))
		return;
	if (after < RATE_KEPT * before) {
		sums->heeding++;
	} else if (before > 0 && !sums->unheeding_flow) {
		sums->unheeding_flow = flow;
		sums->unheeding_before = before;
		sums->unheeding_after = after;
	}
}

static void sum_requests(struct sums *sums, const struct inspect_flow *flow)
{
	const struct inspect_requests *requests = &flow->requests;
	struct inspect_requests *sum = &sums->requests;

	sum->packets += requests->packets;
	sum->messages += requests->messages;
	sum->retransmitted += requests->retransmitted;
	sum->retransmissions += requests->retransmissions;
	for (unsigned int cause = 0; cause < INSPECT_CAUSE_COUNT; cause++)
		sum->runs_by_cause[cause] += requests->runs_by_cause[cause];
	sum->duplicates += requests->duplicates;
	sum->gap_packets += requests->gap_packets;
	sum->gap_filled += requests->gap_filled;
	sum->gap_answered += requests->gap_answered;
	sum->reordered += requests->reordered;
	sum->lost_before += requests->lost_before;
	sum->lost_after += requests->lost_after;
	sum->order_errors += requests->order_errors;
	sum->restarts += requests->restarts;
	if (requests->duplicates && !sums->copied_flow)
		sums->copied_flow = flow;
	if (requests->retries) {
		sums->gave_up++;
		if (!sums->gave_up_flow || requests->retries > sums->gave_up_flow->requests.retries)
			sums->gave_up_flow = flow;
	}
}

static void sum_responses(struct sums *sums, const struct inspect_flow *flow)
{
	const struct inspect_responses *responses = &flow->responses;

	sums->responses.packets += responses->packets;
	sums->responses.naks += responses->naks;
	sums->responses.rnr_naks += responses->rnr_naks;
	sums->responses.gap_packets += responses->gap_packets;
	sums->responses.repeated += responses->repeated;
	if (responses->rnr_naks && !sums->rnr_flow)
		sums->rnr_flow = flow;
	for (unsigned int code = 0; code < 8; code++) {
		sums->responses.nak_codes[code] += responses->nak_codes[code];
		if (code && responses->nak_codes[code]) {
			sums->refusals += responses->nak_codes[code];
			if (!sums->refused_flow)
				sums->refused_flow = flow;
		}
	}
}

static void sum_flow(struct sums *sums, const struct inspect_flow *flow)
{
	sums->ect += flow->ecn[VL_ECN_ECT0] + flow->ecn[VL_ECN_ECT1] + flow->ecn[VL_ECN_CE];
	sums->ce += flow->ecn[VL_ECN_CE];
	sums->cnps += flow->cnps;
	sums->cut += flow->cut;
	if (flow->payload) {
		sums->data_flows++;
		sums->default_class_flows += flow->dscps & 1 && !(flow->priorities & ~1u);
		if (flow->dscps & (flow->dscps - 1) && !flow->cnps && !sums->mixed_class_flow)
			sums->mixed_class_flow = flow;
	}
	if (flow->ecn[VL_ECN_CE] && flow->reverse && !flow->reverse->cnps && !sums->unnotified_flow)
		sums->unnotified_flow = flow;
	if (flow->services & SERVICE_BIT(RC) && !flow->reverse)
		sums->one_way++;
	if (flow->services & (SERVICE_BIT(UC) | SERVICE_BIT(UD)) && !flow->is_gsi)
		sums->unacknowledged++;
	sum_requests(sums, flow);
	sum_responses(sums, flow);
	judge_reaction(sums, flow);
}

static void judge_file(struct inspect_verdict *verdict, const struct inspect_analysis *analysis,
		       const char *stopped)
{
	struct inspect_finding *finding;
	char examples[160];

	if (stopped) {
		finding = add(verdict, INSPECT_PROBLEM, "file_damaged",
			      "The file could not be read to its end: %s.", stopped);
		advise(finding, "What stands before that is reported. The writer of the file was "
				"probably stopped, or the copy is not complete.");
	}
	if (analysis->out_of_memory)
		add(verdict, INSPECT_PROBLEM, "out_of_memory",
		    "Memory ran out, so that not everything could be kept.");
	if (analysis->flows.overflow_packets)
		add(verdict, INSPECT_WARNING, "too_many_flows",
		    "There are more than %" PRIu32 " flows; the %" PRIu64
		    " packets of those that came later are counted, but not followed.",
		    INSPECT_MAX_FLOWS, analysis->flows.overflow_packets);
	if (analysis->time_backward)
		add(verdict, INSPECT_NOTE, "time_backward",
		    "Timestamps go backward somewhere, so times and rates are only rough.");
	if (!analysis->packets) {
		add(verdict, INSPECT_WARNING, "empty", "The capture holds no packet.");
	} else if (!analysis->classes[INSPECT_RDMA]) {
		finding = add(verdict, INSPECT_WARNING, "no_rdma",
			      "There is no RDMA in this capture, only other protocols.");
		advise(finding,
		       "An RNIC's traffic bypasses the kernel, so tcpdump on its netdev does not "
		       "see it. Capture on a switch's mirror port, or with the vendor's tool, and "
		       "filter for UDP port 4791.");
	}
	for (unsigned int reason = 0; reason < INSPECT_REASON_COUNT; reason++) {
		const struct inspect_reason *entry = &analysis->reasons[reason];

		if (!entry->count || inspect_reason_class(reason) != INSPECT_DAMAGED ||
		    reason == VL_PARSE_captured_short)
			continue;
		add(verdict, INSPECT_PROBLEM, "packet_damaged",
		    "%" PRIu64 " packet%s damaged (%s): %s.", entry->count,
		    entry->count == 1 ? " is" : "s are", inspect_reason_meaning(reason),
		    examples_text(entry, examples, sizeof(examples)));
	}
	if (analysis->reasons[VL_PARSE_opcode_reserved].count)
		add(verdict, INSPECT_PROBLEM, "opcode_reserved",
		    "%" PRIu64 " packet%s a reserved opcode: %s.",
		    analysis->reasons[VL_PARSE_opcode_reserved].count,
		    analysis->reasons[VL_PARSE_opcode_reserved].count == 1 ? " has" : "s have",
		    examples_text(&analysis->reasons[VL_PARSE_opcode_reserved], examples,
				  sizeof(examples)));
	if (analysis->reasons[VL_PARSE_captured_short].count) {
		finding = add(verdict, INSPECT_WARNING, "captured_short",
			      "%" PRIu64 " packet%s cut when captured, so that the ICRC could not "
			      "be checked.",
			      analysis->reasons[VL_PARSE_captured_short].count,
			      analysis->reasons[VL_PARSE_captured_short].count == 1 ? " was"
										    : "s were");
		advise(finding, "Capture whole packets (tcpdump -s 0) to have it checked.");
	}
}

static void judge_crcs(struct inspect_verdict *verdict, const struct inspect_analysis *analysis)
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
		finding =
			add(verdict, INSPECT_PROBLEM, "icrc_wrong",
			    "%" PRIu64 " of %" PRIu64 " packets %s a wrong ICRC: %s. The receiver "
			    "drops such a packet without a word, so it counts as lost.",
			    analysis->icrc_wrong, analysis->icrc_wrong + analysis->icrc_right,
			    analysis->icrc_wrong == 1 ? "has" : "have",
			    examples_text(&numbers, examples, sizeof(examples)));
		advise(finding,
		       analysis->icrc_right
			       ? "Bytes changed on the way: look for a bad cable or module (port "
				 "error counters), or for a box that rewrites addresses, ports or "
				 "the IP ID."
			       : "All are wrong: the sender computes the ICRC in a way of its own, "
				 "or a box on the way (NAT, a router that rewrites the IP ID) "
				 "changes what it covers. --ignore-icrc follows the packets "
				 "all the same.");
	}
	if (analysis->vcrc_wrong) {
		finding = add(verdict, INSPECT_PROBLEM, "vcrc_wrong",
			      "%" PRIu64 " of %" PRIu64 " InfiniBand packets have a wrong VCRC.",
			      analysis->vcrc_wrong, analysis->vcrc_wrong + analysis->vcrc_right);
		advise(finding, "Every hop checks it: look at the link where it was captured.");
	}
}

static void judge_retransmissions(struct inspect_verdict *verdict,
				  const struct inspect_requests *requests)
{
	double share = 100.0 * (double)requests->retransmitted / (double)requests->packets;
	const uint64_t *runs = requests->runs_by_cause;
	struct inspect_finding *finding;

	finding = add(verdict, INSPECT_WARNING, "retransmissions",
		      "%" PRIu64 " of %" PRIu64 " requests (%.2g %%) were sent again, in %" PRIu64
		      " run%s: %" PRIu64 " after a sequence NAK, %" PRIu64
		      " after an RNR NAK, %" PRIu64 " although an answer had come, %" PRIu64
		      " after a missing READ response, %" PRIu64 " after a timeout.",
		      requests->retransmitted, requests->packets, share, requests->retransmissions,
		      plural(requests->retransmissions), runs[INSPECT_CAUSE_NAK],
		      runs[INSPECT_CAUSE_RNR], runs[INSPECT_CAUSE_ANSWERED],
		      runs[INSPECT_CAUSE_RESPONSE], runs[INSPECT_CAUSE_TIMEOUT]);
	if (requests->lost_after + requests->lost_before)
		advise(finding,
		       "Packets are lost: %" PRIu64 " time%s behind the point of capture, %" PRIu64
		       " time%s before it. Look at the drop counters of the switches there, and "
		       "whether the class is lossless (PFC) on every hop.",
		       requests->lost_after, plural(requests->lost_after), requests->lost_before,
		       plural(requests->lost_before));
	else if (runs[INSPECT_CAUSE_TIMEOUT])
		advise(finding, "A timeout without a NAK means that the last packets of a message "
				"were lost, or all answers. It costs much more time than a NAK.");
	else if (runs[INSPECT_CAUSE_ANSWERED])
		advise(finding, "Answers are lost behind the capture, or come later than the "
				"sender's ACK timeout.");
}

static void judge_loss(struct inspect_verdict *verdict, const struct sums *sums)
{
	const struct inspect_requests *requests = &sums->requests;
	struct inspect_finding *finding;
	uint64_t not_explained;

	if (requests->retransmitted)
		judge_retransmissions(verdict, requests);
	not_explained = requests->gap_packets - requests->gap_filled - requests->reordered -
			requests->gap_answered;
	if (requests->gap_answered) {
		finding = add(verdict, INSPECT_WARNING, "capture_incomplete",
			      "%" PRIu64 " packet%s not in the capture, but acknowledged: the "
			      "capture missed %s, the network did not.",
			      requests->gap_answered, requests->gap_answered == 1 ? " is" : "s are",
			      requests->gap_answered == 1 ? "it" : "them");
		advise(finding,
		       "Numbers of lost packets in this report are too high. Capture with a "
		       "larger buffer (tcpdump -B), or mirror fewer ports.");
	}
	if (not_explained)
		add(verdict, INSPECT_WARNING, "gaps",
		    "%" PRIu64 " PSN%s missing and did not come later.", not_explained,
		    not_explained == 1 ? " is" : "s are");
	if (sums->responses.gap_packets)
		add(verdict, INSPECT_WARNING, "responses_missing",
		    "%" PRIu64 " READ response%s missing.", sums->responses.gap_packets,
		    sums->responses.gap_packets == 1 ? " is" : "s are");
	if (requests->reordered) {
		finding = add(verdict, INSPECT_WARNING, "reordered",
			      "%" PRIu64 " packet%s behind packets that were sent later.",
			      requests->reordered, requests->reordered == 1 ? " came" : "s came");
		advise(finding, "An RNIC takes reordering for loss. Look for paths that spread one "
				"flow over several links.");
	}
	if (requests->duplicates) {
		char flow[INSPECT_FLOW_TEXT];

		finding = add(verdict, INSPECT_NOTE, "duplicates",
			      "%" PRIu64 " packet%s in the capture twice (first on %s).",
			      requests->duplicates, requests->duplicates == 1 ? " is" : "s are",
			      inspect_flow_text(sums->copied_flow, flow));
		advise(finding,
		       "Usually the capture does this (both directions of a mirror, or the "
		       "\"any\" device); the network hardly ever does.");
	}
}

static void judge_exchanges(struct inspect_verdict *verdict,
			    const struct inspect_exchanges *exchanges)
{
	uint64_t unanswered = inspect_unanswered_proposals(exchanges);
	struct inspect_finding *finding;

	for (uint32_t i = 0; i < exchanges->count; i++) {
		const struct inspect_exchange *exchange = &exchanges->list[i];
		char address[INSPECT_ADDRESS_TEXT];

		if (exchange->message.attribute_id != VL_CM_REJ)
			continue;
		finding = add(verdict, INSPECT_PROBLEM, "connection_rejected",
			      "%" PRIu64 " connection%s rejected, first by %s in packet %" PRIu64
			      ": %s.",
			      exchanges->rejected, exchanges->rejected == 1 ? " was" : "s were",
			      inspect_address_text(&exchange->flow->key.source,
						   exchange->flow->key.encapsulation, address),
			      exchange->packet,
			      vl_cm_reject_reason_meaning(exchange->message.rej.reason));
		if (exchange->message.rej.reason == VL_CM_REJECT_INVALID_SERVICE_ID)
			advise(finding, "Is the server running, and on this address and port?");
		break;
	}
	if (unanswered)
		add(verdict, INSPECT_WARNING, "connection_unanswered",
		    "%" PRIu64 " connection request%s no answer in the capture.", unanswered,
		    unanswered == 1 ? " has" : "s have");
	if (exchanges->repeated)
		add(verdict, INSPECT_WARNING, "connection_repeated",
		    "%" PRIu64 " time%s a connection request was sent again, because its answer or "
		    "itself was lost or slow.",
		    exchanges->repeated, plural(exchanges->repeated));
}

static void judge_failures(struct inspect_verdict *verdict, const struct inspect_analysis *analysis,
			   const struct sums *sums)
{
	struct inspect_finding *finding;
	char flow[INSPECT_FLOW_TEXT];

	if (sums->gave_up) {
		const struct inspect_requests *requests = &sums->gave_up_flow->requests;

		finding = add(verdict, INSPECT_PROBLEM, "unanswered",
			      "On %" PRIu64 " connection%s the last retransmission was never "
			      "answered: %s went back to PSN 0x%06x %" PRIu32 " time%s in vain.",
			      sums->gave_up, plural(sums->gave_up),
			      inspect_flow_text(sums->gave_up_flow, flow), requests->retry_psn,
			      requests->retries, plural(requests->retries));
		advise(finding,
		       "The sender ends with \"transport retry counter exceeded\" (or the capture "
		       "ended early). If only long packets are affected, the MTU of a link or "
		       "switch on the way is smaller than the path MTU.");
	}
	if (sums->refusals) {
		const uint64_t *codes = sums->responses.nak_codes;

		finding = add(verdict, INSPECT_PROBLEM, "refused",
			      "%" PRIu64 " request%s refused (invalid request %" PRIu64
			      ", remote access %" PRIu64 ", remote operational %" PRIu64
			      "), first by %s; that ends the connection.",
			      sums->refusals, sums->refusals == 1 ? " was" : "s were", codes[1],
			      codes[2], codes[3], inspect_flow_text(sums->refused_flow, flow));
		advise(finding, codes[2] ? "Remote access errors mean a wrong R_Key, an address "
					   "outside the memory region, or a right that the region "
					   "does not give: a mistake in the application."
					 : "The two applications disagree: message longer than the "
					   "receive, an operation that is not enabled, or too many "
					   "READs at once.");
	}
	if (sums->responses.rnr_naks) {
		finding =
			add(verdict, INSPECT_WARNING, "receiver_not_ready",
			    "%" PRIu64 " time%s a message found no receive posted (RNR NAK), first "
			    "on %s.",
			    sums->responses.rnr_naks, plural(sums->responses.rnr_naks),
			    inspect_flow_text(sums->rnr_flow, flow));
		advise(finding,
		       "Not the network: the receiving application posts too few receives, "
		       "or too late.");
	}
	judge_exchanges(verdict, &analysis->exchanges);
	if (sums->requests.order_errors)
		add(verdict, INSPECT_PROBLEM, "opcode_order",
		    "%" PRIu64
		    " request%s not fit the packet before (as a Middle without a First).",
		    sums->requests.order_errors,
		    sums->requests.order_errors == 1 ? " does" : "s do");
}

static void judge_congestion(struct inspect_verdict *verdict,
			     const struct inspect_analysis *analysis, const struct sums *sums)
{
	struct inspect_finding *finding;
	char flow[INSPECT_FLOW_TEXT], before[INSPECT_SMALL_TEXT], after[INSPECT_SMALL_TEXT];

	if (sums->ce || sums->cnps) {
		finding = add(
			verdict, INSPECT_NOTE, "congestion",
			"There was congestion: %" PRIu64 " of %" PRIu64
			" packets carry the ECN mark, and %" PRIu64 " CNP%s asked senders to slow "
			"down.",
			sums->ce, analysis->classes[INSPECT_RDMA], sums->cnps, plural(sums->cnps));
		if (sums->heeding)
			advise(finding,
			       "%" PRIu64 " flow%s slowed down after CNPs, as DCQCN has it.",
			       sums->heeding, plural(sums->heeding));
	}
	if (sums->unnotified_flow) {
		finding = add(verdict, INSPECT_WARNING, "no_cnp",
			      "Packets on %s carry the ECN mark, but no CNP came back.",
			      inspect_flow_text(sums->unnotified_flow, flow));
		advise(finding, "Is ECN enabled at the receiver (notification point), for this "
				"priority? Is something dropping CNPs?");
	}
	if (sums->unheeding_flow) {
		finding = add(verdict, INSPECT_WARNING, "cnp_unheeded",
			      "%s does not slow down: %s before its first CNP, %s after.",
			      inspect_flow_text(sums->unheeding_flow, flow),
			      inspect_rate_text(sums->unheeding_before, before),
			      inspect_rate_text(sums->unheeding_after, after));
		advise(finding, "Is congestion control enabled at the sender (reaction point)?");
	}
	if (analysis->pfc_frames)
		add(verdict, INSPECT_NOTE, "pfc",
		    "%" PRIu64 " PFC frames pause priorities (mask 0x%02" PRIx32 ").",
		    analysis->pfc_frames, analysis->pfc_priorities);
	if (sums->mixed_class_flow)
		add(verdict, INSPECT_WARNING, "mixed_class",
		    "%s uses several DSCPs, so its packets may overtake each other.",
		    inspect_flow_text(sums->mixed_class_flow, flow));
	if (sums->default_class_flows)
		add(verdict, INSPECT_NOTE, "default_class",
		    "%" PRIu64 " of %" PRIu64
		    " flow%s with data are in the default class (DSCP 0), "
		    "which switches seldom treat as lossless.",
		    sums->default_class_flows, sums->data_flows, plural(sums->data_flows));
}

/* Many flows from one address to another on few UDP source ports share a path. */
static void judge_entropy(struct inspect_verdict *verdict, const struct inspect_analysis *analysis)
{
	for (uint32_t i = 0; i < analysis->flows.pair_slot_count; i++) {
		const struct inspect_pair *pair = analysis->flows.pairs[i];
		uint16_t ports[64];
		unsigned int port_count = 0, flow_count = 0;
		struct inspect_finding *finding;
		char text[INSPECT_FLOW_TEXT];

		if (!pair || pair->flow_count < ENOUGH_FLOWS ||
		    pair->encapsulation > VL_ENCAPSULATION_ROCEV2_IPV6)
			continue;
		for (struct inspect_flow *flow = pair->newest; flow && flow_count < 64;
		     flow = flow->next_of_pair) {
			unsigned int j = 0;

			if (!flow->payload)
				continue;
			flow_count++;
			while (j < port_count && ports[j] != flow->udp_source_port)
				j++;
			if (j == port_count)
				ports[port_count++] = flow->udp_source_port;
		}
		if (flow_count < ENOUGH_FLOWS || port_count * 4 > flow_count)
			continue;
		finding =
			add(verdict, INSPECT_WARNING, "low_entropy",
			    "%u flows share %u UDP source port%s (as %s), so ECMP puts them on %s.",
			    flow_count, port_count, plural(port_count),
			    inspect_flow_text(pair->newest, text),
			    port_count == 1 ? "one path" : "few paths");
		advise(finding, "Let the sender derive the port from the QPs (flow label 0 means "
				"that), or set the flow label per QP.");
		return;
	}
}

/* Keeps the order of equals. */
static void sort_gravest_first(struct inspect_verdict *verdict)
{
	for (unsigned int i = 1; i < verdict->count; i++) {
		struct inspect_finding finding = verdict->findings[i];
		unsigned int j = i;

		for (; j && verdict->findings[j - 1].severity < finding.severity; j--)
			verdict->findings[j] = verdict->findings[j - 1];
		verdict->findings[j] = finding;
	}
}

/* Before the notes. */
static void add_healthy(struct inspect_verdict *verdict, const struct inspect_analysis *analysis)
{
	struct inspect_finding finding = {.severity = INSPECT_GOOD, .name = "healthy"};

	snprintf(finding.text, sizeof(finding.text), "%snothing was lost, refused or sent again.",
		 analysis->icrc_unchecked ? "Healthy, as far as can be told: "
					  : "Healthy: every ICRC is right, ");
	if (verdict->count == INSPECT_MAX_FINDINGS)
		verdict->count--;
	memmove(verdict->findings + 1, verdict->findings,
		verdict->count++ * sizeof(verdict->findings[0]));
	verdict->findings[0] = finding;
}

void inspect_verdict_make(struct inspect_verdict *verdict, const struct inspect_analysis *analysis,
			  const char *stopped)
{
	struct sums *sums = calloc(1, sizeof(*sums));

	verdict->count = 0;
	verdict->worst = INSPECT_GOOD;
	judge_file(verdict, analysis, stopped);
	judge_crcs(verdict, analysis);
	if (sums) {
		for (uint32_t i = 0; i < analysis->flows.count; i++)
			sum_flow(sums, inspect_flow_at(&analysis->flows, i));
		judge_failures(verdict, analysis, sums);
		judge_loss(verdict, sums);
		judge_congestion(verdict, analysis, sums);
		judge_entropy(verdict, analysis);
		if (sums->one_way)
			add(verdict, INSPECT_NOTE, "one_way",
			    "Of %" PRIu64
			    " reliable flow%s only one direction is in the capture (or "
			    "could not be matched), so answers cannot be told.",
			    sums->one_way, plural(sums->one_way));
		if (sums->unacknowledged)
			add(verdict, INSPECT_NOTE, "unacknowledged",
			    "%" PRIu64 " flow%s of UC or UD, which are not acknowledged: what was "
			    "lost of them behind the capture cannot be seen.",
			    sums->unacknowledged, sums->unacknowledged == 1 ? " is" : "s are");
		free(sums);
	}
	sort_gravest_first(verdict);
	if (verdict->worst < INSPECT_WARNING && analysis->classes[INSPECT_RDMA])
		add_healthy(verdict, analysis);
}

const char *inspect_severity_name(enum inspect_severity severity)
{
	static const char *const names[] = {"good", "note", "warning", "problem"};

	return names[severity];
}
