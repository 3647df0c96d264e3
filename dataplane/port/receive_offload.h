/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * What a device says of frames that it received, brought into the shape that ports promise: tags
 * that it stripped are put back, frames whose IPv4 header it found damaged are dropped, and its
 * time stamps become the workers' time.
 */
#ifndef VERBLINE_PORT_RECEIVE_OFFLOAD_H
#define VERBLINE_PORT_RECEIVE_OFFLOAD_H

#include "dataplane/port/device_clock.h"
#include "dataplane/port/port.h"

#include <rte_common.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include <stdbool.h>
#include <stdint.h>

/* A queue's; one worker at a time writes it. */
struct vl_receive_queue_offload {
	struct vl_clock_view clock;
	uint64_t ip_checksum; /* frames dropped: the IPv4 header's checksum is wrong */
	uint64_t tag_lost;    /* frames dropped: no room to put the tag back */
	uint64_t timed;       /* frames with the device's time */
} __rte_cache_aligned;

struct vl_receive_offload {
	bool has_time; /* the device's time stamps are used; clock is right */
	uint16_t device;
	unsigned int interval; /* us to the next comparison of the clocks */
	/* ns: the most that times were found wrong by when the clocks were compared, and half of
	 * what reading them took; until the first comparison the bound by the first readings. */
	_Atomic uint64_t clock_error;
	struct vl_device_clock clock;
	struct vl_receive_queue_offload queues[VL_PORT_MAX_QUEUES];
};

/* Of what the device can do, what is made use of: to be enabled. */
uint64_t vl_receive_offload_wanted(uint64_t capabilities);
/* Once the device runs, with what was enabled: compares the clocks, which takes some ms, and does
 * so again and again, soon every second. Without a clock that can be read there are no times. */
void vl_receive_offload_start(struct vl_receive_offload *offload, uint16_t device,
			      uint64_t enabled);
/* Before the device is stopped. */
void vl_receive_offload_stop(struct vl_receive_offload *offload);

/* Out of line: when something is to be done. Returns how many mbufs are left. */
uint16_t vl_receive_offload_apply(struct vl_receive_offload *offload, uint16_t queue,
				  struct rte_mbuf **mbufs, uint16_t count);

/* The flag of a time stamp; 0 before any device has them. */
extern uint64_t vl_receive_time_flag;
extern int vl_receive_time_offset;

/* Of what a device sets in ol_flags, what asks for something. */
#define VL_RECEIVE_OFFLOAD_FLAGS                                                                   \
	(RTE_MBUF_F_RX_VLAN_STRIPPED | RTE_MBUF_F_RX_QINQ_STRIPPED | RTE_MBUF_F_RX_IP_CKSUM_BAD)

static inline uint16_t vl_receive_offload_take(struct vl_receive_offload *offload, uint16_t queue,
					       struct rte_mbuf **mbufs, uint16_t count)
{
	uint64_t flags = 0;

	for (uint16_t i = 0; i < count; i++)
		flags |= mbufs[i]->ol_flags;
	if (likely(!(flags & (VL_RECEIVE_OFFLOAD_FLAGS | vl_receive_time_flag))))
		return count;
	return vl_receive_offload_apply(offload, queue, mbufs, count);
}

/* When a frame that a port gave came in, by the workers' clock: at the device where it says so,
 * else when its burst was taken, which is now at the latest. */
static inline uint64_t vl_receive_time(const struct rte_mbuf *mbuf, uint64_t now)
{
	uint64_t time;

	if (likely(!(mbuf->ol_flags & vl_receive_time_flag)))
		return now;
	time = *RTE_MBUF_DYNFIELD(mbuf, vl_receive_time_offset, const uint64_t *);
	return time < now ? time : now;
}

#endif
