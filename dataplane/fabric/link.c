/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/fabric/link.h"

#include <errno.h>
#include <string.h>

#include "dataplane/infiniband/congestion.h"
#include "dataplane/pfc.h"
#include "transport/wire/path.h"

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

void vl_fabric_link_clear(struct vl_fabric_link *link)
{
	struct vl_frame *frame = link->head;

	while (frame) {
		struct vl_frame *next = frame->next;

		vl_frame_free(frame);
		frame = next;
	}
	link->head = NULL;
	link->tail = NULL;
	link->in_flight = 0;
	link->held = 0;
}

/* After all that arrive earlier or at the same time; new frames mostly arrive last. */
static void insert(struct vl_fabric_link *link, struct vl_frame *frame)
{
	struct vl_frame *before = link->tail;

	while (before && before->time > frame->time)
		before = before->previous;
	frame->previous = before;
	frame->next = before ? before->next : link->head;
	if (frame->next)
		frame->next->previous = frame;
	else
		link->tail = frame;
	if (before)
		before->next = frame;
	else
		link->head = frame;
	link->in_flight++;
}

static void take_out(struct vl_fabric_link *link, struct vl_frame *frame)
{
	if (frame->previous)
		frame->previous->next = frame->next;
	else
		link->head = frame->next;
	if (frame->next)
		frame->next->previous = frame->previous;
	else
		link->tail = frame->previous;
	link->in_flight--;
}

/* A frame passes: those that have been overtaken often enough arrive right behind it. Held frames
 * arrive late, so they are near the tail. */
static void overtake(struct vl_fabric_link *link, const struct vl_frame *passing)
{
	struct vl_frame *frame = link->tail;
	uint32_t left = link->held;

	while (left && frame) {
		struct vl_frame *previous = frame->previous;

		if (frame->countdown) {
			left--;
			if (!--frame->countdown) {
				link->held--;
				if (frame->time > passing->time) {
					take_out(link, frame);
					frame->time = passing->time;
					insert(link, frame);
				}
			}
		}
		frame = previous;
	}
}

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
	copy->countdown = 0;
	insert(link, copy);
	link->counters.duplicated++;
}

static void hold(struct vl_fabric_link *link, struct vl_frame *frame)
{
	frame->countdown = link->config.impairments.reorder_frames;
	frame->time += link->config.impairments.reorder_hold;
	link->held++;
	link->counters.reordered++;
}

static void put_in_flight(struct vl_fabric_link *link, struct vl_frame *frame)
{
	insert(link, frame);
	if (link->held)
		overtake(link, frame);
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
		insert(link, frame);
		return;
	}
	put_in_flight(link, frame);
}

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

/* From the arrival of a frame's head to that of its last bit, rounded up. */
static uint64_t tail_time(const struct vl_fabric_link *link, uint32_t length)
{
	if (length + FRAME_CHECK <= VL_ETHERNET_HEAD)
		return 0;
	return vl_rate_time_up(link->rate, (length + FRAME_CHECK - VL_ETHERNET_HEAD) * UINT64_C(8));
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
	frame->countdown = 0;
	link->counters.frames_tx++;
	link->counters.bytes_tx += frame->length;
	if (link->impaired && !is_exempt(frame))
		send_impaired(link, frame, link->ordinal++);
	else
		put_in_flight(link, frame);
}

struct vl_frame *vl_fabric_link_receive(struct vl_fabric_link *link, uint64_t now)
{
	struct vl_frame *frame = link->head;

	if (!frame || frame->time > now)
		return NULL;
	take_out(link, frame);
	if (frame->countdown)
		link->held--;
	frame->whole_at = frame->time + (link->delivers_head ? tail_time(link, frame->length) : 0);
	link->counters.frames_rx++;
	link->counters.bytes_rx += frame->length;
	return frame;
}
