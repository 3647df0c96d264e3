/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * The last requests of a capture in one ring, chained by flow, to find the packet that a NAK or a
 * retransmission is about. Older ones are forgotten.
 */
#ifndef VERBLINE_INSPECT_HISTORY_H
#define VERBLINE_INSPECT_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

struct inspect_flow;

#define INSPECT_HISTORY_LENGTH UINT32_C(32768) /* a power of two */
/* Entries of a flow that are looked at in one search. */
#define INSPECT_HISTORY_DEPTH 1024

struct inspect_past {
	uint64_t packet, time;
	uint32_t psn;
	uint32_t icrc;
	uint32_t previous; /* of the same flow: its serial number */
	uint32_t flow;     /* index */
	bool in_order;     /* not ahead of what the responder expected */
};

struct inspect_history {
	struct inspect_past *ring;
	uint32_t next; /* serial number, modulo 2^32 */
};

int inspect_history_init(struct inspect_history *history);
void inspect_history_free(struct inspect_history *history);
void inspect_history_add(struct inspect_history *history, struct inspect_flow *flow, uint32_t psn,
			 uint64_t packet, uint64_t time, uint32_t icrc, bool in_order);
/* The newest request with this PSN; NULL if none is remembered. */
const struct inspect_past *inspect_history_find(const struct inspect_history *history,
						const struct inspect_flow *flow, uint32_t psn);
/* The request whose PSNs hold psn: the nearest one not behind it. For READs, which take several. */
const struct inspect_past *inspect_history_find_holder(const struct inspect_history *history,
						       const struct inspect_flow *flow,
						       uint32_t psn);
/* The first request behind psn that was sent after the newest one with psn itself: what showed the
 * responder that psn is missing. */
const struct inspect_past *inspect_history_find_trigger(const struct inspect_history *history,
							const struct inspect_flow *flow,
							uint32_t psn);

#endif
