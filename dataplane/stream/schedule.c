/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/stream/schedule.h"

#include <errno.h>
#include <stdlib.h>

#define DEFAULT_MOST_ARREARS UINT64_C(10000000)
#define DEFAULT_LINE_RATE    UINT64_C(100000000000)
#define LEAST_BITS           100000.0
#define MOST_BITS            4e12
#define LEAST_UNITS          1.0
#define MOST_UNITS           1e10
/* Units of a flow's fraction in a nanosecond, as vl_cc_algorithm.byte_time has them. */
#define CC_NANOSECOND (UINT64_C(1000) << 16)

static uint64_t unit_time(double units_per_second)
{
	return units_per_second > 0 ? (uint64_t)(1e9 / units_per_second * 0x1p32 + 0.5) : 0;
}

static bool is_rate_valid(double rate, double least, double most)
{
	return !rate || (rate >= least && rate <= most);
}

static int init_rate(struct vl_stream *stream, const struct vl_stream_config *config,
		     struct vl_error *error)
{
	int given = !!config->bits_per_second + (config->frames_per_second != 0) +
		    (config->messages_per_second != 0);

	if (given > 1)
		return vl_error_set(error, -EINVAL,
				    "stream %s: bits_per_second, frames_per_second and "
				    "messages_per_second: one of them at most",
				    stream->name);
	if (!is_rate_valid((double)config->bits_per_second, LEAST_BITS, MOST_BITS))
		return vl_error_set(error, -EINVAL,
				    "stream %s: bits_per_second: must be 100 kb/s to 4 Tb/s, or 0",
				    stream->name);
	if (!is_rate_valid(config->frames_per_second, LEAST_UNITS, MOST_UNITS))
		return vl_error_set(error, -EINVAL,
				    "stream %s: frames_per_second: must be 1 to 10^10, or 0",
				    stream->name);
	if (!is_rate_valid(config->messages_per_second, LEAST_UNITS, MOST_UNITS))
		return vl_error_set(error, -EINVAL,
				    "stream %s: messages_per_second: must be 1 to 10^10, or 0",
				    stream->name);
	if (config->messages_per_second != 0 && config->kind != VL_STREAM_ROCE)
		return vl_error_set(error, -EINVAL,
				    "stream %s: messages_per_second: only RoCE has messages; "
				    "use frames_per_second",
				    stream->name);
	stream->uses_bytes = config->bits_per_second != 0;
	stream->uses_messages = config->messages_per_second != 0;
	stream->unit_time = stream->uses_bytes
				    ? unit_time((double)config->bits_per_second / 8)
				    : unit_time(stream->uses_messages ? config->messages_per_second
								      : config->frames_per_second);
	return 0;
}

static int init_paces(struct vl_stream *stream, const struct vl_stream_config *config)
{
	uint64_t line_rate = config->line_rate ? config->line_rate : DEFAULT_LINE_RATE;

	if (!config->cc || config->cc->algorithm == &vl_cc_none)
		return 0;
	stream->cc = config->cc;
	stream->wheel = malloc(sizeof(*stream->wheel));
	stream->paces = calloc(stream->flow_count, sizeof(*stream->paces));
	if (!stream->wheel || !stream->paces)
		return -ENOMEM;
	vl_timer_wheel_init(stream->wheel, stream->due);
	for (uint32_t i = 0; i < stream->flow_count; i++) {
		struct vl_stream_pace *pace = &stream->paces[i];

		stream->cc->algorithm->init(&pace->state, stream->cc, line_rate, stream->due);
		pace->due = stream->due;
		vl_timer_arm(stream->wheel, &pace->timer, pace->due);
	}
	return 0;
}

int vl_stream_schedule_init(struct vl_stream *stream, const struct vl_stream_config *config,
			    uint64_t now, struct vl_error *error)
{
	int result = init_rate(stream, config, error);

	if (result)
		return result;
	if (config->cc && (config->kind != VL_STREAM_ROCE || vl_cc_check(config->cc)))
		return vl_error_set(error, -EINVAL, "stream %s: cc: %s", stream->name,
				    config->kind == VL_STREAM_ROCE
					    ? "a parameter is outside its range"
					    : "only RoCE streams have congestion control");
	if (config->burst > VL_STREAM_MAX_BURST)
		return vl_error_set(error, -EINVAL, "stream %s: burst: %u frames, must be 1 to %u",
				    stream->name, config->burst, VL_STREAM_MAX_BURST);
	stream->burst = config->burst ? config->burst : 1;
	stream->due = now + config->start_delay;
	stream->end = config->duration ? stream->due + config->duration : UINT64_MAX;
	stream->most_arrears = config->most_arrears ? config->most_arrears : DEFAULT_MOST_ARREARS;
	stream->pacing_error = config->pacing_error;
	if (init_paces(stream, config))
		return vl_error_set(error, -ENOMEM, "stream %s: no memory", stream->name);
	return 0;
}

