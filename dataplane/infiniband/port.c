/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

#include "dataplane/infiniband/port.h"

#include "transport/wire/headers.h"
#include "transport/wire/vcrc.h"

#define DEFAULT_RATE           UINT64_C(100000000000)
#define DEFAULT_PHYSICAL_LANES 4
#define UPDATES_PER_BUFFER     64
#define SYMBOL_BITS            UINT64_C(8)
#define NANOSECONDS            UINT64_C(1000000000)
#define NEVER                  UINT64_MAX

/* ---- Set-up ----------------------------------------------------------------------------- */

static uint8_t virtual_lanes(const struct vl_infiniband_port_config *config)
{
	return config->virtual_lanes ? config->virtual_lanes : 1;
}

static uint32_t lane_buffer(const struct vl_infiniband_port_config *config, uint8_t lane)
{
	uint32_t buffer = config->lane_buffer[lane] ? config->lane_buffer[lane] : config->buffer;

	return buffer ? buffer : VL_INFINIBAND_DEFAULT_BUFFER;
}

static bool has_arbitration(const struct vl_infiniband_port_config *config)
{
	return config->arbitration.high_count || config->arbitration.low_count;
}

const char *vl_infiniband_port_config_error(const struct vl_infiniband_port_config *config)
{
	if (virtual_lanes(config) > VL_INFINIBAND_DATA_LANES)
		return "a port has 1 to 15 virtual lanes for data";
	if (config->lanes != 0 && config->lanes != 1 && config->lanes != 4 && config->lanes != 8 &&
	    config->lanes != 12)
		return "a link has 1, 4, 8 or 12 lanes";
	for (uint8_t i = 0; i < virtual_lanes(config); i++) {
		uint32_t buffer = lane_buffer(config, i);

		if (buffer < VL_INFINIBAND_LEAST_BUFFER || buffer > VL_INFINIBAND_MOST_BUFFER)
			return "the buffer of a virtual lane has 4224 B (a packet of the largest "
			       "MTU) to 131008 B (as many credits as flow control can grant)";
		if (config->credit_update > buffer / VL_FLOW_CONTROL_BLOCK)
			return "credit_update is more than the buffer";
	}
	return has_arbitration(config)
		       ? vl_arbiter_config_error(&config->arbitration, virtual_lanes(config))
		       : NULL;
}

static void init_lane(struct vl_infiniband_port *port,
		      const struct vl_infiniband_port_config *config, uint8_t lane)
{
	uint32_t blocks = lane_buffer(config, lane) / VL_FLOW_CONTROL_BLOCK;
	uint32_t update =
		config->credit_update ? config->credit_update : blocks / UPDATES_PER_BUFFER;

	port->receivers[lane].capacity = blocks;
	port->credit_update[lane] = (uint16_t)(update ? update : 1);
}

void vl_infiniband_port_init(struct vl_infiniband_port *port,
			     const struct vl_infiniband_port_config *config)
{
	struct vl_arbiter_config arbitration;

	*port = (struct vl_infiniband_port){
		.virtual_lanes = virtual_lanes(config),
		.physical_lanes = config->lanes ? config->lanes : DEFAULT_PHYSICAL_LANES,
		.check_vcrc = config->check_vcrc,
		.lanes = (uint16_t)((1u << virtual_lanes(config)) - 1),
		.wait_since = NEVER,
	};
	port->unheard = port->lanes;
	for (uint8_t i = 0; i < port->virtual_lanes; i++)
		init_lane(port, config, i);
	if (has_arbitration(config))
		arbitration = config->arbitration;
	else
		vl_arbiter_default(&arbitration, port->virtual_lanes);
	vl_arbiter_init(&port->arbiter, &arbitration);
	vl_infiniband_port_set_rate(port, DEFAULT_RATE);
}

void vl_infiniband_port_set_rate(struct vl_infiniband_port *port, uint64_t bits_per_second)
{
	port->period = VL_FLOW_CONTROL_PERIOD * SYMBOL_BITS * port->physical_lanes * NANOSECONDS /
		       bits_per_second;
	if (!port->period)
		port->period = 1;
}

void vl_infiniband_port_set_arbitration(struct vl_infiniband_port *port,
					const struct vl_arbiter_config *config)
{
	vl_arbiter_init(&port->arbiter, config);
}

/* ---- Waiting for credits ---------------------------------------------------------------- */

static void end_stall(struct vl_infiniband_port *port, uint8_t lane, uint64_t now)
{
	port->lane_counters[lane].credit_stall += now - port->stalled_since[lane];
	port->stalled &= (uint16_t) ~(1u << lane);
}

