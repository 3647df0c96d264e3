/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The table of connections: who is found by what, and how many there may be. */

#include "transport/cm/connection_private.h"

#include <errno.h>
#include <string.h>

/* What an accepted peer has, at the least, to establish the connection: 100 ms. */
#define PATIENCE UINT64_C(100000000)

static uint64_t mix(uint64_t value)
{
	struct vl_random random = {value};

	return vl_random_next(&random);
}

/* The key is secret, so that nobody can choose what collides. */
static uint64_t hash_gid(const struct vl_cm *cm, const union ibv_gid *gid, uint64_t number)
{
	uint64_t halves[2];

	memcpy(halves, gid->raw, sizeof(halves));
	return mix(mix(mix(cm->hash_key ^ number) ^ halves[0]) ^ halves[1]);
}

static bool same_gid(const union ibv_gid *a, const union ibv_gid *b)
{
	return !memcmp(a, b, sizeof(*a));
}

static uint32_t communication_id(const struct vl_cm *cm, uint32_t index, uint32_t generation)
{
	return (uint32_t)cm->config.worker << (32 - VL_CM_WORKER_BITS) |
	       (generation << cm->index_bits & ((UINT32_C(1) << (32 - VL_CM_WORKER_BITS)) - 1)) |
	       index;
}

struct vl_cm_connection *vl_cm_allocate(struct vl_cm *cm)
{
	struct vl_cm_connection *connection;
	uint32_t index, generation;

	if (!cm->free_count)
		return NULL;
	index = cm->free_connections[cm->free_head];
	cm->free_head = cm->free_head + 1 == cm->config.max_connections ? 0 : cm->free_head + 1;
	cm->free_count--;
	connection = &cm->connections[index];
	generation = connection->generation + 1;
	/* 0 in a message stands for no ID (IBTA 12.6.7, REJ). */
	if (!communication_id(cm, index, generation))
		generation++;
	memset(connection, 0, sizeof(*connection));
	connection->cm = cm;
	connection->index = index;
	connection->generation = generation;
	connection->in_use = true;
	connection->local_comm_id = communication_id(cm, index, generation);
	cm->usage.connections++;
	return connection;
}

static void leave_chain(struct vl_cm *cm, uint32_t *head, uint32_t index, bool is_by_id)
{
	while (*head != index)
		head = is_by_id ? &cm->connections[*head].next_by_id
				: &cm->connections[*head].next_by_qpn;
	*head = is_by_id ? cm->connections[index].next_by_id : cm->connections[index].next_by_qpn;
}

static uint32_t *chain_by_id(struct vl_cm *cm, uint32_t id, const union ibv_gid *gid)
{
	return &cm->by_id[hash_gid(cm, gid, id) & cm->hash_mask];
}

static uint32_t *chain_by_qpn(struct vl_cm *cm, uint32_t qpn, const union ibv_gid *gid)
{
	return &cm->by_qpn[hash_gid(cm, gid, UINT64_C(1) << 32 | qpn) & cm->hash_mask];
}

static void leave_tables(struct vl_cm_connection *connection)
{
	struct vl_cm *cm = connection->cm;

	if (connection->is_by_id)
		leave_chain(cm,
			    chain_by_id(cm, connection->remote_comm_id, &connection->remote_gid),
			    connection->index, true);
	if (connection->is_by_qpn)
		leave_chain(cm, chain_by_qpn(cm, connection->remote_qpn, &connection->remote_gid),
			    connection->index, false);
	connection->is_by_id = connection->is_by_qpn = false;
}

void vl_cm_free(struct vl_cm_connection *connection)
{
	struct vl_cm *cm = connection->cm;
	uint32_t tail = cm->free_head + cm->free_count;

	leave_tables(connection);
	vl_cm_leave_half_open(connection);
	if (connection->state == VL_CM_STATE_ESTABLISHED)
		cm->usage.established--;
	if (connection->state == VL_CM_STATE_TIMEWAIT)
		cm->usage.time_wait--;
	vl_timer_cancel(&cm->wheel, &connection->timer);
	vl_list_remove(&connection->waiting);
	vl_list_remove(&connection->kept);
	connection->in_use = false;
	cm->free_connections[tail >= cm->config.max_connections ? tail - cm->config.max_connections
								: tail] = connection->index;
	cm->free_count++;
	cm->usage.connections--;
}

struct vl_cm_connection *vl_cm_find_local(struct vl_cm *cm, uint32_t local_comm_id)
{
	uint32_t index = local_comm_id & ((UINT32_C(1) << cm->index_bits) - 1);
	struct vl_cm_connection *connection;

