/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * A host: a number of ports, served by a number of workers. On each worker there is an endpoint for
 * each port, so that nothing is shared on the data path: its QPs, keys and neighbours are its
 * own. All endpoints of a port have the same addresses; to its peers they are one RNIC.
 *
 * Who gets a packet follows from its destination QPN: worker w has the QPNs that have w in their
 * upper bits (vl_host_qpn_worker). QP1 exists on every worker; a management datagram goes to the
 * worker that made the communication or request ID in it, and one that opens something new to the
 * worker that a hash of its sender and its ID gives, so that repetitions meet the same state. What
 * belongs to no QP (ARP, ICMP, PFC) goes to all. The NIC brings frames to the right worker where it
 * can (flow rules on the QPN, RSS on the UDP source port); else rings between the workers do.
 *
 * EAL is to be running with worker_count workers.
 */
#ifndef VERBLINE_RUNTIME_HOST_H
#define VERBLINE_RUNTIME_HOST_H

#include "dataplane/endpoint.h"
#include "dataplane/ip/ip.h"
#include "dataplane/port/port.h"
#include "dataplane/runtime/error.h"
#include "dataplane/steer.h"
#include "dataplane/worker.h"

#include <stdbool.h>
#include <stdint.h>

#define VL_HOST_MAX_PORTS 16

struct vl_host;

struct vl_host_port_config {
	const char *name;     /* as vl_port_open takes it, or */
	struct vl_port *port; /* one that is open; the host's to close, also if it is not made */
	/* mac zero: the port's own, or one made of the first address; speaks is the host's to set.
	 * No address: only frames of applications' and filters' own making pass. */
	struct vl_ip_config ip;
	uint32_t mtu;          /* of the Ethernet payload, 1280 to 9600; 0: VL_PORT_DEFAULT_MTU or
				  what the port has, if that is less */
	enum ibv_mtu path_mtu; /* 0: the largest that fits the MTU */
	uint64_t pfc_response_delay; /* ns */
};

struct vl_host_config {
	uint32_t worker_count; /* 1 to vl_eal_worker_count() */
	uint32_t port_count;   /* 1 to VL_HOST_MAX_PORTS */
	struct vl_host_port_config ports[VL_HOST_MAX_PORTS];
	/* Limits, congestion control and behaviour of each endpoint's device. Addresses, the path
	 * MTU, the rate and QPNs are filled in here. */
	struct vl_device_config device;
	uint32_t frame_count; /* of each worker's mempool; 0: 8192, or 3072 a port */
	uint32_t ring_size;   /* frames handed over between two workers, 2 to 65536; 0: 1024 or,
				 with many workers, what the mempools can spare */
};

struct vl_host_counters {
	struct vl_worker_counters worker;
	uint64_t handed_over;       /* frames to other workers, copies of what is for all too */
	uint64_t hand_over_dropped; /* frames whose ring was full, or copies for lack of buffers */
	uint64_t mempool_exhausted; /* frames not made, as no buffer was free */
	uint64_t rx_segmented;      /* frames dropped, as they came in several buffers, and fit
					into none */
	uint64_t tx_refused;        /* bursts that a port did not take whole at once */
};

struct vl_host *vl_host_create(const struct vl_host_config *config, struct vl_error *error);
/* Stops first. NULL is allowed. */
void vl_host_destroy(struct vl_host *host);
/* Megabytes that EAL needs for it. */
uint32_t vl_host_megabytes(const struct vl_host_config *config);

/* An application, a filter and a tap are set on the endpoints before vl_host_start. */
struct vl_endpoint *vl_host_endpoint(const struct vl_host *host, uint32_t port, uint32_t worker);
/* Open-loop streams on an endpoint (dataplane/runtime/stream_stage.h): those that the group has
 * now. Their local QPNs are the worker's. Before vl_host_start, once an endpoint; the group stays
 * the caller's, and outlives the host. frame_count: buffers of each stream, 0: the default; to
 * vl_host_megabytes add vl_stream_stage_megabytes. 0 or a negative errno value. */
int vl_host_set_streams(struct vl_host *host, uint32_t port, uint32_t worker,
			struct vl_stream_group *group, uint32_t frame_count,
			struct vl_error *error);
/* Memory that an endpoint's queue pairs send from and that never changes while the host exists
 * (dataplane/runtime/constant_stage.h): it repeats every period bytes, a power of two up to 4096.
 * Its packets are sent without reading it. Before vl_host_start, once an endpoint; to
 * vl_host_megabytes add vl_constant_stage_megabytes. 0 or a negative errno value. */
int vl_host_set_constant(struct vl_host *host, uint32_t port, uint32_t worker, const void *memory,
			 uint64_t length, uint32_t period, uint32_t frame_count,
			 struct vl_error *error);
struct vl_port *vl_host_port(const struct vl_host *host, uint32_t port);
/* The path MTU as configured, or the largest that fits the MTU with 96 bytes of headers, as Linux
 * counts it. */
enum ibv_mtu vl_host_path_mtu(const struct vl_host *host, uint32_t port);

/* As configured or found. */
uint32_t vl_host_port_count(const struct vl_host *host);
uint32_t vl_host_worker_count(const struct vl_host *host);
const uint8_t *vl_host_mac(const struct vl_host *host, uint32_t port);
/* Of the frames that a worker makes; they have a struct vl_frame. */
struct rte_mempool *vl_host_mempool(const struct vl_host *host, uint32_t worker);
/* Runs in each round of a worker, before its endpoints do. As vl_worker_add_stage. */
int vl_host_add_stage(struct vl_host *host, uint32_t worker, const struct vl_stage *stage);

int vl_host_start(struct vl_host *host, struct vl_error *error);
void vl_host_stop(struct vl_host *host);
/* The time that endpoints and applications are given; any thread. */
uint64_t vl_host_now(const struct vl_host *host);
/* vl_worker_call on a worker: whatever belongs to an endpoint is to be read or touched there. */
int vl_host_call(struct vl_host *host, uint32_t worker,
		 void (*function)(void *context, uint64_t now), void *context);
struct vl_host_counters vl_host_counters(const struct vl_host *host, uint32_t worker);

#endif
