/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/infiniband/switch.h"

#include "dataplane/infiniband/switch_private.h"
#include "transport/wire/headers.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define NO_PORT                   VL_INFINIBAND_SWITCH_NO_PORT
#define NO_ROUTE                  UINT16_MAX
#define DEFAULT_MANAGEMENT_BUFFER 16384u
#define THRESHOLD_STEPS           16
#define LANE_BITS                 4

/* ---- Set-up ----------------------------------------------------------------------------- */

static uint8_t lanes_of(const struct vl_infiniband_port_config *config)
{
	return config->virtual_lanes ? config->virtual_lanes : 1;
}

static bool is_sl_to_vl_valid(const uint8_t *sl_to_vl, uint8_t virtual_lanes)
{
	for (unsigned int i = 0; i < VL_INFINIBAND_SERVICE_LEVELS; i++) {
		if (sl_to_vl[i] >= virtual_lanes && sl_to_vl[i] != VL_INFINIBAND_MANAGEMENT_LANE)
			return false;
	}
	return true;
}

const char *vl_infiniband_switch_config_error(const struct vl_infiniband_switch_config *config)
{
	if (!config->ports || config->ports > VL_INFINIBAND_SWITCH_MAX_PORTS)
		return "an InfiniBand switch has 1 to 2048 ports";
	if (config->congestion.threshold > THRESHOLD_STEPS - 1)
		return "the congestion threshold is not within 0 and 15";
	if (!config->default_sl_to_vl &&
	    !is_sl_to_vl_valid(config->sl_to_vl, lanes_of(&config->port)))
		return "a service level is mapped to a virtual lane that the ports do not have";
	return vl_infiniband_port_config_error(&config->port);
}

static uint64_t pack(const uint8_t *sl_to_vl)
{
	uint64_t packed = 0;

	for (unsigned int i = 0; i < VL_INFINIBAND_SERVICE_LEVELS; i++)
		packed |= (uint64_t)sl_to_vl[i] << LANE_BITS * i;
	return packed;
}

static void init_port(struct vl_infiniband_switch *sw, struct vl_infiniband_switch_port *port)
{
	vl_infiniband_port_init(&port->link, &sw->config.port);
	port->marks_as_victim = sw->config.congestion.victims_mark;
	for (unsigned int i = 0; i < VL_INFINIBAND_LANES; i++)
		port->outputs[i].last = NO_PORT;
}

static void init_congestion(struct vl_infiniband_switch *sw)
{
	const struct vl_switch_congestion_setting *setting = &sw->config.congestion;

	sw->random.state = sw->config.seed;
	for (uint8_t i = 0; i < sw->virtual_lanes; i++)
		sw->mark_above[i] = vl_infiniband_port_buffer(&sw->ports[0].link, i) *
				    (THRESHOLD_STEPS - setting->threshold) / THRESHOLD_STEPS;
}

static bool allocate(struct vl_infiniband_switch *sw)
{
	size_t ports = sw->config.ports, lanes = sw->virtual_lanes + 1u;

	sw->ports = calloc(ports, sizeof(*sw->ports));
	sw->queues = calloc(ports * ports * lanes, sizeof(*sw->queues));
	return sw->ports && sw->queues;
}

struct vl_infiniband_switch *vl_infiniband_switch_create(
	const struct vl_infiniband_switch_config *config, struct vl_frame_pool *pool, int *error)
{
	struct vl_infiniband_switch *sw;

	if (vl_infiniband_switch_config_error(config)) {
		if (error)
			*error = -EINVAL;
		return NULL;
	}
	sw = calloc(1, sizeof(*sw));
	if (!sw)
		goto fail;
	sw->config = *config;
	sw->virtual_lanes = lanes_of(&config->port);
	sw->pool = pool;
	sw->first_credit_port = NO_PORT;
	if (!sw->config.management_buffer)
		sw->config.management_buffer = DEFAULT_MANAGEMENT_BUFFER;
	for (unsigned int i = 0; config->default_sl_to_vl && i < VL_INFINIBAND_SERVICE_LEVELS; i++)
		sw->config.sl_to_vl[i] = (uint8_t)(i % sw->virtual_lanes);
	sw->default_sl_to_vl = pack(sw->config.sl_to_vl);
	if (!allocate(sw))
		goto fail;
	for (uint32_t i = 0; i < config->ports; i++)
		init_port(sw, &sw->ports[i]);
	init_congestion(sw);
	return sw;
fail:
	vl_infiniband_switch_destroy(sw);
	if (error)
		*error = -ENOMEM;
	return NULL;
}

static size_t queue_count(const struct vl_infiniband_switch *sw)
{
	return (size_t)sw->config.ports * sw->config.ports * (sw->virtual_lanes + 1u);
}

void vl_infiniband_switch_destroy(struct vl_infiniband_switch *sw)
{
	if (!sw)
		return;
	for (size_t i = 0; sw->packets && i < queue_count(sw); i++) {
		struct vl_frame *frame = sw->queues[i].head;

		while (frame) {
			struct vl_frame *next = frame->next;

			vl_frame_free(frame);
			frame = next;
		}
	}
	free(sw->routes);
	free(sw->sl_to_vl);
	free(sw->queues);
	free(sw->ports);
	free(sw);
}

