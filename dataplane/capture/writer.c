/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/capture/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER_LENGTH ((size_t)1 << 20)
/* Headers, ERF header, longest comment, padding and trailing length around a packet. */
#define MAX_RECORD_OVERHEAD ((size_t)128 + 65536)
#define PARTIAL_SUFFIX      ".partial"

#define PCAP_NANOSECONDS UINT32_C(0xa1b23c4d)
#define SNAP_LENGTH      VL_CAPTURE_MAX_PACKET

#define BLOCK_SECTION_HEADER         UINT32_C(0x0a0d0d0a)
#define BLOCK_INTERFACE_DESCRIPTION  UINT32_C(1)
#define BLOCK_ENHANCED_PACKET        UINT32_C(6)
#define BYTE_ORDER_MAGIC             UINT32_C(0x1a2b3c4d)
#define OPTION_COMMENT               1
#define OPTION_PACKET_FLAGS          2
#define OPTION_USER_APPLICATION      4
#define OPTION_INTERFACE_NAME        2
#define OPTION_INTERFACE_DESCRIPTION 3
#define OPTION_TIMESTAMP_RESOLUTION  9
#define RESOLUTION_NANOSECONDS       9
/* Of an interface's name or description. */
#define LONGEST_TEXT 255u

struct vl_capture_writer {
	enum vl_capture_format format;
	int descriptor;
	bool owns_descriptor;
	char *path;               /* the name that the file gets, or its name for messages */
	char *partial_path;       /* NULL: written directly */
	int error;                /* first one, negative errno value */
	enum vl_link_type *links; /* by interface */
	uint32_t interface_count;
	size_t used; /* bytes in buffer */
	uint8_t *buffer;
	char message[VL_CAPTURE_MESSAGE_SIZE];
};

static void put16(struct vl_capture_writer *writer, uint16_t value)
{
	memcpy(writer->buffer + writer->used, &value, sizeof(value));
	writer->used += sizeof(value);
}

static void put32(struct vl_capture_writer *writer, uint32_t value)
{
	memcpy(writer->buffer + writer->used, &value, sizeof(value));
	writer->used += sizeof(value);
}

static void put_bytes(struct vl_capture_writer *writer, const void *bytes, size_t length)
{
	memcpy(writer->buffer + writer->used, bytes, length);
	writer->used += length;
}

static void put_zeros(struct vl_capture_writer *writer, size_t length)
{
	memset(writer->buffer + writer->used, 0, length);
	writer->used += length;
}

/* With zeros to a multiple of four bytes, as pcapng wants all its parts. */
static void put_padded(struct vl_capture_writer *writer, const void *bytes, size_t length)
{
	put_bytes(writer, bytes, length);
	put_zeros(writer, -length & 3);
}

static int fail(struct vl_capture_writer *writer, int error, const char *what)
{
	writer->error = error;
	snprintf(writer->message, sizeof(writer->message), "%s: %s: %s%s%s", writer->path, what,
		 strerror(-error), writer->partial_path ? "; what was written is in " : "",
		 writer->partial_path ? writer->partial_path : "");
	return error;
}

int vl_capture_writer_flush(struct vl_capture_writer *writer)
{
	size_t done = 0;

	if (writer->error)
		return writer->error;
	while (done < writer->used) {
		ssize_t put = write(writer->descriptor, writer->buffer + done, writer->used - done);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return fail(writer, -errno, "cannot write");
		done += (size_t)put;
	}
	writer->used = 0;
	return 0;
}

static int reserve(struct vl_capture_writer *writer, size_t length)
{
	if (writer->error)
		return writer->error;
	return writer->used + length > BUFFER_LENGTH ? vl_capture_writer_flush(writer) : 0;
}

enum vl_capture_format vl_capture_format_of_path(const char *path)
{
	const char *dot = strrchr(path, '.');

	if (dot && (!strcasecmp(dot, ".pcapng") || !strcasecmp(dot, ".ntar")))
		return VL_CAPTURE_PCAPNG;
	return VL_CAPTURE_PCAP;
}

