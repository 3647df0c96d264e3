/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * The stage that joins a port and an endpoint: a burst is received, checked and handed to the
 * transport; the application runs; what the transport wants to send goes out in a burst. A port
 * that takes no more holds the endpoint back: packets are made only when there is room for them,
 * and those that the port did not take are offered again, in order.
 */
#ifndef VERBLINE_RUNTIME_ENDPOINT_STAGE_H
#define VERBLINE_RUNTIME_ENDPOINT_STAGE_H

#include "dataplane/endpoint.h"
#include "dataplane/port/port.h"
#include "dataplane/runtime/mempool.h"
#include "dataplane/worker.h"
#include "transport/counter_field.h"

#include <stdbool.h>
#include <stdint.h>

/* Beside those of the endpoint. */
#define VL_ENDPOINT_STAGE_COUNTERS(X)                                                              \
	X(rx_segmented, "frames", "dropped, as they came in several buffers, and fit into none")   \
	X(tx_refused, "bursts", "that the port did not take whole at once")

struct vl_endpoint_stage_counters {
	VL_ENDPOINT_STAGE_COUNTERS(VL_COUNTER_FIELD)
};

/* Buffers that a stage holds ready: as many frames as it makes while a line of memory comes from
 * another core. */
#define VL_ENDPOINT_STAGE_AHEAD 4u

struct rte_ring;
struct vl_stream_stage;

struct vl_endpoint_stage {
	struct vl_endpoint *endpoint;
	struct vl_port *port;
	uint16_t queue; /* of the port; 0 unless set before the worker starts */
	/* Set before the worker starts if the worker has no queue of its own: frames go here, to
	 * who has. One producer. */
	struct rte_ring *transmit_ring;
	struct vl_stream_stage *streams; /* NULL: none; vl_stream_stage_open sets it */
	struct vl_mbuf_frame_pool pool;  /* of what is sent; counts when it is empty */
	/* The frame being made, over an mbuf. It lies here and not in the mbuf's private area,
	 * which another core had last: each line that moves between cores costs more than the rest.
	 */
	struct vl_frame_pool transmit_pool;
	struct vl_frame frame;
	/* For the next frames: raw, on their way into this core's cache to be written. Before
	 * ahead_count the next to be taken. */
	struct rte_mbuf *ahead[VL_ENDPOINT_STAGE_AHEAD];
	uint16_t ahead_count;
	uint32_t data_offset; /* of a frame from its mbuf */
	struct vl_endpoint_stage_counters counters;
	uint16_t pending_count; /* made, and not yet taken by the port */
	struct rte_mbuf *pending[VL_PORT_BURST];
};

/* endpoint, port and mempool stay the caller's, and outlive the stage. */
void vl_endpoint_stage_init(struct vl_endpoint_stage *stage, struct vl_endpoint *endpoint,
			    struct vl_port *port, struct rte_mempool *mempool);
/* Frees what was not sent. The worker must not run. */
void vl_endpoint_stage_release(struct vl_endpoint_stage *stage);
/* Hands received frames, at most VL_PORT_BURST, to the endpoint, and frees them. */
void vl_endpoint_stage_take(struct vl_endpoint_stage *stage, struct rte_mbuf **mbufs,
			    uint16_t count, uint64_t now);
/* The application acts, and what the endpoint has to send goes out. received: whether it was handed
 * frames in this round. Returns how many were sent. */
uint32_t vl_endpoint_stage_send(struct vl_endpoint_stage *stage, bool received, uint64_t now);
/* All of it, from the stage's own queue, for vl_worker_add_stage. */
struct vl_stage vl_endpoint_stage(struct vl_endpoint_stage *stage);

#endif
