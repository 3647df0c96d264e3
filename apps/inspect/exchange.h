/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Connection management seen on QP1: the messages, and what they tell about the QPs they name. */
#ifndef VERBLINE_INSPECT_EXCHANGE_H
#define VERBLINE_INSPECT_EXCHANGE_H

#include "apps/inspect/flow.h"
#include "transport/cm/message.h"

#include <stdbool.h>
#include <stdint.h>

/* Connection management messages kept; all are counted. */
#define INSPECT_MAX_EXCHANGES 1000
/* Requests for communication that may be under way at once. */
#define INSPECT_MAX_PROPOSALS 256
#define INSPECT_EXCHANGE_TEXT 320

struct inspect_exchange {
	uint64_t packet, time;
	const struct inspect_flow *flow;
	struct vl_cm_message message;
};

/* A REQ that a REP may answer. */
struct inspect_proposal {
	union ibv_gid source, destination;
	uint32_t comm_id, qpn, starting_psn;
	uint64_t service_id;
	uint8_t path_mtu; /* enum ibv_mtu */
	bool used, answered, accepted;
};

struct inspect_exchanges {
	struct inspect_exchange *list; /* the first ones */
	uint32_t count, capacity;
	uint64_t seen;
	uint64_t undecoded; /* datagrams to QP1 that are no such message */
	uint64_t repeated;  /* REQs that came again */
	uint64_t rejected;
	uint64_t unanswered; /* REQs forgotten before an answer came */
	struct inspect_proposal proposals[INSPECT_MAX_PROPOSALS];
	uint32_t next_proposal;
};

/* REQs to which nothing came back. */
uint64_t inspect_unanswered_proposals(const struct inspect_exchanges *exchanges);
/* "REQ RC QP 0x11, service TCP 7174, ..." */
const char *inspect_exchange_text(const struct inspect_exchange *exchange,
				  char text[INSPECT_EXCHANGE_TEXT]);

#endif
