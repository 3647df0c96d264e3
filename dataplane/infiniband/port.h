/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * A port of an InfiniBand link: a receive buffer for each virtual lane and the credits that it
 * grants, the credits that the neighbour grants, flow-control packets both ways, arbitration, and
 * the counters. It holds no packets: those are the switch's or the channel adapter's, who ask here
 * what may go. Functions of the time; no clock.
 *
 * When flow-control packets go:
 * - From the start, with operation init, once a lane, and again each period until one from the
 *   neighbour has come on that lane; then with operation normal. Data waits for the neighbour's.
 * - On each lane at least once in 65,536 symbol times. A symbol is one byte of one lane: the
 *   period is 65,536 * 8 bits * lanes / rate.
 * - Earlier when at least credit_update blocks have become free that the neighbour does not know
 *   of. They go before data, but do not cut into a packet.
 */
#ifndef VERBLINE_INFINIBAND_PORT_H
#define VERBLINE_INFINIBAND_PORT_H

#include "dataplane/frame.h"
#include "dataplane/infiniband/arbiter.h"
#include "dataplane/infiniband/flow_control.h"
#include "transport/counter_field.h"

#include <stdbool.h>
#include <stdint.h>

#define VL_INFINIBAND_DEFAULT_BUFFER 65536u
/* A packet with 4096 bytes of payload and its longest headers. */
#define VL_INFINIBAND_LEAST_BUFFER 4224u
#define VL_INFINIBAND_MOST_BUFFER  (VL_FLOW_CONTROL_MOST_CREDITS * VL_FLOW_CONTROL_BLOCK)
/* Unicast LIDs are 1 to this. */
#define VL_INFINIBAND_LAST_UNICAST_LID 0xbfffu
/* Service levels, and what they are mapped to. A level mapped to lane 15 is discarded, IBTA 7.6.6.
 */
#define VL_INFINIBAND_SERVICE_LEVELS 16u

struct vl_infiniband_port_config {
	uint8_t virtual_lanes; /* of data, 1..15; 0: 1 */
	uint8_t lanes;         /* physical ones, 1, 4, 8 or 12; 0: 4 */
	/* Bytes of buffer of each lane, taken in whole blocks: VL_INFINIBAND_LEAST_BUFFER to
	 * VL_INFINIBAND_MOST_BUFFER; 0: VL_INFINIBAND_DEFAULT_BUFFER. */
	uint32_t buffer;
	uint32_t lane_buffer[VL_INFINIBAND_DATA_LANES]; /* of one lane; 0: buffer */
	uint32_t credit_update;                         /* blocks; 0: 1/64 of the buffer */
	/* Packets whose VCRC is wrong are thrown away. Without it, lines are taken to be without
	 * errors. */
	bool check_vcrc;
	struct vl_arbiter_config arbitration; /* both tables empty: vl_arbiter_default */
};

/* In the words of IBTA volume 1, 16.1 (PortCounters and its like). Data in units of four bytes,
 * LRH to ICRC, as they count it; link packets are not in it. */
#define VL_INFINIBAND_PORT_COUNTERS(X)                                                             \
	X(port_xmit_data, "4 B", "sent on all lanes")                                              \
	X(port_xmit_pkts, "packets", "sent on all lanes")                                          \
	X(port_rcv_data, "4 B", "received on all lanes")                                           \
	X(port_rcv_pkts, "packets", "received on all lanes")                                       \
	X(port_xmit_wait, "ns", "the line was free and packets waited, for want of credits")       \
	X(port_xmit_discards, "packets", "to leave here, but too old, or without a lane")          \
	X(port_rcv_errors, "packets", "received with a wrong VCRC or an impossible LRH")           \
	X(port_rcv_switch_relay_errors, "packets",                                                 \
	  "received for a LID that no other port leads "                                           \
	  "to")                                                                                    \
	X(excessive_buffer_overrun_errors, "packets",                                              \
	  "received beyond the credits granted, or "                                               \
	  "on a lane that is not in use")                                                          \
	X(vl15_dropped, "packets", "management packets without room, or that nobody takes")        \
	X(flow_control_xmit_pkts, "packets", "flow-control packets sent")                          \
	X(flow_control_rcv_pkts, "packets", "flow-control packets received")                       \
	X(flow_control_errors, "packets", "received with a wrong LPCRC, or for a lane not in use") \
	X(no_frame, "events", "flow-control packets put off, as no frame was free")

#define VL_INFINIBAND_LANE_COUNTERS(X)                                                             \
	X(xmit_data, "4 B", "sent")                                                                \
	X(xmit_pkts, "packets", "sent")                                                            \
	X(rcv_data, "4 B", "received")                                                             \
	X(rcv_pkts, "packets", "received")                                                         \
	X(credit_stall, "ns", "a packet waited that the credits did not suffice for")              \
	X(xmit_fecn, "packets", "to which FECN was set here")                                      \
	X(rcv_fecn, "packets", "received with FECN")                                               \
	X(rcv_becn, "packets", "received with BECN")                                               \
	X(discards_head_of_queue, "packets", "longer at the head of the queue than the limit")     \
	X(discards_lifetime, "packets", "longer in the switch than the limit")

struct vl_infiniband_port_counters {
	VL_INFINIBAND_PORT_COUNTERS(VL_COUNTER_FIELD)
};

struct vl_infiniband_lane_counters {
	VL_INFINIBAND_LANE_COUNTERS(VL_COUNTER_FIELD)
};

