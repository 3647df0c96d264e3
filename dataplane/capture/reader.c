/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/capture/reader.h"

#include "dataplane/capture/reader_private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define PCAP_MICROSECONDS UINT32_C(0xa1b2c3d4)
#define PCAP_NANOSECONDS  UINT32_C(0xa1b23c4d)
#define PCAP_MODIFIED     UINT32_C(0xa1b2cd34)

#define PCAP_FILE_HEADER_LENGTH   24
#define PCAP_RECORD_HEADER_LENGTH 16
/* The upper half of the field holds the length of frame check sequences. */
#define PCAP_LINK_TYPE_MASK 0xffff

enum vl_capture_status vl_reader_damaged(struct vl_capture_reader *reader, const char *format, ...)
{
	va_list arguments;
	int used;

	reader->status = VL_CAPTURE_DAMAGED;
	reader->damaged_offset = reader->stream.position;
	used = snprintf(reader->message, sizeof(reader->message),
			"packet %" PRIu64 ", at byte %" PRIu64 ": ", reader->packet_count + 1,
			reader->damaged_offset);
	va_start(arguments, format);
	vsnprintf(reader->message + used, sizeof(reader->message) - (size_t)used, format,
		  arguments);
	va_end(arguments);
	if (reader->stream.error)
		snprintf(reader->message + used, sizeof(reader->message) - (size_t)used,
			 "reading failed: %s", strerror(reader->stream.error));
	return VL_CAPTURE_DAMAGED;
}

void vl_reader_fill_packet(struct vl_capture_reader *reader, struct vl_capture_packet *packet,
			   const uint8_t *data, uint32_t captured_length, uint32_t original_length)
{
	/* Some writers leave the original length 0. */
	if (original_length < captured_length)
		original_length = captured_length;
	packet->number = ++reader->packet_count;
	packet->offset = reader->stream.position;
	packet->data = data;
	packet->comment = NULL;
	packet->comment_length = 0;
	packet->captured_length = captured_length;
	packet->original_length = original_length;
	packet->frame =
		vl_capture_frame_of(packet->link_type, data, captured_length, original_length);
}

static enum vl_capture_status next_pcap(struct vl_capture_reader *reader,
					struct vl_capture_packet *packet)
{
	size_t available = vl_stream_fill(&reader->stream, PCAP_RECORD_HEADER_LENGTH);
	uint32_t seconds, fraction, captured_length, original_length;
	const uint8_t *record;

	if (available < PCAP_RECORD_HEADER_LENGTH) {
		if (available || reader->stream.error)
			return vl_reader_damaged(reader,
						 "the file ends after %zu of the %d bytes of the "
						 "record's header",
						 available, PCAP_RECORD_HEADER_LENGTH);
		return reader->status = VL_CAPTURE_END;
	}
	record = vl_stream_data(&reader->stream);
	seconds = vl_reader_load32(reader, record);
	fraction = vl_reader_load32(reader, record + 4);
	captured_length = vl_reader_load32(reader, record + 8);
	original_length = vl_reader_load32(reader, record + 12);
	if (captured_length > VL_CAPTURE_MAX_PACKET)
		return vl_reader_damaged(reader,
					 "the record claims %" PRIu32 " bytes of packet, more "
					 "than the %" PRIu32 " that can be",
					 captured_length, VL_CAPTURE_MAX_PACKET);
	available = vl_stream_fill(&reader->stream, PCAP_RECORD_HEADER_LENGTH + captured_length);
	if (available < PCAP_RECORD_HEADER_LENGTH + captured_length)
		return vl_reader_damaged(
			reader, "the file ends after %zu of the packet's %" PRIu32 " bytes",
			available - PCAP_RECORD_HEADER_LENGTH, captured_length);
	record = vl_stream_data(&reader->stream);
	packet->time = seconds * UINT64_C(1000000000) +
		       fraction * (reader->nanoseconds ? UINT64_C(1) : UINT64_C(1000));
	packet->interface = 0;
	packet->link_type = reader->link_type;
	vl_reader_fill_packet(reader, packet, record + PCAP_RECORD_HEADER_LENGTH, captured_length,
			      original_length);
	vl_stream_advance(&reader->stream, PCAP_RECORD_HEADER_LENGTH + captured_length);
	return VL_CAPTURE_PACKET;
}

static int open_pcap(struct vl_capture_reader *reader, uint32_t magic, char *message)
{
	size_t available = vl_stream_fill(&reader->stream, PCAP_FILE_HEADER_LENGTH);
	const uint8_t *header = vl_stream_data(&reader->stream);
	uint16_t major, minor;

	if (available < PCAP_FILE_HEADER_LENGTH) {
		snprintf(message, VL_CAPTURE_MESSAGE_SIZE,
			 "the file ends after %zu of the %d bytes of its pcap header", available,
			 PCAP_FILE_HEADER_LENGTH);
		return -EINVAL;
	}
	reader->nanoseconds = magic == PCAP_NANOSECONDS;
	major = vl_reader_load16(reader, header + 4);
	minor = vl_reader_load16(reader, header + 6);
	/* Before 2.4 the lengths in a record stood in other orders. */
	if (major != 2 || minor != 4) {
		snprintf(message, VL_CAPTURE_MESSAGE_SIZE,
			 "pcap version %u.%u is not supported, only 2.4", major, minor);
		return -EINVAL;
	}
	reader->link_type = vl_reader_load32(reader, header + 20) & PCAP_LINK_TYPE_MASK;
	vl_stream_advance(&reader->stream, PCAP_FILE_HEADER_LENGTH);
	return 0;
}

