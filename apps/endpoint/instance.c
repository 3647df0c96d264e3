/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/endpoint/instance.h"

#include "apps/control/server.h"
#include "transport/wire/gid.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NOTICES               4096u
#define DEFAULT_UCMATOSE_SIZE 100u
/* Connections that a poll begins, so that a client of thousands does not stall its endpoint. */
#define CONNECTS_A_POLL 64u

const char *const vl_instance_service_names[VL_INSTANCE_SERVICE_COUNT] = {
#define NAME(enumerator, name, port, meaning) [VL_INSTANCE_##enumerator] = #name,
	VL_INSTANCE_SERVICES(NAME)
#undef NAME
};

const uint16_t vl_instance_service_ports[VL_INSTANCE_SERVICE_COUNT] = {
#define PORT(enumerator, name, port, meaning) [VL_INSTANCE_##enumerator] = (port),
	VL_INSTANCE_SERVICES(PORT)
#undef PORT
};

struct vl_instance {
	struct vl_instance_config config;
	struct vl_endpoint *endpoint;
	struct vl_cm *cm;
	struct vl_session_set *sessions;
	struct vl_notices *notices;

	struct vl_rping_server rping_server;
	struct vl_ucmatose_server *ucmatose_server;
	struct vl_udaddy *udaddy_server;
	struct vl_exercise_side exercise_server;
	struct vl_perftest_target *perftest_target;
	struct vl_control_server *control_server;

	bool has_client, is_stopping;
	struct vl_instance_client client;
	uint32_t begun, not_begun; /* connections of the client; of these, refused by ourselves */
	struct vl_rping_client rping_client;
	struct vl_ucmatose_client ucmatose_client;
	struct vl_exercise_side exercise_client;
	struct vl_udaddy *udaddy_client;
	struct vl_histogram round_trip;
};

/* ---- Services ------------------------------------------------------------------------------- */

static bool serves(const struct vl_instance *instance, enum vl_instance_service service)
{
	return instance->config.services & (1u << service);
}

/* Where who comes and goes is told; NULL: nowhere. */
static struct vl_notices *comings_and_goings(const struct vl_instance *instance)
{
	return instance->config.quiet ? NULL : instance->notices;
}

static int open_udaddy_server(struct vl_instance *instance, uint64_t now)
{
	const struct vl_udaddy_config config = {
		.device = instance->endpoint->device,
		.cm = instance->cm,
		.port = VL_UDADDY_PORT,
		.notices = comings_and_goings(instance),
	};
	int error = 0;

	instance->udaddy_server = vl_udaddy_open(&config, now, &error);
	return error;
}

static int open_ucmatose_server(struct vl_instance *instance)
{
	uint32_t size = instance->config.ucmatose_size;
	int error = 0;

	instance->ucmatose_server = vl_ucmatose_server_open(
		instance->sessions, size ? size : DEFAULT_UCMATOSE_SIZE, &error);
	if (!instance->ucmatose_server)
		return error;
	return vl_session_listen(instance->sessions, &vl_ucmatose_server_service, VL_UCMATOSE_PORT,
				 instance->ucmatose_server);
}

static int open_perftest_server(struct vl_instance *instance)
{
	int error = 0;

	instance->perftest_target =
		vl_perftest_target_open(vl_session_set_pd(instance->sessions), &error);
	if (!instance->perftest_target)
		return error;
	return vl_session_listen(instance->sessions, &vl_perftest_server_service, VL_PERFTEST_PORT,
				 instance->perftest_target);
}

static void tell_of_control(void *context, const char *line)
{
	vl_notice(context, "%s", line);
}

