/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What the connection manager tells of a session, and what becomes of its queue pair. */

#include "apps/endpoint/session_private.h"
#include "apps/host/addresses.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How long a neighbour is asked for. */
#define GIVE_UP_TIME UINT64_C(5000000000)

static int to_state(struct vl_session *session, enum ibv_qp_state state, uint64_t now)
{
	struct ibv_qp_attr attr;
	int mask;
	int result = vl_cm_init_qp_attr(session->connection, state, &attr, &mask);

	if (!result && mask & IBV_QP_RNR_RETRY &&
	    attr.rnr_retry < session->service->least_rnr_retry)
		attr.rnr_retry = session->service->least_rnr_retry;
	return result ? result : vl_modify_qp(session->qp, &attr, mask, now);
}

static void to_error(struct vl_session *session, uint64_t now)
{
	const struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

	vl_modify_qp(session->qp, &attr, IBV_QP_STATE, now);
}

static int open_service(struct vl_session *session, uint64_t now)
{
	int error = session->service->open(session, now);

	session->is_open = !error;
	return error;
}

static void describe(struct vl_session *session)
{
	struct vl_cm_info info;

	vl_cm_query(session->connection, &info);
	session->local = info.local_gid;
	session->remote = info.remote_gid;
	if (!session->is_active)
		session->remote_port = info.remote_port;
}

/* ---- Who comes and goes --------------------------------------------------------------------- */

static void set_end(struct vl_session *session, const char *why, uint64_t now)
{
	if (session->ended)
		return;
	session->ended = now;
	snprintf(session->end, sizeof(session->end), "%s", why);
}

static void tell_end(const struct vl_session *session)
{
	const struct vl_counters *counters = vl_qp_counters(session->qp);
	char remote[VL_ADDRESS_TEXT];

	vl_notice(session->set->config.notices,
		  "%s: %s port %u, QP 0x%06x: %s after %.3f s, %llu messages out, %llu in",
		  session->service->name, vl_address_text(&session->remote, remote),
		  session->remote_port, vl_qp_number(session->qp), session->end,
		  (double)(session->ended - session->opened) / 1e9,
		  (unsigned long long)counters->message_tx,
		  (unsigned long long)counters->message_rx);
}

void vl_session_establish(struct vl_session *session, uint64_t now)
{
	char remote[VL_ADDRESS_TEXT];

	if (session->is_established || session->is_ending)
		return;
	session->is_established = true;
	session->established = now;
	session->set->counters.established++;
	vl_notice(session->set->config.notices, "%s: %s %s port %u, QP 0x%06x",
		  session->service->name, session->is_active ? "connected to" : "connection from",
		  vl_address_text(&session->remote, remote), session->remote_port,
		  vl_qp_number(session->qp));
	if (session->service->established)
		session->service->established(session, now);
}

/* The connection has come to nothing, or is over and its packets gone. */
static void finish(struct vl_session *session, uint64_t now)
{
	session->connection = NULL;
	if (!session->service->uses_srq || !session->is_open) {
		vl_session_destroy(session, now);
		return;
	}
	/* A receive of the SRQ that half a message has come into must not go with the queue pair:
	 * its completion is to be seen first. */
	session->is_ending = true;
	to_error(session, now);
	vl_list_remove(&session->waiting_link);
	vl_list_append(&session->set->closing, &session->closing_link);
}

static void refuse(struct vl_session *session, uint16_t reason, int error, uint64_t now)
{
	char why[80];

	session->set->counters.refused++;
	snprintf(why, sizeof(why), "refused: %s", strerror(-error));
	set_end(session, why, now);
	tell_end(session);
	if (vl_cm_reject(session->connection, reason, NULL, 0, NULL, 0, now))
		vl_cm_destroy(session->connection, now);
	finish(session, now);
}

void vl_session_proceed(struct vl_session *session, uint64_t now)
{
	struct vl_session_set *set = session->set;
	const struct vl_cm_conn_param *wanted = &session->service->conn;
	struct vl_cm_accept_param accept = {.conn = *wanted};
	struct ibv_qp_attr attr;
	int mask, result = 0;

	if (vl_qp_state(session->qp) == IBV_QPS_INIT)
		result = to_state(session, IBV_QPS_RTR, now);
	if (result == -EAGAIN && now < session->give_up_time) {
		if (!vl_link_is_listed(&session->waiting_link))
			vl_list_append(&set->waiting, &session->waiting_link);
		return;
	}
	if (!result)
		result = to_state(session, IBV_QPS_RTS, now);
	if (!result)
		result = vl_cm_init_qp_attr(session->connection, IBV_QPS_RTS, &attr, &mask);
	if (result) {
		refuse(session, VL_CM_REJECT_NO_RESOURCES, result, now);
		return;
	}
	if (session->is_active) {
		result = vl_cm_establish(session->connection, NULL, 0, now);
	} else {
		accept.conn.qpn = vl_qp_number(session->qp);
		accept.conn.initiator_depth = attr.max_rd_atomic;
		vl_cm_init_qp_attr(session->connection, IBV_QPS_RTR, &attr, &mask);
		accept.conn.responder_resources = attr.max_dest_rd_atomic;
		result = vl_cm_accept(session->connection, &accept, now);
	}
	if (result)
		refuse(session, VL_CM_REJECT_NO_RESOURCES, result, now);
	else if (session->is_active)
		vl_session_establish(session, now);
}

static void begin_to_proceed(struct vl_session *session, uint64_t now)
{
	session->give_up_time = now + GIVE_UP_TIME;
	describe(session);
	vl_session_proceed(session, now);
}

