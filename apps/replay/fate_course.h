/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * One course of events: what the recorded responder did with the requests that arrived, and what
 * that costs.
 */
#ifndef VERBLINE_REPLAY_FATE_COURSE_H
#define VERBLINE_REPLAY_FATE_COURSE_H

#include "apps/replay/fate.h"

/* What is unlikely, and how much. */
enum cost {
	COST_UNASKED_ACK = 1,
	COST_LOST_WITH_OTHERS = 1,
	COST_PUT_OFF_ACK = 2,
	COST_SILENCE_ON_DUPLICATE = 4,
	COST_VOLUNTARY_ACK = 3,
	COST_LOST = 10,
	COST_UNANSWERED = 12, /* though the responder was heard of later */
	COST_OVERTAKEN = 13,
	COST_OWED_ACK_NEVER_SENT = 20,
	COST_NAK_NOT_CAPTURED = 20,
	COST_LATE_ACK = 30,
	COST_CONTRADICTION = 100,
};

struct scene {
	const struct conversation *conversation;
	const struct packet_list *requests, *responses;
	int64_t start; /* position from which the requests are known */
	uint64_t last_from_responder;
};

struct course {
	int64_t expected;
	uint32_t next; /* response that is to be explained next */
	uint32_t held; /* a request that is under way still; FATE_NONE */
	uint32_t node; /* the last of the search's */
	uint32_t cost;
	bool nak_sent, rnr_sent, is_refused;
	bool owes_ack;
	bool is_losing; /* the last request was lost */
};

/* Passes the responses that were sent before a packet, and that nothing has explained. */
void course_pass_unexplained(const struct scene *scene, struct course *course, uint64_t number);

/* A request comes. Answer: the response that begins its answer, or that refuses it; FATE_NONE. */

/* It is the expected one, and is executed; takes_ack: the next ACK may be its own. */
void course_execute(const struct scene *scene, struct course *course,
		    const struct recorded_packet *request, uint32_t *answer, bool takes_ack);

/* It is the expected one, and is refused. False: no response says so. */
bool course_refuse(const struct scene *scene, struct course *course,
		   const struct recorded_packet *request, uint32_t *answer);

/* It was executed before. False: it cannot have come. */
bool course_repeat(const struct scene *scene, struct course *course,
		   const struct recorded_packet *request, uint32_t *answer);

/* It is behind a gap: one NAK, then silence. */
void course_refuse_gap(const struct scene *scene, struct course *course,
		       const struct recorded_packet *request, uint32_t *answer);

/* Whether the next response speaks for it being under way still, when those sent after it come. */
bool course_may_hold(const struct scene *scene, const struct course *course,
		     const struct recorded_packet *request);

#endif