static int open_service(struct vl_instance *instance, enum vl_instance_service service,
			uint64_t now)
{
	const struct vl_instance_config *config = &instance->config;
	const struct vl_control_server_config control = {
		.notification = config->notification,
		.arrival_port = config->port,
		.tell = tell_of_control,
		.tell_context = comings_and_goings(instance),
	};
	int error = 0;

	switch (service) {
	case VL_INSTANCE_RPING:
		instance->rping_server = (struct vl_rping_server){.verbose = config->verbose,
								  .notices = instance->notices};
		return vl_session_listen(instance->sessions, &vl_rping_server_service,
					 config->rping_port ? config->rping_port : VL_RPING_PORT,
					 &instance->rping_server);
	case VL_INSTANCE_UCMATOSE:
		return open_ucmatose_server(instance);
	case VL_INSTANCE_UDADDY:
		return open_udaddy_server(instance, now);
	case VL_INSTANCE_EXERCISE:
		instance->exercise_server = (struct vl_exercise_side){
			.notices = config->verbose ? instance->notices : NULL};
		return vl_session_listen(instance->sessions, &vl_exercise_server_service,
					 VL_EXERCISE_PORT, &instance->exercise_server);
	case VL_INSTANCE_PERFTEST:
		return open_perftest_server(instance);
	case VL_INSTANCE_CONTROL:
		instance->control_server = vl_control_server_open(instance->endpoint->device,
								  instance->cm, &control, &error);
		return instance->control_server ? 0 : error;
	default:
		return -EINVAL;
	}
}

/* ---- The client ----------------------------------------------------------------------------- */

int vl_choose_sgid_index(const struct vl_device *device, const union ibv_gid *destination)
{
	int best = -1, best_bits = -1;
	union ibv_gid ours;

	for (int i = 0; !vl_query_gid(device, 1, (uint32_t)i, &ours); i++) {
		int bits = 0;

		if (vl_gid_is_ipv4(&ours) != vl_gid_is_ipv4(destination))
			continue;
		while (bits < 128 &&
		       !((ours.raw[bits / 8] ^ destination->raw[bits / 8]) >> (7 - bits % 8) & 1))
			bits++;
		if (bits > best_bits) {
			best_bits = bits;
			best = i;
		}
	}
	return best;
}

static void prepare_client(struct vl_instance *instance)
{
	const struct vl_instance_client *client = &instance->client;
	struct vl_notices *verbose = instance->config.verbose ? instance->notices : NULL;

	instance->rping_client = (struct vl_rping_client){
		.count = client->count,
		.size = client->size,
		.verbose = instance->config.verbose,
		.validate = client->validate,
		.hold = client->hold,
		.notices = verbose,
		.round_trip = &instance->round_trip,
	};
	instance->ucmatose_client =
		(struct vl_ucmatose_client){.count = (uint32_t)client->count, .size = client->size};
	instance->exercise_client =
		(struct vl_exercise_side){.refused = client->refused, .notices = instance->notices};
}

static int open_udaddy_client(struct vl_instance *instance, uint8_t sgid_index, uint64_t now)
{
	const struct vl_instance_client *client = &instance->client;
	const struct vl_udaddy_config config = {
		.device = instance->endpoint->device,
		.cm = instance->cm,
		.port = client->port,
		.notices = instance->notices,
		.is_client = true,
		.destination = client->destination,
		.sgid_index = sgid_index,
		.traffic_class = instance->config.traffic_class,
		.service_level = instance->config.service_level,
		.connections = client->connections,
		.count = (uint32_t)client->count,
		.size = client->size,
	};
	int error = 0;

	instance->udaddy_client = vl_udaddy_open(&config, now, &error);
	return error;
}

static int connect_one(struct vl_instance *instance, uint8_t sgid_index, uint64_t now)
{
	const struct vl_instance_client *client = &instance->client;
	struct vl_session_connect connect = {
		.destination = client->destination,
		.port = client->port,
		.sgid_index = sgid_index,
	};
	int error = 0;

	switch (client->service) {
	case VL_INSTANCE_RPING:
		connect.service = &vl_rping_client_service;
		connect.service_context = &instance->rping_client;
		break;
	case VL_INSTANCE_UCMATOSE:
		connect.service = &vl_ucmatose_client_service;
		connect.service_context = &instance->ucmatose_client;
		break;
	case VL_INSTANCE_EXERCISE:
		connect.service = &vl_exercise_client_service;
		connect.service_context = &instance->exercise_client;
		break;
	default:
		return -EINVAL;
	}
	vl_session_connect(instance->sessions, &connect, now, &error);
	return error;
}

/* More connections are to be begun, and may. */
static bool may_begin(const struct vl_instance *instance)
{
	const struct vl_instance_client *client = &instance->client;

	return instance->has_client && !instance->is_stopping &&
	       instance->begun < client->connections &&
	       (!client->at_a_time || vl_session_set_count(instance->sessions) < client->at_a_time);
}

