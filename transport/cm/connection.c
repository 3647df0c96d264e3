/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The door of the connection manager: open, close, poll, and what owners ask for. */

#include "transport/cm/connection.h"

#include "transport/cm/connection_private.h"
#include "transport/object/object.h"
#include "transport/psn.h"

#include <errno.h>
#include <string.h>

#define SECOND        UINT64_C(1000000000)
#define EXPIRY_BUDGET 1024 /* timers a poll */
#define MAX_DATAGRAMS 65536u

/* ---- Opening and closing -------------------------------------------------------------------- */

static void take_default(uint32_t *value, uint32_t otherwise)
{
	if (!*value)
		*value = otherwise;
}

static bool fill_config(struct vl_cm_config *config)
{
	take_default(&config->max_connections, 16384);
	take_default(&config->max_listeners, 64);
	take_default(&config->max_half_open, 4096);
	take_default(&config->max_half_open_per_peer, 2048);
	take_default(&config->receive_count, 1024);
	take_default(&config->send_count, 1024);
	if (!config->response_timeout)
		config->response_timeout = 18;
	if (!config->max_retries)
		config->max_retries = 15;
	if (!config->service_timeout)
		config->service_timeout = 21;
	if (!config->owner_timeout)
		config->owner_timeout = 30 * SECOND;
	if (!config->max_service_wait)
		config->max_service_wait = 60 * SECOND;
	if (!config->sidr_hold)
		config->sidr_hold = SECOND;
	return config->worker < 1 << VL_CM_WORKER_BITS && config->max_connections <= 1u << 20 &&
	       config->max_listeners <= 65536 && config->max_half_open_per_peer <= UINT16_MAX &&
	       config->receive_count <= MAX_DATAGRAMS && config->send_count <= MAX_DATAGRAMS &&
	       config->response_timeout <= 31 && config->max_retries <= 15 &&
	       config->service_timeout <= 31;
}

/* Hands out parts of one allocation; with base NULL it only counts. */
struct layout {
	uint8_t *base;
	size_t size;
};

static void *part(struct layout *layout, size_t count, size_t size)
{
	uint8_t *start = layout->base ? layout->base + layout->size : NULL;

	layout->size += (count * size + 63) & ~(size_t)63;
	return start;
}

static void lay_out(struct vl_cm *cm, const struct vl_cm_config *config, struct layout *layout)
{
	size_t buckets = cm->hash_mask + 1;

	cm->connections = part(layout, config->max_connections, sizeof(*cm->connections));
	cm->free_connections = part(layout, config->max_connections, sizeof(uint32_t));
	cm->by_id = part(layout, buckets, sizeof(uint32_t));
	cm->by_qpn = part(layout, buckets, sizeof(uint32_t));
	cm->peer_half_open = part(layout, buckets, sizeof(uint16_t));
	cm->listeners = part(layout, config->max_listeners, sizeof(*cm->listeners));
	cm->ahs = part(layout, config->send_count, sizeof(*cm->ahs));
	cm->free_sends = part(layout, config->send_count, sizeof(uint32_t));
	cm->buffers = part(layout, 1,
			   (size_t)config->receive_count * VL_CM_RECEIVE_LENGTH +
				   (size_t)config->send_count * VL_MAD_LENGTH);
}

/* The modified EUI-64 of the MAC, as RNICs make their GUIDs. */
static uint64_t guid_of(const uint8_t mac[6])
{
	return (uint64_t)(mac[0] ^ 2) << 56 | (uint64_t)mac[1] << 48 | (uint64_t)mac[2] << 40 |
	       UINT64_C(0xfffe) << 24 | (uint64_t)mac[3] << 16 | (uint64_t)mac[4] << 8 | mac[5];
}

static void init_tables(struct vl_cm *cm, uint64_t now)
{
	const struct vl_cm_config *config = &cm->config;

	for (uint32_t i = 0; i < config->max_connections; i++) {
		cm->free_connections[i] = i;
		cm->connections[i].generation = (uint32_t)vl_random_next(&cm->random);
	}
	cm->free_count = config->max_connections;
	for (uint32_t i = 0; i <= cm->hash_mask; i++)
		cm->by_id[i] = cm->by_qpn[i] = VL_CM_NONE;
	vl_list_init(&cm->waiting);
	vl_list_init(&cm->kept);
	vl_list_init(&cm->accepted);
	vl_timer_wheel_init(&cm->wheel, now);
}

