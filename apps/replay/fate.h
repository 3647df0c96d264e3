/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * What happened to a packet after the point of capture, worked out from the other side's recorded
 * behaviour alone; the stack under test has no part in it. A packet that the recorded peer cannot
 * have seen must not be shown to the stack either.
 */
#ifndef VERBLINE_REPLAY_FATE_H
#define VERBLINE_REPLAY_FATE_H

#include "apps/replay/recording.h"

#define FATE_NONE UINT32_MAX

/* AETH syndromes. */
#define NAK_SEQUENCE           0x60
#define NAK_INVALID_REQUEST    0x61
#define NAK_REMOTE_ACCESS      0x62
#define NAK_REMOTE_OPERATIONAL 0x63

/* ---- Requests: fate_request.c --------------------------------------------------------------- */

enum request_fate {
	REQUEST_ARRIVED,
	REQUEST_OVERTAKEN, /* arrived, but after the request with index `after` */
	REQUEST_LOST,      /* the recorded responder never saw it, or not in time to heed it */
	REQUEST_NOT_READY, /* answered with RNR NAK: no receive request was posted */
	REQUEST_REFUSED,   /* answered with a NAK that ends the connection */
	REQUEST_SKIPPED,   /* of a message that began before the capture */
	REQUEST_UNDECIDED, /* in none of the outcomes that callers see */
};

struct request_outcome {
	enum request_fate fate;
	bool is_expected;  /* it came when its PSN was the next; else repeated, or behind a gap */
	uint8_t syndrome;  /* of the NAK, with NOT_READY and REFUSED */
	uint32_t after;    /* with OVERTAKEN */
	uint32_t answer;   /* response that begins its answer, or that refuses it; FATE_NONE */
	uint64_t evidence; /* number of the packet that shows it; 0: what is missing shows it */
};

struct request_outcomes {
	struct request_outcome *items; /* one per request */
	/* Of each response: the index of the READ, ATOMIC, FLUSH or ATOMIC WRITE whose answer
	 * begins with it, or FATE_NONE. */
	uint32_t *begins_answer_to;
	bool *speaks_of_unsent; /* of each response: its PSN had not been sent by then */
	int64_t start;          /* position of the first request that begins a message */
	int64_t end;            /* ... and behind the last of all */
	/* Positions up to which an acknowledgement says that one message more is done. */
	int64_t *messages;
	uint32_t message_count;
	/* MSNs count from the start of the connection, which may lie before the capture: what most
	 * answers are ahead of the messages counted here. */
	uint32_t msn_offset;
	uint64_t slowest_answer; /* ns from a request to its own answer */
	bool is_out_of_memory;
};

/* last_from_responder: number of the last packet in the whole capture that the responding host
 * sent. */
struct request_outcomes request_outcomes(const struct conversation *conversation,
					 uint64_t last_from_responder);
void request_outcomes_release(struct request_outcomes *outcomes);
/* The MSN, modulo 2^24, of an AETH that acknowledges everything up to a position. */
uint32_t expected_msn(const struct request_outcomes *outcomes, int64_t position);

/* ---- Responses: fate_response.c ------------------------------------------------------------- */

struct response_outcome {
	bool lost;           /* the recorded requester never saw it */
	uint64_t evidence;   /* number of the retransmission that shows it */
	uint32_t not_before; /* heeded after this many requests were sent */
	bool turns_back;     /* the NAK that makes the next request a repeated one */
};

/* Why the requester turned back to a packet that it had sent. */
enum rewind_cause {
	REWIND_NONE,    /* it did not */
	REWIND_NAK,     /* RNR too */
	REWIND_IMPLIED, /* a later response came where the packet's own was missing; or a timeout,
			   as not every such response is heeded */
	REWIND_TIMEOUT,
	REWIND_LATE, /* it did not: the packet was overtaken on its way to the point of capture */
};

struct response_outcomes {
	struct response_outcome *items; /* one per response; NULL: out of memory */
	uint8_t *causes;                /* enum rewind_cause of each request */
	bool is_behind_loss;   /* requests were lost, or overtaken, before the point of capture */
	uint32_t most_retries; /* timeouts in a row without a new request between */
};

struct response_outcomes response_outcomes(const struct conversation *conversation,
					   const struct request_outcomes *requests);
void response_outcomes_release(struct response_outcomes *outcomes);

/* ---- What packets are ----------------------------------------------------------------------- */

/* Answered by its own response: READ, ATOMIC, FLUSH, ATOMIC WRITE. */
static inline bool is_resource(const struct vl_packet *request)
{
	return request->info->flags &
	       (VL_OPCODE_READ | VL_OPCODE_ATOMIC | VL_OPCODE_IS_FLUSH | VL_OPCODE_IS_ATOMIC_WRITE);
}

static inline bool starts_message(const struct vl_packet *request)
{
	return (request->info->flags & VL_OPCODE_FIRST) || is_resource(request);
}

static inline bool is_acknowledge(const struct vl_packet *response)
{
	return vl_opcode_operation(response->opcode) == VL_OP_ACKNOWLEDGE;
}

/* Not negative. */
static inline bool is_ack(const struct vl_packet *response)
{
	return is_acknowledge(response) && (response->syndrome & 0x60) == 0;
}

static inline bool is_rnr_nak(const struct vl_packet *response)
{
	return is_acknowledge(response) && (response->syndrome & 0x60) == 0x20;
}

static inline bool is_nak(const struct vl_packet *response)
{
	return is_acknowledge(response) && (response->syndrome & 0x60) == 0x60;
}

static inline bool is_negative(const struct vl_packet *response)
{
	return is_acknowledge(response) && !is_ack(response);
}

#endif
