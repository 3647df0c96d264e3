/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/* Shared by the files of the client, and by nobody else. */
#ifndef VERBLINE_CONTROL_CLIENT_PRIVATE_H
#define VERBLINE_CONTROL_CLIENT_PRIVATE_H

#include "apps/control/channel.h"
#include "apps/control/client.h"

/* A server forgets who says nothing for long. */
#define VL_CLIENT_KEEP_ALIVE UINT64_C(1000000000)

enum vl_client_step {
	VL_CLIENT_STEP_CONNECT, /* for CONNECT_RESPONSE */
	VL_CLIENT_STEP_PREPARE, /* the channel waits for a neighbour */
	VL_CLIENT_STEP_HELLO,
	VL_CLIENT_STEP_PING,
	VL_CLIENT_STEP_OPEN,
	VL_CLIENT_STEP_CONNECT_QPS, /* those of the last answer wait for a neighbour */
	VL_CLIENT_STEP_READY,
	VL_CLIENT_STEP_KEEP_ALIVE,
	VL_CLIENT_STEP_COUNT,
	VL_CLIENT_STEP_TIMES,
	VL_CLIENT_STEP_CLOSE,
	VL_CLIENT_STEP_DONE,
	VL_CLIENT_STEP_FAILED,
};

struct vl_control_client {
	struct vl_device *device;
	struct vl_control_client_config config;
	struct vl_generate_group **groups;
	struct vl_control_stream *streams;
	struct vl_cm_connection *connection; /* NULL: over */
	struct vl_control_channel *channel;
	enum vl_client_step step;
	char error[400];
	bool is_ending;    /* pings are those at the end */
	bool wants_end;    /* finish came while a keep-alive was under way */
	uint64_t deadline; /* ns: of the answer, or of the next keep-alive */
	uint32_t pings;
	uint32_t group;        /* whose partners are made: groups, then streams */
	uint32_t first, count; /* queue pairs in the open under way */
	uint32_t connected;    /* of these */
	struct vl_control_clock clocks[2];
	struct vl_control_hello server;
	enum vl_control_clock_kind clock;
	struct vl_control_one_way **one_ways; /* by group; NULL: not stamped */
	uint32_t times_from;                  /* slot that was asked for */
	struct vl_control_counters counters;
	struct vl_control_message message;
};

/* Ends it, in words for people; the first to come stands. */
void vl_control_client_fail(struct vl_control_client *client, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Sends client->message and waits for its answer. */
void vl_control_client_ask(struct vl_control_client *client, enum vl_client_step step,
			   uint64_t now);

/* client_partners.c: asks for partners of the next queue pairs, or is ready. */
void vl_control_client_open_next(struct vl_control_client *client, uint64_t now);
/* The partners in client->message. */
void vl_control_client_take_opened(struct vl_control_client *client, uint64_t now);
/* Connects to them, as long as neighbours are known. */
void vl_control_client_connect_qps(struct vl_control_client *client, uint64_t now);

#endif
