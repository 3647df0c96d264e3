/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * A capture in memory, as replay needs it: the RDMA packets parsed, and sorted into conversations.
 *
 * A conversation is one direction of requests with the answers to it. A connected queue pair that
 * both asks and answers has two; so each can be replayed, in either role, by itself.
 */
#ifndef VERBLINE_REPLAY_RECORDING_H
#define VERBLINE_REPLAY_RECORDING_H

#include "transport/verbline.h"
#include "transport/wire/opcode.h"

/* Replay holds its capture in memory. */
#define REPLAY_MAX_BYTES   (UINT64_C(4) << 30)
#define REPLAY_MESSAGE     768
#define REPLAY_UNKNOWN_QPN UINT32_MAX

struct recorded_packet {
	uint64_t number; /* in the file, from 1 */
	uint64_t time;   /* ns since the first packet */
	uint8_t *bytes;  /* of the frame, owned */
	uint32_t length;
	int64_t position; /* connected services: its PSN, counted on beyond the 24 bits within its
			     conversation */
	struct vl_packet packet; /* pointers into bytes */
};

struct packet_list {
	struct recorded_packet **items; /* in the order of the capture; not owned */
	uint32_t count, room;
};

struct conversation {
	enum vl_service service;
	union ibv_gid requester, responder;
	uint32_t requester_qpn; /* REPLAY_UNKNOWN_QPN: nothing in the capture says */
	uint32_t responder_qpn; /* UD: of the first packet */
	uint32_t path_mtu;      /* bytes, worked out from the packets; 0: they agree on none */
	bool start_is_known;    /* the connection was made within the capture: */
	uint32_t start_psn;     /* ... and this was its first PSN */
	bool is_continued;      /* the capture lacks what followed; what it has of the rest is a
				   conversation of its own */
	struct packet_list requests, responses;
};

/* Addresses that a conversation's requests write. */
struct recorded_write {
	union ibv_gid responder;
	uint32_t rkey;
	uint32_t writer; /* the conversation, by index */
	uint64_t from, to;
};

struct recording {
	const char *path;
	struct recorded_packet *packets;
	uint32_t packet_count;
	uint64_t total;        /* packets in the file */
	uint64_t not_rdma;     /* of another protocol */
	uint64_t not_replayed; /* CNPs, reserved opcodes, cut short when captured, native InfiniBand
				*/
	uint64_t icrc_wrong;   /* left out: a receiver drops them */
	bool damaged;
	char message[REPLAY_MESSAGE]; /* with damaged: where and why reading stopped */
	struct conversation *conversations;
	uint32_t conversation_count;
	uint32_t orphan_responses;     /* answers to requests that are not in the capture */
	struct recorded_write *writes; /* of all conversations, by responder and key */
	uint32_t write_count;
};

/* NULL: message says why, without the path. A damaged file gives what could be read. */
struct recording *recording_load(const char *path, char message[REPLAY_MESSAGE]);
void recording_free(struct recording *recording);

/* conversation.c: sorts the packets into conversations. False: out of memory. */
bool recording_sort(struct recording *recording);
bool packet_list_add(struct packet_list *list, struct recorded_packet *packet);

/* sharing.c. False: out of memory. */
bool recording_collect_writes(struct recording *recording);
/* Index of the first write with a responder's key, if there is one. */
uint32_t recording_find_writes(const struct recording *recording, const union ibv_gid *responder,
			       uint32_t rkey);

/* PSNs that a request takes. */
uint32_t request_psn_count(const struct conversation *conversation,
			   const struct vl_packet *request);

/* "10.0.0.1" or "fd00::1". */
#define REPLAY_ADDRESS_LENGTH 48
const char *recorded_address(const union ibv_gid *gid, char text[REPLAY_ADDRESS_LENGTH]);

#endif
