/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/control/server.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/control/channel.h"
#include "apps/host/addresses.h"
#include "dataplane/generate/responder.h"
#include "transport/random.h"

#define SECOND UINT64_C(1000000000)
/* A step that waits for a neighbour is tried again so often. */
#define RETRY_TIME UINT64_C(1000000)
/* What a receive that may be outstanding takes: its work request, and room for its completion. */
#define RECEIVE_MEMORY UINT64_C(128)

/* Congestion control that a client has asked for; lives as long as its partners. */
struct cc_choice {
	struct cc_choice *next;
	struct vl_cc_parameters parameters;
};

struct session {
	struct session *next;
	struct vl_control_server *server;
	struct vl_cm_connection *connection; /* NULL: over */
	struct vl_control_channel *channel;
	struct vl_responder_set *responders;
	union ibv_gid peer;
	uint8_t sgid_index; /* of the address that the client connected to */
	uint64_t memory;    /* bytes, counted in the server's */
	struct vl_one_way *one_ways[VL_CONTROL_MAX_GROUPS]; /* NULL: not stamped */
	struct cc_choice *choices;
	uint32_t max_qps;   /* that the client announced */
	uint64_t last_word; /* ns */
	bool wants_accept;  /* the channel waits for a neighbour, then is accepted */
	bool has_said_hello;
	bool is_ending; /* its last word was said; the client disconnects, or is forgotten */
	/* An open whose partners wait for a neighbour: the answer, and how far it is. */
	bool is_opening;
	struct vl_control_message request, answer;
	uint32_t opened, first;
};

struct vl_control_server {
	struct vl_device *device;
	struct vl_cm *cm;
	struct vl_control_server_config config;
	struct vl_cm_listener *listener;
	struct session *sessions;
	uint32_t session_count, qp_count;
	uint64_t memory, retry_at;
	struct vl_random random; /* of PSNs */
	bool has_notification;
	struct vl_cc_parameters notification;
	struct vl_control_server_counters counters;
};

/* ---- Sessions ------------------------------------------------------------------------------ */

static void tell(const struct session *session, const char *what)
{
	const struct vl_control_server_config *config = &session->server->config;
	char address[VL_ADDRESS_TEXT], line[160];

	if (!config->tell)
		return;
	snprintf(line, sizeof(line), "control: %s %s, %u queue pairs",
		 vl_address_text(&session->peer, address), what,
		 vl_responder_set_count(session->responders));
	config->tell(config->tell_context, line);
}