static void take_request(struct vl_session_listener *listener, const struct vl_cm_event *event,
			 uint64_t now)
{
	struct vl_session_set *set = listener->set;
	struct vl_session *session;
	struct vl_cm_info info;
	int error = 0;

	vl_cm_query(event->connection, &info);
	set->counters.requested++;
	session = vl_session_create(set, listener->service, listener->service_context, info.qp_type,
				    now, &error);
	if (!session) {
		set->counters.refused++;
		vl_cm_reject(event->connection, VL_CM_REJECT_NO_RESOURCES, NULL, 0, NULL, 0, now);
		return;
	}
	session->connection = event->connection;
	vl_cm_set_context(event->connection, session);
	describe(session);
	error = to_state(session, IBV_QPS_INIT, now);
	if (!error)
		error = open_service(session, now);
	if (error)
		refuse(session, VL_CM_REJECT_NO_RESOURCES, error, now);
	else
		begin_to_proceed(session, now);
}

static void take_event(void *context, const struct vl_cm_event *event, uint64_t now)
{
	struct vl_session *session = vl_cm_context(event->connection);
	char why[80];

	switch (event->type) {
	case VL_CM_EVENT_CONNECT_REQUEST:
		take_request(context, event, now);
		break;
	case VL_CM_EVENT_CONNECT_RESPONSE:
		begin_to_proceed(session, now);
		break;
	case VL_CM_EVENT_ESTABLISHED:
		vl_session_establish(session, now);
		break;
	case VL_CM_EVENT_REJECTED:
		session->set->counters.rejected++;
		snprintf(why, sizeof(why), "rejected: %s",
			 vl_cm_reject_reason_meaning((uint16_t)event->status));
		set_end(session, why, now);
		tell_end(session);
		finish(session, now);
		break;
	case VL_CM_EVENT_UNREACHABLE:
		session->set->counters.unreachable++;
		snprintf(why, sizeof(why), "unreachable: %s", strerror(-event->status));
		set_end(session, why, now);
		tell_end(session);
		finish(session, now);
		break;
	case VL_CM_EVENT_DISCONNECTED:
		session->is_ending = true;
		set_end(session, "disconnected by the peer", now);
		to_error(session, now);
		if (session->is_established)
			session->set->counters.ended++;
		tell_end(session);
		break;
	case VL_CM_EVENT_TIMEWAIT_EXIT:
		finish(session, now);
		break;
	}
}

int vl_session_listen(struct vl_session_set *set, const struct vl_session_service *service,
		      uint16_t port, void *service_context)
{
	struct vl_session_listener *listener = calloc(1, sizeof(*listener));
	struct vl_cm_listen_param param = {
		.service_id = vl_rdma_service_id(VL_RDMA_PORT_SPACE_TCP, port),
		.qp_type = IBV_QPT_RC,
		.handler = {take_event, listener},
	};
	int error = 0;

	if (!listener)
		return -ENOMEM;
	*listener = (struct vl_session_listener){
		.set = set, .service = service, .service_context = service_context};
	listener->cm_listener = vl_cm_listen(set->config.cm, &param, &error);
	if (!listener->cm_listener) {
		free(listener);
		return error;
	}
	listener->next = set->listeners;
	set->listeners = listener;
	return 0;
}

/* INIT comes before the connection, whose attributes are the same whatever it will be. */
static int to_init(struct vl_session *session, uint64_t now)
{
	const struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags =
			IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	};

	return vl_modify_qp(session->qp, &attr,
			    IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS,
			    now);
}

struct vl_session *vl_session_connect(struct vl_session_set *set,
				      const struct vl_session_connect *connect, uint64_t now,
				      int *error)
{
	const struct vl_session_service *service = connect->service;
	struct vl_session *session =
		vl_session_create(set, service, connect->service_context, IBV_QPT_RC, now, error);
	struct vl_cm_connect_param param = {
		.service_id = vl_rdma_service_id(VL_RDMA_PORT_SPACE_TCP, connect->port),
		.qp_type = IBV_QPT_RC,
		.destination = connect->destination,
		.sgid_index = connect->sgid_index,
		.path_mtu = set->config.path_mtu,
		.traffic_class = set->config.traffic_class,
		.service_level = set->config.service_level,
		.ack_timeout = set->config.ack_timeout,
		.conn = service->conn,
		.handler = {take_event, NULL},
		.context = session,
	};

	if (!session)
		return NULL;
	session->is_active = true;
	session->remote = connect->destination;
	session->remote_port = connect->port;
	*error = to_init(session, now);
	if (!*error)
		*error = open_service(session, now);
	if (*error) {
		snprintf(session->end, sizeof(session->end), "not opened: %s", strerror(-*error));
		vl_session_destroy(session, now);
		return NULL;
	}
	param.conn.qpn = vl_qp_number(session->qp);
	session->connection = vl_cm_connect(set->config.cm, &param, now, error);
	if (!session->connection) {
		snprintf(session->end, sizeof(session->end), "not connected: %s",
			 strerror(-*error));
		vl_session_destroy(session, now);
		return NULL;
	}
	set->counters.connecting++;
	return session;
}

void vl_session_disconnect(struct vl_session *session, const char *why, uint64_t now)
{
	if (session->is_ending || !session->connection)
		return;
	if (vl_cm_disconnect(session->connection, now))
		return; /* not accepted yet: its own time limits end it */
	session->is_ending = true;
	set_end(session, why, now);
}
