/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/endpoint.h"

#include "dataplane/allocator.h"
#include "dataplane/constant_payload.h"
#include "dataplane/frame_layout.h"
#include "dataplane/stream/stream.h"
#include "transport/wire/headers.h"
#include "transport/wire/icrc.h"
#include "transport/wire/parse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_RATE UINT64_C(100000000000)
/* Frames that a filter may give, or take away, in one call. */
#define FILTER_BURST 32u
#define GSI_QPN      1u

/* ---- What the device tells and asks ----------------------------------------------------- */

static void forward_completion(void *context, struct vl_cq *cq)
{
	const struct vl_device_events *events = &((struct vl_endpoint *)context)->events;

	events->completion(events->context, cq);
}

static void forward_async(void *context, enum ibv_event_type event, void *object)
{
	const struct vl_device_events *events = &((struct vl_endpoint *)context)->events;

	events->async(events->context, event, object);
}

static int resolve(void *context, const union ibv_gid *destination, uint8_t mac[6])
{
	const struct vl_endpoint *endpoint = context;

	return vl_ip_resolve(endpoint->ip, destination, mac, endpoint->now);
}

/* The device's events have one context for all: the endpoint's, which hands on to the owner's. */
static int open_ip(struct vl_endpoint *endpoint, const struct vl_ip_config *config,
		   struct vl_device_config *device)
{
	struct vl_ip_config ip = *config;
	int result = 0;

	memcpy(ip.mac, device->mac, sizeof(ip.mac));
	endpoint->ip = vl_ip_open(&ip, &result);
	if (!endpoint->ip)
		return result;
	if (device->events.resolve)
		return 0;
	endpoint->events = device->events;
	device->events.resolve = resolve;
	if (device->events.completion)
		device->events.completion = forward_completion;
	if (device->events.async)
		device->events.async = forward_async;
	device->events.context = endpoint;
	return 0;
}

/* ---- Life ------------------------------------------------------------------------------- */

struct vl_endpoint *vl_endpoint_create(const struct vl_endpoint_config *config, int *error)
{
	uint64_t rate = config->rate ? config->rate : DEFAULT_RATE;
	struct vl_device_config device = config->device;
	struct vl_endpoint *endpoint = NULL;
	int result = -EINVAL;

	if (rate < VL_RATE_MIN || rate > VL_RATE_MAX)
		goto fail;
	if (!device.allocator.allocate)
		device.allocator = vl_heap_allocator();
	if (!device.link_rate)
		device.link_rate = rate;
	result = -ENOMEM;
	endpoint = calloc(1, sizeof(*endpoint));
	if (!endpoint)
		goto fail;
	if (config->ip) {
		result = open_ip(endpoint, config->ip, &device);
		if (result)
			goto fail;
	}
	endpoint->device = vl_open_device(&device, &result);
	if (!endpoint->device)
		goto fail;
	if (config->name)
		snprintf(endpoint->name, sizeof(endpoint->name), "%s", config->name);
	memcpy(endpoint->mac, device.mac, sizeof(endpoint->mac));
	endpoint->link = (uint8_t)config->link;
	vl_pfc_receiver_init(&endpoint->pause, vl_rate_make(rate), config->pfc_response_delay);
	vl_pfc_sender_init(&endpoint->pfc, device.mac, vl_rate_make(rate), config->pause_quanta);
	return endpoint;
fail:
	if (endpoint)
		vl_ip_close(endpoint->ip);
	free(endpoint);
	if (error)
		*error = result;
	return NULL;
}

void vl_endpoint_destroy(struct vl_endpoint *endpoint)
{
	if (!endpoint)
		return;
	vl_close_device(endpoint->device);
	vl_ip_close(endpoint->ip);
	free(endpoint);
}

void vl_endpoint_set_application(struct vl_endpoint *endpoint,
				 const struct vl_application *application)
{
	endpoint->application = *application;
}

void vl_endpoint_set_filter(struct vl_endpoint *endpoint, const struct vl_frame_filter *filter)
{
	endpoint->filter = filter ? *filter : (struct vl_frame_filter){0};
}

void vl_endpoint_set_tap(struct vl_endpoint *endpoint, const struct vl_frame_tap *tap)
{
	endpoint->tap = tap ? *tap : (struct vl_frame_tap){0};
}

