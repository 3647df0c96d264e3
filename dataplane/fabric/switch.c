/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/fabric/switch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A turn of the round robin gives a queue this for each unit of weight: no less than the longest
 * frame, so that every turn sends. */
#define QUANTUM      9216
#define FREE_ROUTE   UINT64_MAX
#define FIRST_ROUTES 64u

/* ---- Set-up ---------------------------------------------------------------------------- */

static uint64_t reserved_headroom(const struct vl_switch_config *config)
{
	uint64_t reserved = 0;

	for (unsigned int i = 0; i < VL_SWITCH_PRIORITIES; i++) {
		if (config->port.groups[i].lossless)
			reserved += config->port.groups[i].headroom;
	}
	return reserved * config->ports;
}

void vl_switch_config_defaults(struct vl_switch_config *config, uint32_t ports, uint64_t buffer)
{
	struct vl_switch_pfc_config *pfc = &config->port.pfc;

	*config = (struct vl_switch_config){.ports = ports, .buffer = buffer};
	vl_classifier_config_defaults(&config->port.classifier);
	pfc->enabled = UINT8_MAX;
	for (unsigned int i = 0; i < VL_PFC_PRIORITIES; i++) {
		pfc->priority_to_queue[i] = (uint8_t)i;
		pfc->priority_to_group[i] = (uint8_t)i;
	}
}

void vl_switch_config_lossless(struct vl_switch_port_config *port, uint8_t priority, uint64_t xoff,
			       uint64_t xon, uint64_t headroom)
{
	struct vl_buffer_group_config *group = &port->groups[priority];

	group->lossless = true;
	group->threshold = vl_threshold_static(xoff);
	group->xon = xon;
	group->headroom = headroom;
}

static const char *group_config_error(const struct vl_buffer_group_config *group)
{
	if (!group->lossless)
		return NULL;
	if (group->threshold.kind == VL_THRESHOLD_STATIC &&
	    (!group->threshold.bytes || group->xon > group->threshold.bytes))
		return "a lossless queue needs 0 < xoff and xon <= xoff";
	if (group->headroom > UINT32_MAX)
		return "the headroom is larger than 4 GiB";
	return NULL;
}

const char *vl_switch_config_error(const struct vl_switch_config *config)
{
	const char *error;

	if (!config->ports || config->ports > VL_SWITCH_MAX_PORTS)
		return "a switch has 1 to 4096 ports";
	error = vl_classifier_config_error(&config->port.classifier);
	for (unsigned int i = 0; i < VL_SWITCH_PRIORITIES && !error; i++) {
		error = group_config_error(&config->port.groups[i]);
		if (!error && config->port.queues[i].scheduler.weight > VL_SCHEDULER_WEIGHT_MAX)
			error = "the weight is larger than 255";
		if (!error)
			error = vl_red_config_error(&config->port.queues[i].red);
	}
	if (error)
		return error;
	if (config->buffer <= reserved_headroom(config))
		return "the buffer is no larger than the headroom of all ports together";
	return NULL;
}

static bool allocate_routes(struct vl_switch *sw, uint32_t count)
{
	sw->routes = malloc(count * sizeof(*sw->routes));
	if (!sw->routes)
		return false;
	for (uint32_t i = 0; i < count; i++)
		sw->routes[i].mac = FREE_ROUTE;
	sw->route_mask = count - 1;
	return true;
}

static void init_config(struct vl_switch *sw, const struct vl_switch_config *config)
{
	sw->config = *config;
	for (unsigned int i = 0; i < VL_SWITCH_PRIORITIES; i++) {
		struct vl_switch_queue_config *queue = &sw->config.port.queues[i];

		if (queue->red.point != VL_RED_OFF)
			vl_red_init(&sw->red[i], &queue->red);
		if (config->port.groups[i].lossless)
			sw->lossless |= (uint8_t)(1u << i);
		if (queue->scheduler.type == VL_SCHEDULING_STRICT)
			sw->strict |= (uint8_t)(1u << i);
		if (!queue->scheduler.weight)
			queue->scheduler.weight = 1;
	}
	vl_classifier_init(&sw->classifier, &config->port.classifier);
	sw->random.state = config->seed;
	sw->shared_limit = config->buffer - reserved_headroom(config);
	sw->first_pfc_port = VL_SWITCH_NO_PORT;
}

static void port_mac(const struct vl_switch *sw, uint32_t port, uint8_t mac[6])
{
	uint64_t number = 0;

	for (unsigned int i = 0; i < 6; i++)
		number = number << 8 | sw->config.mac[i];
	number += port;
	for (unsigned int i = 0; i < 6; i++)
		mac[i] = (uint8_t)(number >> (40 - 8 * i));
}

