/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Verdicts on one side of a fault bench: who looks on is the other side, and the peer may have a
 * fault that no event has.
 */
#ifndef VERBLINE_TESTS_JUDGE_H
#define VERBLINE_TESTS_JUDGE_H

#include "apps/verdict/verdict.h"
#include "tests/support/fault_bench.h"
#include "transport/cc/cc.h"

#define MILLISECOND UINT64_C(1000000)

extern struct bench bench;
extern struct vl_verdict *verdict;
extern struct vl_verdict_config expectations; /* may be changed until it runs */

/* side: ours; the peer is the other. */
void judge_begin(int side);
/* Runs until a time, ns, and finishes the verdict. */
void judge_run(uint64_t until);
void judge_end(void);

/* Parameters of a NIC, for a device of the bench. */
struct vl_cc_parameters judge_cc(const struct vl_cc_algorithm *algorithm);

/* Between an endpoint and its wire: a NIC with a fault that no event has. */
struct broken {
	uint8_t rnr_code; /* read instead of the one that is there; 0: right */
	bool is_not_ecn_capable;
};
void judge_run_broken(struct broken nic, uint64_t until);

void judge_expect(enum vl_verdict_kind kind, enum vl_verdict_result result);
/* No failure but those that are named, a bit for each kind. */
void judge_expect_no_other_failure(uint64_t named);
/* Whether any evidence contains the text. */
bool judge_says(enum vl_verdict_kind kind, const char *what);

#define FAILS(kind)                                                                                \
	do {                                                                                       \
		judge_expect(VL_VERDICT_##kind, VL_VERDICT_FAIL);                                  \
		judge_expect_no_other_failure(UINT64_C(1) << VL_VERDICT_##kind);                   \
	} while (0)
#define PASSES(kind)                                                                               \
	do {                                                                                       \
		judge_expect(VL_VERDICT_##kind, VL_VERDICT_PASS);                                  \
		judge_expect_no_other_failure(0);                                                  \
	} while (0)

#endif