void vl_endpoint_set_streams(struct vl_endpoint *endpoint, struct vl_stream_group *streams)
{
	endpoint->streams = streams;
	endpoint->sends_streams = streams != NULL;
}

void vl_endpoint_set_constant(struct vl_endpoint *endpoint,
			      const struct vl_constant_payload *constant,
			      struct vl_frame_pool *frames)
{
	endpoint->constant = constant;
	endpoint->constant_frames = frames;
}

/* ---- In --------------------------------------------------------------------------------- */

static void update_pauses(struct vl_endpoint *endpoint, uint64_t now)
{
	if (!vl_pfc_receiver_update(&endpoint->pause, now))
		return;
	vl_set_paused_priorities(endpoint->device, endpoint->pause.paused);
	if (endpoint->streams)
		vl_stream_group_set_paused(endpoint->streams, endpoint->pause.paused);
}

static void receive_mac_control(struct vl_endpoint *endpoint, const struct vl_frame *frame,
				uint64_t now)
{
	struct vl_pfc pfc;

	if (vl_pfc_parse(frame->data, frame->length, &pfc) != VL_MAC_CONTROL_PFC) {
		endpoint->counters.mac_control_ignored++;
		return;
	}
	endpoint->counters.pfc_rx++;
	vl_pfc_receiver_take(&endpoint->pause, &pfc, now);
	update_pauses(endpoint, now);
}

/* Who sends management datagrams is about to be answered: the way back need not be asked for.
 * Nothing is learned of what the device will refuse. */
static void learn_sender(struct vl_endpoint *endpoint, const struct vl_frame *frame,
			 const struct vl_frame_layout *layout, uint64_t now)
{
	const struct vl_bth *bth = (const struct vl_bth *)(frame->data + layout->bth_offset);
	struct vl_packet packet;

	if (frame->length - layout->bth_offset < sizeof(*bth) ||
	    vl_load_be24(bth->destination_qpn) != GSI_QPN ||
	    memcmp(frame->data, endpoint->mac, sizeof(endpoint->mac)))
		return;
	if (vl_parse(&packet, VL_LINK_ETHERNET, frame->data, frame->length, frame->length) ==
		    VL_PARSE_ok &&
	    vl_icrc_is_right(&packet))
		vl_ip_learn(endpoint->ip, &packet.source_gid, packet.source_mac, now);
}

/* What is wrong with a packet is the device's to find and to count. */
static bool answers_stream(struct vl_endpoint *endpoint, const struct vl_frame *frame, uint64_t now)
{
	struct vl_packet packet;

	return vl_parse(&packet, VL_LINK_ETHERNET, frame->data, frame->length, frame->length) ==
		       VL_PARSE_ok &&
	       vl_stream_group_has(endpoint->streams, packet.destination_qpn) &&
	       vl_icrc_is_right(&packet) &&
	       vl_stream_group_receive(endpoint->streams, &packet, now);
}

static void dispatch(struct vl_endpoint *endpoint, const struct vl_frame *frame, uint64_t arrival,
		     uint64_t now)
{
	struct vl_frame_layout layout;

	if (endpoint->link == VL_LINK_INFINIBAND) {
		vl_receive_frame_arrived(endpoint->device, VL_LINK_INFINIBAND, frame->data,
					 frame->length, arrival, now);
		return;
	}
	if (vl_is_mac_control(frame->data, frame->length)) {
		receive_mac_control(endpoint, frame, now);
		return;
	}
	if (endpoint->ip) {
		vl_frame_layout(&layout, frame->data, frame->length);
		if (!vl_frame_is_roce(&layout)) {
			vl_ip_receive(endpoint->ip, frame, now);
			return;
		}
		if (!vl_ip_has_vlan(endpoint->ip, layout.vlan_present ? layout.vlan_id : 0)) {
			endpoint->counters.vlan_dropped++;
			return;
		}
		learn_sender(endpoint, frame, &layout, now);
	}
	if (endpoint->streams && answers_stream(endpoint, frame, now))
		return;
	vl_receive_frame_arrived(endpoint->device, VL_LINK_ETHERNET, frame->data, frame->length,
				 arrival, now);
}

/* Those who look at frames see time go on, whatever the clock that an arrival is told by. */
static void note_seen(struct vl_endpoint *endpoint, struct vl_frame *frame, uint64_t arrival)
{
	if (arrival > endpoint->seen)
		endpoint->seen = arrival;
	frame->time = endpoint->seen;
}

