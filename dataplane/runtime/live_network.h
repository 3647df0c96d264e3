/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * The emulated network of dataplane/network.h in real time: the same endpoints, switches and links,
 * spread over workers. Each node lives on one worker, and so does each direction of a link, on
 * the worker of who sends; a link between nodes of two workers ends in a ring of mbufs.
 *
 * Real time does not wait. If a worker cannot keep up with the rates that the links are given,
 * frames wait in the links and rings (they are not lost), and the counters tell.
 *
 * EAL is to be running. Calls that build return NULL or a negative errno value with *error filled;
 * building ends with vl_live_network_start.
 */
#ifndef VERBLINE_RUNTIME_LIVE_NETWORK_H
#define VERBLINE_RUNTIME_LIVE_NETWORK_H

#include "dataplane/endpoint.h"
#include "dataplane/fabric/link.h"
#include "dataplane/fabric/switch.h"
#include "dataplane/infiniband/carrier.h"
#include "dataplane/infiniband/channel_adapter.h"
#include "dataplane/infiniband/switch.h"
#include "dataplane/runtime/error.h"
#include "dataplane/worker.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* How late a worker may come round and still give its lines, where frames waited, the time that
 * they had. Beyond that the time is lost, rather than made up for in a burst. */
#define VL_LIVE_SLACK_NS 200000

struct vl_live_network;
/* An endpoint (with the one port 0) or a switch, of either kind. */
struct vl_live_node;
struct vl_port;
struct rte_mempool;

/* In place of a worker: the node is another process's, which runs it. Here it is made, so that
 * queue pairs can be connected to its own, and does nothing; it has no links. */
#define VL_LIVE_ELSEWHERE UINT32_MAX

struct vl_live_network_config {
	uint32_t worker_count; /* 1 to vl_eal_worker_count() */
	uint32_t frame_count;  /* of each worker's mempool; 0: 8192 */
	uint32_t ring_size;    /* frames between two workers, for each link; 0: 512 */
};

/* Per worker. */
struct vl_live_counters {
	struct vl_worker_counters worker;
	uint64_t mempool_exhausted; /* frames that were not made as no buffer was free */
	uint64_t overruns;          /* rounds in which an arrived frame waited as its ring was full:
				       the far worker is behind */
	uint64_t
		late_rounds; /* rounds that began more than VL_LIVE_SLACK_NS after the one before */
	uint64_t late_time;  /* ns that passed there: the lines' time then is lost. Mostly other
				programs ran on the worker's CPU */
	/* Frames dropped at ports by which links leave. */
	uint64_t wire_foreign;      /* no links' frames, or in several buffers */
	uint64_t wire_unknown_link; /* of links that have no end at that port */
};

struct vl_live_network *vl_live_network_create(const struct vl_live_network_config *config,
					       struct vl_error *error);
/* Frames that may come by a link after its far end was asked to pause, beyond those that its cable
 * holds: a ring of them, what is in flight for want of a round, and a burst for each of the rounds
 * in which the pause is asked for, comes, and takes force. */
uint32_t vl_live_network_frames_between(const struct vl_live_network_config *config);
/* Megabytes that EAL needs for it. */
uint32_t vl_live_network_megabytes(const struct vl_live_network_config *config);
/* Stops, then destroys the nodes and their devices too. NULL is allowed. */
void vl_live_network_destroy(struct vl_live_network *network);

struct vl_live_node *vl_live_network_add_endpoint(struct vl_live_network *network,
						  unsigned int worker,
						  const struct vl_endpoint_config *config,
						  struct vl_error *error);
struct vl_live_node *vl_live_network_add_switch(struct vl_live_network *network,
						unsigned int worker, const char *name,
						const struct vl_switch_config *config,
						struct vl_error *error);
struct vl_live_node *vl_live_network_add_channel_adapter(
	struct vl_live_network *network, unsigned int worker,
	const struct vl_channel_adapter_config *config, struct vl_error *error);
struct vl_live_node *vl_live_network_add_infiniband_switch(
	struct vl_live_network *network, unsigned int worker, const char *name,
	const struct vl_infiniband_switch_config *config, struct vl_error *error);
