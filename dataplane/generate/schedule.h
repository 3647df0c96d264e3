/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * When messages are due so that a rate is held: arithmetic only, exact over any time, as the part
 * of a nanosecond is carried. A rate counts payload, frames or what the line carries, or messages;
 * messages may come in bursts; the rate may begin with a ramp.
 */
#ifndef VERBLINE_GENERATE_SCHEDULE_H
#define VERBLINE_GENERATE_SCHEDULE_H

#include "dataplane/generate/mix.h"

#include <stdbool.h>
#include <stdint.h>

/* X(enumerator, name, meaning) */
#define VL_RATE_COUNTS(X)                                                                          \
	X(PAYLOAD, "payload", "bits of messages")                                                  \
	X(FRAMES, "frames", "bits of frames, from the Ethernet header to the FCS")                 \
	X(LINE, "line", "bits on the line: frames, preambles and gaps")                            \
	X(MESSAGES, "messages", "messages, of whatever size")

enum vl_rate_count {
#define VL_RATE_COUNT_VALUE(enumerator, name, meaning) VL_RATE_OF_##enumerator,
	VL_RATE_COUNTS(VL_RATE_COUNT_VALUE)
#undef VL_RATE_COUNT_VALUE
};

/* How a message becomes frames. */
struct vl_framing {
	enum ibv_mtu path_mtu;
	bool is_ipv6;
	bool has_vlan;
	bool is_datagram; /* UD */
};

#define VL_MAX_BURST_FRAMES 1000u
#define VL_RAMP_STEPS       128u
/* A schedule that could not be kept makes up for this much, ns, and is put off by the rest. */
#define VL_SCHEDULE_ARREARS UINT64_C(10000000)

struct vl_schedule_config {
	/* bit/s or messages/s: part/whole of rate. whole 0: 1/1. At least 1 kb/s or one message in
	 * 1000 s. */
	uint64_t rate;
	uint64_t part, whole;
	enum vl_rate_count counts;
	struct vl_framing framing;
	uint32_t burst;     /* frames that may leave back to back, up to VL_MAX_BURST_FRAMES; 0: a
			       message's own. A message is never divided. */
	uint64_t ramp_time; /* ns from the start, in which the rate grows in steps; 0: none */
	uint64_t ramp_from; /* in the unit of rate, part/whole of it too; below rate; 0: nothing */
};

/* What all queue pairs with the same rate share. */
struct vl_schedule_plan {
	struct vl_schedule_config config;
	uint64_t step_time; /* ns, of the ramp; 0: none */
	/* 2^-32 ns per byte or message: of the ramp's steps, then of the rate. */
	uint64_t unit_times[VL_RAMP_STEPS + 1];
};

struct vl_schedule {
	const struct vl_schedule_plan *plan;
	uint64_t next_time;      /* ns: when the next message is due */
	uint64_t unit_time;      /* of the plan, at present */
	uint64_t step_end;       /* ns: when unit_time changes */
	uint64_t burst_time;     /* ns, of the messages of the present burst */
	uint32_t burst_fraction; /* 2^-32 ns */
	uint32_t next_fraction;  /* 2^-32 ns */
	uint32_t burst_frames;   /* sent of the present burst */
	uint32_t step;
};

/* Frames of a message, and its bytes as the rate counts them, or 1. Data counts wherever it flows:
 * of a READ its responses. */
uint32_t vl_message_frames(const struct vl_framing *framing, struct vl_message message);
uint64_t vl_message_cost(const struct vl_framing *framing, enum vl_rate_count counts,
			 struct vl_message message);

/* What is wrong, as text for people; NULL: nothing. */
const char *vl_schedule_config_error(const struct vl_schedule_config *config);
/* The configuration has no error. */
void vl_schedule_plan_init(struct vl_schedule_plan *plan, const struct vl_schedule_config *config);
/* The first message is due at start + phase, the ramp begins at start. */
void vl_schedule_start(struct vl_schedule *schedule, const struct vl_schedule_plan *plan,
		       uint64_t start, uint64_t phase);
/* The message that was due at next_time has been sent: moves on to the next one. Returns the
 * message's cost. */
uint64_t vl_schedule_advance(struct vl_schedule *schedule, struct vl_message message);
/* Messages were due but could not be sent until now: what lies too long back is given up.
 * Returns ns that the schedule was put off. */
uint64_t vl_schedule_catch_up(struct vl_schedule *schedule, uint64_t now);
/* ns from message to message of this size at the full rate. */
uint64_t vl_schedule_interval(const struct vl_schedule_plan *plan, struct vl_message message);

#endif
