/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Whose packet it is: connections by their QPNs, with what addresses of events count from. */

#include "dataplane/fault/private.h"
#include "transport/cm/message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GSI_QPN 1u
/* While so few requests were seen, one with a PSN before the first is an earlier one, and not one
 * half of the PSNs ahead. */
#define YOUNG 65536

int vl_fault_connections_init(struct vl_fault_connections *connections, uint32_t capacity)
{
	uint32_t size = 16;

	while (size < capacity)
		size <<= 1;
	connections->list = calloc(capacity, sizeof(*connections->list));
	connections->by_local = malloc(size * sizeof(*connections->by_local));
	connections->by_remote = malloc(size * sizeof(*connections->by_remote));
	if (!connections->list || !connections->by_local || !connections->by_remote)
		return -ENOMEM;
	memset(connections->by_local, 0xff, size * sizeof(*connections->by_local));
	memset(connections->by_remote, 0xff, size * sizeof(*connections->by_remote));
	connections->mask = size - 1;
	connections->capacity = capacity;
	connections->newest = connections->oldest = VL_FAULT_NONE;
	return 0;
}

void vl_fault_connections_free(struct vl_fault_connections *connections)
{
	free(connections->list);
	free(connections->by_local);
	free(connections->by_remote);
}

/* ---- Finding -------------------------------------------------------------------------------- */

static uint32_t hash(uint64_t value)
{
	struct vl_random random = {value};

	return (uint32_t)vl_random_next(&random);
}

static uint32_t local_chain(const struct vl_fault_connections *connections, uint32_t qpn)
{
	return hash(qpn) & connections->mask;
}

static uint32_t remote_chain(const struct vl_fault_connections *connections,
			     const union ibv_gid *peer, uint32_t qpn)
{
	uint64_t halves[2];

	memcpy(halves, peer, sizeof(halves));
	return hash(halves[0] ^ halves[1] * 31 ^ (uint64_t)qpn << 32) & connections->mask;
}

static struct vl_fault_connection *find_local(struct vl_fault_connections *connections,
					      uint32_t qpn)
{
	uint32_t index = connections->by_local[local_chain(connections, qpn)];

	while (index != VL_FAULT_NONE && connections->list[index].local_qpn != qpn)
		index = connections->list[index].next_by_local;
	return index == VL_FAULT_NONE ? NULL : &connections->list[index];
}

static struct vl_fault_connection *find_remote(struct vl_fault_connections *connections,
					       const union ibv_gid *peer, uint32_t qpn)
{
	uint32_t index = connections->by_remote[remote_chain(connections, peer, qpn)];

	while (index != VL_FAULT_NONE &&
	       (connections->list[index].remote_qpn != qpn ||
		memcmp(&connections->list[index].peer, peer, sizeof(*peer))))
		index = connections->list[index].next_by_remote;
	return index == VL_FAULT_NONE ? NULL : &connections->list[index];
}

/* ---- Order of use --------------------------------------------------------------------------- */

static void unlink_use(struct vl_fault_connections *connections, uint32_t index)
{
	struct vl_fault_connection *connection = &connections->list[index];

	if (connection->newer == VL_FAULT_NONE)
		connections->newest = connection->older;
	else
		connections->list[connection->newer].older = connection->older;
	if (connection->older == VL_FAULT_NONE)
		connections->oldest = connection->newer;
	else
		connections->list[connection->older].newer = connection->newer;
}

static void link_newest(struct vl_fault_connections *connections, uint32_t index)
{
	struct vl_fault_connection *connection = &connections->list[index];

	connection->newer = VL_FAULT_NONE;
	connection->older = connections->newest;
	if (connections->newest != VL_FAULT_NONE)
		connections->list[connections->newest].newer = index;
	connections->newest = index;
	if (connections->oldest == VL_FAULT_NONE)
		connections->oldest = index;
}

static void use(struct vl_fault_connections *connections, uint32_t index)
{
	if (connections->newest == index)
		return;
	unlink_use(connections, index);
	link_newest(connections, index);
}

/* ---- Making and forgetting ------------------------------------------------------------------ */

static void unchain(uint32_t *head, struct vl_fault_connection *list, uint32_t index, bool remote)
{
	while (*head != index)
		head = remote ? &list[*head].next_by_remote : &list[*head].next_by_local;
	*head = remote ? list[index].next_by_remote : list[index].next_by_local;
}

