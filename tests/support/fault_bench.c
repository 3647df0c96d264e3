/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "tests/support/fault_bench.h"

#include "dataplane/pfc.h"
#include "tests/support/hosts.h"
#include "transport/wire/icrc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST (1u << 20)

void bench_init(struct bench *bench)
{
	memset(bench, 0, sizeof(*bench));
	bench->flow_config = (struct vl_flow_config){.transport = IBV_QPT_RC,
						     .verb = VL_FLOW_WRITE,
						     .size = 8192,
						     .messages = 20,
						     .qps = 1,
						     .depth = 2,
						     .path_mtu = IBV_MTU_4096,
						     .priority = HOST_DATA_PRIORITY,
						     .dscp = HOST_DATA_CLASS >> 2,
						     .timeout = 6,
						     .retry_count = 7,
						     .rnr_retry = 7,
						     .seed = 5};
}

struct vl_fault_event bench_event(const char *name, uint8_t directions, const char *opcode,
				  enum vl_fault_action_kind kind)
{
	struct vl_fault_event event = {.name = name, .place = "test.yaml:1"};

	vl_fault_match_init(&event.match);
	event.match.directions = directions;
	if (*opcode)
		CU_ASSERT_EQUAL_FATAL(vl_fault_match_opcode(&event.match, opcode), 0);
	event.action.kind = kind;
	event.action.bit = VL_FAULT_ANY_BIT;
	event.action.duration = VL_FAULT_FOREVER;
	return event;
}

void bench_faults(struct bench *bench, int side, const struct vl_fault_event *events,
		  unsigned int count)
{
	bench->fault_config[side].events = events;
	bench->fault_config[side].event_count = count;
	bench->has_faults[side] = true;
}

static void record(struct bench_record *into, enum vl_direction direction,
		   const struct vl_frame *frame, uint64_t now, const char *comment)
{
	struct bench_frame *entry;
	struct vl_packet packet;
	struct vl_pfc pfc;

	if (into->count == into->capacity) {
		into->capacity = into->capacity ? 2 * into->capacity : 256;
		into->frames = realloc(into->frames, into->capacity * sizeof(*into->frames));
		CU_ASSERT_PTR_NOT_NULL_FATAL(into->frames);
	}
	entry = &into->frames[into->count++];
	memset(entry, 0, sizeof(*entry));
	entry->direction = direction;
	entry->time = now;
	entry->length = frame->length;
	if (comment)
		snprintf(entry->comment, sizeof(entry->comment), "%s", comment);
	if (vl_pfc_parse(frame->data, frame->length, &pfc) == VL_MAC_CONTROL_PFC) {
		entry->is_pfc = true;
		entry->pfc_enabled = pfc.enabled;
		entry->pfc_quanta3 = pfc.quanta[3];
	}
	entry->result =
		vl_parse(&packet, VL_LINK_ETHERNET, frame->data, frame->length, frame->length);
	if (entry->result != VL_PARSE_ok)
		return;
	entry->icrc_right = vl_icrc_is_right(&packet);
	entry->opcode = packet.opcode;
	entry->ecn = (uint8_t)vl_packet_ecn(&packet);
	entry->dscp = vl_packet_dscp(&packet);
	entry->syndrome = packet.syndrome;
	entry->psn = packet.psn;
	entry->destination_qpn = packet.destination_qpn;
	entry->payload_length = packet.payload_length;
}

static void see_wire(void *context, const struct vl_node *node, uint32_t port,
		     enum vl_direction direction, const struct vl_frame *frame, uint64_t now)
{
	struct bench *bench = context;

	(void)node;
	(void)port;
	record(&bench->wire, direction, frame, now, NULL);
}

static void see(struct bench *bench, int side, enum vl_direction direction,
		const struct vl_frame *frame, uint64_t now, const char *comment)
{
	record(&bench->taps[side], direction, frame, now, comment);
	if (bench->watcher[side].see)
		bench->watcher[side].see(bench->watcher[side].context, direction, frame, now,
					 comment);
}

static void see_client(void *context, enum vl_direction direction, const struct vl_frame *frame,
		       uint64_t now, const char *comment)
{
	see(context, CLIENT, direction, frame, now, comment);
}

static void see_server(void *context, enum vl_direction direction, const struct vl_frame *frame,
		       uint64_t now, const char *comment)
{
	see(context, SERVER, direction, frame, now, comment);
}