static void put_section_header(struct vl_capture_writer *writer)
{
	static const char application[] = "verbline";
	uint16_t length = sizeof(application) - 1;
	uint32_t total = 28 + 4 + ((length + 3u) & ~3u) + 4;

	put32(writer, BLOCK_SECTION_HEADER);
	put32(writer, total);
	put32(writer, BYTE_ORDER_MAGIC);
	put16(writer, 1);
	put16(writer, 0);
	put32(writer, UINT32_MAX); /* length of the section: not said */
	put32(writer, UINT32_MAX);
	put16(writer, OPTION_USER_APPLICATION);
	put16(writer, length);
	put_padded(writer, application, length);
	put32(writer, 0); /* end of options */
	put32(writer, total);
}

/* What is no regular file is written as it is; a symbolic link leads to what it names. */
static int choose_names(struct vl_capture_writer *writer, const char *path)
{
	struct stat status;
	char *resolved;

	if (!strcmp(path, "-")) {
		writer->path = strdup("standard output");
		return writer->path ? 0 : -ENOMEM;
	}
	resolved = realpath(path, NULL);
	writer->path = resolved ? resolved : strdup(path);
	if (!writer->path)
		return -ENOMEM;
	if (!stat(writer->path, &status)) {
		if (S_ISDIR(status.st_mode))
			return -EISDIR;
		if (!S_ISREG(status.st_mode))
			return 0;
		if (access(writer->path, W_OK))
			return -errno;
	}
	if (asprintf(&writer->partial_path, "%s" PARTIAL_SUFFIX, writer->path) < 0) {
		writer->partial_path = NULL;
		return -ENOMEM;
	}
	return 0;
}