void vl_endpoint_receive(struct vl_endpoint *endpoint, struct vl_frame *frame, uint64_t now)
{
	vl_endpoint_receive_arrived(endpoint, frame, now, now);
}

void vl_endpoint_receive_arrived(struct vl_endpoint *endpoint, struct vl_frame *frame,
				 uint64_t arrival, uint64_t now)
{
	endpoint->now = now;
	endpoint->counters.rx_frames++;
	endpoint->counters.rx_bytes += frame->length;
	if (endpoint->filter.receive) {
		note_seen(endpoint, frame, arrival);
		if (!endpoint->filter.receive(endpoint->filter.context, frame, now))
			return;
	} else if (endpoint->tap.see) {
		note_seen(endpoint, frame, arrival);
		endpoint->tap.see(endpoint->tap.context, VL_DIRECTION_RECEIVED, frame, frame->time,
				  NULL);
	}
	dispatch(endpoint, frame, arrival, now);
}

/* What was on the wire before, and is counted, or never was. */
static void take_from_filter(struct vl_endpoint *endpoint, uint64_t now)
{
	const struct vl_frame_filter *filter = &endpoint->filter;

	if (!filter->next_received || filter->next_deadline(filter->context) > now)
		return;
	for (unsigned int i = 0; i < FILTER_BURST; i++) {
		struct vl_frame *frame = filter->next_received(filter->context, now);

		if (!frame)
			return;
		endpoint->seen = now;
		dispatch(endpoint, frame, now, now);
	}
}

void vl_endpoint_poll(struct vl_endpoint *endpoint, uint64_t now)
{
	endpoint->now = now;
	take_from_filter(endpoint, now);
	if (endpoint->application.poll)
		endpoint->application.poll(endpoint->application.context, endpoint, now);
}

/* ---- Out -------------------------------------------------------------------------------- */

static bool transmit_pfc(struct vl_endpoint *endpoint, uint64_t now, struct vl_frame *frame)
{
	frame->length = vl_pfc_sender_write(&endpoint->pfc, frame->data, now);
	if (!frame->length)
		return false;
	frame->priority = VL_PFC_PRIORITIES - 1;
	frame->source_qpn = 0;
	endpoint->counters.pfc_tx++;
	return true;
}

/* True: the packet is in endpoint->taken, and its payload was not touched. */
static bool take_constant(struct vl_endpoint *endpoint, const struct vl_outgoing *outgoing)
{
	if (!endpoint->takes_constant || !vl_constant_payload_fits(endpoint->constant, outgoing))
		return false;
	endpoint->taken = vl_frame_get(endpoint->constant_frames);
	if (!endpoint->taken)
		return false;
	vl_constant_payload_build(endpoint->constant, outgoing, endpoint->taken);
	endpoint->taken->priority = outgoing->priority;
	return true;
}

static bool transmit_packet(struct vl_endpoint *endpoint, uint64_t now, struct vl_frame *frame)
{
	/* Not the frame itself, whose memory may be far away. */
	uint8_t headers[VL_MAX_HEADER_LENGTH];
	struct vl_outgoing outgoing;

	outgoing.headers = headers;
	for (;;) {
		if (!vl_transmit(endpoint->device, now, &outgoing))
			return false;
		if (take_constant(endpoint, &outgoing))
			return true;
		frame->length = vl_serialize(&outgoing, frame->data, frame->capacity);
		if (frame->length) {
			frame->priority = outgoing.priority;
			if (endpoint->link == VL_LINK_INFINIBAND)
				frame->kind = VL_FRAME_INFINIBAND;
			if (endpoint->filter.transmit || endpoint->tap.see)
				frame->source_qpn = vl_qp_number(outgoing.qp);
			return true;
		}
		endpoint->counters.tx_oversize++;
	}
}

static bool transmit_stream(struct vl_endpoint *endpoint, uint64_t now, struct vl_frame *frame)
{
	frame->source_qpn = 0;
	return vl_stream_group_transmit(endpoint->streams, now, frame);
}

