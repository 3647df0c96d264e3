/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * An endpoint: a transport device behind a NIC. It turns frames into packets and back, obeys and
 * sends PFC, and runs the application that posts and polls. Functions of the time; no clock: the
 * virtual-time network and the live worker call the same ones.
 *
 * A caller's loop: hand in frames with vl_endpoint_receive, let the application act with
 * vl_endpoint_poll, ask for frames with vl_endpoint_transmit while the line is free, and come back
 * at vl_endpoint_next_deadline or with the next frame.
 */
#ifndef VERBLINE_DATAPLANE_ENDPOINT_H
#define VERBLINE_DATAPLANE_ENDPOINT_H

#include "dataplane/filter.h"
#include "dataplane/frame.h"
#include "dataplane/ip/ip.h"
#include "dataplane/pfc.h"
#include "transport/counter_field.h"
#include "transport/verbline.h"

#include <stdbool.h>
#include <stdint.h>

struct vl_endpoint;
struct vl_constant_payload;
struct vl_stream_group;

/* What runs on an endpoint: posts work, polls completions. One application an endpoint; it serves
 * all flows there. */
struct vl_application {
	/* Called after frames were received or sent and at the application's deadline. */
	void (*poll)(void *context, struct vl_endpoint *endpoint, uint64_t now);
	/* When it wants to be called without any of these; UINT64_MAX: not. NULL: never. */
	uint64_t (*next_deadline)(void *context);
	void *context;
};

struct vl_endpoint_config {
	const char *name;               /* for people; copied; may be NULL */
	struct vl_device_config device; /* allocator.allocate NULL: the heap; link_rate 0: rate */
	/* With it the endpoint resolves addresses for its device (unless device.events.resolve
	 * does), and answers ARP, neighbour discovery and echo. NULL: all that comes in is RoCE or
	 * MAC control. Its mac is the device's. */
	const struct vl_ip_config *ip;
	enum vl_link_type link;      /* VL_LINK_ETHERNET (0) or VL_LINK_INFINIBAND: no PFC, no ip */
	uint64_t rate;               /* bit/s of the line: length of pause quanta; 0: 100 Gb/s */
	uint64_t pfc_response_delay; /* ns */
	uint16_t pause_quanta;       /* of its own PFC frames; 0: 65535 */
};

#define VL_ENDPOINT_COUNTERS(X)                                                                    \
	X(rx_frames, "frames", "received, MAC control included")                                   \
	X(rx_bytes, "bytes", "of rx_frames, without FCS")                                          \
	X(tx_frames, "frames", "sent, MAC control included")                                       \
	X(tx_bytes, "bytes", "of tx_frames, without FCS")                                          \
	X(pfc_rx, "frames", "PFC and PAUSE frames received")                                       \
	X(pfc_tx, "frames", "PFC frames sent")                                                     \
	X(mac_control_ignored, "frames", "MAC control frames that pause nothing")                  \
	X(vlan_dropped, "frames", "RoCE packets of another VLAN")                                  \
	X(tx_oversize, "frames", "not sent, as the frame had no room for the packet")

struct vl_endpoint_counters {
	VL_ENDPOINT_COUNTERS(VL_COUNTER_FIELD)
};

struct vl_endpoint {
	char name[32];
	struct vl_device *device;       /* owned */
	struct vl_ip *ip;               /* owned; NULL: none */
	struct vl_device_events events; /* the owner's */
	struct vl_application application;
	struct vl_frame_filter filter;
	struct vl_frame_tap tap;
	/* The owner's; NULL: none. Buffers that hold the payload, and what the last packet took. */
	const struct vl_constant_payload *constant;
	struct vl_frame_pool *constant_frames;
	struct vl_frame *spare, *taken;
	bool takes_constant;
	uint8_t link;                    /* enum vl_link_type */
	struct vl_stream_group *streams; /* the owner's; NULL: none */
	bool sends_streams;              /* false: who moves the endpoint's frames does */
	uint64_t now;                    /* ns, of the last call */
	uint64_t seen;                   /* ns, of the frame that a tap or filter was shown last */
	struct vl_pfc_receiver pause;
	struct vl_pfc_sender pfc;
	struct vl_endpoint_counters counters;
	uint8_t mac[6];
};

