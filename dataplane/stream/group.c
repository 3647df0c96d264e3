/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Streams that share a line: who is next, and whose an answer is. */

#include "dataplane/stream/schedule.h"
#include "transport/wire/opcode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* AETH syndrome, IBTA 9.7.5.2.1 table 42. */
#define SYNDROME_KIND(syndrome) ((syndrome) >> 5 & 3)
#define SYNDROME_ACK            0
#define SYNDROME_RNR_NAK        1
#define SYNDROME_NAK            3

struct vl_stream_group *vl_stream_group_create(void)
{
	return calloc(1, sizeof(struct vl_stream_group));
}

void vl_stream_group_destroy(struct vl_stream_group *group)
{
	if (!group)
		return;
	for (uint32_t i = 0; i < group->count; i++)
		vl_stream_destroy(group->streams[i]);
	free(group);
}

static bool shares_qpns(const struct vl_stream *a, const struct vl_stream *b)
{
	return a->kind == VL_STREAM_ROCE && b->kind == VL_STREAM_ROCE &&
	       a->local_qpn < b->local_qpn + b->flow_count &&
	       b->local_qpn < a->local_qpn + a->flow_count;
}

struct vl_stream *vl_stream_group_add(struct vl_stream_group *group,
				      const struct vl_stream_config *config, uint64_t now,
				      struct vl_error *error)
{
	struct vl_stream *stream;

	if (group->count == VL_STREAM_GROUP_SIZE) {
		vl_error_set(error, -ENOSPC, "stream %s: there are %u already, and no more allowed",
			     config->name ? config->name : "", VL_STREAM_GROUP_SIZE);
		return NULL;
	}
	stream = vl_stream_create(config, now, error);
	if (!stream)
		return NULL;
	for (uint32_t i = 0; i < group->count; i++) {
		if (shares_qpns(stream, group->streams[i])) {
			vl_error_set(error, -EEXIST,
				     "stream %s: local_qpn: stream %s has some of the same QPNs",
				     stream->name, group->streams[i]->name);
			vl_stream_destroy(stream);
			return NULL;
		}
	}
	group->streams[group->count++] = stream;
	return stream;
}

void vl_stream_group_remove(struct vl_stream_group *group, struct vl_stream *stream)
{
	for (uint32_t i = 0; i < group->count; i++) {
		if (group->streams[i] != stream)
			continue;
		memmove(group->streams + i, group->streams + i + 1,
			(group->count - i - 1) * sizeof(group->streams[0]));
		group->count--;
		group->next = 0;
		vl_stream_destroy(stream);
		return;
	}
}

uint32_t vl_stream_group_count(const struct vl_stream_group *group)
{
	return group->count;
}

struct vl_stream *vl_stream_group_at(const struct vl_stream_group *group, uint32_t index)
{
	return index < group->count ? group->streams[index] : NULL;
}

const char *vl_stream_name(const struct vl_stream *stream)
{
	return stream->name;
}

void vl_stream_set_context(struct vl_stream *stream, void *context)
{
	stream->context = context;
}

void *vl_stream_context(const struct vl_stream *stream)
{
	return stream->context;
}

const struct vl_stream_counters *vl_stream_counters(const struct vl_stream *stream)
{
	return &stream->counters;
}

uint32_t vl_stream_flow_count(const struct vl_stream *stream)
{
	return stream->flow_count;
}

struct vl_stream_flow_report vl_stream_flow_report(struct vl_stream *stream, uint32_t index,
						   uint64_t now)
{
	const struct vl_stream_flow *flow = &stream->flows[index];
	const struct vl_stream_feedback *feedback = &stream->feedback[index];
	struct vl_stream_flow_report report = {
		.local_qpn = stream->local_qpn + index,
		.remote_qpn = be32toh(flow->qpn_word),
		.next_psn = flow->psn,
		.udp_source_port = be16toh(flow->port_word),
		.frames_tx = flow->frames_tx,
		.message_tx = flow->message_tx,
		.data_bytes_tx = flow->data_bytes_tx,
		.ack_rx = feedback->ack_rx,
		.nak_rx = feedback->nak_rx,
		.rnr_nak_rx = feedback->rnr_nak_rx,
		.cnp_rx = feedback->cnp_rx,
		.cc = {.rate = UINT64_MAX, .target_rate = UINT64_MAX},
	};

	if (stream->cc)
		report.cc =
			stream->cc->algorithm->report(&stream->paces[index].state, stream->cc, now);
	return report;
}

