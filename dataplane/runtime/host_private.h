/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What building a host and running its workers share. */
#ifndef VERBLINE_RUNTIME_HOST_PRIVATE_H
#define VERBLINE_RUNTIME_HOST_PRIVATE_H

#include "dataplane/runtime/eal.h"
#include "dataplane/runtime/endpoint_stage.h"
#include "dataplane/runtime/host.h"

#include <rte_common.h>
#include <rte_mempool.h>
#include <rte_ring.h>

/* Frames of workers without a queue of a port, which wait for the port to take them. */
struct host_relay {
	struct rte_ring *rings[VL_MAX_WORKERS]; /* from each of these; else NULL */
	uint32_t next;                          /* whose turn is first */
	uint16_t count;
	struct rte_mbuf *mbufs[VL_PORT_BURST];
};

/* Frames on their way to one other worker; given over in one go. */
struct host_batch {
	uint16_t count;
	struct rte_mbuf *mbufs[VL_PORT_BURST];
};

struct host_worker {
	struct vl_host *host;
	struct vl_worker *worker;
	struct rte_mempool *mempool;
	uint32_t number;
	uint64_t handed_over, hand_over_dropped;
	struct vl_endpoint_stage stages[VL_HOST_MAX_PORTS];
	/* These go after the ports. */
	struct vl_stream_stage *streams[VL_HOST_MAX_PORTS];
	struct vl_constant_stage *constants[VL_HOST_MAX_PORTS];
	bool has_queue[VL_HOST_MAX_PORTS];
	bool has_news[VL_HOST_MAX_PORTS]; /* frames were handed to the endpoint in this round */
	bool relays;                      /* others send by its queues */
	struct host_relay relay[VL_HOST_MAX_PORTS];
	struct host_batch batches[VL_MAX_WORKERS]; /* by worker */
	struct rte_ring *received[VL_MAX_WORKERS]; /* by each other worker for this one */
} __rte_cache_aligned;

struct host_port {
	struct vl_port *port;
	struct vl_ip_config ip;
	enum ibv_mtu path_mtu;
	uint64_t link_rate;
};

struct vl_host {
	struct vl_host_config config;
	bool is_running, has_rounds;
	struct host_port ports[VL_HOST_MAX_PORTS];
	struct host_worker *workers;
};

/* The worker's round. */
struct vl_stage vl_host_worker_stage(struct host_worker *worker);

#endif
