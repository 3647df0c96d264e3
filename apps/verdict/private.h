/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Shared by the files of this directory, and by nobody else. */
#ifndef VERBLINE_VERDICT_PRIVATE_H
#define VERBLINE_VERDICT_PRIVATE_H

#include "apps/inspect/analysis.h"
#include "apps/verdict/verdict.h"
#include "dataplane/fabric/rate.h"
#include "dataplane/pfc.h"
#include "transport/psn.h"
#include "transport/wire/opcode.h"
#include "transport/wire/packet.h"

/* Flows judged; packets of further ones are counted. */
#define VERDICT_MAX_FLOWS 8192u
/* Packets over which a rate is taken. */
#define VERDICT_RATE_WINDOW 32u
#define VERDICT_EVIDENCE    256
/* Kept of passes and of failures. */
#define VERDICT_EXAMPLES 4u

/* The packet at hand. */
struct verdict_packet {
	const struct vl_packet *parsed;
	struct inspect_flow *flow;
	uint64_t number, now;
};

/* Something that was sent and has an answer to come. */
struct verdict_wait {
	bool is_pending;
	uint32_t psn;
	uint64_t time, number;
};

/* The peer's requests after one of our NAKs. */
enum verdict_nak_state {
	VERDICT_NAK_NONE,
	VERDICT_NAK_SENT,   /* waits for the packet that was asked for */
	VERDICT_NAK_FOLLOW, /* it came: what does the peer send next? */
};

/* Of one flow: what one side sends to one QP of the other. */
struct verdict_flow {
	/* Requests, whoever's */
	bool started;
	uint32_t newest_psn;   /* sent, and on the wire */
	uint32_t expected_psn; /* behind the last request */
	uint32_t answered_psn; /* all before it are acknowledged */
	uint64_t last_time;    /* ns, of the last request or of progress */
	uint64_t last_number;
	bool has_rewound; /* since the last progress */
	/* Of PSNs up to this one several copies may be under way: it went back, and not for an RNR
	 * NAK. */
	bool has_copies;
	uint32_t copies_psn;
	bool is_over;  /* refused for good */
	bool is_peers; /* the peer sends it */

	/* The peer's requests */
	enum verdict_nak_state nak_state;
	struct verdict_wait nak;
	bool has_nak;           /* there was one: nak is the last */
	uint32_t nak_limit_psn; /* newest when the packet came again */
	uint32_t nak_next_psn;  /* behind it */
	uint64_t refusal_time;  /* ns, of the last NAK or RNR NAK */
	struct verdict_wait rnr;
	uint64_t rnr_time;    /* ns, asked for */
	bool is_rnr_doubtful; /* what comes may have been under way before the RNR NAK */

	/* Our requests */
	struct verdict_wait lost; /* that we kept from the wire; time: of the first behind it, 0 */
	bool has_hole;            /* the oldest that was kept, hole_psn, has not come since: till
				     then the peer has said all that it says */
	uint32_t hole_psn;
	struct verdict_wait duplicate;
	bool is_duplicate_read;     /* which need not be known any more */
	bool is_duplicate_doubtful; /* it may have been answered together with others */

	/* Our data */
	struct verdict_wait mark;
	uint64_t marks;
	uint64_t cnp_time;             /* ns, of the last CNP for it; 0: none */
	uint64_t cnp_since, cnp_count; /* CNPs without a long break: the first, and how many */

	/* The peer's data */
	uint8_t dscp; /* of the first */
	bool has_data, is_ecn_capable;
	struct {
		uint64_t time, bytes;
	} samples[VERDICT_RATE_WINDOW];
	uint32_t sample_count; /* runs freely */
	uint64_t bytes;
	enum {
		VERDICT_RATE_STEADY,
		VERDICT_RATE_ASKED, /* CNPs were sent: will it be lower? */
		VERDICT_RATE_CUT,   /* it is: will it rise again? */
	} rate_state;
	double rate_before, rate_lowest; /* bit/s */
	uint64_t first_cnp_time, last_cnp_time, first_cnp_number, last_cnp_number;
	uint64_t window_time, window_bytes; /* start of the window that is being filled */
	uint32_t window_packets, windows;
};

/* A class that we have paused. */
struct verdict_pause {
	uint64_t from, until; /* ns; from 0: none to be judged */
	uint64_t number;
	bool was_sending; /* the peer was, just before */
	uint64_t violations, last,
		last_number; /* frames behind the limit; ns and number of the last */
	uint64_t response;   /* ns of the last frame within the limit; 0: none */
	uint64_t last_frame; /* ns: of the peer, in this class */
};

