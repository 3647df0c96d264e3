/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * The server's side of the control service on one device: listens, and for each client makes the
 * queue pairs that it asks for, which take what comes. Bounded: sessions, queue pairs, memory; a
 * client that says nothing for long is forgotten.
 */
#ifndef VERBLINE_CONTROL_SERVER_H
#define VERBLINE_CONTROL_SERVER_H

#include "dataplane/port/port.h"
#include "transport/cm/connection.h"
#include "transport/counter_field.h"

#include <stdint.h>

struct vl_control_server;

/* 0 takes the default in brackets. */
struct vl_control_server_config {
	uint16_t port;            /* [VL_CONTROL_PORT] */
	uint32_t max_sessions;    /* [64] */
	uint32_t max_qps;         /* [32768] of all sessions */
	uint64_t max_memory;      /* [1 GiB] bytes of all sessions' messages and receives */
	uint64_t largest_message; /* [256 MiB] bytes */
	uint64_t idle_time;       /* [30 s] ns without a word, after which a client is forgotten */
	uint8_t min_rnr_timer;    /* [12: 0.64 ms] */
	/* Notification point of partners whose congestion control the client chooses [the client's
	 * choice]. Copied. */
	const struct vl_cc_parameters *notification;
	/* Whose clock stamps what arrives, as one-way latencies are told with. NULL: the caller's
	 * own, by which it hands frames on ["TSC"]. */
	const struct vl_port *arrival_port;
	/* A line for people when a client has its first queue pairs, and when they are gone. NULL:
	 * nobody is told. */
	void (*tell)(void *context, const char *line);
	void *tell_context;
};

#define VL_CONTROL_SERVER_COUNTERS(X)                                                              \
	X(sessions, "sessions", "begun")                                                           \
	X(refused, "sessions", "refused, as there were too many")                                  \
	X(idle, "sessions", "ended, as the client said nothing for too long")                      \
	X(requests, "messages", "answered")                                                        \
	X(errors, "messages", "answered with an error")                                            \
	X(qps, "queue pairs", "made for clients")

struct vl_control_server_counters {
	VL_CONTROL_SERVER_COUNTERS(VL_COUNTER_FIELD)
};

/* config may be NULL. The connection manager is polled by the caller. NULL with a negative errno
 * value in *error: -EADDRINUSE, -ENOMEM, ... */
struct vl_control_server *vl_control_server_open(struct vl_device *device, struct vl_cm *cm,
						 const struct vl_control_server_config *config,
						 int *error);
/* Before the connection manager is closed. NULL is fine. */
void vl_control_server_close(struct vl_control_server *server, uint64_t now);
/* After vl_cm_poll, whenever that is called. */
void vl_control_server_poll(struct vl_control_server *server, uint64_t now);
uint64_t vl_control_server_next_deadline(const struct vl_control_server *server);
const struct vl_control_server_counters *vl_control_server_counters(
	const struct vl_control_server *server);
/* Sessions at present. */
uint32_t vl_control_server_sessions(const struct vl_control_server *server);

#endif
