/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Flow control of an InfiniBand link, as its flow-control packets tell of it: what each side sent
 * on each virtual lane, and how many credits it had left. */
#ifndef VERBLINE_INSPECT_LINK_H
#define VERBLINE_INSPECT_LINK_H

#include "dataplane/infiniband/flow_control.h"

#include <stdbool.h>
#include <stdint.h>

/* Capture interfaces of ERF: the two directions of a link, where a capture tells them apart. */
#define INSPECT_LINK_SIDES 2u

/* What one side said of one lane. */
struct inspect_lane {
	uint64_t packets, init_packets; /* flow control; of these with operation init */
	uint64_t blocks;                /* of 64 bytes, sent from its first to its last packet */
	/* FCCL of the other side less FCTBS of this one, when this one said it: the least; and how
	 * often it was 0. Valid once has_credits, which takes packets of both sides. */
	uint32_t least_credits;
	uint64_t without_credits;
	bool has_credits;
	uint16_t total_sent, limit; /* as last said */
};

struct inspect_link {
	uint64_t packets; /* six bytes long, or cut */
	uint64_t lpcrc_right, lpcrc_wrong;
	uint64_t reserved; /* of another operation than flow control's, or of lane 15; or cut */
	struct inspect_lane lanes[INSPECT_LINK_SIDES][VL_INFINIBAND_DATA_LANES];
};

/* Takes a link packet; side: 0 or above. False: its LPCRC is wrong, *expected and *found say how.
 */
bool inspect_link_add(struct inspect_link *link, unsigned int side, const uint8_t *bytes,
		      uint32_t length, uint32_t *expected, uint32_t *found);

#endif