/* Opens the device. NULL with *error as vl_open_device or vl_ip_open, or -EINVAL: the rate is out
 * of range. */
struct vl_endpoint *vl_endpoint_create(const struct vl_endpoint_config *config, int *error);
void vl_endpoint_destroy(struct vl_endpoint *endpoint);
void vl_endpoint_set_application(struct vl_endpoint *endpoint,
				 const struct vl_application *application);
/* What stands between the endpoint and its wire (dataplane/filter.h); all of the filter's functions
 * are set. With a filter the endpoint leaves it to the filter to show frames to the tap. NULL:
 * none. */
void vl_endpoint_set_filter(struct vl_endpoint *endpoint, const struct vl_frame_filter *filter);
void vl_endpoint_set_tap(struct vl_endpoint *endpoint, const struct vl_frame_tap *tap);

/* Open-loop streams (dataplane/stream/stream.h) beside the queue pairs: they obey the endpoint's
 * pauses and get what answers them; what the endpoint has to send itself goes first. The group
 * stays the caller's. NULL: none. */
void vl_endpoint_set_streams(struct vl_endpoint *endpoint, struct vl_stream_group *streams);

/* Memory that packets are sent from without touching it, and frames that hold it already: each as
 * vl_constant_payload_build wants it. Packets are copied as ever while there is a filter or a tap,
 * or no such frame left. Both stay the caller's. NULL: none. */
void vl_endpoint_set_constant(struct vl_endpoint *endpoint,
			      const struct vl_constant_payload *constant,
			      struct vl_frame_pool *frames);

/* Takes one frame, which the filter may alter; it stays the caller's. Obeys PFC, hands RoCE packets
 * whose ICRC is right to the device, and what else there is to vl_ip. */
void vl_endpoint_receive(struct vl_endpoint *endpoint, struct vl_frame *frame, uint64_t now);
/* The same of a frame that came in at the port earlier than now: arrival, ns, not after now. Taps
 * are told this time, or that of the frame that they saw last if it is later, and latencies of one
 * way end with it; the transport acts now. */
void vl_endpoint_receive_arrived(struct vl_endpoint *endpoint, struct vl_frame *frame,
				 uint64_t arrival, uint64_t now);
/* Takes what the filter gives as received by now, then runs the application. */
void vl_endpoint_poll(struct vl_endpoint *endpoint, uint64_t now);
/* Fills the next frame (data, length, priority): the filter's own first, then PFC, ARP and
 * its like, then what the device sends. False: nothing may be sent now. */
bool vl_endpoint_transmit(struct vl_endpoint *endpoint, uint64_t now, struct vl_frame *frame);
/* The same with a frame from the pool, or one that holds the payload already
 * (vl_endpoint_set_constant) ; NULL: nothing may be sent now, or the pool is empty. One frame of
 * the pool stays in hand for the next call: always the same pool, and vl_endpoint_release_spare
 * before it goes. */
struct vl_frame *vl_endpoint_next_frame(struct vl_endpoint *endpoint, struct vl_frame_pool *pool,
					uint64_t now);
void vl_endpoint_release_spare(struct vl_endpoint *endpoint);
/* When vl_endpoint_poll or vl_endpoint_transmit could next do something; 0: now; UINT64_MAX:
 * not before a frame comes. May be early, never late. */
uint64_t vl_endpoint_next_deadline(const struct vl_endpoint *endpoint);
/* Fetches what the next call will touch into the cache. */
void vl_endpoint_prefetch(const struct vl_endpoint *endpoint);
/* Asks the neighbour to pause (or resume) a priority, as a congested or a faulty NIC would. */
void vl_endpoint_pause_peer(struct vl_endpoint *endpoint, uint8_t priority, bool pause);

#endif
