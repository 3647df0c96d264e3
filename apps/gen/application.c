/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/gen/application.h"

#include "apps/host/addresses.h"
#include "dataplane/endpoint.h"
#include "transport/wire/gid.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Queue pairs that are connected in one call where the peer is given. */
#define GIVEN_BATCH   64u
#define MIN_RNR_TIMER 12
/* Connections besides those of the queue pairs. */
#define CM_SPARE 64u

static const enum ibv_qp_type qp_types[] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD};
static const uint8_t ecn_codepoints[] = {
	[GEN_ECN_ECT0] = VL_ECN_ECT0,
	[GEN_ECN_ECT1] = VL_ECN_ECT1,
	[GEN_ECN_NOT_ECT] = VL_ECN_NOT_ECT,
};

void gen_application_fail(struct gen_application *application, const char *format, ...)
{
	va_list arguments;

	if (application->state == GEN_FAILED)
		return;
	application->state = GEN_FAILED;
	va_start(arguments, format);
	vsnprintf(application->error, sizeof(application->error), format, arguments);
	va_end(arguments);
}

/* ---- Set-up -------------------------------------------------------------------------------- */

/* Our first address of the destination's family; 0xff: there is none. */
static uint8_t find_source(const struct vl_device *device, const union ibv_gid *destination)
{
	union ibv_gid gid;

	for (uint8_t i = 0; !vl_query_gid(device, 1, i, &gid); i++) {
		if (vl_gid_is_ipv4(&gid) == vl_gid_is_ipv4(destination))
			return i;
	}
	return 0xff;
}

static uint64_t asked_value(const struct gen_application_config *config,
			    const struct gen_rate *rate)
{
	return rate->part > 0 ? (uint64_t)(rate->part * (double)config->link_rate) : rate->value;
}

static struct vl_schedule_config schedule_of(const struct gen_application_config *config,
					     const struct gen_group *group, uint32_t count)
{
	const struct gen_config *gen = config->config;
	struct vl_schedule_config schedule = {
		.rate = asked_value(config, &group->asked),
		.ramp_from = asked_value(config, &group->asked_from),
		.ramp_time = group->ramp,
		.burst = (uint32_t)group->burst,
		.counts = (enum vl_rate_count)(group->shares_total ? gen->counts : group->counts),
		.framing = {.path_mtu = config->path_mtu,
			    .is_ipv6 = !vl_gid_is_ipv4(&gen->destination),
			    .has_vlan = config->has_vlan,
			    .is_datagram = group->transport == VL_SCENARIO_UD},
	};

	if (group->asked.is_messages)
		schedule.counts = VL_RATE_OF_MESSAGES;
	else if (group->asked.part > 0)
		schedule.counts = VL_RATE_OF_LINE;
	if (group->shares_total) {
		schedule.part = count;
		schedule.whole = gen->sharing_qps;
	} else if (group->per == VL_RATE_OF_GROUP) {
		schedule.part = count;
		schedule.whole = group->qps;
	}
	return schedule;
}

static uint64_t duration_of(const struct gen_config *config, const struct gen_group *group)
{
	uint64_t rest = config->duration > group->start ? config->duration - group->start : 0;

	if (!config->duration)
		return group->duration;
	return group->duration && group->duration < rest ? group->duration : rest;
}

/* As vl_host_priority. */
static uint8_t default_priority(const struct gen_application_config *config, uint8_t dscp)
{
	return config->has_vlan ? config->pcp : dscp >> 3;
}

