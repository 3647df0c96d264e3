/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* What live_network.c builds and live_stage.c runs. */
#ifndef VERBLINE_RUNTIME_LIVE_NODE_H
#define VERBLINE_RUNTIME_LIVE_NODE_H

#include "dataplane/infiniband/carrier.h"
#include "dataplane/port/port.h"
#include "dataplane/runtime/eal.h"
#include "dataplane/runtime/live_network.h"
#include "dataplane/runtime/mempool.h"

#include <rte_common.h>
#include <rte_ring.h>

#include <stdbool.h>
#include <stdint.h>

#define VL_LIVE_MAX_WIRES      16u
#define VL_LIVE_MAX_WIRE_LINKS 64u

/* Frames that a port sends in one round at most. */
#define VL_LIVE_TRANSMIT_BURST 64u

struct live_port;

/* A port of the machine by which links leave the process; its queue 0 is one worker's. */
struct live_wire {
	struct vl_port *port;
	unsigned int worker;
	struct live_port *links[VL_LIVE_MAX_WIRE_LINKS];
	uint32_t link_count;
	struct rte_mbuf *pending[VL_PORT_BURST]; /* sent, and not yet handed on */
	uint16_t pending_count;
	uint64_t rx_foreign, rx_unknown_link; /* dropped; see struct vl_live_counters */
};

/* The end of a link that leaves by a wire. */
struct live_carrier {
	struct live_wire *wire;
	struct vl_carrier end;
	bool differs; /* a hello came with another digest */
	bool owes_hello;
	uint64_t next_answer; /* ns */
};

/* A port and the link that leaves it, which belong to the node's worker. */
struct live_port {
	struct vl_live_node *node;
	uint32_t number;
	struct live_port *peer;       /* NULL: not connected, or */
	struct live_carrier *carrier; /* its link leaves the process; NULL: it does not */
	struct rte_ring *ring;        /* of frames, to the peer's worker; NULL: it is the same */
	struct vl_frame *held;        /* arrived, but the ring was full */
	struct vl_frame_tap tap;
	bool has_backlog; /* the last round left frames that the line had no time for */
	struct vl_fabric_link link;
};

struct vl_live_node {
	struct vl_live_network *network;
	struct vl_live_node *next;
	char name[32];
	unsigned int worker;
	struct vl_endpoint *endpoint; /* the adapter's, if there is one; or */
	struct vl_switch *sw;         /* or */
	struct vl_infiniband_switch *infiniband_switch;
	struct vl_channel_adapter *adapter;
	struct vl_live_timer *timers; /* of an endpoint */
	uint32_t port_count;
	struct live_port *ports;
	bool has_news;         /* endpoint: frames came or went since the application ran */
	uint32_t route_number; /* of vl_live_network_route: among all nodes */
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
	struct live_wire *wires[VL_LIVE_MAX_WIRES]; /* whose queues the worker uses */
	uint32_t wire_count;
	/* ns; read by other workers. Each part has cache lines of its own. */
	_Alignas(RTE_CACHE_LINE_SIZE) _Atomic uint64_t last_round;
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
	struct live_wire wires[VL_LIVE_MAX_WIRES];
	uint32_t wire_count;
	uint64_t digest; /* of what runs, for who asks at the other end of a wire */
};

static inline bool vl_live_is_infiniband(const struct vl_live_node *node)
{
	return node->adapter || node->infiniband_switch;
}

void vl_live_node_destroy(struct vl_live_node *node);
/* What arrives by a line that may damage it is checked. */
void vl_live_check_vcrc(struct live_port *port);
/* 0, or an error: there is no such port, or it has a link. */
int vl_live_check_port(const struct vl_live_node *node, uint32_t port, struct vl_error *error);
/* The link that leaves a port, to a node on a worker. delivers_head: see struct vl_link_config. */
int vl_live_make_link(struct vl_live_network *network, struct live_port *port,
		      unsigned int peer_worker, bool delivers_head,
		      const struct vl_link_config *config, struct vl_error *error);

struct vl_stage vl_live_part_stage(struct live_part *part);

#endif
