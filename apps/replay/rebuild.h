/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The work requests of a recorded requester, as its packets show them. */
#ifndef VERBLINE_REPLAY_REBUILD_H
#define VERBLINE_REPLAY_REBUILD_H

#include "apps/replay/fate.h"

struct rebuilding {
	const struct conversation *conversation;
	uint8_t *source; /* payloads of all messages, one after the other */
	uint64_t source_size, source_used;
	uint32_t source_key, sink_key;
};

/* One message of the capture: its packets from first on. */
struct message {
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	const struct vl_packet *first;
	uint32_t length;
	uint32_t psn_count;
	bool is_flush;
};

/* Bytes of source that the messages of a conversation take at most. */
uint64_t rebuilding_room(const struct conversation *conversation);

/* The message that begins with the request at index. False: no memory for it. The work request
 * refers to the message. */
bool rebuild_message(struct rebuilding *rebuilding, uint32_t index, struct message *message);

#endif
