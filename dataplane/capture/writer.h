/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Writes captures as a stream: pcap with nanoseconds, or pcapng (interfaces of different link
 * types, a comment per packet). InfiniBand packets are stored as ERF records, which Wireshark
 * dissects (it refuses LINKTYPE_INFINIBAND): type 21, from the LRH to the VCRC, or for link
 * packets, which are those of VL_CAPTURE_LINK_PACKET bytes, type 25. Records of outbound packets
 * say capture interface 1, others 0, so that a pcap tells the directions apart, too.
 *
 * Wireshark (seen with 4.0) first reads a link packet as if it were an LRH with what follows, and
 * calls it malformed where bytes are missing for that, so it is written with zeros behind it, to
 * VL_ERF_LINK_PACKET_ROOM bytes in all, which the record's wire length counts. Readers go by the
 * six bytes.
 *
 * A file appears under its name only when it is whole: until vl_capture_writer_close has
 * succeeded it is PATH.partial, which a killed run leaves behind and which is a capture as far
 * as it goes. What is not a regular file (a pipe, /dev/null, "-" for the standard output) is
 * written directly.
 */
#ifndef VERBLINE_CAPTURE_WRITER_H
#define VERBLINE_CAPTURE_WRITER_H

#include "dataplane/capture/reader.h"

#include <stdint.h>

enum vl_capture_format {
	VL_CAPTURE_PCAP,
	VL_CAPTURE_PCAPNG,
};

struct vl_capture_writer;

/* Which way a packet went at the interface; only a pcapng says so. */
enum vl_capture_flow {
	VL_CAPTURE_UNKNOWN_FLOW,
	VL_CAPTURE_INBOUND,
	VL_CAPTURE_OUTBOUND,
};

struct vl_capture_record {
	uint32_t interface; /* as vl_capture_writer_add_interface returned it */
	uint64_t time;      /* nanoseconds since 1970 */
	const uint8_t *frame;
	uint32_t length;      /* <= VL_CAPTURE_MAX_PACKET - 32 */
	uint32_t wire_length; /* 0: as length */
	enum vl_capture_flow flow;
	const char *comment; /* NULL: none; at most 65535 bytes, more is cut; lost in a pcap */
};

/* The format that the name asks for: pcapng if it ends in ".pcapng" or ".ntar", else pcap. */
enum vl_capture_format vl_capture_format_of_path(const char *path);

/* NULL: message (room for VL_CAPTURE_MESSAGE_SIZE) says which file and why. */
struct vl_capture_writer *vl_capture_writer_open(const char *path, enum vl_capture_format format,
						 char *message);
/* Before the interface's first packet. Returns its number, from 0, or a negative errno value:
 * -EINVAL for a pcap's second interface if it differs in link type (a pcap has one for all;
 * the same one is returned again). name and description, which is for people, may be NULL; only a
 * pcapng has them, up to 255 bytes of each. */
int vl_capture_writer_add_interface(struct vl_capture_writer *writer, enum vl_link_type link,
				    const char *name, const char *description);
/* 0, -EINVAL (unknown interface, too long), or the negative errno value of the first write that
 * failed, which every later call returns too. */
int vl_capture_writer_write(struct vl_capture_writer *writer,
			    const struct vl_capture_record *record);
/* Hands buffered packets to the system, for a reader at the other end of a pipe. */
int vl_capture_writer_flush(struct vl_capture_writer *writer);
/* After a call that failed: which file and what went wrong. Else "". */
const char *vl_capture_writer_message(const struct vl_capture_writer *writer);
/*
 * Flushes, gives the file its name, frees the writer. 0, or the first error of the writer's
 * life, then message (room for VL_CAPTURE_MESSAGE_SIZE; may be NULL) says what, and what was
 * written stays under PATH.partial. NULL is fine.
 */
int vl_capture_writer_close(struct vl_capture_writer *writer, char *message);
/* Instead of close, by a run that failed: frees the writer and leaves PATH.partial. */
void vl_capture_writer_abandon(struct vl_capture_writer *writer);

#endif
