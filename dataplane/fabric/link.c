/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/fabric/link.h"

#include "dataplane/infiniband/congestion.h"
#include "dataplane/pfc.h"
#include "transport/wire/path.h"

#include <errno.h>
#include <string.h>

#define DEFAULT_MTU          9216u
#define DEFAULT_REORDER_HOLD UINT64_C(100000)
#define PREAMBLE             8u
#define FRAME_CHECK          4u
#define GAP                  12u

static bool is_probability(double p)
{
	return p >= 0 && p <= 1;
}

int vl_fabric_link_impair(struct vl_fabric_link *link, const struct vl_impairments *impairments)
{
	const struct vl_impairments *i = impairments;

	if (!is_probability(i->loss) || !is_probability(i->duplicate) ||
	    !is_probability(i->reorder) || !is_probability(i->corrupt) || !is_probability(i->mark))
		return -EINVAL;
	link->config.impairments = *i;
	if (!i->reorder_frames)
		link->config.impairments.reorder_frames = 1;
	if (!i->reorder_hold)
		link->config.impairments.reorder_hold = DEFAULT_REORDER_HOLD;
	link->next_drop = 0;
	link->impaired = i->loss > 0 || i->duplicate > 0 || i->reorder > 0 || i->corrupt > 0 ||
			 i->mark > 0 || i->jitter || i->drop_mask || i->drop_count || i->decide;
	return 0;
}

int vl_fabric_link_init(struct vl_fabric_link *link, const struct vl_link_config *config)
{
	uint32_t mtu = config->mtu ? config->mtu : DEFAULT_MTU;

	if (config->rate < VL_RATE_MIN || config->rate > VL_RATE_MAX ||
	    mtu < VL_ETHERNET_MIN_LENGTH || mtu > UINT16_MAX)
		return -EINVAL;
	*link = (struct vl_fabric_link){
		.config = *config,
		.rate = vl_rate_make(config->rate),
		.propagation = config->propagation,
		.slack = config->slack,
		.mtu = mtu,
		.is_infiniband = config->type == VL_LINK_INFINIBAND,
		.delivers_head = config->delivers_head && config->type == VL_LINK_ETHERNET,
		.random = {config->seed},
	};
	link->config.mtu = mtu;
	return vl_fabric_link_impair(link, &config->impairments);
}

/* The one that arrives first; NULL: none is in flight. At the same time those that have kept their
 * order come first. */
static struct vl_frame *take_first(struct vl_fabric_link *link)
{
	struct vl_frame *frame = link->head, *late = link->late.first;

	if (late && (!frame || late->time < frame->time)) {
		vl_late_frames_remove(&link->late, late);
		frame = late;
	} else if (frame) {
		link->head = frame->next;
		if (!link->head)
			link->tail = NULL;
	}
	return frame;
}

void vl_fabric_link_clear(struct vl_fabric_link *link)
{
	struct vl_frame *frame;

	while ((frame = take_first(link)))
		vl_frame_free(frame);
	link->first_held = NULL;
	link->last_held = NULL;
	link->in_flight = 0;
}

static void put_in_flight(struct vl_fabric_link *link, struct vl_frame *frame)
{
	link->in_flight++;
	if (link->tail && frame->time < link->tail->time) {
		vl_late_frames_add(&link->late, frame);
		return;
	}
	frame->next = NULL;
	if (link->tail)
		link->tail->next = frame;
	else
		link->head = frame;
	link->tail = frame;
}

/* ---- Reordering ------------------------------------------------------------------------- */

/* How many more frames are to pass. */
static uint32_t frames_until(const struct vl_fabric_link *link, const struct vl_frame *held)
{
	return held->release_at - link->passed;
}

/* Until reorder_frames have passed, or for the hold time. All are held for as many frames, unless
 * the impairments have changed since. */
