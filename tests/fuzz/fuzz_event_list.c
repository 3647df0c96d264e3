/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Any bytes are an event list or a list of problems; and a list that was taken makes an engine that
 * takes any frames, of which the rest of the bytes, behind a zero, are some. */

#include "apps/fault/event_list.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
	if (!condition)
		abort();
}

static void see(void *context, enum vl_direction direction, const struct vl_frame *frame,
		uint64_t now, const char *comment)
{
	size_t *seen = context;

	(void)direction;
	(void)now;
	*seen += frame->length + (comment ? strlen(comment) : 0);
}

/* Two bytes of length and direction, then a frame. */
static void feed(const struct vl_event_list *list, const uint8_t *data, size_t size)
{
	size_t seen = 0;
	const struct vl_frame_tap tap = {see, &seen};
	const struct vl_fault_config config = {
		.seed = 1,
		.events = list->events,
		.event_count = list->event_count,
		.slow_receiver = {.rate = 100000000000, .xoff = 8000, .xon = 4000, .priorities = 8},
		.receives = {.rate = 100000, .burst = 2},
		.ack_coalescing = {.count = 3},
		.tap = &tap,
		.max_connections = 8,
		.max_held = 32,
		.frame_capacity = 1024,
	};
	struct vl_fault *fault = vl_fault_create(&config, NULL);
	struct vl_frame_filter filter;
	uint8_t bytes[1024], out[1024];
	uint64_t now = 1;

	require(fault != NULL);
	filter = vl_fault_filter(fault);
	while (size > 2) {
		struct vl_frame frame = {.data = bytes, .capacity = sizeof(bytes)};
		struct vl_frame sent = {.data = out, .capacity = sizeof(out)};
		bool received = data[0] & 0x80;

		frame.length = (uint32_t)(data[0] & 3) << 8 | data[1];
		if (frame.length > size - 2)
			frame.length = (uint32_t)(size - 2);
		memcpy(bytes, data + 2, frame.length);
		frame.source_qpn = received ? 0 : data[0] >> 2 & 31;
		data += 2 + frame.length;
		size -= 2 + frame.length;
		if (received)
			filter.receive(filter.context, &frame, now);
		else
			filter.transmit(filter.context, &frame, now);
		require(frame.length <= sizeof(bytes));
		while (filter.next_received(filter.context, now))
			;
		while (filter.next_transmitted(filter.context, &sent, now))
			require(sent.length <= sizeof(out));
		now += 500;
	}
	vl_fault_destroy(fault);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct vl_problems problems;
	const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
	size_t length = zero ? (size_t)(zero - data) : size;
	struct vl_event_list *list;
	FILE *out;

	problems.count = 0;
	problems.file = "fuzz.yaml";
	list = vl_event_list_parse((const char *)data, length, &problems);
	require((list != NULL) == (problems.count == 0));
	if (list) {
		require(list->event_count >= 1 && list->event_count <= VL_FAULT_MAX_EVENTS);
		for (uint32_t i = 0; i < list->event_count; i++)
			require(list->events[i].name && list->events[i].place);
		if (zero)
			feed(list, zero + 1, size - length - 1);
	} else {
		out = fopen("/dev/null", "w");
		if (out) {
			vl_problems_print(&problems, out);
			fclose(out);
		}
	}
	vl_event_list_free(list);
	return 0;
}
