/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/generate/schedule.h"

#include <string.h>

/* Bytes around a payload: Ethernet 14, UDP 8, BTH 12, ICRC 4, FCS 4. */
#define FRAME_BYTES 42u
#define IPV4_BYTES  20u
#define IPV6_BYTES  40u
#define VLAN_BYTES  4u
/* Preamble 8, gap 12. IEEE 802.3. */
#define LINE_BYTES 20u
/* The shortest frame with its FCS. */
#define LEAST_FRAME 64u
/* Extended headers. */
#define RETH_BYTES       16u
#define AETH_BYTES       4u
#define ATOMIC_ACK_BYTES 8u
#define IMMEDIATE_BYTES  4u
#define DETH_BYTES       8u

#define LEAST_BIT_RATE 1000u
#define NANOSECONDS    UINT64_C(1000000000)

uint32_t vl_message_frames(const struct vl_framing *framing, struct vl_message message)
{
	unsigned int shift = 7u + framing->path_mtu;

	return message.size ? ((message.size - 1) >> shift) + 1 : 1;
}

/* Extended headers of all frames of a message. */
static uint32_t extension_bytes(const struct vl_framing *framing, struct vl_message message,
				uint32_t frames)
{
	uint32_t bytes = framing->is_datagram ? DETH_BYTES : 0;

	switch (message.verb) {
	case VL_FLOW_SEND_IMM:
		return bytes + IMMEDIATE_BYTES;
	case VL_FLOW_WRITE:
		return RETH_BYTES;
	case VL_FLOW_WRITE_IMM:
		return RETH_BYTES + IMMEDIATE_BYTES;
	case VL_FLOW_READ:
		return frames > 1 ? 2 * AETH_BYTES : AETH_BYTES;
	case VL_FLOW_COMPARE_SWAP:
	case VL_FLOW_FETCH_ADD:
		/* The answer's payload is in the header: the message's 8 B are that. */
		return AETH_BYTES + ATOMIC_ACK_BYTES - VL_FLOW_ATOMIC_SIZE;
	default:
		return bytes;
	}
}

uint64_t vl_message_cost(const struct vl_framing *framing, enum vl_rate_count counts,
			 struct vl_message message)
{
	uint32_t frames, each;
	uint64_t bytes;

	if (counts == VL_RATE_OF_MESSAGES)
		return 1;
	if (counts == VL_RATE_OF_PAYLOAD)
		return message.size;
	frames = vl_message_frames(framing, message);
	each = FRAME_BYTES + (framing->is_ipv6 ? IPV6_BYTES : IPV4_BYTES) +
	       (framing->has_vlan ? VLAN_BYTES : 0);
	bytes = ((uint64_t)message.size + 3) / 4 * 4 + (uint64_t)frames * each +
		extension_bytes(framing, message, frames);
	/* Only a message of one frame can be shorter than a frame may be: the last frame of several
	 * has a BTH and a byte of payload, padded, and is 66 B even then. */
	if (bytes < LEAST_FRAME)
		bytes = LEAST_FRAME;
	return counts == VL_RATE_OF_LINE ? bytes + (uint64_t)frames * LINE_BYTES : bytes;
}

const char *vl_schedule_config_error(const struct vl_schedule_config *config)
{
	if (!config->rate)
		return NULL;
	if (config->counts != VL_RATE_OF_MESSAGES && config->rate < LEAST_BIT_RATE)
		return "the rate must be 1 kb/s or more";
	if (config->whole && (!config->part || config->part > config->whole))
		return "the part of the rate must be more than nothing and at most the whole";
	if (config->burst > VL_MAX_BURST_FRAMES)
		return "a burst must be 1 to 1000 frames";
	if (config->ramp_from >= config->rate)
		return "the ramp must begin below the rate";
	return NULL;
}

