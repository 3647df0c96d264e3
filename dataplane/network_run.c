/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Running a network: frames onto lines, off them, and to who takes them. */

#include "dataplane/network_private.h"
#include "transport/wire/headers.h"

static struct vl_network_port *port_of_transmit(const struct vl_event *event)
{
	return (struct vl_network_port *)((char *)event -
					  offsetof(struct vl_network_port, transmit));
}

static struct vl_network_port *port_of_arrive(const struct vl_event *event)
{
	return (struct vl_network_port *)((char *)event - offsetof(struct vl_network_port, arrive));
}

static void show(struct vl_network_port *port, enum vl_direction direction,
		 const struct vl_frame *frame, uint64_t now)
{
	for (struct vl_network_tap *tap = port->taps; tap; tap = tap->next)
		tap->tap.frame(tap->tap.context, port->node, port->number, direction, frame, now);
}

static void schedule_transmit(struct vl_network_port *port, uint64_t time)
{
	if (vl_event_is_pending(&port->transmit) && port->transmit.time == time)
		return;
	if (time == UINT64_MAX)
		vl_executor_cancel(port->node->network->executor, &port->transmit);
	else
		vl_executor_schedule(port->node->network->executor, &port->transmit, time);
}

static void schedule_arrival(struct vl_network_port *port)
{
	uint64_t time = vl_fabric_link_next_arrival(&port->link);

	if (time == UINT64_MAX || (vl_event_is_pending(&port->arrive) && port->arrive.time == time))
		return;
	vl_executor_schedule(port->node->network->executor, &port->arrive, time);
}

static void send(struct vl_network_port *port, struct vl_frame *frame, uint64_t now)
{
	if (port->taps)
		show(port, VL_DIRECTION_TRANSMITTED, frame, now);
	vl_fabric_link_send(&port->link, frame, now);
	schedule_arrival(port);
}

static inline uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* When to ask again for what could not be sent. A frame that the pool did not have comes back when
 * another one arrives somewhere: for that the port waits as long as the longest frame takes. */
static uint64_t next_try(const struct vl_network_port *port, uint64_t failures, uint64_t now)
{
	uint64_t bits = (port->link.mtu + VL_ETHERNET_OVERHEAD) * UINT64_C(8);

	if (port->node->network->pool.failures == failures)
		return now + 1;
	return now + vl_rate_time_up(port->link.rate, bits);
}

/* For what is sent an endpoint waits until the line is free; for its application it does not. */
static uint64_t application_wake_time(const struct vl_endpoint *endpoint, uint64_t time,
				      uint64_t free_at, uint64_t now)
{
	if (endpoint->application.next_deadline && free_at > now + 1) {
		uint64_t deadline =
			endpoint->application.next_deadline(endpoint->application.context);

		if (deadline > now && deadline < time)
			time = deadline;
	}
	return time;
}

static uint64_t endpoint_wake_time(const struct vl_endpoint *endpoint, uint64_t free_at,
				   uint64_t now)
{
	uint64_t time = later(free_at, vl_endpoint_next_deadline(endpoint));

	return application_wake_time(endpoint, time, free_at, now);
}

static void step_endpoint(struct vl_network_port *port, uint64_t now)
{
	struct vl_endpoint *endpoint = port->node->endpoint;
	uint64_t free_at;

	vl_endpoint_poll(endpoint, now);
	free_at = vl_fabric_link_free_at(&port->link);
	if (free_at <= now) {
		uint64_t failures = port->node->network->pool.failures;
		struct vl_frame *frame = vl_frame_get(&port->node->network->pool.pool);

		free_at = next_try(port, failures, now);
		if (frame && vl_endpoint_transmit(endpoint, now, frame)) {
			send(port, frame, now);
			free_at = vl_fabric_link_free_at(&port->link);
		} else if (frame) {
			vl_frame_free(frame);
		}
		/* What was due may have completed work without sending anything. */
		vl_endpoint_poll(endpoint, now);
	}
	schedule_transmit(port, endpoint_wake_time(endpoint, free_at, now));
}

static void step_switch_port(struct vl_network_port *port, uint64_t now)
{
	struct vl_switch *sw = port->node->sw;
	uint64_t free_at = vl_fabric_link_free_at(&port->link);

	if (!port->is_connected)
		return;
	if (free_at <= now) {
		uint64_t failures = port->node->network->pool.failures;
		struct vl_frame *frame = vl_switch_transmit(sw, port->number, now);

		if (frame) {
			send(port, frame, now);
			free_at = vl_fabric_link_free_at(&port->link);
		} else {
			free_at = next_try(port, failures, now);
		}
	}
	schedule_transmit(port, later(free_at, vl_switch_next_deadline(sw, port->number, now)));
}