static void forget_remote(struct vl_fault_connections *connections, uint32_t index)
{
	struct vl_fault_connection *connection = &connections->list[index];

	if (!connection->remote_qpn)
		return;
	unchain(&connections->by_remote[remote_chain(connections, &connection->peer,
						     connection->remote_qpn)],
		connections->list, index, true);
	connection->remote_qpn = 0;
}

static void set_remote(struct vl_fault *fault, struct vl_fault_connection *connection,
		       const union ibv_gid *peer, uint32_t qpn)
{
	struct vl_fault_connections *connections = &fault->connections;
	uint32_t index = vl_fault_connection_index(fault, connection);
	uint32_t *head;

	if (!qpn ||
	    (connection->remote_qpn == qpn && !memcmp(&connection->peer, peer, sizeof(*peer))))
		return;
	forget_remote(connections, index);
	connection->peer = *peer;
	connection->remote_qpn = qpn;
	head = &connections->by_remote[remote_chain(connections, peer, qpn)];
	connection->next_by_remote = *head;
	*head = index;
}

/* As new, with the same QPNs. Its number is new: tallies and held frames of the old one know. */
static void begin(struct vl_fault *fault, struct vl_fault_connection *connection, bool is_spared)
{
	struct vl_fault_connections *connections = &fault->connections;
	struct vl_fault_connection fresh = {
		.peer = connection->peer,
		.local_qpn = connection->local_qpn,
		.remote_qpn = connection->remote_qpn,
		.newer = connection->newer,
		.older = connection->older,
		.next_by_local = connection->next_by_local,
		.next_by_remote = connection->next_by_remote,
		.number = is_spared ? VL_FAULT_SPARED | ++connections->spared
				    : ++connections->numbered & ~VL_FAULT_SPARED,
		.tokens = fault->config.receives.burst,
	};

	*connection = fresh;
}

static struct vl_fault_connection *add(struct vl_fault *fault, uint32_t local_qpn, bool is_spared)
{
	struct vl_fault_connections *connections = &fault->connections;
	struct vl_fault_connection *connection;
	uint32_t index, *head;

	if (connections->used < connections->capacity) {
		index = connections->used++;
	} else {
		index = connections->oldest;
		unlink_use(connections, index);
		forget_remote(connections, index);
		unchain(&connections->by_local[local_chain(connections,
							   connections->list[index].local_qpn)],
			connections->list, index, false);
		fault->counters.connections_forgotten++;
	}
	connection = &connections->list[index];
	connection->local_qpn = local_qpn;
	connection->remote_qpn = 0;
	begin(fault, connection, is_spared);
	link_newest(connections, index);
	head = &connections->by_local[local_chain(connections, local_qpn)];
	connection->next_by_local = *head;
	*head = index;
	return connection;
}

/* ---- The connection manager ----------------------------------------------------------------- */

static void propose(struct vl_fault_connections *connections, const struct vl_fault_packet *packet,
		    const union ibv_gid *peer, const struct vl_cm_req *req, bool is_spared)
{
	struct vl_fault_proposal *proposal = NULL;

	for (uint32_t i = 0; i < VL_FAULT_PROPOSALS && !proposal; i++) {
		struct vl_fault_proposal *old = &connections->proposals[i];

		if (old->is_used && old->comm_id == req->local_comm_id &&
		    old->direction == packet->direction && !memcmp(&old->peer, peer, sizeof(*peer)))
			proposal = old;
	}
	if (!proposal)
		proposal =
			&connections->proposals[connections->next_proposal++ % VL_FAULT_PROPOSALS];
	*proposal = (struct vl_fault_proposal){
		.peer = *peer,
		.comm_id = req->local_comm_id,
		.qpn = req->local_qpn,
		.psn = req->starting_psn,
		.direction = (uint8_t)packet->direction,
		.is_used = true,
		.is_spared = is_spared,
	};
}

static void set_first_psn(struct vl_fault_stream *stream, uint32_t psn)
{
	stream->started = stream->is_exact = true;
	stream->first_psn = psn;
	stream->newest_psn = vl_psn_add(psn, VL_PSN_MASK);
}

/* Both sides are known now. A repeated REP changes nothing; one with other numbers is for a new
 * connection on the same QP. */
