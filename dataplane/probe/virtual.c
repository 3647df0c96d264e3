/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/probe/virtual.h"

#include "transport/wire/gid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAME_CAPACITY 9600u

/* One side: what it has to send, and who hears what it gets. */
struct station {
	struct vl_probe_virtual *owner;
	enum vl_probe_side side;
	struct vl_node *node;
	struct vl_frame *head, *tail; /* to be sent */
};

struct vl_probe_virtual {
	struct vl_probe_bench bench;
	struct vl_network *network;
	struct vl_node *node; /* the switch */
	struct station stations[VL_PROBE_SIDES];
};

/* ---- What stands in front of the endpoints ----------------------------------------------- */

static bool receive(void *context, struct vl_frame *frame, uint64_t now)
{
	struct station *station = context;
	struct vl_probe_bench *bench = &station->owner->bench;

	if (bench->received)
		bench->received(bench->receiver, station->side, frame->data, frame->length, now);
	return false;
}

static struct vl_frame *next_received(void *context, uint64_t now)
{
	(void)context;
	(void)now;
	return NULL;
}

static bool transmit(void *context, struct vl_frame *frame, uint64_t now)
{
	(void)context;
	(void)frame;
	(void)now;
	return false;
}

static bool next_transmitted(void *context, struct vl_frame *frame, uint64_t now)
{
	struct station *station = context;
	struct vl_frame *next = station->head;

	(void)now;
	if (!next)
		return false;
	station->head = next->next;
	memcpy(frame->data, next->data, next->length);
	frame->length = next->length;
	frame->priority = 0;
	vl_frame_free(next);
	return true;
}

static uint64_t next_deadline(void *context)
{
	const struct station *station = context;

	return station->head ? 0 : UINT64_MAX;
}

/* ---- The bench --------------------------------------------------------------------------- */

static bool send(void *context, enum vl_probe_side side, const uint8_t *data, uint32_t length)
{
	struct vl_probe_virtual *virtual = context;
	struct station *station = &virtual->stations[side];
	struct vl_frame *frame = vl_frame_get(vl_network_frame_pool(virtual->network));

	if (!frame || length > frame->capacity) {
		if (frame)
			vl_frame_free(frame);
		return false;
	}
	memcpy(frame->data, data, length);
	frame->length = length;
	frame->next = NULL;
	if (station->head)
		station->tail->next = frame;
	else
		station->head = frame;
	station->tail = frame;
	return true;
}

static bool advance(void *context, uint64_t duration)
{
	struct vl_probe_virtual *virtual = context;

	return vl_network_run_until(virtual->network, vl_network_now(virtual->network) + duration);
}

static uint64_t now(void *context)
{
	struct vl_probe_virtual *virtual = context;

	return vl_network_now(virtual->network);
}

static bool is_idle(void *context)
{
	const struct vl_probe_virtual *virtual = context;

	return !virtual->stations[VL_PROBE_SENDER].head &&
	       !virtual->stations[VL_PROBE_RECEIVER].head;
}

static bool add_station(struct vl_probe_virtual *virtual, enum vl_probe_side side, uint64_t rate)
{
	struct station *station = &virtual->stations[side];
	struct vl_probe_bench *bench = &virtual->bench;
	struct vl_endpoint_config config = {.name = side ? "receiver" : "sender", .rate = rate};
	const struct vl_frame_filter filter = {receive,          next_received, transmit,
					       next_transmitted, next_deadline, station};
	const uint8_t mac[6] = {0x02, 0, 0, 0, 0, (uint8_t)(1 + side)};
	const uint8_t address[4] = {10, 0, 0, (uint8_t)(1 + side)};
	union ibv_gid *gid = &config.device.gids[0].gid;

	memcpy(bench->macs[side], mac, sizeof(mac));
	memcpy(bench->addresses[side], address, sizeof(address));
	memcpy(config.device.mac, mac, sizeof(mac));
	config.device.gid_count = 1;
	*gid = vl_gid_of_ipv4(address);
	station->owner = virtual;
	station->side = side;
	station->node = vl_network_add_endpoint(virtual->network, &config);
	if (station->node)
		vl_endpoint_set_filter(vl_node_endpoint(station->node), &filter);
	return station->node;
}

static bool build(struct vl_probe_virtual *virtual, const struct vl_switch_config *config,
		  const struct vl_link_config *cables)
{
	struct vl_node *sw;

	if (!add_station(virtual, VL_PROBE_SENDER, cables[0].rate) ||
	    !add_station(virtual, VL_PROBE_RECEIVER, cables[1].rate))
		return false;
	sw = vl_network_add_switch(virtual->network, "switch", config);
	if (!sw)
		return false;
	virtual->node = sw;
	for (unsigned int i = 0; i < VL_PROBE_SIDES; i++) {
		if (vl_network_connect(virtual->network, virtual->stations[i].node, 0, sw, i,
				       &cables[i], NULL))
			return false;
	}
	return !vl_network_route(virtual->network);
}

struct vl_probe_virtual *vl_probe_virtual_create(const struct vl_switch_config *config,
						 const struct vl_link_config cables[VL_PROBE_SIDES],
						 char *error, size_t error_size)
{
	const struct vl_network_config network = {.frame_capacity = FRAME_CAPACITY};
	struct vl_probe_virtual *virtual = calloc(1, sizeof(*virtual));

	if (virtual)
		virtual->network = vl_network_create(&network);
	if (!virtual || !virtual->network) {
		snprintf(error, error_size, "no memory for a network");
		free(virtual);
		return NULL;
	}
	virtual->bench.rate = cables[0].rate;
	virtual->bench.context = virtual;
	virtual->bench.send = send;
	virtual->bench.advance = advance;
	virtual->bench.now = now;
	virtual->bench.is_idle = is_idle;
	if (build(virtual, config, cables))
		return virtual;
	snprintf(error, error_size, "%s", vl_network_error(virtual->network));
	vl_probe_virtual_destroy(virtual);
	return NULL;
}

void vl_probe_virtual_destroy(struct vl_probe_virtual *virtual)
{
	if (!virtual)
		return;
	for (unsigned int i = 0; i < VL_PROBE_SIDES; i++) {
		struct station *station = &virtual->stations[i];

		while (station->head) {
			struct vl_frame *next = station->head->next;

			vl_frame_free(station->head);
			station->head = next;
		}
	}
	vl_network_destroy(virtual->network);
	free(virtual);
}

const struct vl_switch *vl_probe_virtual_switch(const struct vl_probe_virtual *virtual)
{
	return vl_node_switch(virtual->node);
}

struct vl_probe_bench *vl_probe_virtual_bench(struct vl_probe_virtual *virtual)
{
	return &virtual->bench;
}
