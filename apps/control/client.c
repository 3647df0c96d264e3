/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/control/client.h"

#include "apps/control/client_private.h"
#include "apps/host/addresses.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND           UINT64_C(1000000000)
#define DEFAULT_PATIENCE (5 * SECOND)
/* Of a clock: the shortest round trip counts. */
#define PINGS 16u

/* ---- Failing and asking --------------------------------------------------------------------- */

void vl_control_client_fail(struct vl_control_client *client, const char *format, ...)
{
	va_list arguments;

	if (client->step == VL_CLIENT_STEP_FAILED || client->step == VL_CLIENT_STEP_DONE)
		return;
	client->step = VL_CLIENT_STEP_FAILED;
	client->deadline = VL_NO_DEADLINE;
	va_start(arguments, format);
	vsnprintf(client->error, sizeof(client->error), format, arguments);
	va_end(arguments);
}

void vl_control_client_ask(struct vl_control_client *client, enum vl_client_step step, uint64_t now)
{
	int status = vl_control_channel_send(client->channel, &client->message, now);

	client->step = step;
	client->deadline = now + client->config.patience;
	if (status)
		vl_control_client_fail(client, "the request '%s' cannot be sent: %s",
				       vl_control_type_name(client->message.type),
				       strerror(-status));
}

static void ask_ping(struct vl_control_client *client, enum vl_client_step step, uint64_t now)
{
	client->message.type = VL_CONTROL_PING;
	client->message.ping = (struct vl_control_ping){.sent = now};
	vl_control_client_ask(client, step, now);
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
	vl_control_client_ask(client, VL_CLIENT_STEP_HELLO, now);
}

/* ---- Answers ------------------------------------------------------------------------------- */

static void take_pong(struct vl_control_client *client, uint64_t now)
{
	struct vl_control_clock *clock = &client->clocks[client->is_ending];
	const struct vl_control_ping *pong = &client->message.ping;
	uint64_t error = (now - pong->sent) / 2;

	if (pong->sent <= now && error < clock->error)
		*clock = (struct vl_control_clock){(int64_t)(pong->arrived - pong->sent - error),
						   error};
	if (client->step == VL_CLIENT_STEP_KEEP_ALIVE) {
		client->step = VL_CLIENT_STEP_READY;
		client->deadline = now + VL_CLIENT_KEEP_ALIVE;
		if (client->wants_end)
			vl_control_client_finish(client, now);
	} else if (++client->pings < PINGS) {
		ask_ping(client, VL_CLIENT_STEP_PING, now);
	} else if (client->is_ending) {
		client->message.type = VL_CONTROL_COUNT;
		vl_control_client_ask(client, VL_CLIENT_STEP_COUNT, now);
	} else {
		vl_control_client_open_next(client, now);
	}
}

static uint64_t add_errors(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* The bound of what a clock that moved from one estimate to the other can have differed from the
 * first. */
static uint64_t clock_error(const struct vl_control_client *client)
{
	const struct vl_control_clock *begin = &client->clocks[0], *end = &client->clocks[1];
	uint64_t moved, at_end;

	if (client->clock == VL_CLOCK_SAME)
		return 0;
	if (begin->error == UINT64_MAX || end->error == UINT64_MAX)
		return UINT64_MAX;
	/* The peer says what it likes: the two may be further apart than a signed number is wide.
	 */
	moved = end->offset > begin->offset ? (uint64_t)end->offset - (uint64_t)begin->offset
					    : (uint64_t)begin->offset - (uint64_t)end->offset;
	at_end = add_errors(end->error, moved);
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
		client->times_from = first;
		vl_control_client_ask(client, VL_CLIENT_STEP_TIMES, now);
	} else {
		client->message.type = VL_CONTROL_CLOSE;
		vl_control_client_ask(client, VL_CLIENT_STEP_CLOSE, now);
	}
}

static void take_times(struct vl_control_client *client, uint64_t now)
{
	const struct vl_control_timed *timed = &client->message.timed;
	struct vl_control_one_way *one_way = client->one_ways[client->group];
	struct vl_histogram *times = &one_way->found.times;
	uint32_t next = timed->next;

	if (next && next <= client->times_from) {
		vl_control_client_fail(client,
				       "the peer's times go on from slot %u, and not behind %u",
				       next, client->times_from);
		return;
	}
	for (uint32_t i = 0; i < timed->slot_count; i++)
		times->slots[timed->slots[i].slot] = timed->slots[i].count;
	if (!next) {
		/* How many there are is what the slots say. */
		times->least = timed->least;
		times->most = timed->most;
		times->sum = timed->sum;
		times->square_sum = timed->square_sum;
		if (!vl_histogram_adopt(times)) {
			memset(times, 0, sizeof(*times));
			vl_control_client_fail(client, "the peer's times are not possible");
			return;
		}
		one_way->found.early = timed->early;
		one_way->clock = client->clock;
		one_way->difference_error = clock_error(client);
		one_way->arrival_error = timed->arrival_error;
		one_way->error = add_errors(one_way->difference_error, one_way->arrival_error);
		memcpy(one_way->arrival_clock, timed->arrival_clock, sizeof(timed->arrival_clock));
		client->group++;
	}
	ask_times(client, next, now);
}

static enum vl_control_type expected(enum vl_client_step step)
{
	switch (step) {
	case VL_CLIENT_STEP_HELLO:
		return VL_CONTROL_HELLO;
	case VL_CLIENT_STEP_PING:
	case VL_CLIENT_STEP_KEEP_ALIVE:
		return VL_CONTROL_PONG;
	case VL_CLIENT_STEP_OPEN:
		return VL_CONTROL_OPENED;
	case VL_CLIENT_STEP_COUNT:
		return VL_CONTROL_COUNTERS;
	case VL_CLIENT_STEP_TIMES:
		return VL_CONTROL_TIMED;
	case VL_CLIENT_STEP_CLOSE:
		return VL_CONTROL_CLOSED;
	default:
		return VL_CONTROL_ERROR;
	}
}