bool vl_stream_is_done(const struct vl_stream *stream, uint64_t now)
{
	return stream->is_over || now >= stream->end;
}

const uint8_t *vl_stream_payload(const struct vl_stream *stream, uint32_t *length)
{
	*length = stream->payload_room;
	return stream->pattern;
}

/* ---- Out ------------------------------------------------------------------------------------- */

static bool is_paused(const struct vl_stream_group *group, const struct vl_stream *stream)
{
	return group->paused >> stream->priority & 1;
}

void vl_stream_group_set_paused(struct vl_stream_group *group, uint8_t priorities)
{
	group->paused = priorities;
}

uint64_t vl_stream_group_next_deadline(const struct vl_stream_group *group)
{
	uint64_t deadline = UINT64_MAX;

	for (uint32_t i = 0; i < group->count; i++) {
		uint64_t next;

		if (is_paused(group, group->streams[i]))
			continue;
		next = vl_stream_next_deadline(group->streams[i]);
		if (next < deadline)
			deadline = next;
	}
	return deadline;
}

struct vl_stream *vl_stream_group_next(struct vl_stream_group *group, uint64_t now)
{
	for (uint32_t i = 0; i < group->count; i++) {
		struct vl_stream *stream;

		if (group->next >= group->count)
			group->next = 0;
		stream = group->streams[group->next++];
		if (!is_paused(group, stream) && vl_stream_next_deadline(stream) <= now)
			return stream;
	}
	return NULL;
}

bool vl_stream_group_transmit(struct vl_stream_group *group, uint64_t now, struct vl_frame *frame)
{
	for (uint32_t i = 0; i < group->count; i++) {
		struct vl_stream *stream = vl_stream_group_next(group, now);
		struct vl_stream_slot slot;

		if (!stream)
			return false;
		slot.payload = stream->scratch + VL_STREAM_HEADROOM;
		slot.tail = stream->scratch_tail;
		if (!vl_stream_make(stream, now, &slot, 1))
			continue;
		stream->scratch_tail = slot.tail;
		if (slot.length > frame->capacity) {
			stream->counters.too_long_tx++;
			continue;
		}
		memcpy(frame->data, slot.data, slot.length);
		frame->length = slot.length;
		frame->priority = slot.priority;
		return true;
	}
	return false;
}

/* ---- In -------------------------------------------------------------------------------------- */

static void take(struct vl_stream *stream, uint32_t flow, const struct vl_packet *packet,
		 uint64_t now)
{
	struct vl_stream_feedback *feedback = &stream->feedback[flow];

	if (packet->info->flags & VL_OPCODE_NOTIFICATION) {
		stream->counters.cnp_rx++;
		feedback->cnp_rx++;
		vl_stream_take_notification(stream, flow, now);
	} else if (!(packet->info->flags & VL_OPCODE_AETH)) {
		stream->counters.other_rx++;
	} else if (SYNDROME_KIND(packet->syndrome) == SYNDROME_ACK) {
		stream->counters.ack_rx++;
		feedback->ack_rx++;
	} else if (SYNDROME_KIND(packet->syndrome) == SYNDROME_RNR_NAK) {
		stream->counters.rnr_nak_rx++;
		feedback->rnr_nak_rx++;
	} else if (SYNDROME_KIND(packet->syndrome) == SYNDROME_NAK) {
		stream->counters.nak_rx++;
		feedback->nak_rx++;
	} else {
		stream->counters.other_rx++;
	}
}

/* The stream that has a QPN, and the flow's place in it. */
static struct vl_stream *find(const struct vl_stream_group *group, uint32_t qpn, uint32_t *flow)
{
	for (uint32_t i = 0; i < group->count; i++) {
		struct vl_stream *stream = group->streams[i];

		*flow = qpn - stream->local_qpn;
		if (stream->kind == VL_STREAM_ROCE && *flow < stream->flow_count)
			return stream;
	}
	return NULL;
}

bool vl_stream_group_has(const struct vl_stream_group *group, uint32_t local_qpn)
{
	uint32_t flow;

	return find(group, local_qpn, &flow) != NULL;
}

bool vl_stream_group_receive(struct vl_stream_group *group, const struct vl_packet *packet,
			     uint64_t now)
{
	uint32_t flow;
	struct vl_stream *stream = find(group, packet->destination_qpn, &flow);

	if (!stream)
		return false;
	take(stream, flow, packet, now);
	return true;
}