static void hold(struct vl_fabric_link *link, struct vl_frame *frame)
{
	struct vl_frame *before = link->last_held;

	frame->is_held = true;
	frame->release_at = link->passed + link->config.impairments.reorder_frames;
	frame->time += link->config.impairments.reorder_hold;
	while (before && frames_until(link, before) > frames_until(link, frame))
		before = before->previous_held;
	frame->previous_held = before;
	frame->next_held = before ? before->next_held : link->first_held;
	if (frame->next_held)
		frame->next_held->previous_held = frame;
	else
		link->last_held = frame;
	if (before)
		before->next_held = frame;
	else
		link->first_held = frame;
	vl_late_frames_add(&link->late, frame);
	link->in_flight++;
	link->counters.reordered++;
}

static void end_hold(struct vl_fabric_link *link, struct vl_frame *frame)
{
	frame->is_held = false;
	if (frame->previous_held)
		frame->previous_held->next_held = frame->next_held;
	else
		link->first_held = frame->next_held;
	if (frame->next_held)
		frame->next_held->previous_held = frame->previous_held;
	else
		link->last_held = frame->previous_held;
}

/* A frame passes: those that have been overtaken often enough arrive right behind it. */
static void overtake(struct vl_fabric_link *link, const struct vl_frame *passing)
{
	struct vl_frame *frame;

	link->passed++;
	while ((frame = link->first_held) && frame->release_at == link->passed) {
		end_hold(link, frame);
		if (frame->time <= passing->time)
			continue;
		vl_late_frames_remove(&link->late, frame);
		link->in_flight--;
		frame->time = passing->time;
		put_in_flight(link, frame);
	}
}

static void pass(struct vl_fabric_link *link, struct vl_frame *frame)
{
	put_in_flight(link, frame);
	if (link->first_held)
		overtake(link, frame);
}

/* ---- Impairments ------------------------------------------------------------------------ */

static bool happens(struct vl_fabric_link *link, double probability)
{
	return probability > 0 && vl_random_unit(&link->random) < probability;
}

static bool is_chosen_drop(struct vl_fabric_link *link, uint64_t ordinal)
{
	const struct vl_impairments *i = &link->config.impairments;

	while (link->next_drop < i->drop_count && i->drop_ordinals[link->next_drop] < ordinal)
		link->next_drop++;
	return (link->next_drop < i->drop_count && i->drop_ordinals[link->next_drop] == ordinal) ||
	       (i->drop_mask >> (ordinal % 64) & 1);
}

static void drop(struct vl_frame *frame, uint64_t *counter)
{
	++*counter;
	vl_frame_free(frame);
}

static void corrupt(struct vl_fabric_link *link, struct vl_frame *frame)
{
	uint64_t bit = vl_random_below(&link->random, (uint64_t)frame->length * 8);

	frame->data[bit / 8] ^= (uint8_t)(1u << (bit % 8));
	link->counters.corrupted++;
}

static bool mark(struct vl_frame *frame)
{
	return frame->kind == VL_FRAME_INFINIBAND ? vl_infiniband_mark_fecn(frame)
						  : vl_frame_mark_ce(frame->data, frame->length);
}

static uint64_t jitter(struct vl_fabric_link *link)
{
	uint64_t most = link->config.impairments.jitter;

	return most ? vl_random_below(&link->random, most + 1) : 0;
}

static void duplicate(struct vl_fabric_link *link, const struct vl_frame *frame)
{
	struct vl_frame *copy = vl_frame_get(frame->pool);

	if (!copy || copy->capacity < frame->length) {
		link->counters.not_duplicated++;
		if (copy)
			vl_frame_free(copy);
		return;
	}
	memcpy(copy->data, frame->data, frame->length);
	copy->length = frame->length;
	copy->priority = frame->priority;
	copy->kind = frame->kind;
	copy->time = frame->time + jitter(link);
	copy->is_held = false;
	put_in_flight(link, copy);
	link->counters.duplicated++;
}

