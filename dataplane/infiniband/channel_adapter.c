/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/infiniband/channel_adapter.h"

#include "dataplane/fabric/rate.h"
#include "transport/wire/headers.h"
#include "transport/wire/opcode.h"
#include "transport/wire/vcrc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ALL_LEVELS 0xffffu

struct frame_list {
	struct vl_frame *head, *tail;
};

struct vl_channel_adapter {
	struct vl_endpoint *endpoint;
	struct vl_infiniband_port port;
	struct vl_frame_pool *pool;
	struct vl_channel_adapter_management management;
	uint16_t lid;
	uint8_t sl_to_vl[VL_INFINIBAND_SERVICE_LEVELS];
	uint16_t levels[VL_INFINIBAND_DATA_LANES]; /* bit n: service level n is on the lane */

	/* Taken from the device, waiting to go; and what may go before it. */
	struct vl_frame *staged[VL_INFINIBAND_DATA_LANES];
	struct vl_frame *passing[VL_INFINIBAND_DATA_LANES];
	uint16_t is_staged, is_passing; /* bit n: lane n */
	uint16_t paused, held;          /* service levels, as the device was told */
	struct vl_frame *spare;
	struct frame_list management_queue;

	/* The receive buffer, if it is not emptied at once. */
	struct vl_rate drain_rate;
	bool drains_slowly;
	struct frame_list received;
	uint64_t drained_at; /* ns: the first of received has been taken out */
	uint64_t drain_remainder;
};

static void append(struct frame_list *list, struct vl_frame *frame)
{
	frame->next = NULL;
	if (list->head)
		list->tail->next = frame;
	else
		list->head = frame;
	list->tail = frame;
}

static struct vl_frame *take_first(struct frame_list *list)
{
	struct vl_frame *frame = list->head;

	list->head = frame->next;
	return frame;
}

/* ---- Set-up ----------------------------------------------------------------------------- */

static uint8_t lanes_of(const struct vl_infiniband_port_config *config)
{
	return config->virtual_lanes ? config->virtual_lanes : 1;
}

static bool is_sl_to_vl_valid(const uint8_t *sl_to_vl, uint8_t virtual_lanes)
{
	for (unsigned int i = 0; i < VL_INFINIBAND_SERVICE_LEVELS; i++) {
		if (sl_to_vl[i] >= virtual_lanes)
			return false;
	}
	return true;
}

const char *vl_channel_adapter_config_error(const struct vl_channel_adapter_config *config)
{
	if (config->endpoint.ip)
		return "a channel adapter has no IP";
	if (config->drain_rate &&
	    (config->drain_rate < VL_RATE_MIN || config->drain_rate > VL_RATE_MAX))
		return "the drain rate must be 1 Mb/s to 4 Tb/s";
	if (!config->default_sl_to_vl &&
	    !is_sl_to_vl_valid(config->sl_to_vl, lanes_of(&config->port)))
		return "a service level is mapped to a virtual lane that the port does not have";
	return vl_infiniband_port_config_error(&config->port);
}

/* A modified EUI-64 behind fe80::/64. */
static union ibv_gid link_local_gid(const uint8_t mac[6])
{
	return (union ibv_gid){.raw = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, mac[0] ^ 2, mac[1], mac[2],
				       0xff, 0xfe, mac[3], mac[4], mac[5]}};
}

static struct vl_endpoint_config endpoint_config(const struct vl_channel_adapter_config *config)
{
	struct vl_endpoint_config endpoint = config->endpoint;
	struct vl_device_config *device = &endpoint.device;

	endpoint.link = VL_LINK_INFINIBAND;
	if (!device->gid_count) {
		device->gid_count = 1;
		device->gids[0].gid = link_local_gid(device->mac);
	}
	for (uint32_t i = 0; i < device->gid_count && i < VL_MAX_GIDS; i++) {
		device->gids[i].encapsulation = VL_ENCAPSULATION_IB_GLOBAL;
		device->gids[i].vlan_present = false;
	}
	return endpoint;
}

static void set_sl_to_vl(struct vl_channel_adapter *adapter, const uint8_t *sl_to_vl)
{
	memset(adapter->levels, 0, sizeof(adapter->levels));
	for (unsigned int i = 0; i < VL_INFINIBAND_SERVICE_LEVELS; i++) {
		adapter->sl_to_vl[i] = sl_to_vl[i];
		adapter->levels[sl_to_vl[i]] |= (uint16_t)(1u << i);
	}
}