	if (index >= cm->config.max_connections)
		return NULL;
	connection = &cm->connections[index];
	return connection->in_use && connection->local_comm_id == local_comm_id ? connection : NULL;
}

void vl_cm_enter_by_id(struct vl_cm_connection *connection)
{
	uint32_t *head =
		chain_by_id(connection->cm, connection->remote_comm_id, &connection->remote_gid);

	connection->next_by_id = *head;
	connection->is_by_id = true;
	*head = connection->index;
}

struct vl_cm_connection *vl_cm_find_remote(struct vl_cm *cm, uint32_t remote_comm_id,
					   const union ibv_gid *gid, bool is_datagram)
{
	struct vl_cm_connection *connection;

	for (uint32_t i = *chain_by_id(cm, remote_comm_id, gid); i != VL_CM_NONE;
	     i = connection->next_by_id) {
		connection = &cm->connections[i];
		if (connection->remote_comm_id == remote_comm_id &&
		    same_gid(&connection->remote_gid, gid) &&
		    (connection->qp_type == IBV_QPT_UD) == is_datagram)
			return connection;
	}
	return NULL;
}

void vl_cm_enter_by_qpn(struct vl_cm_connection *connection)
{
	uint32_t *head =
		chain_by_qpn(connection->cm, connection->remote_qpn, &connection->remote_gid);

	connection->next_by_qpn = *head;
	connection->is_by_qpn = true;
	*head = connection->index;
}

struct vl_cm_connection *vl_cm_find_qpn(struct vl_cm *cm, uint32_t remote_qpn,
					const union ibv_gid *gid)
{
	struct vl_cm_connection *connection;

	for (uint32_t i = *chain_by_qpn(cm, remote_qpn, gid); i != VL_CM_NONE;
	     i = connection->next_by_qpn) {
		connection = &cm->connections[i];
		if (connection->remote_qpn == remote_qpn && same_gid(&connection->remote_gid, gid))
			return connection;
	}
	return NULL;
}

/* In a flood the oldest is the least likely to be in earnest: who is, answers at once. */
static void cut_half_open(struct vl_cm *cm, uint64_t now)
{
	struct vl_cm_connection *oldest;

	if (vl_list_is_empty(&cm->accepted))
		return;
	oldest = VL_CONTAINER(cm->accepted.next, struct vl_cm_connection, kept);
	if (now - oldest->accepted_time < PATIENCE)
		return;
	cm->counters.half_open_cut++;
	vl_cm_send_rej(oldest, VL_CM_REJECT_NO_RESOURCES, NULL, 0, NULL, 0, now);
	vl_cm_end_unreachable(oldest, -ETIMEDOUT, now);
}

bool vl_cm_enter_half_open(struct vl_cm_connection *connection, uint64_t now)
{
	struct vl_cm *cm = connection->cm;

	connection->peer_bucket =
		(uint32_t)(hash_gid(cm, &connection->remote_gid, UINT64_C(2) << 32) &
			   cm->hash_mask);
	if (cm->usage.half_open >= cm->config.max_half_open)
		cut_half_open(cm, now);
	if (cm->usage.half_open >= cm->config.max_half_open ||
	    cm->peer_half_open[connection->peer_bucket] >= cm->config.max_half_open_per_peer)
		return false;
	cm->usage.half_open++;
	cm->peer_half_open[connection->peer_bucket]++;
	connection->is_half_open = true;
	return true;
}

void vl_cm_leave_half_open(struct vl_cm_connection *connection)
{
	struct vl_cm *cm = connection->cm;

	if (!connection->is_half_open)
		return;
	connection->is_half_open = false;
	cm->usage.half_open--;
	cm->peer_half_open[connection->peer_bucket]--;
}

void vl_cm_set_state(struct vl_cm_connection *connection, enum vl_cm_state state)
{
	struct vl_cm *cm = connection->cm;

	vl_list_remove(&connection->kept);
	if (connection->state == VL_CM_STATE_ESTABLISHED)
		cm->usage.established--;
	if (state == VL_CM_STATE_ESTABLISHED) {
		cm->usage.established++;
		cm->counters.established++;
	}
	if (state == VL_CM_STATE_TIMEWAIT)
		cm->usage.time_wait++;
	if (state == VL_CM_STATE_TIMEWAIT || state == VL_CM_STATE_SIDR_ANSWERED)
		vl_list_append(&cm->kept, &connection->kept);
	if (state == VL_CM_STATE_REP_SENT)
		vl_list_append(&cm->accepted, &connection->kept);
	if (state != VL_CM_STATE_REQ_RECEIVED && state != VL_CM_STATE_REP_SENT)
		vl_cm_leave_half_open(connection);
	connection->state = (uint8_t)state;
}
