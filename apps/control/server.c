/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/control/server.h"

#include "apps/control/channel.h"
#include "apps/control/partners.h"
#include "apps/host/addresses.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND UINT64_C(1000000000)
/* A step that waits for a neighbour is tried again so often. */
#define RETRY_TIME UINT64_C(1000000)

struct session {
	struct session *next;
	struct vl_control_server *server;
	struct vl_cm_connection *connection; /* NULL: over */
	struct vl_control_channel *channel;
	struct vl_control_partners *partners; /* NULL: none announced, or they have gone */
	union ibv_gid peer;
	uint8_t sgid_index; /* of the address that the client connected to */
	uint64_t last_word; /* ns */
	bool wants_accept;  /* the channel waits for a neighbour, then is accepted */
	bool has_said_hello;
	bool is_ending; /* its last word was said; the client disconnects, or is forgotten */
	/* What takes longer than one poll: the answer is being made. */
	enum { WORK_NONE, WORK_OPEN, WORK_COUNT, WORK_CLOSE } work;
	struct vl_control_message request, answer;
};

struct vl_control_server {
	struct vl_cm *cm;
	struct vl_control_server_config config;
	struct vl_control_budget budget;
	struct vl_cm_listener *listener;
	struct session *sessions;
	uint32_t session_count;
	uint64_t retry_at;
	struct vl_cc_parameters notification;
	struct vl_control_server_counters counters;
};

/* ---- Sessions ------------------------------------------------------------------------------ */

static void tell(const struct session *session, const char *what)
{
	const struct vl_control_server_config *config = &session->server->config;
	uint32_t count = vl_control_partners_count(session->partners);
	char address[VL_ADDRESS_TEXT], line[160];

	if (!config->tell)
		return;
	snprintf(line, sizeof(line), "control: %s %s, %u queue pair%s",
		 vl_address_text(&session->peer, address), what, count, count == 1 ? "" : "s");
	config->tell(config->tell_context, line);
}

static void forget_partners(struct session *session)
{
	if (session->partners && vl_control_partners_count(session->partners))
		tell(session, "goes");
	session->work = WORK_NONE;
	vl_control_partners_leave(session->partners);
	session->partners = NULL;
}

static void destroy_session(struct session *session, uint64_t now)
{
	struct session **link = &session->server->sessions;

	while (*link != session)
		link = &(*link)->next;
	*link = session->next;
	session->server->session_count--;
	forget_partners(session);
	if (session->connection)
		vl_cm_destroy(session->connection, now);
	vl_control_channel_close(session->channel);
	free(session);
}

/* ---- Requests ------------------------------------------------------------------------------ */

static void say_hello(struct session *session)
{
	const struct vl_control_server_config *config = &session->server->config;
	const struct vl_control_hello *hello = &session->request.hello;
	struct vl_control_message *answer = &session->answer;

	if (session->has_said_hello) {
		vl_control_refuse(answer, "hello was said already");
		return;
	}
	if (hello->protocol != VL_CONTROL_PROTOCOL) {
		vl_control_refuse(
			answer,
			"verbline %s here speaks version %u of the control protocol, verbline %s "
			"there version %u; use the same verbline on both sides",
			VERBLINE_VERSION, VL_CONTROL_PROTOCOL, hello->version, hello->protocol);
		return;
	}
	session->partners = vl_control_partners_open(&session->server->budget, hello, answer);
	if (!session->partners)
		return;
	session->has_said_hello = true;
	answer->type = VL_CONTROL_HELLO;
	answer->hello = (struct vl_control_hello){.protocol = VL_CONTROL_PROTOCOL,
						  .largest_message = config->largest_message,
						  .qps = config->max_qps};
	vl_control_clock_name(answer->hello.clock);
	snprintf(answer->hello.version, sizeof(answer->hello.version), "%s", VERBLINE_VERSION);
}

static void answer(struct session *session, uint64_t now)
{
	struct vl_control_server_counters *counters = &session->server->counters;

	counters->requests++;
	counters->errors += session->answer.type == VL_CONTROL_ERROR;
	if (session->answer.type == VL_CONTROL_ERROR || session->answer.type == VL_CONTROL_CLOSED)
		session->is_ending = true;
	if (vl_control_channel_send(session->channel, &session->answer, now))
		vl_cm_disconnect(session->connection, now);
}

/* Whether the answer stands; else it is gone on with in the next poll. */
static bool work(struct session *session, uint64_t now)
{
	struct vl_control_message *answer = &session->answer;

	switch (session->work) {
	case WORK_OPEN:
		if (!vl_control_partners_connect(session->partners, &session->request.open,
						 &session->peer, answer, now))
			return false;
		if (answer->type == VL_CONTROL_OPENED)
			tell(session, "is served");
		break;
	case WORK_COUNT:
		if (!vl_control_partners_add_up(session->partners, answer, now))
			return false;
		break;
	case WORK_CLOSE:
		/* There is room for the next client when this one is told. */
		if (!vl_control_budget_is_settled(&session->server->budget))
			return false;
		answer->type = VL_CONTROL_CLOSED;
		break;
	case WORK_NONE:
		break;
	}
	session->work = WORK_NONE;
	return true;
}

