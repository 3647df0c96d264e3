/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * pcapng: a chain of blocks, each with its type, its length before and after its body, and the
 * byte order of its section. Blocks of unknown types are passed over.
 */

#include "dataplane/capture/reader_private.h"

#include <inttypes.h>
#include <stdlib.h>

#define BYTE_ORDER_MAGIC UINT32_C(0x1a2b3c4d)

enum block_type {
	BLOCK_INTERFACE_DESCRIPTION = 1,
	BLOCK_PACKET = 2, /* obsolete, but met */
	BLOCK_SIMPLE_PACKET = 3,
	BLOCK_ENHANCED_PACKET = 6,
};

enum option_code {
	OPTION_END = 0,
	OPTION_COMMENT = 1,
	OPTION_TIMESTAMP_RESOLUTION = 9,
	OPTION_TIMESTAMP_OFFSET = 14,
};

/* Type and two lengths. */
#define BLOCK_MIN_LENGTH         12
#define BLOCK_BODY_OFFSET        8
#define SECTION_MIN_LENGTH       28
#define INTERFACE_MIN_LENGTH     20
#define SIMPLE_PACKET_MIN_LENGTH 16
#define PACKET_MIN_LENGTH        32
#define PACKET_DATA_OFFSET       28
#define OPTION_HEADER_LENGTH     4
#define SIMPLE_DATA_OFFSET       12
/* Longest block that is looked into: the longest packet and ample room for options. */
#define BLOCK_MAX_LENGTH (UINT32_C(16) << 20)
/* Interfaces of a section; bounds the memory that a file can make us take. */
#define MAX_INTERFACES 65536

static enum vl_capture_status ends_early(struct vl_capture_reader *reader, size_t available,
					 uint32_t wanted)
{
	return vl_reader_damaged(reader, "the file ends after %zu of the block's %" PRIu32 " bytes",
				 available, wanted);
}

/* Brings the block that the stream stands at into the buffer; total_length says how long. */
static enum vl_capture_status load_block(struct vl_capture_reader *reader, const char *name,
					 uint32_t total_length, uint32_t min_length,
					 const uint8_t **block)
{
	uint32_t trailing_length;
	size_t available;

	if (total_length < min_length || total_length % 4 || total_length > BLOCK_MAX_LENGTH)
		return vl_reader_damaged(reader,
					 "a length of %" PRIu32 " is impossible for %s (%" PRIu32
					 " to %" PRIu32 ", a multiple of 4)",
					 total_length, name, min_length, BLOCK_MAX_LENGTH);
	available = vl_stream_fill(&reader->stream, total_length);
	if (available < total_length)
		return ends_early(reader, available, total_length);
	*block = vl_stream_data(&reader->stream);
	trailing_length = vl_reader_load32(reader, *block + total_length - 4);
	if (trailing_length != total_length)
		return vl_reader_damaged(
			reader, "the lengths before and after %s differ: %" PRIu32 " and %" PRIu32,
			name, total_length, trailing_length);
	return VL_CAPTURE_PACKET;
}

enum vl_capture_status vl_pcapng_read_section(struct vl_capture_reader *reader)
{
	size_t available = vl_stream_fill(&reader->stream, BLOCK_MIN_LENGTH);
	const uint8_t *block = vl_stream_data(&reader->stream);
	enum vl_capture_status status;
	uint32_t magic, total_length;
	uint16_t major;

	if (available < BLOCK_MIN_LENGTH)
		return ends_early(reader, available, SECTION_MIN_LENGTH);
	memcpy(&magic, block + BLOCK_BODY_OFFSET, sizeof(magic));
	if (magic != BYTE_ORDER_MAGIC && magic != __builtin_bswap32(BYTE_ORDER_MAGIC))
		return vl_reader_damaged(
			reader, "the section header's byte order mark is 0x%08" PRIx32, magic);
	reader->swapped = magic != BYTE_ORDER_MAGIC;
	total_length = vl_reader_load32(reader, block + 4);
	status = load_block(reader, "a section header", total_length, SECTION_MIN_LENGTH, &block);
	if (status != VL_CAPTURE_PACKET)
		return status;
	major = vl_reader_load16(reader, block + 12);
	if (major != 1)
		return vl_reader_damaged(reader, "pcapng version %u is not supported, only 1",
					 major);
	reader->interface_count = 0;
	vl_stream_advance(&reader->stream, total_length);
	return VL_CAPTURE_PACKET;
}

