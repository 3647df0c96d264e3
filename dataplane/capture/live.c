/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/capture/live.h"

#include "dataplane/capture/ring.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define DEFAULT_BUFFER (UINT64_C(16) << 20)

struct live_tap {
	struct vl_capture_ring *ring;
	uint32_t snap_length;
	uint16_t interface;
};

struct vl_live_capture {
	struct vl_capture_writer *writer;
	struct vl_capture_ring **rings; /* by worker */
	struct live_tap *taps;          /* by worker, then interface */
	uint32_t worker_count, interface_count;
	uint64_t epoch, from, count;
	uint64_t written;
	bool owns_writer;
};

static void see(void *context, enum vl_direction direction, const struct vl_frame *frame,
		uint64_t now, const char *comment)
{
	const struct live_tap *tap = context;
	const struct vl_capture_ring_record record = {
		.time = now,
		.frame = frame->data,
		.length = frame->length < tap->snap_length ? frame->length : tap->snap_length,
		.wire_length = frame->length,
		.interface = tap->interface,
		.direction = direction,
		.comment = comment,
	};

	vl_capture_ring_put(tap->ring, &record);
}

static void release(struct vl_live_capture *capture)
{
	for (uint32_t i = 0; capture->rings && i < capture->worker_count; i++)
		vl_capture_ring_destroy(capture->rings[i]);
	free(capture->rings);
	free(capture->taps);
	free(capture);
}

static int make_rings(struct vl_live_capture *capture, const struct vl_live_capture_config *config)
{
	uint32_t snap_length = config->snap_length;

	if (!snap_length || snap_length > VL_CAPTURE_MAX_PACKET - 32)
		snap_length = VL_CAPTURE_MAX_PACKET - 32;
	capture->rings = calloc(capture->worker_count, sizeof(struct vl_capture_ring *));
	capture->taps = calloc((size_t)capture->worker_count * VL_LIVE_CAPTURE_MAX_INTERFACES,
			       sizeof(*capture->taps));
	if (!capture->rings || !capture->taps)
		return -ENOMEM;
	for (uint32_t i = 0; i < capture->worker_count; i++) {
		struct live_tap *taps = capture->taps + i * VL_LIVE_CAPTURE_MAX_INTERFACES;

		capture->rings[i] = vl_capture_ring_create(config->buffer_size ? config->buffer_size
									       : DEFAULT_BUFFER);
		if (!capture->rings[i])
			return -ENOMEM;
		for (uint16_t j = 0; j < VL_LIVE_CAPTURE_MAX_INTERFACES; j++)
			taps[j] = (struct live_tap){capture->rings[i], snap_length, j};
	}
	return 0;
}

struct vl_live_capture *vl_live_capture_open(const struct vl_live_capture_config *config,
					     char *message)
{
	struct vl_live_capture *capture = calloc(1, sizeof(*capture));

	message[0] = '\0';
	if (capture) {
		capture->worker_count = config->worker_count;
		capture->epoch = config->epoch;
		capture->from = config->from;
		capture->count = config->count ? config->count : UINT64_MAX;
		capture->writer = config->writer;
		capture->owns_writer = !config->writer;
	}
	if (!capture || make_rings(capture, config)) {
		snprintf(message, VL_CAPTURE_MESSAGE_SIZE, "%s: no memory for the capture",
			 config->path ? config->path : "capture");
		if (capture)
			release(capture);
		return NULL;
	}
	if (capture->writer)
		return capture;
	capture->writer = vl_capture_writer_open(config->path,
						 vl_capture_format_of_path(config->path), message);
	if (!capture->writer) {
		release(capture);
		return NULL;
	}
	return capture;
}

int vl_live_capture_add_interface(struct vl_live_capture *capture, enum vl_link_type link,
				  const char *name, const char *description)
{
	int result;

	if (capture->interface_count == VL_LIVE_CAPTURE_MAX_INTERFACES)
		return -ENOSPC;
	result = vl_capture_writer_add_interface(capture->writer, link, name, description);
	if (result >= 0)
		capture->interface_count++;
	return result;
}

struct vl_frame_tap vl_live_capture_tap(struct vl_live_capture *capture, uint32_t worker,
					uint32_t interface)
{
	return (struct vl_frame_tap){
		.see = see,
		.context = &capture->taps[worker * VL_LIVE_CAPTURE_MAX_INTERFACES + interface],
	};
}

/* The ring whose next record is the oldest of all; NULL: none is older than before. */
static struct vl_capture_ring *oldest_ring(struct vl_live_capture *capture, uint64_t before,
					   struct vl_capture_ring_record *oldest)
{
	struct vl_capture_ring_record record;
	struct vl_capture_ring *ring = NULL;

	for (uint32_t i = 0; i < capture->worker_count; i++) {
		if (!vl_capture_ring_peek(capture->rings[i], &record) || record.time >= before ||
		    (ring && record.time >= oldest->time))
			continue;
		ring = capture->rings[i];
		*oldest = record;
	}
	return ring;
}

int vl_live_capture_drain(struct vl_live_capture *capture, uint64_t before)
{
	struct vl_capture_ring_record record = {0};
	struct vl_capture_ring *ring;
	int result = 0;

	while ((ring = oldest_ring(capture, before, &record))) {
		const struct vl_capture_record written = {
			.interface = record.interface,
			.time = capture->epoch + record.time,
			.frame = record.frame,
			.length = record.length,
			.wire_length = record.wire_length,
			.comment = record.comment,
			.flow = record.direction == VL_DIRECTION_RECEIVED ? VL_CAPTURE_INBOUND
									  : VL_CAPTURE_OUTBOUND,
		};

		if (record.time >= capture->from && capture->written < capture->count) {
			result = vl_capture_writer_write(capture->writer, &written);
			if (result)
				break;
			capture->written++;
		}
		vl_capture_ring_take(ring);
	}
	return result;
}

const char *vl_live_capture_message(const struct vl_live_capture *capture)
{
	return vl_capture_writer_message(capture->writer);
}

struct vl_live_capture_counters vl_live_capture_counters(const struct vl_live_capture *capture)
{
	struct vl_live_capture_counters counters = {.written = capture->written};

	for (uint32_t i = 0; i < capture->worker_count; i++)
		counters.dropped += vl_capture_ring_dropped(capture->rings[i]);
	return counters;
}

int vl_live_capture_close(struct vl_live_capture *capture, char *message)
{
	int result;

	if (!capture) {
		if (message)
			message[0] = '\0';
		return 0;
	}
	result = vl_live_capture_drain(capture, UINT64_MAX);
	if (capture->owns_writer)
		result = vl_capture_writer_close(capture->writer, message);
	else if (message)
		snprintf(message, VL_CAPTURE_MESSAGE_SIZE, "%s",
			 vl_capture_writer_message(capture->writer));
	release(capture);
	return result;
}