static void establish(struct vl_fault *fault, uint32_t local_qpn,
		      const struct vl_fault_proposal *proposal, uint32_t remote_qpn,
		      uint32_t transmitted_psn, uint32_t received_psn)
{
	struct vl_fault_connection *connection = find_local(&fault->connections, local_qpn);
	struct vl_fault_stream *streams;

	if (!connection)
		connection = add(fault, local_qpn, proposal->is_spared);
	streams = connection->streams;
	if (streams[VL_DIRECTION_TRANSMITTED].is_exact &&
	    streams[VL_DIRECTION_TRANSMITTED].first_psn == transmitted_psn &&
	    streams[VL_DIRECTION_RECEIVED].is_exact &&
	    streams[VL_DIRECTION_RECEIVED].first_psn == received_psn &&
	    connection->remote_qpn == remote_qpn)
		return;
	if (streams[VL_DIRECTION_TRANSMITTED].started || streams[VL_DIRECTION_RECEIVED].started)
		begin(fault, connection, proposal->is_spared);
	set_remote(fault, connection, &proposal->peer, remote_qpn);
	set_first_psn(&streams[VL_DIRECTION_TRANSMITTED], transmitted_psn);
	set_first_psn(&streams[VL_DIRECTION_RECEIVED], received_psn);
}

static void answer(struct vl_fault *fault, const struct vl_fault_packet *packet,
		   const union ibv_gid *peer, const struct vl_cm_rep *rep)
{
	for (uint32_t i = 0; i < VL_FAULT_PROPOSALS; i++) {
		const struct vl_fault_proposal *proposal = &fault->connections.proposals[i];

		if (!proposal->is_used || proposal->comm_id != rep->remote_comm_id ||
		    proposal->direction == packet->direction ||
		    memcmp(&proposal->peer, peer, sizeof(*peer)))
			continue;
		if (packet->direction == VL_DIRECTION_RECEIVED)
			establish(fault, proposal->qpn, proposal, rep->local_qpn, proposal->psn,
				  rep->starting_psn);
		else
			establish(fault, rep->local_qpn, proposal, proposal->qpn, rep->starting_psn,
				  proposal->psn);
		return;
	}
}

static void learn_from_management(struct vl_fault *fault, const struct vl_fault_packet *packet,
				  const union ibv_gid *peer)
{
	struct vl_cm_message message;

	if (vl_cm_decode(&message, packet->parsed.payload, packet->parsed.payload_length) !=
	    VL_CM_RESULT_ok)
		return;
	if (message.attribute_id == VL_CM_REQ)
		propose(&fault->connections, packet, peer, &message.req,
			fault->config.spared_service &&
				message.req.service_id == fault->config.spared_service);
	else if (message.attribute_id == VL_CM_REP)
		answer(fault, packet, peer, &message.rep);
}

/* ---- PSNs and messages ---------------------------------------------------------------------- */

static uint32_t *start_at(struct vl_fault_stream *stream, uint64_t number)
{
	return &stream->starts[number % VL_FAULT_MESSAGES];
}

/* Messages are numbered in the order of their PSNs: one whose first packet comes late moves up
 * those behind it. */
static void note_message(struct vl_fault_stream *stream, uint32_t psn)
{
	uint64_t count = stream->message_count;
	uint64_t oldest = count > VL_FAULT_MESSAGES ? count - VL_FAULT_MESSAGES : 0;
	uint64_t at = count;

	while (at > oldest && vl_psn_distance(psn, *start_at(stream, at - 1)) < 0)
		at--;
	if (at > oldest && *start_at(stream, at - 1) == psn)
		return;
	/* Older than all that are remembered: a retransmission. */
	if (at == oldest && count > VL_FAULT_MESSAGES)
		return;
	for (uint64_t i = count; i > at; i--)
		*start_at(stream, i) = *start_at(stream, i - 1);
	*start_at(stream, at) = psn;
	stream->message_count++;
}

static uint64_t message_of(struct vl_fault_stream *stream, uint32_t psn)
{
	uint64_t count = stream->message_count;
	uint64_t oldest = count > VL_FAULT_MESSAGES ? count - VL_FAULT_MESSAGES : 0;

	for (uint64_t at = count; at > oldest; at--) {
		if (vl_psn_distance(psn, *start_at(stream, at - 1)) >= 0)
			return at;
	}
	return 0;
}

