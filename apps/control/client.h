/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * The client's side of the control service: connects to a server, has it make partners for groups
 * of queue pairs and connects them, and at the end asks what the partners have counted. It goes
 * from state to state by itself; its owner looks on, starts the groups when it is READY, and says
 * when they are over.
 */
#ifndef VERBLINE_CONTROL_CLIENT_H
#define VERBLINE_CONTROL_CLIENT_H

#include "apps/control/message.h"
#include "dataplane/generate/generator.h"
#include "dataplane/generate/stamp.h"
#include "transport/cm/connection.h"

#include <stdint.h>

struct vl_control_client;

enum vl_control_client_state {
	VL_CONTROL_CONNECTING,
	VL_CONTROL_OPENING, /* hello, clocks, queue pairs */
	VL_CONTROL_READY,
	VL_CONTROL_ENDING, /* clocks, counters, goodbye */
	VL_CONTROL_DONE,
	VL_CONTROL_FAILED, /* vl_control_client_error says why */
};

/* Flows of an open-loop stream, which need partners too. */
struct vl_control_stream {
	enum ibv_qp_type transport;
	uint8_t traffic_class, priority;
	uint32_t count;         /* flows */
	uint32_t local_qpn;     /* of the first; the others follow */
	uint32_t psn;           /* the first of each */
	uint32_t receive_depth; /* receives that each partner keeps posted */
	uint32_t largest_message;
	/* The partners of opened->count flows from first on; may be called more than once. */
	void (*opened)(void *context, uint32_t first, const struct vl_control_opened *opened);
	void *context;
};

struct vl_control_client_config {
	union ibv_gid server;
	uint16_t port; /* 0: VL_CONTROL_PORT */
	uint8_t sgid_index;
	enum ibv_mtu path_mtu;
	uint8_t traffic_class, service_level; /* of the control connection */
	uint32_t group_count;
	struct vl_generate_group *const *groups; /* copied; the groups outlive the client */
	uint32_t stream_count;
	const struct vl_control_stream *streams; /* copied */
	uint64_t patience;                       /* ns that an answer may take; 0: 5 s */
};

/* How the server's clock differs: server's time = client's + offset, give or take error. */
struct vl_control_clock {
	int64_t offset; /* ns */
	uint64_t error; /* ns: half of the shortest round trip; UINT64_MAX: not known */
};

/* What the partners of a group found, by the clock that was estimated at the beginning. */
struct vl_control_one_way {
	struct vl_one_way found;
	enum vl_control_clock_kind clock;
	uint64_t error; /* ns, that each time may be wrong by; UINT64_MAX: not known. Its parts: */
	uint64_t difference_error; /* how the two hosts' clocks differ; UINT64_MAX: not known */
	uint64_t arrival_error;    /* the clock that stamped the arrivals, against its host's */
	char arrival_clock[VL_CONTROL_ARRIVAL_TEXT]; /* "device" or "TSC", of the server */
};

/* NULL with a negative errno value in *error. */
struct vl_control_client *vl_control_client_open(struct vl_device *device, struct vl_cm *cm,
						 const struct vl_control_client_config *config,
						 uint64_t now, int *error);
/* NULL is fine. */
void vl_control_client_close(struct vl_control_client *client, uint64_t now);
/* After vl_cm_poll. */
void vl_control_client_poll(struct vl_control_client *client, uint64_t now);
uint64_t vl_control_client_next_deadline(const struct vl_control_client *client);
/* READY, and the groups are over: asks for the counters, takes leave, and is DONE. */
void vl_control_client_finish(struct vl_control_client *client, uint64_t now);

enum vl_control_client_state vl_control_client_state(const struct vl_control_client *client);
const char *vl_control_client_error(const struct vl_control_client *client);
/* Of the server; valid from READY on. */
const struct vl_control_hello *vl_control_client_server(const struct vl_control_client *client);
/* At the beginning, and from DONE on at the end. */
struct vl_control_clock vl_control_client_clock(const struct vl_control_client *client,
						bool at_end);
/* Of a group whose messages were stamped (and have immediate data); NULL: not known (before DONE),
 * or not stamped. */
const struct vl_control_one_way *vl_control_client_one_way(const struct vl_control_client *client,
							   uint32_t group);
/* What the partners counted; NULL: not known (before DONE). */
const struct vl_control_counters *vl_control_client_counters(
	const struct vl_control_client *client);

#endif