struct vl_cm *vl_cm_open(struct vl_device *device, const struct vl_cm_config *config, uint64_t now,
			 int *error)
{
	struct vl_cm_config filled = config ? *config : (struct vl_cm_config){0};
	const struct vl_device_config *device_config = &device->config;
	struct vl_cm shape = {0}, *cm;
	struct layout layout = {0};
	int result = -EINVAL;

	if (!fill_config(&filled))
		goto fail;
	while (1u << shape.index_bits < filled.max_connections)
		shape.index_bits++;
	shape.hash_mask = (1u << shape.index_bits) - 1;
	part(&layout, 1, sizeof(*cm));
	lay_out(&shape, &filled, &layout);
	result = -ENOMEM;
	cm = device_config->allocator.allocate(device_config->allocator.context, layout.size);
	if (!cm)
		goto fail;
	cm->memory_size = layout.size;
	layout = (struct layout){.base = (uint8_t *)cm};
	part(&layout, 1, sizeof(*cm));
	cm->hash_mask = shape.hash_mask;
	cm->index_bits = shape.index_bits;
	lay_out(cm, &filled, &layout);
	cm->device = device;
	cm->config = filled;
	cm->random.state = filled.seed;
	cm->hash_key = vl_random_next(&cm->random);
	cm->ca_guid = guid_of(device_config->mac);
	init_tables(cm, now);
	result = vl_cm_open_qp(cm, now);
	if (!result)
		return cm;
	vl_cm_close(cm);
fail:
	if (error)
		*error = result;
	return NULL;
}

void vl_cm_close(struct vl_cm *cm)
{
	struct vl_allocator allocator;

	if (!cm)
		return;
	allocator = cm->device->config.allocator;
	vl_cm_close_qp(cm);
	allocator.release(allocator.context, cm, cm->memory_size);
}

/* ---- Polling -------------------------------------------------------------------------------- */

/* So that connections and requests find room between two polls, what is only kept makes way while
 * less than a sixteenth of the table is free. */
static void make_room(struct vl_cm *cm, uint64_t now)
{
	uint32_t reserve = cm->config.max_connections / 16;

	while (cm->free_count <= reserve && !vl_list_is_empty(&cm->kept)) {
		struct vl_cm_connection *oldest =
			VL_CONTAINER(cm->kept.next, struct vl_cm_connection, kept);

		if (oldest->state == VL_CM_STATE_TIMEWAIT)
			cm->counters.time_wait_cut++;
		vl_cm_expire(oldest, now);
	}
}

void vl_cm_poll(struct vl_cm *cm, uint64_t now)
{
	uint32_t budget = EXPIRY_BUDGET;
	struct vl_timer *timer;

	vl_cm_poll_qp(cm, now);
	while (budget && (timer = vl_timer_wheel_expire(&cm->wheel, now))) {
		vl_cm_expire(VL_CONTAINER(timer, struct vl_cm_connection, timer), now);
		budget--;
	}
	make_room(cm, now);
	cm->has_more |= !budget;
}

uint64_t vl_cm_next_deadline(const struct vl_cm *cm)
{
	return cm->has_more ? 0 : vl_timer_wheel_next(&cm->wheel);
}

const struct vl_cm_counters *vl_cm_counters(const struct vl_cm *cm)
{
	return &cm->counters;
}

struct vl_cm_usage vl_cm_usage(const struct vl_cm *cm)
{
	return cm->usage;
}

/* ---- Listening ------------------------------------------------------------------------------ */

struct vl_cm_listener *vl_cm_listen(struct vl_cm *cm, const struct vl_cm_listen_param *param,
				    int *error)
{
	bool is_datagram = param->qp_type == IBV_QPT_UD;
	struct vl_cm_listener *listener = NULL;
	int result = 0;

	for (uint32_t i = 0; !listener && i < cm->config.max_listeners; i++) {
		if (!cm->listeners[i].in_use)
			listener = &cm->listeners[i];
	}
	if (!param->handler.event || (!is_datagram && param->qp_type != IBV_QPT_RC))
		result = -EINVAL;
	else if (vl_cm_find_listener(cm, param->service_id, is_datagram))
		result = -EADDRINUSE;
	else if (!listener)
		result = -ENOSPC;
	if (result) {
		if (error)
			*error = result;
		return NULL;
	}
	*listener = (struct vl_cm_listener){.cm = cm, .param = *param, .in_use = true};
	return listener;
}

