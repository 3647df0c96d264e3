/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * What may stand between an endpoint and its wire. A tap sees every frame, as it is on the wire; a
 * filter decides what becomes of it: it may alter a frame, take it away, hold it back, and bring in
 * frames of its own. Functions of the time, no clock; called by the endpoint's thread alone.
 */
#ifndef VERBLINE_DATAPLANE_FILTER_H
#define VERBLINE_DATAPLANE_FILTER_H

#include "dataplane/frame.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * What a comment begins with if the frame has not done what its direction says, so that whoever
 * looks can tell: transmitted, but it never left; received by the port, but not by the endpoint;
 * taken by the endpoint as received, but never on the wire.
 */
#define VL_COMMENT_NOT_SENT      "not sent: "
#define VL_COMMENT_NOT_DELIVERED "not delivered: "
#define VL_COMMENT_NOT_ON_WIRE   "not on the wire: "

struct vl_frame_tap {
	/* comment: what was done to the frame and why, for people; NULL: nothing. It is copied, or
	 * lives as long as the tap. The frame stays the caller's. */
	void (*see)(void *context, enum vl_direction direction, const struct vl_frame *frame,
		    uint64_t now, const char *comment);
	void *context;
};

/*
 * A filter hands each frame that is or was on the wire to the endpoint's tap itself, as it alone
 * knows what to say of it: received ones as they came, transmitted ones as they left, and those
 * that it keeps from the wire too, with a comment that says so. Frames that it holds are copies in
 * memory of its own, made at set-up.
 */
struct vl_frame_filter {
	/* A frame has come in, at frame->time, which is not after now, and is what the tap is to be
	 * told. True: the endpoint takes it, perhaps altered, now. */
	bool (*receive)(void *context, struct vl_frame *frame, uint64_t now);
	/* The next of the filter's own frames that the endpoint is to take as received: delayed,
	 * duplicated or made up. NULL: none is due. Valid until the next call. */
	struct vl_frame *(*next_received)(void *context, uint64_t now);
	/* The endpoint is about to send a frame. True: it goes out, perhaps altered, now. */
	bool (*transmit)(void *context, struct vl_frame *frame, uint64_t now);
	/* Fills the caller's frame with the next of the filter's own that is to go out; false: none
	 * is due. */
	bool (*next_transmitted)(void *context, struct vl_frame *frame, uint64_t now);
	/* When one of the two above has something to give; 0: now; UINT64_MAX: nothing waits. */
	uint64_t (*next_deadline)(void *context);
	void *context;
};

#endif