static void step_switch(struct vl_node *node, uint32_t port, uint64_t now)
{
	while (port != VL_SWITCH_NO_PORT) {
		step_switch_port(&node->ports[port], now);
		port = vl_switch_next_pfc_port(node->sw);
	}
}

/* As endpoint_wake_time; the receive buffer is emptied without waiting for the line. */
static uint64_t adapter_wake_time(const struct vl_channel_adapter *adapter,
				  const struct vl_endpoint *endpoint, uint64_t free_at,
				  uint64_t now)
{
	uint64_t time = later(free_at, vl_channel_adapter_next_deadline(adapter, now));
	uint64_t drain = vl_channel_adapter_next_drain(adapter);

	time = application_wake_time(endpoint, time, free_at, now);
	return drain < time ? drain : time;
}

static void step_adapter(struct vl_network_port *port, uint64_t now)
{
	struct vl_channel_adapter *adapter = port->node->adapter;
	uint64_t free_at;

	vl_channel_adapter_poll(adapter, now);
	free_at = vl_fabric_link_free_at(&port->link);
	if (free_at <= now) {
		uint64_t failures = port->node->network->pool.failures;
		struct vl_frame *frame = vl_channel_adapter_transmit(adapter, now);

		free_at = next_try(port, failures, now);
		if (frame) {
			send(port, frame, now);
			free_at = vl_fabric_link_free_at(&port->link);
		}
		vl_endpoint_poll(port->node->endpoint, now);
	}
	schedule_transmit(port, adapter_wake_time(adapter, port->node->endpoint, free_at, now));
}

static void step_infiniband_port(struct vl_network_port *port, uint64_t now)
{
	struct vl_infiniband_switch *sw = port->node->infiniband_switch;
	uint64_t free_at = vl_fabric_link_free_at(&port->link);

	if (!port->is_connected)
		return;
	if (free_at <= now) {
		uint64_t failures = port->node->network->pool.failures;
		struct vl_frame *frame = vl_infiniband_switch_transmit(sw, port->number, now);

		free_at = next_try(port, failures, now);
		if (frame) {
			send(port, frame, now);
			free_at = vl_fabric_link_free_at(&port->link);
		}
	}
	schedule_transmit(
		port, later(free_at, vl_infiniband_switch_next_deadline(sw, port->number, now)));
}

static void step_infiniband_switch(struct vl_node *node, uint32_t port, uint64_t now)
{
	if (port == VL_INFINIBAND_SWITCH_NO_PORT)
		port = vl_infiniband_switch_next_credit_port(node->infiniband_switch);
	while (port != VL_INFINIBAND_SWITCH_NO_PORT) {
		step_infiniband_port(&node->ports[port], now);
		port = vl_infiniband_switch_next_credit_port(node->infiniband_switch);
	}
}

static void step(struct vl_network_port *port, uint64_t now)
{
	switch (port->node->kind) {
	case VL_NODE_ENDPOINT:
		step_endpoint(port, now);
		break;
	case VL_NODE_SWITCH:
		step_switch(port->node, port->number, now);
		break;
	case VL_NODE_CHANNEL_ADAPTER:
		step_adapter(port, now);
		break;
	case VL_NODE_INFINIBAND_SWITCH:
		step_infiniband_switch(port->node, port->number, now);
		break;
	}
}

void vl_network_run_transmit(struct vl_event *event, uint64_t now)
{
	struct vl_network_port *port = port_of_transmit(event);

	step(port, now);
}

static void deliver_to_switch(struct vl_network_port *port, struct vl_frame *frame, uint64_t now)
{
	struct vl_node *node = port->node;
	uint32_t egress = vl_switch_receive(node->sw, port->number, frame, now);

	if (egress == VL_SWITCH_NO_PORT)
		egress = vl_switch_next_pfc_port(node->sw);
	step_switch(node, egress, now);
}

static void deliver_to_endpoint(struct vl_network_port *port, struct vl_frame *frame, uint64_t now)
{
	vl_endpoint_receive(port->node->endpoint, frame, now);
	vl_frame_free(frame);
	step_endpoint(port, now);
}

static void deliver_to_adapter(struct vl_network_port *port, struct vl_frame *frame, uint64_t now)
{
	vl_channel_adapter_receive(port->node->adapter, frame, now);
	step_adapter(port, now);
}

static void deliver_to_infiniband_switch(struct vl_network_port *port, struct vl_frame *frame,
					 uint64_t now)
{
	struct vl_node *node = port->node;

	step_infiniband_switch(
		node,
		vl_infiniband_switch_receive(node->infiniband_switch, port->number, frame, now),
		now);
}

