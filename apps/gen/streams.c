/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/gen/streams.h"

#include "apps/gen/report.h"
#include "dataplane/runtime/host.h"
#include "transport/wire/gid.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RESOLVE_TIME      UINT64_C(2000000000)
#define RESOLVE_INTERVAL  10000000
#define DEFAULT_LINK_RATE UINT64_C(100000000000)
/* QPNs of open-loop flows, above those that devices give out. */
#define FIRST_FLOW_QPN ((1u << (VL_HOST_QPN_SHIFT - 1)))
/* Preamble 8, gap 12, FCS 4. */
#define LINE_BYTES 24u
/* That partners of open-loop SENDs keep posted, as nothing is sent again. */
#define PARTNER_RECEIVES 512u

static const enum vl_stream_kind kinds[] = {VL_STREAM_UDP, VL_STREAM_TCP, VL_STREAM_ROCE};
static const enum ibv_qp_type services[] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD};
static const uint8_t ecn_codepoints[] = {
	[GEN_ECN_ECT0] = VL_ECN_ECT0,
	[GEN_ECN_ECT1] = VL_ECN_ECT1,
	[GEN_ECN_NOT_ECT] = VL_ECN_NOT_ECT,
};

/* ---- Neighbours ---------------------------------------------------------------------------- */

struct question {
	struct vl_endpoint *endpoint;
	struct gen_stream_config *config;
	int status;
};

static void ask(void *context, uint64_t now)
{
	struct question *question = context;

	question->status = vl_ip_resolve(question->endpoint->ip, &question->config->destination,
					 question->config->destination_mac, now);
}

static int resolve_all(struct vl_host_session *session, const struct gen_config *config)
{
	struct gen_stream_config *streams = config->streams.elements;
	uint64_t end = vl_host_now(session->host) + RESOLVE_TIME;
	const struct timespec interval = {0, RESOLVE_INTERVAL};
	struct question question;

	for (unsigned int i = 0; i < config->streams.count; i++) {
		if (streams[i].has_mac)
			continue;
		question = (struct question){
			.endpoint = vl_host_endpoint(session->host, (uint32_t)streams[i].port, 0),
			.config = &streams[i]};
		for (;;) {
			if (!vl_host_session_call(session, 0, ask, &question))
				return VL_EXIT_FAILED;
			if (question.status != -EAGAIN || vl_host_now(session->host) > end)
				break;
			nanosleep(&interval, NULL);
		}
		if (!question.status)
			continue;
		vl_command_error(session->command,
				 "stream %s: no neighbour leads to its destination (%s); is it up? "
				 "'mac: ADDRESS' sends without asking",
				 streams[i].name, strerror(-question.status));
		return VL_EXIT_FAILED;
	}
	return VL_EXIT_OK;
}

int gen_streams_resolve(struct vl_host_session *session, const struct gen_config *config)
{
	const struct gen_stream_config *streams = config->streams.elements;
	bool must_ask = false;
	struct vl_error error;
	int status;

	for (unsigned int i = 0; i < config->streams.count; i++)
		must_ask = must_ask || !streams[i].has_mac;
	if (!must_ask)
		return VL_EXIT_OK;
	if (vl_host_start(session->host, &error)) {
		vl_command_error(session->command, "%s", error.text);
		return VL_EXIT_FAILED;
	}
	status = resolve_all(session, config);
	vl_host_stop(session->host);
	return status;
}

/* ---- Set-up -------------------------------------------------------------------------------- */

static void fill_rate(struct vl_stream_config *made, struct gen_stream *stream,
		      const struct gen_stream_config *config)
{
	if (config->asked.part > 0)
		stream->asked = config->asked.part * (double)made->line_rate;
	else
		stream->asked = (double)config->asked.value;
	if (!config->asked.is_messages)
		made->bits_per_second = (uint64_t)stream->asked;
	else if (made->kind == VL_STREAM_ROCE)
		made->messages_per_second = stream->asked;
	else
		made->frames_per_second = stream->asked;
}

