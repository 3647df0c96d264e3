/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Judges congestion: marks, the reaction to them, classes and paths. */

#include "apps/inspect/describe.h"
#include "apps/inspect/verdict_private.h"

#include <inttypes.h>

/* Flows between two hosts from which on few UDP source ports are a finding. */
#define ENOUGH_FLOWS 8

void inspect_judge_congestion(struct inspect_verdict *verdict,
			      const struct inspect_analysis *analysis,
			      const struct inspect_sums *sums)
{
	struct inspect_finding *finding;
	char flow[INSPECT_FLOW_TEXT], before[INSPECT_SMALL_TEXT], after[INSPECT_SMALL_TEXT];

	if (sums->ce || sums->cnps) {
		finding = inspect_finding_add(verdict, INSPECT_NOTE, "congestion",
					      "There was congestion: %" PRIu64 " of %" PRIu64
					      " packets carry the ECN mark, and %" PRIu64
					      " CNP%s asked senders to slow "
					      "down.",
					      sums->ce, analysis->classes[INSPECT_RDMA], sums->cnps,
					      inspect_plural(sums->cnps));
		if (sums->heeding)
			inspect_advise(finding,
				       "%" PRIu64
				       " flow%s slowed down after CNPs, as DCQCN has it.",
				       sums->heeding, inspect_plural(sums->heeding));
	}
	if (sums->unnotified_flow) {
		finding = inspect_finding_add(
			verdict, INSPECT_WARNING, "no_cnp",
			"Packets on %s carry the ECN mark, but no CNP came back.",
			inspect_flow_text(sums->unnotified_flow, flow));
		inspect_advise(finding,
			       "Is ECN enabled at the receiver (notification point), for this "
			       "priority? Is something dropping CNPs?");
	}
	if (sums->unheeding_flow) {
		finding = inspect_finding_add(
			verdict, INSPECT_WARNING, "cnp_unheeded",
			"%s does not slow down: %s before its first CNP, %s after.",
			inspect_flow_text(sums->unheeding_flow, flow),
			inspect_rate_text(sums->unheeding_before, before),
			inspect_rate_text(sums->unheeding_after, after));
		inspect_advise(finding,
			       "Is congestion control enabled at the sender (reaction point)?");
	}
	if (analysis->pfc_frames)
		inspect_finding_add(verdict, INSPECT_NOTE, "pfc",
				    "%" PRIu64 " PFC frames pause priorities (mask 0x%02" PRIx32
				    ").",
				    analysis->pfc_frames, analysis->pfc_priorities);
	if (sums->mixed_class_flow)
		inspect_finding_add(
			verdict, INSPECT_WARNING, "mixed_class",
			"%s uses several DSCPs, so its packets may overtake each other.",
			inspect_flow_text(sums->mixed_class_flow, flow));
	if (sums->default_class_flows)
		inspect_finding_add(verdict, INSPECT_NOTE, "default_class",
				    "%" PRIu64 " of %" PRIu64
				    " flow%s with data are in the default class (DSCP 0), "
				    "which switches seldom treat as lossless.",
				    sums->default_class_flows, sums->data_flows,
				    inspect_plural(sums->data_flows));
}

/* Many flows from one address to another on few UDP source ports share a path. */
void inspect_judge_entropy(struct inspect_verdict *verdict, const struct inspect_analysis *analysis)
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
		finding = inspect_finding_add(
			verdict, INSPECT_WARNING, "low_entropy",
			"%u flows share %u UDP source port%s (as %s), so ECMP puts them on %s.",
			flow_count, port_count, inspect_plural(port_count),
			inspect_flow_text(pair->newest, text),
			port_count == 1 ? "one path" : "few paths");
		inspect_advise(finding,
			       "Let the sender derive the port from the QPs (flow label 0 means "
			       "that), or set the flow label per QP.");
		return;
	}
}