struct verdict_tally {
	uint64_t passes, failures;
	uint64_t least, most, sum, measured; /* ns */
	char good[VERDICT_EXAMPLES][VERDICT_EVIDENCE];
	char bad[VERDICT_EXAMPLES][VERDICT_EVIDENCE];
};

struct vl_verdict {
	struct vl_verdict_config config;
	struct inspect_analysis *analysis;
	struct verdict_flow *flows; /* by index of the analysis */
	struct verdict_pause pauses[VL_PFC_PRIORITIES];
	struct verdict_tally tallies[VL_VERDICT_COUNT];
	struct vl_rate rate;
	uint64_t number; /* of the last frame */
	uint64_t first_time, last_time;
	uint64_t frames_received, frames_transmitted;
	uint64_t not_judged; /* packets of flows beyond the table */
	uint8_t peer_mac[6]; /* captures */
	bool has_peer_mac;
	uint64_t cnp_dscps;        /* bit n: CNPs of the peer had DSCP n */
	const char *arrival_clock; /* NULL: of a capture */
	uint64_t arrival_error;    /* ns */
};

static inline struct verdict_flow *verdict_flow_of(struct vl_verdict *verdict,
						   const struct inspect_flow *flow)
{
	return flow && flow->index < VERDICT_MAX_FLOWS ? &verdict->flows[flow->index] : NULL;
}

static inline uint8_t verdict_class_of(const struct vl_packet *packet)
{
	return packet->vlan_present ? packet->priority & 7 : vl_packet_dscp(packet) >> 3;
}

/* Both keep the first few in words. */
void verdict_pass(struct vl_verdict *verdict, enum vl_verdict_kind kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void verdict_fail(struct vl_verdict *verdict, enum vl_verdict_kind kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void verdict_measured(struct vl_verdict *verdict, enum vl_verdict_kind kind, uint64_t time);
#define VERDICT_TIME_TEXT 32
const char *verdict_time_text(uint64_t time, char text[VERDICT_TIME_TEXT]);

/* requester.c: the peer sends requests, we answer */
void verdict_peer_request(struct vl_verdict *verdict, const struct verdict_packet *packet);
void verdict_our_answer(struct vl_verdict *verdict, const struct verdict_packet *packet);
void verdict_requester_finish(struct vl_verdict *verdict, struct verdict_flow *state,
			      const struct inspect_flow *flow, uint64_t now);

/* responder.c: we send requests, the peer answers */
void verdict_our_request(struct vl_verdict *verdict, const struct verdict_packet *packet);
/* One that we kept from the wire. */
void verdict_our_loss(struct vl_verdict *verdict, const struct verdict_packet *packet);
void verdict_peer_answer(struct vl_verdict *verdict, const struct verdict_packet *packet);
void verdict_responder_finish(struct vl_verdict *verdict, struct verdict_flow *state,
			      const struct inspect_flow *flow, uint64_t now);
/* Requests and answers of either side: newest, expected, answered. */
void verdict_note_request(struct verdict_flow *state, const struct verdict_packet *packet);
void verdict_note_answer(struct verdict_flow *requests, const struct verdict_packet *packet);

/* congestion.c */
void verdict_our_data(struct vl_verdict *verdict, const struct verdict_packet *packet);
void verdict_peer_cnp(struct vl_verdict *verdict, const struct verdict_packet *packet);
void verdict_our_cnp(struct vl_verdict *verdict, const struct verdict_packet *packet);
void verdict_peer_data(struct vl_verdict *verdict, const struct verdict_packet *packet);
void verdict_congestion_finish(struct vl_verdict *verdict, struct verdict_flow *state,
			       const struct inspect_flow *flow, uint64_t now);

/* pause.c */
void verdict_our_pause(struct vl_verdict *verdict, const struct vl_pfc *pfc, uint64_t number,
		       uint64_t now);
void verdict_peer_frame(struct vl_verdict *verdict, uint8_t priority, uint64_t number,
			uint64_t now);
/* Whether any class is paused, so that rates say nothing. */
bool verdict_is_pausing(const struct vl_verdict *verdict, uint64_t now);
void verdict_pause_finish(struct vl_verdict *verdict, uint64_t now);

#endif
