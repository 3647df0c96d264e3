/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Whose turn it is, and when. A turn is a burst of one flow. Without congestion control the flows
 * take turns in a circle, and one schedule keeps the time of all; with it each flow has a schedule
 * of its own in a timer wheel, and the stream's, if it has a rate, holds besides.
 *
 * A schedule is the sum of the times of what was sent, to a fraction of a nanosecond, and does not
 * know when it was looked at: so the rate is exact however late the polls are, up to most_arrears.
 */
#ifndef VERBLINE_STREAM_SCHEDULE_H
#define VERBLINE_STREAM_SCHEDULE_H

#include "dataplane/histogram.h"
#include "dataplane/stream/stream_private.h"

int vl_stream_schedule_init(struct vl_stream *stream, const struct vl_stream_config *config,
			    uint64_t now, struct vl_error *error);
uint64_t vl_stream_next_deadline(const struct vl_stream *stream);
void vl_stream_take_notification(struct vl_stream *stream, uint32_t flow, uint64_t now);
/* With congestion control: whose turn it is at now; false: nobody's. And what its frames cost. */
bool vl_stream_choose_flow(struct vl_stream *stream, uint64_t now);
void vl_stream_charge_flow(struct vl_stream *stream, uint32_t bytes, uint64_t now);
/* The turn is over; the flow gets another one, or has nothing left to send. */
void vl_stream_rearm_flow(struct vl_stream *stream, bool has_more);

static inline bool vl_stream_may_run(const struct vl_stream *stream, uint64_t now)
{
	return now >= stream->due && !stream->is_stopped && !stream->is_over;
}

/* Opens a turn if one is due: its flow is stream->turn. */
static inline bool vl_stream_open_turn(struct vl_stream *stream, uint64_t now)
{
	if (!vl_stream_may_run(stream, now))
		return false;
	if (stream->cc && !vl_stream_choose_flow(stream, now))
		return false;
	if (stream->unit_time) {
		uint64_t late = now - stream->due;

		if (stream->pacing_error)
			vl_histogram_record(stream->pacing_error, late);
		if (__builtin_expect(late > stream->most_arrears, 0)) {
			stream->counters.arrears_dropped += late - stream->most_arrears;
			stream->due = now - stream->most_arrears;
		}
		stream->charged = stream->due;
	}
	stream->turn_left = stream->burst;
	stream->turn_open = true;
	return true;
}

/* sent: false if the flow had nothing left to begin. */
static inline void vl_stream_close_turn(struct vl_stream *stream, bool has_more)
{
	stream->turn_open = false;
	if (stream->unit_time)
		stream->due = stream->charged;
	if (stream->cc)
		vl_stream_rearm_flow(stream, has_more);
	else if (++stream->turn == stream->flow_count)
		stream->turn = 0;
}

static inline void vl_stream_charge_units(struct vl_stream *stream, uint64_t units)
{
	uint64_t time = stream->unit_time * units + stream->fraction;

	stream->charged += time >> 32;
	stream->fraction = (uint32_t)time;
}

/* A frame of the turn was made. */
static inline void vl_stream_charge(struct vl_stream *stream, uint32_t bytes, bool ends_message,
				    uint64_t now)
{
	if (stream->unit_time && (ends_message || !stream->uses_messages))
		vl_stream_charge_units(stream, stream->uses_bytes ? bytes : 1);
	if (stream->cc)
		vl_stream_charge_flow(stream, bytes, now);
	if (stream->uses_messages ? ends_message : !--stream->turn_left)
		vl_stream_close_turn(stream, true);
}

#endif
