/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* One round of a worker over its part of a live network: what has come from other workers, what has
 * arrived on its links, what its nodes have to send. */

#include "dataplane/runtime/live_carrier.h"
#include "dataplane/runtime/live_node.h"

#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include <stdatomic.h>

/*
 * Frames of one link in one round. Few are taken from a ring, so that rounds are short and a worker
 * that cannot keep up leaves the rest to wait there, and not in its nodes' queues, where it would
 * look like congestion. What has arrived, and what a line has time for, is moved without much ado.
 */
#define RING_BURST 8
/* Endpoints have no queues, and ACKs must not keep pauses waiting. */
#define ENDPOINT_RING_BURST 32
#define ARRIVAL_BURST       64
/* Rounds that take longer may keep a pause from being renewed in time. */
#define LONG_ROUND_NS 5000

static void show(const struct live_port *port, enum vl_direction direction,
		 const struct vl_frame *frame, uint64_t now)
{
	if (unlikely(port->tap.see != NULL))
		port->tap.see(port->tap.context, direction, frame, now, NULL);
}

static void deliver(struct live_port *port, struct vl_frame *frame, uint64_t now)
{
	struct vl_live_node *node = port->node;

	show(port, VL_DIRECTION_RECEIVED, frame, now);
	if (node->sw) {
		vl_switch_receive(node->sw, port->number, frame, now);
		return;
	}
	if (node->infiniband_switch) {
		vl_infiniband_switch_receive(node->infiniband_switch, port->number, frame, now);
		return;
	}
	node->has_news = true;
	if (node->adapter) {
		vl_channel_adapter_receive(node->adapter, frame, now);
		return;
	}
	vl_endpoint_receive(node->endpoint, frame, now);
	vl_frame_free(frame);
}

static uint32_t take_from_ring(struct live_part *part, struct live_port *port, uint64_t now)
{
	struct vl_frame *frames[ENDPOINT_RING_BURST];
	unsigned int most = port->peer->node->endpoint ? ENDPOINT_RING_BURST : RING_BURST;
	unsigned int count = rte_ring_sc_dequeue_burst(port->ring, (void **)frames, most, NULL);

	for (unsigned int i = 0; i < count; i++)
		rte_prefetch0(frames[i]);
	for (unsigned int i = 0; i < count; i++) {
		frames[i]->pool = &part->pool.pool;
		rte_prefetch0(frames[i]->data);
		rte_prefetch0(frames[i]->data + RTE_CACHE_LINE_SIZE);
	}
	for (unsigned int i = 0; i < count; i++)
		deliver(port->peer, frames[i], now);
	return count;
}

/* False: the ring or the wire is full, and the frame is held back. */
static bool hand_over(struct live_port *port, struct vl_frame *frame)
{
	bool taken = port->carrier ? vl_live_wire_send(port, frame)
				   : !rte_ring_sp_enqueue(port->ring, frame);

	port->held = taken ? NULL : frame;
	return taken;
}

static uint32_t take_arrivals(struct live_part *part, struct live_port *port, uint64_t now)
{
	uint32_t count = 0;

	if (port->held && !hand_over(port, port->held)) {
		part->overruns++;
		return 0;
	}
	while (count < ARRIVAL_BURST && vl_fabric_link_next_arrival(&port->link) <= now) {
		struct vl_frame *frame = vl_fabric_link_receive(&port->link, now);

		if (!frame)
			break;
		count++;
		if (!port->ring && !port->carrier)
			deliver(port->peer, frame, now);
		else if (!hand_over(port, frame))
			break;
	}
	return count;
}

static struct vl_frame *transmit_adapter(struct vl_live_node *node, uint64_t now)
{
	if (vl_channel_adapter_next_deadline(node->adapter, now) > now)
		return NULL;
	node->has_news = true;
	return vl_channel_adapter_transmit(node->adapter, now);
}

static struct vl_frame *next_frame(struct live_part *part, struct live_port *port, uint64_t now)
{
	struct vl_live_node *node = port->node;
	struct vl_frame *frame;

	if (node->sw)
		return vl_switch_transmit(node->sw, port->number, now);
	if (node->infiniband_switch)
		return vl_infiniband_switch_transmit(node->infiniband_switch, port->number, now);
	if (node->adapter)
		return transmit_adapter(node, now);
	if (vl_endpoint_next_deadline(node->endpoint) > now)
		return NULL;
	frame = vl_frame_get(&part->pool.pool);
	/* Also without a frame: what was due may have completed work. */
	node->has_news |= frame != NULL;
	if (frame && !vl_endpoint_transmit(node->endpoint, now, frame)) {
		vl_frame_free(frame);
		return NULL;
	}
	return frame;
}

