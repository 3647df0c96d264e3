/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * ucmatose of librdmacm, both sides: the server sends a number of messages, the client sends as
 * many back, and the server disconnects. In librdmacm both are told the number by their users. Our
 * server finds it out: a client posts a receive for each message before it connects, so the message
 * too many is answered with an RNR NAK.
 */
#ifndef VERBLINE_APPS_ENDPOINT_UCMATOSE_H
#define VERBLINE_APPS_ENDPOINT_UCMATOSE_H

#include "apps/endpoint/session.h"

#include <stdbool.h>
#include <stdint.h>

#define VL_UCMATOSE_PORT     7471
#define VL_UCMATOSE_MAX_SIZE 65536
/* Of messages that the server has posted receives for, from all clients. */
#define VL_UCMATOSE_RECEIVES 256

/* Its service_context: struct vl_ucmatose_server, from the call below. */
extern const struct vl_session_service vl_ucmatose_server_service;

struct vl_ucmatose_server;
/* Makes the set's SRQ. size: of its own messages, which the clients' receives must hold. */
struct vl_ucmatose_server *vl_ucmatose_server_open(struct vl_session_set *set, uint32_t size,
						   int *error);
/* After the sessions. NULL is allowed. */
void vl_ucmatose_server_close(struct vl_ucmatose_server *server);
struct vl_ucmatose_counters {
	uint64_t sent, received; /* messages */
};
struct vl_ucmatose_counters vl_ucmatose_server_counters(const struct vl_ucmatose_server *server);

/* Its service_context: struct vl_ucmatose_client. */
extern const struct vl_session_service vl_ucmatose_client_service;
#define VL_UCMATOSE_CLIENT_DEPTH 1024 /* most messages each way */

struct vl_ucmatose_client {
	uint32_t count; /* messages each way, up to VL_UCMATOSE_CLIENT_DEPTH */
	uint32_t size;  /* bytes */
	/* Results */
	uint64_t sent, received;
	uint64_t over, unfinished; /* sessions that have ended; of these, too early */
};

#endif
