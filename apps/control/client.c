/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/control/client.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/control/channel.h"

#define SECOND           UINT64_C(1000000000)
#define DEFAULT_PATIENCE (5 * SECOND)
/* Of a clock: the shortest round trip counts. */
#define PINGS 16u
/* A server forgets who says nothing for long. */
#define KEEP_ALIVE SECOND
/* A step that waits for a neighbour is tried again so often. */
#define RETRY_TIME UINT64_C(1000000)

enum step {
	STEP_CONNECT, /* for CONNECT_RESPONSE */
	STEP_PREPARE, /* the channel waits for a neighbour */
	STEP_HELLO,
	STEP_PING,
	STEP_OPEN,
	STEP_CONNECT_QPS, /* those of the last answer wait for a neighbour */
	STEP_READY,
	STEP_KEEP_ALIVE,
	STEP_COUNT,
	STEP_TIMES,
	STEP_CLOSE,
	STEP_DONE,
	STEP_FAILED,
};

struct vl_control_client {
	struct vl_device *device;
	struct vl_control_client_config config;
	struct vl_generate_group **groups;
	struct vl_control_stream *streams;
	struct vl_cm_connection *connection; /* NULL: over */
	struct vl_control_channel *channel;
	enum step step;
	char error[400];
	bool is_ending;    /* pings are those at the end */
	bool wants_end;    /* finish came while a keep-alive was under way */
	uint64_t deadline; /* ns: of the answer, or of the next keep-alive */
	uint32_t pings;
	uint32_t group;        /* whose partners are made: groups, then streams */
	uint32_t first, count; /* queue pairs in the open under way */
	uint32_t connected;    /* of these */
	struct vl_control_clock clocks[2];
	struct vl_control_hello server;
	enum vl_control_clock_kind clock;
	struct vl_control_one_way **one_ways; /* by group; NULL: not stamped */
	struct vl_control_counters counters;
	struct vl_control_message message;
};

/* ---- Failing and asking --------------------------------------------------------------------- */