struct vl_switch *vl_switch_create(const struct vl_switch_config *config,
				   struct vl_frame_pool *pool, int *error)
{
	struct vl_switch *sw = NULL;
	int result = -EINVAL;

	if (vl_switch_config_error(config))
		goto fail;
	result = -ENOMEM;
	sw = calloc(1, sizeof(*sw));
	if (!sw)
		goto fail;
	sw->ports = calloc(config->ports, sizeof(*sw->ports));
	if (!sw->ports || !allocate_routes(sw, FIRST_ROUTES))
		goto fail;
	sw->pool = pool;
	init_config(sw, config);
	for (uint32_t i = 0; i < config->ports; i++) {
		for (unsigned int q = 0; q < VL_SWITCH_PRIORITIES; q++)
			vl_frame_queue_init(&sw->ports[i].queues[q],
					    config->port.queues[q].buffer.threshold.bytes, 0);
		vl_switch_set_port_rate(sw, i, UINT64_C(100000000000));
	}
	return sw;
fail:
	if (sw) {
		free(sw->routes);
		free(sw->ports);
		free(sw);
	}
	if (error)
		*error = result;
	return NULL;
}

void vl_switch_destroy(struct vl_switch *sw)
{
	if (!sw)
		return;
	for (uint32_t i = 0; i < sw->config.ports; i++) {
		for (unsigned int q = 0; q < VL_SWITCH_PRIORITIES; q++)
			vl_frame_queue_clear(&sw->ports[i].queues[q],
					     sw->ports[i].queues[q].changed);
	}
	free(sw->routes);
	free(sw->ports);
	free(sw);
}

void vl_switch_set_port_rate(struct vl_switch *sw, uint32_t port, uint64_t bits_per_second)
{
	struct vl_rate rate = vl_rate_make(bits_per_second);
	uint8_t mac[6];

	port_mac(sw, port, mac);
	vl_pfc_receiver_init(&sw->ports[port].pause, rate, sw->config.port.pfc.response_delay);
	vl_pfc_sender_init(&sw->ports[port].pfc, mac, rate, sw->config.port.pfc.quanta);
}

/* ---- Forwarding ------------------------------------------------------------------------ */

static uint64_t mac_number(const uint8_t *mac)
{
	return (uint64_t)mac[0] << 40 | (uint64_t)mac[1] << 32 | (uint64_t)mac[2] << 24 |
	       (uint64_t)mac[3] << 16 | (uint64_t)mac[4] << 8 | mac[5];
}

/* The MAC's route, or the free place where it would go; the table is never full. */
static struct vl_switch_route *find_route(const struct vl_switch *sw, uint64_t mac)
{
	uint32_t i = (uint32_t)((mac * UINT64_C(0x9e3779b97f4a7c15)) >> 32);

	for (;; i++) {
		struct vl_switch_route *route = &sw->routes[i & sw->route_mask];

		if (route->mac == mac || route->mac == FREE_ROUTE)
			return route;
	}
}

static int grow_routes(struct vl_switch *sw)
{
	struct vl_switch_route *old = sw->routes;
	uint32_t old_count = sw->route_mask + 1;

	if (!allocate_routes(sw, 2 * old_count)) {
		sw->routes = old;
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < old_count; i++) {
		if (old[i].mac != FREE_ROUTE)
			*find_route(sw, old[i].mac) = old[i];
	}
	free(old);
	return 0;
}

int vl_switch_add_route(struct vl_switch *sw, const uint8_t mac[6], uint32_t port)
{
	struct vl_switch_route *route;

	if (port >= sw->config.ports)
		return -EINVAL;
	if (2 * sw->route_count > sw->route_mask && grow_routes(sw))
		return -ENOMEM;
	route = find_route(sw, mac_number(mac));
	if (route->mac == FREE_ROUTE)
		sw->route_count++;
	route->mac = mac_number(mac);
	route->port = port;
	return 0;
}

/* ---- Buffer and flow control ----------------------------------------------------------- */

static void want_pause(struct vl_switch *sw, uint32_t number, uint8_t priority, bool pause)
{
	struct vl_switch_port *port = &sw->ports[number];

	if (!vl_pfc_sender_want(&port->pfc, priority, pause) || port->in_pfc_list)
		return;
	port->in_pfc_list = true;
	port->next_pfc_port = sw->first_pfc_port;
	sw->first_pfc_port = number;
}

uint32_t vl_switch_next_pfc_port(struct vl_switch *sw)
{
	uint32_t number = sw->first_pfc_port;

	if (number != VL_SWITCH_NO_PORT) {
		sw->first_pfc_port = sw->ports[number].next_pfc_port;
		sw->ports[number].in_pfc_list = false;
	}
	return number;
}

/* Charges a frame to its ingress port and the buffer. False: there is no room, *counter says of
 * what. */
