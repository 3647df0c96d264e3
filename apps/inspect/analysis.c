/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "apps/inspect/analysis.h"

#include "transport/wire/icrc.h"
#include "transport/wire/opcode.h"
#include "transport/wire/vcrc.h"

#include <stdlib.h>
#include <string.h>

#define ETHERTYPE_MAC_CONTROL 0x8808
#define MAC_CONTROL_PFC       0x0101

struct inspect_analysis *inspect_analysis_new(void)
{
	struct inspect_analysis *analysis = calloc(1, sizeof(*analysis));

	if (!analysis)
		return NULL;
	if (inspect_flows_init(&analysis->flows) || inspect_history_init(&analysis->history)) {
		inspect_analysis_free(analysis);
		return NULL;
	}
	return analysis;
}

struct inspect_analysis *inspect_analysis_new_lean(uint32_t flows)
{
	struct inspect_analysis *analysis = inspect_analysis_new();

	if (!analysis)
		return NULL;
	analysis->is_lean = true;
	if (!inspect_flows_reserve(&analysis->flows, flows))
		return analysis;
	inspect_analysis_free(analysis);
	return NULL;
}

void inspect_analysis_free(struct inspect_analysis *analysis)
{
	if (!analysis)
		return;
	inspect_flows_free(&analysis->flows);
	inspect_history_free(&analysis->history);
	free(analysis->events);
	free(analysis->exchanges.list);
	free(analysis);
}

static const struct {
	const char *name;
} event_kinds[] = {
#define EVENT_KIND(name, meaning) {#name},
	INSPECT_EVENT_KINDS(EVENT_KIND)
#undef EVENT_KIND
};

const char *inspect_event_name(enum inspect_event_kind kind)
{
	return event_kinds[kind].name;
}

const char *inspect_reason_name(unsigned int reason)
{
	if (reason < VL_PARSE_RESULT_COUNT)
		return vl_parse_result_name((enum vl_parse_result)reason);
	return vl_capture_frame_kind_name(
		(enum vl_capture_frame_kind)(reason - VL_PARSE_RESULT_COUNT));
}

const char *inspect_reason_meaning(unsigned int reason)
{
	if (reason < VL_PARSE_RESULT_COUNT)
		return vl_parse_result_meaning((enum vl_parse_result)reason);
	return vl_capture_frame_kind_meaning(
		(enum vl_capture_frame_kind)(reason - VL_PARSE_RESULT_COUNT));
}

/* What a reason makes of a packet without a BTH; with one it is RDMA where the shape is right. */
enum inspect_class inspect_reason_class(unsigned int reason)
{
	switch (reason) {
	case VL_PARSE_ok:
	case VL_PARSE_opcode_reserved:
		return INSPECT_RDMA;
	case VL_PARSE_not_rdma:
	case VL_PARSE_vlan_depth:
	case VL_PARSE_ip_fragment:
	case VL_PARSE_lrh_raw:
	case VL_PARSE_link_packet:
	case VL_PARSE_RESULT_COUNT + VL_CAPTURE_FRAME_link_type_unsupported:
	case VL_PARSE_RESULT_COUNT + VL_CAPTURE_FRAME_erf_type_unsupported:
	case VL_PARSE_RESULT_COUNT + VL_CAPTURE_FRAME_sll_not_ip:
		return INSPECT_FOREIGN;
	default:
		return INSPECT_DAMAGED;
	}
}

static void count_reason(struct inspect_analysis *analysis, unsigned int reason, uint64_t number)
{
	struct inspect_reason *entry = &analysis->reasons[reason];

	if (entry->count < INSPECT_EXAMPLES)
		entry->examples[entry->count] = number;
	entry->count++;
}