static void begin_connections(struct vl_instance *instance, uint64_t now)
{
	const struct vl_instance_client *client = &instance->client;
	int sgid_index = vl_choose_sgid_index(instance->endpoint->device, &client->destination);
	int error = sgid_index < 0 ? -EADDRNOTAVAIL : 0;

	if (!error && client->service == VL_INSTANCE_UDADDY) {
		error = open_udaddy_client(instance, (uint8_t)sgid_index, now);
		instance->begun = client->connections;
		instance->not_begun = error ? client->connections : 0;
	}
	for (uint32_t i = 0; i < CONNECTS_A_POLL && may_begin(instance); i++) {
		int result = error ? error : connect_one(instance, (uint8_t)sgid_index, now);

		instance->begun++;
		if (result) {
			error = result;
			instance->not_begun++;
		}
	}
	if (error)
		vl_notice(instance->notices, "%s: cannot connect: %s",
			  vl_instance_service_names[client->service], strerror(-error));
}

/* ---- The application ------------------------------------------------------------------------ */

static void poll(void *context, struct vl_endpoint *endpoint, uint64_t now)
{
	struct vl_instance *instance = context;

	(void)endpoint;
	vl_cm_poll(instance->cm, now);
	vl_session_set_poll(instance->sessions, now);
	if (instance->control_server)
		vl_control_server_poll(instance->control_server, now);
	if (instance->udaddy_server)
		vl_udaddy_poll(instance->udaddy_server, now);
	if (instance->udaddy_client)
		vl_udaddy_poll(instance->udaddy_client, now);
	if (may_begin(instance))
		begin_connections(instance, now);
}

static void take_earlier(uint64_t *deadline, uint64_t other)
{
	if (other < *deadline)
		*deadline = other;
}

static uint64_t next_deadline(void *context)
{
	const struct vl_instance *instance = context;
	uint64_t deadline = vl_cm_next_deadline(instance->cm);

	if (may_begin(instance))
		return 0;
	take_earlier(&deadline, vl_session_set_next_deadline(instance->sessions));
	if (instance->control_server)
		take_earlier(&deadline, vl_control_server_next_deadline(instance->control_server));
	if (instance->udaddy_server)
		take_earlier(&deadline, vl_udaddy_next_deadline(instance->udaddy_server));
	if (instance->udaddy_client)
		take_earlier(&deadline, vl_udaddy_next_deadline(instance->udaddy_client));
	return deadline;
}

static int open_sessions(struct vl_instance *instance, uint64_t now)
{
	const struct vl_instance_config *config = &instance->config;
	struct vl_cm_config cm_config = config->cm;
	struct vl_session_set_config set_config = {
		.device = instance->endpoint->device,
		.max_sessions = config->max_sessions,
		.traffic_class = config->traffic_class,
		.service_level = config->service_level,
		.path_mtu = config->path_mtu,
		.notices = comings_and_goings(instance),
	};
	int error = 0;

	cm_config.seed = config->seed;
	cm_config.worker = config->worker;
	instance->cm = vl_cm_open(instance->endpoint->device, &cm_config, now, &error);
	if (!instance->cm)
		return error;
	set_config.cm = instance->cm;
	instance->sessions = vl_session_set_open(&set_config, &error);
	return instance->sessions ? 0 : error;
}

struct vl_instance *vl_instance_open(struct vl_endpoint *endpoint,
				     const struct vl_instance_config *config, uint64_t now,
				     int *error)
{
	struct vl_instance *instance = calloc(1, sizeof(*instance));
	const struct vl_application application = {poll, next_deadline, instance};

	*error = -ENOMEM;
	if (!instance)
		return NULL;
	instance->config = *config;
	instance->endpoint = endpoint;
	if (config->client) {
		instance->has_client = true;
		instance->client = *config->client;
		if (!instance->client.port)
			instance->client.port = vl_instance_service_ports[config->client->service];
	}
	instance->notices = vl_notices_open(NOTICES);
	if (instance->notices)
		*error = open_sessions(instance, now);
	for (int service = 0; !*error && service < VL_INSTANCE_SERVICE_COUNT; service++) {
		if (serves(instance, (enum vl_instance_service)service))
			*error = open_service(instance, (enum vl_instance_service)service, now);
	}
	if (*error) {
		vl_instance_close(instance, now);
		return NULL;
	}
	prepare_client(instance);
	vl_endpoint_set_application(endpoint, &application);
	return instance;
}