struct vl_infiniband_port {
	uint8_t virtual_lanes;
	uint8_t next_lane; /* whose flow-control packet is looked at first */
	bool check_vcrc;
	uint16_t lanes;       /* bit n: data lane n is in use */
	uint16_t due;         /* bit n: lane n's flow-control packet is */
	uint16_t unheard;     /* bit n: none from the neighbour on lane n yet */
	uint16_t waiting;     /* bit n: a packet stands at the head of lane n, head_blocks long */
	uint16_t stalled;     /* of these, without the credits */
	uint16_t was_stalled; /* bit n: so it was since a packet last left lane n */
	uint16_t head_blocks[VL_INFINIBAND_LANES];
	struct vl_credit_sender senders[VL_INFINIBAND_DATA_LANES];
	struct vl_credit_receiver receivers[VL_INFINIBAND_DATA_LANES];
	uint16_t credit_update[VL_INFINIBAND_DATA_LANES]; /* blocks */
	uint64_t period;                                  /* ns */
	uint64_t next_period;                             /* when all lanes are due again */
	uint64_t stalled_since[VL_INFINIBAND_DATA_LANES];
	uint64_t wait_since; /* UINT64_MAX: not waiting */
	uint8_t physical_lanes;
	struct vl_arbiter arbiter;
	struct vl_infiniband_port_counters counters;
	struct vl_infiniband_lane_counters lane_counters[VL_INFINIBAND_LANES];
};

/* What is wrong, as text for people; NULL: nothing. */
const char *vl_infiniband_port_config_error(const struct vl_infiniband_port_config *config);
/* config must be without error. The rate is that of 100 Gb/s until it is set. */
void vl_infiniband_port_init(struct vl_infiniband_port *port,
			     const struct vl_infiniband_port_config *config);
/* bit/s of the line: the period of flow-control packets. Before frames come. */
void vl_infiniband_port_set_rate(struct vl_infiniband_port *port, uint64_t bits_per_second);
/* Other tables from now on; vl_arbiter_config_error must find nothing. */
void vl_infiniband_port_set_arbitration(struct vl_infiniband_port *port,
					const struct vl_arbiter_config *config);

/* ---- In --------------------------------------------------------------------------------- */

/* Takes what a flow-control packet says; the frame stays the caller's. */
void vl_infiniband_port_receive_link(struct vl_infiniband_port *port, const struct vl_frame *frame,
				     uint64_t now);
/* A packet has come in: checks LRH, length and VCRC, counts it, and charges it to the buffer of its
 * lane, which frame->virtual_lane is set to. False: it is to be thrown away, which was counted. */
bool vl_infiniband_port_accept(struct vl_infiniband_port *port, struct vl_frame *frame);
/* What an accepted packet of a lane took in the buffer is free again. True: flow-control
 * packets have become due, where none was. Lane 15 has no credits. */
bool vl_infiniband_port_release(struct vl_infiniband_port *port, uint8_t virtual_lane,
				uint32_t length);

/* ---- Out -------------------------------------------------------------------------------- */

/* Says which packet stands at the head of a lane: its length, LRH to VCRC; 0: none. */
void vl_infiniband_port_set_head(struct vl_infiniband_port *port, uint8_t virtual_lane,
				 uint32_t length, uint64_t now);
/* Writes the next flow-control packet that is due into the frame. False: none is. */
bool vl_infiniband_port_write_link(struct vl_infiniband_port *port, struct vl_frame *frame,
				   uint64_t now);
static inline bool vl_infiniband_port_is_link_due(const struct vl_infiniband_port *port,
						  uint64_t now)
{
	return port->due || port->next_period <= now;
}
/* The line is free: the lane whose head goes next; VL_ARBITER_NONE: none may. It must go:
 * vl_infiniband_port_sent follows. */
uint8_t vl_infiniband_port_choose(struct vl_infiniband_port *port, uint64_t now);
/* The head of that lane goes onto the line. Writes the lane into its LRH, and mends its VCRC. */
void vl_infiniband_port_sent(struct vl_infiniband_port *port, uint8_t virtual_lane,
			     struct vl_frame *frame, uint64_t now);
/* Whether a packet of so many bytes could go on the lane by the credits that there are. */
static inline bool vl_infiniband_port_has_credits(const struct vl_infiniband_port *port,
						  uint8_t virtual_lane, uint32_t length)
{
	return virtual_lane == VL_INFINIBAND_MANAGEMENT_LANE ||
	       vl_credit_sender_allows(&port->senders[virtual_lane],
				       vl_flow_control_blocks(length));
}

/* Whether a packet stands ready that has its credits. */
static inline bool vl_infiniband_port_is_ready(const struct vl_infiniband_port *port)
{
	return port->waiting & (uint16_t)~port->stalled;
}

/* ---- Reading ---------------------------------------------------------------------------- */

/* Nanoseconds of credit_stall of a lane, what is running included. */
uint64_t vl_infiniband_port_credit_stall(const struct vl_infiniband_port *port,
					 uint8_t virtual_lane, uint64_t now);
/* port_xmit_wait likewise. */
uint64_t vl_infiniband_port_xmit_wait(const struct vl_infiniband_port *port, uint64_t now);
/* Bytes of buffer that a lane was ever seen to take, and that it has. */
static inline uint64_t vl_infiniband_port_watermark(const struct vl_infiniband_port *port,
						    uint8_t virtual_lane)
{
	return (uint64_t)port->receivers[virtual_lane].watermark * VL_FLOW_CONTROL_BLOCK;
}
static inline uint64_t vl_infiniband_port_buffer(const struct vl_infiniband_port *port,
						 uint8_t virtual_lane)
{
	return (uint64_t)port->receivers[virtual_lane].capacity * VL_FLOW_CONTROL_BLOCK;
}

#endif