static int fill_path(struct vl_path_attr *path, const struct gen_stream_config *config,
		     const struct vl_endpoint *endpoint, const struct vl_host_options *options)
{
	union ibv_gid gid;
	uint8_t dscp = config->dscp == UINT64_MAX ? 0 : (uint8_t)config->dscp;
	bool found = false;

	*path = (struct vl_path_attr){
		.encapsulation = vl_gid_is_ipv4(&config->destination)
					 ? VL_ENCAPSULATION_ROCEV2_IPV4
					 : VL_ENCAPSULATION_ROCEV2_IPV6,
		.vlan_present = options->vlan != VL_HOST_UNSET,
		.vlan_id = options->vlan != VL_HOST_UNSET ? (uint16_t)options->vlan : 0,
		.priority = config->priority == UINT64_MAX ? vl_host_priority(options, dscp)
							   : (uint8_t)config->priority,
		.destination_gid = config->destination,
		.traffic_class = (uint8_t)(dscp << 2 | ecn_codepoints[config->ecn]),
		.udp_source_port = (uint16_t)config->source_port,
	};
	memcpy(path->source_mac, endpoint->mac, 6);
	memcpy(path->destination_mac, config->destination_mac, 6);
	for (uint32_t i = 0; !found && !vl_query_gid(endpoint->device, 1, i, &gid); i++) {
		found = vl_gid_is_ipv4(&gid) == vl_gid_is_ipv4(&config->destination);
		path->source_gid = gid;
	}
	return found ? 0 : -EAFNOSUPPORT;
}

static int add_stream(struct gen_streams *streams, struct vl_host_session *session,
		      const struct gen_stream_config *config, const struct vl_host_options *options,
		      uint32_t worker, uint32_t number, struct vl_error *error)
{
	uint32_t port = (uint32_t)config->port;
	struct vl_endpoint *endpoint = vl_host_endpoint(session->host, port, worker);
	struct gen_stream *stream = &streams->streams[streams->count];
	uint64_t link_rate = vl_host_port(session->host, port)->link_rate;
	bool is_write = config->verb == GEN_STREAM_WRITE;
	struct vl_stream_config made = {
		.name = config->name,
		.kind = kinds[config->kind],
		.source_port_count = (uint32_t)config->source_ports,
		.flow_count = (uint32_t)config->flows,
		.destination_port = (uint16_t)config->destination_port,
		.sizes = config->sizes,
		.size_count = config->size_count,
		.sizes_in_order = config->in_order,
		.seed = options->seed + number,
		.burst = (uint32_t)config->burst,
		.frame_limit = config->frames,
		.line_rate = link_rate ? link_rate : DEFAULT_LINK_RATE,
		.cc = &config->cc.resolved,
		.pacing_error = &stream->pacing,
	};

	if (made.kind == VL_STREAM_ROCE)
		made.roce = (struct vl_stream_roce){
			.service = services[config->transport],
			.verb = is_write ? IBV_WR_RDMA_WRITE : IBV_WR_SEND,
			.path_mtu = 128u << vl_host_path_mtu(session->host, port),
			.local_qpn = (worker << VL_HOST_QPN_SHIFT) + FIRST_FLOW_QPN + number * 1024,
			.remote_qpn = (uint32_t)config->remote_qpn,
			.remote_qpn_step = 1,
			.first_psn = (uint32_t)config->remote_psn,
			.qkey = 0x11111111,
			.remote_address = config->remote_address,
			.rkey = (uint32_t)config->rkey,
			.ack_request_messages = services[config->transport] == IBV_QPT_RC,
		};
	else
		made.cc = NULL;
	if (fill_path(&made.path, config, endpoint, options))
		return vl_error_set(error, -EAFNOSUPPORT,
				    "stream %s: no --ip of the port is of the family of its "
				    "destination",
				    config->name);
	fill_rate(&made, stream, config);
	stream->config = config;
	stream->local_qpn = made.roce.local_qpn;
	stream->traffic_class = made.path.traffic_class;
	stream->priority = made.path.priority;
	stream->stream = vl_stream_group_add(streams->group, &made, 0, error);
	if (!stream->stream)
		return -EINVAL;
	vl_stream_set_stopped(stream->stream, true, 0);
	streams->count++;
	return 0;
}