/* NULL if the node is of another kind. The endpoint of a channel adapter is an endpoint too. */
struct vl_endpoint *vl_live_node_endpoint(const struct vl_live_node *node);
struct vl_switch *vl_live_node_switch(const struct vl_live_node *node);
struct vl_channel_adapter *vl_live_node_channel_adapter(const struct vl_live_node *node);
struct vl_infiniband_switch *vl_live_node_infiniband_switch(const struct vl_live_node *node);
unsigned int vl_live_node_worker(const struct vl_live_node *node);

/* Joins two ports by a link in each direction; backward NULL: as forward, with another seed.
 * slack 0 in a configuration takes VL_LIVE_SLACK_NS. */
int vl_live_network_connect(struct vl_live_network *network, struct vl_live_node *a,
			    uint32_t port_a, struct vl_live_node *b, uint32_t port_b,
			    const struct vl_link_config *forward,
			    const struct vl_link_config *backward, struct vl_error *error);
/* Shows every frame at a node's port, on the node's worker; before the start. NULL: none. */
void vl_live_network_set_tap(struct vl_live_node *node, uint32_t port,
			     const struct vl_frame_tap *tap);
/* Runs on the worker of an endpoint when it is due (ns; as soon as the worker comes round), and
 * says when it is due again; UINT64_MAX: never. */
struct vl_live_timer {
	uint64_t (*run)(void *context, uint64_t now);
	void *context;
	uint64_t due;
	struct vl_live_timer *next; /* the network's */
};
/* Before the start; the timer is copied. -EINVAL: the node is no endpoint. */
int vl_live_network_add_timer(struct vl_live_node *node, const struct vl_live_timer *timer,
			      struct vl_error *error);
/* The link that leaves a node by a port; NULL: none. */
struct vl_fabric_link *vl_live_network_link(const struct vl_live_node *node, uint32_t port);
/* Gives every Ethernet switch routes to every endpoint, by the fewest hops, and by all equal ways
 * (dataplane/fabric/routes.h). InfiniBand's are the subnet manager's to set. -ENETUNREACH. */
int vl_live_network_route(struct vl_live_network *network, struct vl_error *error);

/* ---- Links that leave the process -------------------------------------------------------- */

/*
 * What an InfiniBand node sends by a port goes, after the link's time, to a port of the machine
 * (dataplane/infiniband/carrier.h), and what comes there for the link of that number arrives at the
 * node. The machine's port is the caller's; its frames are to be received in buffers of
 * vl_live_network_mempool of the node's worker, which uses its queue 0. So it is to be closed when
 * the network has stopped, and before it is destroyed. Links of nodes on one worker may share it.
 */
int vl_live_network_carry(struct vl_live_network *network, struct vl_live_node *node, uint32_t port,
			  const struct vl_link_config *config, struct vl_port *wire, uint16_t link,
			  struct vl_error *error);
struct rte_mempool *vl_live_network_mempool(const struct vl_live_network *network,
					    unsigned int worker);
/* NULL: the link at the port does not leave. Counters: by the node's worker, or after the stop. */
const struct vl_carrier *vl_live_network_carrier(const struct vl_live_node *node, uint32_t port);
/* Before the start: waits until the other ends of all links that leave have been heard and have
 * heard these, for timeout ns at most. digest: of what is run; at both ends the same, or -EPROTO.
 * -ETIMEDOUT, and -EINTR once *interrupted. */
int vl_live_network_meet(struct vl_live_network *network, uint64_t digest, uint64_t timeout,
			 const volatile sig_atomic_t *interrupted, struct vl_error *error);

/* ---- Running ----------------------------------------------------------------------------- */

/* The network's time, which endpoints and applications are given, is 0 until the first start and
 * goes on from there. */
uint64_t vl_live_network_now(const struct vl_live_network *network);
int vl_live_network_start(struct vl_live_network *network, struct vl_error *error);
/* Workers stop; everything may be read from then on. It may be started again. */
void vl_live_network_stop(struct vl_live_network *network);

/* vl_worker_call on one of its workers: whatever belongs to a node is to be read or touched on the
 * node's worker while the network runs. */
int vl_live_network_call(struct vl_live_network *network, unsigned int worker,
			 void (*function)(void *context, uint64_t now), void *context);
/* By vl_live_network_call on that worker, or after the stop. */
struct vl_live_counters vl_live_network_counters(const struct vl_live_network *network,
						 unsigned int worker);

#endif
