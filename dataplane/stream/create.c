/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Checking a stream's configuration and making the stream of it. */

#include "dataplane/stream/schedule.h"
#include "dataplane/stream/template.h"
#include "transport/psn.h"
#include "transport/random.h"
#include "transport/wire/cpu.h"
#include "transport/wire/headers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_FRAME   9600u
#define LEAST_FRAME  14u
#define MOST_MESSAGE (UINT32_C(1) << 31)

#define FAIL(stream, field, ...)                                                                   \
	vl_error_set(error, -EINVAL, "stream %s: " field, (stream)->name, ##__VA_ARGS__)

const struct vl_stream_size vl_stream_imix[3] = {{60, 7}, {590, 4}, {1514, 1}};

uint32_t vl_stream_size_range(uint32_t first, uint32_t last, uint32_t step,
			      struct vl_stream_size *sizes, uint32_t room)
{
	uint32_t count = 0;

	if (first > last || !step)
		return 0;
	for (uint64_t bytes = first; bytes <= last; bytes += step, count++) {
		if (count < room)
			sizes[count] = (struct vl_stream_size){(uint32_t)bytes, 1};
	}
	return count;
}

/* ---- Checks ---------------------------------------------------------------------------------- */

static bool is_roce_v2(const struct vl_path_attr *path)
{
	return path->encapsulation == VL_ENCAPSULATION_ROCEV2_IPV4 ||
	       path->encapsulation == VL_ENCAPSULATION_ROCEV2_IPV6;
}

static int check_roce(struct vl_stream *stream, const struct vl_stream_config *config,
		      struct vl_error *error)
{
	const struct vl_stream_roce *roce = &config->roce;
	bool is_write = roce->verb == IBV_WR_RDMA_WRITE || roce->verb == IBV_WR_RDMA_WRITE_WITH_IMM;
	bool is_send = roce->verb == IBV_WR_SEND || roce->verb == IBV_WR_SEND_WITH_IMM;

	if (roce->service != IBV_QPT_RC && roce->service != IBV_QPT_UC &&
	    roce->service != IBV_QPT_UD)
		return FAIL(stream, "service: must be RC, UC or UD");
	if (!is_send && !(is_write && roce->service != IBV_QPT_UD))
		return FAIL(stream, "verb: must be SEND%s, with or without immediate data",
			    roce->service == IBV_QPT_UD ? "" : " or RDMA WRITE");
	if (roce->path_mtu < 256 || roce->path_mtu > 4096 ||
	    (roce->path_mtu & (roce->path_mtu - 1)))
		return FAIL(stream, "path_mtu: %u bytes, must be 256, 512, 1024, 2048 or 4096",
			    roce->path_mtu);
	if (roce->local_qpn + (uint64_t)stream->flow_count > 0xffffff)
		return FAIL(stream, "local_qpn: %u and the flows' behind it do not fit in 24 bits",
			    roce->local_qpn);
	if (roce->ack_request_packets > UINT16_MAX)
		return FAIL(stream, "ack_request_packets: %u, must be at most %u",
			    roce->ack_request_packets, UINT16_MAX);
	if (!roce->remote_qpns &&
	    roce->remote_qpn + (uint64_t)(stream->flow_count - 1) * roce->remote_qpn_step >
		    0xffffff)
		return FAIL(stream, "remote_qpn: %u and the flows' behind it do not fit in 24 bits",
			    roce->remote_qpn);
	return 0;
}

static int check(struct vl_stream *stream, const struct vl_stream_config *config,
		 struct vl_error *error)
{
	uint32_t ports = config->source_port_count ? config->source_port_count : 1;

	if ((unsigned int)config->kind > VL_STREAM_RAW)
		return FAIL(stream, "kind: must be RoCE, UDP, TCP or raw");
	if (stream->flow_count > VL_STREAM_MAX_FLOWS)
		return FAIL(stream, "flow_count: %u, must be 1 to %u", stream->flow_count,
			    VL_STREAM_MAX_FLOWS);
	if (config->path.priority > 7)
		return FAIL(stream, "priority: %u, must be 0 to 7", config->path.priority);
	if (config->kind == VL_STREAM_RAW) {
		if (!config->raw || config->raw_length < LEAST_FRAME ||
		    config->raw_length > MOST_FRAME)
			return FAIL(stream, "raw: %u bytes, must be %u to %u", config->raw_length,
				    LEAST_FRAME, MOST_FRAME);
	} else if (!is_roce_v2(&config->path)) {
		return FAIL(stream, "path: the encapsulation must be RoCEv2 over IPv4 or IPv6");
	} else if (config->path.udp_source_port + (uint64_t)ports > 65536) {
		return FAIL(stream, "source_port_count: %u ports from %u on go beyond 65535", ports,
			    config->path.udp_source_port);
	}
	if (config->pattern && !config->pattern_length)
		return FAIL(stream, "pattern_length: a pattern has at least one byte");
	if (!config->size_count && config->kind != VL_STREAM_RAW)
		return FAIL(stream, "sizes: there is none");
	return config->kind == VL_STREAM_ROCE ? check_roce(stream, config, error) : 0;
}

static int check_size(struct vl_stream *stream, const struct vl_stream_config *config,
		      uint32_t header_length, uint32_t bytes, struct vl_error *error)
{
	if (config->kind == VL_STREAM_ROCE) {
		uint32_t most =
			config->roce.service == IBV_QPT_UD ? config->roce.path_mtu : MOST_MESSAGE;

		return bytes <= most ? 0
				     : FAIL(stream, "sizes: %u bytes, a message has at most %u",
					    bytes, most);
	}
	if (bytes < header_length || bytes > MOST_FRAME)
		return FAIL(stream, "sizes: %u bytes, a frame with these headers has %u to %u",
			    bytes, header_length, MOST_FRAME);
	return 0;
}

/* ---- Messages and their frames --------------------------------------------------------------- */

static int make_pattern(struct vl_stream *stream, const struct vl_stream_config *config,
			uint32_t payload_room, uint32_t header_length)
{
	uint32_t own = 0;

	/* Behind the longest payload, a tail is mended from the pattern too. */
	stream->payload_room = payload_room + VL_STREAM_TAILROOM;
	stream->pattern = malloc(stream->payload_room);
	stream->scratch = malloc(VL_STREAM_HEADROOM + stream->payload_room);
	if (!stream->pattern || !stream->scratch)
		return -ENOMEM;
	/* What of a raw frame does not count as its headers. */
	if (config->kind == VL_STREAM_RAW && config->raw_length > header_length) {
		own = config->raw_length - header_length;
		memcpy(stream->pattern, config->raw + header_length, own);
	}
	for (uint32_t i = own; i < stream->payload_room; i++)
		stream->pattern[i] = config->pattern
					     ? config->pattern[(i - own) % config->pattern_length]
					     : (uint8_t)(i - own);
	memcpy(stream->scratch + VL_STREAM_HEADROOM, stream->pattern, stream->payload_room);
	stream->scratch_tail = VL_STREAM_CLEAN;
	return 0;
}

static uint32_t header_length_of(const struct vl_stream_config *config, const struct vl_path *path)
{
	switch (config->kind) {
	case VL_STREAM_RAW:
		return config->raw_length < VL_STREAM_HEADROOM ? config->raw_length
							       : VL_STREAM_HEADROOM;
	case VL_STREAM_ROCE:
		return 0;
	default:
		return vl_stream_stateless_header_length(config->kind, path);
	}
}

struct maker {
	struct vl_stream *stream;
	const struct vl_stream_config *config;
	const struct vl_path *path;
	struct vl_stream_template *templates;
	uint32_t header_length;
	bool has_middle;
};

static uint32_t add_roce(struct maker *maker, bool first, bool last, uint32_t payload,
			 uint32_t message)
{
	struct vl_stream_part part = {first, last, payload, message};
	uint32_t index = maker->stream->template_count++;

	vl_stream_template_roce(&maker->templates[index], &maker->config->roce, maker->path,
				maker->stream->pattern, &part);
	return index;
}

static struct vl_stream_message make_message(struct maker *maker, uint32_t bytes)
{
	uint32_t mtu = maker->config->roce.path_mtu;
	struct vl_stream_message message = {.length = bytes, .packet_count = 1};

	if (maker->config->kind != VL_STREAM_ROCE) {
		struct vl_stream_template *template;

		message.first = message.last = maker->stream->template_count++;
		template = &maker->templates[message.first];
		if (maker->config->kind == VL_STREAM_RAW)
			vl_stream_template_raw(template, maker->config->raw, maker->header_length,
					       bytes);
		else
			vl_stream_template_stateless(template, maker->config->kind, maker->path,
						     maker->config->destination_port,
						     maker->stream->pattern, bytes);
		return message;
	}
	if (bytes <= mtu) {
		message.first = message.last = add_roce(maker, true, true, bytes, bytes);
		return message;
	}
	message.packet_count = (uint32_t)(((uint64_t)bytes + mtu - 1) / mtu);
	message.first = add_roce(maker, true, false, mtu, bytes);
	message.last =
		add_roce(maker, false, true, bytes - (message.packet_count - 1) * mtu, bytes);
	if (message.packet_count > 2 && !maker->has_middle) {
		maker->has_middle = true;
		maker->stream->middle = add_roce(maker, false, false, mtu, bytes);
	}
	return message;
}

static void shuffle(uint32_t *cycle, uint32_t length, uint64_t seed)
{
	struct vl_random random = {seed};

	for (uint32_t i = length; i > 1; i--) {
		uint32_t other = (uint32_t)vl_random_below(&random, i);
		uint32_t kept = cycle[i - 1];

		cycle[i - 1] = cycle[other];
		cycle[other] = kept;
	}
}

static int make_messages(struct vl_stream *stream, const struct vl_stream_config *config,
			 const struct vl_path *path, struct vl_error *error)
{
	struct vl_stream_size whole = {config->raw_length, 1};
	const struct vl_stream_size *sizes = config->size_count ? config->sizes : &whole;
	uint32_t count = config->size_count ? config->size_count : 1, at = 0, most = 0;
	struct maker maker = {.stream = stream, .config = config, .path = path};
	struct vl_stream_message *messages;
	uint64_t weight = 0;
	uint32_t *cycle;

	maker.header_length = header_length_of(config, path);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t least =
			config->kind == VL_STREAM_RAW ? config->raw_length : maker.header_length;
		int result = check_size(stream, config, least, sizes[i].bytes, error);

		if (result)
			return result;
		if (!sizes[i].weight)
			return FAIL(stream, "sizes: the weight of %u bytes is 0", sizes[i].bytes);
		weight += sizes[i].weight;
		most = sizes[i].bytes > most ? sizes[i].bytes : most;
	}
	if (count > VL_STREAM_MAX_SIZES || weight > VL_STREAM_MAX_SIZES)
		return FAIL(stream, "sizes: their weights are more than %u in all",
			    VL_STREAM_MAX_SIZES);
	if (config->kind == VL_STREAM_ROCE && most > config->roce.path_mtu)
		most = config->roce.path_mtu;
	stream->cycle_length = (uint32_t)weight;
	stream->cycle = cycle = calloc(stream->cycle_length, sizeof(*cycle));
	stream->messages = messages = calloc(count, sizeof(*messages));
	stream->templates = maker.templates = aligned_alloc(
		VL_STREAM_CACHE_LINE, (2 * (size_t)count + 1) * sizeof(*maker.templates));
	if (!cycle || !messages || !maker.templates ||
	    make_pattern(stream, config, most, maker.header_length))
		return vl_error_set(error, -ENOMEM, "stream %s: no memory", stream->name);
	memset(maker.templates, 0, (2 * (size_t)count + 1) * sizeof(*maker.templates));
	for (uint32_t i = 0; i < count; i++) {
		messages[i] = make_message(&maker, sizes[i].bytes);
		for (uint32_t n = 0; n < sizes[i].weight; n++)
			cycle[at++] = i;
	}
	if (!config->sizes_in_order)
		shuffle(cycle, stream->cycle_length, config->seed);
	return 0;
}

