/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Judges how a peer behaves by the frames between it and us, live at an endpoint's tap or from a
 * capture: what it does about loss, refusals, congestion marks and pauses, and whether its packets
 * are as they should be. Nothing is asked of the peer but what was provoked or came by itself; what
 * did not come up is "not seen". Flows and connections are those of apps/inspect; memory is bounded
 * whatever the frames.
 */
#ifndef VERBLINE_VERDICT_H
#define VERBLINE_VERDICT_H

#include "dataplane/filter.h"

#include <infiniband/verbs.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* X(enumerator, name, question, how to provoke it, what is measured or NULL) */
#define VL_VERDICTS(X)                                                                             \
	X(ICRC, "icrc", "are its ICRCs right?", "needs packets of the peer", NULL)                 \
	X(RETRANSMIT_NAK, "retransmits_after_nak",                                                 \
	  "does it send again what a sequence NAK asks for?",                                      \
	  "needs requests of the peer and loss: --events drop-every-100th", "NAK to packet")       \
	X(GO_BACK_N, "goes_back_n", "does it then send again all that followed?",                  \
	  "needs requests of the peer and loss: --events drop-every-100th", NULL)                  \
	X(RETRANSMIT_TIMEOUT, "retransmits_after_timeout",                                         \
	  "does it send again by itself if nothing answers?",                                      \
	  "needs requests of the peer and silence: --events lost-acks", "silence before it")       \
	X(RNR_WAIT, "waits_rnr", "does it wait as long as RNR NAKs say?",                          \
	  "needs SENDs of the peer and refusals: --events rnr-storm or --receive-rate",            \
	  "beyond the time asked for")                                                             \
	X(SENDS_NAK, "sends_nak", "does it ask for what is missing by a sequence NAK?",            \
	  "needs our requests and loss on the way out: --events random-loss", "gap to NAK")        \
	X(ANSWERS_DUPLICATES, "answers_duplicates", "does it answer requests that come again?",    \
	  "needs our requests twice: --events duplicates", "duplicate to answer")                  \
	X(SENDS_CNP, "sends_cnp", "does it answer CE marks with CNPs?",                            \
	  "needs our data marked: --events ce-burst", "mark to CNP")                               \
	X(CNP_INTERVAL, "cnp_interval", "do its CNPs keep their distance?",                        \
	  "needs our data marked: --events ce-burst",                                              \
	  "between CNPs of a QP, judged over runs as they may come in bursts")                     \
	X(CNP_CLASS, "cnp_class", "are its CNPs in the class for CNPs?",                           \
	  "needs our data marked: --events ce-burst", NULL)                                        \
	X(CUTS_RATE, "cuts_rate", "does it slow down when it gets CNPs?",                          \
	  "needs data of the peer and CNPs: --events cnp-storm", "CNP to lower rate")              \
	X(RECOVERS_RATE, "recovers_rate", "does it speed up again afterwards?",                    \
	  "needs data of the peer, CNPs and an end of them: --events cnp-storm",                   \
	  "last CNP to higher rate")                                                               \
	X(HONOURS_PAUSE, "honours_pause", "does it stop when it is paused by PFC?",                \
	  "needs data of the peer and pauses: --events pause-pulses, or verbline pfc", NULL)       \
	X(PAUSE_RESPONSE, "pause_response", "is it quick to stop?",                                \
	  "needs data of the peer and pauses: --events pause-pulses, or verbline pfc",             \
	  "pause to last frame")                                                                   \
	X(PAUSE_CLASSES, "pause_classes", "do its other classes go on meanwhile?",                 \
	  "needs traffic of the peer in another class while one is paused", NULL)                  \
	X(DATA_CLASS, "data_class", "is its data in its class?", "needs data of the peer", NULL)   \
	X(DATA_ECN, "data_ecn", "may all its data be marked (ECT)?",                               \
	  "needs ECN-capable data of the peer, or --expect-ecn", NULL)

enum vl_verdict_kind {
#define VL_VERDICT_VALUE(enumerator, name, question, provoke, measure) VL_VERDICT_##enumerator,
	VL_VERDICTS(VL_VERDICT_VALUE)
#undef VL_VERDICT_VALUE
		VL_VERDICT_COUNT
};

enum vl_verdict_result {
	VL_VERDICT_NOT_SEEN,
	VL_VERDICT_PASS,
	VL_VERDICT_FAIL, /* at least once */
};

