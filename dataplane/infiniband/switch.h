/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * An InfiniBand switch: it forwards by destination LID, and never drops a packet for want of room.
 *
 * Packets wait where they came in: each port has a buffer for each virtual lane, as large as the
 * credits that it grants. Inside, packets for different output ports do not stand in each other's
 * way (virtual output queues), and outputs serve the inputs in turn. But they share the buffer of
 * their input and lane: when those for a congested output have filled it, the neighbour has no
 * credits for any other. So head-of-line blocking, congestion that spreads and, on a loop of full
 * buffers, deadlock arise as they do in real fabrics. A packet's room is free again when its last
 * bit has left.
 *
 * Packets are dropped only by their age, if limits are set: head_of_queue_lifetime, while nothing
 * leaves the lane of an output; packet_lifetime, since they came.
 *
 * Ports are numbered from 0: number n is port n + 1 of the specification, whose port 0 is
 * management's. Functions of the time; no clock.
 */
#ifndef VERBLINE_INFINIBAND_SWITCH_H
#define VERBLINE_INFINIBAND_SWITCH_H

#include "dataplane/frame.h"
#include "dataplane/infiniband/congestion.h"
#include "dataplane/infiniband/port.h"
#include "transport/random.h"

#include <stdbool.h>
#include <stdint.h>

/* More than the 254 of the specification, so that a large star can be tried. */
#define VL_INFINIBAND_SWITCH_MAX_PORTS 2048u
#define VL_INFINIBAND_SWITCH_NO_PORT   UINT32_MAX

struct vl_infiniband_switch_config {
	uint32_t ports;                        /* 1..VL_INFINIBAND_SWITCH_MAX_PORTS */
	struct vl_infiniband_port_config port; /* of each */
	/* Of each pair of ports until vl_infiniband_switch_set_sl_to_vl; default_sl_to_vl: service
	 * level n goes on lane n modulo virtual_lanes. */
	bool default_sl_to_vl;
	uint8_t sl_to_vl[VL_INFINIBAND_SERVICE_LEVELS];
	uint64_t head_of_queue_lifetime; /* ns; 0: no limit. IBTA: 4.096 us * 2^HOQLife */
	uint64_t packet_lifetime;        /* ns; 0: no limit. IBTA: 4.096 us * 2^LifeTimeValue */
	uint32_t management_buffer;      /* bytes of lane 15 of each port; 0: 16384 */
	struct vl_switch_congestion_setting congestion;
	uint64_t seed; /* of the marking */
};

struct vl_infiniband_switch;

/* What is wrong, as text for people; NULL: nothing. */
const char *vl_infiniband_switch_config_error(const struct vl_infiniband_switch_config *config);
/* pool: for flow-control packets. NULL with *error -EINVAL (see
 * vl_infiniband_switch_config_error) or -ENOMEM. */
struct vl_infiniband_switch *vl_infiniband_switch_create(
	const struct vl_infiniband_switch_config *config, struct vl_frame_pool *pool, int *error);
/* Gives the frames in it back to their pools. */
void vl_infiniband_switch_destroy(struct vl_infiniband_switch *sw);

/* ---- What a subnet manager sets --------------------------------------------------------- */

uint32_t vl_infiniband_switch_port_count(const struct vl_infiniband_switch *sw);
/* How many data lanes its ports have. */
uint8_t vl_infiniband_switch_virtual_lanes(const struct vl_infiniband_switch *sw);
/* Packets to the LID leave by port; VL_INFINIBAND_SWITCH_NO_PORT: none leads there any more.
 * -EINVAL: no unicast LID, no such port; -ENOMEM. */
int vl_infiniband_switch_set_route(struct vl_infiniband_switch *sw, uint16_t lid, uint32_t port);
/* VL_INFINIBAND_SWITCH_NO_PORT: none. */
uint32_t vl_infiniband_switch_route(const struct vl_infiniband_switch *sw, uint16_t lid);
/* The lane on which a service level leaves by out after it came in by in. -EINVAL: no such port, or
 * a lane that the port does not have (15 is allowed: it discards). */
int vl_infiniband_switch_set_sl_to_vl(struct vl_infiniband_switch *sw, uint32_t in, uint32_t out,
				      const uint8_t sl_to_vl[VL_INFINIBAND_SERVICE_LEVELS]);
/* -EINVAL: no such port, or vl_arbiter_config_error. */
int vl_infiniband_switch_set_arbitration(struct vl_infiniband_switch *sw, uint32_t port,
					 const struct vl_arbiter_config *config);
/* The rate of a port's line, bit/s. Before frames come. */
void vl_infiniband_switch_set_port_rate(struct vl_infiniband_switch *sw, uint32_t port,
					uint64_t bits_per_second);
/* Marking as a victim too or not, see vl_switch_congestion_setting. */
void vl_infiniband_switch_set_victim(struct vl_infiniband_switch *sw, uint32_t port, bool marks);
/* Packets are checked for damage from now on (vl_infiniband_port_config). */
void vl_infiniband_switch_check_vcrc(struct vl_infiniband_switch *sw, uint32_t port);

/* ---- Running ---------------------------------------------------------------------------- */

/* Takes a frame that has arrived at a port, a link packet too. Returns the port at which
 * vl_infiniband_switch_transmit may have something new to give; VL_INFINIBAND_SWITCH_NO_PORT:
 * none. */
uint32_t vl_infiniband_switch_receive(struct vl_infiniband_switch *sw, uint32_t port,
				      struct vl_frame *frame, uint64_t now);
/* The line of port is free: the next frame to leave by it, which is the caller's then; NULL: none
 * may leave now. */
struct vl_frame *vl_infiniband_switch_transmit(struct vl_infiniband_switch *sw, uint32_t port,
					       uint64_t now);
/* Transmitting and dropping free buffers, which makes credits due at the ports where packets came
 * in: gives each such port once, for the caller to transmit there; VL_INFINIBAND_SWITCH_NO_PORT: no
 * more. */
uint32_t vl_infiniband_switch_next_credit_port(struct vl_infiniband_switch *sw);
/* When vl_infiniband_switch_transmit could next do something at this port without anything being
 * received or sent elsewhere. */
uint64_t vl_infiniband_switch_next_deadline(const struct vl_infiniband_switch *sw, uint32_t port,
					    uint64_t now);

/* ---- Reading ---------------------------------------------------------------------------- */

/* Credits, buffers and counters of a port; NULL: no such port. */
const struct vl_infiniband_port *vl_infiniband_switch_port(const struct vl_infiniband_switch *sw,
							   uint32_t port);

struct vl_infiniband_queue {
	uint64_t bytes;     /* that wait to leave by the port on the lane now */
	uint64_t watermark; /* most since it was last reset */
	/* Bytes times nanoseconds since the switch was made: differences of two readings over the
	 * time between them are the exact mean. */
	unsigned __int128 area;
};
struct vl_infiniband_queue vl_infiniband_switch_queue(const struct vl_infiniband_switch *sw,
						      uint32_t port, uint8_t virtual_lane,
						      uint64_t now);
/* The watermark of a queue begins anew at what waits now. */
void vl_infiniband_switch_reset_watermark(struct vl_infiniband_switch *sw, uint32_t port,
					  uint8_t virtual_lane);
/* Packets that wait in the switch, and bytes of these, LRH to VCRC. */
uint64_t vl_infiniband_switch_packets(const struct vl_infiniband_switch *sw);

#endif
