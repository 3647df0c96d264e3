/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/replay/recording.h"

#include "dataplane/capture/reader.h"
#include "transport/wire/gid.h"
#include "transport/wire/icrc.h"
#include "transport/wire/parse.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *recorded_address(const union ibv_gid *gid, char text[REPLAY_ADDRESS_LENGTH])
{
	bool is_ipv4 = vl_gid_is_ipv4(gid);

	inet_ntop(is_ipv4 ? AF_INET : AF_INET6, is_ipv4 ? gid->raw + VL_GID_IPV4_OFFSET : gid->raw,
		  text, REPLAY_ADDRESS_LENGTH);
	return text;
}

static bool is_replayable(const struct vl_packet *packet)
{
	switch (packet->encapsulation) {
	case VL_ENCAPSULATION_ROCEV2_IPV4:
	case VL_ENCAPSULATION_ROCEV2_IPV6:
	case VL_ENCAPSULATION_ROCEV1:
		break;
	default:
		return false;
	}
	switch (vl_opcode_service(packet->opcode)) {
	case VL_SERVICE_RC:
	case VL_SERVICE_UC:
	case VL_SERVICE_UD:
		return (packet->info->flags & (VL_OPCODE_REQUEST | VL_OPCODE_RESPONSE)) != 0;
	default:
		return false;
	}
}

/* Takes a copy of a packet that can be replayed, and counts every other. False: out of memory. */
static bool take(struct recording *recording, const struct vl_capture_packet *captured,
		 uint32_t *room)
{
	const struct vl_capture_frame *frame = &captured->frame;
	struct recorded_packet *recorded;
	enum vl_parse_result result;
	struct vl_packet packet;

	if (frame->kind != VL_CAPTURE_FRAME_parseable) {
		recording->not_rdma++;
		return true;
	}
	result = vl_parse(&packet, frame->link, frame->data, frame->length, frame->wire_length);
	if (result != VL_PARSE_ok || !is_replayable(&packet)) {
		if (result == VL_PARSE_ok || result == VL_PARSE_captured_short ||
		    result == VL_PARSE_opcode_reserved)
			recording->not_replayed++;
		else
			recording->not_rdma++;
		return true;
	}
	if (!vl_icrc_is_right(&packet)) {
		recording->icrc_wrong++;
		return true;
	}
	if (recording->packet_count == *room) {
		uint32_t more = *room ? *room * 2 : 256;
		void *grown = realloc(recording->packets, more * sizeof(*recording->packets));

		if (!grown)
			return false;
		recording->packets = grown;
		*room = more;
	}
	recorded = &recording->packets[recording->packet_count];
	*recorded = (struct recorded_packet){.number = captured->number,
					     .time = captured->time,
					     .bytes = malloc(frame->length),
					     .length = frame->length};
	if (!recorded->bytes)
		return false;
	recording->packet_count++;
	memcpy(recorded->bytes, frame->data, frame->length);
	vl_parse(&recorded->packet, frame->link, recorded->bytes, frame->length, frame->length);
	return true;
}

/* Times from the first packet on, never running backward: captures from several queues do. */
static void normalise_times(struct recording *recording)
{
	uint64_t first = recording->packet_count ? recording->packets[0].time : 0, latest = 0;

	for (uint32_t i = 0; i < recording->packet_count; i++) {
		uint64_t time = recording->packets[i].time;

		time = time > first ? time - first : 0;
		if (time < latest)
			time = latest;
		recording->packets[i].time = latest = time;
	}
}

struct recording *recording_load(const char *path, char message[REPLAY_MESSAGE])
{
	struct vl_capture_reader *reader = vl_capture_reader_open(path, message);
	struct recording *recording;
	struct vl_capture_packet captured;
	enum vl_capture_status status = VL_CAPTURE_END;
	uint32_t room = 0;
	uint64_t bytes = 0;
	bool fits = true;

	if (!reader)
		return NULL;
	recording = calloc(1, sizeof(*recording));
	while (recording && fits &&
	       (status = vl_capture_reader_next(reader, &captured)) == VL_CAPTURE_PACKET) {
		recording->total++;
		bytes += captured.captured_length;
		fits = bytes <= REPLAY_MAX_BYTES && take(recording, &captured, &room);
	}
	if (recording && fits && status == VL_CAPTURE_DAMAGED) {
		recording->damaged = true;
		snprintf(recording->message, sizeof(recording->message), "%s",
			 vl_capture_reader_message(reader));
	}
	vl_capture_reader_close(reader);
	if (recording && fits) {
		recording->path = path;
		normalise_times(recording);
		fits = recording_sort(recording) && recording_collect_writes(recording);
	}
	if (recording && fits)
		return recording;
	snprintf(message, REPLAY_MESSAGE,
		 bytes > REPLAY_MAX_BYTES
			 ? "more than 4 GiB of packets: replay holds them in memory, cut the "
			   "capture with editcap first"
			 : "out of memory");
	recording_free(recording);
	return NULL;
}

void recording_free(struct recording *recording)
{
	if (!recording)
		return;
	for (uint32_t i = 0; i < recording->packet_count; i++)
		free(recording->packets[i].bytes);
	for (uint32_t i = 0; i < recording->conversation_count; i++) {
		free(recording->conversations[i].requests.items);
		free(recording->conversations[i].responses.items);
	}
	free(recording->conversations);
	free(recording->writes);
	free(recording->packets);
	free(recording);
}
