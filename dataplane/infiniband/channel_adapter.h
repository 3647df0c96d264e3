/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * A channel adapter: an endpoint (dataplane/endpoint.h) whose transport device speaks InfiniBand,
 * behind a port of an InfiniBand link. Applications, taps and filters are the endpoint's.
 *
 * One packet of each lane is taken from the device ahead and waits for its turn and its credits;
 * until it has gone, the service levels of its lane rest. While a request waits for credits, an
 * acknowledgement on the same lane that needs fewer may go before it. Nothing goes before a
 * response.
 *
 * Functions of the time; no clock. As for an endpoint: hand in frames with
 * vl_channel_adapter_receive, ask for frames with vl_channel_adapter_transmit while the line is
 * free, and come back at vl_channel_adapter_next_deadline or with the next frame.
 */
#ifndef VERBLINE_INFINIBAND_CHANNEL_ADAPTER_H
#define VERBLINE_INFINIBAND_CHANNEL_ADAPTER_H

#include "dataplane/endpoint.h"
#include "dataplane/infiniband/port.h"

#include <stdbool.h>
#include <stdint.h>

struct vl_channel_adapter;

struct vl_channel_adapter_config {
	/* The encapsulation of the device's GIDs is made InfiniBand's; without a GID, a link-local
	 * one is made of its MAC. ip must be NULL; link and the parts about pauses are not used. */
	struct vl_endpoint_config endpoint;
	struct vl_infiniband_port_config port;
	bool default_sl_to_vl; /* service level n goes on lane n modulo virtual_lanes */
	uint8_t sl_to_vl[VL_INFINIBAND_SERVICE_LEVELS];
	/* bit/s at which packets leave the receive buffer, LRH to VCRC, in the order of arrival
	 * over all lanes; 0: at once. */
	uint64_t drain_rate;
};

/* What management packets (lane 15) come to and from: all may be NULL. */
struct vl_channel_adapter_management {
	/* The frame stays the adapter's. */
	void (*receive)(void *context, const struct vl_frame *frame, uint64_t now);
	void *context;
};

/* pool: for flow-control packets and what is taken from the device. NULL with a negative errno
 * value in *error: as vl_endpoint_create, or -EINVAL (see vl_channel_adapter_config_error). */
struct vl_channel_adapter *vl_channel_adapter_create(const struct vl_channel_adapter_config *config,
						     struct vl_frame_pool *pool, int *error);
void vl_channel_adapter_destroy(struct vl_channel_adapter *adapter);
/* What is wrong, as text for people; NULL: nothing. */
const char *vl_channel_adapter_config_error(const struct vl_channel_adapter_config *config);

/* ---- What a subnet manager sets --------------------------------------------------------- */

/* Before queue pairs are connected: paths that exist keep the source LID that they have. -EINVAL:
 * not a unicast LID. */
int vl_channel_adapter_set_lid(struct vl_channel_adapter *adapter, uint16_t lid);
uint16_t vl_channel_adapter_lid(const struct vl_channel_adapter *adapter);
uint8_t vl_channel_adapter_virtual_lanes(const struct vl_channel_adapter *adapter);
/* -EINVAL: a lane that the port does not have, or 15. */
int vl_channel_adapter_set_sl_to_vl(struct vl_channel_adapter *adapter,
				    const uint8_t sl_to_vl[VL_INFINIBAND_SERVICE_LEVELS]);
/* -EINVAL: vl_arbiter_config_error. */
int vl_channel_adapter_set_arbitration(struct vl_channel_adapter *adapter,
				       const struct vl_arbiter_config *config);
void vl_channel_adapter_set_rate(struct vl_channel_adapter *adapter, uint64_t bits_per_second);
void vl_channel_adapter_set_management(struct vl_channel_adapter *adapter,
				       const struct vl_channel_adapter_management *management);
/* Queues a whole packet, LRH to ICRC, with room for the VCRC, which is written: it goes on lane 15,
 * before all else. The frame is the adapter's from here on. -EINVAL: too short, or no room; the
 * frame stays the caller's. */
int vl_channel_adapter_send_management(struct vl_channel_adapter *adapter, struct vl_frame *frame,
				       uint64_t now);
/* Packets are checked for damage from now on (vl_infiniband_port_config). */
void vl_channel_adapter_check_vcrc(struct vl_channel_adapter *adapter);

/* ---- Running ---------------------------------------------------------------------------- */

/* Takes a frame that has arrived, a link packet too. */
void vl_channel_adapter_receive(struct vl_channel_adapter *adapter, struct vl_frame *frame,
				uint64_t now);
/* Empties the receive buffer as far as it is time for it, and runs the application. */
void vl_channel_adapter_poll(struct vl_channel_adapter *adapter, uint64_t now);
/* The line is free: the next frame, which is the caller's then; NULL: none may leave now. */
struct vl_frame *vl_channel_adapter_transmit(struct vl_channel_adapter *adapter, uint64_t now);
/* When one of the two above could next do something; 0: now; UINT64_MAX: not before a frame comes.
 * May be early, never late. */
uint64_t vl_channel_adapter_next_deadline(const struct vl_channel_adapter *adapter, uint64_t now);
/* Of these, when the receive buffer is to be emptied, whether the line is free or not. */
uint64_t vl_channel_adapter_next_drain(const struct vl_channel_adapter *adapter);

/* ---- Reading ---------------------------------------------------------------------------- */

struct vl_endpoint *vl_channel_adapter_endpoint(const struct vl_channel_adapter *adapter);
const struct vl_infiniband_port *vl_channel_adapter_port(const struct vl_channel_adapter *adapter);

#endif
