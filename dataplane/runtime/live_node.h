/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What live_network.c builds and live_stage.c runs. */
#ifndef VERBLINE_RUNTIME_LIVE_NODE_H
#define VERBLINE_RUNTIME_LIVE_NODE_H

#include <rte_ring.h>

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/runtime/eal.h"
#include "dataplane/runtime/live_network.h"
#include "dataplane/runtime/mempool.h"

/* A port and the link that leaves it, which belong to the node's worker. */
struct live_port {
	struct vl_live_node *node;
	uint32_t number;
	struct live_port *peer; /* NULL: not connected */
	struct rte_ring *ring;  /* of frames, to the peer's worker; NULL: it is the same */
	struct vl_frame *held;  /* arrived, but the ring was full */
	struct vl_frame_tap tap;
	bool has_backlog; /* the last round left frames that the line had no time for */
	struct vl_fabric_link link;
};

struct vl_live_node {
	struct vl_live_network *network;
	struct vl_live_node *next;
	char name[32];
	unsigned int worker;
	struct vl_endpoint *endpoint; /* or */
	struct vl_switch *sw;
	uint32_t port_count;
	struct live_port *ports;
	bool has_news; /* endpoint: frames came or went since the application ran */
	bool visited;  /* by vl_live_network_route */
};

/* The part of the network that one worker runs. */
struct live_part {
	struct vl_live_network *network;
	struct vl_worker *worker;
	struct rte_mempool *mempool;
	struct vl_mbuf_frame_pool pool;
	struct live_port **outgoing; /* ports of its nodes */
	struct live_port **incoming; /* ports elsewhere whose rings end here */
	uint32_t outgoing_count, incoming_count;
	uint64_t last_round; /* ns */
	uint64_t overruns, late_rounds, late_time;
};

struct vl_live_network {
	struct vl_live_network_config config;
	struct vl_live_node *first, **last;
	uint32_t node_count, link_count;
	uint64_t epoch;      /* of its time, on the workers' clock */
	uint64_t stopped_at; /* its time while it does not run */
	bool is_running;
	struct live_part parts[VL_MAX_WORKERS];
};

struct vl_stage vl_live_part_stage(struct live_part *part);

#endif
