/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * A shared-buffer output-queued Ethernet switch. A frame that has come in is classified
 * (classifier.h), is given memory or dropped (buffer_config.h), is marked or dropped by WRED
 * (red.h), waits in one of the eight queues of the port that its destination leads to
 * (forwarding.h), and leaves when its queue's turn has come (scheduler.h). Priority flow control
 * follows from the memory that priority groups use; a watchdog (watchdog.h) ends pauses that do not
 * end. Functions of the time; no clock. Lines are not its business: the caller hands in what
 * arrives and asks for the next frame when a port's line is free.
 */
#ifndef VERBLINE_FABRIC_SWITCH_H
#define VERBLINE_FABRIC_SWITCH_H

#include "dataplane/fabric/buffer.h"
#include "dataplane/fabric/buffer_config.h"
#include "dataplane/fabric/classifier.h"
#include "dataplane/fabric/forwarding.h"
#include "dataplane/fabric/queue.h"
#include "dataplane/fabric/red.h"
#include "dataplane/fabric/scheduler.h"
#include "dataplane/fabric/watchdog.h"
#include "dataplane/frame.h"
#include "dataplane/pfc.h"
#include "transport/counter_field.h"
#include "transport/random.h"

#include <stdbool.h>
#include <stdint.h>

#define VL_SWITCH_PRIORITIES 8 /* queues, priority groups and PFC priorities of a port */
#define VL_SWITCH_MAX_PORTS  4096u

struct vl_switch_queue_config {
	struct vl_buffer_queue_config buffer;
	struct vl_scheduler_queue_config scheduler;
	struct vl_red_config red;
};

/* SONiC: PORT_QOS_MAP pfc_enable, MAP_PFC_PRIORITY_TO_QUEUE, PFC_PRIORITY_TO_PRIORITY_GROUP_MAP. */
struct vl_switch_pfc_config {
	/* Bit n: PFC of priority n is sent when its group asks for it, and obeyed. */
	uint8_t enabled;
	uint8_t priority_to_queue[VL_PFC_PRIORITIES]; /* the queue that a received pause stops */
	uint8_t priority_to_group[VL_PFC_PRIORITIES]; /* the group on whose behalf it is sent */
	uint16_t quanta;                              /* of pauses sent; 0: 65535 */
	/* ns from the reception of a pause to obedience; VL_PFC_RESPONSE_BY_RATE: the most that
	 * 802.3 allows at the port's rate. */
	uint64_t response_delay;
};

struct vl_switch_port_config {
	struct vl_classifier_config classifier;
	struct vl_buffer_group_config groups[VL_SWITCH_PRIORITIES]; /* of what comes in */
	struct vl_switch_queue_config queues[VL_SWITCH_PRIORITIES]; /* of what goes out */
	struct vl_shaper_config shaper;                             /* of all that goes out */
	struct vl_switch_pfc_config pfc;
	struct vl_watchdog_config watchdog;
};

struct vl_switch_config {
	uint32_t ports;     /* 1..VL_SWITCH_MAX_PORTS */
	uint64_t buffer;    /* bytes of packet memory, 1..VL_BUFFER_SIZE_MAX */
	uint32_t cell_size; /* bytes, 32..VL_BUFFER_CELL_MAX: a frame takes whole cells; 0: bytes */
	/* 0: one pool, number 0, as large as the buffer, of which all that is reserved comes out.
	 */
	uint8_t pool_count; /* 0..VL_BUFFER_POOLS */
	struct vl_buffer_pool_config pools[VL_BUFFER_POOLS];
	/* A frame may leave when its head has arrived, if it can then leave without a gap; links to
	 * the switch are to deliver heads (vl_link_config), as a network sets them. False: store
	 * and forward. */
	bool cut_through;
	uint8_t mac[6];                    /* of port 0; port n has n added */
	uint64_t seed;                     /* of the marking, and of the choice among equal ways */
	struct vl_switch_port_config port; /* of every port, unless by_port says otherwise */
	/* NULL, or a configuration for each port, of which NULL means port. The switch keeps
	 * copies; ports that point to the same share one. */
	const struct vl_switch_port_config *const *by_port;
};