static struct vl_generate_group_config group_config_of(const struct gen_application_config *config,
						       struct gen_share *share, uint8_t source)
{
	const struct gen_group *group = share->group;
	const struct gen_config *gen = config->config;
	uint8_t dscp = group->dscp == UINT64_MAX ? config->dscp : (uint8_t)group->dscp;
	struct vl_generate_group_config made = {
		.qp = {.transport = qp_types[group->transport],
		       .path_mtu = config->path_mtu,
		       .sgid_index = source,
		       .traffic_class = (uint8_t)(dscp << 2 | ecn_codepoints[group->ecn]),
		       .priority = group->priority == UINT64_MAX ? default_priority(config, dscp)
								 : (uint8_t)group->priority,
		       .timeout = (uint8_t)group->timeout,
		       .retry_count = (uint8_t)group->retries,
		       .rnr_retry = (uint8_t)group->rnr_retries,
		       .min_rnr_timer = MIN_RNR_TIMER,
		       .udp_source_port = (uint16_t)group->udp_source_port,
		       .cc = &group->cc.resolved},
		.qps = share->count,
		.depth = (uint32_t)group->depth,
		.first = share->first,
		.udp_source_ports = (uint16_t)group->udp_source_ports,
		.mix = group->messages_mix,
		.schedule = schedule_of(config, group, share->count),
		.scope = group->shares_total ? VL_RATE_OF_GROUP : (enum vl_rate_scope)group->per,
		.aligned = group->aligned,
		.messages = group->messages,
		.start = group->start,
		.stagger = group->stagger,
		.duration = duration_of(gen, group),
		.warm_up = gen->warm_up > group->start ? gen->warm_up - group->start : 0,
		.seed = config->seed + group->first_qp,
		.completion_times = &share->completion,
		.pacing_errors = &share->pacing,
	};

	/* The size of a datagram that nobody asked for: as much as there is room for. */
	if (group->transport == VL_SCENARIO_UD && !group->size && !group->mix &&
	    made.mix.entries[0].most > 128u << config->path_mtu)
		made.mix.entries[0].least = made.mix.entries[0].most = 128u << config->path_mtu;
	made.stamps = gen->peer == GEN_PEER_CONTROL;
	if (gen->peer == GEN_PEER_CM) {
		/* An echoing peer sends back what it got. */
		made.receive_depth = made.depth;
		made.receive_size = vl_mix_largest(&made.mix);
	}
	if (gen->peer == GEN_PEER_GIVEN) {
		made.qpn = config->given.local_qpn ? config->given.local_qpn + share->first : 0;
		made.psn = config->given.local_psn;
		made.psn_is_set = config->given.has_local_psn;
	}
	return made;
}

static int add_share(struct gen_application *application, const struct gen_group *group,
		     uint8_t source, uint64_t now)
{
	const struct gen_application_config *config = &application->config;
	uint64_t first = group->qps * config->worker / config->worker_count;
	uint64_t next = group->qps * (config->worker + 1) / config->worker_count;
	struct vl_generate_group_config made;
	struct gen_share *share;
	int status = 0;

	if (group->port != config->port || first == next)
		return 0;
	share = calloc(1, sizeof(*share));
	if (!share)
		return -ENOMEM;
	application->shares[application->share_count++] = share;
	share->group = group;
	share->first = (uint32_t)first;
	share->count = (uint32_t)(next - first);
	made = group_config_of(config, share, source);
	share->qps = vl_generator_add_group(application->generator, &made, now, &status);
	if (status) {
		const char *wrong = vl_generate_group_config_error(&made);

		gen_application_fail(application, "group %s: %s", group->name,
				     wrong ? wrong : strerror(-status));
	}
	return status;
}

static int open_client(struct gen_application *application, uint8_t source, uint64_t now)
{
	const struct gen_application_config *config = &application->config;
	struct vl_generate_group *groups[GEN_MAX_GROUPS];
	struct vl_control_stream streams[GEN_MAX_STREAMS];
	struct vl_control_client_config client = {
		.server = config->config->destination,
		.port = (uint16_t)config->config->peer_port,
		.sgid_index = source,
		.path_mtu = config->path_mtu,
		.traffic_class = (uint8_t)(config->dscp << 2 | VL_ECN_ECT0),
		.service_level = default_priority(config, config->dscp),
		.group_count = application->share_count,
		.groups = groups,
		.stream_count = gen_streams_for_peer(config->streams, streams),
		.streams = streams,
	};
	int status = 0;

	for (uint32_t i = 0; i < application->share_count; i++)
		groups[i] = application->shares[i]->qps;
	application->client = vl_control_client_open(config->endpoint->device, application->cm,
						     &client, now, &status);
	return status;
}