void vl_cm_stop_listening(struct vl_cm_listener *listener)
{
	listener->in_use = false;
}

/* ---- What owners ask for -------------------------------------------------------------------- */

static bool is_valid(const struct vl_cm *cm, const struct vl_cm_connect_param *param)
{
	const struct vl_cm_conn_param *conn = &param->conn;
	struct ibv_port_attr port;
	union ibv_gid gid;
	uint16_t pkey;

	vl_query_port(cm->device, 1, &port);
	if (param->qp_type != IBV_QPT_RC && param->qp_type != IBV_QPT_UC &&
	    param->qp_type != IBV_QPT_UD)
		return false;
	if (vl_query_gid(cm->device, 1, param->sgid_index, &gid) ||
	    vl_query_pkey(cm->device, 1, param->pkey_index, &pkey))
		return false;
	if (param->path_mtu > port.active_mtu || param->service_level > 7 ||
	    param->ack_timeout > 31 || param->flow_label > 0xfffff)
		return false;
	return param->qp_type == IBV_QPT_UD ||
	       (conn->qpn && conn->qpn <= VL_PSN_MASK && conn->retry_count <= 7 &&
		conn->rnr_retry_count <= 7);
}

static void fill(struct vl_cm_connection *connection, const struct vl_cm_connect_param *param)
{
	struct vl_cm *cm = connection->cm;
	struct ibv_port_attr port;

	vl_query_port(cm->device, 1, &port);
	connection->qp_type = (uint8_t)param->qp_type;
	connection->is_active = true;
	connection->transaction_id = vl_random_next(&cm->random) << 32 | connection->local_comm_id;
	connection->service_id = param->service_id;
	connection->local_qpn = param->conn.qpn;
	connection->remote_psn = (uint32_t)vl_random_next(&cm->random) & VL_PSN_MASK;
	connection->remote_gid = param->destination;
	connection->pkey_index = param->pkey_index;
	connection->sgid_index = param->sgid_index;
	connection->path_mtu = (uint8_t)(param->path_mtu ? param->path_mtu : port.active_mtu);
	connection->traffic_class = param->traffic_class;
	connection->service_level = param->service_level;
	connection->hop_limit = param->hop_limit ? param->hop_limit : VL_CM_DEFAULT_HOP_LIMIT;
	connection->ack_timeout =
		param->ack_timeout ? param->ack_timeout : VL_CM_DEFAULT_ACK_TIMEOUT;
	connection->flow_label = param->flow_label;
	connection->responder_resources = param->conn.responder_resources;
	connection->initiator_depth = param->conn.initiator_depth;
	connection->retry_count = param->conn.retry_count;
	connection->rnr_retry_count = param->conn.rnr_retry_count;
	connection->flow_control = param->conn.flow_control;
	connection->response_time = vl_cm_timeout(cm->config.response_timeout, UINT64_MAX);
	connection->promised_time = connection->response_time;
}

struct vl_cm_connection *vl_cm_connect(struct vl_cm *cm, const struct vl_cm_connect_param *param,
				       uint64_t now, int *error)
{
	struct vl_cm_connection *connection = NULL;
	int result = -EINVAL;

	if (!is_valid(cm, param))
		goto fail;
	connection = vl_cm_allocate(cm);
	result = -ENOSPC;
	if (!connection)
		goto fail;
	fill(connection, param);
	connection->context = param->context;
	result = param->qp_type == IBV_QPT_UD ? vl_cm_send_sidr_req(connection, param, now)
					      : vl_cm_send_req(connection, param, now);
	if (result == -EMSGSIZE || result == -EINVAL || result == -ERANGE)
		goto fail;
	/* Whatever else was wrong with the way there is found again, and told by an event. */
	vl_cm_set_state(connection, result ? VL_CM_STATE_RESOLVING : VL_CM_STATE_REQ_SENT);
	if (result)
		vl_cm_arm(connection, now);
	else
		vl_cm_await_answer(connection, cm->config.max_retries, now);
	connection->give_up_time =
		now + (cm->config.max_retries + UINT64_C(1)) * connection->response_time;
	connection->handler = param->handler;
	connection->has_owner = true;
	return connection;
fail:
	if (connection)
		vl_cm_free(connection);
	if (error)
		*error = result;
	return NULL;
}