static void fail(struct vl_control_client *client, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void fail(struct vl_control_client *client, const char *format, ...)
{
	va_list arguments;

	if (client->step == STEP_FAILED || client->step == STEP_DONE)
		return;
	client->step = STEP_FAILED;
	client->deadline = VL_NO_DEADLINE;
	va_start(arguments, format);
	vsnprintf(client->error, sizeof(client->error), format, arguments);
	va_end(arguments);
}

/* Sends client->message and waits for its answer. */
static void ask(struct vl_control_client *client, enum step step, uint64_t now)
{
	int status = vl_control_channel_send(client->channel, &client->message, now);

	client->step = step;
	client->deadline = now + client->config.patience;
	if (status)
		fail(client, "the request '%s' cannot be sent: %s",
		     vl_control_type_name(client->message.type), strerror(-status));
}

static void ask_ping(struct vl_control_client *client, enum step step, uint64_t now)
{
	client->message.type = VL_CONTROL_PING;
	client->message.ping = (struct vl_control_ping){.sent = now};
	ask(client, step, now);
}

static void ask_hello(struct vl_control_client *client, uint64_t now)
{
	struct vl_control_hello *hello = &client->message.hello;
	const struct vl_generate_group_config *group;

	client->message.type = VL_CONTROL_HELLO;
	*hello = (struct vl_control_hello){.protocol = VL_CONTROL_PROTOCOL};
	vl_control_clock_name(hello->clock);
	snprintf(hello->version, sizeof(hello->version), "%s", VERBLINE_VERSION);
	for (uint32_t i = 0; i < client->config.group_count; i++) {
		group = vl_generate_group_configuration(client->groups[i]);
		hello->qps += group->qps;
		if (vl_mix_largest(&group->mix) > hello->largest_message)
			hello->largest_message = vl_mix_largest(&group->mix);
	}
	for (uint32_t i = 0; i < client->config.stream_count; i++) {
		hello->qps += client->streams[i].count;
		if (client->streams[i].largest_message > hello->largest_message)
			hello->largest_message = client->streams[i].largest_message;
	}
	ask(client, STEP_HELLO, now);
}

static uint32_t largest_send(const struct vl_mix_config *mix)
{
	uint32_t largest = 0;

	for (uint32_t i = 0; i < mix->count; i++) {
		if (mix->entries[i].verb <= VL_FLOW_SEND_IMM && mix->entries[i].most > largest)
			largest = mix->entries[i].most;
	}
	return largest;
}

static int64_t clock_offset(const struct vl_control_client *client)
{
	return client->clock == VL_CLOCK_SAME ? 0 : client->clocks[0].offset;
}

static void ask_open_stream(struct vl_control_client *client, uint64_t now)
{
	const struct vl_control_stream *stream =
		&client->streams[client->group - client->config.group_count];
	struct vl_control_open *open = &client->message.open;

	client->count = stream->count - client->first;
	if (client->count > VL_CONTROL_MAX_QPS)
		client->count = VL_CONTROL_MAX_QPS;
	client->message.type = VL_CONTROL_OPEN;
	*open = (struct vl_control_open){
		.transport = stream->transport,
		.path_mtu = client->config.path_mtu,
		.receive_depth = stream->receive_depth,
		.receive_size = stream->receive_depth ? stream->largest_message : 0,
		.traffic_class = stream->traffic_class,
		.priority = stream->priority,
		.count = client->count};
	for (uint32_t i = 0; i < client->count; i++)
		open->qps[i] =
			(struct vl_control_qp){stream->local_qpn + client->first + i, stream->psn};
	ask(client, STEP_OPEN, now);
}

/* Asks for partners of the next queue pairs, or is ready. */
static void ask_open(struct vl_control_client *client, uint64_t now)
{
	const struct vl_generate_group_config *config;
	struct vl_control_open *open = &client->message.open;
	struct vl_generate_group *group;
	struct vl_queue_pair_address local;

	if (client->group == client->config.group_count + client->config.stream_count) {
		client->step = STEP_READY;
		client->deadline = now + KEEP_ALIVE;
		return;
	}
	if (client->group >= client->config.group_count) {
		ask_open_stream(client, now);
		return;
	}
	group = client->groups[client->group];
	config = vl_generate_group_configuration(group);
	client->count = config->qps - client->first;
	if (client->count > VL_CONTROL_MAX_QPS)
		client->count = VL_CONTROL_MAX_QPS;
	client->message.type = VL_CONTROL_OPEN;
	*open = (struct vl_control_open){
		.transport = config->qp.transport,
		.path_mtu = config->qp.path_mtu,
		.receive_depth = vl_mix_takes_receives(&config->mix) ? 2 * config->depth : 0,
		.receive_size = largest_send(&config->mix),
		.traffic_class = config->qp.traffic_class,
		.priority = config->qp.priority,
		.timeout = config->qp.timeout,
		.retry_count = config->qp.retry_count,
		.rnr_retry = config->qp.rnr_retry,
		.is_stamped = client->one_ways[client->group] != NULL,
		.group = client->group,
		.clock_offset = clock_offset(client),
		.count = client->count};
	if (config->qp.cc)
		open->cc = *config->qp.cc;
	for (uint32_t i = 0; i < client->count; i++) {
		vl_generate_group_local(group, client->first + i, &local);
		open->qps[i] = (struct vl_control_qp){local.qpn, local.psn};
	}
	ask(client, STEP_OPEN, now);
}

/* ---- Answers ------------------------------------------------------------------------------- */

/* The partners in client->message, as long as neighbours are known. */
static void connect_qps(struct vl_control_client *client, uint64_t now)
{
	const struct vl_control_opened *opened = &client->message.opened;
	struct vl_generate_group *group = client->groups[client->group];
	struct vl_queue_pair_address peer = {.gid = client->config.server,
					     .qkey = opened->qkey,
					     .address = opened->address,
					     .length = opened->length,
					     .rkey = opened->rkey};
	int status;

	for (; client->connected < client->count; client->connected++) {
		peer.qpn = opened->qps[client->connected].qpn;
		peer.psn = opened->qps[client->connected].psn;
		status = vl_generate_group_connect(group, client->first + client->connected, &peer,
						   now);
		if (status == -EAGAIN) {
			client->step = STEP_CONNECT_QPS;
			return;
		}
		if (status) {
			fail(client, "queue pair %u cannot be connected: %s",
			     client->first + client->connected, strerror(-status));
			return;
		}
	}
	client->first += client->count;
	if (client->first == vl_generate_group_configuration(group)->qps) {
		client->first = 0;
		client->group++;
	}
	ask_open(client, now);
}

static void take_opened(struct vl_control_client *client, uint64_t now)
{
	const struct vl_control_opened *opened = &client->message.opened;
	const struct vl_control_stream *stream;

	client->connected = 0;
	if (opened->count != client->count) {
		fail(client, "the peer made %u queue pairs in place of %u", opened->count,
		     client->count);
		return;
	}
	if (client->group < client->config.group_count) {
		connect_qps(client, now);
		return;
	}
	stream = &client->streams[client->group - client->config.group_count];
	stream->opened(stream->context, client->first, opened);
	client->first += client->count;
	if (client->first == stream->count) {
		client->first = 0;
		client->group++;
	}
	ask_open(client, now);
}

static void take_pong(struct vl_control_client *client, uint64_t now)
{
	struct vl_control_clock *clock = &client->clocks[client->is_ending];
	const struct vl_control_ping *pong = &client->message.ping;
	uint64_t error = (now - pong->sent) / 2;

	if (pong->sent <= now && error < clock->error)
		*clock = (struct vl_control_clock){(int64_t)(pong->arrived - pong->sent - error),
						   error};
	if (client->step == STEP_KEEP_ALIVE) {
		client->step = STEP_READY;
		client->deadline = now + KEEP_ALIVE;
		if (client->wants_end)
			vl_control_client_finish(client, now);
	} else if (++client->pings < PINGS) {
		ask_ping(client, STEP_PING, now);
	} else if (client->is_ending) {
		client->message.type = VL_CONTROL_COUNT;
		ask(client, STEP_COUNT, now);
	} else {
		ask_open(client, now);
	}
}

/* The bound of what a clock that moved from one estimate to the other can have differed from the
 * first. */
static uint64_t clock_error(const struct vl_control_client *client)
{
	const struct vl_control_clock *begin = &client->clocks[0], *end = &client->clocks[1];
	int64_t moved = end->offset - begin->offset;
	uint64_t at_end;

	if (client->clock == VL_CLOCK_SAME)
		return 0;
	if (begin->error == UINT64_MAX || end->error == UINT64_MAX)
		return UINT64_MAX;
	at_end = end->error + (uint64_t)(moved < 0 ? -moved : moved);
	return at_end > begin->error ? at_end : begin->error;
}

/* Asks for the latencies of the next group that has any from client->group on, or takes leave. */
static void ask_times(struct vl_control_client *client, uint32_t first, uint64_t now)
{
	while (client->group < client->config.group_count && !client->one_ways[client->group])
		client->group++;
	if (client->group < client->config.group_count) {
		client->message.type = VL_CONTROL_TIMES;
		client->message.times = (struct vl_control_times){client->group, first};
		ask(client, STEP_TIMES, now);
	} else {
		client->message.type = VL_CONTROL_CLOSE;
		ask(client, STEP_CLOSE, now);
	}
}

static void take_times(struct vl_control_client *client, uint64_t now)
{
	const struct vl_control_timed *timed = &client->message.timed;
	struct vl_control_one_way *one_way = client->one_ways[client->group];
	struct vl_histogram *times = &one_way->found.times;
	uint32_t next = timed->next;

	for (uint32_t i = 0; i < timed->slot_count; i++)
		times->slots[timed->slots[i].slot] = timed->slots[i].count;
	if (!next) {
		times->count = timed->count;
		times->least = timed->least;
		times->most = timed->most;
		times->sum = timed->sum;
		times->square_sum = timed->square_sum;
		one_way->found.early = timed->early;
		one_way->clock = client->clock;
		one_way->error = clock_error(client);
		client->group++;
	}
	ask_times(client, next, now);
}

static enum vl_control_type expected(enum step step)
{
	switch (step) {
	case STEP_HELLO:
		return VL_CONTROL_HELLO;
	case STEP_PING:
	case STEP_KEEP_ALIVE:
		return VL_CONTROL_PONG;
	case STEP_OPEN:
		return VL_CONTROL_OPENED;
	case STEP_COUNT:
		return VL_CONTROL_COUNTERS;
	case STEP_TIMES:
		return VL_CONTROL_TIMED;
	case STEP_CLOSE:
		return VL_CONTROL_CLOSED;
	default:
		return VL_CONTROL_ERROR;
	}
}

static void take_answer(struct vl_control_client *client, uint64_t now)
{
	const struct vl_control_message *message = &client->message;

	if (message->type == VL_CONTROL_ERROR) {
		fail(client, "the peer refuses: %s", message->error);
	} else if (message->type != expected(client->step)) {
		fail(client, "the peer said '%s' unasked", vl_control_type_name(message->type));
	} else if (message->type == VL_CONTROL_HELLO) {
		char here[VL_CONTROL_CLOCK_TEXT];

		vl_control_clock_name(here);
		client->server = message->hello;
		client->clock = vl_control_clock_compare(here, client->server.clock);
		client->pings = 0;
		ask_ping(client, STEP_PING, now);
	} else if (message->type == VL_CONTROL_PONG) {
		take_pong(client, now);
	} else if (message->type == VL_CONTROL_OPENED) {
		take_opened(client, now);
	} else if (message->type == VL_CONTROL_COUNTERS) {
		client->counters = message->counters;
		client->group = 0;
		ask_times(client, 0, now);
	} else if (message->type == VL_CONTROL_TIMED) {
		take_times(client, now);
	} else {
		client->step = STEP_DONE;
		client->deadline = VL_NO_DEADLINE;
		vl_cm_disconnect(client->connection, now);
	}
}

/* ---- The connection ------------------------------------------------------------------------ */

static void prepare(struct vl_control_client *client, uint64_t now)
{
	int status = vl_control_channel_connect(client->channel, client->connection, now);

	client->step = STEP_PREPARE;
	if (status == -EAGAIN)
		return;
	if (!status)
		status = vl_cm_establish(client->connection, NULL, 0, now);
	if (status)
		fail(client, "the control connection cannot be made: %s", strerror(-status));
	else
		ask_hello(client, now);
}

static void take_event(void *context, const struct vl_cm_event *event, uint64_t now)
{
	struct vl_control_client *client = context;

	switch (event->type) {
	case VL_CM_EVENT_CONNECT_RESPONSE:
		prepare(client, now);
		break;
	case VL_CM_EVENT_REJECTED:
		client->connection = NULL;
		fail(client,
		     "the peer rejects the control connection (reason %d): no 'verbline endpoint' "
		     "listens there, or it has no room",
		     event->status);
		break;
	case VL_CM_EVENT_UNREACHABLE:
		client->connection = NULL;
		fail(client, "the peer does not answer: %s; is it up, and its address right?",
		     strerror(-event->status));
		break;
	case VL_CM_EVENT_DISCONNECTED:
		vl_control_channel_stop(client->channel, now);
		fail(client, "the peer ended the control connection");
		break;
	case VL_CM_EVENT_TIMEWAIT_EXIT:
		client->connection = NULL;
		break;
	default:
		break;
	}
}

void vl_control_client_poll(struct vl_control_client *client, uint64_t now)
{
	char error[200];
	int received;

	if (client->step == STEP_CONNECT || client->step >= STEP_DONE)
		return;
	if (client->step == STEP_PREPARE) {
		prepare(client, now);
		return;
	}
	if (client->step == STEP_CONNECT_QPS) {
		connect_qps(client, now);
		return;
	}
	received = vl_control_channel_receive(client->channel, &client->message, error,
					      sizeof(error), now);
	if (received == -EINVAL)
		fail(client, "the peer's message is not understood: %s", error);
	else if (received < 0)
		fail(client, "the control connection is broken");
	else if (received)
		take_answer(client, now);
	else if (now >= client->deadline && client->step == STEP_READY)
		ask_ping(client, STEP_KEEP_ALIVE, now);
	else if (now >= client->deadline)
		fail(client, "the peer has not answered for %.1f s",
		     (double)client->config.patience / (double)SECOND);
}

uint64_t vl_control_client_next_deadline(const struct vl_control_client *client)
{
	if (client->step == STEP_PREPARE || client->step == STEP_CONNECT_QPS)
		return 0;
	return client->deadline;
}

/* ---- Life ---------------------------------------------------------------------------------- */

static void free_groups(struct vl_control_client *client)
{
	for (uint32_t i = 0; client->one_ways && i < client->config.group_count; i++)
		free(client->one_ways[i]);
	free(client->one_ways);
	free(client->groups);
	free(client->streams);
}

static int copy_groups(struct vl_control_client *client)
{
	uint32_t count = client->config.group_count;
	const struct vl_generate_group_config *group;

	client->groups = calloc(count + 1, sizeof(*client->groups));
	client->one_ways = calloc(count + 1, sizeof(*client->one_ways));
	client->streams = calloc(client->config.stream_count + 1, sizeof(*client->streams));
	if (!client->groups || !client->one_ways || !client->streams)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		client->groups[i] = client->config.groups[i];
	for (uint32_t i = 0; i < client->config.stream_count; i++)
		client->streams[i] = client->config.streams[i];
	for (uint32_t i = 0; i < count; i++) {
		group = vl_generate_group_configuration(client->groups[i]);
		if (!group->stamps || !vl_mix_has_immediates(&group->mix))
			continue;
		client->one_ways[i] = calloc(1, sizeof(*client->one_ways[i]));
		if (!client->one_ways[i])
			return -ENOMEM;
	}
	return 0;
}

struct vl_control_client *vl_control_client_open(struct vl_device *device, struct vl_cm *cm,
						 const struct vl_control_client_config *config,
						 uint64_t now, int *error)
{
	struct vl_control_client *client = calloc(1, sizeof(*client));
	struct vl_cm_connect_param param = {.qp_type = IBV_QPT_RC,
					    .destination = config->server,
					    .sgid_index = config->sgid_index,
					    .path_mtu = config->path_mtu,
					    .traffic_class = config->traffic_class,
					    .service_level = config->service_level,
					    .conn = vl_control_conn_param};
	int status = -ENOMEM;

	if (!client) {
		*error = status;
		return NULL;
	}
	client->device = device;
	client->config = *config;
	if (copy_groups(client)) {
		free_groups(client);
		free(client);
		*error = status;
		return NULL;
	}
	if (!client->config.port)
		client->config.port = VL_CONTROL_PORT;
	if (!client->config.patience)
		client->config.patience = DEFAULT_PATIENCE;
	client->deadline = VL_NO_DEADLINE;
	client->clocks[0].error = UINT64_MAX;
	client->clocks[1].error = UINT64_MAX;
	client->channel = vl_control_channel_open(device, now, &status);
	if (client->channel) {
		param.service_id = vl_rdma_service_id(VL_RDMA_PORT_SPACE_TCP, client->config.port);
		param.conn.qpn = vl_qp_number(vl_control_channel_qp(client->channel));
		param.handler = (struct vl_cm_handler){take_event, client};
		client->connection = vl_cm_connect(cm, &param, now, &status);
	}
	if (client->connection)
		return client;
	vl_control_client_close(client, now);
	*error = status;
	return NULL;
}

void vl_control_client_close(struct vl_control_client *client, uint64_t now)
{
	if (!client)
		return;
	if (client->connection)
		vl_cm_destroy(client->connection, now);
	vl_control_channel_close(client->channel);
	free_groups(client);
	free(client);
}

void vl_control_client_finish(struct vl_control_client *client, uint64_t now)
{
	client->wants_end = true;
	if (client->step != STEP_READY)
		return;
	client->is_ending = true;
	client->pings = 0;
	ask_ping(client, STEP_PING, now);
}

/* ---- Reading ------------------------------------------------------------------------------- */

enum vl_control_client_state vl_control_client_state(const struct vl_control_client *client)
{
	switch (client->step) {
	case STEP_CONNECT:
	case STEP_PREPARE:
		return VL_CONTROL_CONNECTING;
	case STEP_READY:
	case STEP_KEEP_ALIVE:
		return VL_CONTROL_READY;
	case STEP_DONE:
		return VL_CONTROL_DONE;
	case STEP_FAILED:
		return VL_CONTROL_FAILED;
	default:
		return client->is_ending ? VL_CONTROL_ENDING : VL_CONTROL_OPENING;
	}
}

const char *vl_control_client_error(const struct vl_control_client *client)
{
	return client->error;
}

const struct vl_control_hello *vl_control_client_server(const struct vl_control_client *client)
{
	return &client->server;
}

struct vl_control_clock vl_control_client_clock(const struct vl_control_client *client, bool at_end)
{
	return client->clocks[at_end];
}

const struct vl_control_counters *vl_control_client_counters(const struct vl_control_client *client)
{
	return client->step == STEP_DONE ? &client->counters : NULL;
}

const struct vl_control_one_way *vl_control_client_one_way(const struct vl_control_client *client,
							   uint32_t group)
{
	return client->step == STEP_DONE ? client->one_ways[group] : NULL;
}