static void tell_times(const struct session *session, struct vl_control_message *answer)
{
	const struct vl_port *port = session->server->config.arrival_port;

	vl_control_partners_tell_times(session->partners, &session->request.times, answer);
	if (answer->type != VL_CONTROL_TIMED)
		return;
	snprintf(answer->timed.arrival_clock, sizeof(answer->timed.arrival_clock), "%s",
		 port ? vl_port_arrival_clock(port) : "TSC");
	answer->timed.arrival_error = port ? vl_port_arrival_error(port) : 0;
}

/* Of a client that has said hello. */
static void take_order(struct session *session, uint64_t now)
{
	struct vl_control_message *answer = &session->answer;

	switch (session->request.type) {
	case VL_CONTROL_OPEN:
		if (vl_control_partners_make(session->partners, &session->request.open,
					     session->sgid_index, answer, now))
			session->work = WORK_OPEN;
		break;
	case VL_CONTROL_COUNT:
		answer->type = VL_CONTROL_COUNT;
		session->work = WORK_COUNT;
		break;
	case VL_CONTROL_TIMES:
		tell_times(session, answer);
		break;
	case VL_CONTROL_CLOSE:
		forget_partners(session);
		session->work = WORK_CLOSE;
		break;
	default:
		vl_control_refuse(answer, "a client does not say %s",
				  vl_control_type_name(session->request.type));
		break;
	}
}

static void take_request(struct session *session, uint64_t now)
{
	session->last_word = now;
	if (session->request.type == VL_CONTROL_PING) {
		session->answer.type = VL_CONTROL_PONG;
		session->answer.ping = (struct vl_control_ping){session->request.ping.sent, now};
	} else if (session->request.type == VL_CONTROL_HELLO) {
		say_hello(session);
	} else if (!session->has_said_hello) {
		vl_control_refuse(&session->answer, "the first message must be hello, not %s",
				  vl_control_type_name(session->request.type));
	} else {
		take_order(session, now);
	}
	if (work(session, now))
		answer(session, now);
}

/* ---- Connections --------------------------------------------------------------------------- */

static void try_accept(struct session *session, uint64_t now)
{
	struct vl_cm_accept_param param = {.conn = vl_control_conn_param};
	int status = vl_control_channel_connect(session->channel, session->connection, now);

	if (status == -EAGAIN)
		return;
	session->wants_accept = false;
	param.conn.qpn = vl_qp_number(vl_control_channel_qp(session->channel));
	if (!status)
		status = vl_cm_accept(session->connection, &param, now);
	if (!status)
		return;
	vl_cm_reject(session->connection, VL_CM_REJECT_CONSUMER, NULL, 0, NULL, 0, now);
	session->connection = NULL;
}

static uint8_t find_address(const struct vl_device *device, const union ibv_gid *address)
{
	union ibv_gid gid;

	for (uint8_t i = 0; !vl_query_gid(device, 1, i, &gid); i++) {
		if (!memcmp(&gid, address, sizeof(gid)))
			return i;
	}
	return 0;
}

static void take_connection(struct vl_control_server *server, const struct vl_cm_event *event,
			    uint64_t now)
{
	struct session *session = NULL;
	struct vl_cm_info info;
	int status = -ENOSPC;

	if (server->session_count < server->config.max_sessions)
		session = calloc(1, sizeof(*session));
	if (session)
		session->channel = vl_control_channel_open(server->budget.device, now, &status);
	if (!session || !session->channel) {
		free(session);
		server->counters.refused++;
		vl_cm_reject(event->connection, VL_CM_REJECT_CONSUMER, NULL, 0, NULL, 0, now);
		return;
	}
	vl_cm_query(event->connection, &info);
	session->server = server;
	session->connection = event->connection;
	session->peer = info.remote_gid;
	session->sgid_index = find_address(server->budget.device, &info.local_gid);
	session->last_word = now;
	session->wants_accept = true;
	session->next = server->sessions;
	server->sessions = session;
	server->session_count++;
	server->counters.sessions++;
	vl_cm_set_context(event->connection, session);
	try_accept(session, now);
}

static void take_event(void *context, const struct vl_cm_event *event, uint64_t now)
{
	struct session *session;

	if (event->type == VL_CM_EVENT_CONNECT_REQUEST) {
		take_connection(context, event, now);
		return;
	}
	session = vl_cm_context(event->connection);
	if (!session)
		return;
	switch (event->type) {
	case VL_CM_EVENT_DISCONNECTED:
		forget_partners(session);
		session->is_ending = true;
		vl_control_channel_stop(session->channel, now);
		break;
	case VL_CM_EVENT_REJECTED:
	case VL_CM_EVENT_UNREACHABLE:
	case VL_CM_EVENT_TIMEWAIT_EXIT:
		session->connection = NULL; /* and the session goes with the next poll */
		break;
	default:
		break;
	}
}