static void take_answer(struct vl_control_client *client, uint64_t now)
{
	const struct vl_control_message *message = &client->message;

	if (message->type == VL_CONTROL_ERROR) {
		vl_control_client_fail(client, "the peer refuses: %s", message->error);
	} else if (message->type != expected(client->step)) {
		vl_control_client_fail(client, "the peer said '%s' unasked",
				       vl_control_type_name(message->type));
	} else if (message->type == VL_CONTROL_HELLO) {
		char here[VL_CONTROL_CLOCK_TEXT];

		vl_control_clock_name(here);
		client->server = message->hello;
		client->clock = vl_control_clock_compare(here, client->server.clock);
		client->pings = 0;
		ask_ping(client, VL_CLIENT_STEP_PING, now);
	} else if (message->type == VL_CONTROL_PONG) {
		take_pong(client, now);
	} else if (message->type == VL_CONTROL_OPENED) {
		vl_control_client_take_opened(client, now);
	} else if (message->type == VL_CONTROL_COUNTERS) {
		client->counters = message->counters;
		client->group = 0;
		ask_times(client, 0, now);
	} else if (message->type == VL_CONTROL_TIMED) {
		take_times(client, now);
	} else {
		client->step = VL_CLIENT_STEP_DONE;
		client->deadline = VL_NO_DEADLINE;
		vl_cm_disconnect(client->connection, now);
	}
}

/* ---- The connection ------------------------------------------------------------------------ */

static void prepare(struct vl_control_client *client, uint64_t now)
{
	int status = vl_control_channel_connect(client->channel, client->connection, now);

	client->step = VL_CLIENT_STEP_PREPARE;
	if (status == -EAGAIN)
		return;
	if (!status)
		status = vl_cm_establish(client->connection, NULL, 0, now);
	if (status)
		vl_control_client_fail(client, "the control connection cannot be made: %s",
				       strerror(-status));
	else
		ask_hello(client, now);
}

static void take_event(void *context, const struct vl_cm_event *event, uint64_t now)
{
	struct vl_control_client *client = context;
	char text[VL_UNREACHABLE_TEXT];

	switch (event->type) {
	case VL_CM_EVENT_CONNECT_RESPONSE:
		prepare(client, now);
		break;
	case VL_CM_EVENT_REJECTED:
		client->connection = NULL;
		vl_control_client_fail(client,
				       "the peer rejects the control connection (reason %d): no "
				       "'verbline endpoint' "
				       "listens there, or it has no room",
				       event->status);
		break;
	case VL_CM_EVENT_UNREACHABLE:
		client->connection = NULL;
		vl_control_client_fail(
			client, "%s",
			vl_unreachable_text(event->status, &client->config.server, text));
		break;
	case VL_CM_EVENT_DISCONNECTED:
		vl_control_channel_stop(client->channel, now);
		vl_control_client_fail(client, "the peer ended the control connection");
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

	if (client->step == VL_CLIENT_STEP_CONNECT || client->step >= VL_CLIENT_STEP_DONE)
		return;
	if (client->step == VL_CLIENT_STEP_PREPARE) {
		prepare(client, now);
		return;
	}
	if (client->step == VL_CLIENT_STEP_CONNECT_QPS) {
		vl_control_client_connect_qps(client, now);
		return;
	}
	received = vl_control_channel_receive(client->channel, &client->message, error,
					      sizeof(error), now);
	if (received == -EINVAL)
		vl_control_client_fail(client, "the peer's message is not understood: %s", error);
	else if (received < 0)
		vl_control_client_fail(client, "the control connection is broken");
	else if (received)
		take_answer(client, now);
	else if (now >= client->deadline && client->step == VL_CLIENT_STEP_READY)
		ask_ping(client, VL_CLIENT_STEP_KEEP_ALIVE, now);
	else if (now >= client->deadline)
		vl_control_client_fail(client, "the peer has not answered for %.1f s",
				       (double)client->config.patience / (double)SECOND);
}

uint64_t vl_control_client_next_deadline(const struct vl_control_client *client)
{
	if (client->step == VL_CLIENT_STEP_PREPARE || client->step == VL_CLIENT_STEP_CONNECT_QPS)
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
	if (client->step != VL_CLIENT_STEP_READY)
		return;
	client->is_ending = true;
	client->pings = 0;
	ask_ping(client, VL_CLIENT_STEP_PING, now);
}

/* ---- Reading ------------------------------------------------------------------------------- */

enum vl_control_client_state vl_control_client_state(const struct vl_control_client *client)
{
	switch (client->step) {
	case VL_CLIENT_STEP_CONNECT:
	case VL_CLIENT_STEP_PREPARE:
		return VL_CONTROL_CONNECTING;
	case VL_CLIENT_STEP_READY:
	case VL_CLIENT_STEP_KEEP_ALIVE:
		return VL_CONTROL_READY;
	case VL_CLIENT_STEP_DONE:
		return VL_CONTROL_DONE;
	case VL_CLIENT_STEP_FAILED:
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
	return client->step == VL_CLIENT_STEP_DONE ? &client->counters : NULL;
}

const struct vl_control_one_way *vl_control_client_one_way(const struct vl_control_client *client,
							   uint32_t group)
{
	return client->step == VL_CLIENT_STEP_DONE ? client->one_ways[group] : NULL;
}