/* ---- Flows ----------------------------------------------------------------------------------- */

static void make_flow(struct vl_stream *stream, const struct vl_stream_config *config, uint32_t i)
{
	const struct vl_stream_roce *roce = &config->roce;
	uint32_t ports = config->source_port_count ? config->source_port_count : 1;
	uint32_t qpn = roce->remote_qpns ? roce->remote_qpns[i]
					 : roce->remote_qpn + i * roce->remote_qpn_step;
	uint32_t psn =
		roce->first_psns ? roce->first_psns[i] : roce->first_psn + i * roce->first_psn_step;
	struct vl_stream_flow *flow = &stream->flows[i];

	flow->port_word = htobe16((uint16_t)(config->path.udp_source_port + i % ports));
	if (config->kind != VL_STREAM_ROCE)
		return;
	flow->psn = psn & VL_PSN_MASK;
	flow->qpn_word = htobe32(qpn & 0xffffff);
	flow->rkey_word = htobe32(roce->rkeys ? roce->rkeys[i] : roce->rkey);
	flow->address = vl_stream_first_address(stream, i);
	flow->crc = vl_stream_flow_crc(flow->port_word, flow->qpn_word);
}

void vl_stream_set_peer(struct vl_stream *stream, uint32_t flow, uint32_t remote_qpn,
			uint64_t remote_address, uint32_t rkey)
{
	struct vl_stream_flow *made = &stream->flows[flow];

	stream->first_address = remote_address;
	made->qpn_word = htobe32(remote_qpn & 0xffffff);
	made->rkey_word = htobe32(rkey);
	made->address = vl_stream_first_address(stream, flow);
	made->crc = vl_stream_flow_crc(made->port_word, made->qpn_word);
}

