/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Connections that the connection manager made within the capture: a REQ and the REP to it say
 * which QPs belong together, where their PSNs start, and the path MTU. */

#include "apps/replay/flow.h"
#include "transport/cm/message.h"

#include <stdlib.h>
#include <string.h>

#define GSI_QPN 1

static bool is_same(const union ibv_gid *a, const union ibv_gid *b)
{
	return !memcmp(a, b, sizeof(*a));
}

static struct connection *find_request(const struct connections *connections,
				       const union ibv_gid *active, const union ibv_gid *passive,
				       uint32_t comm_id)
{
	for (uint32_t i = connections->count; i-- > 0;) {
		struct connection *connection = &connections->items[i];

		if (connection->comm_id == comm_id && is_same(&connection->gid[0], active) &&
		    is_same(&connection->gid[1], passive))
			return connection;
	}
	return NULL;
}

static bool add_request(struct connections *connections, const struct recorded_packet *recorded,
			const struct vl_cm_req *req)
{
	const struct vl_packet *packet = &recorded->packet;

	if (find_request(connections, &packet->source_gid, &packet->destination_gid,
			 req->local_comm_id))
		return true;
	if (connections->count == connections->room) {
		uint32_t more = connections->room ? connections->room * 2 : 16;
		void *grown = realloc(connections->items, more * sizeof(*connections->items));

		if (!grown)
			return false;
		connections->items = grown;
		connections->room = more;
	}
	/* A starting PSN is what its sender expects first, IBTA 12.7.31. */
	connections->items[connections->count++] = (struct connection){
		.gid = {packet->source_gid, packet->destination_gid},
		.qpn = {req->local_qpn},
		.first_psn = {[1] = req->starting_psn},
		.path_mtu = req->path_mtu >= IBV_MTU_256 && req->path_mtu <= IBV_MTU_4096
				    ? 128u << req->path_mtu
				    : 0,
		.comm_id = req->local_comm_id,
		.number = recorded->number,
	};
	return true;
}

bool connections_add(struct connections *connections, const struct recorded_packet *recorded)
{
	const struct vl_packet *packet = &recorded->packet;
	struct vl_cm_message message;
	struct connection *connection;

	if (vl_opcode_service(packet->opcode) != VL_SERVICE_UD ||
	    packet->destination_qpn != GSI_QPN ||
	    vl_cm_decode(&message, packet->payload, packet->payload_length) != VL_CM_RESULT_ok)
		return true;
	if (message.attribute_id == VL_CM_REQ)
		return add_request(connections, recorded, &message.req);
	if (message.attribute_id != VL_CM_REP)
		return true;
	connection = find_request(connections, &packet->destination_gid, &packet->source_gid,
				  message.rep.remote_comm_id);
	if (connection) {
		connection->qpn[1] = message.rep.local_qpn;
		connection->first_psn[0] = message.rep.starting_psn;
		connection->is_complete = true;
	}
	return true;
}

const struct connection *connections_find(const struct connections *connections,
					  const union ibv_gid *requester,
					  const union ibv_gid *responder, uint32_t responder_qpn,
					  uint64_t before, unsigned int *side)
{
	for (uint32_t i = connections->count; i-- > 0;) {
		const struct connection *connection = &connections->items[i];

		if (!connection->is_complete || connection->number > before)
			continue;
		for (*side = 0; *side < 2; ++*side) {
			if (connection->qpn[!*side] == responder_qpn &&
			    is_same(&connection->gid[*side], requester) &&
			    is_same(&connection->gid[!*side], responder))
				return connection;
		}
	}
	return NULL;
}