static uint32_t transmit(struct live_part *part, struct live_port *port, uint64_t now)
{
	uint32_t count = 0;
	struct vl_frame *frame;

	/* A frame held back means that the far worker is behind: more would only pile up. */
	if (port->held)
		return 0;
	if (!port->has_backlog)
		vl_fabric_link_idle(&port->link, now);
	port->has_backlog = true;
	while (count < VL_LIVE_TRANSMIT_BURST && vl_fabric_link_is_free(&port->link, now)) {
		frame = next_frame(part, port, now);
		if (!frame) {
			port->has_backlog = false;
			break;
		}
		show(port, VL_DIRECTION_TRANSMITTED, frame, now);
		vl_fabric_link_send(&port->link, frame, now);
		count++;
	}
	return count;
}

static void run_timers(struct vl_live_node *node, uint64_t now)
{
	for (struct vl_live_timer *timer = node->timers; timer; timer = timer->next) {
		if (timer->due <= now)
			timer->due = timer->run(timer->context, now);
	}
}

static void run_application(struct vl_live_node *node, uint64_t now)
{
	const struct vl_application *application = &node->endpoint->application;

	if (node->adapter && vl_channel_adapter_next_drain(node->adapter) <= now)
		node->has_news = true;
	if (!node->has_news && application->next_deadline &&
	    application->next_deadline(application->context) > now)
		return;
	node->has_news = false;
	if (node->adapter)
		vl_channel_adapter_poll(node->adapter, now);
	else
		vl_endpoint_poll(node->endpoint, now);
}

/* Every port has its turn in every round. */
static void forget_credit_ports(struct vl_infiniband_switch *sw)
{
	while (vl_infiniband_switch_next_credit_port(sw) != VL_INFINIBAND_SWITCH_NO_PORT) {
	}
}

static void hold_pauses(const struct live_port *port, uint64_t until)
{
	const struct vl_live_node *node = port->node;

	if (node->sw)
		vl_pfc_receiver_hold(&node->sw->ports[port->number].pause, until);
	else if (node->endpoint && !node->adapter)
		vl_pfc_receiver_hold(&node->endpoint->pause, until);
}

/* Who pauses a port renews that while it lasts. A worker that was kept from it has lost the time;
 * pauses from it must not run out in it. */
static void make_up_for_renewals(struct live_part *part, uint64_t now)
{
	const struct vl_live_network *network = part->network;
	bool was_away[VL_MAX_WORKERS];
	bool any = false;

	for (unsigned int i = 0; i < network->config.worker_count; i++) {
		uint64_t last =
			atomic_load_explicit(&network->parts[i].last_round, memory_order_relaxed);

		was_away[i] = last + LONG_ROUND_NS < now;
		any |= was_away[i];
	}
	for (uint32_t i = 0; any && i < part->outgoing_count; i++) {
		const struct live_port *port = part->outgoing[i];

		if (port->peer && was_away[port->peer->node->worker])
			hold_pauses(port, now + VL_LIVE_SLACK_NS);
	}
}

static uint32_t run_part(void *context, uint64_t worker_now)
{
	struct live_part *part = context;
	uint64_t epoch = part->network->epoch;
	uint64_t now = worker_now > epoch ? worker_now - epoch : 0;
	uint32_t moved = 0;
	uint64_t gap;

	make_up_for_renewals(part, now);
	gap = now - atomic_load_explicit(&part->last_round, memory_order_relaxed);
	if (gap > VL_LIVE_SLACK_NS) {
		part->late_rounds++;
		part->late_time += gap;
	}
	atomic_store_explicit(&part->last_round, now, memory_order_relaxed);
	for (uint32_t i = 0; i < part->wire_count; i++)
		moved += vl_live_wire_receive(part, part->wires[i], now, deliver);
	for (uint32_t i = 0; i < part->incoming_count; i++)
		moved += take_from_ring(part, part->incoming[i], now);
	for (uint32_t i = 0; i < part->outgoing_count; i++)
		moved += take_arrivals(part, part->outgoing[i], now);
	for (uint32_t i = 0; i < part->outgoing_count; i++) {
		struct live_port *port = part->outgoing[i];

		if (port->node->endpoint) {
			run_timers(port->node, now);
			run_application(port->node, now);
		}
		moved += transmit(part, port, now);
		if (port->node->infiniband_switch)
			forget_credit_ports(port->node->infiniband_switch);
	}
	for (uint32_t i = 0; i < part->wire_count; i++)
		vl_live_wire_flush(part, part->wires[i]);
	return moved;
}

struct vl_stage vl_live_part_stage(struct live_part *part)
{
	return (struct vl_stage){.run = run_part, .context = part};
}
