/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Judges how the flows fare: what was lost, refused or not answered. */

#include "apps/inspect/describe.h"
#include "apps/inspect/verdict_private.h"
#include "transport/cm/reason.h"
#include "transport/wire/opcode.h"

#include <inttypes.h>
#include <stdio.h>

/* AETH value */
#define NAK_REMOTE_ACCESS 2

/* "3 after a sequence NAK, 1 after a timeout" */
static const char *causes_text(const uint64_t *runs, char *text, size_t size)
{
	static const char *const causes[] = {
		[INSPECT_CAUSE_TIMEOUT] = "after a timeout",
		[INSPECT_CAUSE_NAK] = "after a sequence NAK",
		[INSPECT_CAUSE_RNR] = "after an RNR NAK",
		[INSPECT_CAUSE_ANSWERED] = "although an answer had come",
		[INSPECT_CAUSE_RESPONSE] = "after a missing READ response",
	};
	size_t used = 0;

	text[0] = 0;
	for (unsigned int cause = 0; cause < INSPECT_CAUSE_COUNT; cause++) {
		if (runs[cause] && used < size)
			used += (size_t)snprintf(text + used, size - used, "%s%" PRIu64 " %s",
						 used ? ", " : "", runs[cause], causes[cause]);
	}
	return text;
}

static void advise_on_loss(struct inspect_finding *finding, const struct inspect_requests *requests)
{
	uint64_t before = requests->lost_before, behind = requests->lost_behind;
	const char *rest = "Look at the drop counters of the switches there, and whether the class "
			   "is lossless (PFC) on every hop.";

	if (before && behind)
		inspect_advise(
			finding,
			"Packets are lost on both sides of the point of capture: %" PRIu64
			" time%s on the sender's side, %" PRIu64 " time%s on the receiver's. %s",
			before, inspect_plural(before), behind, inspect_plural(behind), rest);
	else
		inspect_advise(finding,
			       "Packets are lost between %s (as told by %" PRIu64 " NAK%s). %s",
			       behind ? "the point of capture and the receiver"
				      : "the sender and the point of capture",
			       before + behind, inspect_plural(before + behind), rest);
}

static void judge_retransmissions(struct inspect_verdict *verdict,
				  const struct inspect_requests *requests)
{
	double share = 100.0 * (double)requests->retransmitted / (double)requests->packets;
	const uint64_t *runs = requests->runs_by_cause;
	struct inspect_finding *finding;
	char causes[200];

	finding = inspect_finding_add(
		verdict, INSPECT_WARNING, "retransmissions",
		"%" PRIu64 " of %" PRIu64 " requests (%.*f %%) were sent again, in %" PRIu64
		" run%s: %s.",
		requests->retransmitted, requests->packets, share < 10 ? 2 : 0, share,
		requests->retransmissions, inspect_plural(requests->retransmissions),
		causes_text(runs, causes, sizeof(causes)));
	if (requests->lost_behind + requests->lost_before)
		advise_on_loss(finding, requests);
	else if (runs[INSPECT_CAUSE_TIMEOUT])
		inspect_advise(finding,
			       "A timeout without a NAK means that the last packets of a message "
			       "were lost, or all answers. It costs much more time than a NAK.");
	else if (runs[INSPECT_CAUSE_ANSWERED])
		inspect_advise(finding,
			       "Answers are lost behind the capture, or come later than the "
			       "sender's ACK timeout.");
}