#define VL_SWITCH_PORT_COUNTERS(X)                                                                 \
	X(rx_frames, "frames", "received, MAC control included")                                   \
	X(rx_bytes, "bytes", "of rx_frames, without FCS")                                          \
	X(tx_frames, "frames", "sent, MAC control included")                                       \
	X(tx_bytes, "bytes", "of tx_frames, without FCS")                                          \
	X(pfc_rx, "frames", "PFC and PAUSE frames received")                                       \
	X(pfc_tx, "frames", "PFC frames sent")                                                     \
	X(mac_control_ignored, "frames", "MAC control frames that pause nothing")                  \
	X(drop_no_route, "frames", "received for a MAC that no other port leads to")               \
	X(drop_malformed, "frames", "received shorter than an Ethernet header")                    \
	X(drop_watchdog, "frames", "received for a group that the watchdog drops")                 \
	X(drop_no_frame, "events", "PFC frames not sent as no frame was free")

/* Why a frame for a queue was dropped; it counts at the port that it was to leave by. */
#define VL_SWITCH_QUEUE_DROPS(X)                                                                   \
	X(drop_red, "frames", "by WRED: not marked, as not ECN-capable or by configuration")       \
	X(drop_queue_full, "frames", "beyond the queue's threshold")                               \
	X(drop_group_full, "frames", "lossy, and beyond their priority group's threshold")         \
	X(drop_buffer_full, "frames", "beyond what the pool shares")                               \
	X(drop_headroom, "frames", "lossless, but beyond the headroom of their group")             \
	X(drop_watchdog, "frames", "for or in a queue that the watchdog drops")

#define VL_SWITCH_QUEUE_COUNTERS(X)                                                                \
	X(tx_frames, "frames", "sent")                                                             \
	X(tx_bytes, "bytes", "of tx_frames, without FCS")                                          \
	X(ecn_marked, "frames", "set to ECN CE")                                                   \
	VL_SWITCH_QUEUE_DROPS(X)

/* Of a priority group, at the port that frames came in by. Drops count at the queue too. */
#define VL_SWITCH_GROUP_COUNTERS(X)                                                                \
	X(rx_frames, "frames", "given memory")                                                     \
	X(rx_bytes, "bytes", "of rx_frames, without FCS")                                          \
	X(drop_frames, "frames", "refused by the group's threshold, pool or headroom")             \
	X(xoff, "events", "XOFF asked for")                                                        \
	X(xon, "events", "XON asked for")

struct vl_switch_port_counters {
	VL_SWITCH_PORT_COUNTERS(VL_COUNTER_FIELD)
};

struct vl_switch_queue_counters {
	VL_SWITCH_QUEUE_COUNTERS(VL_COUNTER_FIELD)
};

struct vl_switch_group_counters {
	VL_SWITCH_GROUP_COUNTERS(VL_COUNTER_FIELD)
};

static inline uint64_t vl_switch_queue_drops(const struct vl_switch_queue_counters *counters)
{
	uint64_t drops = 0;

#define VL_SWITCH_ADD(name, unit, meaning) drops += counters->name;
	VL_SWITCH_QUEUE_DROPS(VL_SWITCH_ADD)
#undef VL_SWITCH_ADD
	return drops;
}

struct vl_switch_profile;

/* Masks have a bit for each queue or group. */
struct vl_switch_port {
	const struct vl_switch_profile *profile;
	uint8_t occupied;        /* queues that are not empty */
	uint8_t paused;          /* queues, by PFC, as of the last update of pause */
	uint8_t pausing;         /* groups that have asked for XOFF */
	uint8_t dropping_queues; /* by the watchdog */
	uint8_t dropping_groups;
	bool in_pfc_list;
	uint32_t next_pfc_port; /* in the list of those with frames due */
	struct vl_frame_queue queues[VL_SWITCH_PRIORITIES]; /* to leave by this port */
	uint64_t queue_memory[VL_SWITCH_PRIORITIES]; /* bytes that queues have; with cells: of whole
							ones */
	struct vl_buffer_group groups[VL_SWITCH_PRIORITIES]; /* of what came in by this port */
	struct vl_switch_queue_counters queue_counters[VL_SWITCH_PRIORITIES];
	struct vl_switch_group_counters group_counters[VL_SWITCH_PRIORITIES];
	struct vl_scheduler_state scheduler;
	struct vl_red_average averages[VL_SWITCH_PRIORITIES]; /* of queues whose RED has a weight */
	struct vl_pfc_receiver pause;                         /* of this port's sending */
	struct vl_pfc_sender pfc;                             /* to who sends to this port */
	struct vl_watchdog watchdog;
	struct vl_switch_port_counters counters;
};