struct vl_channel_adapter *vl_channel_adapter_create(const struct vl_channel_adapter_config *config,
						     struct vl_frame_pool *pool, int *error)
{
	struct vl_endpoint_config endpoint = endpoint_config(config);
	uint8_t sl_to_vl[VL_INFINIBAND_SERVICE_LEVELS];
	struct vl_channel_adapter *adapter = NULL;
	int result = -EINVAL;

	if (vl_channel_adapter_config_error(config))
		goto fail;
	result = -ENOMEM;
	adapter = calloc(1, sizeof(*adapter));
	if (!adapter)
		goto fail;
	adapter->endpoint = vl_endpoint_create(&endpoint, &result);
	if (!adapter->endpoint)
		goto fail;
	adapter->pool = pool;
	adapter->lid = endpoint.device.lid;
	vl_infiniband_port_init(&adapter->port, &config->port);
	for (unsigned int i = 0; i < VL_INFINIBAND_SERVICE_LEVELS; i++)
		sl_to_vl[i] = config->default_sl_to_vl ? (uint8_t)(i % adapter->port.virtual_lanes)
						       : config->sl_to_vl[i];
	set_sl_to_vl(adapter, sl_to_vl);
	if (config->drain_rate) {
		adapter->drains_slowly = true;
		adapter->drain_rate = vl_rate_make(config->drain_rate);
	}
	return adapter;
fail:
	free(adapter);
	if (error)
		*error = result;
	return NULL;
}

static void free_list(struct frame_list *list)
{
	while (list->head)
		vl_frame_free(take_first(list));
}

void vl_channel_adapter_destroy(struct vl_channel_adapter *adapter)
{
	if (!adapter)
		return;
	for (unsigned int i = 0; i < VL_INFINIBAND_DATA_LANES; i++) {
		if (adapter->staged[i])
			vl_frame_free(adapter->staged[i]);
		if (adapter->passing[i])
			vl_frame_free(adapter->passing[i]);
	}
	if (adapter->spare)
		vl_frame_free(adapter->spare);
	free_list(&adapter->management_queue);
	free_list(&adapter->received);
	vl_endpoint_destroy(adapter->endpoint);
	free(adapter);
}

/* ---- What a subnet manager sets --------------------------------------------------------- */

int vl_channel_adapter_set_lid(struct vl_channel_adapter *adapter, uint16_t lid)
{
	if (!lid || lid > VL_INFINIBAND_LAST_UNICAST_LID)
		return -EINVAL;
	adapter->lid = lid;
	vl_set_lid(adapter->endpoint->device, lid);
	return 0;
}

uint16_t vl_channel_adapter_lid(const struct vl_channel_adapter *adapter)
{
	return adapter->lid;
}

uint8_t vl_channel_adapter_virtual_lanes(const struct vl_channel_adapter *adapter)
{
	return adapter->port.virtual_lanes;
}

int vl_channel_adapter_set_sl_to_vl(struct vl_channel_adapter *adapter,
				    const uint8_t sl_to_vl[VL_INFINIBAND_SERVICE_LEVELS])
{
	if (!is_sl_to_vl_valid(sl_to_vl, adapter->port.virtual_lanes))
		return -EINVAL;
	set_sl_to_vl(adapter, sl_to_vl);
	return 0;
}

int vl_channel_adapter_set_arbitration(struct vl_channel_adapter *adapter,
				       const struct vl_arbiter_config *config)
{
	if (vl_arbiter_config_error(config, adapter->port.virtual_lanes))
		return -EINVAL;
	vl_infiniband_port_set_arbitration(&adapter->port, config);
	return 0;
}

void vl_channel_adapter_set_rate(struct vl_channel_adapter *adapter, uint64_t bits_per_second)
{
	vl_infiniband_port_set_rate(&adapter->port, bits_per_second);
}

void vl_channel_adapter_check_vcrc(struct vl_channel_adapter *adapter)
{
	adapter->port.check_vcrc = true;
}

/* ---- Management ------------------------------------------------------------------------- */

void vl_channel_adapter_set_management(struct vl_channel_adapter *adapter,
				       const struct vl_channel_adapter_management *management)
{
	adapter->management = *management;
}

