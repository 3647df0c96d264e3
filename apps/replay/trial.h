/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * A trial: one conversation replayed in one role, and what came of it.
 *
 * Every recorded packet of the role's side is either equal to the stack's, or tolerated (the
 * standard leaves it free), or explained (a known habit of the recorded peer), or different.
 */
#ifndef VERBLINE_REPLAY_TRIAL_H
#define VERBLINE_REPLAY_TRIAL_H

#include "apps/replay/recording.h"

#include <stdio.h>

enum replay_role {
	REPLAY_RESPONDER,
	REPLAY_REQUESTER,
};

/* X(name, text): what the standard leaves to the implementation. */
#define REPLAY_FREEDOMS(X)                                                                         \
	X(ack_coalescing, "one ACK may answer several requests (IBTA 9.7.5.1.2)")                  \
	X(credit_value, "the credits that an AETH grants are the responder's choice (9.7.7.2)")    \
	X(mig_req, "MigReq says what the sender's migration state is (10.4.1.4)")                  \
	X(rnr_timer, "the RNR timer is the responder's choice (9.7.5.2.8)")                        \
	X(ack_request, "when to ask for an ACK is the requester's choice (9.7.3.1)")               \
	X(flow_control, "whether credits are heeded is agreed when the connection is made "        \
			"(9.7.7.2)")                                                               \
	X(other_destinations, "a UD queue pair numbers what it sends to all hosts together, and "  \
			      "the capture need not have all of it")                               \
	X(buffer_reused, "the application wrote its next message into the buffer of one that was " \
			 "not acknowledged yet, and was sent again")                               \
	X(read_cut_short, "a READ that is asked for again need not be answered to its end first")  \
	X(capture_ended, "the capture ends before the recorded peer's answer")                     \
	X(captured_late, "the packet was overtaken on its way to the point of capture")            \
	X(not_captured, "the recorded peer sent it too, as its next PSNs show, but the capture "   \
			"lacks it")

/* X(name, text): where Linux soft-RoCE, the recorded peer, leaves the standard. */
#define REPLAY_HABITS(X)                                                                           \
	X(nak_sequence_after_rnr_nak, "soft-RoCE sends a sequence NAK for the packets that were "  \
				      "under way behind one that it refused with an RNR NAK")      \
	X(operational_error_for_long_send,                                                         \
	  "soft-RoCE refuses a SEND that is longer than the receive buffer with NAK remote "       \
	  "operational error; IBTA 9.7.4.1.6 asks for NAK invalid request")                        \
	X(failed_invalidate_not_counted,                                                           \
	  "soft-RoCE acknowledges a SEND whose R_Key it could not invalidate, but does not count " \
	  "it in the MSN")                                                                         \
	X(repeated_read_goes_on,                                                                   \
	  "soft-RoCE answers a READ that asks for the rest of an earlier one with READ Response "  \
	  "Middle or Last; IBTA 9.7.5.1.9 asks for First or Only")                                 \
	X(retry_count_seven_never_ends,                                                            \
	  "soft-RoCE takes the retry count 7 as endless; to IBTA 9.7.6.1.1 it is seven retries")

enum replay_freedom {
#define REPLAY_VALUE(name, text) REPLAY_FREEDOM_##name,
	REPLAY_FREEDOMS(REPLAY_VALUE)
#undef REPLAY_VALUE
		REPLAY_FREEDOM_COUNT
};

enum replay_habit {
#define REPLAY_VALUE(name, text) REPLAY_HABIT_##name,
	REPLAY_HABITS(REPLAY_VALUE)
#undef REPLAY_VALUE
		REPLAY_HABIT_COUNT
};

extern const char *const replay_freedom_names[], *const replay_freedom_texts[];
extern const char *const replay_habit_names[], *const replay_habit_texts[];

/* A packet that the stack sent. */
struct stack_packet {
	uint64_t time;
	uint32_t length;
	uint8_t *bytes; /* owned */
	struct vl_packet packet;
	/* A responder's: the recorded request that it answers, by index, and what an ACK must say
	 * then. */
	uint32_t cause;
	uint32_t last_psn, msn;
};

struct stack_packets {
	struct stack_packet *items;
	uint32_t count, room;
};

/* The last packet of the capture that a host sent; zeros: none. */
struct last_seen {
	uint64_t number, time;
};

struct withheld {
	uint64_t number;   /* of the packet, in the file */
	uint64_t evidence; /* number of the packet that shows it; 0: a silence */
	uint32_t psn;
};

#define REPLAY_CONTEXT 4
#define REPLAY_LINE    200