/* frame->time is its arrival without impairments. */
static void send_impaired(struct vl_fabric_link *link, struct vl_frame *frame, uint64_t ordinal)
{
	const struct vl_impairments *i = &link->config.impairments;
	enum vl_link_action action =
		i->decide ? i->decide(i->decide_context, frame, ordinal) : VL_LINK_PASS;

	if (action == VL_LINK_DROP || is_chosen_drop(link, ordinal)) {
		drop(frame, &link->counters.dropped_chosen);
		return;
	}
	if (happens(link, i->loss)) {
		drop(frame, &link->counters.dropped_loss);
		return;
	}
	if (action == VL_LINK_DUPLICATE || happens(link, i->duplicate))
		duplicate(link, frame);
	frame->time += jitter(link);
	if (action == VL_LINK_CORRUPT || happens(link, i->corrupt))
		corrupt(link, frame);
	if ((action == VL_LINK_MARK || happens(link, i->mark)) && mark(frame))
		link->counters.marked++;
	if (action == VL_LINK_REORDER || happens(link, i->reorder)) {
		hold(link, frame);
		return;
	}
	pass(link, frame);
}

/* ---- The line --------------------------------------------------------------------------- */

/* Occupies the line for a frame. Returns when its last bit leaves. */
static uint64_t clock_out(struct vl_fabric_link *link, uint32_t length, uint64_t now)
{
	uint32_t padded = length < VL_ETHERNET_MIN_LENGTH ? VL_ETHERNET_MIN_LENGTH : length;
	uint64_t end;

	if (vl_fabric_link_free_at(link) + link->slack < now) {
		link->busy_until = now;
		link->busy_remainder = 0;
	}
	if (link->is_infiniband) {
		link->busy_until +=
			vl_rate_time(link->rate, (length + VL_INFINIBAND_OVERHEAD) * UINT64_C(8),
				     &link->busy_remainder);
		return vl_fabric_link_free_at(link);
	}
	link->busy_until += vl_rate_time(
		link->rate, (PREAMBLE + padded + FRAME_CHECK) * UINT64_C(8), &link->busy_remainder);
	end = vl_fabric_link_free_at(link);
	link->busy_until += vl_rate_time(link->rate, GAP * UINT64_C(8), &link->busy_remainder);
	return end;
}

/* From the arrival of a frame's head to that of its last bit, rounded down: so the head comes no
 * earlier than it does on the line, and never before the frame ahead, however fast that is. */
static uint64_t tail_time(const struct vl_fabric_link *link, uint32_t length)
{
	uint64_t remainder = 0;

	if (length + FRAME_CHECK <= VL_ETHERNET_HEAD)
		return 0;
	return vl_rate_time(link->rate, (length + FRAME_CHECK - VL_ETHERNET_HEAD) * UINT64_C(8),
			    &remainder);
}

static bool is_exempt(const struct vl_frame *frame)
{
	return frame->kind == VL_FRAME_ETHERNET ? vl_is_mac_control(frame->data, frame->length)
						: frame->kind == VL_FRAME_INFINIBAND_LINK;
}

void vl_fabric_link_send(struct vl_fabric_link *link, struct vl_frame *frame, uint64_t now)
{
	if (frame->length > link->mtu) {
		drop(frame, &link->counters.dropped_mtu);
		return;
	}
	frame->time = clock_out(link, frame->length, now) + link->propagation;
	if (link->delivers_head)
		frame->time -= tail_time(link, frame->length);
	frame->is_held = false;
	link->counters.frames_tx++;
	link->counters.bytes_tx += frame->length;
	if (link->impaired && !is_exempt(frame))
		send_impaired(link, frame, link->ordinal++);
	else
		pass(link, frame);
}

struct vl_frame *vl_fabric_link_receive(struct vl_fabric_link *link, uint64_t now)
{
	struct vl_frame *frame;

	if (vl_fabric_link_next_arrival(link) > now)
		return NULL;
	frame = take_first(link);
	if (!frame)
		return NULL;
	link->in_flight--;
	if (frame->is_held)
		end_hold(link, frame);
	frame->whole_at = frame->time + (link->delivers_head ? tail_time(link, frame->length) : 0);
	link->counters.frames_rx++;
	link->counters.bytes_rx += frame->length;
	return frame;
}