static void open_faults(struct bench *bench, int side)
{
	struct vl_endpoint *endpoint = vl_node_endpoint(bench->nodes[side]);
	struct vl_fault_config *config = &bench->fault_config[side];
	struct vl_frame_tap tap = {side == CLIENT ? see_client : see_server, bench};
	struct vl_frame_filter filter;

	vl_endpoint_set_tap(endpoint, &tap);
	if (!bench->has_faults[side])
		return;
	config->tap = &endpoint->tap;
	config->device = endpoint->device;
	config->paused = &endpoint->pause.paused;
	memcpy(config->mac, endpoint->mac, sizeof(config->mac));
	bench->faults[side] = vl_fault_create(config, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(bench->faults[side]);
	filter = vl_fault_filter(bench->faults[side]);
	vl_endpoint_set_filter(endpoint, &filter);
}

void bench_open(struct bench *bench)
{
	const struct vl_link_config link = {
		.rate = BENCH_RATE, .propagation = BENCH_PROPAGATION, .seed = 7};
	const struct vl_traffic_config traffic = {.largest_message = LARGEST};
	const struct vl_tap tap = {see_wire, bench};

	bench->network = vl_network_create(NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(bench->network);
	for (int side = 0; side < 2; side++) {
		struct vl_endpoint_config config = host_config((uint16_t)(side + 1), BENCH_RATE);

		config.device.cc = bench->cc[side];
		config.device.cnp_scope = bench->cnp_scope[side];
		config.pfc_response_delay = bench->pfc_response_delay[side];
		bench->nodes[side] = vl_network_add_endpoint(bench->network, &config);
		CU_ASSERT_PTR_NOT_NULL_FATAL(bench->nodes[side]);
		open_faults(bench, side);
		bench->traffic[side] =
			vl_traffic_create(vl_node_endpoint(bench->nodes[side]), &traffic, NULL);
		CU_ASSERT_PTR_NOT_NULL_FATAL(bench->traffic[side]);
	}
	CU_ASSERT_EQUAL_FATAL(vl_network_connect(bench->network, bench->nodes[CLIENT], 0,
						 bench->nodes[SERVER], 0, &link, NULL),
			      0);
	CU_ASSERT_EQUAL_FATAL(vl_network_route(bench->network), 0);
	CU_ASSERT_EQUAL_FATAL(vl_network_tap(bench->network, bench->nodes[CLIENT], 0, &tap), 0);
	bench->flow = vl_flow_create(bench->traffic[CLIENT], bench->traffic[SERVER],
				     &bench->flow_config, 0, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(bench->flow);
}

void bench_run(struct bench *bench, uint64_t until)
{
	vl_network_run_until(bench->network, until);
}

void bench_close(struct bench *bench)
{
	for (int side = 0; side < 2; side++) {
		vl_traffic_destroy(bench->traffic[side]);
		free(bench->taps[side].frames);
	}
	vl_network_destroy(bench->network);
	for (int side = 0; side < 2; side++)
		vl_fault_destroy(bench->faults[side]);
	free(bench->wire.frames);
}

struct vl_endpoint *bench_endpoint(const struct bench *bench, int side)
{
	return vl_node_endpoint(bench->nodes[side]);
}

bool bench_is_done(const struct bench *bench)
{
	for (uint32_t n = 0; n < bench->flow_config.qps; n++) {
		const struct vl_generate_progress *progress = vl_flow_progress(bench->flow, n);

		if (progress->status != IBV_WC_SUCCESS ||
		    progress->completed != bench->flow_config.messages)
			return false;
	}
	return true;
}

const struct bench_frame *bench_find(const struct bench_record *record, enum vl_direction direction,
				     uint8_t opcode, unsigned int n)
{
	for (unsigned int i = 0; i < record->count; i++) {
		const struct bench_frame *frame = &record->frames[i];

		if (frame->direction == direction && frame->result == VL_PARSE_ok &&
		    frame->opcode == opcode && !n--)
			return frame;
	}
	return NULL;
}

unsigned int bench_count(const struct bench_record *record, enum vl_direction direction,
			 uint8_t opcode)
{
	unsigned int count = 0;

	while (bench_find(record, direction, opcode, count))
		count++;
	return count;
}

unsigned int bench_comments(const struct bench_record *record, const char *text)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < record->count; i++)
		count += strstr(record->frames[i].comment, text) != NULL;
	return count;
}

uint32_t bench_first_psn(const struct bench *bench)
{
	for (unsigned int i = 0; i < bench->wire.count; i++) {
		const struct bench_frame *frame = &bench->wire.frames[i];

		if (frame->result == VL_PARSE_ok &&
		    vl_opcode_table[frame->opcode].flags & VL_OPCODE_REQUEST)
			return frame->psn;
	}
	CU_FAIL_FATAL("no request on the wire");
	return 0;
}
