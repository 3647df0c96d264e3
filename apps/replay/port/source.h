/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * The packets of one or several captures, merged by time, as often as they are wanted. Memory does
 * not depend on the size of the files.
 */
#ifndef VERBLINE_REPLAY_PORT_SOURCE_H
#define VERBLINE_REPLAY_PORT_SOURCE_H

#include "dataplane/capture/reader.h"

#include <stdbool.h>
#include <stdint.h>

struct source;

struct source_config {
	char *const *paths;
	uint32_t count;    /* at least 1 */
	bool starts_align; /* each file's first packet counts as time 0 */
};

/* Room for a path beside the message of a capture's reader. */
#define SOURCE_MESSAGE (VL_CAPTURE_MESSAGE_SIZE + 512)

/* NULL: message says which file and why. */
struct source *source_open(const struct source_config *config, char *message);
void source_close(struct source *source); /* NULL is fine */
/* The next packet and its time, ns; valid until the next call. False: that was all. A file that
 * turns out damaged ends there, and the others go on. */
bool source_next(struct source *source, struct vl_capture_packet *packet, uint64_t *time);
/* From the beginning again. 0, or a negative errno value with a message: a file is gone, or it is
 * the standard input, which cannot be read twice. */
int source_rewind(struct source *source, char *message);
/* What was wrong with a file that ended early, or NULL; number counts the files from 0. */
const char *source_damage(const struct source *source, uint32_t number);

#endif