void inspect_judge_loss(struct inspect_verdict *verdict, const struct inspect_sums *sums)
{
	const struct inspect_requests *requests = &sums->requests;
	struct inspect_finding *finding;
	uint64_t not_explained;

	if (requests->retransmitted)
		judge_retransmissions(verdict, requests);
	not_explained = requests->gap_packets - requests->gap_filled - requests->reordered -
			requests->gap_answered;
	if (requests->gap_answered) {
		finding = inspect_finding_add(
			verdict, INSPECT_WARNING, "capture_incomplete",
			"%" PRIu64 " packet%s not in the capture, but acknowledged: the "
			"capture missed %s, the network did not.",
			requests->gap_answered, requests->gap_answered == 1 ? " is" : "s are",
			requests->gap_answered == 1 ? "it" : "them");
		inspect_advise(
			finding,
			"Numbers of lost packets in this report are too high. Capture with a "
			"larger buffer (tcpdump -B), or mirror fewer ports.");
	}
	if (not_explained)
		inspect_finding_add(verdict, INSPECT_WARNING, "gaps",
				    "%" PRIu64 " PSN%s missing and did not come later.",
				    not_explained, not_explained == 1 ? " is" : "s are");
	if (sums->responses.gap_packets)
		inspect_finding_add(verdict, INSPECT_WARNING, "responses_missing",
				    "%" PRIu64 " READ response%s missing.",
				    sums->responses.gap_packets,
				    sums->responses.gap_packets == 1 ? " is" : "s are");
	if (requests->reordered) {
		finding = inspect_finding_add(
			verdict, INSPECT_WARNING, "reordered",
			"%" PRIu64 " packet%s behind packets that were sent later.",
			requests->reordered, requests->reordered == 1 ? " came" : "s came");
		inspect_advise(finding,
			       "An RNIC takes reordering for loss. Look for paths that spread one "
			       "flow over several links.");
	}
	if (requests->duplicates) {
		char flow[INSPECT_FLOW_TEXT];

		finding = inspect_finding_add(
			verdict, INSPECT_NOTE, "duplicates",
			"%" PRIu64 " packet%s in the capture twice (first on %s).",
			requests->duplicates, requests->duplicates == 1 ? " is" : "s are",
			inspect_flow_text(sums->copied_flow, flow));
		inspect_advise(finding,
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
		finding = inspect_finding_add(
			verdict, INSPECT_PROBLEM, "connection_rejected",
			"%" PRIu64 " connection%s rejected, first by %s in packet %" PRIu64 ": %s.",
			exchanges->rejected, exchanges->rejected == 1 ? " was" : "s were",
			inspect_address_text(&exchange->flow->key.source,
					     exchange->flow->key.encapsulation, address),
			exchange->packet,
			vl_cm_reject_reason_meaning(exchange->message.rej.reason));
		if (exchange->message.rej.reason == VL_CM_REJECT_INVALID_SERVICE_ID)
			inspect_advise(finding,
				       "Is the server running, and on this address and port?");
		break;
	}
	if (unanswered)
		inspect_finding_add(verdict, INSPECT_WARNING, "connection_unanswered",
				    "%" PRIu64 " connection request%s no answer in the capture.",
				    unanswered, unanswered == 1 ? " has" : "s have");
	if (exchanges->repeated)
		inspect_finding_add(
			verdict, INSPECT_WARNING, "connection_repeated",
			"%" PRIu64
			" time%s a connection request was sent again, because its answer or "
			"itself was lost or slow.",
			exchanges->repeated, inspect_plural(exchanges->repeated));
}

static void judge_refusals(struct inspect_verdict *verdict, const struct inspect_analysis *analysis,
			   const struct inspect_sums *sums)
{
	const struct inspect_event *nak = NULL;
	struct inspect_finding *finding;
	unsigned int code = 0;
	char where[96] = "", flow[INSPECT_FLOW_TEXT];

	for (uint32_t i = 0; i < analysis->event_count && !nak; i++) {
		if (analysis->events[i].kind == INSPECT_EVENT_nak &&
		    analysis->events[i].syndrome & 0x1f)
			nak = &analysis->events[i];
	}
	if (nak) {
		code = nak->syndrome & 0x1f;
		snprintf(where, sizeof(where), "in packet %" PRIu64 " (%s) ", nak->packet,
			 inspect_nak_text(code));
	}
	finding = inspect_finding_add(
		verdict, INSPECT_PROBLEM, "refused",
		"%" PRIu64 " request%s refused, first %son %s. That ends the connection.",
		sums->refusals, sums->refusals == 1 ? " was" : "s were", where,
		inspect_flow_text(sums->refused_flow, flow));
	inspect_advise(finding, code == NAK_REMOTE_ACCESS
					? "A remote access error means a wrong R_Key, an address "
					  "outside the memory region, or a right that the region "
					  "does not give: a mistake in the application."
					: "The two applications disagree: a message longer than "
					  "the receive, an operation that is not enabled, or too "
					  "many READs at once.");
}

void inspect_judge_failures(struct inspect_verdict *verdict,
			    const struct inspect_analysis *analysis,
			    const struct inspect_sums *sums)
{
	struct inspect_finding *finding;
	char flow[INSPECT_FLOW_TEXT];

	if (sums->gave_up) {
		const struct inspect_requests *requests = &sums->gave_up_flow->requests;

		finding = inspect_finding_add(
			verdict, INSPECT_PROBLEM, "unanswered",
			"On %" PRIu64 " connection%s the last retransmission was never "
			"answered: %s went back to PSN 0x%06x %" PRIu32 " time%s in vain.",
			sums->gave_up, inspect_plural(sums->gave_up),
			inspect_flow_text(sums->gave_up_flow, flow), requests->retry_psn,
			requests->retries, inspect_plural(requests->retries));
		inspect_advise(
			finding,
			"The sender ends with \"transport retry counter exceeded\" (or the capture "
			"ended early). If only long packets are affected, the MTU of a link or "
			"switch on the way is smaller than the path MTU.");
	}
	if (sums->refusals)
		judge_refusals(verdict, analysis, sums);
	if (sums->responses.rnr_naks) {
		finding = inspect_finding_add(
			verdict, INSPECT_WARNING, "receiver_not_ready",
			"%" PRIu64 " time%s a message found no receive posted (RNR NAK), first "
			"on %s.",
			sums->responses.rnr_naks, inspect_plural(sums->responses.rnr_naks),
			inspect_flow_text(sums->rnr_flow, flow));
		inspect_advise(finding,
			       "Not the network: the receiving application posts too few receives, "
			       "or too late.");
	}
	judge_exchanges(verdict, &analysis->exchanges);
	if (sums->requests.order_errors)
		inspect_finding_add(
			verdict, INSPECT_PROBLEM, "opcode_order",
			"%" PRIu64
			" request%s not fit the packet before (as a Middle without a First).",
			sums->requests.order_errors,
			sums->requests.order_errors == 1 ? " does" : "s do");
}
