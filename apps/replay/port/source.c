/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/replay/port/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A file, and its packet that is next. */
struct stream {
	struct vl_capture_reader *reader; /* NULL: it has ended */
	struct vl_capture_packet packet;
	uint64_t first_time;
	bool has_time; /* first_time is known */
	char *damage;  /* NULL: none */
};

struct source {
	struct source_config config;
	struct stream *streams;
	struct stream *given; /* whose packet the caller has; NULL: none */
};

static const char *name_of(const char *path)
{
	return strcmp(path, "-") ? path : "standard input";
}

static void end_stream(struct stream *stream)
{
	vl_capture_reader_close(stream->reader);
	stream->reader = NULL;
}

static void advance(struct stream *stream)
{
	enum vl_capture_status status = vl_capture_reader_next(stream->reader, &stream->packet);

	if (status == VL_CAPTURE_PACKET) {
		if (!stream->has_time)
			stream->first_time = stream->packet.time;
		stream->has_time = true;
		return;
	}
	if (status == VL_CAPTURE_DAMAGED && !stream->damage)
		stream->damage = strdup(vl_capture_reader_message(stream->reader));
	end_stream(stream);
}

static int open_streams(struct source *source, char *message)
{
	char reason[VL_CAPTURE_MESSAGE_SIZE];

	source->given = NULL;
	for (uint32_t i = 0; i < source->config.count; i++) {
		struct stream *stream = &source->streams[i];

		end_stream(stream);
		stream->reader = vl_capture_reader_open(source->config.paths[i], reason);
		if (!stream->reader) {
			snprintf(message, SOURCE_MESSAGE, "%.500s: %s",
				 name_of(source->config.paths[i]), reason);
			return -EINVAL;
		}
		advance(stream);
	}
	return 0;
}

struct source *source_open(const struct source_config *config, char *message)
{
	struct source *source = calloc(1, sizeof(*source));

	if (source) {
		source->config = *config;
		source->streams = calloc(config->count, sizeof(struct stream));
	}
	if (!source || !source->streams) {
		snprintf(message, SOURCE_MESSAGE, "out of memory");
		free(source);
		return NULL;
	}
	if (open_streams(source, message)) {
		source_close(source);
		return NULL;
	}
	return source;
}

void source_close(struct source *source)
{
	if (!source)
		return;
	for (uint32_t i = 0; i < source->config.count; i++) {
		end_stream(&source->streams[i]);
		free(source->streams[i].damage);
	}
	free(source->streams);
	free(source);
}

static uint64_t time_of(const struct source *source, const struct stream *stream)
{
	uint64_t time = stream->packet.time;

	if (!source->config.starts_align)
		return time;
	return time > stream->first_time ? time - stream->first_time : 0;
}

bool source_next(struct source *source, struct vl_capture_packet *packet, uint64_t *time)
{
	struct stream *earliest = NULL;

	/* Only now, as the packet lay in its reader's buffer. */
	if (source->given)
		advance(source->given);
	for (uint32_t i = 0; i < source->config.count; i++) {
		struct stream *stream = &source->streams[i];

		if (stream->reader &&
		    (!earliest || time_of(source, stream) < time_of(source, earliest)))
			earliest = stream;
	}
	source->given = earliest;
	if (!earliest)
		return false;
	*packet = earliest->packet;
	*time = time_of(source, earliest);
	return true;
}

int source_rewind(struct source *source, char *message)
{
	for (uint32_t i = 0; i < source->config.count; i++) {
		if (!strcmp(source->config.paths[i], "-")) {
			snprintf(message, SOURCE_MESSAGE,
				 "the standard input cannot be read twice; save it to a file, or "
				 "leave out --loop");
			return -EINVAL;
		}
	}
	return open_streams(source, message);
}

const char *source_damage(const struct source *source, uint32_t number)
{
	return source->streams[number].damage;
}
