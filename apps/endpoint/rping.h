/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the verbline authors */

/*
 * rping of librdmacm, both sides. The client tells by a SEND where its data is; the server READs it
 * and says so by a SEND; the client tells where the data may go; the server WRITEs it there and
 * says so; and again.
 */
#ifndef VERBLINE_APPS_ENDPOINT_RPING_H
#define VERBLINE_APPS_ENDPOINT_RPING_H

#include "apps/endpoint/session.h"
#include "dataplane/histogram.h"

#include <stdbool.h>
#include <stdint.h>

#define VL_RPING_PORT     7174
#define VL_RPING_MIN_SIZE 27 /* for the count in the text, as rping has it */
#define VL_RPING_MAX_SIZE 65536

/* Its service_context: struct vl_rping_server. */
extern const struct vl_session_service vl_rping_server_service;
/* Its service_context: struct vl_rping_client. */
extern const struct vl_session_service vl_rping_client_service;

struct vl_rping_server {
	bool verbose; /* each ping in a notice */
	struct vl_notices *notices;
	/* Results */
	uint64_t pings;  /* READ, answered, written back */
	uint64_t errors; /* sessions ended by something that is no ping */
};

struct vl_rping_client {
	uint64_t count; /* pings; 0: until it is stopped */
	uint32_t size;  /* bytes, VL_RPING_MIN_SIZE.. */
	bool verbose;   /* each ping in a notice */
	bool validate;  /* compare what comes back */
	bool hold;      /* keep sessions whose pings are done */
	struct vl_notices *notices;
	/* Results */
	uint64_t pings;
	uint64_t mismatches;             /* pings that came back altered */
	uint64_t over;                   /* sessions that have ended */
	uint64_t unfinished;             /* of these, with pings left to do */
	struct vl_histogram *round_trip; /* ns a ping; may be NULL */
};

#endif
