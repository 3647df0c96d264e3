/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/fabric/scheduler.h"

#include <inttypes.h>
#include <stdio.h>

/* The heaviest queue's turn: no less than the longest usual frame, so that it sends in every
 * turn, and little more, so that others do not wait long. */
#define HEAVIEST_QUANTUM 9216u
#define FRAME_CHECK      4u
#define NO_QUEUE         VL_SCHEDULER_QUEUES

static _Thread_local char error_text[128];

/* ---- Shaping --------------------------------------------------------------------------- */

const char *vl_shaper_config_error(const struct vl_shaper_config *config)
{
	if (!config->rate)
		return NULL;
	if (config->rate < VL_RATE_MIN || config->rate > VL_RATE_MAX) {
		snprintf(error_text, sizeof(error_text),
			 "is shaped to %" PRIu64 " bit/s; a shaper's rate is 1 Mb/s to 4 Tb/s",
			 config->rate);
		return error_text;
	}
	if (config->burst > VL_SHAPER_BURST_MAX) {
		snprintf(error_text, sizeof(error_text),
			 "is shaped with a burst of %" PRIu64 " B; the largest is 1 GiB",
			 config->burst);
		return error_text;
	}
	return NULL;
}

void vl_shaper_init(struct vl_shaper *shaper, const struct vl_shaper_config *config)
{
	uint64_t remainder = 0;

	shaper->rate = vl_rate_make(config->rate);
	shaper->burst_time = vl_rate_time(shaper->rate, config->burst * 8, &remainder);
}

void vl_shaper_charge(const struct vl_shaper *shaper, struct vl_shaper_state *state,
		      uint32_t length, uint64_t now)
{
	/* Who comes at the first whole nanosecond after the fraction loses nothing by it. */
	if (state->time + (state->remainder != 0) < now) {
		state->time = now;
		state->remainder = 0;
	}
	state->time +=
		vl_rate_time(shaper->rate, (length + FRAME_CHECK) * UINT64_C(8), &state->remainder);
}

/* ---- Set-up ---------------------------------------------------------------------------- */

const char *vl_scheduler_queue_config_error(const struct vl_scheduler_queue_config *config)
{
	if (config->type > VL_SCHEDULING_STRICT)
		return "is scheduled neither by DWRR, WRR nor strictly";
	if (config->weight > VL_SCHEDULER_WEIGHT_MAX) {
		snprintf(error_text, sizeof(error_text), "has the weight %u; the largest is %u",
			 config->weight, VL_SCHEDULER_WEIGHT_MAX);
		return error_text;
	}
	return vl_shaper_config_error(&config->shaper);
}

static const struct vl_scheduler_queue_config *queue_at(
	const struct vl_scheduler_queue_config *queues, uint32_t stride, unsigned int n)
{
	return (const void *)((const char *)queues + (size_t)n * stride);
}

static uint32_t weight_of(const struct vl_scheduler_queue_config *queue)
{
	return queue->weight ? queue->weight : 1;
}

void vl_scheduler_init(struct vl_scheduler *scheduler,
		       const struct vl_scheduler_queue_config *queues, uint32_t stride,
		       const struct vl_shaper_config *port)
{
	uint32_t heaviest = 1;

	*scheduler = (struct vl_scheduler){.is_port_shaped = port->rate != 0};
	if (port->rate)
		vl_shaper_init(&scheduler->port_shaper, port);
	for (unsigned int i = 0; i < VL_SCHEDULER_QUEUES; i++) {
		const struct vl_scheduler_queue_config *queue = queue_at(queues, stride, i);
		uint8_t bit = (uint8_t)(1u << i);

		if (queue->type == VL_SCHEDULING_STRICT)
			scheduler->strict |= bit;
		else if (queue->type == VL_SCHEDULING_WRR)
			scheduler->by_frames |= bit;
		else if (weight_of(queue) > heaviest)
			heaviest = weight_of(queue);
		if (queue->shaper.rate) {
			scheduler->shaped |= bit;
			vl_shaper_init(&scheduler->shapers[i], &queue->shaper);
		}
	}
	for (unsigned int i = 0; i < VL_SCHEDULER_QUEUES; i++) {
		const struct vl_scheduler_queue_config *queue = queue_at(queues, stride, i);

		scheduler->quanta[i] = weight_of(queue);
		if (queue->type == VL_SCHEDULING_DWRR)
			scheduler->quanta[i] *= (HEAVIEST_QUANTUM + heaviest - 1) / heaviest;
		scheduler->reciprocals[i] = (UINT64_C(1) << 32) / (uint64_t)scheduler->quanta[i];
	}
}

/* ---- Running --------------------------------------------------------------------------- */

