/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* The client's partners: it asks for those of each group and stream in turn, and connects them. */

#include "apps/control/client_private.h"

#include <errno.h>
#include <string.h>

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
	vl_control_client_ask(client, VL_CLIENT_STEP_OPEN, now);
}

void vl_control_client_open_next(struct vl_control_client *client, uint64_t now)
{
	const struct vl_generate_group_config *config;
	struct vl_control_open *open = &client->message.open;
	struct vl_generate_group *group;
	struct vl_queue_pair_address local;

	if (client->group == client->config.group_count + client->config.stream_count) {
		client->step = VL_CLIENT_STEP_READY;
		client->deadline = now + VL_CLIENT_KEEP_ALIVE;
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
	vl_control_client_ask(client, VL_CLIENT_STEP_OPEN, now);
}

void vl_control_client_connect_qps(struct vl_control_client *client, uint64_t now)
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
			client->step = VL_CLIENT_STEP_CONNECT_QPS;
			return;
		}
		if (status) {
			vl_control_client_fail(client, "queue pair %u cannot be connected: %s",
					       client->first + client->connected,
					       strerror(-status));
			return;
		}
	}
	client->first += client->count;
	if (client->first == vl_generate_group_configuration(group)->qps) {
		client->first = 0;
		client->group++;
	}
	vl_control_client_open_next(client, now);
}

void vl_control_client_take_opened(struct vl_control_client *client, uint64_t now)
{
	const struct vl_control_opened *opened = &client->message.opened;
	const struct vl_control_stream *stream;

	client->connected = 0;
	if (opened->count != client->count) {
		vl_control_client_fail(client, "the peer made %u queue pairs in place of %u",
				       opened->count, client->count);
		return;
	}
	if (client->group < client->config.group_count) {
		vl_control_client_connect_qps(client, now);
		return;
	}
	stream = &client->streams[client->group - client->config.group_count];
	stream->opened(stream->context, client->first, opened);
	client->first += client->count;
	if (client->first == stream->count) {
		client->first = 0;
		client->group++;
	}
	vl_control_client_open_next(client, now);
}