/* False: no such resolution. */
static bool set_resolution(struct vl_pcapng_interface *interface, uint8_t resolution)
{
	unsigned int exponent = resolution & 0x7f;

	interface->multiplier = interface->divisor = 1;
	interface->shift = 0;
	if (resolution & 0x80) {
		interface->shift = (uint8_t)exponent;
		if (!exponent)
			interface->multiplier = UINT64_C(1000000000);
		return exponent < 64;
	}
	if (exponent > 9 + 19)
		return false;
	for (; exponent < 9; exponent++)
		interface->multiplier *= 10;
	for (; exponent > 9; exponent--)
		interface->divisor *= 10;
	return true;
}

static enum vl_capture_status read_interface_options(struct vl_capture_reader *reader,
						     struct vl_pcapng_interface *interface,
						     const uint8_t *option, const uint8_t *end)
{
	while (end - option >= 4) {
		uint16_t code = vl_reader_load16(reader, option);
		uint16_t length = vl_reader_load16(reader, option + 2);
		uint32_t padded = (length + UINT32_C(3)) & ~UINT32_C(3);

		option += 4;
		if (code == OPTION_END)
			break;
		if (padded > (size_t)(end - option))
			return vl_reader_damaged(reader,
						 "option %u of an interface description is longer "
						 "than the block",
						 code);
		if (code == OPTION_TIMESTAMP_RESOLUTION && length >= 1 &&
		    !set_resolution(interface, *option))
			return vl_reader_damaged(reader,
						 "the timestamp resolution 0x%02x is finer than "
						 "any clock's",
						 *option);
		if (code == OPTION_TIMESTAMP_OFFSET && length >= 8)
			interface->offset = (int64_t)vl_reader_load64(reader, option);
		option += padded;
	}
	return VL_CAPTURE_PACKET;
}

static enum vl_capture_status read_interface(struct vl_capture_reader *reader,
					     uint32_t total_length)
{
	struct vl_pcapng_interface interface = {.divisor = 1};
	enum vl_capture_status status;
	const uint8_t *block;

	status = load_block(reader, "an interface description", total_length, INTERFACE_MIN_LENGTH,
			    &block);
	if (status != VL_CAPTURE_PACKET)
		return status;
	set_resolution(&interface, 6);
	interface.link_type = vl_reader_load16(reader, block + 8);
	interface.snap_length = vl_reader_load32(reader, block + 12);
	status = read_interface_options(reader, &interface, block + 16, block + total_length - 4);
	if (status != VL_CAPTURE_PACKET)
		return status;
	if (reader->interface_count == reader->interface_capacity) {
		uint32_t capacity = reader->interface_capacity ? 2 * reader->interface_capacity : 8;
		struct vl_pcapng_interface *interfaces;

		if (reader->interface_count >= MAX_INTERFACES)
			return vl_reader_damaged(reader, "more than %d interfaces in a section",
						 MAX_INTERFACES);
		interfaces = realloc(reader->interfaces, capacity * sizeof(*interfaces));
		if (!interfaces)
			return vl_reader_damaged(reader, "out of memory");
		reader->interfaces = interfaces;
		reader->interface_capacity = capacity;
	}
	reader->interfaces[reader->interface_count++] = interface;
	vl_stream_advance(&reader->stream, total_length);
	return VL_CAPTURE_PACKET;
}