int gen_streams_open(struct gen_streams *streams, struct vl_host_session *session,
		     const struct gen_config *config, const struct vl_host_options *options,
		     uint32_t port, uint32_t worker)
{
	const struct gen_stream_config *all = config->streams.elements;
	struct vl_error error;
	int status = 0;

	*streams = (struct gen_streams){0};
	for (unsigned int i = 0; !status && i < config->streams.count; i++) {
		if (all[i].port != port || i % session->worker_count != worker)
			continue;
		if (!streams->group) {
			streams->group = vl_stream_group_create();
			streams->streams = calloc(config->streams.count, sizeof(*streams->streams));
			if (!streams->group || !streams->streams)
				status = vl_error_set(&error, -ENOMEM, "streams: no memory");
		}
		if (!status)
			status = add_stream(streams, session, &all[i], options, worker, i, &error);
	}
	if (!status && streams->count)
		status =
			vl_host_set_streams(session->host, port, worker, streams->group, 0, &error);
	if (!status)
		return VL_EXIT_OK;
	vl_command_error(session->command, "%s", error.text);
	return VL_EXIT_FAILED;
}

void gen_streams_close(struct gen_streams *streams)
{
	vl_stream_group_destroy(streams->group);
	free(streams->streams);
	*streams = (struct gen_streams){0};
}

/* ---- The peer -------------------------------------------------------------------------------- */

static void take_partners(void *context, uint32_t first, const struct vl_control_opened *opened)
{
	struct gen_stream *stream = context;

	for (uint32_t i = 0; i < opened->count; i++)
		vl_stream_set_peer(stream->stream, first + i, opened->qps[i].qpn, opened->address,
				   opened->rkey);
}

uint32_t gen_streams_for_peer(const struct gen_streams *streams, struct vl_control_stream *wanted)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < streams->count; i++) {
		struct gen_stream *stream = &streams->streams[i];
		const struct gen_stream_config *config = stream->config;
		uint32_t largest = 1;

		if (!config->by_peer)
			continue;
		for (uint32_t n = 0; n < config->size_count; n++) {
			if (config->sizes[n].bytes > largest)
				largest = config->sizes[n].bytes;
		}
		wanted[count++] = (struct vl_control_stream){
			.transport = services[config->transport],
			.traffic_class = stream->traffic_class,
			.priority = stream->priority,
			.count = (uint32_t)config->flows,
			.local_qpn = stream->local_qpn,
			.psn = (uint32_t)config->remote_psn,
			.receive_depth = config->verb == GEN_STREAM_SEND ? PARTNER_RECEIVES : 0,
			.largest_message = largest,
			.opened = take_partners,
			.context = stream,
		};
	}
	return count;
}

/* ---- Running ------------------------------------------------------------------------------- */

void gen_streams_start(struct gen_streams *streams, const struct gen_config *config, uint64_t start)
{
	for (uint32_t i = 0; i < streams->count; i++) {
		struct gen_stream *stream = &streams->streams[i];
		uint64_t end = config->duration ? start + config->duration : UINT64_MAX;

		stream->start = start + stream->config->start;
		stream->stop =
			stream->config->duration ? stream->start + stream->config->duration : end;
		if (stream->stop > end)
			stream->stop = end;
	}
	streams->is_started = true;
}

static void hold(struct gen_stream *stream, uint64_t now)
{
	vl_stream_set_stopped(stream->stream, true, now);
	stream->is_running = false;
	stream->ended = now;
}

void gen_streams_poll(struct gen_streams *streams, uint64_t now)
{
	for (uint32_t i = 0; streams->is_started && i < streams->count; i++) {
		struct gen_stream *stream = &streams->streams[i];

		if (stream->ended || now < stream->start)
			continue;
		if (!stream->is_running) {
			vl_stream_set_stopped(stream->stream, false, stream->start);
			stream->is_running = true;
		}
		if (now >= stream->stop || vl_stream_is_done(stream->stream, now))
			hold(stream, now);
	}
}

uint64_t gen_streams_next_deadline(const struct gen_streams *streams)
{
	uint64_t deadline = UINT64_MAX, next;

	for (uint32_t i = 0; streams->is_started && i < streams->count; i++) {
		const struct gen_stream *stream = &streams->streams[i];

		next = stream->ended        ? UINT64_MAX
		       : stream->is_running ? stream->stop
					    : stream->start;
		if (next < deadline)
			deadline = next;
	}
	return deadline;
}

void gen_streams_stop(struct gen_streams *streams, uint64_t now)
{
	for (uint32_t i = 0; i < streams->count; i++) {
		if (!streams->streams[i].ended)
			hold(&streams->streams[i], now);
	}
}