static int make_flows(struct vl_stream *stream, const struct vl_stream_config *config,
		      struct vl_error *error)
{
	const struct vl_stream_roce *roce = &config->roce;
	size_t size = stream->flow_count * sizeof(*stream->flows);

	stream->local_qpn = roce->local_qpn;
	stream->first_address = roce->remote_address;
	stream->address_step = roce->address_step;
	stream->region_length = config->kind == VL_STREAM_ROCE ? roce->region_length : 0;
	if (roce->service == IBV_QPT_RC) {
		stream->ack_request_packets = roce->ack_request_packets;
		stream->ack_request_messages = roce->ack_request_messages;
	}
	if (config->kind == VL_STREAM_ROCE && roce->remote_addresses) {
		uint64_t *copy = malloc(stream->flow_count * sizeof(*copy));

		if (copy)
			memcpy(copy, roce->remote_addresses, stream->flow_count * sizeof(*copy));
		stream->first_addresses = copy;
	}
	stream->flows = aligned_alloc(VL_STREAM_CACHE_LINE, size);
	stream->feedback = calloc(stream->flow_count, sizeof(*stream->feedback));
	if (!stream->flows || !stream->feedback ||
	    (roce->remote_addresses && config->kind == VL_STREAM_ROCE && !stream->first_addresses))
		return vl_error_set(error, -ENOMEM, "stream %s: no memory for %u flows",
				    stream->name, stream->flow_count);
	memset(stream->flows, 0, size);
	for (uint32_t i = 0; i < stream->flow_count; i++)
		make_flow(stream, config, i);
	return 0;
}

