/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Shared by reader.c (opening, pcap) and reader_pcapng.c, and by nobody else. */
#ifndef VERBLINE_CAPTURE_READER_PRIVATE_H
#define VERBLINE_CAPTURE_READER_PRIVATE_H

#include "dataplane/capture/reader.h"
#include "dataplane/capture/stream.h"

#include <stdbool.h>
#include <string.h>

#define VL_PCAPNG_SECTION_HEADER UINT32_C(0x0a0d0d0a) /* the same in either byte order */

struct vl_pcapng_interface {
	uint16_t link_type;
	uint32_t snap_length; /* 0: unlimited */
	/* A timestamp unit is multiplier / divisor nanoseconds, or 10^9 / 2^shift if shift > 0. */
	uint64_t multiplier, divisor;
	uint8_t shift;
	int64_t offset; /* seconds to add */
};

struct vl_capture_reader {
	struct vl_stream stream;
	bool is_pcapng;
	bool swapped;          /* the file's byte order (a section's, in a pcapng) is not ours */
	bool nanoseconds;      /* pcap */
	uint16_t link_type;    /* pcap */
	uint64_t packet_count; /* delivered */
	struct vl_pcapng_interface *interfaces; /* of the current section */
	uint32_t interface_count, interface_capacity;
	enum vl_capture_status status; /* PACKET while reading goes on */
	uint64_t damaged_offset;
	char message[VL_CAPTURE_MESSAGE_SIZE];
};

static inline uint16_t vl_reader_load16(const struct vl_capture_reader *reader,
					const uint8_t *bytes)
{
	uint16_t value;

	memcpy(&value, bytes, sizeof(value));
	return reader->swapped ? __builtin_bswap16(value) : value;
}

static inline uint32_t vl_reader_load32(const struct vl_capture_reader *reader,
					const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return reader->swapped ? __builtin_bswap32(value) : value;
}

static inline uint64_t vl_reader_load64(const struct vl_capture_reader *reader,
					const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return reader->swapped ? __builtin_bswap64(value) : value;
}

/* Records that the stream is damaged at its present position, or could not be read on. */
enum vl_capture_status vl_reader_damaged(struct vl_capture_reader *reader, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Counts the packet whose data lie in the stream and fills what follows from the arguments. */
void vl_reader_fill_packet(struct vl_capture_reader *reader, struct vl_capture_packet *packet,
			   const uint8_t *data, uint32_t captured_length, uint32_t original_length);

/* Reads the section header block that the stream stands at. */
enum vl_capture_status vl_pcapng_read_section(struct vl_capture_reader *reader);
enum vl_capture_status vl_pcapng_next(struct vl_capture_reader *reader,
				      struct vl_capture_packet *packet);

#endif
