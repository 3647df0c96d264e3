/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Forwarding of an InfiniBand switch: in, to wait, and out. */

#include "dataplane/infiniband/switch_private.h"
#include "transport/wire/headers.h"

#include <stddef.h>

#define NO_PORT   VL_INFINIBAND_SWITCH_NO_PORT
#define NO_ROUTE  UINT16_MAX
#define LANE_BITS 4

/* ---- Buffers ---------------------------------------------------------------------------- */

static void list_credit_port(struct vl_infiniband_switch *sw, uint32_t number)
{
	struct vl_infiniband_switch_port *port = &sw->ports[number];

	if (port->in_credit_list)
		return;
	port->in_credit_list = true;
	port->next_credit_port = sw->first_credit_port;
	sw->first_credit_port = number;
}

uint32_t vl_infiniband_switch_next_credit_port(struct vl_infiniband_switch *sw)
{
	uint32_t number = sw->first_credit_port;

	if (number != NO_PORT) {
		sw->first_credit_port = sw->ports[number].next_credit_port;
		sw->ports[number].in_credit_list = false;
	}
	return number;
}

static void release(struct vl_infiniband_switch *sw, uint32_t in, uint8_t lane, uint32_t length)
{
	if (lane == VL_INFINIBAND_MANAGEMENT_LANE)
		sw->ports[in].management_bytes -= length;
	else if (vl_infiniband_port_release(&sw->ports[in].link, lane, length))
		list_credit_port(sw, in);
}

static void discard(struct vl_infiniband_switch *sw, struct vl_frame *frame)
{
	release(sw, frame->ingress_port, frame->virtual_lane, frame->length);
	vl_frame_free(frame);
}

/* ---- Queues ----------------------------------------------------------------------------- */

static struct vl_virtual_output_queue *queues_of(const struct vl_infiniband_switch *sw,
						 uint32_t out, uint8_t lane)
{
	size_t row = lane < sw->virtual_lanes ? lane : sw->virtual_lanes;

	return &sw->queues[(out * (sw->virtual_lanes + (size_t)1) + row) * sw->config.ports];
}

static void account(struct vl_infiniband_output *output, uint64_t bytes, uint64_t now)
{
	output->area += (unsigned __int128)output->bytes * (now - output->changed);
	output->changed = now;
	output->bytes = bytes;
	if (bytes > output->watermark)
		output->watermark = bytes;
}

static void push(struct vl_infiniband_switch *sw, uint32_t out, uint8_t lane,
		 struct vl_frame *frame, uint64_t now)
{
	struct vl_infiniband_output *output = &sw->ports[out].outputs[lane];
	struct vl_virtual_output_queue *queues = queues_of(sw, out, lane);
	struct vl_virtual_output_queue *queue = &queues[frame->ingress_port];

	frame->next = NULL;
	frame->time = now;
	account(output, output->bytes + frame->length, now);
	sw->packets++;
	if (queue->head) {
		queue->tail->next = frame;
		queue->tail = frame;
		return;
	}
	queue->head = queue->tail = frame;
	if (output->last == NO_PORT) {
		queue->next = frame->ingress_port;
		output->head_since = now;
		vl_infiniband_port_set_head(&sw->ports[out].link, lane, frame->length, now);
	} else {
		queue->next = queues[output->last].next;
		queues[output->last].next = frame->ingress_port;
	}
	output->last = frame->ingress_port;
}

/* The frame at the head of an output, which has one. */
static struct vl_frame *head_of(const struct vl_infiniband_switch *sw, uint32_t out, uint8_t lane)
{
	const struct vl_virtual_output_queue *queues = queues_of(sw, out, lane);

	return queues[queues[sw->ports[out].outputs[lane].last].next].head;
}

/* Takes it out. If it is sent the next input has its turn. If it is dropped the turn stays: on a
 * loop where all outputs drop at the same times, those that come through must not always be the
 * same input's. */
static struct vl_frame *pop(struct vl_infiniband_switch *sw, uint32_t out, uint8_t lane,
			    bool is_sent, uint64_t now)
{
	struct vl_infiniband_output *output = &sw->ports[out].outputs[lane];
	struct vl_virtual_output_queue *queues = queues_of(sw, out, lane);
	uint32_t input = queues[output->last].next;
	struct vl_virtual_output_queue *queue = &queues[input];
	struct vl_frame *frame = queue->head;

	queue->head = frame->next;
	if (queue->head)
		output->last = is_sent ? input : output->last;
	else if (output->last == input)
		output->last = NO_PORT;
	else
		queues[output->last].next = queue->next;
	account(output, output->bytes - frame->length, now);
	output->head_since = now;
	sw->packets--;
	return frame;
}