uint32_t inspect_event_keep(struct inspect_analysis *analysis, const struct inspect_event *event)
{
	if (analysis->event_counts[event->kind]++ >= INSPECT_EVENTS_OF_A_KIND || analysis->is_lean)
		return INSPECT_NO_EVENT;
	if (analysis->event_count == analysis->event_capacity) {
		uint32_t capacity = analysis->event_capacity ? 2 * analysis->event_capacity : 64;
		struct inspect_event *events =
			realloc(analysis->events, capacity * sizeof(*events));

		if (!events) {
			analysis->out_of_memory = true;
			return INSPECT_NO_EVENT;
		}
		analysis->events = events;
		analysis->event_capacity = capacity;
	}
	analysis->events[analysis->event_count] = *event;
	return analysis->event_count++;
}

struct inspect_event inspect_event_make(enum inspect_event_kind kind,
					const struct inspect_flow *flow,
					const struct inspect_arrival *arrival)
{
	return (struct inspect_event){
		.kind = kind,
		.packet = arrival->number,
		.time = arrival->time,
		.flow = flow,
		.psn = arrival->packet->psn,
		.opcode = arrival->packet->opcode,
		.syndrome = arrival->packet->syndrome,
	};
}

struct inspect_event *inspect_event_add(struct inspect_analysis *analysis,
					enum inspect_event_kind kind,
					const struct inspect_flow *flow,
					const struct inspect_arrival *arrival)
{
	struct inspect_event event = inspect_event_make(kind, flow, arrival);
	uint32_t index = inspect_event_keep(analysis, &event);

	return index == INSPECT_NO_EVENT ? NULL : &analysis->events[index];
}

/* 802.1Qbb pauses explain much of what RDMA does, so they are worth a count. */
static void look_for_pfc(struct inspect_analysis *analysis, const struct vl_capture_frame *frame)
{
	const uint8_t *bytes = frame->data;

	if (frame->link != VL_LINK_ETHERNET || frame->length < 18 ||
	    (bytes[12] << 8 | bytes[13]) != ETHERTYPE_MAC_CONTROL ||
	    (bytes[14] << 8 | bytes[15]) != MAC_CONTROL_PFC)
		return;
	analysis->pfc_frames++;
	analysis->pfc_priorities |= bytes[17];
}

/* False: wrong; the packet is then as good as lost for its receiver. */
static bool check_crcs(struct inspect_analysis *analysis, const struct inspect_arrival *arrival)
{
	const struct vl_packet *packet = arrival->packet;
	struct inspect_event *event;
	uint32_t expected, found;

	if (!packet->icrc) {
		analysis->icrc_unchecked++;
		return true;
	}
	if (packet->vcrc) {
		expected = vl_vcrc(packet->frame, (size_t)(packet->vcrc - packet->frame));
		found = packet->vcrc[0] | (uint32_t)packet->vcrc[1] << 8;
		if (expected == found) {
			analysis->vcrc_right++;
		} else {
			analysis->vcrc_wrong++;
			event = inspect_event_add(analysis, INSPECT_EVENT_vcrc_wrong, NULL,
						  arrival);
			if (event) {
				event->expected = expected;
				event->found = found;
			}
		}
	}
	expected = vl_icrc_compute(packet);
	found = vl_icrc_found(packet);
	if (expected == found) {
		analysis->icrc_right++;
		return true;
	}
	analysis->icrc_wrong++;
	event = inspect_event_add(analysis, INSPECT_EVENT_icrc_wrong, NULL, arrival);
	if (event) {
		event->expected = expected;
		event->found = found;
	}
	return false;
}

static void add_link_packet(struct inspect_analysis *analysis, const struct vl_capture_frame *frame,
			    const struct vl_capture_packet *captured)
{
	struct inspect_event event = {
		.kind = INSPECT_EVENT_lpcrc_wrong,
		.packet = captured->number,
		.time = captured->time,
	};

	if (!inspect_link_add(&analysis->link, frame->side, frame->data, frame->length,
			      &event.expected, &event.found))
		inspect_event_keep(analysis, &event);
}