static int open_peers(struct gen_application *application, uint8_t source, uint64_t now)
{
	const struct vl_cm_config cm = {.seed = application->config.cm_seed,
					.worker = (uint8_t)application->config.worker,
					.max_connections =
						CM_SPARE + application->config.config->qp_count};
	int status = 0;

	if (application->config.config->peer == GEN_PEER_GIVEN)
		return 0;
	application->cm = vl_cm_open(application->config.endpoint->device, &cm, now, &status);
	if (status)
		return status;
	if (application->config.config->peer == GEN_PEER_CONTROL)
		return open_client(application, source, now);
	application->cm_peer = gen_cm_peer_open(application);
	return application->cm_peer ? 0 : -ENOMEM;
}

/* ---- Running ------------------------------------------------------------------------------- */

static void connect_given(struct gen_application *application, uint64_t now)
{
	const struct gen_given *given = &application->config.given;
	struct gen_share *share = application->shares[0];
	struct vl_queue_pair_address peer = {.gid = application->config.config->destination,
					     .psn = given->remote_psn,
					     .qkey = given->remote_qkey,
					     .address = given->remote_address,
					     .length = given->has_memory ? UINT64_MAX : 0,
					     .rkey = given->rkey};
	char text[VL_ADDRESS_TEXT];
	int status = 0;

	for (uint32_t i = 0; i < GIVEN_BATCH && application->given_connected < share->count; i++) {
		uint32_t n = application->given_connected;

		peer.qpn = given->remote_qpn + share->first + n;
		status = vl_generate_group_connect(share->qps, n, &peer, now);
		if (status == -EAGAIN)
			return;
		if (status) {
			gen_application_fail(application,
					     "queue pair %u cannot be connected to %s: %s%s",
					     share->first + n, vl_address_text(&peer.gid, text),
					     strerror(-status),
					     status == -EINVAL && !given->has_memory
						     ? "; WRITE, READ and atomics need "
						       "--remote-addr and --rkey"
						     : "");
			return;
		}
		application->given_connected++;
	}
	if (application->given_connected == share->count)
		application->state = GEN_READY;
}

static void look_at_client(struct gen_application *application)
{
	enum vl_control_client_state state = vl_control_client_state(application->client);

	if (state == VL_CONTROL_FAILED)
		gen_application_fail(application, "%s",
				     vl_control_client_error(application->client));
	else if (state == VL_CONTROL_READY && application->state == GEN_CONNECTING)
		application->state = GEN_READY;
	else if (state == VL_CONTROL_DONE && application->state == GEN_ENDING)
		application->state = GEN_DONE;
}

static void poll_application(void *context, struct vl_endpoint *endpoint, uint64_t now)
{
	struct gen_application *application = context;

	(void)endpoint;
	if (application->cm)
		vl_cm_poll(application->cm, now);
	if (application->client) {
		vl_control_client_poll(application->client, now);
		look_at_client(application);
	} else if (application->cm_peer) {
		gen_cm_peer_poll(application->cm_peer, now);
	} else if (application->state == GEN_CONNECTING) {
		connect_given(application, now);
	}
	vl_generator_poll(application->generator, now);
	gen_streams_poll(application->config.streams, now);
}

static uint64_t next_deadline(void *context)
{
	const struct gen_application *application = context;
	uint64_t deadline = vl_generator_next_deadline(application->generator), other;

	if (application->state == GEN_CONNECTING)
		return 0;
	other = gen_streams_next_deadline(application->config.streams);
	deadline = other < deadline ? other : deadline;
	if (application->cm) {
		other = vl_cm_next_deadline(application->cm);
		deadline = other < deadline ? other : deadline;
	}
	if (application->client) {
		other = vl_control_client_next_deadline(application->client);
		deadline = other < deadline ? other : deadline;
	}
	return deadline;
}