#define VL_VERDICT_ANY  UINT32_MAX
#define VL_VERDICT_ZERO (UINT32_MAX - 1) /* the value 0, where 0 stands for the default */

struct vl_verdict_config {
	/* Captures: whose packets are judged. Live the direction says that. */
	union ibv_gid peer;
	uint64_t rate; /* bit/s of the line: the length of quanta; 0: 100 Gb/s */
	/* Of connections to this service of the connection manager ICRCs and pauses alone are
	 * judged: by them a tester talks with its own other half. 0: none. */
	uint64_t spared_service;

	/* What is right. 0 takes the default in brackets, VL_VERDICT_ANY where it may stand means
	 * that any is. */
	uint32_t cnp_dscp;       /* [48]; ANY */
	uint32_t cnp_priority;   /* [6], of tagged frames; ANY */
	uint32_t data_dscp;      /* [ANY: one for each flow, and not that of CNPs] */
	bool expects_ecn;        /* data is ECN-capable [all of a flow is, or none] */
	uint64_t cnp_interval;   /* ns, least between CNPs of a QP [4 us] */
	uint64_t cnp_limit;      /* ns, most from mark to CNP [1 ms] */
	uint64_t nak_limit;      /* ns, most from gap to NAK [1 ms] */
	uint64_t pause_limit;    /* ns, most from a pause to the last frame [10 us] */
	uint64_t reaction_limit; /* ns, most from CNP to lower rate [10 ms] */
	uint64_t recovery_limit; /* ns, most from the last CNP to a higher rate [1 s] */
	uint64_t patience;       /* ns, after which what was waited for does not come [2 s] */
};

struct vl_verdict;

/* Takes all its memory now, and none while frames go by. NULL: no memory. */
struct vl_verdict *vl_verdict_create(const struct vl_verdict_config *config);
void vl_verdict_destroy(struct vl_verdict *verdict); /* NULL is fine */

/* Takes frames in the order of time. direction: ours; comment: as in dataplane/filter.h. */
void vl_verdict_see(struct vl_verdict *verdict, enum vl_direction direction,
		    const struct vl_frame *frame, uint64_t now, const char *comment);
/* The same of a capture, which knows no directions: frames of the peer are received, all others
 * that go to it transmitted. */
void vl_verdict_see_captured(struct vl_verdict *verdict, const struct vl_frame *frame,
			     uint64_t number, uint64_t now, const char *comment);
/* Live, for the report: whose clock stamped the peer's frames (which outlives the verdict), and by
 * how many ns it may be wrong in the TSC's time, by which frames to the peer are stamped. */
void vl_verdict_set_clock(struct vl_verdict *verdict, const char *arrival_clock, uint64_t error);
/* After the last frame, at time now: what was still waited for is judged. */
void vl_verdict_finish(struct vl_verdict *verdict, uint64_t now);
/* Adds the results of another observer. Both are finished. */
void vl_verdict_merge(struct vl_verdict *verdict, const struct vl_verdict *other);

const char *vl_verdict_name(enum vl_verdict_kind kind);
enum vl_verdict_result vl_verdict_result(const struct vl_verdict *verdict,
					 enum vl_verdict_kind kind);
uint64_t vl_verdict_passes(const struct vl_verdict *verdict, enum vl_verdict_kind kind);
uint64_t vl_verdict_failures(const struct vl_verdict *verdict, enum vl_verdict_kind kind);
/* ns, of what is measured; false: nothing was. */
bool vl_verdict_measure(const struct vl_verdict *verdict, enum vl_verdict_kind kind,
			uint64_t *least, uint64_t *mean, uint64_t *most);
/* The n-th of the packets that show it, in words, failures first; NULL: no more. */
const char *vl_verdict_evidence(const struct vl_verdict *verdict, enum vl_verdict_kind kind,
				unsigned int n);
/* Whether any verdict is a pass or a failure: else nothing was checked. */
bool vl_verdict_has_judged(const struct vl_verdict *verdict);
/* Whether any verdict is a failure. */
bool vl_verdict_has_failed(const struct vl_verdict *verdict);

void vl_verdict_print(const struct vl_verdict *verdict, FILE *out);
json_t *vl_verdict_json(const struct vl_verdict *verdict);

#endif
