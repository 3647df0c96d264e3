/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/capture/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define INITIAL_CAPACITY ((size_t)256 << 10)

int vl_stream_open(struct vl_stream *stream, const char *path)
{
	struct stat status;

	*stream = (struct vl_stream){.descriptor = STDIN_FILENO};
	if (strcmp(path, "-")) {
		stream->descriptor = open(path, O_RDONLY | O_CLOEXEC);
		if (stream->descriptor < 0)
			return -errno;
		stream->owns_descriptor = true;
	}
	if (!fstat(stream->descriptor, &status) && S_ISDIR(status.st_mode)) {
		vl_stream_close(stream);
		return -EISDIR;
	}
	posix_fadvise(stream->descriptor, 0, 0, POSIX_FADV_SEQUENTIAL);
	stream->capacity = INITIAL_CAPACITY;
	stream->buffer = malloc(stream->capacity);
	if (!stream->buffer) {
		vl_stream_close(stream);
		return -ENOMEM;
	}
	return 0;
}

void vl_stream_close(struct vl_stream *stream)
{
	if (stream->owns_descriptor)
		close(stream->descriptor);
	free(stream->buffer);
	*stream = (struct vl_stream){.descriptor = -1};
}

static bool make_room(struct vl_stream *stream, size_t length)
{
	size_t available = stream->end - stream->start;

	if (length > stream->capacity) {
		uint8_t *buffer = malloc(length);

		if (!buffer) {
			stream->error = ENOMEM;
			stream->at_end = true;
			return false;
		}
		memcpy(buffer, stream->buffer + stream->start, available);
		free(stream->buffer);
		stream->buffer = buffer;
		stream->capacity = length;
	} else if (available) {
		memmove(stream->buffer, stream->buffer + stream->start, available);
	}
	stream->start = 0;
	stream->end = available;
	return true;
}

size_t vl_stream_read(struct vl_stream *stream, size_t length)
{
	size_t available = stream->end - stream->start;

	if (stream->at_end || !make_room(stream, length))
		return available < length ? available : length;
	while (stream->end < length) {
		ssize_t got = read(stream->descriptor, stream->buffer + stream->end,
				   stream->capacity - stream->end);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			stream->error = got < 0 ? errno : 0;
			stream->at_end = true;
			return stream->end;
		}
		stream->end += (size_t)got;
	}
	return length;
}

uint64_t vl_stream_skip(struct vl_stream *stream, uint64_t length)
{
	uint64_t skipped = 0;

	while (skipped < length) {
		uint64_t rest = length - skipped;
		size_t piece = stream->capacity < rest ? stream->capacity : (size_t)rest;

		piece = vl_stream_fill(stream, piece);
		if (!piece)
			break;
		vl_stream_advance(stream, piece);
		skipped += piece;
	}
	return skipped;
}
