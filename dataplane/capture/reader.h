/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Reads captures as a stream: pcap (micro- and nanoseconds, either byte order) and pcapng
 * (sections of either byte order, any number of interfaces and link types, any timestamp
 * resolution). Memory does not depend on the size of the file. Formats: draft-ietf-opsawg-pcap,
 * draft-ietf-opsawg-pcapng.
 *
 * libpcap's offline reader is not used, because it refuses pcapng files whose interfaces differ
 * in link type or snapshot length, and says neither which packet nor which byte was damaged.
 * The tests hold this reader to libpcap where both can read a file.
 */
#ifndef VERBLINE_CAPTURE_READER_H
#define VERBLINE_CAPTURE_READER_H

#include "dataplane/capture/link.h"

#include <stdint.h>

/* Longest packet taken; a record that says more is damaged (the limit of libpcap and Wireshark). */
#define VL_CAPTURE_MAX_PACKET UINT32_C(262144)
/* Room for any message of this directory, its terminating zero included. */
#define VL_CAPTURE_MESSAGE_SIZE 512

struct vl_capture_reader;

struct vl_capture_packet {
	uint64_t number;     /* in the file, from 1 */
	uint64_t offset;     /* of its record in the file, bytes */
	uint64_t time;       /* nanoseconds since 1970, UTC; 0 if the file does not say */
	uint32_t interface;  /* of the pcapng section; 0 in a pcap */
	uint16_t link_type;  /* LINKTYPE_*, as stored */
	const uint8_t *data; /* as stored; valid until the next call on the reader */
	uint32_t captured_length;
	uint32_t original_length; /* on the wire; never below captured_length */
	const char *comment;      /* of a pcapng, the first one, not ended by a zero; NULL: none */
	uint32_t comment_length;
	struct vl_capture_frame frame; /* data without what the link type puts before a frame */
};

enum vl_capture_status {
	VL_CAPTURE_PACKET,  /* *packet is filled */
	VL_CAPTURE_END,     /* the file ended where a file may end */
	VL_CAPTURE_DAMAGED, /* it did not, or a record is impossible, or reading failed */
};

/* "-" is the standard input. NULL: could not be opened or is no capture; message (room for
 * VL_CAPTURE_MESSAGE_SIZE) says why, without the path. */
struct vl_capture_reader *vl_capture_reader_open(const char *path, char *message);
/* Packets in the order of the file. After END or DAMAGED every call returns the same. */
enum vl_capture_status vl_capture_reader_next(struct vl_capture_reader *reader,
					      struct vl_capture_packet *packet);
/* After DAMAGED: which packet, at which byte, what is wrong. Else "". */
const char *vl_capture_reader_message(const struct vl_capture_reader *reader);
/* After DAMAGED: the packet that could not be read (from 1), and the byte offset of its record. */
uint64_t vl_capture_reader_damaged_packet(const struct vl_capture_reader *reader);
uint64_t vl_capture_reader_damaged_offset(const struct vl_capture_reader *reader);
/* "pcap", "pcap with nanoseconds" or "pcapng". */
const char *vl_capture_reader_format(const struct vl_capture_reader *reader);
/* Bytes read so far. */
uint64_t vl_capture_reader_position(const struct vl_capture_reader *reader);
void vl_capture_reader_close(struct vl_capture_reader *reader); /* NULL is fine */

#endif