/* ---- What a subnet manager sets --------------------------------------------------------- */

uint32_t vl_infiniband_switch_port_count(const struct vl_infiniband_switch *sw)
{
	return sw->config.ports;
}

uint8_t vl_infiniband_switch_virtual_lanes(const struct vl_infiniband_switch *sw)
{
	return sw->virtual_lanes;
}

static int grow_routes(struct vl_infiniband_switch *sw, uint32_t count)
{
	uint32_t size = sw->route_count ? sw->route_count : 64;
	uint16_t *routes;

	while (size < count)
		size *= 2;
	routes = realloc(sw->routes, size * sizeof(*routes));
	if (!routes)
		return -ENOMEM;
	for (uint32_t i = sw->route_count; i < size; i++)
		routes[i] = NO_ROUTE;
	sw->routes = routes;
	sw->route_count = size;
	return 0;
}

int vl_infiniband_switch_set_route(struct vl_infiniband_switch *sw, uint16_t lid, uint32_t port)
{
	int error = 0;

	if (!lid || lid > VL_INFINIBAND_LAST_UNICAST_LID ||
	    (port >= sw->config.ports && port != NO_PORT))
		return -EINVAL;
	if (lid >= sw->route_count)
		error = grow_routes(sw, lid + 1u);
	if (!error)
		sw->routes[lid] = port == NO_PORT ? NO_ROUTE : (uint16_t)port;
	return error;
}

uint32_t vl_infiniband_switch_route(const struct vl_infiniband_switch *sw, uint16_t lid)
{
	return lid < sw->route_count && sw->routes[lid] != NO_ROUTE ? sw->routes[lid] : NO_PORT;
}

int vl_infiniband_switch_set_sl_to_vl(struct vl_infiniband_switch *sw, uint32_t in, uint32_t out,
				      const uint8_t sl_to_vl[VL_INFINIBAND_SERVICE_LEVELS])
{
	size_t pairs = (size_t)sw->config.ports * sw->config.ports;

	if (in >= sw->config.ports || out >= sw->config.ports ||
	    !is_sl_to_vl_valid(sl_to_vl, sw->virtual_lanes))
		return -EINVAL;
	if (!sw->sl_to_vl) {
		if (pack(sl_to_vl) == sw->default_sl_to_vl)
			return 0;
		sw->sl_to_vl = malloc(pairs * sizeof(*sw->sl_to_vl));
		if (!sw->sl_to_vl)
			return -ENOMEM;
		for (size_t i = 0; i < pairs; i++)
			sw->sl_to_vl[i] = sw->default_sl_to_vl;
	}
	sw->sl_to_vl[(size_t)in * sw->config.ports + out] = pack(sl_to_vl);
	return 0;
}

int vl_infiniband_switch_set_arbitration(struct vl_infiniband_switch *sw, uint32_t port,
					 const struct vl_arbiter_config *config)
{
	if (port >= sw->config.ports || vl_arbiter_config_error(config, sw->virtual_lanes))
		return -EINVAL;
	vl_infiniband_port_set_arbitration(&sw->ports[port].link, config);
	return 0;
}

void vl_infiniband_switch_set_port_rate(struct vl_infiniband_switch *sw, uint32_t port,
					uint64_t bits_per_second)
{
	vl_infiniband_port_set_rate(&sw->ports[port].link, bits_per_second);
}

void vl_infiniband_switch_set_victim(struct vl_infiniband_switch *sw, uint32_t port, bool marks)
{
	sw->ports[port].marks_as_victim = marks;
}

void vl_infiniband_switch_check_vcrc(struct vl_infiniband_switch *sw, uint32_t port)
{
	sw->ports[port].link.check_vcrc = true;
}

/* ---- Reading ---------------------------------------------------------------------------- */

const struct vl_infiniband_port *vl_infiniband_switch_port(const struct vl_infiniband_switch *sw,
							   uint32_t port)
{
	return port < sw->config.ports ? &sw->ports[port].link : NULL;
}

struct vl_infiniband_queue vl_infiniband_switch_queue(const struct vl_infiniband_switch *sw,
						      uint32_t port, uint8_t virtual_lane,
						      uint64_t now)
{
	const struct vl_infiniband_output *output = &sw->ports[port].outputs[virtual_lane];

	return (struct vl_infiniband_queue){
		.bytes = output->bytes,
		.watermark = output->watermark,
		.area = output->area + (unsigned __int128)output->bytes * (now - output->changed),
	};
}

void vl_infiniband_switch_reset_watermark(struct vl_infiniband_switch *sw, uint32_t port,
					  uint8_t virtual_lane)
{
	struct vl_infiniband_output *output = &sw->ports[port].outputs[virtual_lane];

	output->watermark = output->bytes;
}

uint64_t vl_infiniband_switch_packets(const struct vl_infiniband_switch *sw)
{
	return sw->packets;
}