/* 2^-32 ns per byte or message, at a rate that is given in 1/VL_RAMP_STEPS. */
static uint64_t unit_time(const struct vl_schedule_config *config, uint64_t rate_steps)
{
	uint64_t unit = config->counts == VL_RATE_OF_MESSAGES ? 1 : 8;
	uint64_t part = config->whole ? config->part : 1;
	uint64_t whole = config->whole ? config->whole : 1;
	unsigned __int128 time = (unsigned __int128)(unit * NANOSECONDS * VL_RAMP_STEPS) << 32;
	unsigned __int128 rate = (unsigned __int128)rate_steps * part;

	/* Of the whole rate first, as the product might not fit. */
	time = (time / rate) * whole + (time % rate) * whole / rate;
	return time > UINT64_MAX ? UINT64_MAX : (uint64_t)time;
}

void vl_schedule_plan_init(struct vl_schedule_plan *plan, const struct vl_schedule_config *config)
{
	uint64_t rate;

	memset(plan, 0, sizeof(*plan));
	plan->config = *config;
	if (!config->rate)
		return;
	plan->unit_times[VL_RAMP_STEPS] = unit_time(config, config->rate * VL_RAMP_STEPS);
	if (!config->ramp_time)
		return;
	plan->step_time = config->ramp_time / VL_RAMP_STEPS + 1;
	/* The rate in the middle of each step, so that the ramp carries what a straight line
	 * would. */
	for (uint64_t step = 0; step < VL_RAMP_STEPS; step++) {
		rate = config->ramp_from * VL_RAMP_STEPS +
		       (config->rate - config->ramp_from) * (2 * step + 1) / 2;
		plan->unit_times[step] = unit_time(config, rate);
	}
}

void vl_schedule_start(struct vl_schedule *schedule, const struct vl_schedule_plan *plan,
		       uint64_t start, uint64_t phase)
{
	*schedule = (struct vl_schedule){.plan = plan,
					 .next_time = start + phase,
					 .unit_time = plan->unit_times[VL_RAMP_STEPS],
					 .step_end = UINT64_MAX};
	if (!plan->step_time)
		return;
	schedule->unit_time = plan->unit_times[0];
	schedule->step_end = start + plan->step_time;
}

static void next_step(struct vl_schedule *schedule)
{
	const struct vl_schedule_plan *plan = schedule->plan;

	while (schedule->next_time >= schedule->step_end) {
		schedule->unit_time = plan->unit_times[++schedule->step];
		schedule->step_end = schedule->step == VL_RAMP_STEPS
					     ? UINT64_MAX
					     : schedule->step_end + plan->step_time;
	}
}

uint64_t vl_schedule_advance(struct vl_schedule *schedule, struct vl_message message)
{
	const struct vl_schedule_config *config = &schedule->plan->config;
	uint64_t cost = vl_message_cost(&config->framing, config->counts, message), fraction;
	unsigned __int128 time =
		(unsigned __int128)cost * schedule->unit_time + schedule->burst_fraction;

	schedule->burst_time += (uint64_t)(time >> 32);
	schedule->burst_fraction = (uint32_t)time;
	if (config->burst) {
		schedule->burst_frames += vl_message_frames(&config->framing, message);
		if (schedule->burst_frames < config->burst)
			return cost;
		schedule->burst_frames = 0;
	}
	fraction = (uint64_t)schedule->next_fraction + schedule->burst_fraction;
	schedule->next_fraction = (uint32_t)fraction;
	schedule->next_time += schedule->burst_time + (fraction >> 32);
	schedule->burst_time = 0;
	schedule->burst_fraction = 0;
	if (schedule->next_time >= schedule->step_end)
		next_step(schedule);
	return cost;
}

uint64_t vl_schedule_catch_up(struct vl_schedule *schedule, uint64_t now)
{
	uint64_t late;

	if (schedule->next_time + VL_SCHEDULE_ARREARS >= now)
		return 0;
	late = now - schedule->next_time - VL_SCHEDULE_ARREARS;
	schedule->next_time += late;
	return late;
}

uint64_t vl_schedule_interval(const struct vl_schedule_plan *plan, struct vl_message message)
{
	uint64_t cost = vl_message_cost(&plan->config.framing, plan->config.counts, message);

	return (uint64_t)((unsigned __int128)cost * plan->unit_times[VL_RAMP_STEPS] >> 32);
}