bool gen_streams_are_active(const struct gen_streams *streams)
{
	for (uint32_t i = 0; i < streams->count; i++) {
		/* One without an end lasts as long as the others. */
		if (!streams->streams[i].ended &&
		    (streams->streams[i].stop != UINT64_MAX || streams->streams[i].config->frames))
			return true;
	}
	return false;
}

/* ---- What became of them ------------------------------------------------------------------- */

static double seconds_of(const struct gen_stream *stream)
{
	uint64_t end = stream->ended < stream->stop ? stream->ended : stream->stop;

	return end > stream->start ? (double)(end - stream->start) * 1e-9 : 0;
}

double gen_stream_line_rate(const struct gen_stream *stream)
{
	const struct vl_stream_counters *counters = vl_stream_counters(stream->stream);
	double seconds = seconds_of(stream);

	return seconds > 0 ? (double)(counters->bytes_tx + LINE_BYTES * counters->frames_tx) *
				     8e-9 / seconds
			   : 0;
}

double gen_stream_sent(const struct gen_stream *stream)
{
	const struct vl_stream_counters *counters = vl_stream_counters(stream->stream);
	double seconds = seconds_of(stream);

	if (!stream->config->asked.is_messages)
		return gen_stream_line_rate(stream) * 1e9;
	return seconds > 0 ? (double)counters->message_tx / seconds : 0;
}

double gen_stream_granularity(const struct gen_stream *stream)
{
	const struct vl_stream_counters *counters = vl_stream_counters(stream->stream);
	double burst = (double)(stream->config->burst ? stream->config->burst : 1);
	double seconds = seconds_of(stream);

	if (!(seconds > 0) || !counters->frames_tx)
		return 0;
	if (stream->config->asked.is_messages)
		return (stream->config->kind == GEN_STREAM_ROCE ? 1 : burst) / seconds;
	return burst * 8 * ((double)counters->bytes_tx / (double)counters->frames_tx + LINE_BYTES) /
	       seconds;
}

void gen_streams_print(const struct gen_streams *streams, bool heading, FILE *out)
{
	if (heading)
		fprintf(out, "\n  %-16s %6s %14s %12s %14s %12s %9s %9s\n", "stream", "flows",
			"frames", "line Gb/s", "asked", "off %", "ACKs", "CNPs");
	for (uint32_t i = 0; i < streams->count; i++) {
		const struct gen_stream *stream = &streams->streams[i];
		const struct vl_stream_counters *counters = vl_stream_counters(stream->stream);
		bool is_messages = stream->config->asked.is_messages;
		char asked[24] = "all that goes", off[16] = "";

		if (stream->asked > 0) {
			snprintf(asked, sizeof(asked), "%.6g %s",
				 is_messages ? stream->asked : stream->asked / 1e9,
				 is_messages ? "1/s" : "Gb/s");
			snprintf(off, sizeof(off), "%.4f",
				 100 * (gen_stream_sent(stream) / stream->asked - 1));
		}
		fprintf(out,
			"  %-16s %6" PRIu64 " %14" PRIu64 " %12.*f %14s %12s %9" PRIu64 " %9" PRIu64
			"\n",
			stream->config->name, stream->config->flows, counters->frames_tx,
			gen_rate_decimals(gen_stream_line_rate(stream) * 1e9),
			gen_stream_line_rate(stream), asked, off, counters->ack_rx,
			counters->cnp_rx);
	}
}

void gen_streams_json(const struct gen_streams *streams, json_t *list)
{
	for (uint32_t i = 0; i < streams->count; i++) {
		const struct gen_stream *stream = &streams->streams[i];
		const struct vl_stream_counters *counters = vl_stream_counters(stream->stream);
		json_t *object = json_object();

		json_object_set_new(object, "name", json_string(stream->config->name));
		json_object_set_new(object, "seconds", json_real(seconds_of(stream)));
		json_object_set_new(object, "line_bps",
				    json_real(gen_stream_line_rate(stream) * 1e9));
		if (stream->asked > 0) {
			json_object_set_new(object, "asked_per_s", json_real(stream->asked));
			json_object_set_new(object, "sent_per_s",
					    json_real(gen_stream_sent(stream)));
		}
#define PUT_COUNTER(name, unit, meaning)                                                           \
	json_object_set_new(object, #name, json_integer((json_int_t)counters->name));
		VL_STREAM_COUNTERS(PUT_COUNTER)
#undef PUT_COUNTER
		json_array_append_new(list, object);
	}
}