static void show_head(struct vl_infiniband_switch *sw, uint32_t out, uint8_t lane, uint64_t now)
{
	struct vl_infiniband_switch_port *port = &sw->ports[out];
	uint32_t length = 0;

	if (port->outputs[lane].last != NO_PORT)
		length = head_of(sw, out, lane)->length;
	vl_infiniband_port_set_head(&port->link, lane, length, now);
}

/* ---- Receiving -------------------------------------------------------------------------- */

static uint32_t route_of(const struct vl_infiniband_switch *sw, const struct vl_lrh *lrh)
{
	uint16_t lid = vl_load_be16(lrh->destination_lid);

	return lid < sw->route_count && sw->routes[lid] != NO_ROUTE ? sw->routes[lid] : NO_PORT;
}

static uint8_t lane_of(const struct vl_infiniband_switch *sw, uint32_t in, uint32_t out,
		       const struct vl_lrh *lrh)
{
	uint64_t map = sw->sl_to_vl ? sw->sl_to_vl[(size_t)in * sw->config.ports + out]
				    : sw->default_sl_to_vl;

	return map >> (LANE_BITS * (lrh->service_next >> 4)) & 0xf;
}

/* Charges the buffer of lane 15. */
static bool admit_management(struct vl_infiniband_switch *sw,
			     struct vl_infiniband_switch_port *port, const struct vl_frame *frame)
{
	if (port->management_bytes + frame->length > sw->config.management_buffer) {
		port->link.counters.vl15_dropped++;
		return false;
	}
	port->management_bytes += frame->length;
	return true;
}

uint32_t vl_infiniband_switch_receive(struct vl_infiniband_switch *sw, uint32_t number,
				      struct vl_frame *frame, uint64_t now)
{
	const struct vl_lrh *lrh = (const struct vl_lrh *)frame->data;
	struct vl_infiniband_switch_port *port = &sw->ports[number];
	uint8_t lane = VL_INFINIBAND_MANAGEMENT_LANE;
	uint32_t out;

	if (frame->kind == VL_FRAME_INFINIBAND_LINK) {
		vl_infiniband_port_receive_link(&port->link, frame, now);
		vl_frame_free(frame);
		return number;
	}
	if (!vl_infiniband_port_accept(&port->link, frame) ||
	    (frame->virtual_lane == lane && !admit_management(sw, port, frame))) {
		vl_frame_free(frame);
		return NO_PORT;
	}
	frame->ingress_port = (uint16_t)number;
	out = route_of(sw, lrh);
	if (out == NO_PORT || out == number) {
		port->link.counters.port_rcv_switch_relay_errors++;
		discard(sw, frame);
		return NO_PORT;
	}
	if (frame->virtual_lane != lane) {
		lane = lane_of(sw, number, out, lrh);
		if (lane == VL_INFINIBAND_MANAGEMENT_LANE) {
			sw->ports[out].link.counters.port_xmit_discards++;
			discard(sw, frame);
			return NO_PORT;
		}
	}
	push(sw, out, lane, frame, now);
	return out;
}

/* ---- Age -------------------------------------------------------------------------------- */

/* When the head of a lane is too old; UINT64_MAX: never. */
static uint64_t expiry(const struct vl_infiniband_switch *sw, uint32_t out, uint8_t lane)
{
	const struct vl_infiniband_switch_config *config = &sw->config;
	uint64_t time = UINT64_MAX;

	if (config->head_of_queue_lifetime)
		time = sw->ports[out].outputs[lane].head_since + config->head_of_queue_lifetime;
	if (config->packet_lifetime) {
		uint64_t end = head_of(sw, out, lane)->time + config->packet_lifetime;

		time = end < time ? end : time;
	}
	return time;
}

static bool has_lifetimes(const struct vl_infiniband_switch *sw)
{
	return sw->config.head_of_queue_lifetime || sw->config.packet_lifetime;
}