/* A peer that does not answer the farewell either has idle_time for it. */
static void end_session(struct session *session, uint64_t now)
{
	session->is_ending = true;
	session->last_word = now;
	forget_partners(session);
	if (vl_cm_disconnect(session->connection, now))
		destroy_session(session, now);
}

static void poll_session(struct session *session, uint64_t now)
{
	int received;

	if (session->partners)
		vl_control_partners_poll(session->partners);
	if (!session->connection) {
		destroy_session(session, now);
		return;
	}
	if (session->wants_accept) {
		try_accept(session, now);
		return;
	}
	if (session->work != WORK_NONE) {
		if (work(session, now))
			answer(session, now);
		return;
	}
	if (now - session->last_word >= session->server->config.idle_time) {
		if (!session->is_ending)
			session->server->counters.idle++;
		end_session(session, now);
		return;
	}
	if (session->is_ending)
		return;
	received = vl_control_channel_receive(session->channel, &session->request,
					      session->answer.error, sizeof(session->answer.error),
					      now);
	if (received > 0) {
		vl_cm_notify(session->connection, now);
		take_request(session, now);
	} else if (received == -EINVAL) {
		session->answer.type = VL_CONTROL_ERROR;
		answer(session, now);
	} else if (received < 0) {
		end_session(session, now);
	}
}

void vl_control_server_poll(struct vl_control_server *server, uint64_t now)
{
	struct session *next;

	server->retry_at = vl_control_budget_poll(&server->budget) ? now : VL_NO_DEADLINE;
	for (struct session *session = server->sessions; session; session = next) {
		next = session->next;
		poll_session(session, now);
	}
	for (struct session *session = server->sessions; session; session = session->next) {
		if (session->work == WORK_COUNT || session->work == WORK_CLOSE)
			server->retry_at = now;
		else if ((session->wants_accept || session->work == WORK_OPEN ||
			  !session->connection) &&
			 now + RETRY_TIME < server->retry_at)
			server->retry_at = now + RETRY_TIME;
	}
	/* Of a session that was ended just now. */
	if (!vl_control_budget_is_settled(&server->budget))
		server->retry_at = now;
}

uint64_t vl_control_server_next_deadline(const struct vl_control_server *server)
{
	uint64_t deadline = server->retry_at, idle;

	for (struct session *session = server->sessions; session; session = session->next) {
		idle = session->last_word + server->config.idle_time;
		if (idle < deadline)
			deadline = idle;
	}
	return deadline;
}

/* ---- Life ---------------------------------------------------------------------------------- */

struct vl_control_server *vl_control_server_open(struct vl_device *device, struct vl_cm *cm,
						 const struct vl_control_server_config *config,
						 int *error)
{
	struct vl_control_server *server = calloc(1, sizeof(*server));
	struct vl_cm_listen_param listen = {.qp_type = IBV_QPT_RC};
	int status = -ENOMEM;

	if (!server) {
		*error = status;
		return NULL;
	}
	if (config)
		server->config = *config;
#define DEFAULT(field, value)                                                                      \
	if (!server->config.field)                                                                 \
	server->config.field = value
	DEFAULT(port, VL_CONTROL_PORT);
	DEFAULT(max_sessions, 64);
	DEFAULT(max_qps, 32768);
	DEFAULT(max_memory, UINT64_C(1) << 30);
	DEFAULT(largest_message, UINT64_C(1) << 28);
	DEFAULT(idle_time, 30 * SECOND);
	DEFAULT(min_rnr_timer, 12);
#undef DEFAULT
	server->cm = cm;
	server->budget = (struct vl_control_budget){
		.device = device,
		.max_qps = server->config.max_qps,
		.max_memory = server->config.max_memory,
		.largest_message = server->config.largest_message,
		.min_rnr_timer = server->config.min_rnr_timer,
		.qps_made = &server->counters.qps,
	};
	if (server->config.notification) {
		server->notification = *server->config.notification;
		server->budget.notification = &server->notification;
	}
	server->retry_at = VL_NO_DEADLINE;
	listen.service_id = vl_rdma_service_id(VL_RDMA_PORT_SPACE_TCP, server->config.port);
	listen.handler = (struct vl_cm_handler){take_event, server};
	server->listener = vl_cm_listen(cm, &listen, &status);
	if (server->listener)
		return server;
	free(server);
	*error = status;
	return NULL;
}

void vl_control_server_close(struct vl_control_server *server, uint64_t now)
{
	if (!server)
		return;
	while (server->sessions)
		destroy_session(server->sessions, now);
	vl_control_budget_close(&server->budget);
	vl_cm_stop_listening(server->listener);
	free(server);
}

const struct vl_control_server_counters *vl_control_server_counters(
	const struct vl_control_server *server)
{
	return &server->counters;
}

uint32_t vl_control_server_sessions(const struct vl_control_server *server)
{
	return server->session_count;
}