static bool admit(struct vl_switch *sw, struct vl_switch_port *ingress,
		  const struct vl_frame *frame, struct vl_switch_queue_counters *counters)
{
	const struct vl_buffer_group_config *config = &sw->config.port.groups[frame->priority];
	uint64_t *bytes = &ingress->ingress_bytes[frame->priority];
	uint64_t *headroom = &ingress->headroom_bytes[frame->priority];
	bool is_shared = sw->shared_bytes + frame->length <= sw->shared_limit;

	if (config->lossless) {
		is_shared =
			is_shared && *bytes - *headroom + frame->length <= config->threshold.bytes;
		if (!is_shared && *headroom + frame->length > config->headroom) {
			counters->drop_headroom++;
			return false;
		}
	} else if (!is_shared) {
		counters->drop_buffer_full++;
		return false;
	}
	*bytes += frame->length;
	if (*bytes > ingress->ingress_watermark[frame->priority])
		ingress->ingress_watermark[frame->priority] = *bytes;
	sw->buffer_bytes += frame->length;
	if (sw->buffer_bytes > sw->buffer_watermark)
		sw->buffer_watermark = sw->buffer_bytes;
	if (is_shared)
		sw->shared_bytes += frame->length;
	else
		*headroom += frame->length;
	if (config->lossless && (*bytes >= config->threshold.bytes || *headroom))
		want_pause(sw, frame->ingress_port, frame->priority, true);
	return true;
}

/* What leaves frees the headroom first. */
static void release(struct vl_switch *sw, const struct vl_frame *frame)
{
	struct vl_switch_port *ingress = &sw->ports[frame->ingress_port];
	const struct vl_buffer_group_config *config = &sw->config.port.groups[frame->priority];
	uint64_t *bytes = &ingress->ingress_bytes[frame->priority];
	uint64_t *headroom = &ingress->headroom_bytes[frame->priority];
	uint64_t from_headroom = *headroom < frame->length ? *headroom : frame->length;

	*bytes -= frame->length;
	*headroom -= from_headroom;
	sw->shared_bytes -= frame->length - from_headroom;
	sw->buffer_bytes -= frame->length;
	if (config->lossless && *bytes <= config->xon && !*headroom)
		want_pause(sw, frame->ingress_port, frame->priority, false);
}

/* ---- Receiving ------------------------------------------------------------------------- */

static uint32_t receive_mac_control(struct vl_switch *sw, uint32_t number, struct vl_frame *frame,
				    uint64_t now)
{
	struct vl_switch_port *port = &sw->ports[number];
	struct vl_pfc pfc;

	if (vl_pfc_parse(frame->data, frame->length, &pfc) == VL_MAC_CONTROL_PFC) {
		port->counters.pfc_rx++;
		vl_pfc_receiver_take(&port->pause, &pfc, now);
	} else {
		port->counters.mac_control_ignored++;
	}
	vl_frame_free(frame);
	return number;
}

static bool enqueue(struct vl_switch *sw, struct vl_switch_port *ingress,
		    struct vl_switch_port *egress, struct vl_frame *frame, uint64_t now)
{
	uint8_t priority = frame->priority;
	struct vl_frame_queue *queue = &egress->queues[priority];
	struct vl_switch_queue_counters *counters = &egress->queue_counters[priority];
	enum vl_red_verdict verdict = VL_RED_PASS;

	if (!vl_frame_queue_has_room(queue, frame->length)) {
		counters->drop_queue_full++;
		return false;
	}
	if (sw->config.port.queues[priority].red.point == VL_RED_AT_ENQUEUE)
		verdict = vl_red_apply(&sw->red[priority], VL_COLOUR_GREEN, &sw->random,
				       queue->bytes, frame->data, frame->length);
	if (verdict == VL_RED_DROP) {
		counters->drop_red++;
		return false;
	}
	if (!admit(sw, ingress, frame, counters))
		return false;
	counters->ecn_marked += verdict == VL_RED_MARKED;
	vl_frame_queue_push(queue, frame, now);
	egress->occupied |= (uint8_t)(1u << priority);
	return true;
}

uint32_t vl_switch_receive(struct vl_switch *sw, uint32_t port, struct vl_frame *frame,
			   uint64_t now)
{
	struct vl_switch_port *ingress = &sw->ports[port];
	const struct vl_switch_route *route;

	ingress->counters.rx_frames++;
	ingress->counters.rx_bytes += frame->length;
	if (frame->length < 14) {
		ingress->counters.drop_malformed++;
		vl_frame_free(frame);
		return VL_SWITCH_NO_PORT;
	}
	if (vl_is_mac_control(frame->data, frame->length))
		return receive_mac_control(sw, port, frame, now);
	route = find_route(sw, mac_number(frame->data));
	if (route->mac == FREE_ROUTE || route->port == port) {
		ingress->counters.drop_no_route++;
		vl_frame_free(frame);
		return VL_SWITCH_NO_PORT;
	}
	frame->ingress_port = (uint16_t)port;
	frame->priority = vl_classify(&sw->classifier, frame->data, frame->length).queue;
	if (!enqueue(sw, ingress, &sw->ports[route->port], frame, now)) {
		vl_frame_free(frame);
		return VL_SWITCH_NO_PORT;
	}
	return route->port;
}