void vl_stream_set_rate(struct vl_stream *stream, double rate, uint64_t now)
{
	bool was_limited = stream->unit_time != 0;

	stream->unit_time = unit_time(stream->uses_bytes ? rate / 8 : rate);
	/* Without a limit nothing was due; the schedule begins now. */
	if (!was_limited && stream->unit_time && stream->due < now)
		stream->due = now;
	if (stream->turn_open)
		stream->charged = stream->charged > stream->due ? stream->charged : stream->due;
}

void vl_stream_set_stopped(struct vl_stream *stream, bool stopped, uint64_t now)
{
	if (stream->is_stopped && !stopped && stream->due < now)
		stream->due = now;
	stream->is_stopped = stopped;
}

uint64_t vl_stream_next_deadline(const struct vl_stream *stream)
{
	uint64_t deadline = stream->due, next;

	if (stream->is_stopped || stream->is_over)
		return UINT64_MAX;
	if (stream->turn_open)
		return 0;
	if (stream->cc) {
		next = vl_timer_wheel_next(stream->wheel);
		if (next > deadline)
			deadline = next;
	}
	return deadline;
}

/* ---- Each flow's own schedule ---------------------------------------------------------------- */

/* The allowed rate may have changed since the flow's last frame: a lower one counts from its next
 * frame on, a higher one at once. */
static bool is_flow_due(struct vl_stream *stream, struct vl_stream_pace *pace, uint64_t now)
{
	uint64_t byte_time, wake, change;

	if (pace->due <= now)
		return true;
	byte_time = stream->cc->algorithm->byte_time(&pace->state, stream->cc, now);
	if (byte_time < pace->byte_time) {
		double scale = (double)byte_time / (double)pace->byte_time;

		pace->due = now + (uint64_t)((double)(pace->due - now) * scale);
		if (pace->due <= now)
			return true;
	}
	pace->byte_time = byte_time;
	wake = pace->due;
	if (stream->cc->algorithm->next_change) {
		change = stream->cc->algorithm->next_change(&pace->state, stream->cc);
		if (change > now && change < wake)
			wake = change;
	}
	vl_timer_arm(stream->wheel, &pace->timer, wake);
	return false;
}

bool vl_stream_choose_flow(struct vl_stream *stream, uint64_t now)
{
	struct vl_timer *timer;

	while ((timer = vl_timer_wheel_expire(stream->wheel, now))) {
		struct vl_stream_pace *pace =
			(struct vl_stream_pace *)((char *)timer -
						  offsetof(struct vl_stream_pace, timer));

		if (!is_flow_due(stream, pace, now))
			continue;
		if (pace->due + stream->most_arrears < now) {
			stream->counters.arrears_dropped += now - stream->most_arrears - pace->due;
			pace->due = now - stream->most_arrears;
		}
		stream->turn = (uint32_t)(pace - stream->paces);
		return true;
	}
	return false;
}

void vl_stream_charge_flow(struct vl_stream *stream, uint32_t bytes, uint64_t now)
{
	struct vl_stream_pace *pace = &stream->paces[stream->turn];
	const struct vl_cc_algorithm *algorithm = stream->cc->algorithm;
	uint64_t time;

	if (algorithm->on_send)
		algorithm->on_send(&pace->state, stream->cc, bytes, now);
	pace->byte_time = algorithm->byte_time(&pace->state, stream->cc, now);
	if (!pace->byte_time) {
		pace->due = now;
		return;
	}
	time = pace->byte_time * bytes + pace->fraction;
	pace->due += time / CC_NANOSECOND;
	pace->fraction = time % CC_NANOSECOND;
}

void vl_stream_rearm_flow(struct vl_stream *stream, bool has_more)
{
	struct vl_stream_pace *pace = &stream->paces[stream->turn];

	if (has_more)
		vl_timer_arm(stream->wheel, &pace->timer, pace->due);
}

void vl_stream_take_notification(struct vl_stream *stream, uint32_t flow, uint64_t now)
{
	if (stream->cc && stream->cc->algorithm->on_cnp)
		stream->cc->algorithm->on_cnp(&stream->paces[flow].state, stream->cc, now);
}
