/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * A file or pipe read once from front to back through one buffer. Callers see the bytes where
 * they lie; the buffer stays small enough for a core's cache and grows only to the longest
 * piece that was asked for.
 */
#ifndef VERBLINE_CAPTURE_STREAM_H
#define VERBLINE_CAPTURE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vl_stream {
	int descriptor;
	bool owns_descriptor;
	bool at_end; /* read() returned 0 or failed */
	int error;   /* positive errno value of a read() that failed, or 0 */
	uint8_t *buffer;
	size_t capacity;
	size_t start, end; /* of what is in the buffer */
	uint64_t position; /* of buffer[start] in the file */
};

/* "-" is the standard input. 0 or a negative errno value (-EISDIR for a directory). */
int vl_stream_open(struct vl_stream *stream, const char *path);
void vl_stream_close(struct vl_stream *stream);
/* Slow path of vl_stream_fill. */
size_t vl_stream_read(struct vl_stream *stream, size_t length);

/* Makes length bytes readable at vl_stream_data and returns how many there are: fewer only at
 * the end, after a read error (stream->error), or without memory (stream->error is ENOMEM). */
static inline size_t vl_stream_fill(struct vl_stream *stream, size_t length)
{
	size_t available = stream->end - stream->start;

	return available >= length ? length : vl_stream_read(stream, length);
}

static inline const uint8_t *vl_stream_data(const struct vl_stream *stream)
{
	return stream->buffer + stream->start;
}

/* Passes over length bytes that are in the buffer; they stay where they are until the next fill. */
static inline void vl_stream_advance(struct vl_stream *stream, size_t length)
{
	stream->start += length;
	stream->position += length;
}

/* Passes over length bytes that need not be in the buffer. Returns how many there were. */
uint64_t vl_stream_skip(struct vl_stream *stream, uint64_t length);

#endif