/* To be called when a data lane's head or credits have changed. */
static void look_at_credits(struct vl_infiniband_port *port, uint8_t lane, uint64_t now)
{
	const uint16_t bit = (uint16_t)(1u << lane);
	bool stalls = (port->waiting & bit) &&
		      !vl_credit_sender_allows(&port->senders[lane], port->head_blocks[lane]);

	if (stalls && !(port->stalled & bit)) {
		port->stalled |= bit;
		port->was_stalled |= bit;
		port->stalled_since[lane] = now;
	} else if (!stalls && (port->stalled & bit)) {
		end_stall(port, lane, now);
	}
}

uint64_t vl_infiniband_port_credit_stall(const struct vl_infiniband_port *port,
					 uint8_t virtual_lane, uint64_t now)
{
	uint64_t stall = port->lane_counters[virtual_lane].credit_stall;

	if (port->stalled >> virtual_lane & 1)
		stall += now - port->stalled_since[virtual_lane];
	return stall;
}

uint64_t vl_infiniband_port_xmit_wait(const struct vl_infiniband_port *port, uint64_t now)
{
	uint64_t wait = port->counters.port_xmit_wait;

	return port->wait_since == NEVER ? wait : wait + now - port->wait_since;
}

/* ---- In --------------------------------------------------------------------------------- */

static void look_at_buffer(struct vl_infiniband_port *port, uint8_t lane)
{
	if (vl_credit_receiver_unsaid(&port->receivers[lane]) >= port->credit_update[lane])
		port->due |= (uint16_t)(1u << lane);
}

void vl_infiniband_port_receive_link(struct vl_infiniband_port *port, const struct vl_frame *frame,
				     uint64_t now)
{
	struct vl_flow_control_packet packet;
	uint16_t bit;

	if (vl_flow_control_parse(frame->data, frame->length, &packet) != VL_FLOW_CONTROL_OK ||
	    !(port->lanes >> packet.virtual_lane & 1)) {
		port->counters.flow_control_errors++;
		return;
	}
	port->counters.flow_control_rcv_pkts++;
	bit = (uint16_t)(1u << packet.virtual_lane);
	/* A neighbour that begins again has forgotten our credits. */
	if (packet.operation == VL_FLOW_CONTROL_INIT && !(port->unheard & bit))
		port->due |= bit;
	port->unheard &= (uint16_t)~bit;
	vl_credit_sender_update(&port->senders[packet.virtual_lane], packet.limit);
	vl_credit_receiver_resynchronize(&port->receivers[packet.virtual_lane], packet.total_sent);
	look_at_buffer(port, packet.virtual_lane);
	look_at_credits(port, packet.virtual_lane, now);
}

/* The BTH's byte with FECN and BECN; 0 where there is none. */
static uint8_t congestion_bits(const struct vl_frame *frame)
{
	const struct vl_lrh *lrh = (const struct vl_lrh *)frame->data;
	uint8_t next = lrh->service_next & 3;
	uint32_t offset = sizeof(*lrh) + VL_BTH_CONGESTION_OFFSET;

	if (next == VL_LNH_IBA_GLOBAL)
		offset += sizeof(struct vl_ipv6_header);
	else if (next != VL_LNH_IBA_LOCAL)
		return 0;
	return offset < frame->length - VL_VCRC_LENGTH ? frame->data[offset] : 0;
}

static bool is_sound(const struct vl_infiniband_port *port, const struct vl_frame *frame)
{
	const struct vl_lrh *lrh = (const struct vl_lrh *)frame->data;
	uint32_t length;
	uint16_t vcrc;

	if (frame->kind != VL_FRAME_INFINIBAND || frame->length < sizeof(*lrh) + VL_VCRC_LENGTH)
		return false;
	length = (vl_load_be16(lrh->packet_length) & VL_LRH_PACKET_LENGTH_MASK) * 4u;
	if (length + VL_VCRC_LENGTH != frame->length || (lrh->lane_version & 0xf))
		return false;
	if (!port->check_vcrc)
		return true;
	vcrc = vl_vcrc(frame->data, length);
	return frame->data[length] == (uint8_t)vcrc && frame->data[length + 1] == vcrc >> 8;
}

static void count_received(struct vl_infiniband_port *port, const struct vl_frame *frame)
{
	struct vl_infiniband_lane_counters *counters = &port->lane_counters[frame->virtual_lane];
	uint8_t congestion = congestion_bits(frame);
	uint32_t words = frame->length / 4;

	port->counters.port_rcv_pkts++;
	port->counters.port_rcv_data += words;
	counters->rcv_pkts++;
	counters->rcv_data += words;
	counters->rcv_fecn += (congestion & VL_BTH_FECN) != 0;
	counters->rcv_becn += (congestion & VL_BTH_BECN) != 0;
}