static void start_flow(struct inspect_analysis *analysis, struct inspect_flow *flow,
		       const struct inspect_arrival *arrival)
{
	const struct vl_packet *packet = arrival->packet;

	flow->first_packet = arrival->number;
	flow->first_time = arrival->time;
	flow->last_time = arrival->time;
	flow->udp_source_port = flow->last_udp_source_port = packet->udp_source_port;
	flow->vlan_present = packet->vlan_present;
	flow->vlan_id = packet->vlan_id;
	memcpy(flow->source_mac, packet->source_mac, sizeof(flow->source_mac));
	memcpy(flow->destination_mac, packet->destination_mac, sizeof(flow->destination_mac));
	if (flow->key.source_qpn) {
		struct inspect_flow_key key = flow->key;
		struct inspect_flow *reverse;

		key.source = flow->key.destination;
		key.destination = flow->key.source;
		key.source_qpn = flow->key.destination_qpn;
		key.destination_qpn = flow->key.source_qpn;
		reverse = inspect_flow_find(&analysis->flows, &key);
		if (reverse && reverse != flow)
			inspect_pair_flows(flow, reverse, INSPECT_PAIRED_BY_QPN);
		flow->is_gsi = flow->key.destination_qpn == 1;
	}
}

static void count_in_flow(struct inspect_analysis *analysis, struct inspect_flow *flow,
			  const struct inspect_arrival *arrival, uint32_t wire_length)
{
	const struct vl_packet *packet = arrival->packet;

	if (!flow->packets)
		start_flow(analysis, flow, arrival);
	flow->packets++;
	flow->bytes += wire_length;
	flow->last_packet = arrival->number;
	if (arrival->time > flow->last_time)
		flow->last_time = arrival->time;
	flow->services |= 1u << (packet->opcode >> 5);
	flow->ecn[vl_packet_ecn(packet)]++;
	if (packet->info->flags & VL_OPCODE_NOTIFICATION)
		flow->cnp_dscps |= UINT64_C(1) << vl_packet_dscp(packet);
	else
		flow->dscps |= UINT64_C(1) << vl_packet_dscp(packet);
	if (packet->vlan_present || !packet->udp_source_port)
		flow->priorities |= 1u << (packet->priority & 15);
	flow->fecn += packet->fecn;
	flow->becn += packet->becn;
	flow->cut += !packet->icrc;
	if (packet->udp_source_port != flow->last_udp_source_port) {
		flow->last_udp_source_port = packet->udp_source_port;
		flow->udp_source_port_changes++;
	}
	if (packet->payload_length > flow->largest_payload)
		flow->largest_payload = packet->payload_length;
}

/* The QP that a CNP names sends on the other half. */
static void count_cnp(struct inspect_flow *flow, const struct inspect_arrival *arrival)
{
	struct inspect_flow *sender = flow->reverse;

	if (!flow->cnps++)
		flow->first_cnp_packet = arrival->number;
	if (sender && !sender->first_cnp_time) {
		sender->first_cnp_time = arrival->time;
		sender->payload_before_cnp = sender->payload;
	}
}

static void advance_flow(struct inspect_analysis *analysis, struct inspect_flow *flow,
			 const struct inspect_arrival *arrival)
{
	const struct vl_packet *packet = arrival->packet;
	uint32_t flags = packet->info->flags;

	if (flags & VL_OPCODE_NOTIFICATION) {
		count_cnp(flow, arrival);
		return;
	}
	switch (vl_opcode_service(packet->opcode)) {
	case VL_SERVICE_UD:
		flow->payload += packet->payload_length;
		flow->requests.packets++;
		flow->requests.messages++;
		if (!flow->requests.started) {
			flow->requests.started = true;
			flow->requests.first_psn = packet->psn;
		}
		flow->requests.next_psn = (packet->psn + 1) & 0xffffff;
		if (flow->is_gsi)
			inspect_exchange(analysis, flow, arrival);
		break;
	case VL_SERVICE_RC:
	case VL_SERVICE_UC:
	case VL_SERVICE_XRC:
		if (flags & VL_OPCODE_REQUEST)
			inspect_request(analysis, flow, arrival);
		else if (flags & VL_OPCODE_RESPONSE)
			inspect_response(analysis, flow, arrival);
		break;
	default:
		flow->payload += packet->payload_length;
		break;
	}
}

