/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Shared by the parts of the verdict, and by nobody else. */
#ifndef VERBLINE_INSPECT_VERDICT_PRIVATE_H
#define VERBLINE_INSPECT_VERDICT_PRIVATE_H

#include "apps/inspect/verdict.h"

/* Sums over all flows. */
struct inspect_sums {
	struct inspect_requests requests;
	struct inspect_responses responses;
	uint64_t ce, cnps, default_class_flows, data_flows;
	uint64_t refusals, gave_up, one_way, unacknowledged;
	const struct inspect_flow *gave_up_flow, *rnr_flow, *refused_flow, *copied_flow;
	const struct inspect_flow *unheeding_flow, *unnotified_flow, *mixed_class_flow;
	double unheeding_before, unheeding_after;
	uint64_t heeding;
};

/* Never NULL; what is beyond the room is lost, but counts for the worst. */
struct inspect_finding *inspect_finding_add(struct inspect_verdict *verdict,
					    enum inspect_severity severity, const char *name,
					    const char *format, ...)
	__attribute__((format(printf, 4, 5)));
void inspect_advise(struct inspect_finding *finding, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* "" or "s". */
const char *inspect_plural(uint64_t count);

/* The file as such: read to its end, RDMA in it, packets damaged or cut. */
void inspect_judge_file(struct inspect_verdict *verdict, const struct inspect_analysis *analysis,
			const char *stopped);
void inspect_judge_crcs(struct inspect_verdict *verdict, const struct inspect_analysis *analysis);
/* Loss, retransmission, reordering. */
void inspect_judge_loss(struct inspect_verdict *verdict, const struct inspect_sums *sums);
/* What peers refused or did not answer. */
void inspect_judge_failures(struct inspect_verdict *verdict,
			    const struct inspect_analysis *analysis,
			    const struct inspect_sums *sums);
void inspect_judge_congestion(struct inspect_verdict *verdict,
			      const struct inspect_analysis *analysis,
			      const struct inspect_sums *sums);
/* Whether flows can be spread over paths. */
void inspect_judge_entropy(struct inspect_verdict *verdict,
			   const struct inspect_analysis *analysis);

#endif
