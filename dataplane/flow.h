/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * Traffic: the application that runs flows on an endpoint. A flow is a number of queue pairs from
 * one endpoint to another that all do the same: post messages of one size, keep some outstanding,
 * at a rate or as fast as it goes, from a start to an end. Both ends being known, the queue pairs
 * are connected without a connection manager.
 *
 * Set-up calls come from one thread; afterwards each endpoint's side is touched by that endpoint's
 * thread alone, and nothing is allocated. Every error of a work request ends its queue pair's part
 * in the flow and is kept in its progress. Requests are the generator's (dataplane/generate), of a
 * group with one message; here both ends are known, and set up together.
 */
#ifndef VERBLINE_DATAPLANE_FLOW_H
#define VERBLINE_DATAPLANE_FLOW_H

#include "dataplane/endpoint.h"
#include "dataplane/generate/generator.h"
#include "dataplane/histogram.h"
#include "transport/verbline.h"

#include <stdbool.h>
#include <stdint.h>

#define VL_FLOW_MAX_DEPTH VL_GENERATE_MAX_DEPTH
#define VL_FLOW_MAX_QPS   VL_GENERATE_MAX_QPS

struct vl_flow_config {
	enum ibv_qp_type transport; /* RC, UC, UD */
	enum vl_flow_verb verb;     /* UC: no READ, no atomics; UD: SEND only */
	uint32_t size;        /* bytes, 1 to VL_MAX_MESSAGE; atomics 8; UD up to the path MTU */
	uint64_t messages;    /* of each queue pair; 0: until stop */
	uint64_t start, stop; /* ns; nothing is posted outside; stop 0: never */
	uint32_t qps;         /* 1 to VL_FLOW_MAX_QPS */
	uint32_t depth;       /* outstanding messages, 1 to VL_FLOW_MAX_DEPTH */
	/* bit/s of payload that each queue pair offers, 0: as fast as it goes. Messages are then
	 * due at fixed times, and one that could not be posted in time has its waiting counted in
	 * its completion time. */
	uint64_t rate;
	enum ibv_mtu path_mtu;
	uint8_t priority;    /* service level: 0..7, 0..15 on InfiniBand */
	bool without_grh;    /* InfiniBand: local packets, without a GRH */
	uint8_t dscp;        /* 0..63 */
	uint8_t timeout;     /* local ACK timeout, 4.096 us * 2^timeout; 0: none */
	uint8_t retry_count; /* 0..7 */
	uint8_t rnr_retry;   /* 0..7, 7: without end */
	uint64_t seed;       /* of the initial PSNs */
	/* Both must outlive the flow. NULL: the device's; no completion times are kept. */
	const struct vl_cc_parameters *cc;
	struct vl_histogram *completion_times; /* ns; written by the requester's thread */
	uint64_t measure_from; /* ns: messages completed before are not in completion_times */
};

struct vl_flow;
/* The application of one endpoint. */
struct vl_traffic;

struct vl_traffic_config {
	uint32_t largest_message; /* bytes, of all flows from and to the endpoint */
	/* Memory for vl_traffic_memory_size bytes that outlives the application; NULL: ordinary
	 * memory is taken. What all messages carry, and where all arrive, is the same. */
	void *memory;
};

/* Becomes the endpoint's application. NULL with a negative errno value in *error. */
struct vl_traffic *vl_traffic_create(struct vl_endpoint *endpoint,
				     const struct vl_traffic_config *config, int *error);
/* Destroy before the endpoint, and after its flows are not run any more. Flows go with their
 * requester's application. */
void vl_traffic_destroy(struct vl_traffic *traffic);
/* Whether every flow that starts here has finished. */
bool vl_traffic_is_finished(const struct vl_traffic *traffic);

/* What is wrong with the configuration, as text for people; NULL: nothing. */
const char *vl_flow_config_error(const struct vl_flow_config *config);
/* Creates and connects the queue pairs. NULL with -EINVAL (see vl_flow_config_error, or a message
 * larger than the applications' memory), -ENOMEM, or what the verbs returned. */
struct vl_flow *vl_flow_create(struct vl_traffic *requester, struct vl_traffic *responder,
			       const struct vl_flow_config *config, uint64_t now, int *error);
const struct vl_flow_config *vl_flow_configuration(const struct vl_flow *flow);
const struct vl_generate_progress *vl_flow_progress(const struct vl_flow *flow, uint32_t n);
struct vl_qp *vl_flow_requester_qp(const struct vl_flow *flow, uint32_t n);
struct vl_qp *vl_flow_responder_qp(const struct vl_flow *flow, uint32_t n);
/* Payload that has arrived on queue pair n: at the responder, of READs and atomics at the
 * requester. */
uint64_t vl_flow_received_bytes(const struct vl_flow *flow, uint32_t n);

#endif
