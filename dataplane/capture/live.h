/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Captures what running workers see: taps copy frames into rings, one for each worker, and the
 * control thread writes them to a file, in order of time. A control thread that cannot keep up
 * loses frames of the capture, which are counted, and never holds a worker up.
 */
#ifndef VERBLINE_CAPTURE_LIVE_H
#define VERBLINE_CAPTURE_LIVE_H

#include "dataplane/capture/writer.h"
#include "dataplane/filter.h"

#include <stdint.h>

struct vl_live_capture;

#define VL_LIVE_CAPTURE_MAX_INTERFACES 64u

struct vl_live_capture_config {
	const char *path; /* as vl_capture_writer_open; the format follows from it. Or */
	struct vl_capture_writer *writer; /* the caller's, who closes it afterwards */
	uint32_t worker_count;
	uint32_t snap_length; /* most bytes of a frame; 0: all */
	uint64_t buffer_size; /* bytes for each worker; 0: 16 MiB */
	uint64_t epoch;       /* ns since 1970 of the workers' time 0 */
	uint64_t from;        /* ns of the workers' time: frames before it are left out */
	uint64_t count;       /* frames that are written at most; 0: all */
};

/* NULL: message (room for VL_CAPTURE_MESSAGE_SIZE) says why. */
struct vl_live_capture *vl_live_capture_open(const struct vl_live_capture_config *config,
					     char *message);
/* A number from 0, or a negative errno value. All before the first drain. name and description: as
 * vl_capture_writer_add_interface. */
int vl_live_capture_add_interface(struct vl_live_capture *capture, enum vl_link_type link,
				  const char *name, const char *description);
/* The tap by which a worker shows what it sees on an interface; valid until the capture ends. */
struct vl_frame_tap vl_live_capture_tap(struct vl_live_capture *capture, uint32_t worker,
					uint32_t interface);
/* Control thread: writes what was seen before a time (of the workers' clock), which is to be some
 * milliseconds ago, so that no worker still has something older. 0, or the writer's error. */
int vl_live_capture_drain(struct vl_live_capture *capture, uint64_t before);
const char *vl_live_capture_message(const struct vl_live_capture *capture);

struct vl_live_capture_counters {
	uint64_t written; /* frames */
	uint64_t dropped; /* frames that found the buffer full */
};
struct vl_live_capture_counters vl_live_capture_counters(const struct vl_live_capture *capture);

/* The workers have stopped, or their taps have been taken off. Writes the rest, ends the file. As
 * vl_capture_writer_close; NULL is fine. */
int vl_live_capture_close(struct vl_live_capture *capture, char *message);

#endif