/* In its last event a connection takes no orders any more. */
static bool is_in(const struct vl_cm_connection *connection, enum vl_cm_state state)
{
	return !connection->is_ending && connection->state == state;
}

int vl_cm_accept(struct vl_cm_connection *connection, const struct vl_cm_accept_param *param,
		 uint64_t now)
{
	const struct vl_cm_conn_param *conn = &param->conn;

	if (!is_in(connection, VL_CM_STATE_REQ_RECEIVED))
		return -EINVAL;
	if (connection->qp_type == IBV_QPT_UD) {
		if (param->qpn > VL_PSN_MASK)
			return -EINVAL;
		return vl_cm_send_sidr_rep(connection, VL_CM_SIDR_VALID, param->qpn, param->qkey,
					   NULL, 0, param->private_data, param->private_data_length,
					   now);
	}
	if (!conn->qpn || conn->qpn > VL_PSN_MASK || conn->rnr_retry_count > 7)
		return -EINVAL;
	return vl_cm_send_rep(connection, param, now);
}

int vl_cm_reject(struct vl_cm_connection *connection, uint16_t reason, const void *info,
		 uint8_t info_length, const void *private_data, uint8_t private_data_length,
		 uint64_t now)
{
	int result;

	if (!is_in(connection, VL_CM_STATE_REQ_RECEIVED) &&
	    !is_in(connection, VL_CM_STATE_REP_RECEIVED))
		return -EINVAL;
	if (connection->qp_type == IBV_QPT_UD) {
		if (reason > UINT8_MAX)
			return -EINVAL;
		connection->cm->counters.rejects_tx++;
		return vl_cm_send_sidr_rep(connection, (uint8_t)reason, 0, 0, info, info_length,
					   private_data, private_data_length, now);
	}
	result = vl_cm_send_rej(connection, reason, info, info_length, private_data,
				private_data_length, now);
	if (!result)
		vl_cm_free(connection);
	return result;
}

void vl_cm_notify(struct vl_cm_connection *connection, uint64_t now)
{
	if (!is_in(connection, VL_CM_STATE_REP_SENT))
		return;
	connection->is_notified = true;
	vl_cm_arm(connection, now);
}

int vl_cm_disconnect(struct vl_cm_connection *connection, uint64_t now)
{
	if (!is_in(connection, VL_CM_STATE_ESTABLISHED) && !is_in(connection, VL_CM_STATE_REP_SENT))
		return -EINVAL;
	vl_cm_send_dreq(connection, now);
	return 0;
}

void vl_cm_destroy(struct vl_cm_connection *connection, uint64_t now)
{
	connection->has_owner = false;
	if (connection->is_ending)
		return;
	switch ((enum vl_cm_state)connection->state) {
	case VL_CM_STATE_RESOLVING:
		vl_cm_free(connection);
		break;
	case VL_CM_STATE_REQ_SENT:
	case VL_CM_STATE_REQ_RECEIVED:
	case VL_CM_STATE_REP_RECEIVED:
		if (connection->qp_type == IBV_QPT_UD && !connection->is_active) {
			vl_cm_send_sidr_rep(connection, VL_CM_SIDR_REJECT, 0, 0, NULL, 0, NULL, 0,
					    now);
			break;
		}
		if (connection->qp_type != IBV_QPT_UD)
			vl_cm_send_rej(connection,
				       connection->is_active &&
						       connection->state == VL_CM_STATE_REQ_SENT
					       ? VL_CM_REJECT_TIMEOUT
					       : VL_CM_REJECT_CONSUMER,
				       NULL, 0, NULL, 0, now);
		vl_cm_free(connection);
		break;
	/* The peer may hold it for established: it must hear of the end, so that is repeated until
	 * it answers. */
	case VL_CM_STATE_REP_SENT:
	case VL_CM_STATE_ESTABLISHED:
		vl_cm_send_dreq(connection, now);
		break;
	case VL_CM_STATE_DREQ_SENT:
	case VL_CM_STATE_TIMEWAIT:
	case VL_CM_STATE_SIDR_ANSWERED:
		break;
	}
}
