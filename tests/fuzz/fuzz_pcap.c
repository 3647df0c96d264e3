/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Any bytes are a capture, or say why they are none. Every packet that is delivered is read to its
 * last byte and parsed; its place in the file must agree with what was delivered before.
 */

#include "dataplane/capture/reader.h"
#include "transport/wire/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
	if (!condition)
		abort();
}

static volatile uint8_t sink;

static void read_bytes(const uint8_t *bytes, uint32_t length)
{
	uint8_t sum = 0;

	for (uint32_t i = 0; i < length; i++)
		sum ^= bytes[i];
	sink = sum;
}

static void read_capture(const char *path, size_t size)
{
	char message[VL_CAPTURE_MESSAGE_SIZE];
	struct vl_capture_reader *reader = vl_capture_reader_open(path, message);
	struct vl_capture_packet packet;
	uint64_t count = 0, offset = 0;
	enum vl_capture_status status;

	if (!reader) {
		require(message[0]);
		return;
	}
	while ((status = vl_capture_reader_next(reader, &packet)) == VL_CAPTURE_PACKET) {
		struct vl_packet parsed;

		require(packet.number == ++count);
		require(packet.offset > offset && packet.offset < size);
		require(packet.captured_length <= packet.original_length);
		require(packet.captured_length <= VL_CAPTURE_MAX_PACKET);
		offset = packet.offset;
		read_bytes(packet.data, packet.captured_length);
		if (packet.frame.kind != VL_CAPTURE_FRAME_parseable)
			continue;
		require(packet.frame.length <= packet.frame.wire_length);
		require(packet.frame.data >= packet.data &&
			packet.frame.data + packet.frame.length <=
				packet.data + packet.captured_length);
		vl_parse(&parsed, packet.frame.link, packet.frame.data, packet.frame.length,
			 packet.frame.wire_length);
	}
	require((status == VL_CAPTURE_DAMAGED) == !!vl_capture_reader_message(reader)[0]);
	if (status == VL_CAPTURE_END)
		require(vl_capture_reader_position(reader) == size);
	else
		require(vl_capture_reader_damaged_packet(reader) == count + 1);
	vl_capture_reader_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int descriptor = memfd_create("capture", 0);
	char path[64];

	require(descriptor >= 0 && write(descriptor, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", descriptor);
	read_capture(path, size);
	close(descriptor);
	return 0;
}