/* A line with impairments may damage frames. */
static void check_vcrc(struct vl_network_port *port)
{
	if (port->node->adapter)
		vl_channel_adapter_check_vcrc(port->node->adapter);
	if (port->node->infiniband_switch)
		vl_infiniband_switch_check_vcrc(port->node->infiniband_switch, port->number);
}

static void deliver(struct vl_network_port *port, struct vl_frame *frame, uint64_t now)
{
	switch (port->node->kind) {
	case VL_NODE_ENDPOINT:
		deliver_to_endpoint(port, frame, now);
		break;
	case VL_NODE_SWITCH:
		deliver_to_switch(port, frame, now);
		break;
	case VL_NODE_CHANNEL_ADAPTER:
		deliver_to_adapter(port, frame, now);
		break;
	case VL_NODE_INFINIBAND_SWITCH:
		deliver_to_infiniband_switch(port, frame, now);
		break;
	}
}

void vl_network_run_arrive(struct vl_event *event, uint64_t now)
{
	struct vl_network_port *port = port_of_arrive(event);
	struct vl_network_port *peer = port->peer;
	struct vl_frame *frame = vl_fabric_link_receive(&port->link, now);

	schedule_arrival(port);
	if (!frame)
		return;
	if (peer->taps)
		show(peer, VL_DIRECTION_RECEIVED, frame, now);
	if (port->link.impaired)
		check_vcrc(peer);
	deliver(peer, frame, now);
}

void vl_network_start_port(struct vl_network_port *port)
{
	schedule_transmit(port, vl_executor_now(port->node->network->executor));
}

/* ---- Prefetching ------------------------------------------------------------------------- */

static void prefetch_lines(const void *address, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		__builtin_prefetch((const char *)address + 64 * i);
}

/* Events, pointers, and what is hot of the link. */
static void prefetch_port(const struct vl_network_port *port)
{
	prefetch_lines(port, 4);
}

void vl_network_prefetch_transmit(const struct vl_event *event, unsigned int step)
{
	const struct vl_network_port *port = port_of_transmit(event);
	const struct vl_node *node;

	if (!step) {
		prefetch_port(port);
		return;
	}
	node = port->node;
	if (step == 1)
		__builtin_prefetch(&node->endpoint);
	else if (node->endpoint && step == 2)
		vl_endpoint_prefetch(node->endpoint);
	else if (node->endpoint && step == 3)
		vl_prefetch_device(node->endpoint->device);
	else if (node->endpoint && step == 4)
		vl_prefetch_transmit(node->endpoint->device);
}

/* As it is in the usual frame: RoCEv2 over IPv4 without a tag. */
static uint32_t likely_destination_qpn(const struct vl_frame *frame)
{
	const uint32_t bth_offset = 14 + 20 + 8;

	return frame->length < bth_offset + 12 ? 0 : vl_load_be24(frame->data + bth_offset + 5);
}

static void prefetch_delivery(const struct vl_network_port *port, const struct vl_frame *frame,
			      unsigned int step)
{
	const struct vl_node *node = port->node;

	if (!node->endpoint)
		return;
	if (step == 3)
		vl_endpoint_prefetch(node->endpoint);
	else if (step == 4)
		vl_prefetch_device(node->endpoint->device);
	else
		vl_prefetch_receive(node->endpoint->device, likely_destination_qpn(frame));
}

void vl_network_prefetch_arrive(const struct vl_event *event, unsigned int step)
{
	const struct vl_network_port *port = port_of_arrive(event);
	const struct vl_frame *frame;

	if (!step) {
		prefetch_port(port);
		return;
	}
	frame = port->link.head;
	if (!frame)
		return;
	if (step == 1) {
		prefetch_port(port->peer);
		__builtin_prefetch(frame);
	} else if (step == 2) {
		prefetch_lines(frame->data, 2);
		__builtin_prefetch(frame->next);
		__builtin_prefetch(&port->peer->node->endpoint);
	} else {
		prefetch_delivery(port->peer, frame, step);
	}
}

/* ---- The clock --------------------------------------------------------------------------- */

void vl_network_wake(struct vl_network *network, struct vl_node *node)
{
	if (node->endpoint && node->ports[0].is_connected)
		schedule_transmit(&node->ports[0], vl_executor_now(network->executor));
}

bool vl_network_run_until(struct vl_network *network, uint64_t until)
{
	for (struct vl_node *node = network->first; node; node = node->next)
		vl_network_wake(network, node);
	return vl_executor_run_until(network->executor, until);
}