static bool has_streams_by_peer(const struct gen_application_config *config)
{
	struct vl_control_stream streams[GEN_MAX_STREAMS];

	return gen_streams_for_peer(config->streams, streams);
}

int gen_application_open(struct gen_application *application,
			 const struct gen_application_config *config, uint64_t now)
{
	const struct gen_group *groups = config->config->groups.elements;
	const struct vl_generator_config generator = {.largest_message =
							      config->config->largest_message};
	uint8_t source = find_source(config->endpoint->device, &config->config->destination);
	int status = 0;

	memset(application, 0, sizeof(*application));
	application->config = *config;
	if (source == 0xff && (config->config->groups.count || has_streams_by_peer(config))) {
		gen_application_fail(application, "no --ip of the port is of the family of %s",
				     config->config->to);
		return -EINVAL;
	}
	application->generator = vl_generator_create(config->endpoint->device, &generator, &status);
	for (uint32_t i = 0; !status && i < config->config->groups.count; i++)
		status = add_share(application, &groups[i], source, now);
	if (!status && !application->share_count && !has_streams_by_peer(config))
		application->state = config->streams->count ? GEN_READY : GEN_DONE;
	else if (!status)
		status = open_peers(application, source, now);
	if (status) {
		gen_application_fail(application, "queue pairs cannot be made: %s",
				     strerror(-status));
		return status;
	}
	if (application->share_count || config->streams->count)
		vl_endpoint_set_application(
			config->endpoint,
			&(struct vl_application){poll_application, next_deadline, application});
	return 0;
}

void gen_application_close(struct gen_application *application, uint64_t now)
{
	if (application->config.endpoint &&
	    application->config.endpoint->application.context == application)
		vl_endpoint_set_application(application->config.endpoint,
					    &(struct vl_application){0});
	vl_control_client_close(application->client, now);
	gen_cm_peer_close(application->cm_peer, now);
	vl_generator_destroy(application->generator);
	if (application->cm)
		vl_cm_close(application->cm);
	for (uint32_t i = 0; i < application->share_count; i++)
		free(application->shares[i]);
	memset(application, 0, sizeof(*application));
}

void gen_application_start(struct gen_application *application, uint64_t start)
{
	if (application->state != GEN_READY)
		return;
	application->state = GEN_RUNNING;
	for (uint32_t i = 0; i < application->share_count; i++)
		vl_generate_group_start(application->shares[i]->qps, start);
	gen_streams_start(application->config.streams, application->config.config, start);
}

void gen_application_stop(struct gen_application *application, uint64_t now)
{
	for (uint32_t i = 0; i < application->share_count; i++)
		vl_generate_group_stop(application->shares[i]->qps, now);
	gen_streams_stop(application->config.streams, now);
}

void gen_application_finish(struct gen_application *application, uint64_t now)
{
	if (application->state != GEN_RUNNING && application->state != GEN_READY)
		return;
	application->state = GEN_ENDING;
	gen_streams_stop(application->config.streams, now);
	if (application->client)
		vl_control_client_finish(application->client, now);
	else if (application->cm_peer)
		gen_cm_peer_finish(application->cm_peer, now);
	else
		application->state = GEN_DONE;
}

bool gen_application_is_active(const struct gen_application *application)
{
	return !vl_generator_is_finished(application->generator) ||
	       gen_streams_are_active(application->config.streams);
}

double gen_share_asked(const struct gen_share *share)
{
	const struct vl_generate_group_config *config = vl_generate_group_configuration(share->qps);
	const struct vl_schedule_config *schedule = &config->schedule;
	double rate = (double)schedule->rate;

	if (schedule->whole)
		rate = rate * (double)schedule->part / (double)schedule->whole;
	return config->scope == VL_RATE_OF_QP ? rate * config->qps : rate;
}