static void drop_head(struct vl_infiniband_switch *sw, uint32_t out, uint8_t lane, uint64_t now)
{
	struct vl_infiniband_port *link = &sw->ports[out].link;
	struct vl_infiniband_lane_counters *counters = &link->lane_counters[lane];
	struct vl_frame *frame = head_of(sw, out, lane);

	if (sw->config.packet_lifetime && frame->time + sw->config.packet_lifetime <= now)
		counters->discards_lifetime++;
	else
		counters->discards_head_of_queue++;
	link->counters.port_xmit_discards++;
	discard(sw, pop(sw, out, lane, false, now));
}

static void drop_old(struct vl_infiniband_switch *sw, uint32_t out, uint64_t now)
{
	struct vl_infiniband_switch_port *port = &sw->ports[out];
	uint16_t lanes = port->link.waiting & port->link.lanes;

	for (; lanes; lanes &= (uint16_t)(lanes - 1)) {
		uint8_t lane = (uint8_t)__builtin_ctz(lanes);

		if (expiry(sw, out, lane) > now)
			continue;
		while (port->outputs[lane].last != NO_PORT && expiry(sw, out, lane) <= now)
			drop_head(sw, out, lane, now);
		show_head(sw, out, lane, now);
	}
}

/* ---- Transmitting ----------------------------------------------------------------------- */

/* Of a packet that leaves, by what waits behind it. */
static void mark(struct vl_infiniband_switch *sw, struct vl_infiniband_switch_port *port,
		 uint8_t lane, struct vl_frame *frame)
{
	const struct vl_switch_congestion_setting *setting = &sw->config.congestion;
	struct vl_infiniband_output *output = &port->outputs[lane];
	bool is_victim = port->link.was_stalled >> lane & 1;

	if (lane == VL_INFINIBAND_MANAGEMENT_LANE || output->bytes <= sw->mark_above[lane] ||
	    (is_victim && !port->marks_as_victim) ||
	    frame->length < (uint32_t)setting->packet_size * VL_FLOW_CONTROL_BLOCK)
		return;
	if (output->until_mark) {
		output->until_mark--;
		return;
	}
	output->until_mark =
		(uint32_t)vl_random_below(&sw->random, 2u * setting->marking_rate + 1u);
	if (vl_infiniband_mark_fecn(frame))
		port->link.lane_counters[lane].xmit_fecn++;
}

static struct vl_frame *transmit_link(struct vl_infiniband_switch *sw,
				      struct vl_infiniband_switch_port *port, uint64_t now)
{
	struct vl_frame *frame = vl_frame_get(sw->pool);

	if (!frame)
		port->link.counters.no_frame++;
	else
		vl_infiniband_port_write_link(&port->link, frame, now);
	return frame;
}

struct vl_frame *vl_infiniband_switch_transmit(struct vl_infiniband_switch *sw, uint32_t number,
					       uint64_t now)
{
	struct vl_infiniband_switch_port *port = &sw->ports[number];
	struct vl_frame *frame;
	uint8_t lane;

	if (port->sending_length) {
		release(sw, port->sending_from, port->sending_lane, port->sending_length);
		port->sending_length = 0;
	}
	if (has_lifetimes(sw))
		drop_old(sw, number, now);
	if (vl_infiniband_port_is_link_due(&port->link, now)) {
		frame = transmit_link(sw, port, now);
		if (frame)
			return frame;
	}
	lane = vl_infiniband_port_choose(&port->link, now);
	if (lane == VL_ARBITER_NONE)
		return NULL;
	frame = pop(sw, number, lane, true, now);
	if (sw->config.congestion.threshold)
		mark(sw, port, lane, frame);
	port->sending_from = frame->ingress_port;
	port->sending_lane = frame->virtual_lane;
	port->sending_length = frame->length;
	vl_infiniband_port_sent(&port->link, lane, frame, now);
	show_head(sw, number, lane, now);
	return frame;
}

uint64_t vl_infiniband_switch_next_deadline(const struct vl_infiniband_switch *sw, uint32_t number,
					    uint64_t now)
{
	const struct vl_infiniband_switch_port *port = &sw->ports[number];
	uint16_t lanes = port->link.waiting & port->link.lanes;
	uint64_t deadline = port->link.next_period;

	if (port->sending_length || port->link.due || vl_infiniband_port_is_ready(&port->link))
		return now;
	for (; has_lifetimes(sw) && lanes; lanes &= (uint16_t)(lanes - 1)) {
		uint64_t time = expiry(sw, number, (uint8_t)__builtin_ctz(lanes));

		deadline = time < deadline ? time : deadline;
	}
	return deadline;
}