int vl_channel_adapter_send_management(struct vl_channel_adapter *adapter, struct vl_frame *frame,
				       uint64_t now)
{
	uint32_t length = frame->length;
	uint16_t vcrc;

	if (length < sizeof(struct vl_lrh) || length + VL_VCRC_LENGTH > frame->capacity)
		return -EINVAL;
	frame->data[0] |= VL_INFINIBAND_MANAGEMENT_LANE << 4;
	vcrc = vl_vcrc(frame->data, length);
	frame->data[length] = (uint8_t)vcrc;
	frame->data[length + 1] = (uint8_t)(vcrc >> 8);
	frame->length = length + VL_VCRC_LENGTH;
	frame->kind = VL_FRAME_INFINIBAND;
	append(&adapter->management_queue, frame);
	if (adapter->management_queue.head == frame)
		vl_infiniband_port_set_head(&adapter->port, VL_INFINIBAND_MANAGEMENT_LANE,
					    frame->length, now);
	return 0;
}

static struct vl_frame *take_management(struct vl_channel_adapter *adapter, uint64_t now)
{
	struct vl_frame *frame = take_first(&adapter->management_queue);
	struct vl_frame *next = adapter->management_queue.head;

	vl_infiniband_port_sent(&adapter->port, VL_INFINIBAND_MANAGEMENT_LANE, frame, now);
	if (next)
		vl_infiniband_port_set_head(&adapter->port, VL_INFINIBAND_MANAGEMENT_LANE,
					    next->length, now);
	return frame;
}

/* ---- Holding back ----------------------------------------------------------------------- */

/* Answers of a responder reach the requester in the order in which they were given. */
static bool is_response(const struct vl_frame *frame)
{
	const struct vl_lrh *lrh = (const struct vl_lrh *)frame->data;
	uint32_t offset = sizeof(*lrh);

	if ((lrh->service_next & 3) == VL_LNH_IBA_GLOBAL)
		offset += sizeof(struct vl_ipv6_header);
	return vl_opcode_table[frame->data[offset]].flags & VL_OPCODE_RESPONSE;
}

/* Whether something may go before the request that waits on a lane. */
static bool may_pass(const struct vl_channel_adapter *adapter, uint8_t lane)
{
	const struct vl_infiniband_port *port = &adapter->port;

	return !adapter->passing[lane] && (port->stalled >> lane & 1) &&
	       vl_infiniband_port_has_credits(port, lane, 1) && !is_response(adapter->staged[lane]);
}

/* Tells the device which service levels rest. */
static void hold_back(struct vl_channel_adapter *adapter)
{
	uint16_t paused = 0, held = 0;

	for (uint16_t lanes = adapter->is_staged; lanes; lanes &= (uint16_t)(lanes - 1)) {
		uint8_t lane = (uint8_t)__builtin_ctz(lanes);

		if (may_pass(adapter, lane))
			held |= adapter->levels[lane];
		else
			paused |= adapter->levels[lane];
	}
	if (paused != adapter->paused) {
		adapter->paused = paused;
		vl_set_paused_priorities(adapter->endpoint->device, paused);
	}
	if (held != adapter->held) {
		adapter->held = held;
		vl_set_held_priorities(adapter->endpoint->device, held);
	}
}

/* ---- In --------------------------------------------------------------------------------- */

static void deliver(struct vl_channel_adapter *adapter, struct vl_frame *frame, uint64_t now)
{
	vl_infiniband_port_release(&adapter->port, frame->virtual_lane, frame->length);
	if (frame->virtual_lane != VL_INFINIBAND_MANAGEMENT_LANE)
		vl_endpoint_receive(adapter->endpoint, frame, now);
	else if (adapter->management.receive)
		adapter->management.receive(adapter->management.context, frame, now);
	else
		adapter->port.counters.vl15_dropped++;
	vl_frame_free(frame);
}

static void start_draining(struct vl_channel_adapter *adapter, uint64_t from)
{
	adapter->drained_at = from + vl_rate_time(adapter->drain_rate,
						  adapter->received.head->length * UINT64_C(8),
						  &adapter->drain_remainder);
}

void vl_channel_adapter_receive(struct vl_channel_adapter *adapter, struct vl_frame *frame,
				uint64_t now)
{
	if (frame->kind == VL_FRAME_INFINIBAND_LINK) {
		vl_infiniband_port_receive_link(&adapter->port, frame, now);
		vl_frame_free(frame);
		hold_back(adapter);
		return;
	}
	if (!vl_infiniband_port_accept(&adapter->port, frame)) {
		vl_frame_free(frame);
		return;
	}
	if (!adapter->drains_slowly || frame->virtual_lane == VL_INFINIBAND_MANAGEMENT_LANE) {
		deliver(adapter, frame, now);
		return;
	}
	append(&adapter->received, frame);
	if (adapter->received.head == frame)
		start_draining(adapter, now);
}