uint8_t vl_scheduler_open(const struct vl_scheduler *scheduler,
			  const struct vl_scheduler_state *state, uint8_t candidates, uint64_t now)
{
	if (scheduler->is_port_shaped &&
	    vl_shaper_open_at(&scheduler->port_shaper, &state->port_shaper) > now)
		return 0;
	for (uint8_t left = candidates & scheduler->shaped; left; left &= (uint8_t)(left - 1)) {
		unsigned int q = (unsigned int)__builtin_ctz(left);

		if (vl_shaper_open_at(&scheduler->shapers[q], &state->shapers[q]) > now)
			candidates &= (uint8_t) ~(1u << q);
	}
	return candidates;
}

uint64_t vl_scheduler_open_at(const struct vl_scheduler *scheduler,
			      const struct vl_scheduler_state *state, uint8_t candidates)
{
	uint64_t first = candidates & ~scheduler->shaped ? 0 : UINT64_MAX, port = 0;

	for (uint8_t left = candidates & scheduler->shaped; left && first;
	     left &= (uint8_t)(left - 1)) {
		unsigned int q = (unsigned int)__builtin_ctz(left);
		uint64_t time = vl_shaper_open_at(&scheduler->shapers[q], &state->shapers[q]);

		if (time < first)
			first = time;
	}
	if (scheduler->is_port_shaped)
		port = vl_shaper_open_at(&scheduler->port_shaper, &state->port_shaper);
	return port > first ? port : first;
}

static int64_t cost_of(const struct vl_scheduler *scheduler,
		       const struct vl_frame_queue queues[VL_SCHEDULER_QUEUES], unsigned int q)
{
	return scheduler->by_frames >> q & 1 ? 1 : (int64_t)queues[q].head->length;
}

/* Gives each queue its turn, from the one at turn on, until one may send; NO_QUEUE: none may. */
static uint8_t go_round(const struct vl_scheduler *scheduler, struct vl_scheduler_state *state,
			const struct vl_frame_queue queues[VL_SCHEDULER_QUEUES], uint8_t candidates,
			uint8_t occupied)
{
	for (unsigned int i = 0; i < VL_SCHEDULER_QUEUES; i++) {
		uint8_t q = state->turn;

		if (candidates >> q & 1) {
			int64_t cost = cost_of(scheduler, queues, q);

			if (!state->has_begun)
				state->deficits[q] += scheduler->quanta[q];
			state->has_begun = true;
			if (cost <= state->deficits[q]) {
				state->deficits[q] -= cost;
				return q;
			}
		} else if (!(occupied >> q & 1)) {
			state->deficits[q] = 0;
		}
		state->turn = (uint8_t)((q + 1) % VL_SCHEDULER_QUEUES);
		state->has_begun = false;
	}
	return NO_QUEUE;
}

/* The rounds in which none of the candidates could send, all at once. The reciprocals are rounded
 * down, so one such round may be left. */
static void skip_rounds(const struct vl_scheduler *scheduler, struct vl_scheduler_state *state,
			const struct vl_frame_queue queues[VL_SCHEDULER_QUEUES], uint8_t candidates)
{
	int64_t rounds = INT64_MAX;

	for (uint8_t left = candidates; left; left &= (uint8_t)(left - 1)) {
		unsigned int q = (unsigned int)__builtin_ctz(left);
		uint64_t missing =
			(uint64_t)(cost_of(scheduler, queues, q) - state->deficits[q] - 1);
		int64_t needed = (int64_t)(missing * scheduler->reciprocals[q] >> 32);

		if (needed < rounds)
			rounds = needed;
	}
	for (uint8_t left = candidates; left; left &= (uint8_t)(left - 1)) {
		unsigned int q = (unsigned int)__builtin_ctz(left);

		state->deficits[q] += rounds * scheduler->quanta[q];
	}
}

uint8_t vl_scheduler_round_robin(const struct vl_scheduler *scheduler,
				 struct vl_scheduler_state *state,
				 const struct vl_frame_queue queues[VL_SCHEDULER_QUEUES],
				 uint8_t candidates, uint8_t occupied)
{
	uint8_t queue;

	while ((queue = go_round(scheduler, state, queues, candidates, occupied)) == NO_QUEUE)
		skip_rounds(scheduler, state, queues, candidates);
	return queue;
}

void vl_scheduler_charge_shapers(const struct vl_scheduler *scheduler,
				 struct vl_scheduler_state *state, uint8_t queue, uint32_t length,
				 uint64_t now)
{
	if (scheduler->is_port_shaped)
		vl_shaper_charge(&scheduler->port_shaper, &state->port_shaper, length, now);
	if (scheduler->shaped >> queue & 1)
		vl_shaper_charge(&scheduler->shapers[queue], &state->shapers[queue], length, now);
}