/* What a file is that is no capture, for those that people hand in most. */
static const char *recognize_other(const uint8_t *bytes, size_t length)
{
	static const struct {
		const char *magic;
		size_t length;
		const char *meaning;
	} formats[] = {
		{"\x1f\x8b", 2,
		 "compressed with gzip: unpack it first, or pipe it: gunzip -c FILE | verbline ... "
		 "-"},
		{"\x28\xb5\x2f\xfd", 4,
		 "compressed with zstd: unpack it first, or pipe it: zstd -dc FILE | verbline ... "
		 "-"},
		{"\xfd"
		 "7zXZ",
		 5,
		 "compressed with xz: unpack it first, or pipe it: xz -dc FILE | verbline ... -"},
		{"BZh", 3,
		 "compressed with bzip2: unpack it first, or pipe it: bzip2 -dc FILE | verbline "
		 "... -"},
		{"\x04\x22\x4d\x18", 4,
		 "compressed with lz4: unpack it first, or pipe it: lz4 -dc FILE | verbline ... -"},
		{"PK\x03\x04", 4, "a zip archive: unpack it first"},
		{"snoop\0\0\0", 8, "a snoop capture: convert it with editcap -F pcapng"},
		{"RTSS", 4,
		 "a Microsoft Network Monitor capture: convert it with editcap -F pcapng"},
		{"GMBU", 4,
		 "a Microsoft Network Monitor capture: convert it with editcap -F pcapng"},
		{"\xa1\xb2\xcd\x34", 4, "a modified pcap: convert it with editcap -F pcapng"},
		{"\x34\xcd\xb2\xa1", 4, "a modified pcap: convert it with editcap -F pcapng"},
	};

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		if (length >= formats[i].length &&
		    !memcmp(bytes, formats[i].magic, formats[i].length))
			return formats[i].meaning;
	}
	return "not a capture: neither pcap nor pcapng";
}

static int open_format(struct vl_capture_reader *reader, char *message)
{
	size_t available = vl_stream_fill(&reader->stream, 8);
	const uint8_t *bytes = vl_stream_data(&reader->stream);
	uint32_t magic = 0;

	if (reader->stream.error) {
		snprintf(message, VL_CAPTURE_MESSAGE_SIZE, "%s", strerror(reader->stream.error));
		return -reader->stream.error;
	}
	if (!available) {
		snprintf(message, VL_CAPTURE_MESSAGE_SIZE, "the file is empty");
		return -EINVAL;
	}
	if (available >= sizeof(magic))
		memcpy(&magic, bytes, sizeof(magic));
	if (magic == VL_PCAPNG_SECTION_HEADER) {
		reader->is_pcapng = true;
		if (vl_pcapng_read_section(reader) == VL_CAPTURE_PACKET)
			return 0;
		/* There was no packet yet that the message could be about. */
		snprintf(message, VL_CAPTURE_MESSAGE_SIZE, "%s", strstr(reader->message, ": ") + 2);
		return -EINVAL;
	}
	if (magic == PCAP_MICROSECONDS || magic == PCAP_NANOSECONDS)
		return open_pcap(reader, magic, message);
	magic = __builtin_bswap32(magic);
	if (magic == PCAP_MICROSECONDS || magic == PCAP_NANOSECONDS) {
		reader->swapped = true;
		return open_pcap(reader, magic, message);
	}
	snprintf(message, VL_CAPTURE_MESSAGE_SIZE, "%s", recognize_other(bytes, available));
	return -EINVAL;
}

struct vl_capture_reader *vl_capture_reader_open(const char *path, char *message)
{
	struct vl_capture_reader *reader = calloc(1, sizeof(*reader));
	int error;

	message[0] = 0;
	if (!reader) {
		snprintf(message, VL_CAPTURE_MESSAGE_SIZE, "%s", strerror(ENOMEM));
		return NULL;
	}
	error = vl_stream_open(&reader->stream, path);
	if (error) {
		snprintf(message, VL_CAPTURE_MESSAGE_SIZE, "%s", strerror(-error));
		free(reader);
		return NULL;
	}
	if (open_format(reader, message)) {
		vl_capture_reader_close(reader);
		return NULL;
	}
	return reader;
}

enum vl_capture_status vl_capture_reader_next(struct vl_capture_reader *reader,
					      struct vl_capture_packet *packet)
{
	if (reader->status != VL_CAPTURE_PACKET)
		return reader->status;
	return reader->is_pcapng ? vl_pcapng_next(reader, packet) : next_pcap(reader, packet);
}

const char *vl_capture_reader_message(const struct vl_capture_reader *reader)
{
	return reader->message;
}

uint64_t vl_capture_reader_damaged_packet(const struct vl_capture_reader *reader)
{
	return reader->packet_count + 1;
}

uint64_t vl_capture_reader_damaged_offset(const struct vl_capture_reader *reader)
{
	return reader->damaged_offset;
}

const char *vl_capture_reader_format(const struct vl_capture_reader *reader)
{
	if (reader->is_pcapng)
		return "pcapng";
	return reader->nanoseconds ? "pcap with nanoseconds" : "pcap";
}

uint64_t vl_capture_reader_position(const struct vl_capture_reader *reader)
{
	return reader->stream.position;
}

void vl_capture_reader_close(struct vl_capture_reader *reader)
{
	if (!reader)
		return;
	vl_stream_close(&reader->stream);
	free(reader->interfaces);
	free(reader);
}
