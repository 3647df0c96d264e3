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

enum request_fate {
	REQUEST_ARRIVED,
	REQUEST_LOST,      /* the recorded responder never saw it */
	REQUEST_NOT_READY, /* answered with RNR NAK: no receive request was posted */
	REQUEST_REFUSED,   /* answered with a NAK that ends the connection */
	REQUEST_SKIPPED,   /* the capture begins in the middle of its message */
};

struct request_outcome {
	enum request_fate fate;
	uint8_t syndrome;  /* of the NAK, with NOT_READY and REFUSED */
	uint64_t evidence; /* number of the packet that shows it; 0: what is missing shows it */
};

/* One outcome per request of a conversation. last_from_responder: number of the last packet in the
 * whole capture that the responding host sent. NULL: out of memory. */
struct request_outcome *request_outcomes(const struct conversation *conversation,
					 uint64_t last_from_responder);

struct response_outcome {
	bool lost;           /* the recorded requester never saw it */
	uint64_t evidence;   /* number of the retransmission that shows it */
	uint32_t not_before; /* delivered after this many requests were sent */
};

struct response_outcomes {
	struct response_outcome *items; /* one per response */
	/* Of the local ACK timeout: the largest that fits every retransmission without another
	 * cause; 0: there was none. */
	uint8_t timeout_exponent;
	uint32_t timeouts;
	uint32_t most_retries; /* timeouts in a row without progress */
};

/* items is NULL when out of memory. */
struct response_outcomes response_outcomes(const struct conversation *conversation);

/* PSNs that a request takes. */
uint32_t request_psn_count(const struct conversation *conversation,
			   const struct vl_packet *request);

#endif