/* ---- The stream ------------------------------------------------------------------------------ */

struct vl_stream *vl_stream_create(const struct vl_stream_config *config, uint64_t now,
				   struct vl_error *error)
{
	struct vl_stream *stream = calloc(1, sizeof(*stream));
	struct vl_path path = {0};

	if (!stream) {
		vl_error_set(error, -ENOMEM, "stream: no memory");
		return NULL;
	}
	snprintf(stream->name, sizeof(stream->name), "%s", config->name ? config->name : "");
	stream->kind = config->kind;
	stream->flow_count = config->flow_count ? config->flow_count : 1;
	stream->priority = config->path.priority;
	stream->frames_left = config->frame_limit ? config->frame_limit : UINT64_MAX;
	stream->messages_left = config->message_limit ? config->message_limit : UINT64_MAX;
	stream->has_carry_less = vl_cpu_has(VL_CPU_CARRY_LESS_MULTIPLY);
	if (check(stream, config, error))
		goto fail;
	if (config->kind != VL_STREAM_RAW && vl_path_init(&path, &config->path)) {
		FAIL(stream, "path: the addresses do not fit the encapsulation, or the VLAN, the "
			     "priority or the flow label is too large");
		goto fail;
	}
	if (make_messages(stream, config, &path, error) || make_flows(stream, config, error) ||
	    vl_stream_schedule_init(stream, config, now, error))
		goto fail;
	return stream;
fail:
	vl_stream_destroy(stream);
	return NULL;
}

void vl_stream_destroy(struct vl_stream *stream)
{
	if (!stream)
		return;
	free((void *)stream->templates);
	free((void *)stream->messages);
	free((void *)stream->cycle);
	free((void *)stream->first_addresses);
	free(stream->flows);
	free(stream->feedback);
	free(stream->wheel);
	free(stream->paces);
	free(stream->pattern);
	free(stream->scratch);
	free(stream);
}