static int open_file(struct vl_capture_writer *writer, const char *path)
{
	int error = choose_names(writer, path);

	if (error)
		return error;
	if (!strcmp(path, "-")) {
		writer->descriptor = STDOUT_FILENO;
		return 0;
	}
	writer->descriptor = open(writer->partial_path ? writer->partial_path : writer->path,
				  O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (writer->descriptor < 0)
		return -errno;
	writer->owns_descriptor = true;
	return 0;
}

static void release(struct vl_capture_writer *writer)
{
	free(writer->path);
	free(writer->partial_path);
	free(writer->links);
	free(writer->buffer);
	free(writer);
}

struct vl_capture_writer *vl_capture_writer_open(const char *path, enum vl_capture_format format,
						 char *message)
{
	struct vl_capture_writer *writer = calloc(1, sizeof(*writer));
	int error = -ENOMEM;

	message[0] = 0;
	/* A file of that name is not what anybody wants. */
	if (!strcmp(path, "-")) {
		snprintf(message, VL_CAPTURE_MESSAGE_SIZE,
			 "-: a capture goes to a file or to a named pipe (mkfifo), not to the "
			 "standard output");
		free(writer);
		return NULL;
	}
	if (writer) {
		writer->format = format;
		writer->buffer = malloc(BUFFER_LENGTH);
		if (writer->buffer)
			error = open_file(writer, path);
	}
	if (error) {
		snprintf(message, VL_CAPTURE_MESSAGE_SIZE, "%s: cannot create: %s", path,
			 strerror(-error));
		if (writer)
			release(writer);
		return NULL;
	}
	if (format == VL_CAPTURE_PCAPNG)
		put_section_header(writer);
	return writer;
}

static uint16_t stored_link_type(enum vl_link_type link)
{
	switch (link) {
	case VL_LINK_INFINIBAND:
		return VL_LINKTYPE_ERF;
	case VL_LINK_IP:
		return VL_LINKTYPE_RAW;
	default:
		return VL_LINKTYPE_ETHERNET;
	}
}

static void put_file_header(struct vl_capture_writer *writer, enum vl_link_type link)
{
	put32(writer, PCAP_NANOSECONDS);
	put16(writer, 2);
	put16(writer, 4);
	put32(writer, 0);
	put32(writer, 0);
	put32(writer, SNAP_LENGTH);
	put32(writer, stored_link_type(link));
}

/* Of an option with a text, NULL: none. */
static uint32_t text_option_length(const char *text)
{
	return text ? 4 + (((uint32_t)strnlen(text, LONGEST_TEXT) + 3u) & ~3u) : 0;
}

static void put_text_option(struct vl_capture_writer *writer, uint16_t option, const char *text)
{
	uint16_t length = text ? (uint16_t)strnlen(text, LONGEST_TEXT) : 0;

	if (!text)
		return;
	put16(writer, option);
	put16(writer, length);
	put_padded(writer, text, length);
}

static void put_interface(struct vl_capture_writer *writer, enum vl_link_type link,
			  const char *name, const char *description)
{
	uint32_t texts = text_option_length(name) + text_option_length(description);
	uint32_t total = 16 + texts + 8 + 4 + 4;

	put32(writer, BLOCK_INTERFACE_DESCRIPTION);
	put32(writer, total);
	put16(writer, stored_link_type(link));
	put16(writer, 0);
	put32(writer, SNAP_LENGTH);
	put_text_option(writer, OPTION_INTERFACE_NAME, name);
	put_text_option(writer, OPTION_INTERFACE_DESCRIPTION, description);
	put16(writer, OPTION_TIMESTAMP_RESOLUTION);
	put16(writer, 1);
	put32(writer, 0);
	writer->buffer[writer->used - 4] = RESOLUTION_NANOSECONDS;
	put32(writer, 0); /* end of options */
	put32(writer, total);
}

int vl_capture_writer_add_interface(struct vl_capture_writer *writer, enum vl_link_type link,
				    const char *name, const char *description)
{
	enum vl_link_type *links;
	int error = reserve(writer, 1024);

	if (error)
		return error;
	if (writer->format == VL_CAPTURE_PCAP && writer->interface_count)
		return writer->links[0] == link ? 0 : -EINVAL;
	links = realloc(writer->links, (writer->interface_count + 1) * sizeof(*links));
	if (!links)
		return -ENOMEM;
	writer->links = links;
	links[writer->interface_count] = link;
	if (writer->format == VL_CAPTURE_PCAP)
		put_file_header(writer, link);
	else
		put_interface(writer, link, name, description);
	return (int)writer->interface_count++;
}

/* What is written around a packet for its link type. */
struct envelope {
	uint8_t header[VL_ERF_HEADER_LENGTH];
	uint32_t header_length;
	uint32_t padding;     /* zeros behind the packet */
	uint32_t wire_length; /* of the packet and its padding */
	uint8_t erf_type;
};

/* The time in 2^-32 seconds, little endian, then type, flags and lengths, big endian. */
static void make_erf_header(struct envelope *envelope, const struct vl_capture_record *record)
{
	uint64_t seconds = record->time / 1000000000;
	uint64_t fraction = ((record->time % 1000000000) << 32) / 1000000000;
	uint64_t timestamp = seconds << 32 | fraction;
	uint32_t record_length = VL_ERF_HEADER_LENGTH + record->length + envelope->padding;
	uint8_t *header = envelope->header;

	for (unsigned int i = 0; i < 8; i++)
		header[i] = (uint8_t)(timestamp >> 8 * i);
	header[8] = envelope->erf_type;
	header[9] = 4; /* records vary in length; the lowest two bits are the side of the link */
	header[9] |= record->flow == VL_CAPTURE_OUTBOUND;
	header[10] = (uint8_t)(record_length >> 8);
	header[11] = (uint8_t)record_length;
	header[12] = header[13] = 0; /* losses */
	header[14] = (uint8_t)(envelope->wire_length >> 8);
	header[15] = (uint8_t)envelope->wire_length;
	envelope->header_length = VL_ERF_HEADER_LENGTH;
}

/* False: the record's length fields have 16 bits, and it needs more. */
static bool make_envelope(struct envelope *envelope, enum vl_link_type link,
			  const struct vl_capture_record *record)
{
	envelope->header_length = envelope->padding = 0;
	envelope->wire_length = record->wire_length ? record->wire_length : record->length;
	if (link != VL_LINK_INFINIBAND)
		return true;
	envelope->erf_type = VL_ERF_INFINIBAND;
	if (envelope->wire_length == VL_CAPTURE_LINK_PACKET) {
		envelope->erf_type = VL_ERF_INFINIBAND_LINK;
		envelope->padding = VL_ERF_LINK_PACKET_ROOM - record->length;
		envelope->wire_length = VL_ERF_LINK_PACKET_ROOM;
	}
	if (envelope->wire_length > UINT16_MAX - VL_ERF_HEADER_LENGTH)
		return false;
	make_erf_header(envelope, record);
	return true;
}

static void put_pcap_record(struct vl_capture_writer *writer,
			    const struct vl_capture_record *record, const struct envelope *envelope)
{
	put32(writer, (uint32_t)(record->time / 1000000000));
	put32(writer, (uint32_t)(record->time % 1000000000));
	put32(writer, envelope->header_length + record->length + envelope->padding);
	put32(writer, envelope->header_length + envelope->wire_length);
	put_bytes(writer, envelope->header, envelope->header_length);
	put_bytes(writer, record->frame, record->length);
	put_zeros(writer, envelope->padding);
}

/* Options of a packet, with the end mark, if there are any. */
static uint32_t packet_options_length(const struct vl_capture_record *record,
				      uint16_t comment_length)
{
	uint32_t length = 0;

	if (comment_length)
		length += 4 + ((comment_length + 3u) & ~3u);
	if (record->flow)
		length += 8;
	return length ? length + 4 : 0;
}

static void put_packet_options(struct vl_capture_writer *writer,
			       const struct vl_capture_record *record, uint16_t comment_length)
{
	if (comment_length) {
		put16(writer, OPTION_COMMENT);
		put16(writer, comment_length);
		put_padded(writer, record->comment, comment_length);
	}
	if (record->flow) {
		put16(writer, OPTION_PACKET_FLAGS);
		put16(writer, 4);
		/* The lowest two bits: 1 inbound, 2 outbound. */
		put32(writer, (uint32_t)record->flow);
	}
	put32(writer, 0);
}

static void put_pcapng_packet(struct vl_capture_writer *writer,
			      const struct vl_capture_record *record,
			      const struct envelope *envelope)
{
	uint32_t captured_length = envelope->header_length + record->length + envelope->padding;
	uint16_t comment_length =
		record->comment ? (uint16_t)strnlen(record->comment, UINT16_MAX) : 0;
	uint32_t options = packet_options_length(record, comment_length);
	uint32_t total = 28 + ((captured_length + 3) & ~3u) + options + 4;

	put32(writer, BLOCK_ENHANCED_PACKET);
	put32(writer, total);
	put32(writer, record->interface);
	put32(writer, (uint32_t)(record->time >> 32));
	put32(writer, (uint32_t)record->time);
	put32(writer, captured_length);
	put32(writer, envelope->header_length + envelope->wire_length);
	put_bytes(writer, envelope->header, envelope->header_length);
	put_bytes(writer, record->frame, record->length);
	put_zeros(writer, envelope->padding + (-captured_length & 3));
	if (options)
		put_packet_options(writer, record, comment_length);
	put32(writer, total);
}

int vl_capture_writer_write(struct vl_capture_writer *writer,
			    const struct vl_capture_record *record)
{
	struct envelope envelope;
	int error = reserve(writer, record->length + MAX_RECORD_OVERHEAD);

	if (error)
		return error;
	if (record->interface >= writer->interface_count ||
	    record->length > VL_CAPTURE_MAX_PACKET - 32 ||
	    (record->wire_length && record->wire_length < record->length) ||
	    !make_envelope(&envelope, writer->links[record->interface], record))
		return -EINVAL;
	if (writer->format == VL_CAPTURE_PCAP)
		put_pcap_record(writer, record, &envelope);
	else
		put_pcapng_packet(writer, record, &envelope);
	return 0;
}

const char *vl_capture_writer_message(const struct vl_capture_writer *writer)
{
	return writer->message;
}

static int finish(struct vl_capture_writer *writer)
{
	int descriptor = writer->descriptor;

	/* An empty pcap still says what it is. */
	if (writer->format == VL_CAPTURE_PCAP && !writer->interface_count)
		put_file_header(writer, VL_LINK_ETHERNET);
	if (vl_capture_writer_flush(writer))
		return writer->error;
	if (writer->owns_descriptor) {
		writer->owns_descriptor = false;
		/* Network and quota file systems report lost writes here. */
		if (close(descriptor))
			return fail(writer, -errno, "cannot write");
	}
	if (writer->partial_path && rename(writer->partial_path, writer->path))
		return fail(writer, -errno, "cannot rename into place");
	return 0;
}

int vl_capture_writer_close(struct vl_capture_writer *writer, char *message)
{
	int error;

	if (message)
		message[0] = 0;
	if (!writer)
		return 0;
	error = writer->error ? writer->error : finish(writer);
	if (message)
		memcpy(message, writer->message, VL_CAPTURE_MESSAGE_SIZE);
	if (writer->owns_descriptor)
		close(writer->descriptor);
	release(writer);
	return error;
}

void vl_capture_writer_abandon(struct vl_capture_writer *writer)
{
	if (!writer)
		return;
	vl_capture_writer_flush(writer);
	if (writer->owns_descriptor)
		close(writer->descriptor);
	release(writer);
}