/* What each frame touches comes first. */
struct vl_switch {
	struct vl_switch_port *ports;
	bool is_cut_through;
	uint32_t first_pfc_port;
	struct vl_forwarding forwarding;
	struct vl_random random;
	struct vl_buffer buffer;
	struct vl_frame_pool *pool; /* for its PFC frames */
	struct vl_switch_profile *profiles;
	struct vl_switch_config config; /* by_port is NULL */
};

/* A switch that works: bytes, one pool, no reserved memory or thresholds, class selectors as
 * classes, every class with its own queue, group and PFC priority, byte round robin with equal
 * weights, no marking, lossy, all PFC obeyed at once, no watchdog, store and forward. */
void vl_switch_config_defaults(struct vl_switch_config *config, uint32_t ports, uint64_t buffer);
/* Makes a priority lossless in its own group: XOFF above xoff bytes, XON at xon. */
void vl_switch_config_lossless(struct vl_switch_port_config *port, uint8_t priority, uint64_t xoff,
			       uint64_t xon, uint64_t headroom);
/* NULL: the configuration is fine; else what is wrong where, for people, valid until the next call
 * in this thread. */
const char *vl_switch_config_error(const struct vl_switch_config *config);
/* NULL with *error -EINVAL (see vl_switch_config_error) or -ENOMEM. */
struct vl_switch *vl_switch_create(const struct vl_switch_config *config,
				   struct vl_frame_pool *pool, int *error);
/* Gives the frames in it back to their pools. */
void vl_switch_destroy(struct vl_switch *sw);
/* The rate of a port's line: the length of pause quanta. To be called before frames come. */
void vl_switch_set_port_rate(struct vl_switch *sw, uint32_t port, uint64_t bits_per_second);
/* Frames to mac leave by port. Replaces an earlier route. -EINVAL: no such port; -ENOMEM. */
int vl_switch_add_route(struct vl_switch *sw, const uint8_t mac[6], uint32_t port);
/* The same by several ports that are equally good, each flow by one of them (forwarding.h). -EINVAL
 * also: count is 0 or above the number of ports. */
int vl_switch_add_ways(struct vl_switch *sw, const uint8_t mac[6], const uint32_t *ports,
		       uint32_t count);

#define VL_SWITCH_NO_PORT UINT32_MAX

/* Takes a frame that has arrived at a port. Returns the port at which vl_switch_transmit may have
 * something new to give; VL_SWITCH_NO_PORT: none. */
uint32_t vl_switch_receive(struct vl_switch *sw, uint32_t port, struct vl_frame *frame,
			   uint64_t now);
/* The next frame to leave by port, which is the caller's then; NULL: none may leave now. PFC frames
 * come first. */
struct vl_frame *vl_switch_transmit(struct vl_switch *sw, uint32_t port, uint64_t now);
/* Receiving and transmitting can make PFC frames due at other ports: gives each such port once,
 * for the caller to transmit there; VL_SWITCH_NO_PORT: no more. */
uint32_t vl_switch_next_pfc_port(struct vl_switch *sw);
/* When vl_switch_transmit could next give a frame at this port without anything being received
 * or sent elsewhere, or the watchdog polls: now, the end of a pause, the refresh of one, the
 * opening of a shaper; UINT64_MAX: never. */
uint64_t vl_switch_next_deadline(const struct vl_switch *sw, uint32_t port, uint64_t now);
/* All watermarks begin anew at what is used now. */
void vl_switch_reset_watermarks(struct vl_switch *sw);

#endif