/* ---- Transmitting ---------------------------------------------------------------------- */

static struct vl_frame *transmit_pfc(struct vl_switch *sw, struct vl_switch_port *port,
				     uint64_t now)
{
	struct vl_frame *frame = vl_frame_get(sw->pool);

	if (!frame) {
		port->counters.drop_no_frame++;
		return NULL;
	}
	frame->length = vl_pfc_sender_write(&port->pfc, frame->data, now);
	frame->priority = VL_SWITCH_PRIORITIES - 1;
	port->counters.pfc_tx++;
	return frame;
}

/* Deficit round robin (Shreedhar and Varghese 1995) over the queues in candidates, which is not
 * 0. */
static uint8_t round_robin(struct vl_switch *sw, struct vl_switch_port *port, uint8_t candidates)
{
	for (;;) {
		uint8_t q = port->turn;

		if (candidates >> q & 1) {
			if (!port->turn_begun)
				port->deficit[q] +=
					QUANTUM *
					(int64_t)sw->config.port.queues[q].scheduler.weight;
			port->turn_begun = true;
			if (port->queues[q].head->length <= port->deficit[q]) {
				port->deficit[q] -= port->queues[q].head->length;
				return q;
			}
		} else if (!(port->occupied >> q & 1)) {
			port->deficit[q] = 0;
		}
		port->turn = (uint8_t)((q + 1) % VL_SWITCH_PRIORITIES);
		port->turn_begun = false;
	}
}

static uint8_t choose_queue(struct vl_switch *sw, struct vl_switch_port *port, uint8_t candidates)
{
	uint8_t strict = candidates & sw->strict;

	if (strict)
		return (uint8_t)(31 - __builtin_clz(strict));
	if (!(candidates & (candidates - 1)))
		return (uint8_t)__builtin_ctz(candidates);
	return round_robin(sw, port, candidates);
}

/* Takes the head of a queue out of the buffer. NULL: RED dropped it. */
static struct vl_frame *dequeue(struct vl_switch *sw, struct vl_switch_port *port, uint8_t priority,
				uint64_t now)
{
	struct vl_frame_queue *queue = &port->queues[priority];
	struct vl_switch_queue_counters *counters = &port->queue_counters[priority];
	struct vl_frame *frame = vl_frame_queue_pop(queue, now);
	enum vl_red_verdict verdict = VL_RED_PASS;

	if (!queue->head)
		port->occupied &= (uint8_t) ~(1u << priority);
	release(sw, frame);
	if (sw->config.port.queues[priority].red.point == VL_RED_AT_DEQUEUE)
		verdict = vl_red_apply(&sw->red[priority], VL_COLOUR_GREEN, &sw->random,
				       queue->bytes, frame->data, frame->length);
	if (verdict == VL_RED_DROP) {
		counters->drop_red++;
		vl_frame_free(frame);
		return NULL;
	}
	counters->ecn_marked += verdict == VL_RED_MARKED;
	counters->tx_frames++;
	counters->tx_bytes += frame->length;
	return frame;
}

struct vl_frame *vl_switch_transmit(struct vl_switch *sw, uint32_t number, uint64_t now)
{
	struct vl_switch_port *port = &sw->ports[number];
	struct vl_frame *frame = NULL;

	if (vl_pfc_sender_is_due(&port->pfc, now))
		frame = transmit_pfc(sw, port, now);
	vl_pfc_receiver_update(&port->pause, now);
	while (!frame && (port->occupied & ~port->pause.paused)) {
		uint8_t candidates = port->occupied & (uint8_t)~port->pause.paused;

		frame = dequeue(sw, port, choose_queue(sw, port, candidates), now);
	}
	if (frame) {
		port->counters.tx_frames++;
		port->counters.tx_bytes += frame->length;
	}
	return frame;
}

uint64_t vl_switch_next_deadline(const struct vl_switch *sw, uint32_t number, uint64_t now)
{
	const struct vl_switch_port *port = &sw->ports[number];
	uint64_t deadline = port->pfc.refresh_at;

	if (port->pfc.changed || (port->occupied & ~port->pause.paused))
		return now;
	if (port->pause.next_change < deadline && (port->occupied || port->pause.pending_count))
		deadline = port->pause.next_change;
	return deadline > now ? deadline : now;
}