static void note_request(struct vl_fault_stream *stream, const struct vl_packet *packet)
{
	if (!stream->started) {
		stream->started = true;
		stream->first_psn = stream->newest_psn = packet->psn;
	} else if (!stream->is_exact && stream->packets < YOUNG &&
		   vl_psn_distance(packet->psn, stream->first_psn) < 0) {
		stream->first_psn = packet->psn;
	}
	if (!stream->packets++ || vl_psn_distance(packet->psn, stream->newest_psn) > 0) {
		if (stream->is_newest_read) {
			stream->has_read = true;
			stream->read_end_psn = vl_psn_add(packet->psn, VL_PSN_MASK);
		}
		stream->is_newest_read = packet->info->flags & (VL_OPCODE_READ | VL_OPCODE_ATOMIC);
		stream->newest_psn = packet->psn;
	}
	if (packet->info->flags & VL_OPCODE_FIRST)
		note_message(stream, packet->psn);
}

static void learn(struct vl_fault_packet *packet)
{
	uint32_t flags = packet->parsed.info->flags;
	struct vl_fault_stream *streams = packet->connection->streams;
	struct vl_fault_stream *requests = &streams[packet->direction];

	if (flags & VL_OPCODE_AETH)
		requests->msn = packet->parsed.msn;
	if (flags & VL_OPCODE_REQUEST)
		note_request(requests, &packet->parsed);
	else if (flags & VL_OPCODE_RESPONSE)
		requests = &streams[!packet->direction];
	else
		return;
	packet->has_psn = requests->started;
	packet->psn = vl_psn_add(packet->parsed.psn - requests->first_psn, 0);
	packet->message = message_of(requests, packet->parsed.psn);
}

/* ---- The door ------------------------------------------------------------------------------- */

static uint32_t remote_of(const struct vl_fault *fault, uint32_t local_qpn)
{
	const struct vl_qp *qp =
		fault->config.device ? vl_find_qp(fault->config.device, local_qpn) : NULL;

	return qp ? vl_qp_remote_number(qp) : 0;
}

static struct vl_fault_connection *of_received(struct vl_fault *fault,
					       const struct vl_packet *packet)
{
	struct vl_fault_connection *connection =
		find_local(&fault->connections, packet->destination_qpn);

	if (!connection) {
		/* What is for nobody makes no connection. */
		if (fault->config.device &&
		    !vl_find_qp(fault->config.device, packet->destination_qpn))
			return NULL;
		connection = add(fault, packet->destination_qpn, false);
		connection->peer = packet->source_gid;
	}
	if (!connection->remote_qpn)
		set_remote(fault, connection, &packet->source_gid,
			   remote_of(fault, connection->local_qpn));
	return connection;
}

static struct vl_fault_connection *of_transmitted(struct vl_fault *fault,
						  const struct vl_fault_packet *packet)
{
	const struct vl_packet *parsed = &packet->parsed;
	uint32_t local_qpn = packet->frame->source_qpn;
	struct vl_fault_connection *connection;

	if (!local_qpn && parsed->info->flags & VL_OPCODE_DETH)
		local_qpn = parsed->source_qpn;
	if (!local_qpn)
		return find_remote(&fault->connections, &parsed->destination_gid,
				   parsed->destination_qpn);
	connection = find_local(&fault->connections, local_qpn);
	if (!connection)
		connection = add(fault, local_qpn, false);
	if (vl_opcode_service(parsed->opcode) != VL_SERVICE_UD)
		set_remote(fault, connection, &parsed->destination_gid, parsed->destination_qpn);
	else
		connection->peer = parsed->destination_gid;
	return connection;
}

void vl_fault_track(struct vl_fault *fault, struct vl_fault_packet *packet)
{
	bool is_received = packet->direction == VL_DIRECTION_RECEIVED;
	const struct vl_packet *parsed = &packet->parsed;

	if (parsed->destination_qpn == GSI_QPN) {
		packet->is_management = true;
		learn_from_management(fault, packet,
				      is_received ? &parsed->source_gid : &parsed->destination_gid);
		return;
	}
	packet->connection =
		is_received ? of_received(fault, parsed) : of_transmitted(fault, packet);
	if (!packet->connection)
		return;
	use(&fault->connections, vl_fault_connection_index(fault, packet->connection));
	packet->answer_qpn =
		is_received ? packet->connection->remote_qpn : packet->connection->local_qpn;
	if (parsed->info->flags & VL_OPCODE_DETH)
		packet->answer_qpn = parsed->source_qpn;
	learn(packet);
}