void vl_channel_adapter_poll(struct vl_channel_adapter *adapter, uint64_t now)
{
	while (adapter->received.head && adapter->drained_at <= now) {
		deliver(adapter, take_first(&adapter->received), now);
		if (adapter->received.head)
			start_draining(adapter, adapter->drained_at);
	}
	vl_endpoint_poll(adapter->endpoint, now);
}

/* ---- Out -------------------------------------------------------------------------------- */

static void stage(struct vl_channel_adapter *adapter, struct vl_frame *frame, uint64_t now)
{
	uint8_t lane = adapter->sl_to_vl[frame->priority & (VL_INFINIBAND_SERVICE_LEVELS - 1)];
	const uint16_t bit = (uint16_t)(1u << lane);

	if (adapter->is_staged & bit) {
		adapter->passing[lane] = frame;
		adapter->is_passing |= bit;
	} else {
		adapter->staged[lane] = frame;
		adapter->is_staged |= bit;
	}
	vl_infiniband_port_set_head(&adapter->port, lane, frame->length, now);
}

/* Takes from the device what may wait here. */
static void fill(struct vl_channel_adapter *adapter, uint64_t now)
{
	hold_back(adapter);
	while (adapter->paused != ALL_LEVELS) {
		struct vl_frame *frame =
			adapter->spare ? adapter->spare : vl_frame_get(adapter->pool);

		adapter->spare = NULL;
		if (!frame)
			return;
		if (!vl_endpoint_transmit(adapter->endpoint, now, frame)) {
			adapter->spare = frame;
			return;
		}
		stage(adapter, frame, now);
		hold_back(adapter);
	}
}

static struct vl_frame *take_staged(struct vl_channel_adapter *adapter, uint8_t lane, uint64_t now)
{
	const uint16_t bit = (uint16_t)(1u << lane);
	struct vl_frame *frame, *next = NULL;

	if (adapter->is_passing & bit) {
		frame = adapter->passing[lane];
		adapter->passing[lane] = NULL;
		adapter->is_passing &= (uint16_t)~bit;
		next = adapter->staged[lane];
	} else {
		frame = adapter->staged[lane];
		adapter->staged[lane] = NULL;
		adapter->is_staged &= (uint16_t)~bit;
	}
	vl_infiniband_port_sent(&adapter->port, lane, frame, now);
	if (next)
		vl_infiniband_port_set_head(&adapter->port, lane, next->length, now);
	hold_back(adapter);
	return frame;
}

static struct vl_frame *transmit_link(struct vl_channel_adapter *adapter, uint64_t now)
{
	struct vl_frame *frame = vl_frame_get(adapter->pool);

	if (!frame)
		adapter->port.counters.no_frame++;
	else
		vl_infiniband_port_write_link(&adapter->port, frame, now);
	return frame;
}

struct vl_frame *vl_channel_adapter_transmit(struct vl_channel_adapter *adapter, uint64_t now)
{
	struct vl_frame *frame;
	uint8_t lane;

	if (vl_infiniband_port_is_link_due(&adapter->port, now)) {
		frame = transmit_link(adapter, now);
		if (frame)
			return frame;
	}
	fill(adapter, now);
	lane = vl_infiniband_port_choose(&adapter->port, now);
	if (lane == VL_ARBITER_NONE)
		return NULL;
	if (lane == VL_INFINIBAND_MANAGEMENT_LANE)
		return take_management(adapter, now);
	return take_staged(adapter, lane, now);
}

uint64_t vl_channel_adapter_next_deadline(const struct vl_channel_adapter *adapter, uint64_t now)
{
	uint64_t deadline = vl_endpoint_next_deadline(adapter->endpoint);

	if (adapter->port.due || vl_infiniband_port_is_ready(&adapter->port))
		return now;
	if (adapter->port.next_period < deadline)
		deadline = adapter->port.next_period;
	if (adapter->received.head && adapter->drained_at < deadline)
		deadline = adapter->drained_at;
	return deadline;
}

uint64_t vl_channel_adapter_next_drain(const struct vl_channel_adapter *adapter)
{
	return adapter->received.head ? adapter->drained_at : UINT64_MAX;
}

/* ---- Reading ---------------------------------------------------------------------------- */

struct vl_endpoint *vl_channel_adapter_endpoint(const struct vl_channel_adapter *adapter)
{
	return adapter->endpoint;
}

const struct vl_infiniband_port *vl_channel_adapter_port(const struct vl_channel_adapter *adapter)
{
	return &adapter->port;
}