struct trial {
	const struct recording *recording;
	const struct conversation *conversation;
	enum replay_role role;
	bool skipped;
	char skip_reason[REPLAY_LINE];

	/* compared == equal + tolerated + explained + different, and of the role's side the capture
	 * holds compared - unrecorded + not_compared packets. */
	uint32_t compared;
	uint32_t equal, tolerated, explained, different;
	uint32_t unrecorded;   /* of the different: what the stack alone did, or failed to do */
	uint32_t extra;        /* packets of the stack alone that are tolerated */
	uint32_t not_compared; /* recorded, but of a message that began before the capture, or
				  where track was lost */
	uint32_t freedoms[REPLAY_FREEDOM_COUNT], habits[REPLAY_HABIT_COUNT];
	uint32_t fed;      /* packets of the other side given to the stack */
	uint32_t not_fed;  /* of a message that began before the capture */
	uint32_t messages; /* completed by the stack */
	struct withheld *withheld;
	uint32_t withheld_count, withheld_room;
	uint32_t not_ready;  /* requests without a receive request, as RNR NAKs show */
	uint32_t refused;    /* requests without the memory or the permission, as a NAK shows */
	uint32_t overtaken;  /* packets given to the stack in another order than recorded */
	uint32_t timeouts;   /* of the requester */
	uint32_t msn_offset; /* messages before the capture */
	/* The requester cannot be followed from this packet on, as requests were lost before the
	 * point of capture; 0: it can. */
	uint64_t lost_track;

	/* The first difference, with what came before it on both sides. */
	bool has_difference;
	uint64_t difference_number; /* of the recorded packet there; 0: none */
	uint32_t difference_psn;    /* of the stack's packet, if it sent one there */
	char field[REPLAY_LINE];
	char lines[2 * REPLAY_CONTEXT + 4][REPLAY_LINE];
	uint32_t line_count;
};

/* responder.c, requester.c, datagram.c. False: out of memory. */
struct request_outcomes;
bool replay_as_responder(struct trial *trial, const struct request_outcomes *outcomes,
			 const struct last_seen *last);
bool replay_as_requester(struct trial *trial, const struct request_outcomes *outcomes);
bool replay_datagrams(struct trial *trial);

/* trial.c */
bool trial_withhold(struct trial *trial, uint64_t number, uint32_t psn, uint64_t evidence);
/* Every conversation in every role asked for. NULL: out of memory. */
struct trial *trials_run(const struct recording *recording, bool as_responder, bool as_requester,
			 uint32_t *count);
void trials_free(struct trial *trials, uint32_t count); /* NULL is fine */
/* Adds a packet that the stack sends. False: out of memory. */
bool stack_packets_add(struct stack_packets *packets, const struct vl_outgoing *outgoing,
		       uint64_t time);
/* Moves the packets of one list to the end of another. False: out of memory, nothing was moved. */
bool stack_packets_move(struct stack_packets *to, struct stack_packets *from);
void stack_packets_release(struct stack_packets *packets);

/* compare.c */
struct comparison {
	uint32_t freedoms; /* bit n: enum replay_freedom n was made use of */
	bool is_different;
	char field[REPLAY_LINE]; /* with is_different: the first field, and both values */
};
struct comparison compare_packets(const struct vl_packet *recorded, const struct vl_packet *stack);
/* Counts an outcome for one recorded packet. */
void trial_count(struct trial *trial, const struct comparison *comparison);
/* Counts an outcome of which no other comparison tells: what the stack did alone, or not at all. */
void trial_count_unrecorded(struct trial *trial);
/* Notes the first difference. Either packet may be NULL: that side sent nothing. */
void trial_difference(struct trial *trial, const char *field,
		      const struct recorded_packet *recorded, const struct vl_packet *stack);
/* "#12 RC ACK PSN 5 MSN 2 ...". */
void packet_describe(char line[REPLAY_LINE], const char *who, uint64_t number,
		     const struct vl_packet *packet);

/* report.c */
struct replay_totals {
	uint32_t trials, skipped, compared, equal, tolerated, explained, different, unrecorded,
		extra, withheld;
	uint32_t msn_offsets; /* trials of connections that began before the capture */
	uint32_t freedoms[REPLAY_FREEDOM_COUNT], habits[REPLAY_HABIT_COUNT];
};
void report_text(FILE *out, const struct recording *recording, const struct trial *trials,
		 uint32_t count, bool verbose);
struct replay_totals report_totals(const struct trial *trials, uint32_t count);
/* A new json_t, or NULL when out of memory. */
struct json_t;
void *report_json(const struct recording *recording, const struct trial *trials, uint32_t count);

#endif