bool vl_infiniband_port_accept(struct vl_infiniband_port *port, struct vl_frame *frame)
{
	uint8_t lane;

	if (!is_sound(port, frame)) {
		port->counters.port_rcv_errors++;
		return false;
	}
	lane = frame->data[0] >> 4;
	frame->virtual_lane = lane;
	if (lane != VL_INFINIBAND_MANAGEMENT_LANE &&
	    (!(port->lanes >> lane & 1) ||
	     !vl_credit_receiver_take(&port->receivers[lane],
				      vl_flow_control_blocks(frame->length)))) {
		port->counters.excessive_buffer_overrun_errors++;
		return false;
	}
	count_received(port, frame);
	return true;
}

bool vl_infiniband_port_release(struct vl_infiniband_port *port, uint8_t virtual_lane,
				uint32_t length)
{
	bool was_due = port->due;

	if (virtual_lane == VL_INFINIBAND_MANAGEMENT_LANE)
		return false;
	vl_credit_receiver_release(&port->receivers[virtual_lane], vl_flow_control_blocks(length));
	look_at_buffer(port, virtual_lane);
	return port->due && !was_due;
}

/* ---- Out -------------------------------------------------------------------------------- */

void vl_infiniband_port_set_head(struct vl_infiniband_port *port, uint8_t virtual_lane,
				 uint32_t length, uint64_t now)
{
	const uint16_t bit = (uint16_t)(1u << virtual_lane);

	if (length)
		port->waiting |= bit;
	else
		port->waiting &= (uint16_t)~bit;
	port->head_blocks[virtual_lane] = (uint16_t)vl_flow_control_blocks(length);
	if (virtual_lane != VL_INFINIBAND_MANAGEMENT_LANE)
		look_at_credits(port, virtual_lane, now);
}

bool vl_infiniband_port_write_link(struct vl_infiniband_port *port, struct vl_frame *frame,
				   uint64_t now)
{
	struct vl_flow_control_packet packet;
	uint16_t after;
	uint8_t lane;

	if (port->next_period <= now) {
		port->due |= port->lanes;
		port->next_period = now + port->period;
	}
	if (!port->due)
		return false;
	after = port->due & (uint16_t)(0xffffu << port->next_lane);
	lane = (uint8_t)__builtin_ctz(after ? after : port->due);
	port->next_lane = lane + 1;
	port->due &= (uint16_t) ~(1u << lane);
	port->receivers[lane].advertised = vl_credit_receiver_limit(&port->receivers[lane]);
	packet = (struct vl_flow_control_packet){
		.operation =
			port->unheard >> lane & 1 ? VL_FLOW_CONTROL_INIT : VL_FLOW_CONTROL_NORMAL,
		.virtual_lane = lane,
		.total_sent = port->senders[lane].total_sent,
		.limit = port->receivers[lane].advertised,
	};
	vl_flow_control_write(frame->data, &packet);
	frame->length = VL_FLOW_CONTROL_LENGTH;
	frame->kind = VL_FRAME_INFINIBAND_LINK;
	frame->priority = 0;
	frame->virtual_lane = lane;
	port->counters.flow_control_xmit_pkts++;
	return true;
}

uint8_t vl_infiniband_port_choose(struct vl_infiniband_port *port, uint64_t now)
{
	uint8_t lane = vl_arbiter_choose(&port->arbiter, port->waiting & (uint16_t)~port->stalled);

	bool waits = lane == VL_ARBITER_NONE && port->waiting;

	if (waits && port->wait_since == NEVER) {
		port->wait_since = now;
	} else if (!waits && port->wait_since != NEVER) {
		port->counters.port_xmit_wait += now - port->wait_since;
		port->wait_since = NEVER;
	}
	return lane;
}

static void set_lane(struct vl_frame *frame, uint8_t lane)
{
	uint32_t length = frame->length - VL_VCRC_LENGTH;
	uint8_t change = (uint8_t)((frame->data[0] & 0xf0) ^ lane << 4);

	if (!change)
		return;
	frame->data[0] ^= change;
	vl_vcrc_mend(frame->data + length, vl_vcrc_change(&change, 1, length - 1));
}

void vl_infiniband_port_sent(struct vl_infiniband_port *port, uint8_t virtual_lane,
			     struct vl_frame *frame, uint64_t now)
{
	struct vl_infiniband_lane_counters *counters = &port->lane_counters[virtual_lane];
	const uint16_t bit = (uint16_t)(1u << virtual_lane);
	uint32_t words = frame->length / 4;

	set_lane(frame, virtual_lane);
	vl_arbiter_sent(&port->arbiter, frame->length);
	port->waiting &= (uint16_t)~bit;
	port->was_stalled &= (uint16_t)~bit;
	if (virtual_lane != VL_INFINIBAND_MANAGEMENT_LANE) {
		vl_credit_sender_sent(&port->senders[virtual_lane],
				      vl_flow_control_blocks(frame->length));
		look_at_credits(port, virtual_lane, now);
	}
	port->counters.port_xmit_pkts++;
	port->counters.port_xmit_data += words;
	counters->xmit_pkts++;
	counters->xmit_data += words;
}