static uint64_t nanoseconds_of(const struct vl_pcapng_interface *interface, uint64_t timestamp)
{
	uint64_t time;

	if (interface->shift) {
		unsigned __int128 scaled = (unsigned __int128)timestamp * 1000000000u;

		scaled >>= interface->shift;
		time = scaled > UINT64_MAX ? UINT64_MAX : (uint64_t)scaled;
	} else if (interface->divisor > 1) {
		time = timestamp / interface->divisor;
	} else if (__builtin_mul_overflow(timestamp, interface->multiplier, &time)) {
		time = UINT64_MAX;
	}
	if (interface->offset) {
		__int128 moved = (__int128)interface->offset * 1000000000 + time;

		time = moved < 0 ? 0 : moved > UINT64_MAX ? UINT64_MAX : (uint64_t)moved;
	}
	return time;
}

static const struct vl_pcapng_interface *find_interface(struct vl_capture_reader *reader,
							uint32_t index)
{
	if (index < reader->interface_count)
		return &reader->interfaces[index];
	vl_reader_damaged(reader,
			  "the packet names interface %" PRIu32
			  ", but the section describes %" PRIu32,
			  index, reader->interface_count);
	return NULL;
}

/* Options are a packet's trimmings: what of them is impossible ends them, and is no damage. */
static void find_comment(const struct vl_capture_reader *reader, const uint8_t *options,
			 uint32_t length, struct vl_capture_packet *packet)
{
	while (length >= OPTION_HEADER_LENGTH) {
		uint16_t code = vl_reader_load16(reader, options);
		uint32_t size = vl_reader_load16(reader, options + 2);

		length -= OPTION_HEADER_LENGTH;
		options += OPTION_HEADER_LENGTH;
		if (code == OPTION_END || size > length)
			return;
		if (code == OPTION_COMMENT) {
			packet->comment = (const char *)options;
			packet->comment_length = size;
			return;
		}
		size = (size + 3) & ~3u;
		if (size > length)
			return;
		options += size;
		length -= size;
	}
}

static enum vl_capture_status read_packet(struct vl_capture_reader *reader, uint32_t block_type,
					  uint32_t total_length, struct vl_capture_packet *packet)
{
	const struct vl_pcapng_interface *interface;
	uint32_t captured_length, original_length, padded_length;
	enum vl_capture_status status;
	const uint8_t *block;

	status = load_block(reader, "a packet", total_length, PACKET_MIN_LENGTH, &block);
	if (status != VL_CAPTURE_PACKET)
		return status;
	packet->interface = block_type == BLOCK_PACKET ? vl_reader_load16(reader, block + 8)
						       : vl_reader_load32(reader, block + 8);
	interface = find_interface(reader, packet->interface);
	if (!interface)
		return VL_CAPTURE_DAMAGED;
	captured_length = vl_reader_load32(reader, block + 20);
	original_length = vl_reader_load32(reader, block + 24);
	if (captured_length > total_length - PACKET_MIN_LENGTH ||
	    captured_length > VL_CAPTURE_MAX_PACKET)
		return vl_reader_damaged(reader,
					 "the block claims %" PRIu32 " bytes of packet, more than "
					 "fit a block of %" PRIu32 " or the %" PRIu32
					 " that can be",
					 captured_length, total_length, VL_CAPTURE_MAX_PACKET);
	packet->time =
		nanoseconds_of(interface, (uint64_t)vl_reader_load32(reader, block + 12) << 32 |
						  vl_reader_load32(reader, block + 16));
	packet->link_type = interface->link_type;
	vl_reader_fill_packet(reader, packet, block + PACKET_DATA_OFFSET, captured_length,
			      original_length);
	padded_length = (captured_length + 3) & ~3u;
	if (padded_length <= total_length - PACKET_MIN_LENGTH)
		find_comment(reader, block + PACKET_DATA_OFFSET + padded_length,
			     total_length - PACKET_MIN_LENGTH - padded_length, packet);
	vl_stream_advance(&reader->stream, total_length);
	return VL_CAPTURE_PACKET;
}

/* A simple packet has no captured length: what fits the block, up to the snapshot length. */
static enum vl_capture_status read_simple_packet(struct vl_capture_reader *reader,
						 uint32_t total_length,
						 struct vl_capture_packet *packet)
{
	const struct vl_pcapng_interface *interface;
	uint32_t captured_length, original_length;
	enum vl_capture_status status;
	const uint8_t *block;