void vl_instance_close(struct vl_instance *instance, uint64_t now)
{
	const struct vl_application none = {0};

	if (!instance)
		return;
	vl_endpoint_set_application(instance->endpoint, &none);
	vl_udaddy_close(instance->udaddy_client, now);
	vl_udaddy_close(instance->udaddy_server, now);
	vl_control_server_close(instance->control_server, now);
	/* The sessions' queue pairs go before what they use, and that before their domain. */
	if (instance->sessions)
		vl_session_set_clear(instance->sessions, now);
	vl_ucmatose_server_close(instance->ucmatose_server);
	vl_perftest_target_close(instance->perftest_target);
	vl_session_set_close(instance->sessions, now);
	vl_cm_close(instance->cm);
	vl_notices_close(instance->notices);
	free(instance);
}

void vl_instance_stop(struct vl_instance *instance, uint64_t now)
{
	instance->is_stopping = true;
	vl_session_set_stop(instance->sessions, now);
}

/* ---- What came of it ------------------------------------------------------------------------ */

void vl_instance_status(const struct vl_instance *instance, struct vl_instance_status *status)
{
	*status = (struct vl_instance_status){
		.sessions = vl_session_set_count(instance->sessions),
		.session = *vl_session_set_counters(instance->sessions),
		.cm = *vl_cm_counters(instance->cm),
		.cm_usage = vl_cm_usage(instance->cm),
		.rping_pings = instance->rping_server.pings,
		.rping_errors = instance->rping_server.errors,
		.exercise_over = instance->exercise_server.over,
		.exercise_failures = instance->exercise_server.failures,
	};
	if (instance->ucmatose_server)
		status->ucmatose = vl_ucmatose_server_counters(instance->ucmatose_server);
	if (instance->udaddy_server)
		status->udaddy = *vl_udaddy_counters(instance->udaddy_server);
	if (instance->control_server) {
		const struct vl_control_server_counters *control =
			vl_control_server_counters(instance->control_server);

		status->control_sessions = vl_control_server_sessions(instance->control_server);
		status->control_requests = control->requests;
		status->control_errors = control->errors;
		status->control_qps = control->qps;
	}
	status->client_done = instance->rping_client.pings + instance->ucmatose_client.received +
			      instance->exercise_client.over;
	status->client_over = instance->rping_client.over + instance->ucmatose_client.over +
			      instance->exercise_client.over + instance->not_begun;
	status->client_failed = instance->rping_client.unfinished +
				instance->ucmatose_client.unfinished +
				instance->exercise_client.failures + instance->not_begun;
	status->client_mismatches = instance->rping_client.mismatches;
	if (instance->udaddy_client) {
		const struct vl_udaddy_counters *counters =
			vl_udaddy_counters(instance->udaddy_client);

		status->client_done = counters->received;
		status->client_failed = counters->failed;
		status->client_over = vl_udaddy_is_over(instance->udaddy_client)
					      ? instance->client.connections
					      : 0;
	}
}

bool vl_instance_is_over(const struct vl_instance *instance)
{
	struct vl_instance_status status;

	vl_instance_status(instance, &status);
	if (!instance->has_client || instance->is_stopping)
		return !status.sessions;
	return status.client_over >= instance->client.connections;
}

bool vl_instance_has_succeeded(const struct vl_instance *instance)
{
	struct vl_instance_status status;

	vl_instance_status(instance, &status);
	return !status.client_failed && !status.client_mismatches &&
	       (instance->is_stopping || status.client_over >= instance->client.connections);
}

struct vl_notices *vl_instance_notices(struct vl_instance *instance)
{
	return instance->notices;
}

struct vl_session_set *vl_instance_sessions(const struct vl_instance *instance)
{
	return instance->sessions;
}

const struct vl_histogram *vl_instance_round_trip(const struct vl_instance *instance)
{
	return &instance->round_trip;
}
