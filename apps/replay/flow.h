/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Packets sorted by where they came from and went to. A packet of a connected service names its
 * destination QPN only, so requests and the answers to them are two flows, and which belong
 * together has to be worked out.
 */
#ifndef VERBLINE_REPLAY_FLOW_H
#define VERBLINE_REPLAY_FLOW_H

#include "apps/replay/recording.h"

/* Packets of one kind (requests or answers) from one host to one QP of another; with UD, from one
 * QP to whomever. */
struct flow {
	enum vl_service service;
	bool is_requests;
	union ibv_gid source, destination;
	uint32_t destination_qpn;
	uint32_t source_qpn; /* UD says it; else REPLAY_UNKNOWN_QPN */
	uint16_t udp_source_port;
	uint32_t host_pair; /* a number for (source, destination) */
	struct flow *answers;
	bool is_taken; /* answers that have their requests */
	struct packet_list packets;
};

struct flow_index;

struct flows {
	struct flow *items;
	uint32_t count, room;
	uint32_t host_pair_count;
	struct flow_index *index;
};

/* Both false when out of memory; flows_release is due in any case. */
bool flows_add(struct flows *flows, struct recorded_packet *packet);
/* match.c: finds each RC requests' answers. */
struct connections;
bool flows_match(struct flows *flows, const struct connections *connections);
/* The number of (source, destination), or UINT32_MAX. */
uint32_t flows_host_pair(const struct flows *flows, const union ibv_gid *source,
			 const union ibv_gid *destination);
void flows_release(struct flows *flows);

/* ---- connection.c: what the connection manager's exchanges in the capture say -----------------
 */

struct connection {
	union ibv_gid gid[2]; /* active side (who sent the REQ), passive side */
	uint32_t qpn[2];
	uint32_t first_psn[2]; /* of the requests that each side sends */
	uint32_t path_mtu;     /* bytes */
	uint32_t comm_id;      /* the active side's */
	uint64_t number;       /* of the REQ's packet */
	bool is_complete;      /* the REP is there too */
};

struct connections {
	struct connection *items;
	uint32_t count, room;
};

bool connections_add(struct connections *connections, const struct recorded_packet *packet);
/* The side of the connection that sends requests to this QP, in *side; the last that began before
 * packet `before`. NULL: not in the capture. */
const struct connection *connections_find(const struct connections *connections,
					  const union ibv_gid *requester,
					  const union ibv_gid *responder, uint32_t responder_qpn,
					  uint64_t before, unsigned int *side);

#endif