	status = load_block(reader, "a simple packet", total_length, SIMPLE_PACKET_MIN_LENGTH,
			    &block);
	if (status != VL_CAPTURE_PACKET)
		return status;
	interface = find_interface(reader, 0);
	if (!interface)
		return VL_CAPTURE_DAMAGED;
	original_length = vl_reader_load32(reader, block + 8);
	captured_length = total_length - SIMPLE_PACKET_MIN_LENGTH;
	if (captured_length > original_length)
		captured_length = original_length;
	if (interface->snap_length && captured_length > interface->snap_length)
		captured_length = interface->snap_length;
	if (captured_length > VL_CAPTURE_MAX_PACKET)
		return vl_reader_damaged(reader,
					 "the block holds %" PRIu32 " bytes of packet, more than "
					 "the %" PRIu32 " that can be",
					 captured_length, VL_CAPTURE_MAX_PACKET);
	packet->interface = 0;
	packet->time = 0;
	packet->link_type = interface->link_type;
	vl_reader_fill_packet(reader, packet, block + SIMPLE_DATA_OFFSET, captured_length,
			      original_length);
	vl_stream_advance(&reader->stream, total_length);
	return VL_CAPTURE_PACKET;
}

/* Unknown blocks may be of any length, so they do not pass through the buffer as a whole. */
static enum vl_capture_status skip_block(struct vl_capture_reader *reader, uint32_t block_type,
					 uint32_t total_length)
{
	uint64_t start = reader->stream.position;
	uint64_t skipped;

	if (total_length < BLOCK_MIN_LENGTH || total_length % 4)
		return vl_reader_damaged(reader,
					 "a block of type 0x%08" PRIx32
					 " claims the impossible length %" PRIu32,
					 block_type, total_length);
	skipped = vl_stream_skip(&reader->stream, total_length - 4);
	if (skipped == total_length - 4 && vl_stream_fill(&reader->stream, 4) == 4) {
		uint32_t trailing = vl_reader_load32(reader, vl_stream_data(&reader->stream));

		if (trailing == total_length) {
			vl_stream_advance(&reader->stream, 4);
			return VL_CAPTURE_PACKET;
		}
		reader->stream.position = start;
		return vl_reader_damaged(reader,
					 "the lengths before and after a block of type 0x%08" PRIx32
					 " differ: %" PRIu32 " and %" PRIu32,
					 block_type, total_length, trailing);
	}
	skipped += vl_stream_fill(&reader->stream, 4);
	reader->stream.position = start;
	return ends_early(reader, (size_t)skipped, total_length);
}

enum vl_capture_status vl_pcapng_next(struct vl_capture_reader *reader,
				      struct vl_capture_packet *packet)
{
	for (;;) {
		size_t available = vl_stream_fill(&reader->stream, BLOCK_BODY_OFFSET);
		const uint8_t *block = vl_stream_data(&reader->stream);
		enum vl_capture_status status;
		uint32_t type, length;

		if (!available && !reader->stream.error)
			return reader->status = VL_CAPTURE_END;
		if (available < BLOCK_BODY_OFFSET)
			return ends_early(reader, available, BLOCK_MIN_LENGTH);
		type = vl_reader_load32(reader, block);
		length = vl_reader_load32(reader, block + 4);
		switch (type) {
		case VL_PCAPNG_SECTION_HEADER:
			status = vl_pcapng_read_section(reader);
			break;
		case BLOCK_INTERFACE_DESCRIPTION:
			status = read_interface(reader, length);
			break;
		case BLOCK_PACKET:
		case BLOCK_ENHANCED_PACKET:
			return read_packet(reader, type, length, packet);
		case BLOCK_SIMPLE_PACKET:
			return read_simple_packet(reader, length, packet);
		default:
			status = skip_block(reader, type, length);
			break;
		}
		if (status != VL_CAPTURE_PACKET)
			return status;
	}
}