static void forget_partners(struct session *session)
{
	struct cc_choice *choice;

	if (!session->responders)
		return;
	if (vl_responder_set_count(session->responders))
		tell(session, "goes");
	session->is_opening = false;
	session->server->qp_count -= vl_responder_set_count(session->responders);
	session->server->memory -= session->memory;
	session->memory = 0;
	vl_responder_set_destroy(session->responders);
	session->responders = NULL;
	for (uint32_t i = 0; i < VL_CONTROL_MAX_GROUPS; i++) {
		free(session->one_ways[i]);
		session->one_ways[i] = NULL;
	}
	while ((choice = session->choices)) {
		session->choices = choice->next;
		free(choice);
	}
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

static void refuse(struct session *session, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void refuse(struct session *session, const char *format, ...)
{
	va_list arguments;

	session->answer.type = VL_CONTROL_ERROR;
	va_start(arguments, format);
	vsnprintf(session->answer.error, sizeof(session->answer.error), format, arguments);
	va_end(arguments);
}

/* ---- Requests ------------------------------------------------------------------------------ */

static void say_hello(struct session *session)
{
	const struct vl_control_server_config *config = &session->server->config;
	const struct vl_control_hello *hello = &session->request.hello;
	struct vl_control_server *server = session->server;
	struct vl_responder_set_config set = {.largest_message = (uint32_t)hello->largest_message};
	uint64_t memory = vl_traffic_memory_size((uint32_t)hello->largest_message);
	int status = 0;

	if (session->has_said_hello) {
		refuse(session, "hello was said already");
	} else if (hello->protocol != VL_CONTROL_PROTOCOL) {
		refuse(session,
		       "verbline %s here speaks version %u of the control protocol, verbline %s "
		       "there "
		       "version %u; use the same verbline on both sides",
		       VERBLINE_VERSION, VL_CONTROL_PROTOCOL, hello->version, hello->protocol);
	} else if (!hello->largest_message || hello->largest_message > config->largest_message) {
		refuse(session, "messages of up to %llu bytes are taken, not of %llu",
		       (unsigned long long)config->largest_message,
		       (unsigned long long)hello->largest_message);
	} else if (!hello->qps || hello->qps > config->max_qps - server->qp_count) {
		refuse(session, "room is left for %u queue pairs, not for %u",
		       config->max_qps - server->qp_count, hello->qps);
	} else if (memory > config->max_memory - server->memory) {
		refuse(session, "no room is left for messages of %llu bytes",
		       (unsigned long long)hello->largest_message);
	} else {
		session->responders = vl_responder_set_create(server->device, &set, &status);
		if (!session->responders) {
			refuse(session, "no memory for messages: %s", strerror(-status));
			return;
		}
		session->memory = memory;
		server->memory += memory;
		session->max_qps = hello->qps;
		session->has_said_hello = true;
		session->answer.type = VL_CONTROL_HELLO;
		session->answer.hello =
			(struct vl_control_hello){.protocol = VL_CONTROL_PROTOCOL,
						  .largest_message = config->largest_message,
						  .qps = config->max_qps};
		vl_control_clock_name(session->answer.hello.clock);
		snprintf(session->answer.hello.version, sizeof(session->answer.hello.version), "%s",
			 VERBLINE_VERSION);
	}
}

static uint64_t receive_memory(const struct vl_control_open *open)
{
	return RECEIVE_MEMORY * open->receive_depth * open->count;
}

static bool check_open(struct session *session)
{
	const struct vl_control_open *open = &session->request.open;
	const struct vl_traffic_memory *memory = vl_responder_set_memory(session->responders);
	const struct vl_control_server *server = session->server;
	uint32_t count = vl_responder_set_count(session->responders);

	if (open->count > session->max_qps - count)
		refuse(session, "hello announced %u queue pairs, and there are %u already",
		       session->max_qps, count);
	else if (open->count > server->config.max_qps - server->qp_count)
		refuse(session, "no room is left for %u queue pairs", open->count);
	else if (receive_memory(open) > server->config.max_memory - server->memory)
		refuse(session, "no room is left for %u queue pairs with %u receives each",
		       open->count, open->receive_depth);
	else if (open->receive_size > memory->largest_message)
		refuse(session, "hello announced messages of up to %u bytes, not of %u",
		       memory->largest_message, open->receive_size);
	else
		return true;
	return false;
}

/* Counted in the memory of the session; NULL: there is no room. */
static void *take_memory(struct session *session, size_t size)
{
	struct vl_control_server *server = session->server;
	void *memory = NULL;

	if (size <= server->config.max_memory - server->memory)
		memory = calloc(1, size);
	if (memory) {
		server->memory += size;
		session->memory += size;
	}
	return memory;
}

/* NULL: as the device does, or there is no room, which was said. */
static const struct vl_cc_parameters *choose_cc(struct session *session)
{
	const struct vl_control_server *server = session->server;
	struct vl_cc_parameters wanted = session->request.open.cc;
	struct cc_choice *choice = session->choices;

	if (!wanted.algorithm)
		return NULL;
	if (server->has_notification) {
		const struct vl_dcqcn_parameters *own = &server->notification.dcqcn;

		wanted.dcqcn.min_time_between_cnps = own->min_time_between_cnps;
		wanted.dcqcn.cnp_dscp = own->cnp_dscp;
		wanted.dcqcn.cnp_802p_prio = own->cnp_802p_prio;
	}
	if (choice && !memcmp(&choice->parameters, &wanted, sizeof(wanted)))
		return &choice->parameters;
	choice = take_memory(session, sizeof(*choice));
	if (!choice) {
		refuse(session, "no room is left for another congestion control");
		return NULL;
	}
	choice->parameters = wanted;
	choice->next = session->choices;
	session->choices = choice;
	return &choice->parameters;
}

/* False: there is no room, which was said. */
static bool prepare_times(struct session *session)
{
	const struct vl_control_open *open = &session->request.open;
	struct vl_one_way **one_way = &session->one_ways[open->group];

	if (!open->is_stamped || *one_way)
		return true;
	*one_way = take_memory(session, sizeof(**one_way));
	if (!*one_way)
		refuse(session, "no room is left for another histogram");
	return *one_way;
}

static void make_partners(struct session *session, uint64_t now)
{
	const struct vl_control_open *open = &session->request.open;
	struct vl_control_server *server = session->server;
	struct vl_queue_pair_config config = {
		.transport = open->transport,
		.path_mtu = open->path_mtu,
		.sgid_index = session->sgid_index,
		.traffic_class = open->traffic_class,
		.priority = open->priority,
		.timeout = open->timeout,
		.retry_count = open->retry_count,
		.rnr_retry = open->rnr_retry,
		.min_rnr_timer = server->config.min_rnr_timer,
	};
	uint32_t index;
	int status;

	if (!check_open(session) || !prepare_times(session))
		return;
	config.cc = choose_cc(session);
	if (open->cc.algorithm && !config.cc)
		return;
	session->memory += receive_memory(open);
	server->memory += receive_memory(open);
	session->first = vl_responder_set_count(session->responders);
	session->opened = 0;
	for (uint32_t i = 0; i < open->count; i++) {
		status = vl_responder_set_add(
			session->responders, &config, open->receive_depth, open->receive_size,
			(uint32_t)vl_random_next(&server->random), now, &index);
		if (status) {
			refuse(session, "queue pair %u of %u cannot be made: %s", i, open->count,
			       strerror(-status));
			return;
		}
		if (open->is_stamped)
			vl_responder_set_time(session->responders, index,
					      session->one_ways[open->group], open->clock_offset);
		server->qp_count++;
		server->counters.qps++;
	}
	session->is_opening = true;
}

/* Connects what can be; true: all is, or cannot be, and the answer stands. */
static bool connect_partners(struct session *session, uint64_t now)
{
	const struct vl_control_open *open = &session->request.open;
	struct vl_control_opened *opened = &session->answer.opened;
	struct vl_queue_pair_address peer = {.gid = session->peer}, local = {0};
	int status;

	for (; session->opened < open->count; session->opened++) {
		const struct vl_control_qp *qp = &open->qps[session->opened];
		uint32_t index = session->first + session->opened;

		peer.qpn = qp->qpn;
		peer.psn = qp->psn;
		status = vl_responder_set_connect(session->responders, index, &peer, now);
		if (status == -EAGAIN)
			return false;
		if (status) {
			refuse(session, "queue pair %u of %u cannot be connected: %s",
			       session->opened, open->count, strerror(-status));
			return true;
		}
		vl_responder_set_local(session->responders, index, &local);
		opened->qps[session->opened] = (struct vl_control_qp){local.qpn, local.psn};
	}
	session->answer.type = VL_CONTROL_OPENED;
	opened->address = local.address;
	opened->length = local.length;
	opened->rkey = local.rkey;
	opened->qkey = local.qkey;
	opened->count = open->count;
	tell(session, "is served");
	return true;
}

static void count_partners(struct session *session, uint64_t now)
{
	struct vl_control_counters *sum = &session->answer.counters;

	session->answer.type = VL_CONTROL_COUNTERS;
	*sum = (struct vl_control_counters){.time = now,
					    .qps = vl_responder_set_count(session->responders)};
	for (uint32_t i = 0; i < sum->qps; i++) {
		const struct vl_counters *counters =
			vl_qp_counters(vl_responder_set_qp(session->responders, i));

#define ADD_COUNTER(name, unit, meaning) sum->counters.name += counters->name;
		VL_COUNTERS(ADD_COUNTER)
#undef ADD_COUNTER
	}
}

static void tell_times(struct session *session)
{
	uint32_t slot = session->request.times.first;
	const struct vl_one_way *one_way = session->one_ways[session->request.times.group];
	struct vl_control_timed *timed = &session->answer.timed;

	if (!one_way) {
		refuse(session, "group %u was not opened with time stamps",
		       session->request.times.group);
		return;
	}
	session->answer.type = VL_CONTROL_TIMED;
	*timed = (struct vl_control_timed){.count = one_way->times.count,
					   .least = one_way->times.least,
					   .most = one_way->times.most,
					   .early = one_way->early,
					   .sum = one_way->times.sum,
					   .square_sum = one_way->times.square_sum};
	for (; slot < VL_HISTOGRAM_SLOTS; slot++) {
		if (!one_way->times.slots[slot])
			continue;
		if (timed->slot_count == VL_CONTROL_MAX_SLOTS) {
			timed->next = slot;
			return;
		}
		timed->slots[timed->slot_count].slot = slot;
		timed->slots[timed->slot_count++].count = one_way->times.slots[slot];
	}
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

static void take_request(struct session *session, uint64_t now)
{
	session->last_word = now;
	if (session->request.type == VL_CONTROL_PING) {
		session->answer.type = VL_CONTROL_PONG;
		session->answer.ping = (struct vl_control_ping){session->request.ping.sent, now};
	} else if (session->request.type == VL_CONTROL_HELLO) {
		say_hello(session);
	} else if (!session->has_said_hello) {
		refuse(session, "the first message must be hello, not %s",
		       vl_control_type_name(session->request.type));
	} else if (session->request.type == VL_CONTROL_OPEN) {
		make_partners(session, now);
	} else if (session->request.type == VL_CONTROL_COUNT) {
		count_partners(session, now);
	} else if (session->request.type == VL_CONTROL_TIMES) {
		tell_times(session);
	} else if (session->request.type == VL_CONTROL_CLOSE) {
		forget_partners(session);
		session->answer.type = VL_CONTROL_CLOSED;
	} else {
		refuse(session, "a client does not say %s",
		       vl_control_type_name(session->request.type));
	}
	if (!session->is_opening)
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
		session->channel = vl_control_channel_open(server->device, now, &status);
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
	session->sgid_index = find_address(server->device, &info.local_gid);
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

	if (session->responders)
		vl_responder_set_poll(session->responders, now);
	if (!session->connection) {
		destroy_session(session, now);
		return;
	}
	if (session->wants_accept) {
		try_accept(session, now);
		return;
	}
	if (session->is_opening) {
		if (!connect_partners(session, now))
			return;
		session->is_opening = false;
		answer(session, now);
		return;
	}
	if (now - session->last_word >= session->server->config.idle_time) {
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

	server->retry_at = VL_NO_DEADLINE;
	for (struct session *session = server->sessions; session; session = next) {
		next = session->next;
		poll_session(session, now);
	}
	for (struct session *session = server->sessions; session; session = session->next) {
		if (session->wants_accept || session->is_opening || !session->connection)
			server->retry_at = now + RETRY_TIME;
	}
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
	if (config && config->notification) {
		server->notification = *config->notification;
		server->has_notification = true;
	}
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
	server->device = device;
	server->cm = cm;
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