/* The next frame that the endpoint itself has to send. */
static bool make_frame(struct vl_endpoint *endpoint, uint64_t now, struct vl_frame *frame)
{
	if (vl_pfc_sender_is_due(&endpoint->pfc, now) && transmit_pfc(endpoint, now, frame))
		return true;
	if (endpoint->ip && vl_ip_next_deadline(endpoint->ip) <= now &&
	    vl_ip_transmit(endpoint->ip, frame, now))
		return true;
	if (transmit_packet(endpoint, now, frame))
		return true;
	return endpoint->sends_streams && transmit_stream(endpoint, now, frame);
}

/* With a filter: its own frames go out before ours, as they have waited. */
static bool make_filtered_frame(struct vl_endpoint *endpoint, uint64_t now, struct vl_frame *frame)
{
	const struct vl_frame_filter *filter = &endpoint->filter;

	take_from_filter(endpoint, now);
	if (filter->next_transmitted(filter->context, frame, now)) {
		endpoint->seen = now;
		return true;
	}
	/* So that the worker gets on when all is taken away. */
	for (unsigned int i = 0; i < FILTER_BURST; i++) {
		if (!make_frame(endpoint, now, frame))
			return false;
		endpoint->seen = now;
		if (filter->transmit(filter->context, frame, now))
			return true;
	}
	return false;
}

bool vl_endpoint_transmit(struct vl_endpoint *endpoint, uint64_t now, struct vl_frame *frame)
{
	endpoint->now = now;
	endpoint->taken = NULL;
	update_pauses(endpoint, now);
	if (endpoint->filter.transmit) {
		if (!make_filtered_frame(endpoint, now, frame))
			return false;
	} else {
		if (!make_frame(endpoint, now, frame))
			return false;
		if (endpoint->tap.see) {
			endpoint->seen = now;
			endpoint->tap.see(endpoint->tap.context, VL_DIRECTION_TRANSMITTED, frame,
					  now, NULL);
		}
	}
	endpoint->counters.tx_frames++;
	endpoint->counters.tx_bytes += endpoint->taken ? endpoint->taken->length : frame->length;
	return true;
}

struct vl_frame *vl_endpoint_next_frame(struct vl_endpoint *endpoint, struct vl_frame_pool *pool,
					uint64_t now)
{
	struct vl_frame *frame = endpoint->spare ? endpoint->spare : vl_frame_get(pool);
	bool sends;

	if (!frame)
		return NULL;
	endpoint->takes_constant =
		endpoint->constant && !endpoint->filter.transmit && !endpoint->tap.see;
	sends = vl_endpoint_transmit(endpoint, now, frame);
	endpoint->takes_constant = false;
	if (sends && !endpoint->taken) {
		endpoint->spare = NULL;
		return frame;
	}
	endpoint->spare = frame;
	return endpoint->taken;
}

void vl_endpoint_release_spare(struct vl_endpoint *endpoint)
{
	if (endpoint->spare)
		vl_frame_free(endpoint->spare);
	endpoint->spare = NULL;
}

uint64_t vl_endpoint_next_deadline(const struct vl_endpoint *endpoint)
{
	uint64_t deadline = vl_next_deadline(endpoint->device);

	if (endpoint->pfc.changed)
		return 0;
	if (endpoint->pfc.refresh_at < deadline)
		deadline = endpoint->pfc.refresh_at;
	if (endpoint->pause.next_change < deadline)
		deadline = endpoint->pause.next_change;
	if (endpoint->ip) {
		uint64_t next = vl_ip_next_deadline(endpoint->ip);

		if (next < deadline)
			deadline = next;
	}
	if (endpoint->filter.next_deadline) {
		uint64_t next = endpoint->filter.next_deadline(endpoint->filter.context);

		if (next < deadline)
			deadline = next;
	}
	if (endpoint->sends_streams) {
		uint64_t next = vl_stream_group_next_deadline(endpoint->streams);

		if (next < deadline)
			deadline = next;
	}
	if (endpoint->application.next_deadline) {
		uint64_t next = endpoint->application.next_deadline(endpoint->application.context);

		if (next < deadline)
			deadline = next;
	}
	return deadline;
}

void vl_endpoint_pause_peer(struct vl_endpoint *endpoint, uint8_t priority, bool pause)
{
	vl_pfc_sender_want(&endpoint->pfc, priority, pause);
}

void vl_endpoint_prefetch(const struct vl_endpoint *endpoint)
{
	for (unsigned int offset = 0; offset < sizeof(*endpoint); offset += 64)
		__builtin_prefetch((const char *)endpoint + offset);
}