/* The event of the wrong ICRC is the newest one, if there was room for it. */
static void blame_flow(struct inspect_analysis *analysis, struct inspect_flow *flow)
{
	flow->icrc_wrong++;
	if (analysis->event_counts[INSPECT_EVENT_icrc_wrong] <= INSPECT_EVENTS_OF_A_KIND &&
	    analysis->event_count)
		analysis->events[analysis->event_count - 1].flow = flow;
}

static void add_rdma(struct inspect_analysis *analysis, const struct inspect_arrival *arrival,
		     uint32_t wire_length)
{
	const struct vl_packet *packet = arrival->packet;
	struct inspect_flow_key key;
	struct inspect_flow *flow;

	analysis->opcodes[packet->opcode]++;
	analysis->encapsulations[packet->encapsulation]++;
	key = inspect_flow_key_of(packet);
	if (!check_crcs(analysis, arrival) && !analysis->ignores_icrc) {
		/* Its fields cannot be believed; where they name a known flow, that is told. */
		flow = inspect_flow_find(&analysis->flows, &key);
		if (flow)
			blame_flow(analysis, flow);
		return;
	}
	if (packet->udp_source_port && !(packet->info->flags & VL_OPCODE_NOTIFICATION) &&
	    analysis->udp_source_ports[packet->udp_source_port] < UINT32_MAX)
		analysis->udp_source_ports[packet->udp_source_port]++;
	flow = inspect_flow_get(&analysis->flows, &key);
	if (!flow)
		return;
	count_in_flow(analysis, flow, arrival, wire_length);
	if (packet->info->flags)
		advance_flow(analysis, flow, arrival);
}

static void account_time(struct inspect_analysis *analysis, uint64_t time)
{
	if (analysis->packets == 1) {
		analysis->first_time = analysis->last_time = time;
		return;
	}
	if (time < analysis->last_time)
		analysis->time_backward = true;
	else
		analysis->last_time = time;
	if (time < analysis->first_time)
		analysis->first_time = time;
}

void inspect_analysis_add(struct inspect_analysis *analysis,
			  const struct vl_capture_packet *captured)
{
	const struct vl_capture_frame *frame = &captured->frame;
	struct vl_packet packet;
	struct inspect_arrival arrival = {&packet, captured->number, captured->time};
	enum vl_parse_result result;
	enum inspect_class class;

	analysis->packets++;
	analysis->bytes += captured->captured_length;
	analysis->original_bytes += captured->original_length;
	account_time(analysis, captured->time);
	if (frame->kind != VL_CAPTURE_FRAME_parseable) {
		unsigned int reason = VL_PARSE_RESULT_COUNT + frame->kind;

		count_reason(analysis, reason, captured->number);
		analysis->classes[inspect_reason_class(reason)]++;
		return;
	}
	result = vl_parse(&packet, frame->link, frame->data, frame->length, frame->wire_length);
	class = inspect_reason_class(result);
	if (result == VL_PARSE_captured_short && packet.bth)
		class = INSPECT_RDMA;
	analysis->classes[class]++;
	if (result != VL_PARSE_ok)
		count_reason(analysis, result, captured->number);
	if (class == INSPECT_RDMA)
		add_rdma(analysis, &arrival, frame->wire_length);
	else if (result == VL_PARSE_not_rdma)
		look_for_pfc(analysis, frame);
	else if (result == VL_PARSE_link_packet)
		add_link_packet(analysis, frame, captured);
}

static int compare_events(const void *a, const void *b)
{
	const struct inspect_event *one = a, *other = b;

	if (one->packet != other->packet)
		return one->packet < other->packet ? -1 : 1;
	return (int)one->kind - (int)other->kind;
}

void inspect_analysis_finish(struct inspect_analysis *analysis)
{
	for (uint32_t i = 0; i < analysis->flows.count; i++)
		inspect_run_end(analysis, inspect_flow_at(&analysis->flows, i), false);
	if (analysis->event_count)
		qsort(analysis->events, analysis->event_count, sizeof(*analysis->events),
		      compare_events);
	inspect_pair_rest(analysis);
}
